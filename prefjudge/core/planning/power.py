"""Power: what a number of judged pairs can show, before they are paid for."""

from dataclasses import dataclass
from math import ceil

import scipy

_SIZES = (50, 100, 200, 500, 1000, 2000, 5000, 10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """What a two-sided binomial test of wins against losses can show with this many decided pairs.

    Attributes
    ----------
    pairs : int
        Decided pairs of category B.
    sample : int
        Queries to judge so that about this many of them are of category B.
    wins : int or None
        The fewest wins that are significant; None where not even winning every pair is.
    ratio : float or None
        ``wins`` as a share of the pairs.
    detectable : float or None
        The true win ratio that such a study finds significant with the chance asked for.
    """

    pairs: int
    sample: int
    wins: int | None
    ratio: float | None
    detectable: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanNeeds:
    """What one plan needs to tell two runs apart, as some of the answers that it finds are wrong.

    Attributes
    ----------
    name : str
        The plan.
    shown : float
        The share of the runs' difference that its answers show.
    queries, judgments : int or None
        None where no number of queries would do.
    """

    name: str
    shown: float
    queries: int | None
    judgments: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueriesNeeded:
    """How many queries a paired t test needs to tell two runs apart.

    Attributes
    ----------
    difference, deviation : float
        Of the runs' scores on a query: the mean difference, and its standard deviation over queries.
    alpha, chance : float
        The level of the test, and how often it is to find the difference.
    queries : int
        Where all best answers are right.
    by_plan : tuple of PlanNeeds
        As right as each plan makes them.
    """

    difference: float
    deviation: float
    alpha: float
    chance: float
    queries: int
    by_plan: tuple[PlanNeeds, ...] = ()


_MOST_QUERIES = 1 << 30


def queries_needed(
    difference: float, deviation: float, *, alpha: float = 0.05, chance: float = 0.8
) -> QueriesNeeded:
    """Return the fewest queries with which a two-sided paired t test finds a difference with this chance.

    Raises
    ------
    ValueError
        The deviation is not above 0, or the difference is 0, or so small that no number of queries would do.
    """
    effect = abs(difference) / deviation if deviation > 0 else 0.0
    if not 0 < effect < float("inf") or _power_of_t(_MOST_QUERIES, effect, alpha) < chance:
        raise ValueError(f"no number of queries shows {difference:g} at a deviation of {deviation:g}")
    low, high = 1, 2
    while _power_of_t(high, effect, alpha) < chance:
        low, high = high, 2 * high
    while high - low > 1:  # the power grows with the queries
        middle = (low + high) // 2
        low, high = (low, middle) if _power_of_t(middle, effect, alpha) >= chance else (middle, high)
    return QueriesNeeded(difference=difference, deviation=deviation, alpha=alpha, chance=chance, queries=high)


def shown_share(size: int, right: float) -> float:
    """Return the share of a difference between runs that answers show of which so many are right.

    Parameters
    ----------
    size : int
        The candidates of a pool.
    right : float
        The share of its best answers that are right.

    Notes
    -----
    Of two candidates a wrong answer shows the opposite. Of more it is one that the runs do not tell apart
    much, on average: with few votes on three, or where all pairs err alike, somewhat the wrong way, and with
    many votes on many, the right way, as it is nearly as good as the best.
    """
    return 2.0 * right - 1.0 if size == 2 else right


def _power_of_t(queries: int, effect: float, alpha: float) -> float:
    # t is noncentral: its mean moves with the root of the queries.
    critical = float(scipy.stats.t.isf(alpha / 2, queries - 1))
    moved = effect * queries**0.5
    if moved > critical + 30:  # certain, and beyond what the noncentral distribution computes
        return 1.0
    return float(scipy.stats.nct.sf(critical, queries - 1, moved))


def powers(available: int, judged: int, *, alpha: float = 0.05, chance: float = 0.8) -> tuple[Power, ...]:
    """Return what round numbers of pairs up to all that are available can show.

    Parameters
    ----------
    available : int
        Pairs of category B.
    judged : int
        Pairs of both categories, from which a study samples.
    alpha : float
        The level of the test.
    chance : float
        The power wanted.
    """
    sizes = [size for size in _SIZES if size < available] + ([available] if available else [])
    return tuple(_power(size, ceil(size * judged / available), alpha, chance) for size in sizes)


def power(pairs: int, wins: int, ratio: float) -> float:
    """Return how often ``wins`` or more of the pairs are won, or lost, where each is won with ``ratio``.

    The number of wins is binomial, and the test has two sides.
    """
    return float(
        scipy.stats.binom.sf(wins - 1, pairs, ratio) + scipy.stats.binom.cdf(pairs - wins, pairs, ratio)
    )


def wins_needed(pairs: int, alpha: float = 0.05) -> int | None:
    """Return the fewest wins of this many pairs that a two-sided binomial test calls significant."""
    # isf gives the least k with P(X > k) <= alpha / 2, and P(X > k) is the upper tail from k + 1 on.
    wins = int(scipy.stats.binom.isf(alpha / 2, pairs, 0.5)) + 1
    if wins > pairs:
        return None
    assert 2 * scipy.stats.binom.sf(wins - 1, pairs, 0.5) <= alpha
    return wins


def _power(pairs: int, sample: int, alpha: float, chance: float) -> Power:
    wins = wins_needed(pairs, alpha)
    if wins is None:
        return Power(pairs=pairs, sample=sample, wins=None, ratio=None, detectable=None)
    low, high = 0.5, 1.0
    for _ in range(40):  # the power grows with the ratio
        middle = (low + high) / 2
        low, high = (low, middle) if power(pairs, wins, middle) >= chance else (middle, high)
    return Power(pairs=pairs, sample=sample, wins=wins, ratio=wins / pairs, detectable=high)
