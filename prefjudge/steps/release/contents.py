"""What a release holds: its files, what each is, and what of a study was asked to be in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

FORMAT: Final = 2
"""The version of the layout, for readers of older releases."""
FOLDER = "release"
RECORD = "release.json"
SUMS = "SHA256SUMS"
PAGE = "README.md"
ANSWERS, TOURNAMENTS, KEPT, PREFS = (
    "preference.qrels",
    "resolutions.jsonl",
    "judgments.txt",
    "preferences.prefs",
)
LOG, WORK, POOL, ASKED = "judgments.jsonl", "assignments.jsonl", "pool.tsv", "asked.tsv"
COPIES = "copies.tsv"
BOARD = "leaderboard.csv"
RUNS = "runs"
TEXTS = frozenset({"queries.tsv", "passages.tsv", "gold.tsv", "chosen.jsonl"})
"""Files of texts that the study did not write: an address in a passage is no secret."""

HOLDS = {
    ANSWERS: "the best answers (TREC qrels)",
    TOURNAMENTS: "each query's tournament: its status, its winners and their wins",
    KEPT: "the judgments that count: query, left, right, preferred, worker",
    PREFS: "the same in trec_eval's prefs format",
    LOG: "every judgment, and why some do not count",
    WORK: "every assignment, and its results on gold pairs",
    POOL: "the candidates, and what put them there",
    COPIES: "passages of the same text, of which one is the candidate, as NIST lists them",
    ASKED: "the pairs that were asked for, where that is not all of a pool",
    "models.jsonl": "what language models chose, with each passage first",
    "comments.jsonl": "what workers said of pairs and HITs, and which pairs they could not judge",
    "queries.tsv": "the queries that were judged",
    "passages.tsv": "the passages that were judged",
    "chosen.jsonl": "the preferences as models are trained on them: prompt, chosen, rejected",
    "gold.tsv": "the gold pairs",
    BOARD: "the runs by their scores under the best answers",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What was asked to be in a release; ``license`` None takes the config's."""

    texts: bool = False
    gold: bool = False
    runs: bool = False
    parquet: bool = False
    license: str | None = None
    public: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedFile:
    """One file of a release: what it holds, how many rows of it, and its digest (SHA-256)."""

    name: str
    holds: str
    rows: int
    sha256: str


def sums_text(sums: Mapping[str, str]) -> str:
    """Return digests by the names of their files as ``sha256sum -c`` reads them."""
    return "".join(f"{found}  {name}\n" for name, found in sorted(sums.items()))
