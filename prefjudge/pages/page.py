"""Pages for readers: a report in one file, a site of many, and the templates that they share."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prefjudge.evaluation.boards import Board
from prefjudge.evaluation.firmness import paired_t_tests
from prefjudge.show.cells import Bold, Cell, Column, Table, bare, write_cell
from prefjudge.words import many

if TYPE_CHECKING:
    from jinja2 import Environment


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
        known = [one.tier, one.highest, one.lowest] if one else []
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
    """Return the values of a matrix, and for each cell the place of its value, row by row."""
    # With `digits` these are the only values, ascending and evenly spaced, and the nearest is meant.
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


# The templates of the pages for readers, and what they share: a report's and a site's tables look alike.

_FOLDER = Path(__file__).parent


@lru_cache(maxsize=1)
def page_templates() -> "Environment":
    """Return the templates, by their paths below this folder; every text in them is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(words=write_cell, strong=lambda cell: isinstance(cell, Bold), many=many)
    return templates


def ground_style() -> str:
    """Return the style that all of these pages begin with: colours, letters and tables."""
    return (_FOLDER / "ground.css").read_text(encoding="utf-8")


# A report → one HTML page that loads nothing, and runs one script of ours: without it all can be read.
#
# The script is pinned by its digest, so that nothing else can run, whatever the texts of a page hold.

