"""The marketplace as one value: its store, clock and rules, its transactions, and threads to run them."""

import asyncio
import contextlib
import hashlib
import hmac
import secrets
import string
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from prefjudge.database import COPIED, Connection, Database, Value, file_of, redacted
from prefjudge.database.connection import T, having
from prefjudge.errors import ConfigError, PrefjudgeError


def iso(time: Value) -> str | None:
    """Write epoch seconds as ISO 8601 in UTC, to the second."""
    if time is None:
        return None
    return datetime.fromtimestamp(float(time), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# New identifiers, in the alphabet and length that clients of Mechanical Turk expect.

_ALPHABET = string.ascii_uppercase + string.digits


def new_id() -> str:
    """Return an unguessable id of 30 characters for a HIT, an assignment or a type."""
    return "3" + _letters(29)


def new_worker_id() -> str:
    """Return a worker id: ``A`` and 13 characters."""
    return "A" + _letters(13)


def new_access_key() -> str:
    """Return the public half of a requester's key."""
    return "PJ" + _letters(18)


def new_secret() -> str:
    """Return 256 random bits as text, for keys, sessions and tokens."""
    return secrets.token_urlsafe(32)


def _letters(count: int) -> str:
    """Return unguessable characters of the alphabet, drawn together: a draw for each is a system call."""
    number, letters = secrets.randbelow(len(_ALPHABET) ** count), []
    for _ in range(count):
        number, letter = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[letter])
    return "".join(letters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fees:
    """What the marketplace charges a requester on top of a reward or a bonus, in per cent.

    ``many_percent`` is added for HITs of ten or more assignments. A fee that is not zero is at least
    ``minimum_cents`` for each payment; fractions of a cent round half up. A payment of zero has no fee.
    """

    percent: int = 20
    many_percent: int = 20
    minimum_cents: int = 1

    def on(self, cents: int, max_assignments: int = 1) -> int:
        """Return the fee on one payment, in cents."""
        percent = self.percent + (self.many_percent if max_assignments >= 10 else 0)
        if not (percent and cents):
            return 0
        return max(self.minimum_cents, (cents * percent + 50) // 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the marketplace promises its requesters and workers.

    ``keep_days`` is how long people are known after their last HIT has ended; None: until the admin forgets
    them.
    """

    fees: Fees = field(default_factory=Fees)
    dispose_after: float = 120 * 86400
    token_life: float = 86400
    session_life: float = 30 * 86400
    invite_life: float = 90 * 86400
    keep_days: int | None = None


# The tables, as steps: a change is a new one at the end, and one that was released never changes.
# Times are epoch seconds, money is whole cents, flags are 0 or 1.
#
# An assignment's `reward` is the one that its worker accepted, as the HIT may get another HIT type later, and
# `expected` what its page said that stopping early pays. A panel's `requester` is whose HITs its people see;
# empty: everybody's. `agreements` are to a requester's pages, by the names that the pages give themselves.
_FIRST_STEP = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE requesters (
    requester_id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, created DOUBLE PRECISION NOT NULL);
CREATE TABLE access_keys (
    access_key TEXT PRIMARY KEY, secret TEXT NOT NULL, requester_id TEXT NOT NULL REFERENCES requesters,
    created DOUBLE PRECISION NOT NULL);
CREATE TABLE accounts (account TEXT PRIMARY KEY, cents BIGINT NOT NULL);
CREATE TABLE transfers (
    transfer_id {serial}, time DOUBLE PRECISION NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
    cents BIGINT NOT NULL CHECK (cents > 0), kind TEXT NOT NULL, reference TEXT NOT NULL);
CREATE INDEX transfers_target ON transfers (target, kind);
CREATE TABLE request_tokens (
    requester_id TEXT NOT NULL, kind TEXT NOT NULL, token TEXT NOT NULL, result TEXT NOT NULL, created
    DOUBLE PRECISION NOT NULL, PRIMARY KEY (requester_id, kind, token));
CREATE INDEX request_tokens_created ON request_tokens (created);
CREATE TABLE workers (
    worker_id TEXT PRIMARY KEY, name TEXT UNIQUE, locale TEXT NOT NULL, approved
    BIGINT NOT NULL, rejected BIGINT NOT NULL, created DOUBLE PRECISION NOT NULL, epoch BIGINT NOT NULL
    DEFAULT 0, forgotten DOUBLE PRECISION);
CREATE TABLE sessions (
    session_hash TEXT PRIMARY KEY, worker_id TEXT NOT NULL REFERENCES workers, created DOUBLE PRECISION
    NOT NULL, expires DOUBLE PRECISION NOT NULL, visit BIGINT);
CREATE INDEX sessions_expires ON sessions (expires);
CREATE TABLE panels (
    panel TEXT PRIMARY KEY, participant TEXT NOT NULL, study TEXT NOT NULL,
    session TEXT NOT NULL, locale TEXT NOT NULL, completion TEXT NOT NULL, created DOUBLE PRECISION NOT
    NULL, signed BIGINT NOT NULL DEFAULT 0, hits BIGINT NOT NULL DEFAULT 0, reward BIGINT NOT NULL
    DEFAULT 0, confirm BIGINT NOT NULL DEFAULT 0, keys TEXT NOT NULL DEFAULT '', closed DOUBLE
    PRECISION, requester TEXT NOT NULL DEFAULT '');
CREATE TABLE panel_workers (
    panel TEXT NOT NULL, participant TEXT NOT NULL, worker_id TEXT NOT NULL UNIQUE REFERENCES workers,
    PRIMARY KEY (panel, participant));
CREATE TABLE visits (
    visit {serial}, panel TEXT NOT NULL REFERENCES panels, participant TEXT NOT NULL, study TEXT NOT
    NULL, session TEXT NOT NULL, worker_id TEXT NOT NULL REFERENCES workers, arrived DOUBLE PRECISION
    NOT NULL, confirmed BIGINT NOT NULL, outcome TEXT, ended DOUBLE PRECISION, paid DOUBLE PRECISION,
    UNIQUE (panel, participant, session));
CREATE INDEX visits_worker ON visits (worker_id);
CREATE TABLE visit_payments (
    payment {serial}, visit BIGINT NOT NULL REFERENCES visits, cents BIGINT NOT NULL, way TEXT NOT NULL,
    seen BIGINT NOT NULL, time DOUBLE PRECISION NOT NULL, reference TEXT NOT NULL);
CREATE INDEX visit_payments_visit ON visit_payments (visit);
CREATE TABLE messages (
    message_id {serial}, worker_id TEXT NOT NULL, requester_id TEXT NOT NULL, subject TEXT NOT NULL,
    body TEXT NOT NULL, sent DOUBLE PRECISION NOT NULL, is_read BIGINT NOT NULL DEFAULT 0);
CREATE INDEX messages_worker ON messages (worker_id, message_id);
CREATE TABLE hit_types (
    hit_type_id TEXT PRIMARY KEY, requester_id TEXT NOT NULL REFERENCES requesters, fingerprint TEXT NOT
    NULL, title TEXT NOT NULL, description TEXT NOT NULL, keywords TEXT, reward BIGINT NOT NULL,
    duration BIGINT NOT NULL, auto_approval_delay BIGINT NOT NULL, requirements TEXT NOT NULL, created
    DOUBLE PRECISION NOT NULL, UNIQUE (requester_id, fingerprint));
CREATE TABLE hits (
    seq {serial}, hit_id TEXT NOT NULL UNIQUE, requester_id TEXT NOT NULL REFERENCES requesters,
    hit_type_id TEXT NOT NULL REFERENCES hit_types, kind TEXT NOT NULL, height BIGINT NOT NULL, address
    TEXT, annotation TEXT, created DOUBLE PRECISION NOT NULL, expiration DOUBLE PRECISION NOT NULL,
    max_assignments BIGINT NOT NULL, first_max BIGINT NOT NULL, available BIGINT NOT NULL, pending
    BIGINT NOT NULL DEFAULT 0, submitted BIGINT NOT NULL DEFAULT 0, completed BIGINT NOT NULL DEFAULT 0,
    held BIGINT NOT NULL, reviewing BIGINT NOT NULL DEFAULT 0, disposed BIGINT NOT NULL DEFAULT 0,
    told_expired BIGINT NOT NULL DEFAULT 0, told_reviewable BIGINT NOT NULL DEFAULT 0);
CREATE INDEX hits_requester ON hits (requester_id, seq);
CREATE INDEX hits_open ON hits (hit_type_id, seq) WHERE available > 0 AND disposed = 0;
CREATE INDEX hits_expiring ON hits (expiration) WHERE told_expired = 0 AND disposed = 0;
CREATE INDEX hits_old ON hits (expiration) WHERE disposed = 0;
CREATE TABLE questions (hit_id TEXT PRIMARY KEY REFERENCES hits (hit_id), content TEXT NOT NULL);
CREATE TABLE assignments (
    seq {serial}, assignment_id TEXT NOT NULL UNIQUE, hit_id TEXT NOT NULL REFERENCES hits (hit_id),
    requester_id TEXT NOT NULL, worker_id TEXT NOT NULL REFERENCES workers, status TEXT NOT NULL,
    accepted_at DOUBLE PRECISION NOT NULL, deadline DOUBLE PRECISION NOT NULL, submitted_at DOUBLE
    PRECISION, auto_approve_at DOUBLE PRECISION, approved_at DOUBLE PRECISION, rejected_at DOUBLE
    PRECISION, ended_at DOUBLE PRECISION, answer TEXT, feedback TEXT, draft TEXT, visible_ms BIGINT,
    visible_pairs BIGINT, reward BIGINT NOT NULL, expected BIGINT, draft_tab TEXT, dispute TEXT,
    disputed_at DOUBLE PRECISION, dispute_answer TEXT, visit BIGINT);
CREATE INDEX assignments_hit ON assignments (hit_id, seq);
CREATE INDEX assignments_worker ON assignments (worker_id, seq);
CREATE INDEX assignments_held ON assignments (worker_id) WHERE status = 'Accepted';
CREATE INDEX assignments_deadline ON assignments (deadline) WHERE status = 'Accepted';
CREATE INDEX assignments_auto ON assignments (auto_approve_at) WHERE status = 'Submitted';
CREATE INDEX assignments_recent ON assignments (worker_id, submitted_at) WHERE submitted_at IS NOT NULL;
CREATE INDEX assignments_disputed ON assignments (disputed_at) WHERE dispute IS NOT NULL;
CREATE INDEX assignments_visit ON assignments (visit) WHERE visit IS NOT NULL;
CREATE UNIQUE INDEX assignments_once ON assignments (worker_id, hit_id) WHERE status IN ('Accepted',
    'Unconfirmed', 'Submitted', 'Approved', 'Rejected');
CREATE TABLE bonuses (
    seq {serial}, requester_id TEXT NOT NULL, hit_id TEXT NOT NULL, assignment_id TEXT NOT NULL,
    worker_id TEXT NOT NULL, cents BIGINT NOT NULL, reason TEXT NOT NULL, granted DOUBLE PRECISION NOT
    NULL);
CREATE INDEX bonuses_assignment ON bonuses (assignment_id);
CREATE INDEX bonuses_hit ON bonuses (hit_id);
CREATE TABLE blocks (
    seq {serial}, requester_id TEXT NOT NULL, worker_id TEXT NOT NULL, reason TEXT NOT NULL, UNIQUE
    (requester_id, worker_id));
CREATE TABLE qualification_types (
    seq {serial}, qualification_type_id TEXT NOT NULL UNIQUE, requester_id TEXT NOT NULL REFERENCES
    requesters, name TEXT NOT NULL, description TEXT NOT NULL, keywords TEXT, status TEXT NOT NULL, test
    TEXT, test_duration BIGINT, answer_key TEXT, retry_delay BIGINT, auto_granted BIGINT NOT NULL,
    auto_value BIGINT NOT NULL, created DOUBLE PRECISION NOT NULL, deleted BIGINT NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX qualification_types_name ON qualification_types (requester_id, name) WHERE deleted = 0;
CREATE TABLE qualifications (
    seq {serial}, qualification_type_id TEXT NOT NULL, worker_id TEXT NOT NULL, value BIGINT, granted
    DOUBLE PRECISION NOT NULL, status TEXT NOT NULL, reason TEXT, UNIQUE (qualification_type_id,
    worker_id));
CREATE INDEX qualifications_worker ON qualifications (worker_id);
CREATE TABLE qualification_requests (
    seq {serial}, request_id TEXT NOT NULL UNIQUE, qualification_type_id TEXT NOT NULL, requester_id
    TEXT NOT NULL, worker_id TEXT NOT NULL, status TEXT NOT NULL, answer TEXT, started DOUBLE PRECISION
    NOT NULL, submitted_at DOUBLE PRECISION, reason TEXT);
CREATE INDEX qualification_requests_worker ON qualification_requests (worker_id, qualification_type_id);
CREATE TABLE events (
    seq {serial}, time DOUBLE PRECISION NOT NULL, event TEXT NOT NULL, requester_id TEXT NOT NULL,
    hit_type_id TEXT NOT NULL, hit_id TEXT NOT NULL, assignment_id TEXT, worker_id TEXT);
CREATE INDEX events_submitted ON events (requester_id, seq) WHERE event = 'AssignmentSubmitted';
CREATE TABLE admin_sessions (session_hash TEXT PRIMARY KEY, expires DOUBLE PRECISION NOT NULL);
CREATE TABLE agreements (
    worker_id TEXT NOT NULL REFERENCES workers, requester_id TEXT NOT NULL, page TEXT NOT NULL, agreed
    DOUBLE PRECISION NOT NULL, PRIMARY KEY (worker_id, requester_id, page));
CREATE TABLE admin_log (
    seq {serial}, time DOUBLE PRECISION NOT NULL, admin TEXT NOT NULL, act TEXT NOT NULL, about TEXT NOT
    NULL, status BIGINT);
"""

STEPS = (_FIRST_STEP,)


_PLAY, _REAL = "play", "real"
Clock = Callable[[], float]


class Transaction(Connection):
    """One transaction at one moment."""

    def __init__(self, marketplace: "Marketplace", db: Connection, now: float) -> None:
        super().__init__(db.dialect, db._raw, db._run)
        self.marketplace = marketplace
        self.now = now

    def get(self, kind: type[T], table: str, *, lock: bool = False, **where: Value) -> T | None:
        """Return the record of the row with these values, locked until the transaction ends, or None."""
        return self.find(kind, f"FROM {table} WHERE {having(where)}{self.locked if lock else ''}", **where)

    @property
    def locked(self) -> str:
        """The clause that locks the selected rows until the transaction ends."""
        return self.marketplace.database.for_update

    @property
    def skip_locked(self) -> str:
        """The clause that passes over rows that another process holds."""
        return self.marketplace.database.skip_locked


Sweep = Callable[[Transaction], None]


class Marketplace:
    """The store, the clock and the rules of one marketplace.

    Nothing runs in the background: ``sweep`` does what is due (deadlines, expiry, automatic approval) at the
    start of the next transaction.

    A sandbox pays in play money and never runs out of it. The store records from the first day whether it is
    one, so that play money never becomes real: ``sandbox`` says what is expected, None accepts either.
    """

    forget_every = 3600.0  # seconds between looks for people who are known for long enough
    sweep_every = 0.25  # seconds between sweeps; every state change also checks its own deadline

    def __init__(
        self,
        store_url: str,
        *,
        sweep: Sweep,
        sandbox: bool | None = None,
        clock: Clock = time.time,
        rules: Rules | None = None,
        admin_token: str | None = None,
    ) -> None:
        _keep_private(store_url)
        self.database = Database(store_url)
        _refuse_lost(self.database)
        self.database.migrate(STEPS)
        self.clock = clock
        self.rules = rules or Rules()
        self._sweep = sweep
        self._swept = self._forgot = float("-inf")
        self._must_scrub = False
        self._lock = threading.Lock()
        with self.database.transaction() as db:
            self.ident = _setting(db, "marketplace", new_id)
            self._secret = _setting(db, "secret", new_secret).encode()
            self.admin_token = admin_token or self.sign("admin token")
            """What the admin signs in with."""
            self.sandbox = _setting(db, "money", lambda: _REAL if sandbox is False else _PLAY) == _PLAY
            copied = db.value("SELECT value FROM settings WHERE name = :name", name=COPIED)
            self.restored = copied and float(_setting(db, f"restored: {copied}", lambda: repr(clock())))
            """When the store was first opened that was restored from its last backup; None if it was not."""
            self.moved = _note_moved(db, file_of(store_url), clock())
            """When the store was first opened as another file than before; 0 if it was not."""
        if sandbox not in (None, self.sandbox):
            self.close()
            raise _other_kind(store_url, self.sandbox)

    @contextlib.contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[Transaction]:
        """Open a transaction at the present moment, after doing everything that is due."""
        now = self.clock()
        if self._due(now):
            # in a transaction of its own: what was due stays done if the request is refused
            with self.database.transaction() as db:
                self._sweep(Transaction(self, db, now))
            self._scrub_forgotten()
        with self.database.transaction(write=write) as db:
            yield Transaction(self, db, now)

    def sign(self, purpose: str, *parts: str) -> str:
        """Return a signature that only this marketplace can make."""
        text = "\x1f".join((purpose, *parts)).encode()
        return hmac.new(self._secret, text, hashlib.sha256).hexdigest()[:40]

    def signed(self, signature: str, purpose: str, *parts: str) -> bool:
        """Tell whether this marketplace made the signature."""
        return hmac.compare_digest(signature.encode(), self.sign(purpose, *parts).encode())

    def close(self) -> None:
        """Close the store."""
        self.database.close()

    def sweep_is_due(self) -> bool:
        """Tell whether the next transaction will begin with a sweep."""
        return abs(self.clock() - self._swept) >= self.sweep_every

    def keeps_nobody_before(self, now: float) -> float | None:
        """Return since when people are known, once in a while; None where that is not looked at now."""
        days = self.rules.keep_days
        with self._lock:
            if days is None or abs(now - self._forgot) < self.forget_every:
                return None
            self._forgot = now
            return now - days * 86_400

    def scrub_soon(self) -> None:
        """Note that somebody was forgotten, whose bytes are to go once this transaction has ended."""
        self._must_scrub = True

    def _scrub_forgotten(self) -> None:
        if self._must_scrub:
            self._must_scrub = False
            try:
                self.database.scrub()
            except PrefjudgeError:  # somebody reads; what comes to be forgotten next takes this with it
                self._must_scrub = True

    def _due(self, now: float) -> bool:
        with self._lock:
            if abs(now - self._swept) < self.sweep_every:
                return False
            self._swept = now
            return True


def _refuse_lost(database: Database) -> None:
    """Refuse to start over where the store is lost: a new one would not know what workers are owed."""
    path = file_of(database.url)
    token = Path(f"{path}.admin-token")
    if path is not None and token.exists() and not database.version():
        raise ConfigError(
            f"the store {path} is missing or empty, but a marketplace was served from it: "
            f"{token.name} exists",
            f"Restore a backup of it (docs/backup.md); to begin a new marketplace, delete {token}.",
        )


def _other_kind(store_url: str, sandbox: bool) -> ConfigError:
    if sandbox:
        return ConfigError(
            f"{redacted(store_url)} is a sandbox: what it holds is play money",
            "Give the live marketplace a store of its own.",
        )
    return ConfigError(
        f"{redacted(store_url)} is a live marketplace: what it holds is real money",
        "Serve it with --live; give a sandbox a store of its own.",
    )


def _keep_private(store_url: str) -> None:
    """Let only the owner read files that exist: they hold keys."""
    if store_url.startswith("sqlite:///"):
        path = store_url.removeprefix("sqlite:///")
        for name in (path, f"{path}-wal", f"{path}-shm"):
            with contextlib.suppress(OSError):
                Path(name).chmod(0o600)


def _setting(db: Connection, name: str, default: Callable[[], str]) -> str:
    """Return a setting that is made once for the life of the store.

    If several processes start together, all get what the first one made.
    """
    db.insert("settings", {"name": name, "value": default()}, "ON CONFLICT DO NOTHING")
    return str(db.value("SELECT value FROM settings WHERE name = :name", name=name))


def _note_moved(db: Connection, file: Path | None, now: float) -> float:
    """Return when a store was last found to be another file: a copy, beside which the first may go on."""
    if file is None:
        return 0.0
    here = str(file.stat().st_ino)  # renaming keeps it, unlike a path or the name of a container
    if _setting(db, "file", lambda: here) != here:
        db.execute("DELETE FROM settings WHERE name IN ('file', 'moved')")
        _setting(db, "file", lambda: here)
        _setting(db, "moved", lambda: repr(now))
    return float(db.value("SELECT value FROM settings WHERE name = 'moved'") or 0)


R = TypeVar("R")
Act = Callable[[Transaction], R]

_RETRIED = ("40001", "40P01")  # SQLSTATE of a serialisation failure and of a deadlock
_TRIES = 5
_THREADS = {"sqlite": 2, "postgresql": 8}
_TOGETHER = 64


class Executor:
    """Runs transactions on threads of its own, for requests that are served on the event loop.

    SQLite has one writer at a time, so one thread writes, and runs what is waiting in one transaction.
    PostgreSQL handles concurrent writers itself, and gets several threads.
    """

    def __init__(self, marketplace: Marketplace) -> None:
        self.marketplace = marketplace
        self._pool = ThreadPoolExecutor(_THREADS[marketplace.database.dialect], thread_name_prefix="store")
        self._writer = _Writer(marketplace) if marketplace.database.dialect == "sqlite" else None

    async def run(self, act: Act[R], *, write: bool = True) -> R:
        """Call ``act`` in a transaction; its result is durable when this returns."""
        return await asyncio.wrap_future(self._submit(act, write))

    def _submit(self, act: Act[R], write: bool) -> Future[R]:
        # a sweep writes, so a read that would begin with one also goes to the writer
        if self._writer is not None and (write or self.marketplace.sweep_is_due()):
            return self._writer.submit(act)
        return self._pool.submit(self._carry_out, act, write)

    def _carry_out(self, act: Act[R], write: bool) -> R:
        """Run one transaction; try again if the database breaks it off in a deadlock."""
        for _ in range(_TRIES - 1):
            try:
                with self.marketplace.transaction(write=write) as tx:
                    return act(tx)
            except Exception as error:
                if getattr(error, "sqlstate", None) not in _RETRIED:
                    raise
        with self.marketplace.transaction(write=write) as tx:
            return act(tx)

    def close(self) -> None:
        """Wait for the transactions under way, and end the threads."""
        if self._writer is not None:
            self._writer.close()
        self._pool.shutdown(wait=True)


class _Writer:
    """One thread that runs all waiting acts in one transaction, so that they share one write to disk."""

    def __init__(self, marketplace: Marketplace) -> None:
        self._marketplace = marketplace
        self._waiting: SimpleQueue[tuple[Act[Any], Future[Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="writer", daemon=True)
        self._thread.start()

    def submit(self, act: Act[R]) -> Future[R]:
        future: Future[R] = Future()
        self._waiting.put((act, future))
        return future

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join()

    def _serve(self) -> None:
        first = self._waiting.get()
        while first is not None:
            batch = [first]
            last = None
            while len(batch) < _TOGETHER:
                try:
                    last = self._waiting.get_nowait()
                except Empty:
                    break
                if last is None:
                    self._waiting.put(None)  # the end, once this batch is done
                    break
                batch.append(last)
            self._carry_out([one for one in batch if one[1].set_running_or_notify_cancel()])
            first = self._waiting.get()

    def _carry_out(self, batch: list[tuple[Act[Any], Future[Any]]]) -> None:
        outcomes: list[tuple[Any, Exception | None]]
        try:
            with self._marketplace.transaction() as tx:
                outcomes = [_apart(tx, act) for act, _ in batch]
        except Exception as error:  # the transaction itself failed: nothing was done for anybody
            outcomes = [(None, error)] * len(batch)
        for (_, future), (result, problem) in zip(batch, outcomes, strict=True):
            if problem is None:
                future.set_result(result)
            else:
                future.set_exception(problem)


def _apart(tx: Transaction, act: Act[R]) -> tuple[R | None, Exception | None]:
    """Carry out one act among others: if it raises, only its own changes are undone."""
    tx.execute("SAVEPOINT act")
    outcome: tuple[R | None, Exception | None]
    try:
        outcome = act(tx), None
    except Exception as error:
        if tx.ended:  # a full disk, for instance: the other acts are undone, too
            raise
        tx.execute("ROLLBACK TO act")
        outcome = None, error
    tx.execute("RELEASE act")
    return outcome
