import numpy as np
import pytest

from prefjudge.core.runs import Order, Scores
from prefjudge.evaluation.agreement import split_half
from prefjudge.evaluation.stability import bootstrap_ranks
from prefjudge.show.statistics import agreement_matrix, top_table

RUNS = ("a", "b", "c", "d")


@pytest.fixture
def scores() -> Scores:
    rank = np.random.default_rng(3).geometric(np.linspace(0.3, 0.5, 4), size=(40, 4))
    return Scores(
        measure="RR@10",
        qrels="test",
        queries=tuple(f"q{row}" for row in range(40)),
        runs=RUNS,
        values=1.0 / rank,
        order=Order.SCORE,
    )


def test_the_first_runs_and_ranks_are_those_of_the_papers_tables(scores: Scores) -> None:
    ranks = bootstrap_ranks(scores, trials=50, rng=np.random.default_rng(0))
    table = top_table("all", ranks, top=3)
    assert [row[:2] for row in table.rows] == [(place, ranks.runs[place - 1]) for place in (1, 2, 3)]
    for row, shares in zip(table.rows, ranks.share, strict=False):
        assert row[2:] == tuple(shares[:3])
    assert len(top_table("all", ranks).rows) == 4


def test_agreement_rates_have_a_column_for_each_test_as_in_table_4(scores: Scores) -> None:
    found = split_half(scores, splits=10, rng=np.random.default_rng(0))
    table = agreement_matrix(found)
    assert [row[0] for row in table.rows] == ["agree", "part. agree", "disagree", "perc. signif."]
    assert len(table.columns) == 1 + len(found.rows) == 8
    for column, row in enumerate(found.rows, 1):
        told = [cells[column] for cells in table.rows]
        assert told == [row.agree, row.partly, row.disagree, row.significant]
