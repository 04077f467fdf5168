"""Where a database is, as a URL, and how a URL may be shown."""

import re
from pathlib import Path

from prefjudge.errors import StudyError

_SQLITE = "sqlite:///"


def dialect_of(url: str) -> str:
    """Return which kind of database a URL names."""
    scheme, separator, rest = url.partition("://")
    dialect = "postgresql" if scheme == "postgres" else scheme
    path = rest.removeprefix("/")
    is_file = dialect == "sqlite" and rest.startswith("/") and path not in ("", ":memory:")
    if not separator or not (is_file or dialect == "postgresql"):
        raise StudyError(f"cannot store at {redacted(url)}", "Give sqlite:///PATH or postgresql://HOST/NAME.")
    if not is_file and rest.partition("?")[0].count("@") > 1:  # libpq would show half of the password
        raise StudyError(f"{redacted(url)} has more than one @", "Write an @ of the password as %40.")
    if not is_file and re.search(r"\s|%(?![0-9A-Fa-f]{2})", rest):  # libpq would show all of it
        raise StudyError(
            f"{redacted(url)} has a space, or a % that begins no code", "Write them as %20 and %25."
        )
    return dialect


def file_of(url: str) -> Path | None:
    """Return the file of a SQLite database, None for a database of another kind."""
    return Path(url.removeprefix(_SQLITE)) if url.startswith(_SQLITE) else None


def redacted(url: str) -> str:
    """Return the URL without its passwords, fit for a message or a log."""
    url = re.sub(r"^((?:[a-z]+:/+)?[^:/@]*):(?!//).*@", r"\1:…@", url)
    return re.sub(r"([?&][^=&]*password)=[^&]*", r"\1=…", url, flags=re.IGNORECASE)
