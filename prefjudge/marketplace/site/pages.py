"""Renders the pages of the worker site and the admin page from plain values; everything shown is escaped."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prefjudge.marketplace.site.words import filters

if TYPE_CHECKING:
    from jinja2 import Environment


def render_page(name: str, context: Mapping[str, Any]) -> str:
    """Render one whole HTML page.

    Parameters
    ----------
    name : str
        The page's name, such as ``"hits"``.
    context : mapping
        The values that the page shows, and those that every page needs: ``csrf``, ``nonce``, ``worker``,
        ``path`` and ``marketplace``.

    Raises
    ------
    jinja2.TemplateNotFound
        There is no such page.
    jinja2.UndefinedError
        The page needs a value that the context does not have.
    """
    return _environment().get_template(f"{name}.html").render(context)


@lru_cache(maxsize=1)
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters())
    return environment
