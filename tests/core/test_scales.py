"""What votes tell about the scale, held against integrals over all strengths and all scales."""

import os
import subprocess
import sys
from dataclasses import replace
from itertools import combinations, permutations, product
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm

from prefjudge.core.judgments import Judgments
from prefjudge.core.resolving import scales
from prefjudge.core.resolving.confidence import Confidence, assess_confidence
from prefjudge.core.resolving.scales import (
    HIGHEST,
    LAPSES,
    LOWEST,
    Grid,
    LogDensity,
    estimate_scales,
    find_grids,
    one_scale,
    prior_scales,
    weigh_scales,
)
from prefjudge.core.strategies import error_of_scale, scale_of_error
from tests.core.tables import highest, judgments_of, pools_of, simulated_judgments

Floats = NDArray[np.float64]


def assess(judgments: Judgments, *, draws: int = 1000, seed: int = 1) -> Confidence:
    return assess_confidence(judgments, rng=np.random.default_rng(seed), draws=draws)


def chances_at(votes: Floats, scale: float, lapses: float) -> tuple[Floats, float]:
    """Return each candidate's chance to be the best, and the votes' probability, under one model."""
    k, error = len(votes), error_of_scale(scale)
    if lapses == 1.0:
        # Only the order counts, so each order is tried.
        mass = np.zeros(k)
        for order in permutations(range(k)):
            right = sum(votes[x, y] for place, x in enumerate(order) for y in order[place:])
            mass[order[0]] += (1 - error) ** right * error ** (votes.sum() - right) / factorial(k)
        return mass / mass.sum(), float(mass.sum())
    # Of all votes so many are tossed; the others err less, so that all together err as they do.
    tossed = 2 * lapses * error
    apart = scale_of_error((error - tossed / 2) / (1 - tossed))
    # Only differences count: the plane of strengths whose sum is 0, by an orthonormal basis.
    contrasts = np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, 1:]]))[0][:, 1:]
    axis = (np.arange(-50, 50) + 0.5) / 10
    points = np.stack(np.meshgrid(*[axis] * (k - 1)), axis=-1).reshape(-1, k - 1)
    strength = apart * points @ contrasts.T
    mass = np.exp(norm.logpdf(points).sum(axis=1)) / 10.0 ** (k - 1)
    for x, y in permutations(range(k), 2):
        looked = 1.0 / (1.0 + np.exp(strength[:, y] - strength[:, x]))
        mass = mass * (tossed / 2 + (1 - tossed) * looked) ** votes[x, y]
    best = np.bincount(strength.argmax(axis=1), weights=mass, minlength=k)
    return best / mass.sum(), float(mass.sum())


def integrated(queries: list[Floats]) -> tuple[list[Floats], float, float]:
    """Return the chances of each query, the mean share of wrong votes and of lapses, over all models."""
    logs = np.linspace(np.log(LOWEST), np.log(HIGHEST), 40)
    total: Floats = np.zeros(1)
    for log_scale, lapses in product(logs.tolist(), LAPSES):
        scale = float(np.exp(log_scale))
        found = [chances_at(votes, scale, lapses) for votes in queries]
        density = norm.pdf(log_scale, np.log(scale_of_error(0.33)), 0.6)
        density *= np.prod(
            [evidence / 2.0 ** -votes.sum() for (_, evidence), votes in zip(found, queries, strict=True)]
        )
        told = [1.0, error_of_scale(scale), lapses]
        total = total + density * np.concatenate([told, *[chances for chances, _ in found]])
    mass, error, lapsing, *chances = total
    ends = np.cumsum([len(votes) for votes in queries])[:-1]
    return np.split(np.array(chances) / mass, ends), error / mass, lapsing / mass


def pair(won: int, lost: int) -> Floats:
    return np.array([[0.0, won], [lost, 0.0]])


