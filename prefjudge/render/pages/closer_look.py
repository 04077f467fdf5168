"""What the page of a report shows where a reader looks closer: queries, their votes, runs and workers.

The page keeps it as one compact JSON text, which its script reads when something is opened. Names and texts
are in lists of their own, and everything else says their places there. Scores are cells of a matrix whose
values are few: each is the place of its value, in one to three digits to the base 64.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

import numpy as np

from prefjudge.counts import many
from prefjudge.evaluation.leaderboards.boards import Board
from prefjudge.evaluation.leaderboards.tiers import paired_t_tests
from prefjudge.render.text.cells import Table, write_cell

LONGEST_TEXT = 4_000
"""Characters of a passage that are shown: a collection may hold whole books."""
_MOST_TEXT = 5_000_000
"""Characters of passages that a page holds: it must be sent by mail, and opened on a phone."""
_MOST_VOTES = 300_000
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

Json = str | int | float | bool | None | Sequence["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A passage of a query's pool; ``chance`` is its probability of being the best, where that is known."""

    doc: str
    text: str
    labelled: bool
    best: bool
    chance: float | None
    sources: tuple[str, ...]


class Vote(NamedTuple):
    """One worker's choice between two passages of a query: 1 for the left, -1 for the right, 0 for a tie.

    ``worker`` is a pseudonym, empty where nobody knows; ``seconds`` are 0 then; ``dropped`` says why the vote
    does not count.
    """

    left: str
    right: str
    choice: int
    worker: str
    seconds: int
    dropped: str


class Said(NamedTuple):
    """What a worker said of two passages."""

    worker: str
    a: str
    b: str
    unable: str
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLook:
    """All that is known of one query."""

    query: str
    text: str
    status: str
    missing: int
    candidates: tuple[Candidate, ...]
    votes: tuple[Vote, ...]
    said: tuple[Said, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CloserLook:
    """What a reader can open: queries, and with the boards their runs, and with the table of workers these.

    ``sides`` says whether left and right are those of a screen.
    """

    queries: tuple[QueryLook, ...]
    boards: tuple[Board, ...] = ()
    workers: Table | None = None
    sides: bool = True

    @property
    def notices(self) -> tuple[str, ...]:
        """What is left out of the page, in words."""
        found = []
        if self._characters > _MOST_TEXT:
            found.append(
                f"The texts of the {self._passages:,} passages are left out where a query is opened: with "
                f"them this page would be {self._characters / 1e6:.0f} MB larger. Their ids are there."
            )
        if self._votes > _MOST_VOTES:
            found.append(f"The {self._votes:,} votes are left out where a query is opened: too many.")
        return tuple(found)

    @property
    def _passages(self) -> int:
        return sum(len(one.candidates) for one in self.queries)

    @property
    def _characters(self) -> int:
        return sum(min(len(passage.text), LONGEST_TEXT) for one in self.queries for passage in one.candidates)

    @property
    def _votes(self) -> int:
        return sum(len(one.votes) for one in self.queries)

    def to_json(self) -> str:
        """Return it as text that may stand anywhere in an HTML page."""
        docs, texts = _Names(), list[str]()
        names = (docs, _Names(), _Names(), _Names())
        with_texts, with_votes = self._characters <= _MOST_TEXT, self._votes <= _MOST_VOTES
        queries = [_query(one, names, texts, with_votes=with_votes) for one in self.queries]
        place = {one.query: number for number, one in enumerate(self.queries)}
        others = dict.fromkeys(
            query for board in self.boards for query in board.scores.queries if query not in place
        )
        place |= {query: len(place) + number for number, query in enumerate(others)}
        whole: dict[str, Json] = {
            "queries": queries + [{"id": query} for query in others],
            "docs": docs.names,
            "texts": texts if with_texts else [],
            "sources": names[1].names,
            "workers": names[2].names,
            "reasons": names[3].names,
            "boards": [_board(board, place) for board in self.boards],
            "people": _rows(self.workers) if self.workers else [],
            "sides": self.sides,
        }
        return _in_html(whole)


class _Names:
    """Names in the order in which they first come, and their places."""

    def __init__(self) -> None:
        self._place: dict[str, int] = {}

    @property
    def names(self) -> list[str]:
        return [*self._place]

    def place(self, name: str) -> int:
        return self._place.setdefault(name, len(self._place))


def _query(
    one: QueryLook, names: tuple[_Names, _Names, _Names, _Names], texts: list[str], *, with_votes: bool
) -> dict[str, Json]:
    docs, sources, workers, reasons = names
    own = {passage.doc: number for number, passage in enumerate(one.candidates)}
    for passage in one.candidates:
        if docs.place(passage.doc) == len(texts):
            texts.append(shortened(passage.text))
    votes: list[Json] = []
    for vote in one.votes if with_votes else ():
        votes += (own[vote.left], own[vote.right], vote.choice)
        votes += (workers.place(vote.worker), vote.seconds, reasons.place(vote.dropped))
    found: dict[str, Json] = {
        "id": one.query,
        "text": shortened(one.text),
        "status": one.status,
        "missing": one.missing,
        "docs": [docs.place(passage.doc) for passage in one.candidates],
        "best": [int(passage.best) for passage in one.candidates],
        "labelled": [int(passage.labelled) for passage in one.candidates],
        "from": [[sources.place(name) for name in passage.sources] for passage in one.candidates],
        "votes": votes,
        "count": sum(not vote.dropped for vote in one.votes),
    }
    if any(passage.chance is not None for passage in one.candidates):
        found["chance"] = [_rounded(passage.chance) for passage in one.candidates]
    if one.said:
        found["said"] = [
            [workers.place(said.worker), own.get(said.a, -1), own.get(said.b, -1), said.unable, said.comment]
            for said in one.said
        ]
    return found


def shortened(text: str) -> str:
    """Return a text as far as a page shows it."""
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}… ({many(len(text) - LONGEST_TEXT, 'more character')})"


