"""Worker models: against independent small references, numeric gradients, and the truth of simulations."""

import math
from dataclasses import replace
from itertools import permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefjudge.core.judgments import Judgments, gather_verdicts
from prefjudge.core.resolving.resolutions import resolve
from prefjudge.core.resolving.rules import (
    Priors,
    _votes,
    fit_noisy_bradley_terry,
    negative_log_posterior,
)
from prefjudge.core.resolving.tournaments import TieWorth, tournaments
from prefjudge.core.workers import _votes as told_apart
from prefjudge.core.workers import fit_dawid_skene, krippendorff_alpha, majority_agreement, side_bias
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


def plain_dawid_skene(
    lines: list[str], prior: tuple[float, float], rounds: int
) -> tuple[dict[str, float], dict[tuple[str, str], float]]:
    """Run expectation and maximisation vote by vote: the chance of ``a``, and rates by worker and side."""
    votes = [
        (q, left, said == left, worker) for q, left, _, said, worker in map(str.split, lines) if said != "tie"
    ]
    says_a = [(left == "a") == is_left for _, left, is_left, _ in votes]

    lead = {line.split()[0]: 0 for line in lines}
    for (q, *_), a in zip(votes, says_a, strict=True):
        lead[q] += 1 if a else -1
    chance = {q: 1 / (1 + math.exp(-value)) for q, value in lead.items()}
    rate: dict[tuple[str, str], float] = {}
    for _ in range(rounds):
        hits = {(w, side): prior for _, _, _, w in votes for side in "lr"}
        for q, left, is_left, worker in votes:
            on_left = chance[q] if left == "a" else 1 - chance[q]
            for side, mass, right in (("l", on_left, is_left), ("r", 1 - on_left, not is_left)):
                yes, no = hits[worker, side]
                hits[worker, side] = (yes + mass * right, no + mass * (not right))
        rate = {key: yes / (yes + no) for key, (yes, no) in hits.items()}
        logit = dict.fromkeys(lead, 0.0)
        for q, left, is_left, worker in votes:
            if_left = rate[worker, "l"] if is_left else 1 - rate[worker, "l"]
            if_right = 1 - rate[worker, "r"] if is_left else rate[worker, "r"]
            logit[q] += (1 if left == "a" else -1) * math.log(if_left / if_right)
        chance = {q: 1 / (1 + math.exp(-value)) for q, value in logit.items()}
    return chance, rate


@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_dawid_skene_goes_vote_by_vote(rounds: int) -> None:
    rng = np.random.default_rng(8)
    lines = [
        f"q{q} {'a b' if rng.random() < 0.5 else 'b a'} {rng.choice(['a', 'a', 'b', 'tie'])} {worker}"
        for q in range(12)
        for worker in ("v", "w", "x", "nobody")
        if rng.random() < 0.8
    ]
    lines.append("quiet a b tie v")
    judgments = judgments_of(*lines)
    last = judgments.workers.index("nobody")
    codes = np.where(judgments.worker > last, judgments.worker - 1, judgments.worker)
    unnamed = replace(
        judgments,
        workers=tuple(worker for worker in judgments.workers if worker != "nobody"),
        worker=np.where(judgments.worker == last, -1, codes).astype(np.int32),
    )
    fit = fit_dawid_skene(unnamed, prior=(3.0, 1.5), most_rounds=rounds)
    chance, rate = plain_dawid_skene(lines, (3.0, 1.5), rounds)
    assert fit.rounds == rounds
    names = {judgments.docs[a] + judgments.docs[b] for a, b in zip(fit.doc_a, fit.doc_b, strict=True)}
    assert names == {"ab"}
    found = dict(zip((judgments.queries[q] for q in fit.query), fit.chance_a, strict=True))
    assert found == pytest.approx(chance)
    for place, worker in enumerate([*unnamed.workers, "nobody"]):
        assert fit.right_on_left[place] == pytest.approx(rate[worker, "l"])
        assert fit.right_on_right[place] == pytest.approx(rate[worker, "r"])
        assert fit.accuracy[place] == pytest.approx((rate[worker, "l"] + rate[worker, "r"]) / 2)


def test_pairs_that_are_judged_once_alike_are_one_to_dawid_and_skene() -> None:
    rng = np.random.default_rng(5)
    lines = [
        f"q{q} {'a b' if rng.random() < 0.5 else 'b a'} {rng.choice(['a', 'a', 'b'])} {worker}"
        for q in range(300)
        for worker in rng.choice(["v", "w", "x"], 2 if q < 20 else 1, replace=False)
    ]
    judgments = judgments_of(*lines)
    fit = fit_dawid_skene(judgments, most_rounds=9)
    chance, rate = plain_dawid_skene(lines, (2.0, 1.0), 9)
    assert dict(zip((judgments.queries[q] for q in fit.query), fit.chance_a, strict=True)) == pytest.approx(
        chance
    )
    for place, worker in enumerate(judgments.workers):
        assert fit.accuracy[place] == pytest.approx((rate[worker, "l"] + rate[worker, "r"]) / 2)
    held = told_apart(judgments, gather_verdicts(judgments), nobody=3)
    assert held.pair.size <= 2 * 20 + 4 * 3  # of 320 votes


def test_dawid_skene_stops_when_nothing_moves() -> None:
    judgments, _, _ = crowd(3, queries=10)
    fit = fit_dawid_skene(judgments)
    again = fit_dawid_skene(judgments, most_rounds=fit.rounds + 1, tolerance=0.0)
    assert again.rounds == fit.rounds + 1
    assert 0 < np.abs(again.chance_a - fit.chance_a).max() <= 1e-8
    assert fit_dawid_skene(judgments, tolerance=0.01).rounds < fit.rounds


def test_noisy_bradley_terry_reads_ties_strengths_and_nameless_votes_as_asked() -> None:
    lines = ["q a b a v", "q b c b v", "q c a a w", "q a b b w", "q c b c v", "q b a a x"]
    ties = ["q a c tie v", "q b c tie w"]

    def strength(lines: list[str], strong: int = 1, nameless: str = "", **options: object) -> np.ndarray:
        judgments = judgments_of(*lines)
        judgments.strength[:] = strong
        if nameless:
            judgments.worker[judgments.worker == judgments.workers.index(nameless)] = -1
        fit = fit_noisy_bradley_terry(judgments, **options)  # type: ignore[arg-type]
        return np.append(fit.strength, fit.reliability)

    def close(one: np.ndarray, other: np.ndarray) -> bool:
        return np.allclose(one, other, atol=1e-4)

    plain = strength(lines)
    assert close(strength([*lines, *ties], ties=TieWorth.IGNORE), plain)
    assert not close(strength([*lines, *ties]), plain), "half a vote to each side is the default"
    assert close(strength(lines, strong=2), plain)
    twice = strength([line for line in lines for _ in range(2)])
    assert close(strength(lines, strong=2, strengths=True), twice)
    assert not close(twice, plain)
    # The first worker's votes are not the nameless ones', who are one worker more.
    assert close(strength(lines, nameless="x")[:3], plain[:3])


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
