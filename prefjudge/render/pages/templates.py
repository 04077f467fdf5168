"""The templates of the pages for readers, and what they share: a report's and a site's tables look alike."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.counts import many
from prefjudge.render.text.cells import Bold, write_cell

if TYPE_CHECKING:
    from jinja2 import Environment

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
