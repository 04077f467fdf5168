"""Stamps: what rests on simulated judgments says so, file by file, until it rests on none."""

from pathlib import Path

from prefjudge.formats.atomic import write_text
from prefjudge.steps.inputs import is_address
from prefjudge.steps.outputs import beside
from prefjudge.study.rehearsal import Rehearsal

_ENDING = "rehearsal.txt"
_KNOWN = "rehearsal: "


def stamp_of(rehearsal: Rehearsal | None) -> str:
    """Return the words of the stamp; none where nothing is rehearsed."""
    return str(rehearsal or "")


def write_stamp(path: str | Path, stamp: str) -> None:
    """Write a stamp beside a file whose form has no room for it, or take away the one of an earlier file."""
    if is_address(path):  # its provenance is written beside it
        return
    file = Path(beside(Path(path), _ENDING))
    if stamp:
        write_text(file, f"{stamp}: see {Path(path).name}\n")
    elif file.is_file() and file.read_text(encoding="utf-8", errors="replace").startswith(_KNOWN):
        file.unlink()
