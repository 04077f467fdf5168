"""Simulation: what a strategy costs, and how often it finds the best, on pools of one size."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from prefjudge.core.asking.strategies import Counts, Floats, Strategy
from prefjudge.core.judges.noise import Noise
from prefjudge.core.planning.strategy_names import of_size
from prefjudge.core.planning.sure import Sure

_CELLS = 1 << 22
_LEAST_TRIALS = 150
_DEARER = 4
"""A strategy that fits a model in each round is simulated on so many times fewer pools."""
_FEWEST, _OF_ALL = 50, 2
"""Such a strategy is simulated on so many times ``trials`` pools of all sizes together, and so many of a rare
size at least: a study has few pools of it, so what they cost and find hardly counts."""
_LEARN_AGAIN = 1.4
"""How votes err is learned again once there are so many times as many: a round hardly changes it."""
_TRIAL_CELLS = 150_000
"""Cells of vote matrices worth simulating: in a study there are few large pools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What to expect of a strategy on a pool of one size.

    Attributes
    ----------
    strategy : str
        The strategy's name.
    size : int
        The number of candidates.
    chance : float
        The probability that the winner is the best; a random pick where several win.
    error : float
        The standard error of ``chance`` by the number of trials.
    single : float
        The share of pools that end with a single winner. It says nothing about its being the best.
    pairs, judgments : float
        Different pairs and votes per pool, on average.
    rounds : tuple of dict of int to float
        For each round, how many pairs per pool get how many votes, on average.
    work : mapping of (int, int) to ndarray of int64, shape (trials,)
        How many pairs each simulated pool has judged in a round by that many votes: HITs are packed by these.
    """

    strategy: str
    size: int
    chance: float
    error: float
    single: float
    pairs: float
    judgments: float
    rounds: tuple[dict[int, float], ...]
    work: Mapping[tuple[int, int], Counts] = field(default_factory=dict, repr=False, compare=False)


def simulate(
    strategy: Strategy,
    size: int,
    noise: Noise,
    *,
    trials: int = 2000,
    rng: np.random.Generator,
    share: float = 1.0,
) -> Outlook:
    """Play a strategy on simulated pools.

    Parameters
    ----------
    strategy : Strategy
        What to play.
    size : int
        The number of candidates.
    noise : Noise
        How votes err.
    trials : int
        The number of pools, or fewer (150 at least) where they are large; the standard error of the chance
        is at most ``0.5 / sqrt(trials)``.
    rng : numpy.random.Generator
        The source of randomness. Generators in the same state give every strategy the same pools, and the
        same votes to strategies that ask for the same.
    share : float
        The share of the study's queries that have a pool of this size.
    """
    one = of_size(strategy, size)
    trials = max(1, min(trials, max(_LEAST_TRIALS, _TRIAL_CELLS // size**2)))
    if isinstance(one, Sure):
        enough = max(_FEWEST, round(_OF_ALL * trials * share))
        trials = min(trials, max(_LEAST_TRIALS, trials // _DEARER), enough)
    if size == 1:
        return Outlook(
            strategy=strategy.name,
            size=1,
            chance=1.0,
            error=0.0,
            single=1.0,
            pairs=0.0,
            judgments=0.0,
            rounds=(),
        )
    found = single = 0.0
    pairs = 0
    work: dict[tuple[int, int], Counts] = {}
    step = max(1, _CELLS // size**2)
    # Streams of their own: how many votes a strategy draws must not change the pools that it meets next.
    pools_rng, votes_rng = rng.spawn(2)
    for low in range(0, trials, step):
        n = min(step, trials - low)
        chances, best = noise.draw_chances(n, size, pools_rng)
        votes, played = play(strategy, chances, votes_rng)
        for group, counts in played.items():
            work.setdefault(group, np.zeros(trials, dtype=np.int64))[low : low + n] = counts
        leaders = one.leaders(votes)
        number = leaders.sum(axis=1)
        # A random pick from several leaders is the best one with this chance: no draw, less noise.
        found += float((leaders[np.arange(n), best] / number).sum())
        single += float((number == 1).sum())
        pairs += int(np.triu(votes + votes.transpose(0, 2, 1) > 0).sum())
    chance = found / trials
    per_round: tuple[dict[int, float], ...] = tuple({} for _ in {number for number, _ in work})
    for (number, many), counts in work.items():
        per_round[number][many] = float(counts.sum()) / trials
    return Outlook(
        strategy=strategy.name,
        size=size,
        chance=chance,
        # Never 0: that every trial succeeded does not make it certain.
        error=float(np.sqrt(max(chance * (1.0 - chance), 1e-9) / trials)),
        single=single / trials,
        pairs=pairs / trials,
        judgments=sum(votes * count for counts in per_round for votes, count in counts.items()),
        rounds=per_round,
        work=work,
    )


def play(
    strategy: Strategy, chances: Floats, rng: np.random.Generator, *, most: Counts | None = None
) -> tuple[Floats, dict[tuple[int, int], Counts]]:
    """Ask and vote until nothing is asked.

    Parameters
    ----------
    strategy : Strategy
        What to play.
    chances : ndarray of float64, shape (n, k, k)
        The probability that a vote prefers ``x`` to ``y``.
    rng : numpy.random.Generator
        The source of randomness.
    most : ndarray of int64, shape (n,), optional
        A pool that has so many votes is given up.

    Returns
    -------
    votes : ndarray of float64, shape (n, k, k)
        ``votes[q, x, y]`` votes prefer ``x`` to ``y``.
    work : dict of (int, int) to ndarray of int64, shape (n,)
        How many pairs each pool has judged in a round by so many votes.
    """
    votes = np.zeros_like(chances)
    work: dict[tuple[int, int], Counts] = {}
    number, strategy = 0, of_size(strategy, votes.shape[1])
    unfinished = np.arange(len(votes))
    informed, known = _informed(strategy, votes), 0.0
    # A pool that asks for nothing has finished: its strategy would say the same again.
    while unfinished.size and len(asked := informed.ask(votes[unfinished])):
        pool, x, y, wanted = unfinished[asked.pool], asked.x, asked.y, asked.votes
        for_x = rng.binomial(wanted, chances[pool, x, y])
        votes[pool, x, y] += for_x
        votes[pool, y, x] += wanted - for_x
        for many in np.unique(wanted).tolist():
            work[number, many] = np.bincount(pool[wanted == many], minlength=len(votes))
        unfinished = np.unique(pool)
        if isinstance(strategy, Sure) and strategy.crowd is None and votes.sum() > _LEARN_AGAIN * known:
            informed, known = _informed(strategy, votes, informed), float(votes.sum())
            unfinished = np.arange(len(votes))  # who knows more of the crowd may doubt what was finished
        if most is not None:
            unfinished = unfinished[votes[unfinished].sum(axis=(1, 2)) < most[unfinished]]
        number += 1
    return votes, work


def _informed(strategy: Strategy, votes: Floats, before: Strategy | None = None) -> Strategy:
    """Return a strategy that knows what all pools say of how votes err, also of those that have finished.

    What it knew ``before`` tells where to look.
    """
    if not isinstance(strategy, Sure):
        return strategy
    return strategy.learn(votes, near=before.crowd if isinstance(before, Sure) else None)
