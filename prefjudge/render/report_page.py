"""A report → one HTML page that loads nothing and runs nothing."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.render.cells import Bold, Cell, Column, Table, write_cell
from prefjudge.render.counts import many

if TYPE_CHECKING:
    from jinja2 import Template

_TEMPLATE = Path(__file__).with_name("report.html")


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A plot: what it shows, in words, and its SVG."""

    words: str
    svg: bytes

    @property
    def address(self) -> str:
        """The picture as an address that holds it: inside it, nothing can run."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.svg).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A query whose best answer is not the labelled one: the texts, and the votes between the two."""

    query: str
    labelled: str
    best: str
    votes_for: int
    votes_against: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the report."""

    heading: str
    words: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    changes: tuple[Change, ...] = ()


def report_page(title: str, lead: str, sections: Sequence[Section], notices: Sequence[str] = ()) -> str:
    """Return the page; every text in it is escaped."""
    return _template().render(title=title, lead=lead, sections=sections, notices=notices)


@lru_cache(maxsize=1)
def _template() -> "Template":
    from jinja2 import Environment, StrictUndefined

    world = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    world.filters.update(words=_words, strong=_is_bold, votes=_votes)
    return world.from_string(_TEMPLATE.read_text(encoding="utf-8"))


def _words(cell: Cell, column: Column) -> str:
    return write_cell(cell, column)


def _is_bold(cell: Cell) -> bool:
    return isinstance(cell, Bold)


def _votes(count: int) -> str:
    return many(count, "vote")
