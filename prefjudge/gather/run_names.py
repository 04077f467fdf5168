"""Finds the run that an option names, by its tag or its file."""

from collections.abc import Sequence
from pathlib import Path

from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.formats.lines.addresses import is_remote, shown
from prefjudge.formats.lines.blocks import can_reread


def with_named(runs: Sequence[str | Path], named: Sequence[str | Path | None]) -> tuple[str | Path, ...]:
    """Return the run files, and others that options name."""
    more = [Path(name) for name in named if name is not None and can_reread(name)]
    return (*runs, *(path for path in dict.fromkeys(more) if not any(_same(path, run) for run in runs)))


def tag_of(name: str | Path, sources: Sequence[str | Path], tags: Sequence[str], option: str) -> str:
    """Return the tag of the run that an option names, by its tag or by its file.

    Parameters
    ----------
    name : str or Path
        What the option says.
    sources, tags : sequences of the same length
        Where each run is from, and its tag.
    option : str
        The option, for the message.

    Raises
    ------
    InputError
        No run has that name, or the file holds several.
    """
    if str(name) in tags:
        return str(name)
    found = [tag for source, tag in zip(sources, tags, strict=True) if _same(Path(name), source)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f"{option}: {name} holds {many(len(found), 'run')}", f"Choose one of: {', '.join(found)}."
        )
    raise InputError(
        f"{option}: there is no run {str(name)!r}, by its tag or by its file",
        f"Choose one of: {', '.join(tags)}.",
    )


def _same(path: Path, source: str | Path) -> bool:
    if is_remote(path):
        return shown(str(path)) == shown(str(source))
    try:
        return path.samefile(source)
    except OSError:  # one of them is a tag, or an address
        return str(path) == str(source)
