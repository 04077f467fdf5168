"""Calls of Prolific's API: what is made again, what never is, and what a refusal says."""

import pytest

from prefjudge.crowd.prolific import client
from prefjudge.crowd.prolific.client import Client, LostReplyError
from prefjudge.crowd.prolific.standin import TOKEN, WORKSPACE, Platform, Submission
from prefjudge.crowd.protocol import RefusedError, UnknownError
from prefjudge.errors import ConfigError, CrowdError
from tests.crowd.prolific_people import fresh
from tests.crowd.prolific_people import prolific as prolific

SETTINGS = f"/api/v1/workspaces/{WORKSPACE}/balance/"


@pytest.fixture
def platform(prolific: tuple[Platform, str], monkeypatch: pytest.MonkeyPatch) -> Platform:
    fresh(prolific[0])
    waited: list[float] = []
    monkeypatch.setattr(client, "sleep", waited.append)
    prolific[0].waited = waited  # type: ignore[attr-defined]
    return prolific[0]


@pytest.fixture
def api(prolific: tuple[Platform, str], platform: Platform) -> Client:
    return Client(TOKEN, prolific[1])


def broken(platform: Platform, *kinds: str) -> None:
    """Answer the next calls with these faults, and all later ones as they should be."""
    left = list(kinds)
    platform.faults.append(lambda *_: left.pop(0) if left else "")


def test_an_account_answers_over_the_token(api: Client, prolific: tuple[Platform, str]) -> None:
    assert api.get(SETTINGS)["available_balance"] == 1_000_000
    with pytest.raises(RefusedError, match="credentials were not provided") as refused:
        Client("another", prolific[1]).get(SETTINGS)
    assert "PROLIFIC_TOKEN" in refused.value.hint
    assert "another" not in str(refused.value)


@pytest.mark.parametrize("kind", ["status 429", "status 500", "status 503", "drop before", "drop after"])
def test_a_call_that_may_be_made_again_is(api: Client, platform: Platform, kind: str) -> None:
    broken(platform, kind, kind)
    assert api.get(SETTINGS)["available_balance"] == 1_000_000
    assert len(platform.calls) == 3


def test_it_is_not_made_for_ever(api: Client, platform: Platform) -> None:
    platform.faults.append(lambda *_: "status 502")
    with pytest.raises(CrowdError, match=r"no answer to GET /api/v1/workspaces/…/balance/ in 6 attempts"):
        api.get(SETTINGS)
    assert len(platform.calls) == 6
    assert platform.waited == [0.5, 1, 2, 4, 8]  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["status 500", "drop before", "drop after"])
def test_one_that_must_not_be_made_again_is_not(api: Client, platform: Platform, kind: str) -> None:
    bulk = _bonus(api, platform)
    broken(platform, kind)
    with pytest.raises(
        LostReplyError, match="did not say whether it carried out POST /api/v1/bulk-bonus-payments/…/pay/"
    ):
        api.call("POST", f"/api/v1/bulk-bonus-payments/{bulk}/pay/", again=False)
    assert len(platform.paid) == (kind == "drop after")


def test_one_that_was_not_carried_out_is_made_again(api: Client, platform: Platform) -> None:
    bulk = _bonus(api, platform)
    broken(platform, "status 429", "status 429")
    api.call("POST", f"/api/v1/bulk-bonus-payments/{bulk}/pay/", again=False)
    assert [cents for _, cents in platform.paid] == [425]
    nobody = Client(TOKEN, "http://127.0.0.1:9")
    with pytest.raises(CrowdError, match="no connection") as away:
        nobody.call("POST", "/api/v1/bulk-bonus-payments/1/pay/", again=False)
    assert not isinstance(away.value, LostReplyError)


def _bonus(api: Client, platform: Platform) -> str:
    study = api.call("POST", "/api/v1/studies/", DRAFT)
    one = Submission(platform.new_id(), "p1", study["id"], "2026-11-22T10:00:00Z")
    platform.submissions[one.id] = one
    body = {"study_id": study["id"], "csv_bonuses": f"{one.id},4.25\n"}
    return str(api.call("POST", "/api/v1/submissions/bonus-payments/", body)["id"])


DRAFT = {
    "name": "Which is better?", "internal_name": "t", "description": "Compare.", "project": "0b" * 12,
    "external_study_url": "https://example.org", "prolific_id_option": "url_parameters",
    "completion_codes": [
        {"code": "C1", "code_type": "COMPLETED", "actions": [{"action": "MANUALLY_REVIEW"}]}
    ],
    "total_available_places": 5, "estimated_completion_time": 4, "reward": 100,
}  # fmt: skip


def test_every_page_of_a_list_is_read(api: Client, platform: Platform) -> None:
    """A prolific may put fewer items on a page than it is asked for: here three."""
    study = api.call("POST", "/api/v1/studies/", DRAFT)["id"]
    for number in range(7):
        one = Submission(platform.new_id(), f"p{number}", study, "2026-11-22T10:00:00Z")
        platform.submissions[one.id] = one
    listed = [one["participant_id"] for one in api.each("/api/v1/submissions/", study=study)]
    assert listed == [f"p{number}" for number in range(7)]
    with pytest.raises(UnknownError):
        list(api.each("/api/v1/submissions/", study="none"))


def test_a_refusal_is_a_sentence_without_ids(api: Client) -> None:
    with pytest.raises(RefusedError) as refused:
        api.call("POST", "/api/v1/studies/", {**DRAFT, "project": "0c" * 12})
    assert 'Error: {"project": ["This project does not exist."]}' in refused.value.message
    with pytest.raises(UnknownError) as unknown:
        api.get(f"/api/v1/submissions/{'0d' * 12}/")
    assert "refused GET /api/v1/submissions/…/: Error: No such thing matches" in unknown.value.message


@pytest.mark.parametrize(
    ("token", "url", "said"),
    [
        ("", "https://a.example", "PROLIFIC_TOKEN is not set"),
        ("a\nb", "https://a.example", "not allowed in a token"),
        ("a", "a.example", "is not an address"),
        ("a", "http://a.example", "clear text"),
        ("a", "https://[a", "is not an address"),
    ],
)
def test_what_cannot_be_a_token_or_an_address_is_refused(token: str, url: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Client(token, url)


def test_what_is_not_prolifics_api_is_named(api: Client, prolific: tuple[Platform, str]) -> None:
    with pytest.raises(CrowdError, match="answered, but not with a list"):
        api.listed({"results": 1})
    with pytest.raises(CrowdError, match="answered, but not with JSON"):
        api._read(b"<html>")
    with pytest.raises(CrowdError, match="led elsewhere"):
        raise api._refusal("GET", "/", 302, b"")


def test_how_long_to_wait_is_within_limits() -> None:
    asked = ("nan", "1e400", "-5", "2.5", "Wed, 21 Oct 2015 07:28:00 GMT", None)
    assert [*map(client._asked_wait, asked)] == [60.0, 60.0, 0.0, 2.5, None, None]
