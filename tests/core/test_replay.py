"""What a strategy would have found, had other people been asked."""

import numpy as np
import pytest

from prefjudge.core.judgments import Judgments
from prefjudge.core.planning.plans import Replay, play, prepare_replay
from prefjudge.core.planning.rounds import of_size, parse_strategy
from prefjudge.core.pools import Pools
from prefjudge.core.resolving.confidence import DrawnPools, Stack
from prefjudge.core.resolving.scales import one_scale

SIZES = (4, 2, 4, 1, 3)
NOBODY_GIVES_UP = np.full(len(SIZES), 1000)


def pools() -> Pools:
    query = np.repeat(np.arange(len(SIZES), dtype=np.int32), SIZES)
    return Pools(
        queries=tuple(f"q{number}" for number in range(len(SIZES))),
        docs=tuple(f"d{number:02}" for number in range(query.size)),
        query=query,
        doc=np.arange(query.size, dtype=np.int32),
    )


def votes(times: int) -> Judgments:
    """Return votes on neighbours of each pool: the later document is better."""
    one = [row for row in range(sum(SIZES) - 1) if pools().query[row] == pools().query[row + 1]]
    left = np.repeat(np.array(one, dtype=np.int32), times)
    return Judgments.of_nobody(
        queries=pools().queries,
        docs=pools().docs,
        query=pools().query[left],
        left=left + 1,
        right=left,
        choice=np.ones(left.size, dtype=np.int8),
    )


def drawn(apart: float) -> DrawnPools:
    """Return pools in which the later document is the better, by so much."""
    stacks = []
    for size in np.unique(SIZES).tolist():
        queries = np.flatnonzero(np.array(SIZES) == size)
        rows = np.concatenate([[0], np.cumsum(SIZES)])[queries][:, None] + np.arange(size)
        gap = apart * (np.arange(size)[:, None] - np.arange(size))
        chances = np.repeat((1 / (1 + np.exp(-gap)))[None], queries.size, axis=0)
        stacks.append(Stack(queries=queries, rows=rows, chances=chances))
    return DrawnPools(crowd=one_scale(1.0), stacks=tuple(stacks))


def answers(replay: Replay, truth: DrawnPools, seed: int) -> dict[str, set[str]]:
    found = replay.play(truth, np.random.default_rng(seed), name="again")
    every: dict[str, set[str]] = {query: set() for query in found.queries}
    for query, doc in zip(found.query.tolist(), found.doc.tolist(), strict=True):
        every[found.queries[query]].add(found.docs[doc])
    return every


@pytest.mark.parametrize(
    "name", ["round-robin:1", "sure:60", "sure:90/40", "3=round-robin:3,9=sure:80", "default"]
)
def test_a_strategy_is_asked_again_on_pools_of_all_sizes(name: str) -> None:
    replay = Replay(pools=pools(), strategy=parse_strategy(name), most=NOBODY_GIVES_UP)
    clear = answers(replay, drawn(20.0), 1)
    assert clear == {"q0": {"d03"}, "q1": {"d05"}, "q2": {"d09"}, "q3": {"d10"}, "q4": {"d13"}}
    doubtful = drawn(0.0)
    found = [answers(replay, doubtful, seed) for seed in (0, 1, 2, 3, 4, 5, 3)]
    assert len({str(sorted(map(sorted, one.values()))) for one in found}) > 2
    assert found[3] == found[6]


def test_pools_that_are_not_drawn_get_no_answer() -> None:
    replay = Replay(pools=pools(), strategy=parse_strategy("round-robin:1"), most=NOBODY_GIVES_UP)
    truth = drawn(20.0)
    threes = [stack for stack in truth.stacks if stack.rows.shape[1] == 3]
    found = answers(replay, DrawnPools(crowd=truth.crowd, stacks=tuple(threes)), 1)
    assert [query for query, best in found.items() if best] == ["q4"]


def test_queries_that_were_given_up_get_no_more_votes_than_they_had() -> None:
    """The most probable best of few votes is the answer, and so it is of other few."""
    replay = prepare_replay(votes(1), pools(), parse_strategy("sure:99"))
    assert replay.most.tolist()[:3] == [3, 1, 3]
    assert replay.most[3] > 1000, "the best of one candidate needs no votes"
    chances = np.full((6, 4, 4), 0.5)
    cast, _ = play(of_size(replay.strategy, 4), chances, np.random.default_rng(2), most=np.full(6, 3))
    # A round is asked as a whole, and the first one is enough here.
    assert (cast.sum(axis=(1, 2)) >= 3).all()
    assert (cast.sum(axis=(1, 2)) < 8).all()


def test_a_strategy_that_names_no_best_before_its_end_is_played_to_it() -> None:
    replay = prepare_replay(votes(1), pools(), parse_strategy("round-robin:1"))
    assert replay.most.min() > 1000
