"""The marketplace as one value: its store, its clock, its rules; and its transactions."""

import contextlib
import hashlib
import hmac
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.database import Connection, Database, Row, Value, file_of, redacted
from prefjudge.database.records import T
from prefjudge.errors import ConfigError, PrefjudgeError
from prefjudge.marketplace.store.ids import new_id, new_secret
from prefjudge.marketplace.store.rules import Rules
from prefjudge.marketplace.store.schema import STEPS

if TYPE_CHECKING:
    from prefjudge.database.records import Record

_PLAY, _REAL = "play", "real"
Clock = Callable[[], float]


class Transaction:
    """One transaction at one moment."""

    def __init__(self, marketplace: "Marketplace", db: Connection, now: float) -> None:
        self.marketplace = marketplace
        self.db = db
        self.now = now

    def rows(self, sql: str, params: Mapping[str, Value] | None = None, /, **named: Value) -> list[Row]:
        """Run a statement and return its rows."""
        return self.db.execute(sql, params, **named)

    def run(self, sql: str, params: Mapping[str, Value] | None = None, /, **named: Value) -> None:
        """Run a statement for its effect."""
        self.db.execute(sql, params, **named)

    def select(self, kind: type[T], rest: str, /, **named: Value) -> list[T]:
        """Return a record for each row; see :meth:`Connection.select`."""
        return self.db.select(kind, rest, **named)

    def find(self, kind: type[T], rest: str, /, **named: Value) -> T | None:
        """Return the record of the first row, or None."""
        found = self.db.select(kind, rest, **named)
        return found[0] if found else None

    def tally(self, sql: str, /, **named: Value) -> dict[str, int]:
        """Run a statement of two columns, a name and a number, and return the numbers by name."""
        return {str(name): int(number or 0) for name, number in self.db.execute(sql, named)}

    def insert(self, table: str, record: "Record", rest: str = "", /, **named: Value) -> list[Row]:
        """Add one row; see :meth:`Connection.insert`."""
        return self.db.insert(table, record, rest, **named)

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

    Raises
    ------
    ConfigError
        The store is a marketplace of the other kind.
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
    return str(db.execute("SELECT value FROM settings WHERE name = :name", name=name)[0][0])
