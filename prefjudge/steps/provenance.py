"""Provenance: which files a result was made from, digested while the work goes on."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class InputDigest:
    """One input of a result; the digest is empty for stdin, trusted runs, and what is no file here."""

    kind: str
    path: str
    digest: str


@contextmanager
def digesting(
    files: Iterable[tuple[str, str | Path]], *, trust: bool = False
) -> Iterator[Callable[[], tuple[InputDigest, ...]]]:
    """Digest files on a thread of their own, beside other work; call what is yielded for the result.

    Runs that are trusted are not read in full, so they are not digested either.
    """
    from concurrent.futures import ThreadPoolExecutor

    from prefjudge.formats.digests import digest
    from prefjudge.steps.inputs import is_address

    def unread(kind: str, path: str | Path) -> bool:
        return str(path) == "-" or (trust and kind == "run") or is_address(path) or Path(path).is_dir()

    named = list(files)
    with ThreadPoolExecutor(1) as thread:
        running = [None if unread(kind, path) else thread.submit(digest, path) for kind, path in named]
        try:
            yield lambda: tuple(
                InputDigest(kind=kind, path=str(path), digest=found.result() if found else "")
                for (kind, path), found in zip(named, running, strict=True)
            )
        finally:
            for found in running:
                if found:
                    found.cancel()
