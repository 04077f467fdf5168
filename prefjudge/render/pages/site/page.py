"""A page of a site → HTML that runs nothing, and loads nothing but the site's own style."""

import re
from dataclasses import dataclass
from pathlib import Path

from prefjudge.render.pages.site.addresses import query_address, run_address, version_address
from prefjudge.render.pages.templates import ground_style, page_templates
from prefjudge.render.text.cells import Cell, Column, Table, bare

STYLE_FILE = "style.css"
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A line of a list of facts: what it is, and its value; ``address`` makes the value a link."""

    what: str
    value: str
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A passage: what it is here, its id, its text, and what is said of it."""

    role: str
    doc: str
    text: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a page, in the order in which it is shown."""

    heading: str
    words: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    passages: tuple[Passage, ...] = ()
    tables: tuple[Table, ...] = ()
    links: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page: its address from the root of the site, and what it says."""

    address: str
    title: str
    lead: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()

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

    html = (
        page_templates().get_template("site/page.html").render(page=page, known=known, address_of=address_of)
    )
    return _SURROGATES.sub(lambda found: f"\\x{ord(found[0]) & 0xFF:02x}", html)


def style_text() -> str:
    """Return the style that all pages share."""
    return ground_style() + Path(__file__).with_name(STYLE_FILE).read_text(encoding="utf-8")


def is_web_address(text: str) -> bool:
    """Return whether a text may be linked to: an address of the web, which runs nothing when it is opened."""
    return re.fullmatch(r"https?://[^\s\"'<>\\]+", text) is not None
