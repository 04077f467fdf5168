"""Choices out of several passages: how they are asked, what their wins are worth, and what they show."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.hits import Layout, ask_together, check_answer, in_order, pack_questions, plan_hit
from prefjudge.core.judgments import Judgments, one_of_each_choice, passed_over
from prefjudge.core.planning.plans import ManyPools, Packing, choice_chances, compare_plans, play_studies
from prefjudge.core.planning.rounds import next_round, votes_are_even
from prefjudge.core.resolving.confidence import DrawnPools, Stack, assess_confidence, foretell
from prefjudge.core.resolving.posterior import fit_strengths, tell_best
from prefjudge.core.resolving.resolutions import resolve
from prefjudge.core.resolving.scales import one_scale
from prefjudge.core.resolving.shapes import RIGHT, tell_classes
from prefjudge.core.resolving.tournaments import tournaments, vote_matrices
from prefjudge.core.strategies import LapseNoise, RoundRobin, error_of_scale
from prefjudge.evaluation.stability import cast_again
from tests.core.tables import highest, pools_of

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
PAIRS = {("q", a, b): number for number, (a, b) in enumerate(combinations("abcdefg", 2), 1)}


def luce(strength: np.ndarray) -> np.ndarray:
    weight = np.exp(strength - strength.max(axis=-1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


def choices_of(winners: np.ndarray, size: int) -> Judgments:
    """Clicks on all candidates of queries, shape (queries, clicks), as their wins in a random order."""
    queries, clicks = winners.shape
    rows = [
        (query, winner, loser, query * clicks + click)
        for query in range(queries)
        for click, winner in enumerate(winners[query].tolist())
        for loser in range(size)
        if loser != winner
    ]
    query, won, lost, click = np.array(rows, dtype=np.int32).T
    names = tuple(f"q{one:04d}" for one in range(queries))
    left = np.minimum(won, lost)
    log = Judgments.of_nobody(
        queries=names, docs=tuple("abcdefg"[:size]), query=query, left=left, right=np.maximum(won, lost),
        choice=np.where(won == left, 1, -1).astype(np.int8),
    )  # fmt: skip
    return replace(log, click=click)


@given(
    st.dictionaries(st.sampled_from(sorted(PAIRS)), st.integers(1, 4), min_size=1), st.integers(2, 5), seeds
)
def test_questions_show_every_pair_as_often_as_is_wanted(
    wanted: dict[tuple[str, str, str], int], passages: int, rng: np.random.Generator
) -> None:
    rows = [(PAIRS[pair], *pair, votes) for pair, votes in wanted.items()]
    asked = ask_together(rows, PAIRS, passages)
    shown = {number: sum(v for v, question in asked if number in question) for number in PAIRS.values()}
    assert all(shown[PAIRS[pair]] >= votes for pair, votes in wanted.items())
    assert all(len(question) in (1, 3, 6, 10)[: passages - 1] for _, question in asked)
    assert sum(votes for votes, _ in asked) <= sum(wanted.values()), "never more than pair by pair"
    packed = pack_questions([question for _, question in asked], 4, rng=rng)
    assert sorted(q for hit in packed for q in hit) == sorted(q for _, q in asked)
    for hit in packed:
        numbers = [number for question in hit for number in question]
        assert len({*numbers}) == len(numbers)
        assert len(hit) <= 4


def test_only_pairs_that_the_study_has_are_shown_together() -> None:
    known = {pair: number for pair, number in PAIRS.items() if pair != ("q", "a", "c")}
    rows = [(PAIRS["q", a, b], "q", a, b, 1) for a, b in ("ab", "bc")]
    assert ask_together(rows, known, 3) == [(1, (1,)), (1, (PAIRS["q", "b", "c"],))]


@given(st.lists(st.integers(2, 5), min_size=1, max_size=8), st.integers(0, 3), seeds)
def test_a_layout_shows_all_passages_and_gold_is_not_always_at_one_place(
    sizes: list[int], gold: int, rng: np.random.Generator
) -> None:
    every = [*sizes, *rng.choice(sizes, gold).tolist()]
    plan = plan_hit(range(len(sizes)), range(gold), layouts=4, passages=every, rng=rng)
    for number, layout in enumerate(plan.layouts):
        orders = [in_order(layout.swapped[i], every[k]) for i, k in enumerate(plan.slots)]
        assert all(sorted(order) == [*range(every[k])] for order, k in zip(orders, plan.slots, strict=True))
        places = {o.index(0) for o, k in zip(orders, plan.slots, strict=True) if k >= len(sizes)}
        assert gold < 2 or number or len(places) > 1


def test_an_answer_names_one_of_all_passages() -> None:
    layouts = (Layout(order=(0,), swapped=((2, 0, 1),)),)
    answer = check_answer({"consent": "yes", "n": "c"}, ["n"], [("a", "b", "c")], layouts, "3A")
    assert (answer.choices[0].shown, answer.choices[0].chosen) == ((2, 0, 1), 2)
    assert not answer.choices[0].chose_first


@pytest.mark.parametrize(("size", "clicks"), [(3, 1), (3, 6), (4, 3), (5, 8)])
def test_what_is_told_of_the_best_by_choices_is_true(size: int, clicks: int) -> None:
    rng, scale, queries = np.random.default_rng(size), 0.9, 1500
    strength = rng.normal(0.0, scale, (queries, size))
    thrown = luce(strength).cumsum(axis=1)[:, None, :] < rng.random((queries, clicks, 1))
    log = choices_of(thrown.sum(axis=2), size)
    found = assess_confidence(log, rng=rng, scales=one_scale(scale), draws=400)
    chance = found.chance.reshape(queries, size)
    right = (chance.argmax(axis=1) == strength.argmax(axis=1)).mean()
    assert abs(chance.max(axis=1).mean() - right) < 0.045, "in full they would be off by more"
    learned = highest(assess_confidence(log, rng=rng, draws=400))
    assert abs(learned.mean() - right) < 0.05, (
        "what is learned of the crowd makes them neither surer nor less"
    )
    full = assess_confidence(replace(log, click=None), rng=rng, scales=one_scale(scale), draws=400)
    assert highest(full).mean() - right > 0.03
    assert foretell(log, one_scale(scale), rng=rng) is None, "wins of one choice tell nothing of the model"


@pytest.mark.parametrize("lapses", [0.0, 0.5, 1.0])
def test_choices_are_as_probable_as_luce_has_it(lapses: float) -> None:
    many, size, scale = 100, 4, 1.2
    noise, rng = LapseNoise(error=error_of_scale(scale), lapses=lapses), np.random.default_rng(1)
    strength = rng.normal(0.0, min(noise.scale, 1e6), (400_000, size))
    clicks = [((0, 1, 2), 0), ((0, 1, 2), 1), ((0, 1, 2, 3), 0), ((2, 3), 2)]
    likely = np.ones(len(strength))
    for shown, won in clicks:
        of = (1.0 - noise.tossed) * luce(strength[:, shown]) + noise.tossed / len(shown)
        likely *= of[:, shown.index(won)]
    chance = np.bincount(strength.argmax(axis=1), weights=likely) / likely.sum()
    rows = [(won, lost, n) for n, (shown, won) in enumerate(clicks) for lost in shown if lost != won]
    won, lost, click = np.tile(np.array(rows, dtype=np.int32).T, many)
    query = np.repeat(np.arange(many, dtype=np.int32), len(rows))
    log = Judgments.of_nobody(
        queries=tuple(map(str, range(many))), docs=tuple("abcd"), query=query, left=won, right=lost,
        choice=np.ones(won.size, dtype=np.int8),
    )  # fmt: skip
    click = np.where(click < 3, query * len(clicks) + click, -1)
    (block,) = tournaments(replace(log, click=click.astype(np.int32)))
    (stack,) = vote_matrices(block, ties=0.5)
    fit, of_draws = fit_strengths(stack.votes, scale=scale), np.random.default_rng(2)
    told = tell_best(
        stack.votes, fit, scale=scale, draws=4000, rng=of_draws, lapses=lapses, cast=stack.cast, alike=False
    )
    assert told.evidence.mean() == pytest.approx(np.log(likely.mean()), abs=0.01)
    assert told.chance.mean(axis=0) == pytest.approx(chance, abs=0.01)


def test_choices_tell_of_classes_as_luce_has_it() -> None:
    log, better = choices_of(np.array([[0, 0, 1]]), 3), np.array([[1, 0, 0], [0, 1, 1]])
    (block,) = tournaments(log)
    (stack,) = vote_matrices(block)
    _, logs = tell_classes(stack.votes * 0, stack.cast, better * 1.0)
    of = [np.where(one, right, 1.0 - right) for right in RIGHT for one in better]
    likely = [np.log((one[[0, 0, 1]] / one.sum()).prod()) for one in of]
    assert logs[0] == pytest.approx(np.logaddexp(*np.reshape(likely, (-1, 2)).T) - np.log(2))


def test_a_pair_that_was_shown_and_passed_over_is_not_missing() -> None:
    log = choices_of(np.array([[0, 0, 1]]), 3)
    assert passed_over(log).tolist() == [[0, 0, 0], [1, 1, 0], [2, 2, 2]]
    once = choices_of(np.array([[0]]), 3)
    assert resolve(once, rule="most-wins").missing.sum() == 0
    assert resolve(replace(once, click=None), rule="most-wins").missing.sum() == 1
    pools = pools_of({"q0000": "abc"})
    assert votes_are_even(once, pools)
    assert not votes_are_even(replace(once, click=None), pools)
    assert not len(next_round(once, pools, RoundRobin(1)).pairs)
    assert len(next_round(once, pools, RoundRobin(2)).pairs) == 3


def test_of_each_choice_one_win_is_taken_whatever_its_place() -> None:
    log = choices_of(np.array([[0, 1, 2, 0, 1, 2]]), 3)
    kept = one_of_each_choice(log)
    assert log.click is not None
    assert sorted(log.click[kept].tolist()) == [*range(6)]
    assert one_of_each_choice(replace(log, click=None)).size == 12
    assert log.worth is not None
    assert np.allclose(log.worth, np.log2(3) / 2)
    assert log.passages == 3


def test_choices_are_made_again_as_luce_has_it() -> None:
    strength = np.array([0.5, -0.3, 0.0])
    chances = 1.0 / (1.0 + np.exp(strength[None, :] - strength[:, None]))
    assert np.allclose(choice_chances(chances), luce(strength))
    log = choices_of(np.zeros((1, 20_000), dtype=np.int64), 3)
    stack = Stack(queries=np.array([0]), rows=np.array([[0, 1, 2]]), chances=chances[None])
    drawn = DrawnPools(crowd=one_scale(0.6), stacks=(stack,))
    rows = log.left.astype(np.int64), log.right.astype(np.int64)
    again = cast_again(log, *rows, drawn, np.random.default_rng(1))
    assert again.click is not None
    won = again.winner[np.argsort(again.click, kind="stable")].reshape(-1, 2)
    assert (won[:, 0] == won[:, 1]).all(), "a choice has one winner"
    assert np.allclose(np.bincount(won[:, 0]) / len(won), luce(strength), atol=0.015)
    assert {*zip(again.winner.tolist(), again.loser.tolist(), strict=True)} == {
        (a, b) for a in range(3) for b in range(3) if a != b
    }


def test_a_plan_counts_questions_and_the_time_to_read_them() -> None:
    rng = np.random.default_rng(2)
    strength = rng.normal(0.0, 0.9, (300, 4))
    chances = 1.0 / (1.0 + np.exp(strength[:, None, :] - strength[:, :, None]))
    pools = ManyPools(chances=chances, best=strength.argmax(axis=1), study=np.zeros(300, dtype=np.int64))
    (pairs,), (sets,) = (
        play_studies(RoundRobin(1), [pools], np.random.default_rng(3), passages=most) for most in (2, 4)
    )
    assert (pairs.made, pairs.read, sets.made, sets.read) == (1800, 3600, 300, 1200)
    assert sets.right.mean() > 0.4, "one choice out of four finds the best that often"
    likely = [_Known(chances, pools.best)] * 2
    plans = [
        compare_plans(
            {4: 300}, likely, strategies=[RoundRobin(1)], rng=np.random.default_rng(4),  # type: ignore[list-item]
            packing=Packing(passages=most, golds_per_hit=0, price=lambda _: 1),  # type: ignore[arg-type,return-value]
        )[0]
        for most in (2, 4)
    ]  # fmt: skip
    assert [plan.judgments for plan in plans] == [1800, 300]
    assert plans[1].hours == pytest.approx(plans[0].hours / 3)


class _Known:
    """A study of which all is known."""

    error, reissued = 0.3, 0.0

    def __init__(self, chances: np.ndarray, best: np.ndarray) -> None:
        self._drawn, self.noise = (chances, best), self

    def draw_chances(self, *_: object) -> tuple[np.ndarray, np.ndarray]:
        return self._drawn
