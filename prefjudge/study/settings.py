"""Settings: values that a study stores by name."""

from prefjudge.database import Connection

RECOVERING = "recovering"
"""Set to the reason while the store may lack what happened: the study then does not publish or pay."""
BEING_REBUILT = "is being rebuilt"
"""The reason for a new store that replaces a lost one."""
BEING_UPDATED = "is being brought up to date"
"""The reason for a store that existed when `store recover` began."""
HAPPENED = "happened elsewhere"
"""What the last look found that a person did where the people come from, as a JSON list of sentences."""
COPIED = "copied"
"""Set in a backup: when it was made, in UTC."""


def load_setting(db: Connection, key: str) -> str | None:
    """Return a setting, or None."""
    rows = db.execute("SELECT value FROM settings WHERE key = :key", key=key)
    return str(rows[0][0]) if rows else None


def keep_setting(db: Connection, key: str, value: str) -> str:
    """Store a setting unless it has a value; return its value."""
    db.insert("settings", {"key": key, "value": value}, "ON CONFLICT (key) DO NOTHING")
    return load_setting(db, key) or ""


def save_setting(db: Connection, key: str, value: str) -> None:
    """Store a setting, and replace an earlier value."""
    db.insert(
        "settings", {"key": key, "value": value}, "ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    )


def count_up(db: Connection, key: str) -> int:
    """Add one to a counter, and return it: 1 the first time."""
    rows = db.insert(
        "settings",
        {"key": key, "value": "1"},
        "ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(settings.value AS BIGINT) + 1 AS TEXT)"
        " RETURNING value",
    )
    return int(rows[0][0])


def drop_setting(db: Connection, key: str) -> None:
    """Delete a setting."""
    db.execute("DELETE FROM settings WHERE key = :key", key=key)


def drop_settings(db: Connection, prefix: str) -> None:
    """Delete all settings whose names begin with a prefix."""
    db.execute("DELETE FROM settings WHERE substr(key, 1, length(:prefix)) = :prefix", prefix=prefix)
