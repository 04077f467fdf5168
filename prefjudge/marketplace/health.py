"""Checks of a marketplace's store: every cent is somewhere, and nothing was paid twice."""

from prefjudge.database import Connection
from prefjudge.marketplace.store.ledger import UNBALANCED
from prefjudge.marketplace.store.store import STEPS

SCHEMA = len(STEPS)
"""The schema that this prefjudge knows."""

_IMPOSSIBLE = (
    (
        "accounts owe more than they have",
        "SELECT count(*) FROM accounts WHERE cents < 0 AND account <> 'outside'",
    ),
    (
        "requesters have other amounts on hold than their open HITs may cost",
        "SELECT count(*) FROM (SELECT 'hold:' || requester_id AS account, sum(held) AS held FROM hits"
        " GROUP BY requester_id) AS h LEFT JOIN accounts a USING (account)"
        " WHERE coalesce(a.cents, 0) <> h.held",
    ),
    (
        "assignments were paid twice",
        "SELECT count(*) FROM (SELECT reference FROM transfers WHERE kind = 'reward'"
        " GROUP BY reference HAVING count(*) > 1) AS twice",
    ),
)


def find_impossible(db: Connection) -> list[str]:
    """Return what is only possible if money appeared, vanished or was paid twice."""
    lost = [f"the account {name} is not the sum of its transfers" for (name,) in db.execute(UNBALANCED)]
    found = [(int(db.execute(sql)[0][0]), what) for what, sql in _IMPOSSIBLE]
    return lost + [f"{count:,} {what}" for count, what in found if count]


def ledger_sums(db: Connection) -> dict[str, int]:
    """Return the sum of all accounts, which must be 0, and what workers are owed, in cents."""
    total, owed = db.execute(
        "SELECT coalesce(sum(cents), 0),"
        " coalesce(sum(CASE WHEN account LIKE 'worker:%' THEN cents ELSE 0 END), 0) FROM accounts"
    )[0]
    return {"all accounts": int(total), "owed to workers": int(owed)}


def load_setting(db: Connection, name: str) -> str | None:
    """Return one of the store's settings, or None."""
    rows = db.execute("SELECT value FROM settings WHERE name = :name", name=name)
    return str(rows[0][0]) if rows else None


def save_setting(db: Connection, name: str, value: str) -> None:
    """Write a setting; an earlier value is replaced."""
    db.insert(
        "settings", {"name": name, "value": value}, "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    )


def newest_time(db: Connection) -> float:
    """Return the latest time of anything in the store, 0 where there is nothing."""
    return float(
        db.execute(
            "SELECT max(t) FROM (SELECT max(time) AS t FROM transfers UNION ALL "
            "SELECT max(created) FROM hits UNION ALL SELECT max(submitted_at) FROM assignments) AS times"
        )[0][0]
        or 0
    )
