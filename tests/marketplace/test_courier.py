"""Notifications: queued with the event, posted signed, tried again, given up at last."""

import json

import pytest

from prefjudge.marketplace import courier as couriers
from prefjudge.marketplace.courier import Courier, sign
from tests.marketplace.people import offer, turk_error

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
    """A courier that notes what it posts, and is told what to hear."""

    class Noting(Courier):
        heard, answer = [], 200

        def post(self, address, body, headers):
            self.heard.append((address, body, headers))
            return self.answer

    market._courier.stop()
    noting = Noting(market.front.desk, post=lambda *sent: noting.post(*sent))
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
    with market.market.turn() as turn:
        ((secret,),) = turn.rows("SELECT hook_secret FROM requesters")
    assert address == HOOK
    assert headers["X-Prefjudge-Signature"] == sign(secret, headers["X-Prefjudge-Timestamp"], body)


def test_a_failed_delivery_is_tried_again_and_given_up(requester, worker, posted, clock):
    hit = offer(requester)
    notify(requester, hit["HITTypeId"], "AssignmentAccepted")
    worker.accept(hit)
    posted.answer = 503
    for _ in range(couriers.TRIES + 5):
        posted.round()
        clock.advance(3600 * 3)
    assert len(posted.heard) == couriers.TRIES
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


def test_a_test_notification(requester, posted):
    asked = {"Destination": HOOK, "Transport": "SNS", "Version": "2006-05-05", "EventTypes": ["HITCreated"]}
    requester.send_test_event_notification(Notification=asked, TestEventType="Ping")
    assert posted.round() == 1
    assert json.loads(posted.heard[0][1])["Events"][0]["EventType"] == "Ping"


@pytest.mark.parametrize(
    "changes",
    [
        {"Transport": "Email", "Destination": "me@example.org"},
        {"Destination": "arn:aws:sns:us-east-1:1:topic"},
        {"Destination": "http://example.org/"},
        {"Version": "2015-01-01"},
    ],
)
def test_what_cannot_be_sent_is_refused(requester, changes):
    hit_type = offer(requester)["HITTypeId"]
    with pytest.raises(requester.exceptions.RequestError):
        notify(requester, hit_type, "HITCreated", **changes)
