#!/usr/bin/env python3
"""Take the pictures of the docs anew: python3 scripts/screenshots.py [FOLDER]

The folder is docs/images by default. A study of the demo's is served and opened as a worker would; the report
is that of the demo. Needs playwright (extra `browser`) and Chromium.
"""

import contextlib
import re
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import prefjudge
from prefjudge.field.crowd import keep_marketplace_open, open_marketplace
from prefjudge.steps.demo import demo
from prefjudge.steps.work import ask_admin
from prefjudge.study.store import Study

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "prefjudge" / "demo"
SCREENS = {"": (1100, 800), "-phone": (390, 844)}


def make_study(folder: Path) -> None:
    """Publish a study of two good runs in its sandbox, so that every passage is to the point."""
    prefjudge.init(folder)
    prefjudge.pool(
        folder,
        runs=[DEMO / f"runs/reranker-{size}.txt" for size in ("large", "small")],
        qrels=DEMO / "qrels.txt",
        queries=DEMO / "queries.tsv",
        collection=DEMO / "collection.tsv",
        depth=1,
    )
    config = folder / "study.toml"  # no gold pairs: the picture shall show one that is hard to choose
    config.write_text(re.sub("(?m)^gold_per_hit = .*", "gold_per_hit = 0", config.read_text("utf-8")))
    prefjudge.publish(folder, sandbox=True, yes=True)


def take(page: Page, out: Path, name: str) -> None:
    """Take a page's first screen on a desktop and on a phone, in the light and in the dark."""
    for screen, (width, height) in SCREENS.items():
        page.set_viewport_size({"width": width, "height": height})
        for dark in (False, True):
            page.emulate_media(color_scheme="dark" if dark else "light")
            page.wait_for_timeout(300)
            page.screenshot(path=out / f"{name}{screen}{'-dark' * dark}.png")


def main(arguments: list[str]) -> int:
    """Take all pictures."""
    out = Path(arguments[0]).resolve() if arguments else ROOT / "docs" / "images"
    out.mkdir(parents=True, exist_ok=True)
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as engine, contextlib.chdir(place):
        folder = Path("my-study")
        make_study(folder)
        demo(Path("demo"))
        prefjudge.report(Path("demo/study"))
        study = Study(folder)
        with keep_marketplace_open(study), open_marketplace(study) as address:
            page = engine.chromium.launch(executable_path=program).new_page()
            page.goto(ask_admin(address, "POST", "/workers", {"name": "Ann"}).json()["invite_url"])
            page.click("text=Begin")
            page.wait_for_url("**/hits")
            page.click("text=Accept and work")
            inside = page.frame_locator("iframe")
            inside.locator("#begin").click()
            inside.locator("[name=choice]").first.wait_for()
            take(page, out, "judging")
            page.goto(Path("demo/study/report.html").resolve().as_uri())
            take(page, out, "report")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