def _board(board: Board, place: dict[str, int]) -> dict[str, Json]:
    """Return a board, with every score and the p-value of each pair of runs."""
    scores, shown = board.scores, board.leaderboard
    rows, firm = {row.run: row for row in shown.ranked}, {one.run: one for one in board.standings}
    standings: list[Json] = []
    for run in scores.runs:
        row, one = rows[run], firm.get(run)
        known = [one.tier, one.highest, one.lowest, _rounded(one.first)] if one else []
        standings.append([row.rank, _rounded(row.score), _rounded(row.low), _rounded(row.high), *known])
    values, cells = _cells(scores.values.T)
    tested = board.standings and paired_t_tests(scores)
    _, chances = _cells(tested.p, digits=np.linspace(0.0, 1.0, 10_001)) if tested else ([], "")
    return {
        "measure": shown.measure,
        "qrels": shown.qrels,
        "confidence": shown.confidence,
        "runs": list(scores.runs),
        "standings": standings,
        "queries": [place[query] for query in scores.queries],
        "values": values,
        "cells": cells,
        "p": chances,
    }


def _cells(matrix: np.ndarray, digits: np.ndarray | None = None) -> tuple[list[Json], str]:
    """Return the values of a matrix, and for each cell the place of its value, row by row.

    With ``digits`` these are the only values, ascending and evenly spaced, and the nearest is meant.
    """
    if digits is None:
        digits, place = np.unique(np.round(matrix, 4).ravel(), return_inverse=True)
    else:
        place = np.rint(matrix.ravel() * (digits.size - 1)).astype(np.int64)
    width = 1 if digits.size <= 64 else 2 if digits.size <= 64**2 else 3
    alphabet = np.frombuffer(_DIGITS.encode(), dtype=np.uint8)
    parts = [alphabet[(place >> (6 * power)) & 63] for power in reversed(range(width))]
    return [_rounded(value) for value in digits.tolist()], np.stack(parts, axis=-1).tobytes().decode()


def _rounded(value: float | None) -> float | int | None:
    """Return a number of four digits; whole ones without a point, which is a third of a large page."""
    if value is None or not isfinite(value):
        return None
    short = round(value, 4)
    return int(short) if short == int(short) else short


def _rows(table: Table) -> list[Json]:
    """Return the rows of a table as headings and words."""
    heads: list[Json] = [column.heading for column in table.columns]
    rows: list[Json] = [
        [write_cell(cell, column) for cell, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
    return [heads, *rows]


_UNSAFE = re.compile("[<>&\u2028\u2029\udc80-\udcff]")
"""What HTML or an old reader of JSON takes for something else, and bytes that are not text."""


def _in_html(value: Json) -> str:
    """Return a value as JSON in which nothing is markup; bytes that are not text are spelt out."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\\\x{code - 0xDC00:02x}" if code >= 0xDC80 else f"\\u{code:04x}"
