"""The papers by their names."""

from prefjudge.steps.papers.benchmarking import BENCHMARKING
from prefjudge.steps.papers.exhibits import Paper
from prefjudge.steps.papers.shallow_pooling import SHALLOW_POOLING
from prefjudge.steps.papers.significant_improvements import SIGNIFICANT_IMPROVEMENTS

PAPERS: tuple[Paper, ...] = (SHALLOW_POOLING, SIGNIFICANT_IMPROVEMENTS, BENCHMARKING)


def find_paper(name: str) -> Paper:
    """Return the paper of this name, which must be one."""
    return next(paper for paper in PAPERS if paper.name == name)
