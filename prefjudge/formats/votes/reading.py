"""Reading votes: what a file is, and its votes, whatever its form."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from os import fspath
from pathlib import Path

import numpy as np

from prefjudge.errors import InputError, PluginError
from prefjudge.formats.labels.judgments import TIES, read_judgments
from prefjudge.formats.labels.stamps import stamps_beside
from prefjudge.formats.lines.blocks import Holds, blocks
from prefjudge.formats.lines.held import Held
from prefjudge.formats.lines.problems import Notice, Problems, Stop, is_text
from prefjudge.formats.votes.form import Context, VoteForm, choose_criterion
from prefjudge.formats.votes.parts import check_parts
from prefjudge.formats.votes.release import LOG, is_release, refuse_unfinished, with_release
from prefjudge.formats.votes.rows import JsonObject, Row, read_rows
from prefjudge.formats.votes.table import flat, read_table
from prefjudge.formats.votes.votes import Votes
from prefjudge.registers import Register

FORMS: Register[VoteForm] = Register(
    "vote",
    VoteForm,
    {
        "board-log": "prefjudge.formats.votes.board_log:FORM",
        "release": "prefjudge.formats.votes.release:FORM",
        "label-studio": "prefjudge.formats.votes.label_studio:FORM",
        "potato": "prefjudge.formats.votes.potato:FORM",
        "mturk-batch": "prefjudge.formats.votes.mturk_batch:FORM",
        "crowdrag": "prefjudge.formats.votes.crowdrag:FORM",
        "arena": "prefjudge.formats.votes.arena:FORM",
        "chosen": "prefjudge.formats.votes.chosen:FORM",
    },
)
"""The forms of votes that are known by their columns; the first that fits is taken."""

_PLAIN = "prefjudge.formats.votes.plain:FORM"
_NEAR = 20
"""Lines by which judgments in columns are known."""
_LOOKED_AT = 1_000
"""Rows by which a form and its columns are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HowVotesAreRead:
    """What a user says of a file: ``told`` maps parts of a vote to columns, ``items`` is another file."""

    told: dict[str, str]
    criterion: str | None = None
    items: Path | None = None


def read_votes(path: Path | Held[Sequence[Row]], how: HowVotesAreRead, notices: list[Notice]) -> Votes:
    """Read the votes of a file, or of a release.

    Raises
    ------
    InputError
        With every problem up to a limit, each with its line; nothing is read then.
    """
    if isinstance(path, Held):
        return _of_rows(path, how, notices)
    if path.is_dir():
        if not is_release(path):
            raise InputError(f"{path} is a folder, and not a release", "Give a file of votes.")
        refuse_unfinished(path)
        return with_release(_read_file(path / LOG, how, notices), path, notices)
    return _read_file(path, how, notices)


def _read_file(path: Path, how: HowVotesAreRead, notices: list[Notice]) -> Votes:
    if not how.told and _has_columns(path):
        if how.criterion is not None:
            choose_criterion((), how.criterion, str(path))
        return _of_columns(path, notices)
    return _of_rows(path, how, notices)


def _has_columns(path: Path) -> bool:
    """Tell lines of ``query doc doc preferred``: the fourth word repeats one of two, or is a tie.

    Where a mistake is on the first line, the next ones tell; a line of three words lacks the preferred one.
    """
    first = next(blocks(path, Holds.TEXTS), None)
    lines = (
        line for line in (first.data if first else b"").split(b"\n") if line.strip() and line[:1] != b"#"
    )
    near = list(islice(lines, _NEAR))
    head = near[0].split() if near else []
    if not near or b"," in near[0]:
        return _is_judgment(head)
    if b"\t" in near[0] and len(head) >= len(near[-1].split()):  # what may be a header has no fewer words
        return _is_judgment(head)
    return any(_is_judgment(line.split()) for line in near) or all(len(line.split()) == 3 for line in near)


def _is_judgment(words: list[bytes]) -> bool:
    return len(words) in (4, 5) and words[3] in (*words[1:3], *TIES)


def _of_columns(path: Path, notices: list[Notice]) -> Votes:
    log = read_judgments(path, notices=notices)
    odd = next(
        (name for names in (log.queries, log.docs, log.workers) for name in names if not is_text(name)), None
    )
    if odd is not None:
        raise InputError(f"{path}: the id {odd!r} is not UTF-8", "Save the file as UTF-8.")
    return Votes(form="judgments", log=log, milliseconds=np.zeros(len(log), dtype=np.int64))


def _of_rows(path: Path | Held[Sequence[Row]], how: HowVotesAreRead, notices: list[Notice]) -> Votes:
    if isinstance(path, Held):
        rows = iter(path.content)
    else:
        notices += stamps_beside(path)
        rows = read_rows(fspath(path), notices)
    first = list(islice(rows, _LOOKED_AT))
    if not first:
        raise InputError(f"{path} has no votes", "Check how it was exported.")
    heads = [row for _, row in first]
    name, form = _form_of(heads, notices)
    with FORMS.using(name):
        criterion = choose_criterion(form.criteria(heads), how.criterion, str(path))
        context = Context(path=str(path), criterion=criterion, items=_items(how.items, notices))
        votes = form.flatten(chain(first, rows), context)
        shown = list(islice(votes, _LOOKED_AT))
        if not shown and not form.may_be_empty:
            raise InputError(f"{path} has no votes", "Check that somebody has annotated, and the criterion.")
        flats = [row for _, row in shown]
        parts = {**form.parts(flats), **how.told}
        columns = list(dict.fromkeys(column for row in flats for column in row if not column.startswith("_")))
        if shown:
            check_parts(_known(parts, how.told), how.told, columns, str(path))
        problems = Problems(str(path), "file of votes")
        try:
            table = read_table(chain(shown, votes), _known(parts, how.told), problems)
            found = table.votes(name, sides=form.sides(parts), notices=notices)
        except Stop:
            raise problems.error() from None
        problems.check()
    if not len(found.log) and not form.may_be_empty:
        why = f": {notices[-1].what}" if notices else ""
        raise InputError(f"{path} has no votes{why}", "Every row was left out.")
    return replace(found, criterion=criterion)


def _known(parts: dict[str, str], told: dict[str, str]) -> dict[str, str]:
    """Return the parts, where what is told of one side takes the place of what was guessed of it."""
    kept = dict(parts)
    for side in ("left", "right"):
        for other in ("", "_text", "_model"):
            if (
                any(f"{side}{one}" in told for one in ("", "_model"))
                and f"{side}{other}" not in told
                and other != "_text"
            ):
                kept.pop(f"{side}{other}", None)
    return kept


def _form_of(heads: Sequence[JsonObject], notices: list[Notice]) -> tuple[str, VoteForm]:
    for name in FORMS:
        try:
            form = FORMS[name]
        except PluginError as error:  # one that cannot be loaded must not keep others from being read
            notices.append(Notice(where=name, what=error.message))
            continue
        if form.fits(heads):
            return name, form
    from prefjudge.formats.votes.plain import FORM

    return "table", FORM


def _items(path: Path | None, notices: list[Notice]) -> dict[str, JsonObject]:
    """Return the records of a data file by their ids."""
    if path is None:
        return {}
    found: dict[str, JsonObject] = {}
    for line, row in read_rows(fspath(path), notices):
        name = flat(row.get("id", row.get("instance_id")))
        if not name or name in found:
            raise InputError(
                f"{path}:{line}: {f'the id {name!r} is there twice' if name else 'no id'}",
                "Give each item an id of its own, under `id`.",
            )
        found[name] = row
    return found
