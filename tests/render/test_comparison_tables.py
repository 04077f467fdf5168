import numpy as np
import pytest

from prefjudge.core.runs import Order, Scores
from prefjudge.evaluation.tests import compare_runs
from prefjudge.show.statistics import pairs_table


@pytest.mark.parametrize(("differing", "warned"), [(0, False), (1, True), (14, True), (15, False)])
def test_few_queries_that_differ_are_told_of(differing: int, warned: bool) -> None:
    rng = np.random.default_rng(0)
    a = rng.random(40)
    b = np.where(np.arange(40) < differing, rng.random(40), a)
    scores = Scores(
        measure="nDCG@10",
        qrels="q",
        queries=tuple(map(str, range(40))),
        runs=("a", "b"),
        values=np.column_stack([a, b]),
        order=Order.SCORE,
    )
    tested = compare_runs(scores, test="t", rng=rng)
    notes = " ".join(pairs_table([tested]).notes)
    assert ("1 pair with fewer than 15 queries that differ" in notes) is warned
