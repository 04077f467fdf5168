"""A real browser for the pages that people see: Debian's Chromium, driven by Playwright."""

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="no playwright: pip install 'prefjudge[browser]'"
    )
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("no Chromium on this machine: install Debian's package chromium")
    with playwright.sync_playwright() as engine:
        chromium = engine.chromium.launch(executable_path=path)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open pages in a fresh context and, at the end, insist that nothing went wrong in any of them."""
    contexts = []
    troubles: list[str] = []

    def opened(**options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
        context.set_default_timeout(5_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("console", lambda line: line.type in ("error", "warning") and troubles.append(line.text))
        page.on("request", lambda request: troubles.extend(foreign(request.url)))
        page.troubles = troubles
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


def foreign(url: str) -> list[str]:
    return [] if url.startswith(("http://127.0.0.1:", "data:", "about:", "blob:")) else [f"request: {url}"]


def inspect(page: Any) -> None:
    """Assert that axe finds nothing on the page, in light and in dark."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="no axe: pip install 'prefjudge[browser]'"
    )
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        found = axe.Axe().run(page)
        assert found.violations_count == 0, f"{page.url} in {scheme}:\n{found.generate_report()}"
