"""Topics and who subscribed to them, as Amazon's Simple Notification Service has them.

For programs that have Mechanical Turk's notifications sent to a topic. Addresses subscribe to it, at which
the requester's programs listen; each is sent a token, and hears no more until that is confirmed.
"""

import hashlib
import json
import re
import uuid
from dataclasses import dataclass

from prefjudge.marketplace.errors import ServiceRefusal
from prefjudge.marketplace.notifications import webhooks
from prefjudge.marketplace.store.ids import new_secret
from prefjudge.marketplace.store.marketplace import Transaction
from prefjudge.marketplace.store.times import iso

REGION = "us-east-1"
MOST_TOPICS, MOST_SUBSCRIPTIONS = 1000, 100
PAGE = 100
_NAME = re.compile(r"[A-Za-z0-9_-]{1,256}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """An address that subscribed to a topic; ``confirmed`` once its token came back."""

    subscription_arn: str
    topic_arn: str
    protocol: str
    endpoint: str
    token: str
    confirmed: int


def account(requester_id: str) -> str:
    """Return the twelve digits that stand for a requester where AWS has its account's number."""
    return f"{int(hashlib.sha256(requester_id.encode()).hexdigest(), 16) % 10**12:012}"


def is_topic(destination: str) -> bool:
    """Tell whether a notification's destination is the name of a topic, and not an address."""
    return destination.startswith("arn:aws:sns:")


def create(tx: Transaction, requester_id: str, name: str) -> str:
    """Return the requester's topic of a name, made if new."""
    if not _NAME.fullmatch(name):
        raise ServiceRefusal("InvalidParameter", "Invalid parameter: Topic Name")
    arn = f"arn:aws:sns:{REGION}:{account(requester_id)}:{name}"
    if exists(tx, requester_id, arn):
        return arn
    ((known,),) = tx.rows("SELECT count(*) FROM topics WHERE requester_id = :id", id=requester_id)
    if int(known) >= MOST_TOPICS:
        raise ServiceRefusal("TopicLimitExceeded", f"A requester has at most {MOST_TOPICS} topics.", 403)
    topic = {"topic_arn": arn, "requester_id": requester_id}
    tx.insert("topics", topic, "ON CONFLICT (topic_arn) DO NOTHING")
    return arn


def exists(tx: Transaction, requester_id: str, arn: str) -> bool:
    """Tell whether a requester has a topic."""
    return bool(
        tx.rows(
            "SELECT 1 FROM topics WHERE topic_arn = :arn AND requester_id = :id", arn=arn, id=requester_id
        )
    )


def names(tx: Transaction, requester_id: str, after: str) -> list[str]:
    """List a page of the requester's topics, in order."""
    rows = tx.rows(
        "SELECT topic_arn FROM topics WHERE requester_id = :id AND topic_arn > :after"
        f" ORDER BY topic_arn LIMIT {PAGE}",
        id=requester_id,
        after=after,
    )
    return [str(arn) for (arn,) in rows]


def delete(tx: Transaction, requester_id: str, arn: str) -> None:
    """Delete a topic, if there is one, with its subscriptions."""
    if exists(tx, requester_id, arn):
        tx.run("DELETE FROM subscriptions WHERE topic_arn = :arn", arn=arn)
        tx.run("DELETE FROM topics WHERE topic_arn = :arn", arn=arn)


def subscribe(tx: Transaction, requester_id: str, arn: str, protocol: str, endpoint: str) -> Subscription:
    """Subscribe an address to a topic, and send it the token that confirms it."""
    _own(tx, requester_id, arn)
    if protocol not in ("http", "https"):
        raise ServiceRefusal("InvalidParameter", "Invalid parameter: Protocol must be http or https here")
    problem = webhooks.refusal(endpoint, inside=tx.marketplace.rules.private_webhooks)
    if problem or not endpoint.startswith(f"{protocol}://"):
        raise ServiceRefusal(
            "InvalidParameter", f"Invalid parameter: Endpoint {problem or 'is of another protocol'}"
        )
    known = tx.select(Subscription, "FROM subscriptions WHERE topic_arn = :arn", arn=arn)
    same = next((one for one in known if one.endpoint == endpoint), None)
    if same is not None and same.confirmed:
        return same
    if same is None and len(known) >= MOST_SUBSCRIPTIONS:
        raise ServiceRefusal(
            "SubscriptionLimitExceeded", f"A topic has at most {MOST_SUBSCRIPTIONS} subscriptions.", 403
        )
    made = same or Subscription(
        subscription_arn=f"{arn}:{uuid.uuid4()}", topic_arn=arn, protocol=protocol, endpoint=endpoint,
        token=new_secret(), confirmed=0,
    )  # fmt: skip
    if same is None:
        tx.insert("subscriptions", made)
    said = f"You have chosen to subscribe to the topic {arn}. To confirm it, call ConfirmSubscription."
    _send(tx, requester_id, made, "SubscriptionConfirmation", {"Token": made.token, "Message": said})
    return made


def confirm(tx: Transaction, requester_id: str, arn: str, token: str) -> Subscription:
    """Confirm a subscription by the token that its address was sent."""
    _own(tx, requester_id, arn)
    rows = tx.select(
        Subscription, "FROM subscriptions WHERE topic_arn = :arn AND token = :token", arn=arn, token=token
    )
    if not rows:
        raise ServiceRefusal("InvalidParameter", "Invalid parameter: Token")
    tx.run("UPDATE subscriptions SET confirmed = 1 WHERE token = :token", token=token)
    return rows[0]


def find(tx: Transaction, requester_id: str, subscription_arn: str) -> Subscription:
    """Return one of a requester's subscriptions."""
    found = tx.find(
        Subscription,
        "FROM subscriptions s JOIN topics t USING (topic_arn)"
        " WHERE s.subscription_arn = :arn AND t.requester_id = :id",
        arn=subscription_arn,
        id=requester_id,
    )
    if found is None:
        raise ServiceRefusal("NotFound", "Subscription does not exist", 404)
    return found


def unsubscribe(tx: Transaction, requester_id: str, subscription_arn: str) -> None:
    """End a subscription."""
    found = find(tx, requester_id, subscription_arn)
    tx.run("DELETE FROM subscriptions WHERE subscription_arn = :arn", arn=found.subscription_arn)


def publish(tx: Transaction, requester_id: str, arn: str, message: str) -> None:
    """Send a message to all who have confirmed that they subscribed to a topic."""
    for one in tx.select(
        Subscription, "FROM subscriptions WHERE topic_arn = :arn AND confirmed = 1", arn=arn
    ):
        _send(tx, requester_id, one, "Notification", {"Message": message})


def _own(tx: Transaction, requester_id: str, arn: str) -> None:
    if not exists(tx, requester_id, arn):
        raise ServiceRefusal("NotFound", "Topic does not exist", 404)


def _send(tx: Transaction, requester_id: str, to: Subscription, kind: str, words: dict[str, str]) -> None:
    """Queue a message in SNS' envelope, without its signature: only Amazon can make that."""
    envelope = {
        "Type": kind,
        "MessageId": str(uuid.uuid4()),
        "TopicArn": to.topic_arn,
        **words,
        "Timestamp": iso(tx.now),
    }
    ((secret,),) = tx.rows("SELECT hook_secret FROM requesters WHERE requester_id = :id", id=requester_id)
    delivery = {"destination": to.endpoint, "secret": secret, "body": json.dumps(envelope), "due": tx.now}
    tx.insert("deliveries", delivery)