CIRCLE = np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])
CLEAR = np.array([[0.0, 3, 4], [0, 0, 3], [0, 0, 0]])
TOURNAMENTS = {
    "one vote": [pair(1, 0)],
    "three of one": [pair(3, 0)],
    "two against one": [pair(2, 1)],
    "a circle": [CIRCLE],
    "a clear order": [CLEAR],
    "all sorts": [CIRCLE, pair(5, 0), CLEAR, pair(1, 1)],
    "clear pairs": [pair(6, 0), pair(0, 6), pair(7, 0), pair(6, 0)],
    "coin tosses": [pair(8, 8), pair(7, 9), pair(8, 8), pair(9, 8)],
}


def judged(queries: list[Floats]) -> Judgments:
    lines = []
    for query, votes in enumerate(queries):
        for x, y in permutations(range(len(votes)), 2):
            # Both documents occur in their order first, so that candidates are the matrix's rows.
            left, right = (f"d{query}{min(x, y)}", f"d{query}{max(x, y)}")
            lines += [f"q{query} {left} {right} d{query}{x}"] * int(votes[x, y])
    return judgments_of(*lines)


@pytest.mark.parametrize("name", TOURNAMENTS)
def test_chances_and_shares_are_integrals_over_all_models(name: str) -> None:
    queries = TOURNAMENTS[name]
    chances, error, lapsing = integrated(queries)
    judgments, rng = judged(queries), np.random.default_rng(1)
    # Of the plain shape alone.
    found = assess_confidence(judgments, rng=rng, draws=20_000, scales=estimate_scales(judgments, rng=rng))
    assert found.scales.error == pytest.approx(error, abs=0.004)
    assert found.scales.lapsing == pytest.approx(lapsing, abs=0.008)
    for query, expected in enumerate(chances):
        of_query = found.of(f"q{query}")
        ours = [of_query[f"d{query}{x}"] for x in range(len(expected))]
        assert ours == pytest.approx(expected.tolist(), abs=0.012)


def test_a_grid_is_as_good_as_the_integral_wherever_the_likelihood_peaks() -> None:
    for peak, width in ((0.1, 0.5), (0.7, 0.1), (0.7, 0.003), (3.0, 0.02)):
        found = weigh_scales(lambda scale, _: -0.5 * (np.log(scale / peak) / width) ** 2)  # noqa: B023
        # The product of two normal densities of the log.
        precision = 1 / width**2 + 1 / 0.6**2
        centre = (np.log(peak) / width**2 + np.log(scale_of_error(0.33)) / 0.6**2) / precision
        logs = np.log(found.scale)
        assert found.weight.sum() == pytest.approx(1.0)
        assert found.weight @ logs == pytest.approx(centre, abs=0.01 / np.sqrt(precision))
        assert found.weight @ (logs - centre) ** 2 * precision == pytest.approx(1.0, abs=0.02)


def test_the_interval_holds_its_share_of_the_posterior() -> None:
    found = weigh_scales(lambda scale, _: -0.5 * (np.log(scale) / 0.1) ** 2)
    precision = 1 / 0.1**2 + 1 / 0.6**2
    centre = np.log(scale_of_error(0.33)) / 0.6**2 / precision
    for share in (0.5, 0.9):
        low, high = norm.ppf([0.5 - share / 2, 0.5 + share / 2], centre, 1 / np.sqrt(precision))
        expected = (error_of_scale(float(np.exp(high))), error_of_scale(float(np.exp(low))))
        assert found.interval(share) == pytest.approx(expected, abs=0.001)
    assert one_scale(0.7).interval() == (error_of_scale(0.7), error_of_scale(0.7))


@pytest.mark.parametrize("shift", [0.0, 0.05, 1.5])
def test_scales_are_looked_for_where_they_are_probable_with_other_lapses(shift: float) -> None:
    asked = dict.fromkeys(LAPSES, 0)

    def log_likelihood(scale: float, lapses: float) -> float:
        asked[lapses] += 1
        return -0.5 * ((np.log(scale / 0.4) - shift * lapses) / 0.02) ** 2

    found = weigh_scales(log_likelihood)
    for lapses in LAPSES:
        some = found.lapses == lapses
        weight = found.weight[some] / found.weight[some].sum()
        # far apart they are found all the same; the prior is wide
        assert weight @ np.log(found.scale[some]) == pytest.approx(np.log(0.4) + shift * lapses, abs=0.003)
    if shift < 1:
        assert sum(asked.values()) < len(LAPSES) * asked[0.0]


