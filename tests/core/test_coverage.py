"""Which pairs lack a vote: against sets of pairs, on small tournaments and on one with a vast pool."""

import numpy as np
import pytest

from prefjudge.core.pools import asked_missing, count_parts, pairs_missing


def _block(sizes: list[int], pairs: list[tuple[int, int]]) -> tuple[np.ndarray, ...]:
    start = np.concatenate([[0], np.cumsum(sizes)])
    query = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    left, right = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    return start, query, left, right


@pytest.mark.parametrize("seed", range(20))
def test_missing_pairs_are_those_of_no_vote(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 6, 9).tolist()
    start, query, *_ = _block(sizes, [])
    possible = [(a, b) for a in range(query.size) for b in range(a) if query[a] == query[b]]
    share = rng.choice([0.0, 0.3, 1.0])
    votes = [tuple(rng.permutation(pair)) for pair in possible if rng.random() <= share for _ in range(2)]
    asked = [pair for pair in possible if rng.random() < 0.5]
    judged = {frozenset(pair) for pair in votes}

    def lacking(pairs: list[tuple[int, int]]) -> list[int]:
        of = [int(query[a]) for a, b in pairs if frozenset((a, b)) not in judged]
        return [of.count(q) for q in range(len(sizes))]

    _, _, left, right = _block(sizes, votes)
    _, _, first, second = _block(sizes, asked)
    assert pairs_missing(start, query, left, right).tolist() == lacking(possible)
    assert asked_missing(start, query, (first, second), (left, right)).tolist() == lacking(asked)


def test_a_vast_pool_with_few_votes() -> None:
    # 60,000 candidates have more pairs than an int32 counts
    start, query, left, right = _block([60_000, 2], [(0, 1), (1, 0), (59_999, 59_998), (60_000, 60_001)])
    pairs = 60_000 * 59_999 // 2
    assert pairs_missing(start, query, left, right).tolist() == [pairs - 2, 0]
    asked = (np.array([1, 59_990, 60_001]), np.array([0, 59_999, 60_000]))
    assert asked_missing(start, query, asked, (left, right)).tolist() == [1, 0]
    assert count_parts(start, query, left, right).tolist() == [59_998, 1]
