"""The alternative annotator test: is a model at least as good a judge as one more person would be?

Calderon, Reichart and Dror, "The alternative annotator test for LLM-as-a-judge" (ACL 2025). Each person in
turn is left out, and the model and that person are compared by how well they agree with the others. A person
costs more than a model, so the person must be better by more than ``epsilon`` to be worth it.

Two things differ from the paper, which has few people who each judge much that is independent. Pairs of one
query are not: a model that misreads a query is wrong on all of them. So the t tests are over queries. And the
votes of one worker in a large crowd are too few to tell anything, however many the crowd cast: people are
taken together there. Besides, what repeats the votes of one of them agrees with the others as that person
does, and passes for all: it is not a judge.
"""

from dataclasses import dataclass
from heapq import heapreplace

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.evaluation.scoring.placings import Floats, Integers

LEAST_PEOPLE = 3
LEAST_VOTES = 30
"""Of one person, on pairs that the model and others judged: the paper's least for Student's t."""
FEW_PEOPLE = 5
"""So many stand alone each, as in the paper."""
WANTED_VOTES = 200
"""Of each of more people: with fewer the tests seldom pass a model that is as good as they are."""
_AGAINST = 5
"""Pairs on which a person is against most others, and the model too: chance makes fewer."""
EPSILON = 0.1
"""The paper's for crowd workers; experts, who cost more, get 0.2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelGate:
    """Whether a model may stand in for a person, by the votes of people.

    Attributes
    ----------
    model : str
        The model.
    votes : int
        The people's votes that count here: on pairs that the model and another person judged.
    people : int
        Of whom, each with `LEAST_VOTES` or more. People with few are taken together, and count as one: where
        more than `FEW_PEOPLE` have fewer than `WANTED_VOTES`, in `LEAST_PEOPLE` groups or more.
    won : int
        How many of them the model passes for: the p-value is at most the level after the correction of
        Benjamini and Yekutieli.
    advantage, people_advantage : float
        How often the model agrees with the others at least as well as the person does, and the person at
        least as well as the model: means over ``people``. NaN without votes.
    difference, low, high : float
        The first less the second over all votes, with its interval over queries; NaN where there are too
        few.
    epsilon, alpha : float
        What a person may be better by, and the level.
    repeats : tuple of str
        People whose votes the model repeats on every pair that both judged, where they are against most
        others, too: the model may be a copy of theirs.
    """

    model: str
    votes: int
    people: int
    won: int
    advantage: float
    people_advantage: float
    difference: float
    low: float
    high: float
    epsilon: float
    alpha: float
    repeats: tuple[str, ...] = ()

    @property
    def enough(self) -> bool:
        """Whether there are enough votes of people to say anything."""
        return self.people >= LEAST_PEOPLE

    @property
    def winning_rate(self) -> float:
        """For how many of the people the model passes; NaN without any."""
        return self.won / self.people if self.people else float("nan")

    @property
    def open(self) -> bool:
        """Whether the model passes: for at least half of the people (section 3.4), and is no copy of one."""
        return self.enough and 2 * self.won >= self.people and not self.repeats

    @property
    def worse(self) -> bool:
        """Whether people are told to be better by more than ``epsilon``: if neither, more votes may tell."""
        return self.high < -self.epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedVotes:
    """People's votes on pairs that a model judged, too; one for each person and pair.

    Attributes
    ----------
    query, pair, person : ndarray of int64, shape (votes,)
        Codes; a pair belongs to one query.
    choice, model : ndarray of int64, shape (votes,)
        What the person and the model chose of the pair: 1, -1, or 0 for neither.
    """

    query: Integers
    pair: Integers
    person: Integers
    choice: Integers
    model: Integers


def alternative_annotator(
    model: str, votes: SharedVotes, *, epsilon: float = EPSILON, alpha: float = 0.05
) -> ModelGate:
    """Test whether a model may stand in for a person.

    Parameters
    ----------
    model : str
        Its name.
    votes : SharedVotes
        What people and the model chose.
    epsilon : float
        How much better than the model a person may be and still be replaced.
    alpha : float
        The level of the tests, and of the interval.
    """
    others, agree_person, agree_model = _agreement(votes)
    shared = others > 0
    as_good = agree_model >= agree_person  # W^f of the paper
    not_better = agree_person >= agree_model  # W^h
    worse = not_better.astype(np.float64) - as_good  # the person's advantage, to be below epsilon
    person = _taken_together(votes.person[shared])
    worse, query = worse[shared], votes.query[shared]
    as_good, not_better = as_good[shared], not_better[shared]
    counted = person >= 0
    count = np.bincount(person[counted])
    p = np.array([_p_value(worse[person == one], query[person == one], epsilon) for one in range(count.size)])
    difference, low, high = _interval(-worse, query, 1 - alpha)
    return ModelGate(
        model=model,
        votes=int(shared.sum()),
        people=int(count.size),
        won=int((_benjamini_yekutieli(p) <= alpha).sum()),
        advantage=_mean_of_means(as_good, person),
        people_advantage=_mean_of_means(not_better, person),
        difference=difference,
        low=low,
        high=high,
        epsilon=epsilon,
        alpha=alpha,
    )


def repeated_people(votes: SharedVotes) -> tuple[int, ...]:
    """Return the codes of the people whose votes a model repeats, in ascending order."""
    others, agree_person, _ = _agreement(votes)
    codes, person = np.unique(votes.person, return_inverse=True)
    same = votes.choice == votes.model
    differ, against, count = (
        np.bincount(person, weights=flags, minlength=codes.size)
        for flags in (~same, same & (others > 0) & (agree_person < 0.5), np.ones(person.size))
    )
    copied = (count >= LEAST_VOTES) & (differ == 0) & (against >= _AGAINST)
    return tuple(codes[copied].tolist())


def _agreement(votes: SharedVotes) -> tuple[Integers, Floats, Floats]:
    """Return, for each vote, how many others judged the pair, and how many of them the two agree with."""
    _, pair = np.unique(votes.pair, return_inverse=True)
    tally = np.zeros((pair.max(initial=-1) + 1, 3), dtype=np.int64)
    np.add.at(tally, (pair, votes.choice + 1), 1)
    others = tally.sum(axis=1)[pair] - 1
    with_person = tally[pair, votes.choice + 1] - 1
    # The person who is left out is not among those whom the model is compared with.
    with_model = tally[pair, votes.model + 1] - (votes.model == votes.choice)
    divisor = np.maximum(others, 1)
    return others, with_person / divisor, with_model / divisor


def _taken_together(person: Integers) -> Integers:
    """Return a number for each vote's person, or those taken together; -1 where there are too few votes.

    Who belongs together depends on how many votes they cast, and not on what they chose.
    """
    names, code, count = np.unique(person, return_inverse=True, return_counts=True)
    if LEAST_PEOPLE <= names.size <= FEW_PEOPLE and count.min() >= LEAST_VOTES:
        return code.astype(np.int64)
    order = np.argsort(-count, kind="stable").tolist()
    most = min(names.size, max(LEAST_PEOPLE, code.size // WANTED_VOTES), code.size // LEAST_VOTES)
    for groups in range(most, 0, -1):
        group = np.zeros(names.size, dtype=np.int64)
        sizes = [(0, number) for number in range(groups)]
        for one in order:  # the one with most votes that is left, to the group that has fewest
            votes, number = sizes[0]
            group[one] = number
            heapreplace(sizes, (votes + int(count[one]), number))
        if min(sizes)[0] >= (WANTED_VOTES if groups > LEAST_PEOPLE else LEAST_VOTES):
            return group[code]
    return np.full(code.size, -1, dtype=np.int64)


def _p_value(worse: Floats, query: Integers, epsilon: float) -> float:
    """Return the p-value of the hypothesis that the person is better by ``epsilon`` or more (one-sided t)."""
    mean, error, queries = _over_queries(worse, query)
    if queries < 2:
        return 1.0
    if error == 0:
        return float(mean >= epsilon)
    return float(scipy.special.stdtr(queries - 1, (mean - epsilon) / error))


def _benjamini_yekutieli(p: Floats) -> Floats:
    """Return adjusted p-values: people who judged the same pairs are not independent (2001)."""
    order = np.argsort(p, kind="stable")
    step = np.arange(1, p.size + 1)
    adjusted = np.empty(p.size)
    scaled = p[order] * (p.size / step) * (1 / step).sum()
    adjusted[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.minimum(adjusted, 1.0)


def _mean_of_means(flags: NDArray[np.bool_], person: Integers) -> float:
    counted = person >= 0
    if not counted.any():
        return float("nan")
    count = np.bincount(person[counted])
    return float((np.bincount(person[counted], weights=flags[counted]) / count).mean())


def _interval(values: Floats, query: Integers, confidence: float) -> tuple[float, float, float]:
    """Return the mean and its t interval over queries."""
    if not values.size:
        return (float("nan"),) * 3
    mean, error, queries = _over_queries(values, query)
    if queries < 2:
        return mean, float("nan"), float("nan")
    half = float(scipy.special.stdtrit(queries - 1, 0.5 + confidence / 2)) * error
    return mean, max(-1.0, mean - half), min(1.0, mean + half)


def _over_queries(values: Floats, query: Integers) -> tuple[float, float, int]:
    """Return the mean, its standard error and the number of queries: votes of one depend on each other."""
    _, code = np.unique(query, return_inverse=True)
    sums, sizes = np.bincount(code, weights=values), np.bincount(code)
    mean = float(values.mean())
    if sums.size < 2:
        return mean, float("nan"), int(sums.size)
    # The linearised variance of a ratio of two sums over queries.
    spread = ((sums - mean * sizes) ** 2).sum() * sums.size / (sums.size - 1)
    return mean, float(np.sqrt(spread) / sizes.sum()), int(sums.size)
