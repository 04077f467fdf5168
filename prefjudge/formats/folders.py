"""Folders as BEIR and MTEB lay them out: ``corpus``, ``queries`` and ``qrels``; one file is meant."""

from pathlib import Path
from typing import Literal

from prefjudge.errors import InputError
from prefjudge.formats.lines.compressions import COMPRESSIONS

Role = Literal["collection", "queries", "qrels"]
"""What a file is given for; it is also the option's name."""

NAMES = {"collection": ("corpus",), "queries": ("queries",), "qrels": ("qrels", "data")}
_PACKED = ("", *(f".{kind}" for kind in COMPRESSIONS))
_ENDINGS = tuple(suffix + packed for suffix in (".jsonl", ".tsv", ".parquet") for packed in _PACKED)
_FIRST = "test"
"""The part of the qrels that results are reported on."""


def file_in(folder: Path, role: Role) -> Path:
    """Return the file of a folder that is meant; a collection may be a folder of many files, and is kept.

    Raises
    ------
    InputError
        There is none, or there are several to choose from.
    """
    named = [folder / f"{name}{ending}" for name in NAMES[role] for ending in _ENDINGS]
    inner = next((folder / name for name in NAMES[role] if (folder / name).is_dir()), None)
    if found := next((path for path in named if path.is_file()), None):
        return found
    if role == "collection":
        return inner or folder
    files = _data_files(inner or folder)
    tests = [path for path in files if path.name.split(".")[0].split("-")[0] == _FIRST]
    chosen = tests if role == "qrels" and len(files) > 1 else files
    if len(chosen) == 1 and (inner or role == "qrels"):
        return chosen[0]
    wanted = "qrels/test.tsv" if role == "qrels" else "queries.jsonl"
    here = ", ".join(str(path.relative_to(folder)) for path in files[:10]) or "no such file"
    raise InputError(
        f"{folder} is a folder without {wanted}: it holds {here}",
        f"Name the file: --{role} {files[0] if files else folder / wanted}",
    )


def _data_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.is_file() and path.name.endswith(_ENDINGS)]
