"""Which runs may still be the best, for anybody who looks every day."""

from dataclasses import replace

import numpy as np
import pytest

from prefjudge.core.runs import Scores
from prefjudge.evaluation.stability import find_contenders
from prefjudge.evaluation.tests import sequential_p, sequential_test
from tests.evaluation.test_significance import reciprocal, scores_of


def first(scores: Scores, queries: int) -> Scores:
    return replace(scores, queries=scores.queries[:queries], values=scores.values[:queries])


def test_a_run_is_told_from_the_others_only_once_none_of_them_may_be_the_best() -> None:
    rng = np.random.default_rng(1)
    values = (rng.random((400, 4)) < [0.9, 0.6, 0.85, 0.2]).astype(float)
    scores = scores_of(values, "RR@10")
    early, late = find_contenders(first(scores, 60)), find_contenders(scores)
    assert early is not None
    assert late is not None
    names = scores.runs
    # Whoever is far behind goes first.
    assert early.contenders == (names[0], names[2])
    assert not early.told
    assert (early.run, early.next) == (names[0], names[2])
    assert early.low < 0 < early.difference < early.high
    assert "2 of 4 may be" in early.words[1]
    apart = scores_of(values[:, [0, 1, 3]], "RR@10")
    told = find_contenders(apart)
    assert told is not None
    assert told.told
    assert told.p <= 0.05
    assert told.low > 0
    assert told.words[1].startswith("it is the best of the 3 runs")


def test_p_values_are_those_of_the_sequential_test_for_each_of_the_others() -> None:
    values = reciprocal(4, 120, 5)
    found = find_contenders(scores_of(values, "RR@10"))
    assert found is not None
    order = np.argsort(-values.mean(axis=0))
    differences = values[:, order[:1]] - values[:, order[1:]]
    p, *_ = sequential_test(differences, 1.0, 0.05)
    assert sequential_p(differences, 1.0).tolist() == p.tolist()
    assert found.p == pytest.approx(min(1.0, 4 * p.max()))
    assert len(found.contenders) == 1 + (4 * p > 0.05).sum()


def test_copies_of_the_best_run_may_always_be_the_best() -> None:
    values = np.column_stack([np.ones(500), np.ones(500), np.zeros(500)])
    found = find_contenders(scores_of(values, "RR@10"))
    assert found is not None
    assert len(found.contenders) == 2
    assert found.p == 1.0


def test_where_less_is_better_the_least_is_first() -> None:
    values = np.column_stack([np.full(300, 1.0), np.full(300, 9.0)]) + reciprocal(1, 300, 2) / 10
    found = find_contenders(scores_of(values, "ESL@10"))
    assert found is not None
    assert found.contenders == (scores_of(values, "ESL@10").runs[0],)
    assert found.difference > 0


def test_one_run_or_one_query_tells_nothing() -> None:
    assert find_contenders(scores_of(np.ones((9, 1)), "RR@10")) is None
    assert find_contenders(scores_of(np.ones((1, 9)), "RR@10")) is None


def test_of_equal_runs_each_is_ruled_out_in_at_most_one_study_of_twenty_at_daily_looks() -> None:
    rng = np.random.default_rng(2)
    out = []
    for _ in range(15):
        scores = scores_of((rng.random((200, 6)) < 0.5).astype(float), "RR@10")
        looks = [find_contenders(first(scores, queries)) for queries in range(40, 201, 40)]
        out.append([any(look and run not in look.contenders for look in looks) for run in scores.runs])
    assert np.mean(out) <= 0.05
    assert np.all(out, axis=1).sum() == 0
