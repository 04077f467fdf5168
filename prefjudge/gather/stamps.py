"""Stamps: every file that rests on simulated judgments says so."""

from pathlib import Path

from prefjudge.core.judges.rehearsal import Rehearsal
from prefjudge.formats.labels.stamps import write_beside
from prefjudge.gather.inputs import is_address


def stamp_of(rehearsal: Rehearsal | None) -> str:
    """Return the words of the stamp; none where nothing is rehearsed."""
    return str(rehearsal or "")


def write_stamp(path: str | Path, stamp: str) -> None:
    """Write a stamp beside a file whose format has no room for it, or remove that of an earlier file."""
    if not is_address(path):  # the provenance of what is at an address is written beside it
        write_beside(Path(path), stamp)
