"""The files that a verb is given: folders and patterns expanded, names of data sets, and a record of each."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from os import fspath
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

from prefjudge.errors import ConfigError, InputError, StudyError, quoted
from prefjudge.reading.datasets import ALLOWED, is_dataset, may_download, size_of, version
from prefjudge.reading.files import COMPRESSIONS
from prefjudge.reading.held import MEMORY, Held, NamedFile
from prefjudge.reading.inputs import Runs, take_runs
from prefjudge.reading.remote import is_remote, matching, without_secrets
from prefjudge.reading.runs.parquet import is_parquet
from prefjudge.reading.sniffing import Kind, refuse_study, sniff
from prefjudge.reading.unpacking import can_reread
from prefjudge.words import many


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file that the study was made from."""

    kind: str
    path: str
    digest: str
    name: str


Role = Literal["collection", "queries", "qrels"]
"""What a file is given for; it is also the option's name."""

NAMES = {"collection": ("corpus",), "queries": ("queries",), "qrels": ("qrels", "data")}
_PACKED = ("", *(f".{kind}" for kind in COMPRESSIONS))
_ENDINGS = tuple(suffix + packed for suffix in (".jsonl", ".tsv", ".parquet") for packed in _PACKED)
_FIRST = "test"
"""The part of the qrels that results are reported on."""


def file_in(folder: Path, role: Role) -> Path:
    """Return the file of a folder that is meant; a collection may be a folder of many files, and is kept."""
    named = [folder / f"{name}{ending}" for name in NAMES[role] for ending in _ENDINGS]
    inner = next((folder / name for name in NAMES[role] if (folder / name).is_dir()), None)
    if found := next((path for path in named if path.is_file()), None):
        return found
    if role == "collection":
        return inner or folder
    here = sorted((inner or folder).iterdir())
    files = [path for path in here if path.is_file() and path.name.endswith(_ENDINGS)]
    tests = [path for path in files if path.name.split(".")[0].split("-")[0] == _FIRST]
    chosen = tests if role == "qrels" and len(files) > 1 else files
    if len(chosen) == 1 and (inner or role == "qrels"):
        return chosen[0]
    wanted = "qrels/test.tsv" if role == "qrels" else "queries.jsonl"
    held = ", ".join(str(path.relative_to(folder)) for path in files[:10]) or "no such file"
    raise InputError(
        f"{folder} is a folder without {wanted}: it holds {held}",
        f"Name the file: --{role} {files[0] if files else folder / wanted}",
    )


# Datasets of the Hugging Face Hub in BEIR's or MTEB's layout, as ``hf:OWNER/NAME``: found as files here.

PREFIX = "hf:"


def hub_file(path: str | Path, role: Role) -> Path:
    """Return the file of a dataset that is meant, or the folder of its collection, in the hub's own cache."""
    try:
        from huggingface_hub import errors, snapshot_download
    except ImportError:
        raise ConfigError(
            f"{path} is a dataset of the Hugging Face Hub, whose library is not installed",
            "Install it with the extra: pip install 'prefjudge[hf]'",
        ) from None
    name, _, revision = fspath(path).removeprefix(PREFIX).partition("@")
    which: dict[str, Any] = {
        "repo_type": "dataset",
        "revision": revision or None,
        "allow_patterns": _patterns(role),
    }
    try:
        folder = Path(snapshot_download(name, local_files_only=True, **which))
        if (
            found := file_in(folder, role)
        ) != folder:  # else the cache may hold the files of other roles alone
            return found
    except (errors.LocalEntryNotFoundError, errors.IncompleteSnapshotError, InputError):
        pass
    except errors.HFValidationError as error:
        raise InputError(f"{path} is not a name of the hub: {error}", "Write hf:OWNER/NAME.") from None
    try:
        planned = [one for one in snapshot_download(name, dry_run=True, **which) if not isinstance(one, str)]
        if not planned:
            raise InputError(
                f"{path} has no {role} in BEIR's layout", f"Download it, and name its file: --{role} FILE"
            )
        needed = [one for one in planned if one.will_download]
        if needed and not may_download():
            size = size_of(sum(one.file_size for one in needed))
            raise InputError(
                f"{path} is not on this machine: {', '.join(one.filename for one in needed)} would be "
                f"downloaded from the Hugging Face Hub ({size})",
                f"Allow it: --dataset download, or {ALLOWED}=1 in the environment of any verb.",
            )
        return file_in(Path(snapshot_download(name, **which)), role)
    except (OSError, errors.HfHubHTTPError, ValueError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{path} cannot be fetched from the Hugging Face Hub: {said}",
            "Check the name, and that this machine reaches the hub; or download it, and give its folder.",
        ) from None


