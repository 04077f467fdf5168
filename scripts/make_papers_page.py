#!/usr/bin/env python3
"""Write docs/papers.md from the list of the papers' tables and figures."""

from pathlib import Path

from prefjudge.steps.reproduce.guide import papers_page
from prefjudge.steps.reproduce.library import GUIDED

PAGE = Path(__file__).resolve().parents[1] / "docs" / "papers.md"

if __name__ == "__main__":
    PAGE.write_text(papers_page(GUIDED), encoding="utf-8")
