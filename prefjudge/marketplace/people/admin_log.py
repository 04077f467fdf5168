"""What those who administer did: written before each act, so that none is missing, and its outcome after."""

from dataclasses import dataclass

from prefjudge.marketplace.store.marketplace import Transaction
from prefjudge.marketplace.store.times import iso

AT_ONCE = 200
"""Entries on one page of the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One act: who did what to whom. ``status`` is its HTTP status, None where the server died in it."""

    seq: int
    time: float
    admin: str
    act: str
    about: str
    status: int | None

    def to_json(self) -> dict[str, object]:
        """Return it as pages and programs show it."""
        fields = {name: getattr(self, name) for name in ("seq", "admin", "act", "about", "status")}
        return {**fields, "time": iso(self.time)}


def begin(tx: Transaction, admin: str, act: str, about: str) -> int:
    """Write that somebody begins to do something, and return the entry's number."""
    entry = {"time": tx.now, "admin": admin, "act": act, "about": about}
    return int(tx.insert("admin_log", entry, "RETURNING seq")[0][0])


def end(tx: Transaction, seq: int, status: int, about: str) -> None:
    """Write what came of it, and whom it was about, where that is known only now."""
    tx.run(
        "UPDATE admin_log SET status = :status, about = :about WHERE seq = :seq",
        status=status,
        about=about,
        seq=seq,
    )


def entries(tx: Transaction, before: int | None = None) -> list[Entry]:
    """List the last entries, or those before one, newest first."""
    return tx.select(
        Entry,
        f"FROM admin_log WHERE seq < :before ORDER BY seq DESC LIMIT {AT_ONCE}",
        before=2**62 if before is None else before,
    )
