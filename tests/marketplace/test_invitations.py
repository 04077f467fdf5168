"""An invitation is a link that signs one person in: what it opens, and what it does in other hands."""

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import urllib3

from prefjudge.marketplace.people.workers import LONGEST_NAME
from tests.marketplace.people import HTTP, JSON, Admin, Worker, offer, post

PREVIEWS = ("Slackbot-LinkExpanding 1.0", "WhatsApp/2.23", "facebookexternalhit/1.1", "Mozilla/5.0")


def invited(admin: Admin, **known: Any) -> dict[str, Any]:
    return dict(admin.call("POST", "/admin/workers", known, status=201))


def opened(link: str, **headers: str) -> urllib3.BaseHTTPResponse:
    return HTTP.request("GET", link, headers=headers, redirect=False)


def begin(link: str, headers: dict[str, str] | None = None, **fields: str) -> urllib3.BaseHTTPResponse:
    """Do what the button of the page does."""
    there = urlsplit(link)
    given = {"invite": parse_qs(there.query)["invite"][0], **fields}
    url = f"{there.scheme}://{there.netloc}/signin"
    return post(url, headers or JSON, **given)


def cookie(answer: urllib3.BaseHTTPResponse) -> str:
    return answer.headers["set-cookie"].split(";")[0]


def sessions(market: Any) -> int:
    with market.marketplace.transaction(write=False) as tx:
        return int(tx.execute("SELECT count(*) FROM sessions")[0][0])


def test_a_link_asks_for_a_name_at_most_and_leads_back_as_often_as_one_likes(admin, market):
    made = invited(admin)
    page = opened(made["invite_url"]).data.decode()
    assert re.findall(r'<input id="(\w+)"', page) == ["name"]
    assert made["worker_id"] not in re.sub(r'value="[^"]*"', "", page), "worker ids are private"
    first = begin(made["invite_url"], name="  Ann  ")
    assert (first.json()["worker_id"], first.json()["name"]) == (made["worker_id"], "Ann")

    again = opened(made["invite_url"]).data.decode()
    assert "This link is for Ann alone." in again
    assert re.findall(r'<input id="(\w+)"', again) == []
    second = begin(made["invite_url"], name="Mallory")
    assert second.json()["name"] == "Ann", "a name is given once"
    assert cookie(first) != cookie(second)
    back = opened(made["invite_url"], Cookie=cookie(first))
    assert (back.status, back.headers["location"]) == (303, "/hits")


def test_a_look_at_a_link_uses_up_and_opens_nothing(admin, market):
    """Chat programs and mail scanners open each link that passes through them, some of them many times."""
    link = invited(admin)["invite_url"]
    for agent in PREVIEWS * 25:
        seen = opened(link, **{"User-Agent": agent})
        assert (seen.status, "set-cookie" in seen.headers) == (200, False)
    assert HTTP.request("HEAD", link).status == 200
    assert "Ada" not in opened(link).data.decode()
    assert sessions(market) == 0
    assert begin(link, name="Ada").status == 200


def test_a_name_that_is_taken_or_too_long_is_asked_for_again(admin, market):
    invited(admin, name="Ann")
    link = invited(admin)["invite_url"]
    for name, status in (("Ann", 409), ("x" * (LONGEST_NAME + 1), 400)):
        page = begin(link, {"Accept": "text/html"}, name=name)
        assert page.status == status
        assert 'name="invite"' in page.data.decode()
        assert "set-cookie" not in page.headers
    assert begin(link, name="Anna").json()["name"] == "Anna"
    assert begin(invited(admin)["invite_url"]).json()["name"] is None, "a program need not give one"


def test_a_revoked_link_opens_nothing_and_its_hits_go_to_others(admin, market, requester):
    made = invited(admin, name="Ann")
    ann = Worker(market.endpoint, HTTP, made["invite"])
    hit = offer(requester)
    held = ann.accept(hit)["assignment_id"]
    admin.call("POST", f"/admin/workers/{made['worker_id']}/revoke", {})
    ann.get("/hits", status=401)
    assert opened(made["invite_url"]).status == 401
    assert begin(made["invite_url"]).status == 401
    late = {"assignmentId": held, "choice": "a"}
    assert (
        HTTP.request("POST", f"{market.endpoint}/mturk/externalSubmit", fields=late, headers=JSON).status
        == 410
    )
    admin.worker().accept(hit)
    newer = admin.call("POST", f"/admin/workers/{made['worker_id']}/invite", {}, status=201)
    assert begin(newer["invite_url"]).json()["worker_id"] == made["worker_id"]
    assert begin(made["invite_url"]).status == 401
    admin.call("POST", "/admin/workers/ANOBODY/revoke", {}, status=400)


def test_no_link_can_be_made_from_another(admin, market, clock):
    ann, ben = invited(admin, name="Ann"), invited(admin, name="Ben")
    worker_id, expires, signature = ann["invite"].split(".")
    for forged in (
        f"{ben['worker_id']}.{expires}.{signature}",
        f"{worker_id}.{int(expires) + 86_400}.{signature}",
        f"{worker_id}.{expires}.{signature[:-1]}",
        f"{worker_id}.{expires}.",
        f"{worker_id}..{signature}",
        "..",
        "' OR 1=1 --",
    ):
        link = ann["invite_url"].replace(ann["invite"], forged)
        assert opened(link).status == 401
        assert (
            HTTP.request("POST", f"{market.endpoint}/signin", fields={"invite": forged}, headers=JSON).status
            == 401
        )
    clock.advance(ann["days"] * 86_400)
    assert opened(ann["invite_url"]).status == begin(ann["invite_url"]).status == 401


def test_who_is_signed_in_as_somebody_else_is_told_first(admin, market):
    ben = Worker(market.endpoint, HTTP, invited(admin, name="Ben")["invite"])
    page = opened(invited(admin, name="Ann")["invite_url"], Cookie=ben.headers["Cookie"])
    assert "You are signed in as Ben." in page.data.decode()


def test_a_link_opens_some_sessions_a_minute(admin, market, clock):
    made, other = invited(admin), invited(admin)
    assert [begin(made["invite_url"]).status for _ in range(12)] == [200] * 10 + [429] * 2
    assert begin(other["invite_url"]).status == 200
    clock.advance(61)
    assert begin(made["invite_url"]).status == 200
    assert sessions(market) == 12
