"""How sure the winners are, from probabilities that are set by hand."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from prefjudge.core.planning.plans import play
from prefjudge.core.planning.rounds import of_size, parse_strategy
from prefjudge.core.resolving.confidence import (
    Confidence,
    ConfidenceSummary,
    Foretold,
    LikelyPools,
    foretell,
    resolved_queries,
    summarise_confidence,
)
from prefjudge.core.resolving.resolutions import Resolution, resolve
from prefjudge.core.resolving.scales import Scales, Trust, estimate_scales, prior_scales
from prefjudge.core.runs import Qrels
from prefjudge.core.strategies import LapseNoise, error_of_scale
from prefjudge.evaluation.stability import pooled_documents
from tests.core.tables import judgments_of, log_of

FOUND = resolve(
    judgments_of(
        "one a b a", "one a b a",
        "ring a b a", "ring b c b", "ring c a c",
        "thin a b a", "thin c d c",
        "sure a b b",
    ),
    sparse_rule="none",
)  # fmt: skip
CHANCES = {"one": (0.8, 0.2), "ring": (0.2, 0.3, 0.5), "thin": (0.8, 0.1, 0.06, 0.04), "sure": (0.05, 0.95)}


KNOWN = Scales(scale=np.array([0.9, 1.0, 1.1]), weight=np.array([0.25, 0.5, 0.25]), lapses=np.zeros(3))


def confidence(scales: Scales = KNOWN) -> Confidence:
    chance = np.concatenate([np.array(CHANCES[query]) for query in FOUND.queries])
    return Confidence(
        scales=scales, draws=10, queries=FOUND.queries, docs=FOUND.docs, start=FOUND.start,
        doc=FOUND.doc, chance=chance, good=chance, loss=0.1 * (1.0 - chance), strength=np.zeros(chance.size),
        deviation=np.ones(chance.size),
    )  # fmt: skip


def test_sureness_is_a_mean_over_the_queries_that_have_winners() -> None:
    # one: a, at the bound of 80 %; ring: any of three, a third each; sure: b, at that of 95 %; thin: nobody.
    assert summarise_confidence(FOUND, confidence()) == ConfidenceSummary(
        error=KNOWN.error,
        error_low=KNOWN.interval()[0],
        error_high=KNOWN.interval()[1],
        lapses=0.0,
        trust=None,
        doubted=None,
        mean=pytest.approx((0.8 + 1 / 3 + 0.95) / 3),
        mean_low=pytest.approx((0.8 + 1 / 3 + 0.95) / 3),
        mean_high=pytest.approx((0.8 + 1 / 3 + 0.95) / 3),
        at_80=2,
        alone=0,
        outdone=0,
        fits=None,
        foretold=None,
    )


def test_votes_that_do_not_tell_how_many_are_wrong_give_no_share_of_wrong_votes() -> None:
    found = summarise_confidence(FOUND, confidence(prior_scales()))
    assert (found.error, found.error_low, found.error_high, found.lapses) == (None,) * 4
    assert found.mean == summarise_confidence(FOUND, confidence()).mean


def test_what_is_known_of_workers_is_said_and_what_cannot_be_checked() -> None:
    trust = Trust(
        workers=("w", "v", "u"), reliability=np.array([0.4, 1.0, 0.5]), crowd=0.8, mean=0.7,
        tossing=np.zeros(3), cast=np.ones(3, dtype=np.int64), gold=np.ones((2, 3), dtype=np.int64),
        _key=np.zeros(0, dtype=np.int64), _without=np.zeros(0),
    )  # fmt: skip
    found = summarise_confidence(FOUND, replace(confidence(), trust=trust))
    assert (found.trust, found.doubted) == (0.7, 1)
    _, doubted, unchecked = found.words
    assert "those of 1 worker less than half as much" in doubted
    assert "these votes cannot show whether these probabilities fit" in unchecked
    nobody = summarise_confidence(FOUND, replace(confidence(), trust=replace(trust, reliability=np.ones(3))))
    assert len(nobody.words) == 2


def test_winners_without_a_rival_are_counted_apart() -> None:
    start = np.array([0, *(FOUND.start[1:] - 1)])
    lone = replace(FOUND, start=start, doc=FOUND.doc[1:], winner=np.array([True, *FOUND.winner[2:]]))
    found = summarise_confidence(
        lone, replace(confidence(), chance=np.array([1.0, *confidence().chance[2:]]))
    )
    assert (found.at_80, found.alone) == (2, 1)
    assert "(2 with 0.8 or more, of which 1 is alone in the pool); " in found.words[0]
    assert "alone" not in summarise_confidence(FOUND, confidence()).words[0]


def test_a_winner_that_is_not_the_likeliest_is_counted_and_said() -> None:
    chance = confidence().chance.copy()
    chance[:2] = 0.4, 0.6  # one: a wins by the rule
    found = summarise_confidence(FOUND, replace(confidence(), chance=chance))
    assert found.outdone == 1
    assert found.words[1].startswith(
        "in 1 query another candidate is more likely to be the best than the winner"
    )
    chance[:2] = 0.497, 0.503  # as two digits show them, they are as likely
    assert summarise_confidence(FOUND, replace(confidence(), chance=chance)).outdone == 0


def test_nothing_is_sure_where_nothing_is_resolved() -> None:
    nobody = replace(FOUND, winner=np.zeros_like(FOUND.winner))
    found = summarise_confidence(nobody, confidence())
    assert math.isnan(found.mean)
    assert found.at_80 == 0


def test_a_resolved_query_tells_all_and_probabilities_where_they_are_known() -> None:
    chance = confidence().chance
    chance[0] = 0.123456
    by_id = {one.query_id: one for one in resolved_queries(FOUND, replace(confidence(), chance=chance))}
    assert by_id["one"] == Resolution(
        query_id="one", status="single", winners=("a",), margin=2.0, cycle=(), pool_size=2, votes=2,
        missing=0, p_best={"a": 0.1235, "b": 0.2}, likely=("b", "a"), loss={"a": 0.02, "b": 0.08},
    )  # fmt: skip
    assert (by_id["ring"].status, by_id["ring"].cycle) == ("cycle", ("a", "b", "c"))
    assert (by_id["thin"].status, by_id["thin"].missing, by_id["thin"].winners) == ("sparse", 4, ())
    assert list(by_id["sure"].p_best.items()) == [("a", 0.05), ("b", 0.95)]
    likely = {one.query_id: one.likely for one in by_id.values()}
    assert (likely["sure"], likely["one"]) == (("b",), ("b", "a"))
    assert (by_id["sure"].among, by_id["one"].among) == ("b: 0.95", "any candidate")
    assert all(one.p_best == {} for one in resolved_queries(FOUND, None))


@pytest.mark.parametrize(("low", "high"), [(-0.1, -0.02), (0.02, 0.1)])
def test_votes_that_do_not_go_as_foretold_are_said_first(low: float, high: float) -> None:
    told = Foretold(votes=1968, queries=60, agreed=0.63 + (low + high) / 2, foretold=0.63, low=low, high=high)
    found = summarise_confidence(FOUND, confidence(), told)
    assert found.fits is False
    first, _ = found.words
    assert first.startswith("P(best) may be off, as the votes do not fit its model: of 1,968 votes ")
    fine = summarise_confidence(FOUND, confidence(), replace(told, low=-0.2, high=0.2))
    assert fine.fits is True
    assert fine.words[1].endswith("others say of other pairs, 63% were foretold (-20.0 to +20.0 points off)")


# Foretold votes: those of the model are as foretold, others are not, and some cannot show it.


def votes_by(chances: np.ndarray, many: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [
        f"q{query:03} {x} {y} {x if rng.random() < chances[query, x, y] else y} w{vote}"
        for query in range(len(chances))
        for x, y in combinations(range(chances.shape[1]), 2)
        for vote in range(many)
    ]


def told_of(lines: list[str]) -> Foretold | None:
    judgments = judgments_of(*lines)
    rng = np.random.default_rng(5)
    return foretell(judgments, estimate_scales(judgments, rng=rng), rng=rng)


@pytest.mark.parametrize(("error", "lapses"), [(0.3, 0.0), (0.3, 0.4), (0.3, 1.0), (0.12, 0.0)])
def test_votes_of_the_model_go_as_foretold(error: float, lapses: float) -> None:
    chances, _ = LapseNoise(error=error, lapses=lapses).draw_chances(80, 5, np.random.default_rng(3))
    found = told_of(votes_by(chances, 3, seed=4))
    assert found
    assert found.fits
    assert (found.votes, found.queries) == (80 * 10 * 3, 80), "each vote is foretold"
    assert found.high - found.low < 0.08


def test_votes_that_agree_and_yet_go_in_circles_are_not_as_foretold() -> None:
    # Who is preferred is tossed for each pair, and then nine votes in ten say so.
    tossed = np.where(np.triu(np.random.default_rng(6).random((60, 5, 5)) < 0.5, 1), 0.9, 0.1)
    found = told_of(votes_by(tossed, 3, seed=7))
    assert found
    assert found.high < 0.0


@pytest.mark.parametrize(("queries", "many"), [(60, 1), (9, 3)])
def test_one_vote_on_each_pair_or_few_queries_show_nothing(queries: int, many: int) -> None:
    chances, _ = LapseNoise(error=0.3).draw_chances(queries, 5, np.random.default_rng(3))
    assert told_of(votes_by(chances, many, seed=4)) is None
    assert told_of([]) is None


def test_lapses_keep_the_share_of_wrong_votes() -> None:
    rng = np.random.default_rng(8)
    for lapses in (0.0, 0.3, 1.0):
        noise = LapseNoise(error=0.3, lapses=lapses)
        chances, best = noise.draw_chances(20_000, 2, rng)
        right = chances[np.arange(len(best)), best, 1 - best]
        assert 1 - right.mean() == pytest.approx(0.3, abs=0.003)
        assert right.max() <= 1 - noise.tossed / 2 + 1e-12
    assert noise.draw_chances(9, 3, np.random.default_rng(1))[0].tolist() == (
        LapseNoise(error=0.3, lapses=1.0).draw_chances(9, 3, np.random.default_rng(1))[0].tolist()
    )
    assert error_of_scale(LapseNoise(error=0.3, lapses=0.0).scale) == pytest.approx(0.3)


# What pools may truly be like, by votes and by where runs place their candidates.


NOWHERE = np.iinfo(np.int64).max


def drawn_crowd(rng: np.random.Generator, queries: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the chances of votes, and where eight runs place the candidates, who half agree with people."""
    strength = rng.standard_normal((queries, size))
    chances = 1 / (1 + np.exp(-(strength[:, :, None] - strength[:, None, :])))
    ranked = strength[:, :, None] + rng.standard_normal((queries, size, 8))
    return chances, 1 + np.argsort(np.argsort(-ranked, axis=1), axis=1)


