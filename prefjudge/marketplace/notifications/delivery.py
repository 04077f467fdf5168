"""Delivers notifications: posts them, signed, until the receiver confirms them."""

import hashlib
import hmac
import json
import logging
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from prefjudge.marketplace import calls
from prefjudge.marketplace.notifications import webhooks
from prefjudge.marketplace.store.executor import Executor
from prefjudge.marketplace.store.marketplace import Transaction

_LOG = logging.getLogger("prefjudge.marketplace.notifications")
TRIES = 12
FIRST_WAIT = 2.0
"""Seconds; doubled after each failure, so that the last try is about two hours after the first."""
BATCH = 20
THREADS = 16
PENDING, DELIVERED, GIVEN_UP = 0, 1, 2

Post = Callable[[str, bytes, dict[str, str]], int]
"""``post(address, body, headers)`` returns the HTTP status, or raises OSError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A notification to be posted; ``secret`` is its requester's, and ``attempts`` counts this one."""

    seq: int
    destination: str
    secret: str
    body: str
    attempts: int


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature by which a receiver knows that a notification is from this marketplace."""
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


class WebhookSender:
    """Delivers what is due: one requester's notifications in turn, several requesters' at once.

    A slow hook therefore delays its own requester only. A notification may arrive twice, with the same
    ``X-Prefjudge-Delivery`` header.
    """

    def __init__(self, executor: Executor, *, every: float = 0.5, post: Post | None = None) -> None:
        self._executor = executor
        self._every = every
        self._post = post or partial(webhooks.post, inside=executor.marketplace.rules.private_webhooks)
        self._busy: set[str] = set()  # the secrets of the requesters whose notifications are under way
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="webhook")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)

    def start(self) -> None:
        """Start to deliver."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the deliveries under way, and stop."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._threads.shutdown(cancel_futures=True)

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            try:
                self._begin()
            except Exception:
                _LOG.exception("deliveries failed; trying again")

    def round(self) -> int:
        """Deliver what is due now, and return how many notifications arrived."""
        return sum(delivered.result() for delivered in self._begin())

    def _begin(self) -> list[Future[int]]:
        if not self._executor.call(_any_due, write=False):
            return []
        claimed = self._executor.call(lambda tx: _claim(tx, frozenset(self._busy)))
        self._busy.update(claimed)
        return [self._threads.submit(self._deliver_all, *each) for each in claimed.items()]

    def _deliver_all(self, secret: str, deliveries: list[Delivery]) -> int:
        try:
            return sum(self._deliver(delivery) for delivery in deliveries if not self._stop.is_set())
        except Exception:
            _LOG.exception("deliveries failed; trying again")
            return 0
        finally:
            self._busy.discard(secret)

    def _deliver(self, delivery: Delivery) -> bool:
        body, timestamp = delivery.body.encode(), str(int(time.time()))
        headers = {
            "Content-Type": "application/json",
            "X-Prefjudge-Delivery": str(delivery.seq),
            "X-Prefjudge-Timestamp": timestamp,
            "X-Prefjudge-Signature": sign(delivery.secret, timestamp, body),
            **_topic_headers(delivery.body),
        }
        try:
            status = self._post(delivery.destination, body, headers)
        except OSError as error:
            _LOG.info("delivery %s: %s", delivery.seq, type(error).__name__)
            status = 0
        arrived = 200 <= status < 300
        last = delivery.attempts >= TRIES
        if arrived or last:
            done = DELIVERED if arrived else GIVEN_UP
            self._executor.call(lambda tx: _settle(tx, delivery.seq, done))
        return arrived


def _topic_headers(body: str) -> dict[str, str]:
    """Return what SNS says of a message in its headers, where the body is one of a topic."""
    told = json.loads(body)
    if "TopicArn" not in told:
        return {}
    named = {"message-type": "Type", "message-id": "MessageId", "topic-arn": "TopicArn"}
    return {f"x-amz-sns-{name}": told[key] for name, key in named.items()}


def _any_due(tx: Transaction) -> bool:
    return bool(tx.rows("SELECT 1 FROM deliveries WHERE done = 0 AND due <= :now LIMIT 1", now=tx.now))


def _claim(tx: Transaction, busy: Collection[str]) -> dict[str, list[Delivery]]:
    """Take what is due, by requester; requesters who are ``busy`` wait.

    The next try is written before this one is made: if the process dies, the notification is not lost.
    """
    waiting = [
        str(secret)
        for (secret,) in tx.rows(
            "SELECT DISTINCT secret FROM deliveries WHERE done = 0 AND due <= :now", now=tx.now
        )
    ]
    return {secret: _claim_of(tx, secret) for secret in waiting if secret not in busy}


def _claim_of(tx: Transaction, secret: str) -> list[Delivery]:
    found = tx.select(
        Delivery,
        "FROM deliveries WHERE done = 0 AND due <= :now AND secret = :secret"
        f" ORDER BY due, seq LIMIT {BATCH}{tx.skip_locked}",
        now=tx.now,
        secret=secret,
    )
    claimed = [replace(delivery, attempts=delivery.attempts + 1) for delivery in found]
    for place, delivery in enumerate(claimed, start=1):
        tx.run(
            "UPDATE deliveries SET attempts = :attempts, due = :due WHERE seq = :seq",
            attempts=delivery.attempts,
            due=tx.now + calls.TIMEOUT * place + FIRST_WAIT * 2 ** (delivery.attempts - 1),
            seq=delivery.seq,
        )
    return claimed


def _settle(tx: Transaction, seq: int, done: int) -> None:
    tx.run("UPDATE deliveries SET done = :done WHERE seq = :seq", done=done, seq=seq)
