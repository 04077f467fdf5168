#!/usr/bin/env python3
"""Write docs/papers.md from the list of the papers' tables and figures."""

from pathlib import Path

from prefjudge.steps.papers.guide import papers_page
from prefjudge.steps.papers.guidelines import GUIDELINES
from prefjudge.steps.papers.library import PAPERS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "papers.md"

if __name__ == "__main__":
    PAGE.write_text(papers_page((*PAPERS, GUIDELINES)), encoding="utf-8")
