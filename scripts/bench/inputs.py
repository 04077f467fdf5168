"""Inputs of the benchmarks: runs, qrels and a collection of MS MARCO's shape, the same for everybody."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from harness import Lab

DOCS = 8_841_823
SEED = 20_260_930
_WORDS = (
    "passage",
    "query",
    "answer",
    "index",
    "ranker",
    "lake",
    "seven",
    "about",
    "between",
    "orange",
    "the",
    "of",
)


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """The run files of a leaderboard, and how many queries and documents a query each has."""

    paths: list[Path]
    queries: int
    depth: int


def leaderboard(lab: Lab) -> Leaderboard:
    """Make the runs of a leaderboard of MS MARCO's size, once."""
    count, queries, depth = (2, 60, 50) if lab.short else (16, 6980, 1000)
    return Leaderboard(runs(lab.folder, count=count, queries=queries, depth=depth), queries, depth)


def growing(lab: Lab) -> Iterator[tuple[int, Leaderboard]]:
    """Yield one run with 1, 10 and 100 times the queries."""
    for times in (1, 10) if lab.short else (1, 10, 100):
        queries, depth = (10 if lab.short else 698) * times, 100
        yield times, Leaderboard(runs(lab.folder, count=1, queries=queries, depth=depth), queries, depth)


def stream(*key: int) -> np.random.Generator:
    """Return the generator of one input: each has its own, so that any can be made alone."""
    return np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=key))


def query_ids(count: int) -> list[int]:
    """Return ``count`` query ids in ascending order."""
    ids: list[int] = np.sort(stream(0).choice(1_200_000, count, replace=False)).tolist()
    return ids


def relevant(count: int) -> list[list[int]]:
    """Return the relevant documents of each query: one for 94.6 % of them, two or three for the others."""
    rng = stream(1)
    sizes = np.where(rng.random(count) < 0.946, 1, rng.integers(2, 4, count))
    return [rng.choice(DOCS, int(size), replace=False).tolist() for size in sizes]


def write_one_run(number: int, path: Path, queries: int, depth: int) -> None:
    """Write one TREC run. Every fourth has its queries in a shuffled order."""
    rng = stream(2, number)
    ids, answers = query_ids(queries), relevant(queries)
    order = rng.permutation(queries) if number % 4 == 3 else np.arange(queries)
    tag = f"run{number:02d}"
    part = path.with_suffix(".part")
    with part.open("w") as file:
        for place in order.tolist():
            docs = rng.choice(DOCS, depth, replace=False).tolist()
            if rng.random() < 0.9 and not set(answers[place]) & set(docs):
                docs[min(int(rng.exponential(20)), depth - 1)] = answers[place][0]
            scores = np.sort(rng.gamma(4, 5, depth))[::-1].tolist()
            query = ids[place]
            file.write(
                "".join(
                    [
                        f"{query} Q0 {doc} {rank} {score:.6f} {tag}\n"
                        for rank, (doc, score) in enumerate(zip(docs, scores, strict=True), 1)
                    ]
                )
            )
    part.replace(path)


def runs(folder: Path, *, count: int, queries: int, depth: int, workers: int = 2) -> list[Path]:
    """Make ``count`` runs below ``folder``, once, and return their paths."""
    place = folder / f"runs-{queries}x{depth}"
    place.mkdir(parents=True, exist_ok=True)
    paths = [place / f"run{number:02d}.txt" for number in range(count)]
    missing = [(number, path) for number, path in enumerate(paths) if not path.exists()]
    if missing:
        work = partial(write_one_run, queries=queries, depth=depth)
        with ProcessPoolExecutor(workers) as executor:
            list(executor.map(work, *zip(*missing, strict=True)))
    return paths


def packed(path: Path) -> Path:
    """Return a gz copy of a file, made once."""
    copy = path.with_name(path.name + ".gz")
    if not copy.exists():
        part = path.with_suffix(".part")
        with path.open("rb") as plain, gzip.GzipFile(part, "wb", compresslevel=6, mtime=0) as file:
            shutil.copyfileobj(plain, file, 1 << 20)
        part.replace(copy)
    return copy


def qrels(folder: Path, queries: int) -> Path:
    """Make sparse qrels, once."""
    path = folder / f"qrels-{queries}.txt"
    if not path.exists():
        lines = [
            f"{query} 0 {doc} 1\n"
            for query, docs in zip(query_ids(queries), relevant(queries), strict=True)
            for doc in docs
        ]
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(lines))
    return path


def graded_qrels(folder: Path, run: Path, queries: int, depth: int) -> Path:
    """Make graded qrels, 50 documents a query, most of them retrieved by ``run``; once."""
    path = folder / f"graded-{queries}x{depth}.txt"
    if not path.exists():
        rng = stream(3)
        rows: dict[tuple[bytes, bytes], int] = {}
        with run.open("rb") as file:
            for line in file:
                query, _, doc, *_ = line.split()
                if rng.random() < 45 / depth:
                    rows[query, doc] = int(rng.integers(0, 4))
        for number in query_ids(queries):
            for other in rng.choice(DOCS, 5, replace=False).tolist():
                rows.setdefault((b"%d" % number, b"%d" % other), 0)
        path.write_bytes(
            b"".join(b"%b 0 %b %d\n" % (query, doc, grade) for (query, doc), grade in rows.items())
        )
    return path


def collection(folder: Path, docs: int = DOCS) -> Path:
    """Make a tab-separated collection sorted by number, about 344 bytes a line; once."""
    path = folder / f"collection-{docs}.tsv"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        rng = stream(4)
        texts = [" ".join(rng.choice(_WORDS, int(n)).tolist()) for n in rng.integers(20, 85, 997)]
        part = path.with_suffix(".part")
        with part.open("w") as file:
            for start in range(0, docs, 100_000):
                stop = min(start + 100_000, docs)
                file.write("".join([f"{doc}\t{texts[doc % 997]}\n" for doc in range(start, stop)]))
        part.replace(path)
    return path
