"""What a strategy would have found of other votes."""

from dataclasses import replace

import numpy as np
import pytest

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.planning.replay import Replay, prepare_replay
from prefjudge.core.planning.simulation import play
from prefjudge.core.planning.strategy_names import of_size, parse_strategy
from prefjudge.core.pooling.pools import Pools

SIZES = (4, 2, 4, 1, 3)


def pools() -> Pools:
    query = np.repeat(np.arange(len(SIZES), dtype=np.int32), SIZES)
    nothing = np.empty(0, dtype=np.int32)
    return Pools(
        queries=tuple(f"q{number}" for number in range(len(SIZES))),
        docs=tuple(f"d{number:02}" for number in range(query.size)),
        query=query,
        doc=np.arange(query.size, dtype=np.int32),
        sources=(),
        source_row=nothing,
        source=nothing,
    )


def votes(times: int) -> Judgments:
    """Return votes on neighbours of each pool: the later document is better."""
    one = [row for row in range(sum(SIZES) - 1) if pools().query[row] == pools().query[row + 1]]
    left = np.repeat(np.array(one, dtype=np.int32), times)
    return Judgments(
        queries=pools().queries,
        docs=pools().docs,
        workers=(),
        query=pools().query[left],
        left=left + 1,
        right=left,
        choice=np.ones(left.size, dtype=np.int8),
        strength=np.ones(left.size, dtype=np.int8),
        worker=np.full(left.size, -1, dtype=np.int32),
    )


def answers(replay: Replay, seed: int) -> dict[str, set[str]]:
    found = replay.draw(np.random.default_rng(seed), name="again")
    every: dict[str, set[str]] = {query: set() for query in found.queries}
    for query, doc in zip(found.query.tolist(), found.doc.tolist(), strict=True):
        every[found.queries[query]].add(found.docs[doc])
    return every


@pytest.mark.parametrize(
    "name", ["halving", "knockout:3", "lead:2", "sure:60", "4=halving,9=lead:3", "default"]
)
def test_a_strategy_is_asked_again_on_pools_of_all_sizes(name: str) -> None:
    replay = prepare_replay(votes(9), pools(), parse_strategy(name), rng=np.random.default_rng(1))
    replay = replace(replay, most=np.full(5, 1000))
    assert [np.argmax(replay.strength[pools().query == query]) for query in range(5)] == [3, 1, 3, 0, 2]
    clear = replace(replay, strength=20 * replay.strength)
    assert answers(clear, 1) == {"q0": {"d03"}, "q1": {"d05"}, "q2": {"d09"}, "q3": {"d10"}, "q4": {"d13"}}
    doubtful = replace(replay, strength=0 * replay.strength)
    assert len({str(sorted(map(sorted, answers(doubtful, seed).values()))) for seed in range(6)}) > 2
    assert answers(doubtful, 3) == answers(doubtful, 3)


def test_queries_that_were_given_up_get_no_more_votes_than_they_had() -> None:
    """The most probable best of few votes is the answer, and so it is of other few."""
    strategy = parse_strategy("sure:99")
    replay = prepare_replay(votes(1), pools(), strategy, rng=np.random.default_rng(1))
    assert replay.most.tolist()[:3] == [3, 1, 3]
    assert replay.most[3] > 1000, "the best of one candidate needs no votes"
    chances = np.full((6, 4, 4), 0.5)
    cast, _ = play(of_size(strategy, 4), chances, np.random.default_rng(2), most=np.full(6, 3))
    # A round is asked as a whole, and the first one is enough here.
    assert (cast.sum(axis=(1, 2)) >= 3).all()
    assert (cast.sum(axis=(1, 2)) < 8).all()


def test_a_strategy_that_names_no_best_before_its_end_is_played_to_it() -> None:
    replay = prepare_replay(votes(1), pools(), parse_strategy("halving"), rng=np.random.default_rng(1))
    assert replay.most.min() > 1000
    assert not replay.told
