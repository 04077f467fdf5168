"""What leaderboards owe to the chance of their votes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from prefjudge.core.runs import Scores
from prefjudge.evaluation.correlation import kendall_tau
from prefjudge.evaluation.stability import compare_votings, redraw_votings, truths_over
from tests.evaluation.samples import scores_of


def voted(
    truth: np.ndarray, noise: float, measure: str = "RR@10"
) -> Callable[[np.random.Generator], list[Scores]]:
    """Return what gives the scores that one voting on these queries makes."""
    return lambda rng: [scores_of(truth + rng.normal(0, noise, truth.shape))]


Votings = tuple[list[Scores], list[Scores], list[Scores]]


def posterior(seen: np.ndarray, signal: float, noise: float) -> Callable[[np.random.Generator], Votings]:
    """Return what draws truths, of this variance before any vote, from votes with so much noise."""
    left = signal / (signal + noise) if signal else 0.0

    def draw(stream: np.random.Generator) -> Votings:
        drawn = left * seen + stream.normal(0, (left * noise) ** 0.5, seen.shape)
        cast = voted(drawn, noise**0.5)
        return [scores_of(drawn)], cast(stream), cast(stream)

    return draw


def same(
    cast: Callable[[np.random.Generator], list[Scores]],
) -> Callable[[np.random.Generator], Votings]:
    """Return what has two such votings, and a third for the truth."""
    return lambda rng: (cast(rng), cast(rng), cast(rng))


def runs_apart(rng: np.random.Generator, step: float) -> np.ndarray:
    return rng.random((60, 1)) * 0.2 + rng.normal(0, 0.2, (60, 20)) + step * np.arange(20)


def test_runs_that_are_the_same_tie_in_every_voting() -> None:
    rng = np.random.default_rng(4)
    truth = rng.random((30, 1)) + np.array([0.0, 5.0, 0.0, 0.0, 5.0])

    def cast(rng: np.random.Generator) -> list[Scores]:
        drawn = (truth + rng.normal(0, 0.3, truth.shape))[:, [0, 1, 0, 0, 1]]
        return [scores_of(drawn)]

    (found,) = redraw_votings(same(cast), cast(rng), rng=rng)
    assert found.value == pytest.approx(1)


@pytest.mark.parametrize(("told", "rests_on"), [(True, "votes"), (False, "prior")])
def test_it_is_told_whether_the_votes_tell_how_many_are_wrong(told: bool, rests_on: str) -> None:
    cast = voted(runs_apart(np.random.default_rng(7), 0.1), 0.1)
    rng = np.random.default_rng(3)
    (found,) = redraw_votings(same(cast), cast(rng), rng=rng, told=told)
    assert found.rests_on == rests_on


@pytest.mark.parametrize("measure", ["RR@10", "ESL@10"])
def test_votes_without_doubt_agree(measure: str) -> None:
    sure = scores_of(runs_apart(np.random.default_rng(7), 1.0), measure)
    (agreed,) = redraw_votings(same(lambda _: [sure]), [sure], rng=np.random.default_rng(3))
    assert (agreed.value, agreed.low, agreed.high) == (1.0, 1.0, 1.0)
    assert agreed.by == "redrawn votes"
    assert (agreed.truth, agreed.truth_low, agreed.truth_high) == (1.0, 1.0, 1.0)
    assert np.isnan(compare_votings([]).truth), "sets of judgments do not tell the truth"


def test_runs_that_all_tie_in_every_voting_have_no_votings() -> None:
    flat = scores_of(np.full((5, 4), 0.3))
    (agreed,) = redraw_votings(same(lambda _: [flat]), [flat], rng=np.random.default_rng(3))
    assert np.isnan(agreed.value)
    assert agreed.pairs == 0


def test_noise_that_all_runs_share_moves_no_order() -> None:
    truth = np.tile(np.arange(5) * 0.1, (30, 1))

    def together(rng: np.random.Generator) -> list[Scores]:
        return [scores_of(truth + rng.normal(0, 3.0, (30, 1)))]

    (found,) = redraw_votings(same(together), [scores_of(truth)], rng=np.random.default_rng(1))
    assert found.value == pytest.approx(1.0)


def test_a_query_that_other_votes_do_not_decide_keeps_its_scores() -> None:
    truth = scores_of(runs_apart(np.random.default_rng(4), 0.1))
    turned = replace(truth, values=-truth.values)
    for last in (50, 0):
        some = turned.where(np.arange(60) < last)
        (found,) = redraw_votings(same(lambda _, some=some: [some]), [truth], rng=np.random.default_rng(0))
        mixed = np.concatenate([-truth.values[:last], truth.values[last:]]).mean(axis=0)
        assert found.truth == pytest.approx(kendall_tau(mixed, truth.values.mean(axis=0)))


def test_scores_of_other_runs_are_refused() -> None:
    truth = scores_of(runs_apart(np.random.default_rng(4), 0.1))
    with pytest.raises(ValueError, match="other runs, or the same in another order"):
        redraw_votings(
            same(lambda _: [replace(truth, runs=truth.runs[::-1])]), [truth], rng=np.random.default_rng(0)
        )


def test_the_agreement_of_sets_is_the_mean_tau_with_the_middle_of_them() -> None:
    up = np.arange(4.0)
    swapped = np.array([1.0, 0.0, 2.0, 3.0])
    taus = [1.0, -1.0, 2 / 3, 2 / 3, 1.0]
    pairs = [(up, up), (up, -up), (up, swapped), (swapped, up), (swapped, swapped), (up, np.zeros(4))]
    found = compare_votings(pairs)
    assert found.value == pytest.approx(np.mean(taus))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(taus, [0.025, 0.975])))
    assert (found.pairs, found.confidence, found.by) == (5, 0.95, "sets of judgments")
    assert np.isnan(compare_votings([]).value)


@pytest.mark.parametrize(("queries", "truths"), [(10, 32), (100, 10), (250, 4), (5000, 4)])
def test_few_truths_of_many_queries_are_enough(queries: int, truths: int) -> None:
    assert truths_over(queries) == truths


@pytest.mark.parametrize(("signal", "noise", "within"), [(0.04, 0.09, 0.04), (0.0, 1.0, 0.06)])
def test_boards_of_other_votings_and_of_the_truth_agree_as_told(
    signal: float, noise: float, within: float
) -> None:
    """What two rounds agree at is no ceiling: both are noisy, and the truth is not."""
    rng = np.random.default_rng(12)
    told, true = [], []
    held = 0
    for _ in range(30):
        truth = rng.normal(0, signal**0.5, (40, 12))
        one, other = (voted(truth, noise**0.5)(rng)[0].values for _ in range(2))
        (agreed,) = redraw_votings(posterior(one, signal, noise), [scores_of(one)], rng=rng)
        boards = [values.mean(axis=0) for values in (truth, one, other)]
        told.append([agreed.value, agreed.truth if signal else 0.0])
        true.append([kendall_tau(*boards[1:]), kendall_tau(*boards[:2]) if signal else 0.0])
        held += agreed.low <= true[-1][0] <= agreed.high
    np.testing.assert_allclose(np.mean(told, axis=0), np.mean(true, axis=0), atol=within)
    assert held >= 27
    assert not signal or np.mean(told, axis=0)[1] > np.mean(told, axis=0)[0] + 0.1
