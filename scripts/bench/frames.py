"""A DataFrame scored as it is, against reading the same run from a file: ``python scripts/bench/frames.py``.

Both are measured in turn, in CPU seconds of one process; what counts is the ratio.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from prefjudge.core.runs import JudgedRanks
from prefjudge.reading.inputs import take_runs
from prefjudge.reading.labels import held_qrels
from prefjudge.reading.runs.heads import RunFiles

DEPTH = 1000


def make_frame(queries: int) -> pd.DataFrame:
    """Return a run of distinct documents by query, scores descending."""
    rng = np.random.default_rng(1)
    docs = np.concatenate([rng.choice(1_000_000, DEPTH, replace=False) for _ in range(queries)])
    scores = np.sort(rng.random((queries, DEPTH)) * 100, axis=1)[:, ::-1].round(4)
    names = np.repeat(np.arange(1_000_000, 1_000_000 + queries), DEPTH)
    return pd.DataFrame({"qid": names, "docno": docs, "score": scores.ravel()})


def seconds(work: Callable[[], list[JudgedRanks]]) -> tuple[float, list[JudgedRanks]]:
    """Return the CPU seconds of some work, and what it returns."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=6980, help="each has 1,000 documents")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    numbers = make_frame(options.queries)
    texts = numbers.astype({"qid": str, "docno": str})
    labels = held_qrels({query: {rows.iloc[5]: 1} for query, rows in texts.groupby("qid")["docno"]}, "labels")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.txt"
        texts.assign(Q0="Q0", rank=1, tag="run").to_csv(
            path, sep=" ", header=False, index=False, columns=["qid", "Q0", "docno", "rank", "score", "tag"]
        )
        ratios: dict[str, list[float]] = {"ids as texts": [], "ids as whole numbers": []}
        for _ in range(options.rounds):
            base, expected = seconds(lambda: RunFiles([path]).judged(labels.content))
            for (name, found), frame in zip(ratios.items(), (texts, numbers), strict=True):
                spent, ranks = seconds(
                    lambda frame=frame: RunFiles([take_runs(frame)]).judged(labels.content)
                )
                assert np.array_equal(ranks[0].position, expected[0].position)
                found.append(spent / base)
                print(f"{name}: {spent:.2f} s; the file: {base:.2f} s; {spent / base:.2f} x", flush=True)
    for name, found in ratios.items():
        print(f"{len(numbers):,} rows, {name}: {statistics.median(found):.2f} x the file (median)")


if __name__ == "__main__":
    main()
