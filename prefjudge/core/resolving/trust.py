"""Trust: how much the votes of each worker are worth, by how they agree with all others.

A worker votes by chance in a share of the votes, which is the worker's own. How these shares are spread over
the workers is learnt from all of them, so that a worker of few votes is taken for one of the crowd.
"""

from dataclasses import dataclass

import numpy as np

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.resolving.bradley_terry import Strengths, fit_strengths
from prefjudge.core.resolving.cast_votes import Floats
from prefjudge.core.resolving.tournament import Index, Tournaments, tournaments

_LEVELS = np.linspace(0.0, 1.0, 6)
"""The shares of votes that a worker does not cast by chance."""
_CROWD = np.array([0.10, 0.04, 0.04, 0.04, 0.28, 0.50])
"""How often each of them occurs in crowds, before any vote."""
_COUNTS_AS = 4.0
"""As many workers as that is worth."""
_ROUNDS, _ROUGHLY = 6, 3
_SCALES = (0.3, 0.5, 0.8, 1.25, 2.0)
"""How far apart candidates may be for the best workers: standard deviations of strengths, in logits."""
_NEGLIGIBLE = 0.1
_SAMPLE = 500
"""How many queries are enough to choose among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What the votes tell about the workers.

    Attributes
    ----------
    workers : tuple of str
        The workers.
    reliability : ndarray of float64, shape (n_workers,)
        The share of votes that each does not cast by chance, beside that of the most reliable one: its
        posterior mean.
    crowd : float
        The same of the mean worker.
    mean : float
        The same of the mean vote.
    """

    workers: tuple[str, ...]
    reliability: Floats
    crowd: float
    mean: float
    _key: Index
    _without: Floats

    @property
    def doubted(self) -> int:
        """How many workers' votes are worth less than half as much as those of the most reliable."""
        return int(np.count_nonzero(self.reliability < 0.5))

    def __call__(self, query: Index, worker: Index) -> Floats:
        """Return the trust in votes, each by what its worker's votes on all other queries tell.

        Parameters
        ----------
        query, worker : ndarray of int64, shape (n_votes,)
            Codes of the whole log; a worker who is not known has -1.
        """
        key = query * (len(self.workers) + 1) + worker
        place = np.minimum(np.searchsorted(self._key, key), self._key.size - 1)
        return np.where((worker >= 0) & (self._key[place] == key), self._without[place], self.crowd)


def learn_trust(judgments: Judgments, *, pools: Pools | None = None, strengths: bool = False) -> Trust | None:
    """Learn from the votes on all queries how reliable each worker is.

    Parameters
    ----------
    judgments : Judgments
        The votes.
    pools : Pools, optional
        The candidates; by default the judged documents.
    strengths : bool
        Whether a vote counts as often as it is strong.

    Returns
    -------
    Trust or None
        None where workers cannot be told apart.

    Notes
    -----
    Each vote is held against what all other votes on its query say (Laplace's approximation, and the vote's
    own part taken off it), and the workers' shares and their spread are fitted by turns with the strengths.
    A vote is weighed by its worker's votes on the *other* queries only, so that no vote vouches for itself.
    """
    if not can_tell(judgments):
        return None
    # Workers link the queries, so the votes of all of them are taken at once, as one block.
    rows = 2 * len(judgments) + (0 if pools is None else pools.query.size) + 1
    (block,) = tournaments(judgments, pools=pools, block_rows=rows)
    votes = _Votes(block, len(judgments.workers), strengths)
    if not votes.key.size:
        return None
    scales = _probable_scales(_Votes(block, len(judgments.workers), strengths, queries=_SAMPLE))
    fits = [(share, _fit(votes, scale, rounds=_ROUNDS)) for scale, share in scales.items()]
    without = sum(share * fit.others for share, fit in fits)
    reliability = sum(share * fit.reliability for share, fit in fits)
    return Trust(
        workers=judgments.workers,
        reliability=np.asarray(reliability)[:-1],
        crowd=sum(share * fit.crowd for share, fit in fits),
        mean=float(np.average(np.asarray(without)[votes.key_of_vote], weights=votes.worth)),
        _key=votes.key,
        _without=np.asarray(without),
    )


