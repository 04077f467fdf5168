"""Simulation: independent studies, each with a crowd of its own, from the first vote to the last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from prefjudge.core.asking.strategies import Asked, Counts, Flags, Floats, Strategy
from prefjudge.core.judges.noise import Noise
from prefjudge.core.planning.likely_crowd import Crowds, Judged, likely_crowds
from prefjudge.core.planning.strategy_names import of_size
from prefjudge.core.planning.sure import Sure

_LEARN_AGAIN = 2.0
"""How votes err is learned again once there are so many times as many: a round hardly changes it."""
_LEARN_FROM = 60
"""How many pools of a study tell how its votes err."""

Work = dict[tuple[int, int], Counts]
"""How many pairs each pool has judged in a round, the first number, by so many votes, the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """Simulated pools of one size.

    Attributes
    ----------
    chances : ndarray of float64, shape (n, k, k)
        The probability that a vote prefers ``x`` to ``y``.
    best : ndarray of int64, shape (n,)
        Who is truly the best.
    study : ndarray of int64, shape (n,)
        The study of each.
    stands_for : float
        How many pools of the study each stands for.
    """

    chances: Floats
    best: Counts
    study: Counts
    stands_for: float = 1.0

    @property
    def size(self) -> int:
        """The number of candidates."""
        return int(self.chances.shape[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What became of the pools of one size.

    Attributes
    ----------
    votes : ndarray of float64, shape (n, k, k)
        ``votes[q, x, y]`` votes prefer ``x`` to ``y``.
    work : dict of (int, int) to ndarray of int64, shape (n,)
        How many pairs each pool has judged in a round by so many votes: HITs are packed by these.
    leaders : ndarray of bool, shape (n, k)
        Who is the best by the votes; several where they are even.
    """

    votes: Floats
    work: Work
    leaders: Flags


def draw_studies(
    sizes: Mapping[int, int], crowds: Sequence[Noise], *, pools: int, rng: np.random.Generator
) -> tuple[Pools, ...]:
    """Draw a study for each crowd.

    Parameters
    ----------
    sizes : mapping of int to int
        How many pools of each size a study has.
    crowds : sequence of Noise
        How the votes of each study err.
    pools : int
        About how many pools of a study are simulated. In a larger one each stands for several of its size;
        there is at least one of each size.
    rng : numpy.random.Generator
        The source of randomness.
    """
    share = min(1.0, pools / max(1, sum(sizes.values())))
    found = []
    for size, count in sorted(sizes.items()):
        some = min(count, int(np.ceil(share * count)))
        drawn = [crowd.draw_chances(some, size, rng) for crowd in crowds]
        found.append(
            Pools(
                chances=np.concatenate([chances for chances, _ in drawn]),
                best=np.concatenate([best for _, best in drawn]),
                study=np.repeat(np.arange(len(crowds)), some),
                stands_for=count / some,
            )
        )
    return tuple(found)


def play_studies(strategy: Strategy, pools: Sequence[Pools], rng: np.random.Generator) -> tuple[Played, ...]:
    """Ask and vote until nothing is asked in any study.

    A strategy that needs to know how votes err learns it in each study, from the votes of this study alone.
    """
    # A stream for each size: how many votes one draws changes no other's.
    streams = rng.spawn(len(pools))
    tables = [
        _Table(one, of_size(strategy, one.size), stream) for one, stream in zip(pools, streams, strict=True)
    ]
    crowds = _play(tables)
    return tuple(
        Played(votes=table.votes, work=table.work, leaders=table.leaders(crowds)) for table in tables
    )


def play(
    strategy: Strategy, chances: Floats, rng: np.random.Generator, *, most: Counts | None = None
) -> tuple[Floats, Work]:
    """Ask and vote until nothing is asked, in one study of pools of one size.

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
    none = np.zeros(len(chances), dtype=np.int64)
    pools = Pools(chances=chances, best=none, study=none)
    table = _Table(pools, of_size(strategy, pools.size), rng, most)
    _play([table])
    return table.votes, table.work


def _play(tables: Sequence["_Table"]) -> Crowds | None:
    """Play to the end; return what the votes say of the crowds, where a strategy asks by it."""
    crowds, known, number = None, 0.0, 0
    learning = [table for table in tables if table.learns]
    while True:
        if learning and (crowds is None or sum(table.cast for table in tables) > _LEARN_AGAIN * known):
            crowds, known = _learned(tables, crowds), sum(table.cast for table in tables)
            for table in learning:  # who knows more of the crowd may doubt what was finished
                table.reopen()
        asked = [table.play_round(number, crowds) for table in tables]
        if not any(asked):
            return _learned(tables, crowds) if learning else None
        number += 1


class _Table:
    """The pools of one size while they are played."""

    def __init__(
        self, pools: Pools, strategy: Strategy, rng: np.random.Generator, most: Counts | None = None
    ) -> None:
        self._pools = pools
        self._strategy = strategy
        self._rng = rng
        self._most = most
        self._unfinished = np.arange(len(pools.study))
        self.votes = np.zeros_like(pools.chances)
        self.work: Work = {}
        self.learns = isinstance(strategy, Sure) and strategy.crowd is None and pools.size > 1

    @property
    def cast(self) -> float:
        """How many votes there are."""
        return float(self.votes.sum())

    def reopen(self) -> None:
        """Look at all pools again."""
        self._unfinished = self._going_on(np.arange(len(self._pools.study)))

    def play_round(self, number: int, crowds: Crowds | None) -> bool:
        """Have a round judged; return whether anything was asked."""
        # A pool that asks for nothing has finished: its strategy would say the same again.
        asked = self._ask(crowds) if self._unfinished.size else None
        if asked is None or not len(asked):
            self._unfinished = self._unfinished[:0]
            return False
        pool, x, y, wanted = self._unfinished[asked.pool], asked.x, asked.y, asked.votes
        for_x = self._rng.binomial(wanted, self._pools.chances[pool, x, y])
        self.votes[pool, x, y] += for_x
        self.votes[pool, y, x] += wanted - for_x
        for many in np.unique(wanted).tolist():
            self.work[number, many] = np.bincount(pool[wanted == many], minlength=len(self.votes))
        self._unfinished = self._going_on(np.unique(pool))
        return True

    def judged(self, some: Counts | None = None) -> Judged:
        """Return the votes on some of the pools, or on all."""
        every = Judged(self.votes, self._pools.study)
        return every if some is None else every.only(some)

    def leaders(self, crowds: Crowds | None) -> Flags:
        """Return who is the best by the votes."""
        if self.learns and crowds is not None:
            assert isinstance(self._strategy, Sure)
            return self._strategy.leaders_in(self.judged(), crowds)
        return self._strategy.leaders(self.votes)

    def _ask(self, crowds: Crowds | None) -> Asked:
        if self.learns and crowds is not None:
            assert isinstance(self._strategy, Sure)
            return self._strategy.ask_in(self.judged(self._unfinished), crowds)
        return self._strategy.ask(self.votes[self._unfinished])

    def _going_on(self, some: Counts) -> Counts:
        if self._most is None:
            return some
        return np.asarray(some[self.votes[some].sum(axis=(1, 2)) < self._most[some]])


def _learned(tables: Sequence[_Table], near: Crowds | None) -> Crowds:
    """Return what the votes so far say of how those of each study err."""
    every = [table.judged() for table in tables if table.votes.shape[1] > 1]
    studies = 1 + max(int(one.study.max(initial=0)) for one in every)
    share = _LEARN_FROM * studies / max(1, sum(one.study.size for one in every))
    some = [one.only(_first(one.study, share)) for one in every]
    return likely_crowds(some, studies, near=near)


def _first(study: Counts, share: float) -> Counts:
    """Return the first pools of each study, so great a share of them; ``study`` is ascending."""
    if share >= 1.0:
        return np.arange(study.size)
    counts = np.bincount(study)
    place = np.arange(study.size) - (np.cumsum(counts) - counts)[study]
    return np.flatnonzero(place < np.ceil(share * counts)[study])
