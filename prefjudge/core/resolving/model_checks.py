"""Model checks: whether votes look like those of the model that the probabilities of being best rest on."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.judges.noise import LapseNoise, error_of_scale
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.resolving.scales import Scales
from prefjudge.core.resolving.tournament import tournaments
from prefjudge.core.resolving.vote_matrices import Floats, vote_matrices
from prefjudge.counts import many

_QUERIES = 500
_REDRAWS = 400
_SHARE = 0.99
"""A check fails by chance in one study of a hundred."""
_MEANINGS = {
    "cycles": ("three", "form a cycle"),
    "unanimous": ("pair", "are unanimous"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCheck:
    """A share that was seen in the votes, and where it lies in votes that the model draws.

    Attributes
    ----------
    name : str
        ``cycles`` of three candidates of whom each is preferred to the next, or ``unanimous`` pairs, on
        which all votes agree.
    of : int
        How many threes or pairs were looked at.
    seen : float
        The share among them.
    low, high : float
        Where the share lies in 99 % of studies of the same size whose votes are drawn from the model and
        agree with each other as often as those that were cast.
    """

    name: str
    of: int
    seen: float
    low: float
    high: float

    @property
    def fits(self) -> bool:
        """Whether the model explains what was seen."""
        return self.low <= self.seen <= self.high

    @property
    def too_much_noise(self) -> bool:
        """Whether there is more disorder than the model has: more cycles, or fewer unanimous pairs."""
        return self.seen > self.high if self.name == "cycles" else self.seen < self.low

    @property
    def words(self) -> str:
        """What was seen, and what was to be expected."""
        noun, does = _MEANINGS[self.name]
        return (
            f"of {many(self.of, noun)} {self.seen:.1%} {does}, "
            f"where {self.low:.1%} to {self.high:.1%} were to be expected"
        )


def check_model(
    judgments: Judgments, scales: Scales, *, rng: np.random.Generator, pools: Pools | None = None
) -> tuple[ModelCheck, ...]:
    """Hold cycles and repeated votes against those that the model draws (a posterior predictive check).

    Parameters
    ----------
    judgments : Judgments
        The votes.
    scales : Scales
        The models that the votes leave possible, by their probabilities.
    rng : numpy.random.Generator
        The source of the votes drawn.
    pools : Pools, optional
        The candidates; by default the judged documents.

    Returns
    -------
    tuple of ModelCheck
        One for each share that the votes have. Only queries with the same number of votes on every pair, and
        without ties, are looked at: where votes choose the next pairs, what is repeated is no fair sample.

    Notes
    -----
    Any share by itself fits some scale. What tells is how one goes with another: two votes on one pair agree
    so often, and so the model has so many cycles. Thus only repeated votes can contradict it. Where taste is
    intransitive, votes agree and yet go in cycles. A share is compared after what the agreement explains of
    it, in the votes drawn, is taken off (linear regression).

    References
    ----------
    A. Gelman, X. Meng, H. Stern: Posterior predictive assessment of model fitness (Statistica Sinica, 1996).
    """
    seen = _Counts()
    designs: list[tuple[int, int, int]] = []
    for votes in _balanced(judgments, pools):
        seen.add(votes)
        designs.append((*votes.shape[:2], int(votes[0, 0, 1] + votes[0, 1, 0])))
    if not seen.of[0]:
        return ()
    drawn = np.empty((_REDRAWS, seen.count.size))
    models = rng.choice(scales.weight.size, _REDRAWS, p=scales.weight).tolist()
    for row, model in enumerate(models):
        noise = LapseNoise(error=error_of_scale(scales.scale[model]), lapses=scales.lapses[model])
        counts = _Counts()
        for n, k, times in designs:
            counts.add(_redrawn(noise, scales.trust, n, k, times, rng))
        drawn[row] = counts.shares
    repeats = drawn[:, 0] - seen.shares[0]
    checks = []
    for place, name in enumerate(_MEANINGS, start=1):
        # No three counts that has an even pair: of few threes a redraw may leave no share.
        has = np.isfinite(drawn[:, place])
        if seen.of[place] and 2 * has.sum() >= _REDRAWS:
            share = float(seen.shares[place])
            checks.append(_compare(name, int(seen.of[place]), share, drawn[has, place], repeats[has]))
    return tuple(checks)


def _compare(name: str, of: int, seen: float, drawn: Floats, repeats: Floats) -> ModelCheck:
    """Hold a share against the drawn ones, as they would be if as many repeats agreed as were seen to."""
    spread = repeats - repeats.mean()
    slope = float(spread @ drawn / max(float(spread @ spread), 1e-300))
    bounds = np.quantile(drawn - slope * repeats, [0.5 - _SHARE / 2, 0.5 + _SHARE / 2])
    # A line may lead out of the shares that there are.
    low, high = np.clip(bounds, 0.0, 1.0).tolist()
    return ModelCheck(name=name, of=of, seen=seen, low=low, high=high)


class _Counts:
    """How many repeats agree, threes are cycles, and pairs unanimous, and of how many each."""

    def __init__(self) -> None:
        self.count, self.of = np.zeros(3), np.zeros(3)

    @property
    def shares(self) -> Floats:
        with np.errstate(invalid="ignore"):
            shares: Floats = self.count / self.of
        return shares

    def add(self, votes: Floats) -> None:
        """Count the votes of some queries, which have as times on every pair; shape (n, k, k)."""
        n, k, _ = votes.shape
        times = float(votes[0, 0, 1] + votes[0, 1, 0])
        pairs = n * k * (k - 1) / 2
        beats = (votes > votes.transpose(0, 2, 1)).astype(np.float64)
        self.count[0] += (votes * (votes - 1.0)).sum() / 2.0
        self.of[0] += pairs * times * (times - 1.0) / 2.0
        if k > 2:
            # The trace of the cube meets each cycle three times; the square times the matrix each three in
            # order once, by its first and last.
            square = beats @ beats
            cycles = float(np.einsum("nxy,nyx->", square, beats)) / 3.0
            self.count[1] += cycles
            self.of[1] += cycles + float(np.einsum("nxy,nxy->", square, beats))
        # Of three votes all agree exactly as often as two do on average: nothing more is told.
        if times > 3:
            self.count[2] += np.count_nonzero(votes == times)
            self.of[2] += pairs


def _balanced(judgments: Judgments, pools: Pools | None) -> Iterator[Floats]:
    """Yield the votes of queries with as many votes on every pair, without ties, by size and number."""
    left = _QUERIES
    for block in tournaments(judgments, pools=pools, block_rows=1 << 14):
        for stack in vote_matrices(block, ties=0.5):
            k = stack.votes.shape[1]
            if k < 2 or left <= 0:
                continue
            both = stack.votes + stack.votes.transpose(0, 2, 1)
            of_pairs = both[:, ~np.eye(k, dtype=bool)]
            most = of_pairs.max(axis=1)
            whole = (stack.votes == np.rint(stack.votes)).all(axis=(1, 2))
            same = whole & (most > 0) & (of_pairs == most[:, None]).all(axis=1)
            for times in np.unique(most[same]).tolist():
                some = np.flatnonzero(same & (most == times))[:left]
                if some.size:
                    yield stack.votes[some]
                left -= some.size
        if left <= 0:
            break


def _redrawn(noise: LapseNoise, trust: float, n: int, k: int, times: int, rng: np.random.Generator) -> Floats:
    """Draw as many votes on every pair of new queries of the same crowd."""
    chances: NDArray[np.float64] = 0.5 + trust * (noise.draw_chances(n, k, rng)[0] - 0.5)
    x, y = np.triu_indices(k, 1)
    won = rng.binomial(times, chances[:, x, y])
    votes = np.zeros((n, k, k))
    votes[:, x, y], votes[:, y, x] = won, times - won
    return votes
