"""Datasets of the Hugging Face Hub in BEIR's or MTEB's layout, as ``hf:OWNER/NAME``: found as files here."""

from os import fspath
from pathlib import Path
from typing import Any

from prefjudge.errors import ConfigError, InputError
from prefjudge.formats.folders import NAMES, Role, file_in
from prefjudge.formats.lines.datasets import ALLOWED, may_download, size_of

PREFIX = "hf:"


def is_hub(path: str | Path) -> bool:
    """Return whether a path names a dataset of the hub."""
    return fspath(path).startswith(PREFIX)


def hub_file(path: str | Path, role: Role) -> Path:
    """Return the file of a dataset that is meant, or the folder of its collection, in the hub's own cache.

    Raises
    ------
    ConfigError
        The library of the hub is not installed.
    InputError
        There is no such dataset, it has another layout, or it would have to be downloaded.
    """
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
        folder = snapshot_download(name, local_files_only=True, **which)
        if found := _found(Path(folder), role):
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
                f"Allow it: --dataset download, or {ALLOWED}=1 in the environment.",
            )
        return file_in(Path(snapshot_download(name, **which)), role)
    except (OSError, errors.HfHubHTTPError, ValueError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{path} cannot be had from the Hugging Face Hub: {said}",
            "Check the name, and that this machine reaches the hub; or download it, and give its folder.",
        ) from None


def _found(folder: Path, role: Role) -> Path | None:
    """Return the file of a folder in the cache, which may hold the files of other roles alone."""
    found = file_in(folder, role)
    return found if found != folder else None


def _patterns(role: Role) -> list[str]:
    """Return what the files of a role are called: BEIR has them beside each other, MTEB in folders."""
    patterns = [f"{name}{rest}" for name in NAMES[role] for rest in ("/*", ".jsonl*", ".parquet", ".tsv")]
    return patterns + (["test.tsv", "dev.tsv", "train.tsv"] if role == "qrels" else [])