def placed(places: np.ndarray) -> np.ndarray:
    """Return places of shape (queries, size, runs) as runs by rows."""
    return places.reshape(-1, places.shape[2]).T


def noise(strategy: str, chances: np.ndarray, places: np.ndarray, rng: np.random.Generator) -> float:
    """Return how far two votings on these pools are apart in the reciprocal ranks of their answers."""
    one = of_size(parse_strategy(strategy), chances.shape[1])
    first, second = (one.leaders(play(one, chances, rng)[0]).argmax(axis=1) for _ in range(2))
    query = np.arange(len(chances))
    between = 1 / places[query, first] - 1 / places[query, second]
    between -= between.mean(axis=1, keepdims=True)
    return float((between**2).sum())


@pytest.mark.parametrize(("strategy", "crowds"), [("round-robin:1", 2), ("sure:60x5", 3)])
def test_votings_on_drawn_pools_differ_as_much_as_votings_of_the_crowd(strategy: str, crowds: int) -> None:
    """By .57 to .81 of it, where `sure` was asked again on the most likely strengths."""
    rng = np.random.default_rng(4)
    found, true = 0.0, 0.0
    for _ in range(crowds):
        chances, places = drawn_crowd(rng, 150, 4)
        votes, _ = play(of_size(parse_strategy(strategy), 4), chances, rng)
        judgments, pools = log_of(votes)
        documents = pooled_documents(pools)
        likely = LikelyPools(judgments, documents, placed(places), rng=rng)
        for drawn in likely.draws(rng, documents.queries, 2):
            (stack,) = drawn.stacks
            assert stack.queries.tolist() == list(range(150))
            found += noise(strategy, stack.chances, places, rng)
            true += noise(strategy, chances, places, rng)
    assert found / true == pytest.approx(1.0, abs=0.15)


