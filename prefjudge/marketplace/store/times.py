"""Times as people's programs read them."""

from datetime import UTC, datetime

from prefjudge.database import Value


def iso(time: Value) -> str | None:
    """Write epoch seconds as ISO 8601 in UTC, to the second."""
    if time is None:
        return None
    return datetime.fromtimestamp(float(time), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
