"""Settings: what a study has settled once, by name."""

from prefjudge.database import Connection

RECOVERING = "recovering"
"""Settled while a store may lack what happened since: says why. Until then it publishes and pays nothing."""
BEING_REBUILT = "is being rebuilt"
"""Of a store that was made again where one was lost."""
BEING_UPDATED = "is being brought up to date"
"""Of a store that was there when `recover` began."""
COPIED = "copied"
"""When the backup was made that a store is, in UTC."""


def load_setting(db: Connection, key: str) -> str | None:
    """Return what was settled, or None."""
    rows = db.execute("SELECT value FROM settings WHERE key = :key", key=key)
    return str(rows[0][0]) if rows else None


def keep_setting(db: Connection, key: str, value: str) -> str:
    """Settle what is not settled yet; return what is."""
    db.insert("settings", {"key": key, "value": value}, "ON CONFLICT (key) DO NOTHING")
    return load_setting(db, key) or ""


def save_setting(db: Connection, key: str, value: str) -> None:
    """Settle something, whatever was settled before."""
    db.insert(
        "settings", {"key": key, "value": value}, "ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    )


def count_up(db: Connection, key: str) -> int:
    """Add one to a setting that counts, and return the sum: 1 the first time."""
    rows = db.insert(
        "settings",
        {"key": key, "value": "1"},
        "ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(settings.value AS BIGINT) + 1 AS TEXT)"
        " RETURNING value",
    )
    return int(rows[0][0])


def drop_setting(db: Connection, key: str) -> None:
    """Settle something no longer."""
    db.execute("DELETE FROM settings WHERE key = :key", key=key)


def drop_settings(db: Connection, prefix: str) -> None:
    """Settle no longer what has a name that begins so."""
    db.execute("DELETE FROM settings WHERE substr(key, 1, length(:prefix)) = :prefix", prefix=prefix)
