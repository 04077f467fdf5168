"""Worker models: against independent small references, numeric gradients, and the truth of simulations."""

from dataclasses import replace
from itertools import permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefjudge.core.judgments import Judgments
from prefjudge.core.resolving.resolutions import resolve
from prefjudge.core.workers import krippendorff_alpha, majority_agreement, side_bias
from tests.core.tables import judgments_of


def crowd(
    seed: int, *, queries: int = 60, size: int = 5, votes: int = 3
) -> tuple[Judgments, np.ndarray, np.ndarray]:
    """Simulate 30 workers who look with different probabilities, the last two always choosing the left."""
    rng = np.random.default_rng(seed)
    looks = np.concatenate([rng.uniform(0.1, 1.0, 28), [0.02, 0.02]])
    leans = np.concatenate([np.full(28, 0.5), [0.97, 0.97]])
    strength = rng.normal(0, 2.0, (queries, size))
    lines = []
    for query in range(queries):
        for x, y in permutations(range(size), 2):
            if x < y:
                for worker in rng.choice(30, votes, replace=False):
                    left, right = (x, y) if rng.random() < 0.5 else (y, x)
                    honest = 1 / (1 + np.exp(strength[query, right] - strength[query, left]))
                    to_left = rng.random() < looks[worker] * honest + (1 - looks[worker]) * leans[worker]
                    lines.append(f"q{query} d{left} d{right} d{left if to_left else right} w{worker}")
    return judgments_of(*lines), looks, strength


def by_worker(judgments: Judgments, values: np.ndarray) -> np.ndarray:
    return np.array([values[judgments.workers.index(f"w{i}")] for i in range(30)])


@pytest.mark.parametrize("seed", range(4))
def test_without_sides_the_order_of_two_documents_means_nothing(seed: int) -> None:
    judgments, _, _ = crowd(seed, queries=10, votes=2)
    listed = replace(judgments, sides=False)
    preferred_first = replace(
        listed, left=listed.winner, right=listed.loser, choice=np.abs(listed.choice).astype(np.int8)
    )
    assert [r.winners for r in resolve(listed, rule="noisy-bradley-terry")] == [
        r.winners for r in resolve(preferred_first, rule="noisy-bradley-terry")
    ]


def test_the_even_share_the_win_whatever_the_rounding_of_their_strengths() -> None:
    lines = []
    for names in ("abc", "abcde", "abcdefg"):
        for place, winner in enumerate(names):
            for loser in (names * 2)[place + 1 : place + 1 + len(names) // 2]:
                lines += [f"{names} {winner} {loser} {winner} v", f"{names} {loser} {winner} {winner} w"]
    judgments = judgments_of(*lines, "led a b a w", "led a b b v", "led b a a v")
    for one in resolve(judgments, rule="noisy-bradley-terry"):
        assert one.winners == (("a",) if one.query_id == "led" else tuple(one.query_id))


def test_weighing_workers_finds_the_best_more_often_than_counting() -> None:
    judgments, _, strength = crowd(3, queries=300)
    truth = {f"q{i}": f"d{row.argmax()}" for i, row in enumerate(strength)}

    def found(rule: str) -> float:
        return sum(
            (truth[one.query_id] in one.winners) / len(one.winners) for one in resolve(judgments, rule=rule)
        )

    assert found("noisy-bradley-terry") > found("shallow-pooling") + 5


def alpha_by_definition(units: list[list[str]]) -> float:
    """Krippendorff's alpha as the mean disagreement within units over that between any two values."""
    units = [unit for unit in units if len(unit) > 1]
    values = [value for unit in units for value in unit]
    within = sum(sum(x != y for x, y in permutations(unit, 2)) / (len(unit) - 1) for unit in units) / len(
        values
    )
    pairs = len(values) * (len(values) - 1)
    between = sum(x != y for x, y in permutations(values, 2)) / pairs
    return 1 - within / between


def test_alpha_of_the_worked_example() -> None:
    # Krippendorff (2011), section B: two observers, binary data, alpha 0.095.
    first, second = "0100000000", "1110010100"
    lines = [
        f"q{i} a b {'ab'[int(value)]} w{w}"
        for w, row in enumerate((first, second))
        for i, value in enumerate(row)
    ]
    assert krippendorff_alpha(judgments_of(*lines)) == pytest.approx(0.095, abs=5e-4)


@settings(max_examples=60, deadline=None)
@given(
    units=st.lists(
        st.lists(st.sampled_from(["a", "b", "tie"]), min_size=1, max_size=4), min_size=2, max_size=8
    )
)
def test_alpha_equals_its_definition(units: list[list[str]]) -> None:
    lines = [
        f"q{i} {'b a' if (i + k) % 2 else 'a b'} {v}"
        for i, unit in enumerate(units)
        for k, v in enumerate(unit)
    ]
    found = krippendorff_alpha(judgments_of(*lines))
    values = {value for unit in units if len(unit) > 1 for value in unit}
    if len(values) < 2:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(alpha_by_definition(units))


def test_agreement_leaves_the_own_vote_out() -> None:
    judgments = judgments_of(
        "q a b a x",
        "q b a a y",
        "q a b b z",
        "p a b a x",
        "p a b b y",
        "r a b a x",
        "r a b a y",
        "r a b tie z",
    )
    compared, agreed = majority_agreement(judgments)
    assert compared.tolist() == [2, 2, 2]  # on q, x and y face an even pair of others
    assert agreed.tolist() == [1, 1, 0.5]


def test_side_bias_is_the_exact_binomial() -> None:
    lines = [f"q{i} a b {'a' if i < 9 else 'b'} left" for i in range(10)]
    lines += [f"p{i} a b {'a' if i < 5 else 'b'} even" for i in range(10)] + ["r a b tie even"]
    left, decided, p_value = side_bias(judgments_of(*lines))
    assert left.tolist() == [9, 5, 14]
    assert decided.tolist() == [10, 10, 20]
    assert p_value[0] == pytest.approx(2 * (comb(10, 0) + comb(10, 1)) / 2**10)
    assert p_value[1] == 1.0
    assert side_bias(judgments_of("q a b tie w"))[2].tolist() == [1.0, 1.0]
    choices = replace(judgments_of(*lines), click=np.arange(21, dtype=np.int32) // 5)
    assert side_bias(choices)[1].tolist() == [2, 2, 4], "of a choice out of several one win is independent"