def test_before_any_vote_crowds_err_as_they_usually_do() -> None:
    scales = prior_scales()
    assert scales.error == pytest.approx(0.32, abs=0.005)
    assert scales.interval() == pytest.approx((0.18, 0.43), abs=0.01)
    assert not scales.told


def test_scales_are_weighed_again_however_much_is_added() -> None:
    before = prior_scales()
    found = before.weighed(1000.0 * (before.lapses == 0.5))
    half = before.lapses == 0.5
    assert found.weight[half] == pytest.approx(before.weight[half] / before.weight[half].sum())
    assert found.weight[~half].sum() < 1e-100
    assert before.weighed(np.log(3.0) * half).weight[half].sum() == pytest.approx(0.6)


def test_neither_lapses_nor_chances_depend_on_the_seed() -> None:
    """A crowd that errs alike on every pair: half of its wrong votes, or all, may be lapses."""
    rng = np.random.default_rng(1)
    lines = [
        f"q{query} {x} {y} {x if rng.random() < 0.85 else y}"
        for query, (x, y) in product(range(20), combinations(range(5), 2))
        for _ in range(2)
    ]
    found = [assess(judgments_of(*lines), seed=seed) for seed in range(4)]
    all_lapses = [one.scales.weight[one.scales.lapses == 1.0].sum() for one in found]
    assert 0.3 < np.mean(all_lapses) < 0.9, "otherwise nothing is to be seen"
    assert np.ptp(all_lapses) < 0.05
    # Four standard errors of a probability from 1,000 draws.
    assert np.ptp([one.chance for one in found], axis=0).max() < 4 * 0.5 / np.sqrt(1000)


def test_one_vote_is_as_right_as_votes_usually_are() -> None:
    found = assess(judgments_of("q1 a b a"), draws=20_000)
    # 0.68, but for the queries in which two are equal.
    assert found.of("q1")["a"] == pytest.approx(0.67, abs=0.01)
    assert not found.scales.told


@pytest.mark.parametrize("pairs", [200, 1000])
def test_votes_that_could_be_coin_tosses_tell_nothing(pairs: int) -> None:
    """One vote on each pair is as probable under every error."""
    rng = np.random.default_rng(5)
    judgments = judgments_of(*(f"q{i} a b {'ab'[rng.integers(2)]}" for i in range(pairs)))
    found = assess(judgments)
    prior = prior_scales()
    assert not found.scales.told
    assert found.scales.error == pytest.approx(prior.error, abs=0.005)
    assert found.scales.deviation == pytest.approx(prior.deviation, abs=0.005)
    assert highest(found).mean() == pytest.approx(0.67, abs=0.01)
    assert highest(found).max() < 0.8


def test_repeated_coin_tosses_tell_that_votes_are_coin_tosses() -> None:
    rng = np.random.default_rng(5)
    judgments = judgments_of(*(f"q{i} a b {'ab'[rng.integers(2)]}" for i in range(200) for _ in range(5)))
    found = assess(judgments)
    assert found.scales.told
    assert found.scales.error > 0.4
    assert highest(found).mean() < 0.62


@pytest.mark.parametrize("error", [0.2, 0.33, 0.4])
def test_many_votes_tell_the_error_whatever_is_usual(error: float) -> None:
    judgments, _ = simulated_judgments(1200, 5, votes=2, scale=scale_of_error(error), seed=3)
    scales = estimate_scales(judgments, rng=np.random.default_rng(2))
    assert scales.told
    assert scales.error == pytest.approx(error, abs=0.015)
    low, high = scales.interval()
    assert 0.005 < high - low < 0.04


