#!/usr/bin/env python3
"""Make the six runs of the demo collection from its passages, its labels and its hidden utilities.

``python3 scripts/make_demo_runs.py`` writes prefjudge/demo/runs/; ``--out DIR`` writes them elsewhere. The
same input always gives the same bytes. Standard library only.

``lexical`` is a real ranker (BM25). The other five see what a ranker never sees, the utility of a passage,
through noise: little of it for the three strong ones, much for ``first-try``. ``label-tuned`` has also
learned the labels.
"""

import argparse
import math
import random
import re
from collections import Counter
from pathlib import Path

DEMO = Path(__file__).resolve().parents[1] / "prefjudge" / "demo"
SEED = 851
DEPTH = 10

# run tag: (weight of the utility, weight of the label, noise)
RANKERS = {
    "reranker-large": (1.0, 0.0, 0.06),
    "reranker-small": (1.0, 0.02, 0.13),
    "late-interaction": (1.0, 0.0, 0.17),
    "label-tuned": (0.6, 0.35, 0.12),
    "first-try": (0.3, 0.0, 0.24),
}

# Every run finds the answers of the easy questions; the hard ones divide the runs.
EASY, HARD = frozenset({"q04", "q13"}), frozenset({"q02", "q05", "q07", "q11", "q12"})

Texts = dict[str, str]
Ranking = list[tuple[str, float]]


def read_texts(path: Path) -> Texts:
    """Read ``id<TAB>text`` lines."""
    return dict(line.split("\t", 1) for line in path.read_text(encoding="utf-8").splitlines())


def read_truth(path: Path) -> dict[tuple[str, str], float]:
    """Read the hidden utility of each (query, passage)."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:])
    return {(query, doc): float(utility) for query, doc, utility in rows}


def read_labels(path: Path) -> set[tuple[str, str]]:
    """Read the (query, passage) pairs that the sparse qrels label."""
    rows = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return {(query, doc) for query, _, doc, _ in rows}


def words(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    return re.findall(r"[a-z0-9]+", text.lower())


def bm25(query: str, passages: Texts, k1: float = 1.2, b: float = 0.75) -> dict[str, float]:
    """Score every passage for a question by its words alone."""
    bags = {doc: Counter(words(text)) for doc, text in passages.items()}
    mean = sum(bag.total() for bag in bags.values()) / len(bags)
    scores = dict.fromkeys(passages, 0.0)
    for word in words(query):
        having = [doc for doc, bag in bags.items() if word in bag]
        idf = math.log(1 + (len(bags) - len(having) + 0.5) / (len(having) + 0.5))
        for doc in having:
            bag = bags[doc]
            scores[doc] += idf * bag[word] * (k1 + 1) / (bag[word] + k1 * (1 - b + b * bag.total() / mean))
    return scores


def difficulty(query: str) -> float:
    """Return the factor by which a question multiplies the noise of a ranker."""
    return 0.1 if query in EASY else 1.6 if query in HARD else 1.0


def top(scores: dict[str, float]) -> Ranking:
    """Return the best passages, scores rounded as the file shows them, ties by id descending."""
    rounded = ((doc, round(score, 4)) for doc, score in scores.items())
    return sorted(rounded, key=lambda pair: (pair[1], pair[0]), reverse=True)[:DEPTH]


def make_runs(demo: Path = DEMO, seed: int = SEED) -> dict[str, str]:
    """Return the text of each run file by its run tag."""
    queries, passages = read_texts(demo / "queries.tsv"), read_texts(demo / "collection.tsv")
    truth, labels = read_truth(demo / "truth.tsv"), read_labels(demo / "qrels.txt")
    rankings: dict[str, dict[str, Ranking]] = {
        "lexical": {q: top(bm25(text, passages)) for q, text in queries.items()}
    }
    for tag, (utility, label, noise) in RANKERS.items():
        rng = random.Random(f"{seed} {tag}")
        rankings[tag] = {
            query: top(
                {
                    doc: utility * truth[query, doc]
                    + label * ((query, doc) in labels)
                    + rng.gauss(0.0, noise * difficulty(query))
                    for doc in passages
                }
            )
            for query in queries
        }
    return {
        tag: "".join(
            f"{query} Q0 {doc} {rank} {score:.4f} {tag}\n"
            for query, ranking in by_query.items()
            for rank, (doc, score) in enumerate(ranking, 1)
        )
        for tag, by_query in rankings.items()
    }


def main() -> None:
    """Write the run files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=DEMO / "runs")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for tag, text in make_runs().items():
        (out / f"{tag}.txt").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
