"""The alternative annotator test: is a model at least as good a judge as one more person would be?

Calderon, Reichart and Dror, "The alternative annotator test for LLM-as-a-judge" (ACL 2025). Each person in
turn is left out, and the model and that person are compared by how well they agree with the others. A person
costs more than a model, so the person must be better by more than ``epsilon`` to be worth it.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.evaluation.scoring.placings import Floats, Integers

LEAST_PEOPLE = 3
LEAST_VOTES = 30
"""Of one person, on pairs that the model and others judged: the paper's least for Student's t."""
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
        Of whom, each with `LEAST_VOTES` or more. People with fewer are taken together until they have as
        many, as the paper's authors advise, and count as one.
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
        """Whether the model passes: for at least half of the people (section 3.4)."""
        return self.enough and 2 * self.won >= self.people


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
    p = np.array([_p_value(worse[person == one], epsilon) for one in range(count.size)])
    difference, low, high = _clustered(-worse, query, 1 - alpha)
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
    """Return a number for each vote's person; -1 where even together there are too few votes."""
    names, code, count = np.unique(person, return_inverse=True, return_counts=True)
    group = np.full(names.size, -1, dtype=np.int64)
    made, waiting, gathered = 0, list[int](), 0
    for one in np.argsort(-count, kind="stable").tolist():
        waiting.append(one)
        gathered += int(count[one])
        if gathered >= LEAST_VOTES:
            group[waiting] = made
            made, waiting, gathered = made + 1, [], 0
    return group[code]


def _p_value(worse: Floats, epsilon: float) -> float:
    """Return the p-value of the hypothesis that the person is better by ``epsilon`` or more (one-sided t)."""
    spread = worse.std(ddof=1)
    if spread == 0:
        return float(worse[0] >= epsilon)
    t = (worse.mean() - epsilon) / (spread / np.sqrt(worse.size))
    return float(scipy.special.stdtr(worse.size - 1, t))


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


def _clustered(values: Floats, query: Integers, confidence: float) -> tuple[float, float, float]:
    """Return the mean and its t interval over queries: the votes of one query depend on each other."""
    if not values.size:
        return (float("nan"),) * 3
    _, code = np.unique(query, return_inverse=True)
    sums, sizes = np.bincount(code, weights=values), np.bincount(code)
    mean = float(values.mean())
    if sums.size < 2:
        return mean, float("nan"), float("nan")
    # The linearised variance of a ratio of two sums over queries.
    spread = ((sums - mean * sizes) ** 2).sum() * sums.size / (sums.size - 1)
    half = float(scipy.special.stdtrit(sums.size - 1, 0.5 + confidence / 2) * np.sqrt(spread) / sizes.sum())
    return mean, max(-1.0, mean - half), min(1.0, mean + half)