def test_the_runs_count_as_much_as_the_votes_bear_them_out() -> None:
    rng = np.random.default_rng(5)
    chances, places = drawn_crowd(rng, 150, 4)
    votes, _ = play(of_size(parse_strategy("round-robin:1"), 4), chances, rng)
    votes[:20] = 0
    judgments, pools = log_of(votes)
    documents = pooled_documents(pools)
    some = documents.queries[:20]

    def agree(shown: np.ndarray) -> float:
        """Return how often the best of a pool without a vote is who most runs have on top."""
        likely = LikelyPools(judgments, documents, placed(shown), rng=rng)
        best = [drawn.stacks[0].chances.sum(axis=2).argmax(axis=1) for drawn in likely.draws(rng, some, 20)]
        return float((np.array(best) == shown[:20].mean(axis=2).argmin(axis=1)).mean())

    assert agree(places) > 0.6
    assert agree(rng.permuted(places, axis=1)) == pytest.approx(0.25, abs=0.12)
    assert agree(np.full_like(places, NOWHERE)) == pytest.approx(0.25, abs=0.12)


def test_pools_of_all_sizes_are_drawn_and_votes_on_others_do_not_count() -> None:
    votes, named = log_of(np.triu(np.full((2, 3, 3), 40.0), 1))
    # Two candidates of the second query are in no pool.
    pooled = Qrels.all_relevant(
        name="pooled",
        queries=("new", *named.queries),
        docs=("00000", "00001", "00002", "00003", "elsewhere"),
        query=np.array([0, 0, 1, 1, 1, 2], dtype=np.int32),
        doc=np.array([0, 4, 0, 1, 2, 3], dtype=np.int32),
    )
    likely = LikelyPools(votes, pooled, np.zeros((0, 6), dtype=np.int64), rng=np.random.default_rng(1))
    assert set(likely.left[votes.query == 0].tolist()) == {2, 3}
    assert (likely.right[votes.query == 1] == -1).all()
    (drawn,) = likely.draws(np.random.default_rng(2), pooled.queries, 1)
    assert [(stack.queries.tolist(), stack.rows.tolist()) for stack in drawn.stacks] == [
        ([2], [[5]]),
        ([0], [[0, 1]]),
        ([1], [[2, 3, 4]]),
    ]
    assert np.isnan(drawn.chances_of(likely.left, likely.right)[votes.query == 1]).all()
    assert (drawn.chances_of(likely.left, likely.right)[votes.query == 0] > 0.5).all()
    for drawn in likely.draws(np.random.default_rng(2), ["new", "unheard of"], 20):
        (only,) = drawn.stacks
        assert only.queries.tolist() == [0]
