"""Digests: what a file held, in a few letters."""

import hashlib
from pathlib import Path

from prefjudge.formats.lines.addresses import is_remote
from prefjudge.formats.lines.blocks import opened, pieces

_PIECE = 1 << 20


def digest(path: str | Path) -> str:
    """Return ``sha256:`` and the SHA-256 of a file's bytes as they are stored.

    Of an object that is fetched it is ``etag:`` and what the server calls its version, if it does: else every
    byte would be fetched again.
    """
    if is_remote(path):
        from prefjudge.formats.lines.remote import has_etag, version

        if has_etag(found := version(path)):
            return found
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