def test_the_interval_of_the_error_covers_it_as_often_as_it_says() -> None:
    """Crowds as the prior has them, each with a few queries: an interval of 0.9 holds in nine of ten."""
    rng = np.random.default_rng(8)
    held = []
    for seed in range(60):
        scale = float(np.clip(np.exp(rng.normal(np.log(scale_of_error(0.33)), 0.6)), LOWEST, HIGHEST))
        judgments, _ = simulated_judgments(6, 4, votes=3, scale=scale, seed=seed)
        low, high = estimate_scales(judgments, rng=rng).interval()
        held.append(low <= error_of_scale(scale) <= high)
    assert 0.9 - 3 * 0.03 < np.mean(held) < 0.9 + 3 * 0.03


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), queries=st.integers(1, 4), size=st.integers(2, 4))
def test_neither_names_nor_sides_nor_order_count(seed: int, queries: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    lines = []
    for query in range(queries):
        for _ in range(int(rng.integers(1, 8))):
            x, y = rng.choice(size, 2, replace=False)
            lines.append((f"q{query}", f"d{query}{x}", f"d{query}{y}", f"d{query}{x}"))
    docs = sorted({doc for _, *shown in lines for doc in shown})
    renamed = {doc: f"n{number}" for number, doc in enumerate(rng.permutation(docs))}
    others = []
    for place in rng.permutation(len(lines)):
        query, left, right, preferred = lines[place]
        if rng.random() < 0.5:
            left, right = right, left
        others.append(" ".join([f"p{query}", *(renamed[doc] for doc in (left, right, preferred))]))
    one = assess(judgments_of(*map(" ".join, lines)), draws=8000)
    other = assess(judgments_of(*others), draws=8000, seed=2)
    assert other.scales.error == pytest.approx(one.scales.error, abs=0.005)
    for query in one.queries:
        again = other.of(f"p{query}")
        for doc, chance in one.of(query).items():
            assert again[renamed[doc]] == pytest.approx(chance, abs=0.03)


def test_the_order_of_the_log_changes_nothing_at_all() -> None:
    judgments, _ = simulated_judgments(30, 4, votes=1, scale=0.7, seed=1)
    shuffled = np.random.default_rng(3).permutation(len(judgments))
    columns = {name: getattr(judgments, name)[shuffled] for name in ("query", "left", "right", "choice")}
    assert assess(judgments).chance.tolist() == assess(replace(judgments, **columns)).chance.tolist()


def scale_of(*lines: str, strong: int = 1, **options: object) -> float:
    judgments = judgments_of(*lines)
    judgments.strength[:] = strong
    return estimate_scales(judgments, rng=np.random.default_rng(1), **options).mean  # type: ignore[arg-type]


ONE_SIDED = [f"q{i} a b a" for i in range(9)] + [f"q{i} b c b" for i in range(6)]


def test_the_scale_is_that_of_the_votes_of_the_candidates() -> None:
    both_ways = [*ONE_SIDED, *(f"q{i} a b b" for i in range(4)), *(f"q{i} a b a" for i in range(4))]
    tied = [*ONE_SIDED, *(f"q{i} a b tie" for i in range(4) for _ in range(2))]
    assert scale_of(*tied) == scale_of(*both_ways), "two ties are a vote to each side"
    assert scale_of(*tied, strong=2, strengths=True) == scale_of(*ONE_SIDED, *tied), "a tie is not strong"
    assert scale_of(*ONE_SIDED, *tied) != scale_of(*tied)
    assert scale_of(*tied, strong=2) == scale_of(*tied)
    outside = [*tied, *(f"q{i} d a d" for i in range(9))]
    pools = pools_of({f"q{i}": "abc" if i < 6 else "ab" for i in range(9)})
    assert scale_of(*outside, pools=pools) == scale_of(*tied, pools=pools)
    empty = pools_of({f"q{i}": "abc" if i < 6 else "ab" for i in range(12)})
    assert scale_of(*tied, pools=empty) == scale_of(*tied, pools=pools), "queries without votes say nothing"
    assert scale_of("q a a tie") == scale_of() == prior_scales().mean, "nothing was compared"


def test_confidence_is_averaged_over_the_scales_of_the_same_votes() -> None:
    judgments = judgments_of(*ONE_SIDED, *(f"q{i} d a d" for i in range(9)))
    judgments.strength[:9] = 3
    pools = pools_of({f"q{i}": "abc" if i < 6 else "ab" for i in range(9)})
    for strengths in (False, True):
        options = {"pools": pools, "strengths": strengths}
        expected = estimate_scales(judgments, rng=np.random.default_rng(4), **options)  # type: ignore[arg-type]
        found = assess_confidence(judgments, rng=np.random.default_rng(4), **options)  # type: ignore[arg-type]
        assert found.scales.scale.tolist() == expected.scale.tolist()
        assert found.scales.weight.tolist() == expected.weight.tolist()
        assert found.draws == 1000


def test_a_scale_that_is_given_is_the_only_one() -> None:
    found = assess_confidence(judgments_of("q a b a"), rng=np.random.default_rng(4), scales=one_scale(0.7))
    assert (found.scales.scale.tolist(), found.scales.weight.tolist()) == ([0.7], [1.0])
    assert found.scales.told


def test_the_deviation_of_a_strength_holds_the_doubt_about_the_scale() -> None:
    judgments = judgments_of(*["q a b a"] * 6)
    known = assess_confidence(judgments, rng=np.random.default_rng(1), scales=one_scale(0.7))
    found = assess(judgments)
    # The law of total variance, worked out from one scale after another.
    scales, weight = found.scales.scale.tolist(), found.scales.weight
    each = [
        assess_confidence(judgments, rng=np.random.default_rng(1), scales=one_scale(scale))
        for scale in scales
    ]
    mean = weight @ np.array([one.strength for one in each])
    second = weight @ np.array([one.deviation**2 + one.strength**2 for one in each])
    assert found.strength == pytest.approx(mean, abs=0.01)
    assert found.deviation == pytest.approx(np.sqrt(second - mean**2), abs=0.01)
    assert (found.deviation > known.deviation).all()


@pytest.mark.parametrize("error", [0.05, 0.1])
def test_a_crowd_that_is_seldom_wrong_is_told(error: float) -> None:
    """Far better than usual: the bound of what was considered, 8 %, was told as if it were known."""
    judgments, _ = simulated_judgments(200, 5, votes=3, scale=scale_of_error(error), seed=4)
    scales = estimate_scales(judgments, rng=np.random.default_rng(2))
    low, high = scales.interval()
    assert 0 < low < error < high < error + 0.03


def test_votes_that_never_contradict_each_other_may_never_be_wrong() -> None:
    lines = (f"q{q} {x} {y} {x}" for q in range(100) for x, y in combinations("abcde", 2) for _ in range(5))
    low, high = estimate_scales(judgments_of(*lines), rng=np.random.default_rng(2)).interval()
    assert low == 0
    assert 0 < high < 0.03


@pytest.mark.parametrize("threads", ["1", "2"])
def test_small_matrices_are_multiplied_in_one_thread_and_the_process_stays_as_it_was(threads: str) -> None:
    code = """
from threadpoolctl import threadpool_info
import numpy as np
from prefjudge.core.resolving import confidence

def blas():
    print({pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"})

def estimate(*_, **__):
    blas()
    raise ZeroDivisionError

confidence.estimate_with_trust = estimate
try:
    confidence.assess_confidence(None, rng=np.random.default_rng(1))
except ZeroDivisionError:
    blas()
"""
    limits = {**os.environ, "OPENBLAS_NUM_THREADS": threads}
    done = subprocess.run(
        [sys.executable, "-c", code], env=limits, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["{1}", f"{{{threads}}}"]


# The grids of probable scales, held against densities whose place and width are known.


LOW, WIDE = np.log(LOWEST), np.log(HIGHEST / LOWEST)


class Asked:
    """A density that counts how often it is asked for."""

    def __init__(self, of: LogDensity) -> None:
        self.of = of
        self.times = 0

    def __call__(self, scale: float, lapses: float) -> float:
        self.times += 1
        return self.of(float(np.log(scale)), lapses)


def normal(width: float, shift: float = 0.0) -> LogDensity:
    return lambda log, lapses: -0.5 * ((log - shift - lapses) / width) ** 2


def logs_of(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Return the logs of the scales of a grid, and of their density."""
    return LOW + WIDE * np.array([*grid]), np.array([*grid.values()])


@pytest.mark.parametrize("width", [0.3, 0.03, 0.003])
def test_a_grid_covers_what_is_probable_and_is_found_soon_where_it_is_known_roughly(width: float) -> None:
    density, again = Asked(normal(width)), Asked(normal(width))
    (grid,) = find_grids(density, [0.0])
    (rough,) = find_grids(Asked(normal(2.8 * width, 0.5 * width)), [0.0])
    (same,) = find_grids(again, [0.0], rough=[rough])
    assert density.times <= 35
    assert again.times <= 20
    for one in (grid, same):
        points, logs = logs_of(one)
        assert np.diff(points) == pytest.approx(points[1] - points[0])
        assert points[1] - points[0] <= 1.8 * width
        assert max(logs[0], logs[-1]) < -10 < min(logs[1], logs[-2])


@pytest.mark.parametrize("shift", [-2.9, 0.01, 1.5, 2.9])
def test_a_rough_grid_that_is_wrong_hides_nothing(shift: float) -> None:
    (rough,) = find_grids(Asked(normal(0.05)), [0.0])
    (grid,) = find_grids(Asked(normal(0.02, shift)), [0.0], rough=[rough])
    points, logs = logs_of(grid)
    mass = np.exp(logs - logs.max())
    mass[[0, -1]] *= 0.5
    assert mass @ points / mass.sum() == pytest.approx(shift, abs=0.002)


@pytest.mark.parametrize("edge", [0.13, 0.2, 0.31, 0.5])
def test_a_density_with_a_cliff_is_found_all_the_same(edge: float) -> None:
    (grid,) = find_grids(
        lambda scale, _: normal(0.2)(np.log(scale), 0) - 3000.0 * (np.log(scale) > edge), [0.0]
    )
    points, logs = logs_of(grid)
    probable = points[logs > logs.max() - 10]
    assert probable[0] == pytest.approx(-0.9, abs=0.2)
    assert edge - 0.2 < probable[-1] <= edge


@pytest.mark.parametrize("bound", [LOWEST, HIGHEST])
def test_a_grid_ends_at_a_bound_where_what_lies_beyond_is_probable(bound: float) -> None:
    rough = find_grids(Asked(normal(0.4, float(0.9 * np.log(bound)))), [0.0])
    for near in (None, rough):
        (grid,) = find_grids(Asked(normal(0.3, float(np.log(bound)))), [0.0], rough=near)
        assert min(abs(place - (bound == HIGHEST)) for place in grid) == 0.0


def test_a_part_of_the_votes_tells_where_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed = []

    def count(votes: np.ndarray, *args: object, **options: object) -> np.ndarray:
        weighed.append(len(votes))
        return log_evidences(votes, *args, **options)

    log_evidences = scales.log_evidences
    monkeypatch.setattr(scales, "log_evidences", count)
    judgments, _ = simulated_judgments(160, 2, votes=3, scale=1.0, seed=1)
    estimate_scales(judgments, rng=np.random.default_rng(1))
    whole = sum(number == 160 for number in weighed)
    assert weighed[0] == 20
    # A grid of nine to 16 for each share of lapses, and some scales again by more samples.
    assert whole < 80


def test_grids_of_several_shares_have_scales_in_common() -> None:
    asked: list[tuple[float, float]] = []

    def density(scale: float, lapses: float) -> float:
        asked.append((scale, lapses))
        return normal(0.1)(float(np.log(scale)), 0.5 * lapses)

    one, other = find_grids(density, [0.0, 1.0])
    assert len(asked) == len(set(asked))
    assert len({*one} & {*other}) > 3


def test_a_peak_that_is_steep_on_one_side_is_within_the_grid() -> None:
    for peak in np.linspace(0.4, 0.7, 31).tolist():

        def density(log: float, _: float, peak: float = peak) -> float:
            beyond = log - peak
            return float(-268.66 * beyond**2.257 if beyond > 0 else -5.892 * (-beyond) ** 0.684)

        (grid,) = find_grids(Asked(density), [0.0])
        points, logs = logs_of(grid)
        assert points[0] < peak < points[-1]
        assert max(logs[0], logs[-1]) < -9
