"""What never enters Git: stores, secrets and gold pairs, by their names and by their bytes."""

import re
from pathlib import PurePosixPath

from prefjudge.steps.release.leaks import KEYS

_NAMES = re.compile(
    r".*(\.db|\.sqlite3?|\.db-(wal|shm|journal)|\.admin-token|\.bak|\.dump|\.sql|\.pem|\.part)"
    r"|gold.*\.tsv|.*backup.*|\.env(\..*)?|id_(rsa|ed25519|ecdsa).*",
    re.IGNORECASE,
)
_STORES = (b"SQLite format 3\0", b"PGDMP")
"""How SQLite's files and PostgreSQL's dumps begin."""
LOOKED_AT = 1_000_000
"""Files of more bytes are known by their beginning alone: runs are long."""


def is_private(path: str, data: bytes) -> str:
    """Return why a file must not be in Git; empty where it may be."""
    if _NAMES.fullmatch(PurePosixPath(path).name):
        return "the name of a store, a secret, gold pairs or a copy of them: these never enter Git"
    if data.startswith(_STORES):
        return "a store, whatever it is called: worker ids and gold pairs never enter Git"
    if KEYS.search(data):
        return "a key is in it: take it out, make it invalid where it is from, and commit anew"
    return ""
