"""What the user gave to make a paper's exhibits from."""

from dataclasses import dataclass
from pathlib import Path

from prefjudge.core.runs import OrderLike
from prefjudge.reading.held import Held
from prefjudge.reading.labels import read_judgments, read_qrels
from prefjudge.reading.leaderboards import read_leaderboard
from prefjudge.reading.lines import read_text
from prefjudge.reading.options import ReadOptions
from prefjudge.reading.pools import read_pool
from prefjudge.study.store import Study

ORIGINAL = "original"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the user gave: files, a study, and how runs are read.

    ``pooled_judgments`` are those of the pools, from which preference qrels are made: all judgments, unless
    they are simulated.
    """

    study: Study | None
    runs: tuple[str | Path, ...]
    qrels: tuple[str | Path, ...]
    judgments: str | Path | None
    pooled_judgments: str | Path | None
    pool: str | Path | None
    leaderboard: Path | None
    held_out: Path | None
    against_qrel: str | Path | None
    baseline: tuple[str | Path, ...]
    draw: tuple[str | Path, ...]
    highlight: str
    order: OrderLike | None
    sample: int
    seed: int | None
    how: ReadOptions


def file_of(named: str | Path) -> str | Path:
    """Return the file of ``NAME=FILE``, or of a bare name; what is in memory stays."""
    if isinstance(named, Held):
        return named
    text = str(named)
    return Path(text if "=" not in text or Path(text).exists() else text.partition("=")[2])


def check_files(given: Given) -> None:
    """Read the given files, so that a wrong one is reported once, before anything is made."""
    for labels in given.qrels:
        read_qrels(file_of(labels))
    if given.judgments is not None:
        read_judgments(given.judgments)
    if given.pool is not None:
        read_pool(given.pool)
    if given.leaderboard is not None:
        read_leaderboard(given.leaderboard)
    if given.held_out is not None:
        read_text(given.held_out)
