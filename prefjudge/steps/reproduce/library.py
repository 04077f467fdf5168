"""The papers by their names."""

from prefjudge.steps.reproduce.benchmarking import BENCHMARKING
from prefjudge.steps.reproduce.exhibits import Paper
from prefjudge.steps.reproduce.guidelines import GUIDELINES
from prefjudge.steps.reproduce.shallow_pooling import SHALLOW_POOLING
from prefjudge.steps.reproduce.significant_improvements import PREPRINT, SIGNIFICANT_IMPROVEMENTS

PAPERS: tuple[Paper, ...] = (SHALLOW_POOLING, SIGNIFICANT_IMPROVEMENTS, BENCHMARKING)
GUIDED: tuple[Paper, ...] = (SHALLOW_POOLING, SIGNIFICANT_IMPROVEMENTS, PREPRINT, BENCHMARKING, GUIDELINES)
"""What the page of recipes holds: both versions of a paper, and the guidelines, which have no results."""


def find_paper(name: str) -> Paper:
    """Return the paper of this name, which must be one."""
    return next(paper for paper in PAPERS if paper.name == name)
