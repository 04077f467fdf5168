"""In which language the site speaks to somebody."""

from starlette.requests import Request

from prefjudge.marketplace.web.state import AppState
from prefjudge.marketplace.wording import ENGLISH, catalogues

COOKIE = "language"


def language_of(state: AppState, request: Request) -> str:
    """Return the language that somebody chose, else the study's, else the first known one of the browser.

    Who administers reads English.
    """
    if request.url.path.startswith("/admin"):
        return ENGLISH
    known = catalogues()
    for language in (request.cookies.get(state.cookie(COOKIE), ""), state.settings.language):
        if language in known:
            return language
    return preferred(request.headers.get("accept-language", ""))


def preferred(header: str) -> str:
    """Return the first of a browser's languages (``de-AT,de;q=0.9,en;q=0.8``) that the site speaks."""
    wanted: list[tuple[float, str]] = []
    for part in header.split(",")[:20]:
        tag, _, weight = part.partition(";")
        try:
            quality = float(weight.partition("=")[2] or 1)
        except ValueError:
            continue
        if quality > 0:
            wanted.append((-quality, tag.strip().partition("-")[0].lower()))
    known = catalogues()
    return next((tag for _, tag in sorted(wanted, key=lambda one: one[0]) if tag in known), ENGLISH)