def _probable_scales(votes: "_Votes") -> dict[float, float]:
    """Return how probable scales are that each were as probable before; the improbable ones are left out."""
    likely = np.array([_fit(votes, scale, rounds=_ROUGHLY).log_likelihood for scale in _SCALES])
    weight = np.exp(likely - likely.max())
    weight[weight < _NEGLIGIBLE] = 0.0
    return {
        scale: share for scale, share in zip(_SCALES, (weight / weight.sum()).tolist(), strict=True) if share
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    """The reliability of each worker, of the mean worker, and of each key by all others of its worker."""

    reliability: Floats
    crowd: float
    others: Floats
    log_likelihood: float


def _fit(votes: "_Votes", scale: float, *, rounds: int) -> _Fit:
    """Fit the workers' shares and how they are spread, by turns with the strengths of the candidates."""
    people = votes.n_workers
    known = np.bincount(votes.worker_of_key, minlength=people + 1) > 0
    known[-1] = False
    given = np.bincount(votes.worker_of_key[votes.key_of_vote], weights=votes.worth, minlength=people + 1)
    given[-1] = 0.0
    spread, trust = _CROWD, np.ones(votes.worth.size)
    for _ in range(rounds):
        expected = votes.expect(trust, scale)
        # Rounding must not make a vote impossible.
        said = (votes.worth * np.log1p(level * 0.999 * expected) for level in _LEVELS)
        of_key = np.stack([np.add.reduceat(of_level, votes.starts) for of_level in said], axis=1)
        of_worker = np.stack(
            [np.bincount(votes.worker_of_key, weights=of, minlength=people + 1) for of in of_key.T], axis=1
        )
        # Of nobody in particular nothing is learnt but what is true of the crowd.
        of_key[votes.worker_of_key == people] = of_worker[-1] = 0.0
        likely, posterior = _normal(np.log(spread) + of_worker)
        spread = _COUNTS_AS * _CROWD + posterior[known].sum(axis=0)
        spread /= spread.sum()
        _, posterior = _normal(np.log(spread) + of_worker)
        _, without = _normal(np.log(spread) + of_worker[votes.worker_of_key] - of_key)
        # Only who is better than whom is learnt here: what all have in common is the scale and its lapses.
        reliability = posterior @ _LEVELS
        # Theirs is what a vote that counts was cast with: one who was lucky is no measure.
        cast = reliability * given
        top = float(reliability @ cast / max(cast.sum(), 1e-9)) or 1.0
        others = np.minimum(1.0, without @ _LEVELS / top)
        trust = others[votes.key_of_vote]
    return _Fit(
        reliability=np.minimum(1.0, reliability / top),
        crowd=min(1.0, float(spread @ _LEVELS) / top),
        others=others,
        log_likelihood=float(likely[known].sum()),
    )


def can_tell(judgments: Judgments) -> bool:
    """Return whether workers can be told apart: several are known, and one of them by several queries."""
    known = judgments.worker >= 0
    if not known.any():
        return False
    seen = np.unique(
        judgments.worker[known].astype(np.int64) * len(judgments.queries) + judgments.query[known]
    )
    queries = np.bincount(seen // len(judgments.queries))
    return bool((queries > 0).sum() > 1 and queries.max() > 1)


def _normal(logs: Floats) -> tuple[Floats, Floats]:
    """Return the log of each row's sum of exponentials, and their shares of it."""
    top = logs.max(axis=1, keepdims=True)
    weight: Floats = np.exp(logs - top)
    total = weight.sum(axis=1, keepdims=True)
    return top[:, 0] + np.log(total[:, 0]), weight / total


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stack:
    """The votes on all queries of ``k`` candidates: which they are, and where their cells are."""

    size: int
    queries: int
    votes: Index
    place: Index
    won: Index
    lost: Index


class _Votes:
    """The decided votes by query and worker; a key is what one worker voted on one query.

    The votes of nobody in particular belong to a last worker.
    """

    def __init__(
        self, block: Tournaments, n_workers: int, strengths: bool, queries: int | None = None
    ) -> None:
        self.n_workers = n_workers
        rows = np.flatnonzero(block.choice != 0)
        if queries is not None:
            of = block.query[block.left[rows]]
            rows = rows[of <= np.unique(of)[:queries].max(initial=-1)]
        worker = np.where(block.worker[rows] >= 0, block.worker[rows], n_workers).astype(np.int64)
        query = block.query[block.left[rows]].astype(np.int64)
        keys = query * (n_workers + 1) + worker
        order = np.argsort(keys, kind="stable")
        rows, query, keys = rows[order], query[order], keys[order]
        self.worth = block.strength[rows].astype(np.float64) if strengths else np.ones(rows.size)
        changes = np.diff(keys, prepend=-1) > 0
        self.starts = np.flatnonzero(changes)
        self.key = keys[self.starts]
        self.key_of_vote = np.cumsum(changes) - 1
        self.worker_of_key = worker[order][self.starts]
        ahead = block.choice[rows] > 0
        won = np.where(ahead, block.left[rows], block.right[rows]) - block.start[query]
        lost = np.where(ahead, block.right[rows], block.left[rows]) - block.start[query]
        self.stacks = []
        for size in np.unique(block.sizes[query]).tolist():
            votes = np.flatnonzero(block.sizes[query] == size)
            held, place = np.unique(query[votes], return_inverse=True)
            self.stacks.append(
                _Stack(
                    size=size, queries=held.size, votes=votes, place=place, won=won[votes], lost=lost[votes]
                )
            )
        self._means: list[Floats | None] = [None] * len(self.stacks)

    def expect(self, trust: Floats, scale: float) -> Floats:
        """Return how far all other votes expect each vote, from -1 (surely not) to 1, shape (n_votes,)."""
        expected = np.zeros(self.worth.size)
        for number, one in enumerate(self.stacks):
            n, k = one.queries, one.size
            cell = (one.place * k + one.won) * k + one.lost
            worth = (trust * self.worth)[one.votes]
            votes = np.bincount(cell, weights=worth, minlength=n * k * k).astype(np.float64)
            fit = fit_strengths(votes.reshape(n, k, k), scale=scale, start=self._means[number])
            self._means[number] = fit.mean
            expected[one.votes] = _without_itself(fit, one, trust[one.votes])
        return expected


def _without_itself(fit: Strengths, stack: _Stack, trust: Floats) -> Floats:
    place, x, y = stack.place, stack.won, stack.lost
    gap = fit.mean[place, x] - fit.mean[place, y]
    covariance = np.linalg.inv(fit.precision)
    variance = covariance[place, x, x] + covariance[place, y, y] - 2.0 * covariance[place, x, y]
    chance = 0.5 * (1.0 + np.tanh(0.5 * gap))
    # The vote's own part of the mode, and of the curvature there.
    variance /= np.maximum(1.0 - trust * chance * (1.0 - chance) * variance, 0.1)
    gap -= variance * trust * (1.0 - chance)
    # The mean of a logistic over a normal distribution (MacKay 1992); 2 p - 1 is the tanh of half the logit.
    expected: Floats = np.tanh(0.5 * gap / np.sqrt(1.0 + np.pi / 8.0 * variance))
    return expected
