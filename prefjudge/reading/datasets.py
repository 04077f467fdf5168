"""Datasets of ir_datasets, as ``irds:NAME``: read where a file would be."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from os import fspath
from pathlib import Path
from typing import Any, Literal

from prefjudge.errors import ConfigError, InputError, PrefjudgeError
from prefjudge.reading.files import need_words

PREFIX = "irds:"
ALLOWED = "PREFJUDGE_DOWNLOAD"
"""The environment variable that allows downloads."""
_BATCH = 4096
_WORDLESS = "No file of columns can hold it."

_WORDS = {"docs": "documents", "scoreddocs": "scored documents, as a run is made of"}
Part = Literal["docs", "queries", "qrels", "scoreddocs"]
"""What a dataset may have, in the words of ir_datasets."""


def is_dataset(path: str | Path) -> bool:
    """Return whether a path names a dataset of ir_datasets."""
    return fspath(path).startswith(PREFIX)


@contextmanager
def downloads_allowed(*, allowed: bool) -> Iterator[None]:
    """Allow downloads meanwhile, also to the processes that are started."""
    before = os.environ.get(ALLOWED)
    if allowed:
        os.environ[ALLOWED] = "1"
    try:
        yield
    finally:
        if allowed and before is None:
            os.environ.pop(ALLOWED, None)
        elif allowed and before is not None:
            os.environ[ALLOWED] = before


def may_download() -> bool:
    """Return whether downloads are allowed."""
    return os.environ.get(ALLOWED, "").lower() not in ("", "0", "false", "no")


def size_of(count: int | None) -> str:
    """Return a size in words."""
    return "of unknown size" if count is None else f"{count / 1e6:,.1f} MB"


def version() -> str:
    """Return which ir_datasets is installed: the digest of what it gives."""
    from importlib.metadata import version

    return f"ir_datasets:{version('ir_datasets')}"


def dataset_lines(path: str, part: Literal["qrels", "scoreddocs"]) -> Iterator[bytes]:
    """Yield the lines of a dataset's qrels, or of its run, in pieces."""
    write = _qrel if part == "qrels" else _scored
    entries = dataset_entries(path, part)
    while piece := list(islice(entries, _BATCH)):
        yield "".join(map(write, piece)).encode("utf-8", "surrogatepass")


def _qrel(entry: Any) -> str:
    need_words("", (entry.query_id, entry.doc_id), _WORDLESS)
    return f"{entry.query_id} 0 {entry.doc_id} {entry.relevance}\n"


def _scored(entry: Any) -> str:
    # there are no ranks, and an order by them is refused for a rank that is not a number
    need_words("", (entry.query_id, entry.doc_id), _WORDLESS)
    return f"{entry.query_id} Q0 {entry.doc_id} - {entry.score}\n"


def dataset_entries(path: str, part: Part) -> Iterator[Any]:
    """Yield the queries, qrels or scored documents of a dataset, as ir_datasets' records."""
    dataset = _dataset(path, part)
    with _asking(path):
        yield from getattr(dataset, f"{part}_iter")()


def dataset_documents(path: str, doc_ids: list[str]) -> Mapping[str, Any]:
    """Return documents of a dataset by id, from its store: it is built the first time, and then no scan."""
    dataset = _dataset(path, "docs")
    with _asking(path):
        found: Mapping[str, Any] = dataset.docs_store().get_many(doc_ids)
        return found


def is_scored(path: str) -> bool:
    """Return whether a dataset has a run; one that cannot be opened is left to who reads it."""
    try:
        return _dataset(path, "scoreddocs") is not None
    except PrefjudgeError:
        return False


def _dataset(path: str, part: Part) -> Any:
    try:
        import ir_datasets
    except ImportError:
        raise ConfigError(
            f"{path} is a dataset of ir_datasets, which is not installed",
            "Install it with the extra: pip install 'prefjudge[irds]'",
        ) from None
    name = fspath(path).removeprefix(PREFIX)
    try:
        with _asking(path):
            dataset = ir_datasets.load(name)
    except KeyError:
        from difflib import get_close_matches

        close = get_close_matches(name, list(ir_datasets.registry), 3)
        hint = f"Did you mean one of these? {', '.join(PREFIX + one for one in close)}. " if close else ""
        raise InputError(
            f"ir_datasets knows no dataset {name!r}", f"{hint}To list them: ir_datasets list"
        ) from None
    if not dataset.has(part):
        below = [one for one in ir_datasets.registry if one.startswith(f"{name}/")]
        having = [one for one in below if ir_datasets.registry[one].has(part)][:5]
        hint = f"Parts of it have: {', '.join(PREFIX + one for one in having)}." if having else "Give a file."
        raise InputError(f"{path} has no {_WORDS.get(part, part)}", hint)
    return dataset


@contextmanager
def _asking(path: str) -> Iterator[None]:
    """Let ir_datasets download only what is allowed, and turn its errors into ours."""
    # It has no such setting: the method that downloads is replaced meanwhile.
    from ir_datasets.util import LocalDownload
    from ir_datasets.util.download import Download

    kept = {name: getattr(Download, name) for name in ("path", "stream")}

    def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            here = self._cache_path is not None and Path(self._cache_path).exists()
            local = any(
                isinstance(one, LocalDownload) and one.path(force=False).exists() for one in self.mirrors
            )
            asked = args[0] if args else kwargs.get("force", True)
            if asked and self._path is None and not (here or local or may_download()):
                raise _refusal(path, self)
            return method(self, *args, **kwargs)

        return call

    for name, method in kept.items():
        setattr(Download, name, guarded(method))
    try:
        yield
    except (PrefjudgeError, GeneratorExit, KeyError):
        raise
    except Exception as error:  # whatever a reader of one of its hundred formats may raise
        raise InputError(
            f"{path} cannot be read: {type(error).__name__}: {' '.join(str(error).split())[:300]}",
            "Check that this machine can reach its source, or see its page: https://ir-datasets.com.",
        ) from error
    finally:
        for name, method in kept.items():
            setattr(Download, name, method)


def _refusal(path: str, download: Any) -> InputError:
    urls = [url for one in download.mirrors if (url := getattr(one, "url", None))]
    if not urls:  # it is given away on request only
        said = [getattr(one, "_message", None) for one in download.mirrors]
        return InputError(f"{path} cannot be downloaded", next(filter(None, said), "Ask its publisher."))
    terms = f" Its terms: {' '.join(download.dua.split())}" if download.dua else ""
    return InputError(
        f"{path} is not on this machine: {urls[0]} would be downloaded ({size_of(download._size_hint)})",
        f"Allow it: --dataset download, or {ALLOWED}=1 in the environment of any verb.{terms}",
    )
