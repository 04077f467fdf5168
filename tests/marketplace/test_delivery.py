"""Notifications: queued with the event, posted signed, tried again, given up at last."""

import json
import threading
import time

import pytest

from prefjudge.marketplace.notifications import delivery
from prefjudge.marketplace.notifications.delivery import WebhookSender, sign
from prefjudge.marketplace.people.requesters import LOCAL_KEY
from prefjudge.marketplace.server import start
from prefjudge.marketplace.settings import Settings
from tests.marketplace.people import new_requester, offer, turk_error

HOOK = "https://hook.example/events"


def notify(requester, hit_type, *events, **changes):
    asked = {
        "Destination": HOOK,
        "Transport": "SNS",
        "Version": "2006-05-05",
        "EventTypes": list(events),
        **changes,
    }
    requester.update_notification_settings(HITTypeId=hit_type, Notification=asked)


@pytest.fixture
def posted(market):
    """A sender that notes what it posts, and is told what to hear."""

    class Noting(WebhookSender):
        heard, answer = [], 200

        def post(self, address, body, headers):
            self.heard.append((address, body, headers))
            return self.answer

    market._webhook_sender.stop()
    noting = Noting(market.state.executor, post=lambda *sent: noting.post(*sent))
    noting.heard = []
    return noting


def test_events_of_a_type_are_posted_signed(requester, worker, posted, market):
    hit = offer(requester)
    notify(requester, hit["HITTypeId"], "AssignmentSubmitted", "HITReviewable")
    ident = worker.do(hit)
    assert posted.round() == 2
    assert posted.round() == 0
    bodies = [json.loads(body) for _, body, _ in posted.heard]
    assert [body["Events"][0]["EventType"] for body in bodies] == ["AssignmentSubmitted", "HITReviewable"]
    assert bodies[0]["Events"][0]["AssignmentId"] == ident
    address, body, headers = posted.heard[0]
    with market.marketplace.transaction() as tx:
        ((secret,),) = tx.rows("SELECT hook_secret FROM requesters")
    assert len({body["EventDocId"] for body in bodies}) == 2
    assert bodies[0]["Events"][0]["HITGroupId"] == bodies[0]["Events"][0]["HITTypeId"] == hit["HITTypeId"]
    assert address == HOOK
    assert headers["X-Prefjudge-Signature"] == sign(secret, headers["X-Prefjudge-Timestamp"], body)


def test_a_failed_delivery_is_tried_again_and_given_up(requester, worker, posted, clock):
    hit = offer(requester)
    notify(requester, hit["HITTypeId"], "AssignmentAccepted")
    worker.accept(hit)
    posted.answer = 503
    for _ in range(delivery.TRIES + 5):
        posted.round()
        clock.advance(3600 * 3)
    assert len(posted.heard) == delivery.TRIES
    assert len({headers["X-Prefjudge-Delivery"] for *_, headers in posted.heard}) == 1


def test_notifications_pause_and_resume(requester, worker, posted):
    hit = offer(requester)
    settings = requester.update_notification_settings
    assert turk_error(settings, HITTypeId=hit["HITTypeId"], Active=True) == "InvalidParameterValue"
    notify(requester, hit["HITTypeId"], "AssignmentAccepted", "AssignmentReturned")
    settings(HITTypeId=hit["HITTypeId"], Active=False)
    ident = worker.accept(hit)["assignment_id"]
    assert posted.round() == 0
    settings(HITTypeId=hit["HITTypeId"], Active=True)
    worker.post(f"/assignments/{ident}/return")
    assert posted.round() == 1


@pytest.mark.parametrize("version", ["2006-05-05", "2014-08-15"])
def test_a_test_notification(requester, posted, version):
    asked = {"Destination": HOOK, "Transport": "SNS", "Version": version, "EventTypes": ["HITCreated"]}
    requester.send_test_event_notification(Notification=asked, TestEventType="Ping")
    assert posted.round() == 1
    told = json.loads(posted.heard[0][1])
    assert (told["Events"][0]["EventType"], told["EventDocVersion"]) == ("Ping", version)


@pytest.mark.parametrize(
    "changes",
    [
        {"Transport": "Email", "Destination": "me@example.org"},
        {"Destination": "arn:aws:sns:us-east-1:1:topic"},
        {"Transport": "SQS", "Destination": "https://sqs.us-east-1.amazonaws.com/1234/queue"},
        {"Destination": "http://example.org/"},
        {"Destination": "http://localhost:80@example.org/"},
        {"Destination": "https://me:secret@example.org/"},
        {"Destination": "https://example.org:port/"},
        {"Destination": "https://[::1/"},
        {"Destination": "https://a..b/"},
        {"Destination": "https:///events"},
        {"Destination": "https://example.org/a b"},
        {"Version": "2015-01-01"},
    ],
)
def test_what_cannot_be_sent_is_refused(requester, changes):
    hit_type = offer(requester)["HITTypeId"]
    with pytest.raises(requester.exceptions.RequestError):
        notify(requester, hit_type, "HITCreated", **changes)


def test_a_queue_of_amazons_is_refused_with_what_to_do(requester):
    with pytest.raises(requester.exceptions.RequestError, match="give an https address of your own"):
        notify(
            requester, offer(requester)["HITTypeId"], Destination="https://sqs.eu-west-1.amazonaws.com/1/q"
        )


def test_one_slow_hook_holds_up_nobody_else(market, admin, posted):
    release, quick = threading.Event(), []

    def post(address, body, headers):
        (release.wait(20) if "slow" in address else quick.append(address))
        return 200

    posted.post = post
    for name in ("slow", "quick"):
        key = admin.call("POST", "/admin/requesters", {"name": name}, status=201)
        requester = new_requester(market.endpoint, (key["access_key"], key["secret_key"]))
        asked = {
            "Destination": f"https://{name}.example/",
            "Transport": "SNS",
            "Version": "2006-05-05",
            "EventTypes": ["Ping"],
        }
        for _ in range(30):
            requester.send_test_event_notification(Notification=asked, TestEventType="Ping")
    posted.start()
    try:
        for _ in range(200):
            if len(quick) == 30:
                break
            time.sleep(0.05)
        assert len(quick) == 30
    finally:
        release.set()
        posted.stop()


def test_a_public_marketplace_has_no_hooks_inside(tmp_path):
    public = Settings(public_url="https://judge.example.org")
    with start(f"sqlite:///{tmp_path}/m.db", settings=public) as server:
        requester = new_requester(server.local, (LOCAL_KEY, server.admin_token))
        hit_type = offer(requester)["HITTypeId"]
        for destination in ("http://localhost:22/", "https://169.254.169.254/latest/meta-data"):
            with pytest.raises(requester.exceptions.RequestError, match="Destination"):
                notify(requester, hit_type, "HITCreated", Destination=destination)
        notify(requester, hit_type, "HITCreated")
