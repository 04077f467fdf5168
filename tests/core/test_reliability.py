"""Worker models: against independent small references, numeric gradients, and the truth of simulations."""

from dataclasses import replace
from itertools import permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefjudge.core.dawid_skene import fit_dawid_skene
from prefjudge.core.judgments import Judgments
from prefjudge.core.noisy_bradley_terry import Priors, _votes, fit_noisy_bradley_terry, negative_log_posterior
from prefjudge.core.preferences import resolve
from prefjudge.core.reliability import krippendorff_alpha, majority_agreement, side_bias
from prefjudge.core.tournament import tournaments
from prefjudge.core.verdicts import gather_verdicts
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


def test_noisy_bradley_terry_recovers_the_workers() -> None:
    judgments, looks, _ = crowd(1, queries=100, votes=5)
    fit = fit_noisy_bradley_terry(judgments)
    assert fit.converged
    assert np.corrcoef(by_worker(judgments, fit.reliability), looks)[0, 1] > 0.8
    assert (by_worker(judgments, fit.left_when_guessing)[-2:] > 0.85).all()


@pytest.mark.parametrize("seed", range(4))
def test_without_sides_the_order_of_two_documents_means_nothing(seed: int) -> None:
    judgments, _, _ = crowd(seed, queries=10, votes=2)
    listed = replace(judgments, sides=False)
    preferred_first = replace(
        listed, left=listed.winner, right=listed.loser, choice=np.abs(listed.choice).astype(np.int8)
    )
    one, other = (fit_noisy_bradley_terry(log) for log in (listed, preferred_first))
    np.testing.assert_allclose(one.strength, other.strength, atol=1e-3)
    assert (other.left_when_guessing == 0.5).all()
    assert [r.winners for r in resolve(listed, rule="noisy-bradley-terry")] == [
        r.winners for r in resolve(preferred_first, rule="noisy-bradley-terry")
    ]


def test_dawid_skene_recovers_the_workers() -> None:
    judgments, looks, _ = crowd(2, queries=100, votes=5)
    fit = fit_dawid_skene(judgments)
    assert np.corrcoef(by_worker(judgments, fit.accuracy), looks)[0, 1] > 0.8
    left_bias = fit.right_on_left - fit.right_on_right
    assert (by_worker(judgments, left_bias)[-2:] > 0.6).all()


def test_weighing_workers_finds_the_best_more_often_than_counting() -> None:
    judgments, _, strength = crowd(3, queries=300)
    truth = {f"q{i}": f"d{row.argmax()}" for i, row in enumerate(strength)}

    def found(rule: str) -> float:
        return sum(
            (truth[one.query_id] in one.winners) / len(one.winners) for one in resolve(judgments, rule=rule)
        )

    assert found("noisy-bradley-terry") > found("shallow-pooling") + 5


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_gradient_is_the_slope(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = "abcd"
    lines = []
    for _ in range(25):
        x, y = rng.choice(4, 2, replace=False)
        preferred = rng.choice([names[x], names[y], "tie"], p=[0.45, 0.45, 0.1])
        lines.append(f"q{rng.integers(3)} {names[x]} {names[y]} {preferred} w{rng.integers(4)}")
    judgments = judgments_of(*lines)
    (block,) = tournaments(judgments)
    votes = _votes(block, len(judgments.workers) + 1, "half", False)
    at = rng.normal(0, 1, votes.n_candidates + 2 * votes.n_workers)
    priors = Priors(scale=0.7, reliability=0.5, reliability_scale=2.0, side_scale=0.9)
    _, gradient = negative_log_posterior(at, votes, priors)
    step = 1e-6
    for place in range(at.size):
        ahead, behind = at.copy(), at.copy()
        ahead[place] += step
        behind[place] -= step
        slope = (
            negative_log_posterior(ahead, votes, priors)[0] - negative_log_posterior(behind, votes, priors)[0]
        )
        assert gradient[place] == pytest.approx(slope / (2 * step), abs=1e-5)


def test_golds_teach_dawid_skene_where_votes_do_not_overlap() -> None:
    votes = [f"q{i} a b {'a' if i < 9 else 'b'} good" for i in range(10)]
    votes += [f"p{i} a b {'a' if i < 3 else 'b'} poor" for i in range(10)]
    golds = judgments_of(*(f"{query} a b a" for query in [f"{x}{i}" for x in "qp" for i in range(10)]))
    judgments = judgments_of(*votes)
    taught = fit_dawid_skene(judgments, golds=golds)
    good, poor = (judgments.workers.index(name) for name in ("good", "poor"))
    assert taught.right_on_left[good] == pytest.approx((9 + 2) / (10 + 3))
    assert taught.right_on_left[poor] == pytest.approx((3 + 2) / (10 + 3))
    assert taught.right_on_right[good] == pytest.approx(2 / 3)
    assert set(taught.chance_a) == {1.0}


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
    agreement = majority_agreement(judgments)
    assert agreement.compared.tolist() == [2, 2, 2]  # on q, x and y face an even pair of others
    assert agreement.agreed.tolist() == [1, 1, 0.5]


def test_side_bias_is_the_exact_binomial() -> None:
    lines = [f"q{i} a b {'a' if i < 9 else 'b'} left" for i in range(10)]
    lines += [f"p{i} a b {'a' if i < 5 else 'b'} even" for i in range(10)] + ["r a b tie even"]
    bias = side_bias(judgments_of(*lines))
    assert bias.left.tolist() == [9, 5, 14]
    assert bias.decided.tolist() == [10, 10, 20]
    assert bias.p_value[0] == pytest.approx(2 * (comb(10, 0) + comb(10, 1)) / 2**10)
    assert bias.p_value[1] == 1.0
    assert bias.left_rate[2] == pytest.approx(0.7)


def test_verdicts_do_not_depend_on_sides() -> None:
    verdicts = gather_verdicts(judgments_of("q b a b", "q a b b", "q a b a", "p a b tie"))
    assert verdicts.n_pairs == 2
    lead = np.bincount(verdicts.pair, weights=verdicts.choice)
    assert sorted(lead.tolist()) == [-1, 0]
