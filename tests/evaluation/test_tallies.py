"""A leaderboard from tallies is that of the matrix they count."""

import numpy as np
import pytest

from prefjudge.core.pooling.qrels import Qrels, Scores
from prefjudge.core.pooling.runs import Order
from prefjudge.errors import InputError
from prefjudge.evaluation.leaderboards.leaderboard import leaderboard
from prefjudge.evaluation.leaderboards.tallies import Tally, tally_leaderboard
from prefjudge.evaluation.scoring.measures import Measure

QUERIES = tuple(f"q{number}" for number in range(40))
NONE = np.zeros(0, np.int32)
QRELS = Qrels(name="nist", queries=QUERIES, docs=(), query=NONE, doc=NONE, grade=np.zeros(0))
RR = Measure.parse("RR@10")


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_tallies_give_the_board_of_the_matrix(statistic):
    values = 1 / np.random.default_rng(3).integers(1, 11, size=(len(QUERIES), 3))
    values[::4] = 0
    values = np.column_stack([values, values[::-1, 0]])  # a run that ties with the first
    runs = ("b", "a", "c", "d")
    scores = Scores(
        measure=str(RR), qrels="nist", queries=QUERIES, runs=runs, values=values, order=Order.SCORE
    )
    tallies = []
    for run, column in zip(runs, values.T, strict=True):
        found, counts = np.unique(column[column > 0], return_counts=True)  # what is not tallied is 0
        tallies.append(Tally(run=run, values=found, counts=counts))
    ours = tally_leaderboard(tallies, QRELS, RR, order=Order.SCORE, statistic=statistic)
    theirs = leaderboard(scores, statistic=statistic)
    assert (ours.queries, ours.interval) == (theirs.queries, theirs.interval)
    expected = {row.run: (row.score, row.low, row.high) for row in theirs.rows}
    for row in ours.rows:
        assert (row.score, row.low, row.high) == pytest.approx(expected[row.run])
    ranks = {row.run: row.rank for row in ours.rows}
    assert ranks["b"] == ranks["d"]
    better = {row.run: sum(other.score > row.score for other in ours.rows) for row in ours.rows}
    assert ranks == {run: count + 1 for run, count in better.items()}


def test_no_run():
    with pytest.raises(InputError, match="no run"):
        tally_leaderboard([], QRELS, RR, order=Order.SCORE)


def test_one_run_is_a_board():
    tally = Tally(run="a", values=np.array([1.0]), counts=np.array([10]))
    (row,) = tally_leaderboard([tally], QRELS, RR, order=Order.SCORE).rows
    assert (row.run, row.rank, row.score) == ("a", 1, 0.25)
