"""Who may call: keys, signatures, and unsigned calls from this machine."""

import json

import pytest
import urllib3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.operator import issue_key
from prefjudge.marketplace.people.requesters import LOCAL_KEY
from prefjudge.marketplace.server import start
from prefjudge.marketplace.settings import Settings
from prefjudge.steps.serve import serve
from tests.marketplace.people import new_requester, offer, turk_error


@pytest.fixture
def key(admin):
    return admin.call("POST", "/admin/requesters", {"name": "team"}, status=201)


def test_a_signed_call_is_the_key_owners(market, key):
    client = new_requester(market.endpoint, (key["access_key"], key["secret_key"]))
    hit = offer(client, Title="Größe")
    assert client.list_hits()["HITs"][0]["HITId"] == hit["HITId"]


def test_temporary_credentials_sign_too(market, key):
    client = new_requester(market.endpoint, (key["access_key"], key["secret_key"]), aws_session_token="token")
    assert client.get_account_balance()["AvailableBalance"] == "10000.00"


def test_a_wrong_secret_is_refused(market, key):
    client = new_requester(market.endpoint, (key["access_key"], "wrong"))
    assert turk_error(client.get_account_balance) == "InvalidSignatureException"


def test_an_unknown_key_is_refused_once_there_are_keys(market, requester, admin):
    stranger = new_requester(market.endpoint, ("AKIASTRANGER", "secret"))
    hit = offer(stranger)  # nothing to check against yet: on loopback that is the local requester
    assert requester.get_hit(HITId=hit["HITId"])
    admin.call("POST", "/admin/requesters", {"name": "team"}, status=201)
    assert turk_error(stranger.get_account_balance) == "UnrecognizedClientException"
    requester.get_account_balance()


def test_an_unsigned_call_is_refused_once_there_was_a_key(market, admin):
    nobody = new_requester(market.endpoint)
    nobody.get_account_balance()
    key = admin.call("POST", "/admin/requesters", {"name": "team"}, status=201)
    assert turk_error(nobody.get_account_balance) == "MissingAuthenticationTokenException"
    admin.call("DELETE", f"/admin/keys/{key['access_key']}")
    assert turk_error(nobody.get_account_balance) == "MissingAuthenticationTokenException"
    local = new_requester(market.endpoint, (LOCAL_KEY, market.admin_token))
    assert local.get_account_balance()["AvailableBalance"] == "10000.00"
    forged = new_requester(market.endpoint, (LOCAL_KEY, "guess"))
    assert turk_error(forged.get_account_balance) == "InvalidSignatureException"


@pytest.mark.parametrize("sandbox", [True, False])
@pytest.mark.parametrize(
    "settings",
    [Settings(public_url="https://judge.example.org"), Settings(host="0.0.0.0", plain_http=True)],
    ids=["behind a web server", "open to a network"],
)
def test_an_unsigned_call_is_refused_where_others_come_in(tmp_path, settings, sandbox):
    with start(f"sqlite:///{tmp_path}/m.db", settings=settings, sandbox=sandbox) as server:
        for key in (None, ("AKIASTRANGER", "secret")):
            code = turk_error(new_requester(server.local, key).get_account_balance)
            assert code in ("MissingAuthenticationTokenException", "UnrecognizedClientException")
        new_requester(server.local, (LOCAL_KEY, server.admin_token)).get_account_balance()


def signed(market, key, *, body=b"{}", send=None, service="mturk-requester", **headers):
    request = AWSRequest(
        "POST",
        market.endpoint + "/",
        data=body,
        headers={"X-Amz-Target": "MTurkRequesterServiceV20170117.GetAccountBalance", **headers},
    )
    credentials = Credentials(key["access_key"], key["secret_key"])
    SigV4Auth(credentials, service, "us-east-1").add_auth(request)
    sent = dict(request.headers.items())
    return sent, urllib3.request(
        "POST", market.endpoint + "/", body=send or body, headers=sent, retries=False
    )


def test_a_signature_covers_body_service_and_target(market, key):
    assert signed(market, key)[1].status == 200
    assert signed(market, key, send=b'{"a":1}')[1].json()["__type"] == "InvalidSignatureException"
    assert signed(market, key, service="s3")[1].status == 403
    sent, _ = signed(market, key)
    for change in (
        {"X-Amz-Target": "MTurkRequesterServiceV20170117.ListHITs"},
        {"X-Amz-Date": "20200101T000000Z"},
        {"Authorization": sent["Authorization"].replace("x-amz-target", "x-amz-other")},
        {"Authorization": "Basic abc"},
        {"X-Amz-Date": ""},
    ):
        answer = urllib3.request(
            "POST", market.endpoint + "/", body=b"{}", headers={**sent, **change}, retries=False
        )
        assert answer.status == 403, change


def test_an_old_signature_is_refused(market, key, monkeypatch):
    import prefjudge.marketplace.site.app as api

    sent, answer = signed(market, key)
    assert answer.status == 200
    real = api.time.time()
    monkeypatch.setattr(api.time, "time", lambda: real + 16 * 60)
    again = urllib3.request("POST", market.endpoint + "/", body=b"{}", headers=sent, retries=False)
    assert "expired" in again.json()["Message"]


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "203.0.113.9"},
        {"Forwarded": "for=203.0.113.9"},
        {"X-Real-IP": "203.0.113.9"},
        {"Via": "1.1 proxy"},
    ],
)
def test_an_unsigned_call_through_a_web_server_is_refused(market, headers):
    headers = {**headers, "X-Amz-Target": "MTurkRequesterServiceV20170117.ListHITs"}
    answer = urllib3.request("POST", market.endpoint, body=json.dumps({}), headers=headers, retries=False)
    assert (answer.status, answer.json()["__type"]) == (403, "MissingAuthenticationTokenException")


def test_keys_are_issued_beside_a_running_marketplace(market, tmp_path):
    key = issue_key(f"sqlite:///{tmp_path}/market.db", "from the command line")
    client = new_requester(market.endpoint, (key.access_key, key.secret_key))
    assert client.get_account_balance()["AvailableBalance"] == "10000.00"


def test_a_key_that_leaked_is_taken_back(market, admin, tmp_path):
    store = f"sqlite:///{tmp_path}/market.db"
    issue_key(store, "another")
    keys = [issue_key(store, "lab") for _ in range(3)]
    clients = [new_requester(market.endpoint, (key.access_key, key.secret_key)) for key in keys]
    serve(store=store, revoke_key=keys[0].access_key)
    admin.call("DELETE", f"/admin/keys/{keys[1].access_key}")
    for client in clients[:2]:
        with pytest.raises(ClientError, match="not one of this marketplace"):
            client.get_account_balance()
    clients[2].get_account_balance()
    (lab,) = [one for one in admin.call("GET", "/admin/overview")["requesters"] if one["name"] == "lab"]
    assert lab["access_keys"] == [keys[2].access_key]
    admin.call("DELETE", f"/admin/keys/{keys[1].access_key}", status=400)


@pytest.mark.parametrize("name", ["", "  "])
def test_a_key_is_somebodys(market, admin, tmp_path, name):
    with pytest.raises(Refusal, match="A requester needs a name"):
        issue_key(f"sqlite:///{tmp_path}/market.db", name)
    assert "needs a name" in admin.call("POST", "/admin/requesters", {"name": name}, status=400)["error"]
