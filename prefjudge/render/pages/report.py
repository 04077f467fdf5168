"""A report → one HTML page that loads nothing, and runs one script of ours: without it all can be read.

The script is pinned by its digest, so that nothing else can run, whatever the texts of a page hold.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prefjudge.render.pages.closer_look import CloserLook
from prefjudge.render.pages.templates import ground_style, page_templates
from prefjudge.render.text.cells import Table

_SCRIPT = Path(__file__).with_name("report.js")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One of two passages: its id, its text, and the votes for it over the other."""

    doc: str
    text: str
    votes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A query whose best answer is not the labelled one."""

    query: str
    text: str
    labelled: Passage
    best: Passage


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the page; what it found stands on top of it, too.

    ``files`` lie beside the page and hold the same; ``command`` makes it alone.
    """

    heading: str
    finding: str = ""
    words: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    changes: tuple[Change, ...] = ()
    tables: tuple[Table, ...] = ()
    files: tuple[str, ...] = ()
    command: str = ""


def report_page(
    title: str,
    lead: Sequence[str],
    sections: Sequence[Section],
    notices: Sequence[str] = (),
    stamp: str = "",
    closer: CloserLook | None = None,
) -> str:
    """Return the page; every text in it is escaped, and bytes that are not text are spelt out.

    A stamp stays in sight, also on each sheet of a print, and is repeated with every table. What is looked at
    closer is rendered by the page's script when it is opened.
    """
    script = _SCRIPT.read_text(encoding="utf-8")
    page = (
        page_templates()
        .get_template("report.html")
        .render(
            title=title,
            lead=lead,
            sections=sections,
            notices=[*notices, *(closer.notices if closer else ())],
            stamp=stamp,
            ground=ground_style(),
            script=script,
            pinned=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            closer=closer.to_json() if closer else "",
        )
    )
    return re.sub("[\udc80-\udcff]", lambda found: f"\\x{ord(found[0]) - 0xDC00:02x}", page)


def as_live(page: str, mark: str) -> str:
    """Return a page that asks its server for the study's mark, and comes anew when that is another."""
    # every text of a page is escaped: these stand in it where the template has them
    page = page.replace("script-src ", "connect-src 'self'; script-src ", 1)
    return page.replace("<body>", f'<body data-mark="{mark}">', 1)
