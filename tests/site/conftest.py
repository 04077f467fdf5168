"""A real browser for the pages that people see: Debian's Chromium, driven by Playwright."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.site.live import Marketplace


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


@contextmanager
def watched(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open pages, each in a context of its own, and at the end insist that nothing went wrong in any of them.

    A test that provokes what a browser reports on its console adds the words to the page's ``forgiven``.
    """
    contexts = []
    troubles: list[str] = []
    forgiven: list[str] = []

    def opened(**options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
        context.set_default_timeout(30_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("console", lambda line: line.type in ("error", "warning") and troubles.append(line.text))
        page.on("request", lambda request: troubles.extend(foreign(request.url)))
        page.forgiven = forgiven
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [line for line in troubles if not any(part in line for part in forgiven)] == []


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    with watched(browser) as opened:
        yield opened


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marketplace]:
    started = Marketplace(tmp_path_factory.mktemp("marketplace"))
    yield started
    started.server.stop()


@pytest.fixture
def paying(tmp_path: Path) -> Iterator[Marketplace]:
    """Where money is real."""
    started = Marketplace(tmp_path, sandbox=False)
    yield started
    started.server.stop()


@pytest.fixture
def marketplace(running: Marketplace) -> Iterator[Marketplace]:
    yield running
    running.close()


def soon(page: Any, happened: Callable[[], object], what: str = "it") -> None:
    """Wait until something has happened; Playwright's own waiting needs a policy that allows eval.

    Half a minute: what never happens is told late, and what happens on a busy machine is not missed.
    """
    for _ in range(600):
        if happened():
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{what} did not happen")


def stop_clock(page: Any) -> None:
    """Let time pass for a page as the test says only: a clock that is just installed runs on under load."""
    page.clock.install(time=0)
    page.clock.pause_at(1)


def foreign(url: str) -> list[str]:
    return [] if url.startswith(("http://127.0.0.1:", "data:", "about:", "blob:")) else [f"request: {url}"]


def inspect(page: Any) -> None:
    """Assert that axe finds nothing on the page: by all rules in light, the colours again in dark.

    Also by those on trial and of the level AAA, which asks for a contrast of 7 to 1.
    """
    name = "axe_playwright_python.sync_playwright"
    axe = pytest.importorskip(name, reason="no axe: pip install 'prefjudge[browser]'")
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe.Axe().axe_script)
    for scheme, only in (("light", []), ("dark", ["color-contrast", "color-contrast-enhanced"])):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        found = page.evaluate(AXE, only)
        assert found == [], f"{page.url} in {scheme}"


AXE = """only => {
    const ids = only.length ? only : axe.getRules().map(rule => rule.ruleId);
    const options = { resultTypes: ["violations"], runOnly: { type: "rule", values: ids } };
    return axe.run(document, options).then(found => found.violations.flatMap(
        rule => rule.nodes.map(node => [rule.id, node.html.slice(0, 200), node.failureSummary])));
}"""
