"""What pools may truly be like, by votes and by where runs place their candidates."""

import numpy as np
import pytest

from prefjudge.core.planning.plans import play
from prefjudge.core.planning.rounds import of_size, parse_strategy
from prefjudge.core.resolving.confidence import LikelyPools
from prefjudge.core.runs import Qrels
from prefjudge.evaluation.stability import pooled_documents
from tests.core.tables import log_of

NOWHERE = np.iinfo(np.int64).max


def crowd(rng: np.random.Generator, queries: int, size: int) -> tuple[np.ndarray, np.ndarray]:
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
        chances, places = crowd(rng, 150, 4)
        votes, _ = play(of_size(parse_strategy(strategy), 4), chances, rng)
        judgments, pools = log_of(votes)
        documents = pooled_documents(pools)
        likely = LikelyPools(judgments, documents, placed(places), rng=rng)
        for _ in range(2):
            (stack,) = likely.draw(rng, documents.queries).stacks
            assert stack.queries.tolist() == list(range(150))
            found += noise(strategy, stack.chances, places, rng)
            true += noise(strategy, chances, places, rng)
    assert found / true == pytest.approx(1.0, abs=0.15)


def test_the_runs_count_as_much_as_the_votes_bear_them_out() -> None:
    rng = np.random.default_rng(5)
    chances, places = crowd(rng, 150, 4)
    votes, _ = play(of_size(parse_strategy("round-robin:1"), 4), chances, rng)
    votes[:20] = 0
    judgments, pools = log_of(votes)
    documents = pooled_documents(pools)
    some = documents.queries[:20]

    def agree(shown: np.ndarray) -> float:
        """Return how often the best of a pool without a vote is who most runs have on top."""
        likely = LikelyPools(judgments, documents, placed(shown), rng=rng)
        best = [likely.draw(rng, some).stacks[0].chances.sum(axis=2).argmax(axis=1) for _ in range(20)]
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
    drawn = likely.draw(np.random.default_rng(2), pooled.queries)
    assert [(stack.queries.tolist(), stack.rows.tolist()) for stack in drawn.stacks] == [
        ([2], [[5]]),
        ([0], [[0, 1]]),
        ([1], [[2, 3, 4]]),
    ]
    assert np.isnan(drawn.chances_of(likely.left, likely.right)[votes.query == 1]).all()
    assert (drawn.chances_of(likely.left, likely.right)[votes.query == 0] > 0.5).all()
    (only,) = likely.draw(np.random.default_rng(2), ["new", "unheard of"]).stacks
    assert only.queries.tolist() == [0]