def _patterns(role: Role) -> list[str]:
    """Return what the files of a role are called: BEIR has them beside each other, MTEB in folders."""
    patterns = [f"{name}{rest}" for name in NAMES[role] for rest in ("/*", ".jsonl*", ".parquet", ".tsv")]
    return patterns + (["test.tsv", "dev.tsv", "train.tsv"] if role == "qrels" else [])


# The files that a step is given: patterns expanded, and a record of each for the study.

_Several = TypeVar("_Several", str, Path, str | Path)

_ASIDE = (".md", ".rst", ".html", ".pdf", ".json", ".toml", ".yaml", ".yml", ".md5", ".sha256")
"""Suffixes of files in a folder of runs that are not runs."""

QRELS_NAME = "original"
"""What the study calls the qrels that it starts from."""


@overload
def as_path(path: str | Path) -> Path: ...
@overload
def as_path(path: None) -> None: ...
@overload
def as_path(path: str | Path | None) -> Path | None: ...
def as_path(path: str | Path | None) -> Path | None:
    """Return as a path what a program may have given as text."""
    return None if path is None else Path(path)


def day_of(text: str | None, option: str) -> date | None:
    """Return the day that an option names."""
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise InputError(f"{option} {text}: not a date", "Write it as yyyy-mm-dd.") from None


@overload
def as_folder(path: str | Path) -> Path: ...
@overload
def as_folder(path: str | Path | None) -> Path | None: ...
def as_folder(path: str | Path | None) -> Path | None:
    """Return as a path a folder that is made where it is missing: of this machine, so not an address."""
    if path is not None and (is_remote(path) or is_address(path)):
        raise InputError(
            f"{without_secrets(str(path))} is an address, and this is a folder of files here", "Name one."
        )
    return as_path(path)


def in_memory(path: str | Path) -> bool:
    """Return whether a name is that of an input in memory, now or when a study was made."""
    return str(path).startswith(MEMORY)


def several(given: _Several | Sequence[_Several]) -> tuple[_Several, ...]:
    """Return as a list what a program may have given as one text or path, or as several."""
    if isinstance(given, str | Path):
        return (given,)  # a text is a sequence of texts too
    return tuple(given)


@overload
def given_file(path: str | Path, role: Role) -> str | Path: ...
@overload
def given_file(path: str | Path | None, role: Role) -> str | Path | None: ...
def given_file(path: str | Path | None, role: Role) -> str | Path | None:
    """Return the file that is meant where a folder may be given, as BEIR lays them out, or ``hf:NAME``."""
    if path is not None and fspath(path).startswith(PREFIX):
        return hub_file(path, role)
    if path is None or not Path(path).is_dir():
        return path
    return _qrels_in(Path(path)) if role == "qrels" else file_in(Path(path), role)


def _qrels_in(folder: Path) -> Path:
    """Return the qrels of a folder: as BEIR lays them out, or else the one file that holds qrels."""
    laid_out = any((folder / name).is_dir() for name in NAMES["qrels"])
    try:
        found = file_in(folder, "qrels")
        if is_parquet(found) or sniff(found).kind == Kind.QRELS:
            return found
    except InputError:
        if laid_out:
            raise
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and not _is_aside(path)]
    labels = [path for path in files if sniff(path).kind == Kind.QRELS]
    if len(labels) == 1:
        return labels[0]
    here = ", ".join(path.name for path in (labels or files)[:10]) or "no file"
    raise InputError(
        f"{folder} is a folder {'with several qrels' if labels else 'without qrels'}: {here}",
        f"Name the file: --qrels {quoted(labels[0]) if labels else 'FILE'}",
    )


def as_target(path: str | Path | None) -> str | Path | None:
    """Return where to write, as a path unless it is an address."""
    return path if path is not None and is_address(path) else as_path(path)


def is_address(path: str | Path) -> bool:
    """Return whether a path is an address such as ``s3a://bucket/runs``, which a cluster knows."""
    return "://" in str(path)


