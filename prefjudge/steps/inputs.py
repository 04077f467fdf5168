"""The files that a step is given: patterns expanded, and a record of each for the study."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from prefjudge.errors import InputError

if TYPE_CHECKING:
    from prefjudge.study.pooling import InputFile

QRELS_NAME = "original"
"""What the study calls the qrels that it starts from."""


@overload
def as_path(path: str | Path) -> Path: ...
@overload
def as_path(path: None) -> None: ...
@overload
def as_path(path: str | Path | None) -> Path | None: ...
def as_path(path: str | Path | None) -> Path | None:
    """Return a path that a program may have given as text."""
    return None if path is None else Path(path)


def expand(patterns: Sequence[str | Path]) -> tuple[Path, ...]:
    """Return the files that the patterns match, sorted within each pattern.

    Raises
    ------
    InputError
        A pattern matches nothing.
    """
    import glob

    found: dict[Path, None] = {}
    for pattern in map(str, patterns):
        names = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else [pattern]  # noqa: PTH207
        matches = map(Path, names)
        files = [path for path in matches if not path.is_dir()]
        if not files:
            raise InputError(
                f"no file matches {pattern}", "Name run files, or a pattern in quotes such as 'runs/*.gz'."
            )
        found |= dict.fromkeys(files)
    return tuple(found)


def input_files(
    paths: Sequence[Path], tags: Sequence[str], others: Mapping[str, Path | None]
) -> list["InputFile"]:
    """Return the record of the files that a study is made from, with their digests."""
    from prefjudge.formats.digests import digest
    from prefjudge.study.pooling import InputFile

    files = [("run", path, tag) for path, tag in zip(paths, tags, strict=True)]
    files += [(kind, path, QRELS_NAME if kind == "qrels" else "") for kind, path in others.items() if path]
    return [
        InputFile(
            kind=kind,
            path=str(path.resolve()),
            digest="" if kind == "collection" else digest(path),
            name=name,
        )
        for kind, path, name in files
    ]
