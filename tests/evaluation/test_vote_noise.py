"""What leaderboards owe to the chance of their votes."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from prefjudge.core.runs import Scores
from prefjudge.errors import InputError
from prefjudge.evaluation.correlation import kendall_tau
from prefjudge.evaluation.stability import compare_votings, measure_noise, redrawn_votings
from tests.evaluation.samples import scores_of


def voted(
    truth: np.ndarray, noise: float, measure: str = "RR@10"
) -> Callable[[np.random.Generator], list[Scores]]:
    """Return what gives the scores that one voting on these queries makes."""
    return lambda rng: [scores_of(truth + rng.normal(0, noise, truth.shape))]


Votings = tuple[list[Scores], list[Scores], list[Scores]]


def twice(
    cast: Callable[[np.random.Generator], list[Scores]],
) -> Callable[[np.random.Generator, Sequence[str]], Votings]:
    """Return what has two such votings, on more queries than are asked for, and a third for the truth."""
    return lambda rng, some: (cast(rng), cast(rng), cast(rng))


def runs_apart(rng: np.random.Generator, step: float) -> np.ndarray:
    return rng.random((60, 1)) * 0.2 + rng.normal(0, 0.2, (60, 20)) + step * np.arange(20)


@pytest.mark.parametrize(("step", "noise", "within"), [(0.02, 0.6, 0.05), (0.01, 1.0, 0.07), (0.0, 2.0, 0.1)])
def test_it_is_told_how_far_two_votings_agree(step: float, noise: float, within: float) -> None:
    """Over studies: one study alone says it no better than its own board is known."""
    rng = np.random.default_rng(5)
    told, true = [], []
    for _ in range(12):
        truth = runs_apart(rng, step)
        cast = voted(truth, noise)
        boards = [cast(rng)[0].values.mean(axis=0) for _ in range(40)]
        true.append(compare_votings(list(zip(boards[::2], boards[1::2], strict=True))).value)
        (found,) = measure_noise(twice(cast), cast(rng), rng=rng)
        told.append(redrawn_votings(found, rng=rng).value)
    assert np.mean(told) == pytest.approx(np.mean(true), abs=within)


def test_the_agreement_of_a_few_equal_runs_is_right_on_average_and_its_interval_holds() -> None:
    """Cut at 0 it would be .1 too high: nothing but noise moves these runs."""
    rng = np.random.default_rng(8)
    told, held = [], []
    for _ in range(150):
        cast = voted(np.full((50, 8), 0.5), 1.0)
        boards = [cast(rng)[0].values.mean(axis=0) for _ in range(2)]
        (found,) = measure_noise(twice(cast), cast(rng), rng=rng)
        agreed = redrawn_votings(found, rng=rng)
        told.append(agreed.value)
        held.append(agreed.low <= kendall_tau(*boards) <= agreed.high)
    assert np.mean(told) == pytest.approx(0, abs=0.06)
    assert np.mean(np.maximum(told, 0)) > 0.08
    assert np.mean(held) > 0.9


def test_runs_that_are_the_same_tie_in_every_voting() -> None:
    """The root of their covariance's rounding is not small: it parted them, and lowered what is told."""
    rng = np.random.default_rng(4)
    truth = rng.random((30, 1)) + np.array([0.0, 5.0, 0.0, 0.0, 5.0])

    def cast(rng: np.random.Generator) -> list[Scores]:
        drawn = (truth + rng.normal(0, 0.3, truth.shape))[:, [0, 1, 0, 0, 1]]
        return [scores_of(drawn)]

    (found,) = measure_noise(twice(cast), cast(rng), rng=rng)
    assert redrawn_votings(found, rng=rng).value == pytest.approx(1)


def test_two_votings_on_one_truth_show_the_noise_whatever_the_truth_may_be() -> None:
    """Where the truth is doubtful two draws of it differ, too. This is no noise of the votes."""
    rng = np.random.default_rng(2)
    truth = runs_apart(rng, 0.05)

    def doubtful(stream: np.random.Generator, some: Sequence[str]) -> Votings:
        vote = voted(truth + stream.normal(0, 2.0, truth.shape), 0.5)
        return vote(stream), vote(stream), vote(stream)

    (found,) = measure_noise(doubtful, voted(truth, 0.5)(rng), rng=rng)
    np.testing.assert_allclose(np.diag(found.root @ found.root.T), 0.25 / 60, rtol=0.35)


@pytest.mark.parametrize(("told", "rests_on"), [(True, "votes"), (False, "prior")])
def test_it_is_told_whether_the_votes_tell_how_many_are_wrong(told: bool, rests_on: str) -> None:
    cast = voted(runs_apart(np.random.default_rng(7), 0.1), 0.1)
    rng = np.random.default_rng(3)
    (found,) = measure_noise(twice(cast), cast(rng), rng=rng, told=told)
    assert redrawn_votings(found, rng=rng).rests_on == rests_on


def test_votes_without_doubt_agree() -> None:
    sure = scores_of(runs_apart(np.random.default_rng(7), 1.0))
    (found,) = measure_noise(twice(lambda _: [sure]), [sure], rng=np.random.default_rng(3))
    assert found.share == 1.0
    agreed = redrawn_votings(found, rng=np.random.default_rng(3))
    assert (agreed.value, agreed.low, agreed.high) == (1.0, 1.0, 1.0)
    assert agreed.by == "redrawn votes"
    assert (agreed.truth, agreed.truth_low, agreed.truth_high) == (1.0, 1.0, 1.0)
    assert np.isnan(compare_votings([]).truth), "sets of judgments do not tell the truth"


