"""Leaderboards to study: runs that agree as far as those of a TREC track, their qrels and their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from inputs import stream
from numpy.typing import NDArray

RUNS, DEPTH, DOCS = 63, 100, 150
"""The passage runs of TREC DL 2021: 63, 100 deep. Each query has documents of its own, 150 of them."""
_NOISE = 0.48
"""How far runs disagree; with this the tops of 63 runs make 23 pairs a query, as those of DL 2021 do."""
_BLOCK = 200
_WORDS = np.array(
    [f"{start}{end}" for start in ("ba", "lo", "mi", "ster", "quo") for end in ("na", "rim", "dle", "s")]
)


@dataclass(frozen=True, slots=True)
class Board:
    """The files of one leaderboard."""

    runs: Path
    qrels: Path
    queries: Path
    collection: Path

    def options(self) -> list[str | Path]:
        """Return how ``pool`` is told of them."""
        return [
            *("--runs", self.runs / "*.txt", "--qrels", self.qrels),
            *("--queries", self.queries, "--collection", self.collection),
        ]


def board(folder: Path, queries: int, runs: int = RUNS) -> Board:
    """Make a leaderboard below ``folder``, once."""
    place = folder / f"board-{runs}x{queries}"
    made = Board(place / "runs", place / "qrels.txt", place / "queries.tsv", place / "collection.tsv")
    if not (place / "made").exists():
        made.runs.mkdir(parents=True, exist_ok=True)
        with ProcessPoolExecutor(2) as executor:
            list(executor.map(partial(_write_run, made.runs, queries), range(runs)))
        _write_labels(made, queries)
        (place / "made").touch()
    return made


def _blocks(queries: int) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield the first query of each block, and how well each document answers each of its queries."""
    for start in range(0, queries, _BLOCK):
        yield start, stream(10, start).gumbel(size=(min(_BLOCK, queries - start), DOCS))


def _write_run(folder: Path, queries: int, number: int) -> None:
    noise = _NOISE * (1 + number / RUNS)
    with (folder / f"run{number:02d}.txt").open("w", encoding="utf-8") as file:
        for start, truth in _blocks(queries):
            seen = truth + noise * stream(11, number, start).normal(size=truth.shape)
            order = np.argsort(-seen, axis=1)[:, :DEPTH]
            file.writelines(_lines(start, order, np.take_along_axis(seen, order, 1), f"run{number:02d}"))


def _lines(start: int, order: NDArray[np.int64], scores: NDArray[np.float64], tag: str) -> Iterator[str]:
    for query, (docs, values) in enumerate(zip(order.tolist(), scores.tolist(), strict=True), start):
        for rank, (doc, value) in enumerate(zip(docs, values, strict=True), 1):
            yield f"{query} Q0 p{query}_{doc} {rank} {value:.6f} {tag}\n"


def _write_labels(made: Board, queries: int) -> None:
    """Write one relevant document a query, a good one, and the texts, of MS MARCO's lengths."""
    with (
        made.qrels.open("w", encoding="utf-8") as qrels,
        made.queries.open("w", encoding="utf-8") as topics,
        made.collection.open("w", encoding="utf-8") as collection,
    ):
        for start, truth in _blocks(queries):
            rng = stream(12, start)
            good = np.argsort(-truth, axis=1)[:, rng.integers(0, 4)]
            qrels.writelines(f"{start + i} 0 p{start + i}_{doc} 1\n" for i, doc in enumerate(good.tolist()))
            for query in range(start, start + len(truth)):
                topics.write(f"{query}\tquery {query} {_text(rng, 6)}\n")
                collection.writelines(
                    f"p{query}_{doc}\tp{query}_{doc} {text}\n" for doc, text in enumerate(_texts(rng))
                )


def _texts(rng: np.random.Generator) -> Sequence[str]:
    """Return a text for each document of a query, of 40 to 75 words."""
    words = _WORDS[rng.integers(0, _WORDS.size, (DOCS, 75))].tolist()
    return [" ".join(row[:length]) for row, length in zip(words, rng.integers(40, 76, DOCS), strict=True)]


def _text(rng: np.random.Generator, length: int) -> str:
    return " ".join(rng.choice(_WORDS, length).tolist())