SCRIPTS = ("tables.js", "report.js")


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A plot: what it shows, in words, its SVG, and the numbers that it draws."""

    words: str
    svg: bytes
    table: Table | None = None

    @property
    def address(self) -> str:
        """The picture as an address that holds it: inside it, nothing can run."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.svg).decode()

    @property
    def narrow(self) -> bool:
        """Whether it fits on a phone: a list of runs, say."""
        size = re.search(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"', self.svg)
        return size is not None and float(size[1]) < min(float(size[2]), 400)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A passage: its id, its text, the votes for it over another, what it is here, and what is said of it."""

    doc: str
    text: str
    votes: int = 0
    role: str = "Passage"
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A query whose best answer is not the labelled one."""

    query: str
    text: str
    labelled: Passage
    best: Passage


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What something is, and its value; ``address`` makes the value a link."""

    what: str
    value: str
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a page; on a report's, in one of its folds.

    ``finding`` is what it found. Tables of many rows are folded. ``links`` lead to pages of a site. ``files``
    lie beside the page and hold the same; ``command`` makes it alone.
    """

    heading: str
    fold: str = "Runs"
    finding: str = ""
    words: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    passages: tuple[Passage, ...] = ()
    links: tuple[Fact, ...] = ()
    pictures: tuple[Picture, ...] = ()
    changes: tuple[Change, ...] = ()
    tables: tuple[Table, ...] = ()
    files: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A run's place on the board of a first screen.

    ``was`` is its rank under the labels of before, and ``rises`` by how many ranks it stands higher now; None
    where there are no such labels. ``may_lead`` says that no test rules it out as the best, and ``ranks``
    are those that none rules out, empty where nothing was tested.
    """

    rank: int
    run: str
    score: float
    low: float
    high: float
    was: int | None
    rises: int | None
    may_lead: bool
    ranks: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstScreen:
    """The answer before all else: a sentence of result and of how sure, the best runs, and what is next.

    Of a study without runs there are no ``places``. ``next`` is a command, and what it does; empty where
    nothing is to do.
    """

    result: str
    also: str = ""
    figures: tuple[Fact, ...] = ()
    board: str = ""
    measure: str = ""
    places: tuple[Place, ...] = ()
    notes: tuple[str, ...] = ()
    next: tuple[str, ...] = ()

    def at(self, value: float) -> str:
        """Return where a score lies between the least and the greatest that are shown, as a share."""
        known = [end for one in self.places for end in (one.low, one.score, one.high) if isfinite(end)]
        least, span = min(known), (max(known) - min(known)) or 1.0
        return f"{4 + 92 * (value - least) / span:.1f}%"

    @property
    def moved(self) -> bool:
        """Whether the runs have ranks of before."""
        return any(one.was for one in self.places)


def report_page(
    title: str,
    first: FirstScreen,
    sections: Sequence[Section],
    notices: Sequence[str] = (),
    stamp: str = "",
    closer: CloserLook | None = None,
) -> str:
    """Return the page; every text in it is escaped, and bytes that are not text are spelt out."""
    # A stamp stays in sight, also on each sheet of a print, and is repeated with every table. What is looked
    # at closer is rendered by the page's script when it is opened.
    script = "".join((_FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)
    folds: dict[str, list[Section]] = {}
    for section in sections:
        folds.setdefault(section.fold, []).append(section)
    page = (
        page_templates()
        .get_template("report.html")
        .render(
            title=title,
            first=first,
            folds=folds,
            notices=of_one_kind([*notices, *(closer.notices if closer else ())]),
            stamp=stamp,
            ground=ground_style(),
            script=script,
            pinned=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            closer=closer.to_json() if closer else "",
        )
    )
    return re.sub("[\udc80-\udcff]", lambda found: f"\\x{ord(found[0]) - 0xDC00:02x}", page)


def of_one_kind(notices: Sequence[str]) -> list[list[str]]:
    """Put notices together that say the same of other files, measures or numbers."""
    found: dict[str, list[str]] = {}
    for notice in notices:
        said = re.sub(r"\(.*?\)|[0-9,.]+", "", notice.partition(": ")[2] or notice)
        found.setdefault(said, []).append(notice)
    return [*found.values()]


def as_live(page: str, mark: str) -> str:
    """Return a page that asks its server for the study's mark, and comes anew when that is another."""
    # every text of a page is escaped: these stand in it where the template has them
    page = page.replace("script-src ", "connect-src 'self'; script-src ", 1)
    return page.replace("<body>", f'<body data-mark="{mark}">', 1)


# Where the pages of a site lie: addresses made of names that anybody may have chosen.
#
# An address must work on every file system and web server. Some tell capitals apart and some do not, some
# refuse a colon or a file called ``con``, and a name such as ``../x`` must lead nowhere. A plain name is
# its own address; any other keeps the letters that can be read, and a digest tells it from all others.

_PLAIN = re.compile("[a-z0-9]([a-z0-9._-]{0,78}[a-z0-9])?")
"""No ``~``, which stands before a digest: so a plain name is never the address of another one."""
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
"""What Windows takes for a device, whatever the suffix."""
_KEPT = 40
_NAME_DIGITS = 26
"""104 bits of a digest: two names with the same ones cannot be made on purpose."""


def file_name(name: str) -> str:
    """Return the part of an address that stands for a name, without a suffix: two names never share one."""
    if _PLAIN.fullmatch(name) and not _DEVICE.fullmatch(name):
        return name
    readable = re.sub("[^a-z0-9]+", "-", name.lower())[:_KEPT].strip("-")
    return f"{readable}~{sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:_NAME_DIGITS]}"


def run_address(run: str) -> str:
    """Return where the page of a run lies, from the root of the site."""
    return f"run/{file_name(run)}.html"


def query_address(query: str) -> str:
    """Return where the page of a query lies, from the root of the site."""
    return f"query/{file_name(query)}.html"


def version_address(version: int) -> str:
    """Return where the board of a version of the answers lies, from the root of the site."""
    return f"board/v{version}.html"


def list_address(page: int) -> str:
    """Return where a page of the list of queries lies, from 1, from the root of the site."""
    return "queries.html" if page == 1 else f"queries-{page}.html"


# A page of a site → HTML that loads nothing but the site's own style, and its script that sorts tables.

STYLE_FILE = "style.css"
SCRIPT_FILE = "tables.js"
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page: its address from the root of the site, and what it says."""

    address: str
    title: str
    lead: tuple[str, ...] = ()
    first: FirstScreen | None = None
    parts: tuple[Section, ...] = ()

    @property
    def root(self) -> str:
        """What leads from the page to the root of the site."""
        return "../" * self.address.count("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What all pages of a site share, and which runs, queries and versions have pages to link to."""

    site: str
    mark: str
    stamp: str
    runs: frozenset[str]
    queries: frozenset[str]
    versions: frozenset[int]

    def address_of(self, cell: Cell, column: Column) -> str:
        """Return the page that a cell of a table is about; empty where there is none."""
        value = bare(cell)
        if column.name in _OF_RUNS and value in self.runs:
            return run_address(str(value))
        if column.name in _OF_QUERIES and value in self.queries:
            return query_address(str(value))
        if column.name == "version" and value in self.versions:
            return version_address(int(str(value)))
        return ""


_OF_RUNS = ("run", "a", "b")
_OF_QUERIES = ("query", "query_id")


def render_page(page: Page, known: Known) -> str:
    """Return a page as HTML; every text in it is escaped, and bytes that are not text are spelt out."""

    def address_of(cell: Cell, column: Column) -> str:
        address = known.address_of(cell, column)
        return address and page.root + address

    def of_run(run: str) -> str:
        return page.root + run_address(run) if run in known.runs else ""

    html = (
        page_templates()
        .get_template("site_page.html")
        .render(page=page, known=known, address_of=address_of, run_address=of_run)
    )
    return _SURROGATES.sub(lambda found: f"\\x{ord(found[0]) & 0xFF:02x}", html)


def style_text() -> str:
    """Return the style that all pages share."""
    return ground_style() + Path(__file__).with_name("site_style.css").read_text(encoding="utf-8")


def script_text() -> str:
    """Return the script of all pages: it makes their tables sortable and filterable."""
    tables = (_FOLDER / SCRIPT_FILE).read_text(encoding="utf-8")
    return f"{tables}document.querySelectorAll('.wide > table').forEach((table) => enhance(table));\n"


def is_web_address(text: str) -> bool:
    """Return whether a text may be linked to: an address of the web, which runs nothing when it is opened."""
    return re.fullmatch(r"https?://[^\s\"'<>\\]+", text) is not None
