"""Digests: what a file held, in a few letters."""

import hashlib
from pathlib import Path

from prefjudge.formats.lines.blocks import opened, pieces

_PIECE = 1 << 20


def digest(path: str | Path) -> str:
    """Return ``sha256:`` and the SHA-256 of a file's bytes as they are stored."""
    state = hashlib.sha256()
    with opened(path) as file:
        while piece := file.read(_PIECE):
            state.update(piece)
    return f"sha256:{state.hexdigest()}"


def digest_of_content(path: str | Path) -> str:
    """Return the same of a file's unpacked bytes: a compressed copy has the digest of the original."""
    state = hashlib.sha256()
    for piece in pieces(path):
        state.update(piece)
    return f"sha256:{state.hexdigest()}"