def test_runs_that_all_tie_in_every_voting_have_no_votings() -> None:
    flat = scores_of(np.full((5, 4), 0.3))
    (found,) = measure_noise(twice(lambda _: [flat]), [flat], rng=np.random.default_rng(3))
    agreed = redrawn_votings(found, rng=np.random.default_rng(3))
    assert np.isnan(agreed.value)
    assert agreed.pairs == 0


def test_noise_that_all_runs_share_moves_no_order() -> None:
    truth = np.tile(np.arange(5) * 0.1, (30, 1))

    def together(rng: np.random.Generator) -> list[Scores]:
        return [scores_of(truth + rng.normal(0, 3.0, (30, 1)))]

    (found,) = measure_noise(twice(together), [scores_of(truth)], rng=np.random.default_rng(1))
    assert found.share == pytest.approx(1.0)
    assert redrawn_votings(found, rng=np.random.default_rng(1)).value == pytest.approx(1.0)


def test_a_measure_that_is_better_when_lower_is_turned() -> None:
    truth = np.tile(np.arange(4.0), (10, 1))
    low = scores_of(truth, "ESL@10")
    (found,) = measure_noise(twice(lambda _: [low]), [low], rng=np.random.default_rng(0))
    np.testing.assert_allclose(found.board, [0, -1, -2, -3])


def test_a_query_that_other_votes_do_not_decide_keeps_its_scores() -> None:
    truth = scores_of(runs_apart(np.random.default_rng(4), 0.1))
    keep = np.arange(60) < 50

    def fewer(rng: np.random.Generator) -> list[Scores]:
        return [truth.where(keep)]

    (found,) = measure_noise(twice(fewer), [truth], rng=np.random.default_rng(0))
    np.testing.assert_allclose(found.board, truth.values.mean(axis=0))
    np.testing.assert_allclose(found.root, 0, atol=1e-7)
    (none,) = measure_noise(
        twice(lambda _: [truth.where(keep & ~keep)]), [truth], rng=np.random.default_rng(0)
    )
    np.testing.assert_allclose(none.root, 0, atol=1e-7)


def test_scores_of_other_runs_are_refused() -> None:
    truth = scores_of(runs_apart(np.random.default_rng(4), 0.1))
    with pytest.raises(ValueError, match="other runs, or the same in another order"):
        measure_noise(
            twice(lambda _: [replace(truth, runs=truth.runs[::-1])]), [truth], rng=np.random.default_rng(0)
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
    assert compare_votings([], confidence=0.8).confidence == 0.8
    assert np.isnan(compare_votings([]).value)
    with pytest.raises(InputError, match="confidence is 1"):
        compare_votings(pairs, confidence=1.0)


@pytest.mark.parametrize(
    ("queries", "truths", "many"), [(10, 32, 10), (100, 10, 100), (250, 4, 250), (5000, 4, 250)]
)
def test_a_sample_of_many_queries_tells_the_noise_of_all(queries: int, truths: int, many: int) -> None:
    truth = np.random.default_rng(6).normal(0, 0.2, (queries, 4))
    asked = []

    def cast(rng: np.random.Generator, some: Sequence[str]) -> Votings:
        asked.append(some)
        keep = np.array([query in set(some) for query in observed[0].queries])
        return tuple([scores.where(keep) for scores in voted(truth, 0.5)(rng)] for _ in range(3))  # type: ignore[return-value]

    observed = voted(truth, 0.5)(np.random.default_rng(2))
    (found,) = measure_noise(cast, observed, rng=np.random.default_rng(1))
    assert [len(some) for some in asked] == [many] * truths
    assert many == queries or asked[0] != asked[1]
    np.testing.assert_allclose(np.diag(found.root @ found.root.T) * queries, 0.25, rtol=0.3)


def test_a_board_of_the_truth_agrees_better_than_a_second_voting() -> None:
    """What two rounds agree at is no ceiling: both are noisy, and the truth is not."""
    rng = np.random.default_rng(12)
    told, true, rounds = [], [], []
    signal, noise = 0.04, 0.09

    def posterior(seen: np.ndarray) -> Callable[[np.random.Generator, Sequence[str]], Votings]:
        left = signal / (signal + noise)

        def draw(stream: np.random.Generator, some: Sequence[str]) -> Votings:
            drawn = left * seen + stream.normal(0, (left * noise) ** 0.5, seen.shape)
            cast = voted(drawn, noise**0.5)
            return [scores_of(drawn)], cast(stream), cast(stream)

        return draw

    for _ in range(30):
        truth = rng.normal(0, signal**0.5, (40, 12))
        one, other = (voted(truth, noise**0.5)(rng)[0].values for _ in range(2))
        (found,) = measure_noise(posterior(one), [scores_of(one)], rng=rng)
        agreed = redrawn_votings(found, rng=rng)
        assert agreed.truth_low <= agreed.truth <= agreed.truth_high
        told.append(agreed.truth)
        true.append(kendall_tau(truth.mean(axis=0), one.mean(axis=0)))
        rounds.append(kendall_tau(one.mean(axis=0), other.mean(axis=0)))
    assert np.mean(told) == pytest.approx(np.mean(true), abs=0.04)
    assert np.mean(told) > np.mean(rounds) + 0.1
