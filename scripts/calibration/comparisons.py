"""How often two runs are said to differ that do not, where the labels come from a crowd's votes."""

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray
from votings import ERRORS, POOL, QUERIES, RUNS, VOTES, Crowd

from prefjudge.core.judgments import Judgments
from prefjudge.core.runs import Heads, Order
from prefjudge.evaluation.tests import compare_runs
from prefjudge.evaluation.winratios import win_ratios

ALPHA = 0.05
FORM = "{:>7} {:>5} {:>5} {:>6} {:>6} {:>9} {:>9} {:>8} {:>9}"
HEAD = ("queries", "votes", "error", "tests", "t", "covered", "majority", "by votes", "+-")


def table(studies: int, seed: int) -> Iterator[str]:
    """Yield the lines of the table; the runs of all studies are as good as each other."""
    yield FORM.format(*HEAD)
    for queries, votes, error in product(QUERIES, VOTES, ERRORS):
        rng = np.random.default_rng([seed, queries, votes, round(100 * error)])
        found = [study(queries, votes, error, rng) for _ in range(studies)]
        shares = np.mean(found, axis=0)
        # Tests of one study share its votes: the error is that of a mean over studies.
        deviation = float(np.std([one[0] for one in found], ddof=1) / np.sqrt(studies))
        figures = (f"{figure:.3f}" for figure in (*shares.tolist(), deviation))
        yield FORM.format(queries, votes, error, studies * (RUNS // 2), *figures)


def study(queries: int, votes: int, error: float, rng: np.random.Generator) -> tuple[float, ...]:
    """Judge new queries, and compare runs two by two.

    Returns how often the t test rejects, the interval holds the true difference (0), and the tests of win
    ratios reject, by the majority of each query's votes and by every vote.
    """
    crowd = Crowd(queries, votes, error, "nearly equal", rng)
    cast = crowd.vote(rng)
    tested = compare_runs(crowd.score(cast), test="t", correction="none", rng=rng)
    apart = (tested.a % 2 == 0) & (tested.b == tested.a + 1)
    covered = (tested.low <= 0) & (tested.high >= 0)
    return (
        float((tested.p[apart] <= ALPHA).mean()),
        float(covered[apart].mean()),
        *(_rejected(cast, heads(crowd), count) for count in ("majority", "votes")),
    )


def _rejected(cast: Judgments, tops: Heads, count: str) -> float:
    found = win_ratios(cast, tops, count="votes" if count == "votes" else "majority")
    place = {run: number for number, run in enumerate(found.runs)}
    rejected = [
        pair.p <= ALPHA
        for pair in found.pairs
        if place[pair.a] % 2 == 0 and place[pair.b] == place[pair.a] + 1
    ]
    return float(np.mean(rejected))


def heads(crowd: Crowd) -> Heads:
    """Return the top passage of each run."""
    lists = RUNS * len(crowd.names)
    best: NDArray[np.int64] = crowd.gain.argmax(axis=1)
    doc = best + POOL * np.arange(len(crowd.names))[:, None]
    return Heads(
        runs=tuple(f"r{run:02}" for run in range(RUNS)),
        queries=crowd.names,
        docs=crowd.documents.docs,
        list_run=np.repeat(np.arange(RUNS), len(crowd.names)).astype(np.int32),
        list_query=np.tile(np.arange(len(crowd.names)), RUNS).astype(np.int32),
        start=np.arange(lists + 1),
        doc=doc.T.ravel().astype(np.int32),
        order=Order.SCORE,
    )
