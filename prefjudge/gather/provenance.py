"""Provenance: how a result was made, and from which files, which are digested beside the work."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prefjudge.core.pooling.runs import Order
from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.formats.lines.addresses import shown
from prefjudge.formats.runs.layouts import RunForm
from prefjudge.gather.once import is_asking_once, state_of
from prefjudge.gather.readers import Reader
from prefjudge.version import __version__

_NAMED = 3
"""Files of one form that are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputDigest:
    """One input of a result; the digest is empty for what `digesting` leaves out, and what is not a file."""

    kind: str
    path: str
    digest: str


@contextmanager
def digesting(
    files: Iterable[tuple[str, str | Path]],
) -> Iterator[Callable[[], tuple[InputDigest, ...]]]:
    """Digest files on a thread of their own, beside other work; call what is yielded for the result.

    Pipes are not digested, which can be read only once; nor is anything for a verb that is made of verbs: its
    page shows what the study was made from.

    Raises
    ------
    InputError
        When the result is asked for: a file changed meanwhile, so that nobody can say what was read.
    """
    from prefjudge.formats.lines.digests import digest

    named = list(files)
    met = [state_of(path) for _, path in named]
    wanted = not is_asking_once()
    with ThreadPoolExecutor(1) as thread:
        running = [
            thread.submit(digest, path) if wanted and state else None
            for (_, path), state in zip(named, met, strict=True)
        ]

        def digests() -> tuple[InputDigest, ...]:
            found = [one.result() if one else "" for one in running]
            for (_, path), state in zip(named, met, strict=True):
                if state_of(path) != state:
                    raise InputError(
                        f"{path} changed while it was read", "Wait until it is written, and try again."
                    )
            return tuple(
                InputDigest(kind=kind, path=shown(str(path)), digest=one)
                for (kind, path), one in zip(named, found, strict=True)
            )

        try:
            yield digests
        finally:
            for one in running:
                if one:
                    one.cancel()


def made_with(reader: "Reader", order: Order, **options: str) -> dict[str, str]:
    """Return what a result from runs was made with."""
    made = {
        "prefjudge": __version__,
        "order": str(order),
        "rank column": "orders the documents" if order is Order.RANK else "not used",
        **options,
        "runs": str(len(reader)),
    }
    words = _read_as(reader.runs.forms)
    return made | ({"read as": words} if words else {})


def _read_as(forms: "Mapping[str, RunForm]") -> str:
    """Return what run files were taken for: once where they have the same columns."""
    alike: dict[tuple[str, int], list[str]] = {}
    for path, form in forms.items():
        alike.setdefault((form.layout.name, form.layout.columns), []).append(path)
    said = []
    for (name, columns), paths in alike.items():
        found = [forms[path] for path in paths]
        words = [name, many(columns, "column")]
        words.append(_between([form.lines for form in found], "line", "lines"))
        words.append(_between([form.queries for form in found], "query", "queries"))
        more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
        of = f"{', '.join(Path(path).name for path in paths[:_NAMED])}{more}: " if len(alike) > 1 else ""
        said.append(of + ", ".join(words))
    return "; ".join(said)


def _between(counts: list[int], noun: str, nouns: str) -> str:
    least, most = min(counts), max(counts)
    return many(most, noun, nouns) if least == most else f"{least:,} to {most:,} {nouns}"
