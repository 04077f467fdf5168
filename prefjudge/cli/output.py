"""What the verbs print: data on stdout, words and progress on stderr."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

import typer

from prefjudge.cli.options import Details
from prefjudge.errors import NotFinished, PrefjudgeError

if TYPE_CHECKING:
    from prefjudge.show.cells import Table
    from prefjudge.study.store import Study
    from prefjudge.words import Rehearsal

_USUAL_WIDTH = 80

_LONGEST_SAID = 400
"""A word in a sentence has no more characters; paths and addresses are shorter."""


def print_json(record: object, notices: Sequence[str] = ()) -> None:
    """Print a result as one JSON document on stdout; docs/json.md says what its keys mean."""
    # Every document says under ``notices`` what was odd in the input: the result's own, or those given.
    from prefjudge.show.results import plain
    from prefjudge.words import json_text

    sys.stdout.write(json_text({"notices": list(notices), **plain(record)}) + "\n")


def say(text: str = "", color: str | None = None, *, err: bool = True) -> None:
    """Print words, on stderr unless they are the result; in color on a terminal, unless NO_COLOR is set."""
    from prefjudge.show.cells import shorten_words

    text = shorten_words(text, _LONGEST_SAID)
    plain = color is None or os.environ.get("NO_COLOR")
    typer.echo(text if plain else typer.style(text, fg=color), err=err)


def screen_width() -> int | None:
    """Return how many columns stdout shows: COLUMNS, else the terminal's; None for a file or a pipe."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said) > 0:
        return int(said)
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _USUAL_WIDTH
    except OSError:
        return _USUAL_WIDTH


def print_tables(
    tables: Iterable["Table"], form: str = "terminal", *, rehearsal: "Rehearsal | None" = None
) -> None:
    """Print tables on stdout, a blank line between two; those for a terminal fit it."""
    # Each says where it rests on simulated judgments.
    from prefjudge.show.tables import render_table

    width = screen_width()
    stamped = (table.stamped(str(rehearsal or "")) for table in tables)
    typer.echo("\n".join(render_table(table, form, width=width) for table in stamped), nl=False)


def print_words(text: str) -> None:
    """Print a sentence of a result on stdout, broken at blanks where a terminal ends."""
    from prefjudge.show.results import broken

    typer.echo(broken(text, screen_width()))


_MOST_NOTES = 3


def briefly(result: Any, details: bool) -> bool:
    """Print what a result says first, and its notes in a line each; return whether that is all."""
    # With them, the notes come first, and whole: they may be about any of the numbers below.
    notices = tuple(getattr(result, "notices", ()))
    if details:
        notice(notices, limit=len(notices))
        stamp(getattr(result, "rehearsal", None))
        return False
    rehearsal = str(getattr(result, "rehearsal", None) or "")
    for line in result.screen().text(screen_width(), stamp=rehearsal).splitlines():
        begins = line.lstrip().partition(": ")[0]
        say(line, {"error": "red", "note": "yellow", "rehearsal": "red"}.get(begins), err=False)
    brief_notes(notices)
    return True


def print_result(result: Any, *, details: Details = False) -> None:
    """Print what a result says first, or all its tables and sentences; and which files were written."""
    if not briefly(result, details):
        print_tables(result.tables(), rehearsal=getattr(result, "rehearsal", None))
        for words in result.sentences():
            print_words(words)
    out = getattr(result, "out", None) or ()
    for path in (out,) if isinstance(out, str) else out:
        say(f"wrote {path}")


def brief_notes(notices: Sequence[str], *, whole: bool = False) -> None:
    """Print what was odd in the input on stderr: a line for each of the first few, and where the rest is."""
    if whole:
        notice(tuple(notices), limit=len(notices))
        return
    width = screen_width() or _USUAL_WIDTH + 20
    for text in notices[:_MOST_NOTES]:
        say(f"note: {_first_clauses(text, width - 6)}", "yellow")
    rest = len(notices) - _MOST_NOTES
    if rest > 0:
        say(f"note: and {rest} more: --details", "yellow")


def _first_clauses(text: str, width: int) -> str:
    """Return as much of a sentence as a line takes: whole clauses where that is half a line or more."""
    # It ends within no bracket or quotation, where there is a place before.
    if len(text) <= width:
        return text
    places = [
        found.start() for found in _PLACES.finditer(text, 0, width - 1) if _closed(text[: found.start()])
    ]
    clauses = [place for place in places if text[place] != " " or text[place + 1] == "("]
    if clauses and clauses[-1] >= width // 2:
        places = clauses
    return f"{text[: places[-1]] if places else text[: width - 2]} …"


_PLACES = re.compile("[;:,] | ")


def _closed(text: str) -> bool:
    """Tell whether no bracket or quotation is open at the end of a text; an apostrophe opens none."""
    opened, closed = (len(mark.findall(text)) for mark in _QUOTES)
    return text.count("(") <= text.count(")") and text.count("`") % 2 == 0 and opened <= closed


_QUOTES = (re.compile(r"(?<![^\s(])['\"“]"), re.compile(r"(?<=[^\s(])['\"”](?!\w)"))


def advice(study: str | Path, verb: str) -> str:
    """Return what to type next for a study, at the target whose work is the study's."""
    from prefjudge.study.store import advised

    return advised(opened(study), verb)


def opened(study: str | Path) -> "Study":
    """Return a study; what opens it is loaded only then."""
    from prefjudge.study.store import Study

    return Study(study)


def stamp(rehearsal: "Rehearsal | None") -> None:
    """Print, on stderr, that a result rests on simulated judgments, where it does."""
    if rehearsal is not None:
        say(str(rehearsal), "red")


def notice(notices: tuple[str, ...], limit: int = 8) -> None:
    """Print what was odd in the input, on stderr."""
    for text in notices[:limit]:
        say(f"note: {text}", "yellow")
    if len(notices) > limit:
        say(f"note: and {len(notices) - limit} more", "yellow")


def complain(error: PrefjudgeError) -> None:
    """Print an error and what to do about it on stderr."""
    if isinstance(error, NotFinished):
        say(f"not finished: {error.message}")
    else:
        say(f"error: {error.message}", "red")
    if error.hint:
        say(f"  {error.hint}")


_QUIET = 10.0
"""Seconds in which a verb says nothing of its being at work; then it does at 1, 2, 4, … times as many."""


@contextmanager
def at_work(verb: str) -> Iterator[Callable[[], None]]:
    """Say now and then, on stderr, that a verb is at work, until the function that this yields is called."""
    done, begun = Event(), monotonic()

    def speak() -> None:
        pause = _QUIET
        while not done.wait(pause):
            say(f"{verb}: at work for {monotonic() - begun:.0f} s")
            pause = min(2 * pause, 60 * _QUIET)

    Thread(target=speak, daemon=True).start()
    try:
        yield done.set
    finally:
        done.set()


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show on stderr how far the work is: a bar, from the first step on, as a question may come before."""
    # Where there is no terminal, a line now and then.
    if not sys.stderr.isatty():
        said = [monotonic()]

        def tell(done: int, total: int) -> None:
            if monotonic() - said[0] >= _QUIET:
                said[0] = monotonic()
                say(f"{what}: {done:,} of {total:,}")

        yield tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=None)

    def step(done: int, total: int) -> None:
        bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield step
    finally:
        bar.stop()
