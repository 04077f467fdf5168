"""Delivers notifications: posts them, signed, until the receiver says that it has them."""

import hashlib
import hmac
import logging
import threading
import time
from collections.abc import Callable

from prefjudge.marketplace.desk import Desk
from prefjudge.marketplace.market import Record, Turn

_LOG = logging.getLogger("prefjudge.marketplace.courier")
TRIES = 12
FIRST_WAIT = (
    2.0  # seconds; doubled after each failure, so that the last try is some two hours after the first
)
TIMEOUT = 10.0
BATCH = 20
PENDING, DELIVERED, GIVEN_UP = 0, 1, 2

Post = Callable[[str, bytes, dict[str, str]], int]
"""``post(address, body, headers)`` returns the HTTP status, or raises OSError or urllib3's HTTPError."""


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature by which a receiver knows that a notification is from this marketplace."""
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


class Courier:
    """A thread that delivers what is due.

    A notification may arrive twice: its ``X-Prefjudge-Delivery`` header tells.
    """

    def __init__(self, desk: Desk, *, every: float = 0.5, post: Post | None = None) -> None:
        self._desk = desk
        self._every = every
        self._post = post or _post
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="courier", daemon=True)

    def start(self) -> None:
        """Begin to deliver."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the delivery under way, and stop."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=TIMEOUT)

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            try:
                self.round()
            except Exception:
                _LOG.exception("deliveries failed; trying again")

    def round(self) -> int:
        """Deliver what is due now, and return how many notifications arrived."""
        if not self._desk.call(_any_due, write=False):
            return 0
        return sum(self._deliver(delivery) for delivery in self._desk.call(_claim))

    def _deliver(self, delivery: Record) -> bool:
        body, timestamp = delivery["body"].encode(), str(int(time.time()))
        headers = {
            "Content-Type": "application/json",
            "X-Prefjudge-Delivery": delivery["seq"],
            "X-Prefjudge-Timestamp": timestamp,
            "X-Prefjudge-Signature": sign(delivery["secret"], timestamp, body),
        }
        from urllib3.exceptions import HTTPError

        try:
            status = self._post(delivery["destination"], body, headers)
        except (OSError, HTTPError) as error:
            _LOG.info("delivery %s: %s", delivery["seq"], type(error).__name__)
            status = 0
        arrived = 200 <= status < 300
        last = delivery["attempts"] >= TRIES
        if arrived or last:
            done = DELIVERED if arrived else GIVEN_UP
            self._desk.call(lambda turn: _settle(turn, delivery["seq"], done))
        return arrived


def _any_due(turn: Turn) -> bool:
    return bool(turn.rows("SELECT 1 FROM deliveries WHERE done = 0 AND due <= :now LIMIT 1", now=turn.now))


def _claim(turn: Turn) -> list[Record]:
    """Take what is due, putting it off to its next try in case this one fails, or this process does."""
    found = turn.records(
        "seq, destination, secret, body, attempts",
        f"FROM deliveries WHERE done = 0 AND due <= :now ORDER BY due, seq LIMIT {BATCH}{turn.skip_locked}",
        now=turn.now,
    )
    for delivery in found:
        attempts = delivery["attempts"] = delivery["attempts"] + 1
        turn.run(
            "UPDATE deliveries SET attempts = :attempts, due = :due WHERE seq = :seq",
            attempts=attempts,
            due=turn.now + TIMEOUT + FIRST_WAIT * 2 ** (attempts - 1),
            seq=delivery["seq"],
        )
    return found


def _settle(turn: Turn, seq: int, done: int) -> None:
    turn.run("UPDATE deliveries SET done = :done WHERE seq = :seq", done=done, seq=seq)


def _post(address: str, body: bytes, headers: dict[str, str]) -> int:
    import urllib3

    answer = urllib3.request(
        "POST", address, body=body, headers=headers, timeout=TIMEOUT, retries=False, redirect=False
    )
    return answer.status
