"""Renders the pages of the worker site and the admin page from plain values; everything shown is escaped."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prefjudge.marketplace.site.words import filters
from prefjudge.marketplace.wording import Wording, catalogues

if TYPE_CHECKING:
    from jinja2 import Environment

_USUAL = Wording()


def render_page(name: str, context: Mapping[str, Any], wording: Wording = _USUAL) -> str:
    """Render one whole HTML page.

    Parameters
    ----------
    name : str
        The page's name, such as ``"hits"``.
    context : mapping
        The values that the page shows, and those that every page needs: ``csrf``, ``nonce``, ``worker``,
        ``path``, ``here`` and ``marketplace``.
    wording : Wording
        What stands for "HIT" and "requester", and the language.

    Raises
    ------
    jinja2.TemplateNotFound
        There is no such page.
    jinja2.UndefinedError
        The page needs a value that the context does not have.
    """
    return _environment(wording).get_template(f"{name}.html").render(context)


@lru_cache(maxsize=16)
def _environment(wording: Wording) -> "Environment":
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    folder = Path(__file__).parent / "templates"

    def load(name: str) -> str | None:
        path = folder / name
        return wording.template(path.read_text(encoding="utf-8")) if path.is_file() else None

    environment = Environment(
        loader=FunctionLoader(load),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters(wording))
    environment.globals["language"] = wording.language
    environment.globals["languages"] = [(code, one.name) for code, one in catalogues().items()]
    return environment