def expand(patterns: Runs) -> tuple[str | Path, ...]:
    """Return the files that the patterns match and those of the folders named, sorted within each of them."""
    # Runs in memory stay as they are. Addresses stay as they are, but for ``*`` in those of a store; and so
    # do folders of Parquet, which are tables. In a folder, hidden files are passed over, and those whose
    # suffix says that they are read by people or tools, such as a ``README.md``.
    found: dict[str | Path, None] = {}
    for pattern in take_runs(patterns):
        if isinstance(pattern, Held):
            found[pattern] = None
            continue
        if isinstance(pattern, NamedFile):
            found[_one_file(pattern)] = None
            continue
        pattern = without_secrets(str(pattern))
        files = _matching(pattern)
        if not files:
            raise InputError(
                f"no file matches {pattern}",
                "Give run files, a folder of them, or a pattern in quotes such as 'runs/*.gz'.",
            )
        found |= dict.fromkeys(files)
    return tuple(found)


def _one_file(named: NamedFile) -> NamedFile:
    """Return a file that has a name, where it is one file."""
    files = _matching(named)
    if len(files) != 1:
        raise InputError(
            f"{many(len(files), 'file')} match {named}, which is one run: {named.name!r}",
            "Give each file its name, or give the pattern without one.",
        )
    return NamedFile(str(files[0]), named.name)


def _matching(pattern: str) -> Sequence[str | Path]:
    if is_address(pattern):
        if not ("*" in pattern and is_remote(pattern)) or pattern.startswith("http"):
            return [pattern]
        return matching(pattern)
    if glob.has_magic(pattern) and not Path(pattern).exists():  # a file's own name may have brackets
        found = [Path(name) for name in sorted(glob.glob(pattern))]  # noqa: PTH207
    elif Path(pattern).is_dir() and not is_parquet(pattern):
        refuse_study(Path(pattern))
        found = [path for path in sorted(Path(pattern).iterdir()) if not _is_aside(path)]
    else:
        found = [Path(pattern)]
    return [path for path in found if is_parquet(path) or not path.is_dir()]


def _is_aside(path: Path) -> bool:
    return path.name.startswith((".", "_")) or path.suffix.lower() in _ASIDE


def input_files(
    paths: Sequence[str | Path], tags: Sequence[str], others: Mapping[str, str | Path | None]
) -> list[InputFile]:
    """Return the record of the files that a study is made from, with their digests."""
    on_disk = [path for path in paths if not in_memory(path)]
    other = next((path for path in on_disk if is_parquet(path) or not can_reread(path)), None)
    if other is not None:
        raise InputError(
            f"{other} is not a run file, and a study is made from run files",
            "Give run files, or leave the study out and write the pool with --out.",
        )
    files = [("run", path, tag) for path, tag in zip(paths, tags, strict=True)]
    named = {kind: path for kind, path in others.items() if path}
    files += [(kind, path, QRELS_NAME if kind == "qrels" else "") for kind, path in named.items()]
    return [
        InputFile(kind=kind, path=_place(path), digest=_digest(kind, path), name=name)
        for kind, path, name in files
    ]


def _digest(kind: str, path: str | Path) -> str:
    """Return the digest of a file; a collection is large: only the texts used are digested."""
    from prefjudge.reading.unpacking import digest

    if kind == "collection" or in_memory(path):
        return ""
    return version() if is_dataset(path) else digest(path)


def _place(path: str | Path) -> str:
    """Return where a file is, for later verbs in other folders."""
    if is_remote(path):
        return without_secrets(str(path))
    return str(path if is_dataset(path) or in_memory(path) else Path(path).resolve())


def paths_of(inputs: Sequence[InputFile], kind: str, study: Path) -> tuple[str | Path, ...]:
    """Return where a study's files of a kind are; runs have the names that they were pooled by."""
    paths = tuple(Path(found.path) for found in inputs if found.kind == kind)
    held = next((path for path in paths if in_memory(path)), None)
    if held is not None:
        raise StudyError(
            f"the study was made from {held}, which is not a file",
            f"Give it again by this name, where a function takes {'runs' if kind == 'run' else kind}, "
            "or pool the study again from files.",
        )
    gone = [path for path in paths if not path.exists() and ":/" not in str(path) and not is_dataset(path)]
    if gone:
        raise StudyError(
            f"{gone[0]} is gone, and the study was made from it",
            f"Run `prefjudge pool {quoted(study)}` again with the files where they are now: "
            "it records their paths.",
        )
    if kind != "run":
        return paths
    return tuple(NamedFile(found.path, found.name) for found in inputs if found.kind == kind)
