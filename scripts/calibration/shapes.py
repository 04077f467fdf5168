"""Crowds that are not as P(best) expects: what it says of their answers, and how many are right."""

from collections.abc import Iterator

import numpy as np
from cells import log_of

from prefjudge.core.resolving.confidence import assess_confidence, foretell
from prefjudge.core.strategies import Counts, Floats, scale_of_error

QUERIES, ERROR, LOGITS = 100, 0.33, 1.4
"""In each study; the share of wrong votes where strengths are normal; and how far classes are apart."""
CROWDS = (
    "bradley-terry", "constant", "t tails", "difficulty differs", "two classes", "classes that vary",
    "one far ahead", "two equal bests", "circles",
)  # fmt: skip


def table(studies: int, seed: int) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"{studies} studies of {QUERIES} queries, votes on each pair"
    yield "pool votes crowd               said  from    to  right   off   +-  of .9 unfit"
    for size, votes in ((3, 9), (6, 1), (6, 3), (6, 9)):
        for number, crowd in enumerate(CROWDS):
            yield _row(crowd, size, votes, studies, [seed, number, size, votes])


def _row(crowd: str, size: int, votes: int, studies: int, seeds: list[int]) -> str:
    said, right, unfit = np.empty((studies, QUERIES)), np.empty((studies, QUERIES)), 0
    bounds = np.empty((studies, 2))
    for study in range(studies):
        rng = np.random.default_rng([*seeds, study])
        chances, best = drawn(crowd, QUERIES, size, rng)
        x, y = np.triu_indices(size, 1)
        cast = np.zeros_like(chances)
        cast[:, x, y] = rng.binomial(votes, chances[:, x, y])
        cast[:, y, x] = votes - cast[:, x, y]
        judgments, pools = log_of(cast)
        found = assess_confidence(judgments, pools=pools, rng=rng)
        told = foretell(judgments, found.scales, rng=rng, pools=pools)
        unfit += told is not None and not told.fits
        chance, bounds[study] = found.chance.reshape(-1, size), found.scales.unlike
        said[study], right[study] = chance.max(axis=1), chance.argmax(axis=1) == best
    off, sure = (said - right).mean(axis=1), said >= 0.9
    of_sure = f"{right[sure].mean():6.2f}" if sure.sum() >= 30 else "     -"
    means = [said.mean(), *(said.mean() + bounds.mean(axis=0)).tolist(), right.mean()]
    figures = " ".join(f"{mean:5.3f}" for mean in means)
    doubt = f"{off.mean():+6.3f} {off.std() / studies**0.5:.3f} {of_sure} {unfit / studies:5.2f}"
    return f"{size:4d} {votes:5d} {crowd:18s} {figures}  {doubt}"


def drawn(
    crowd: str, n: int, k: int, rng: np.random.Generator, *, error: float = ERROR
) -> tuple[Floats, Counts]:
    """Draw queries of a crowd: how probable each vote is, and the best; of equals, any."""
    scale = scale_of_error(error)
    strength = rng.normal(0.0, scale, (n, k))
    gap = np.zeros((n, k, k))
    if crowd == "constant":
        place = rng.permuted(np.tile(np.arange(k), (n, 1)), axis=1)
        return np.where(place[:, :, None] < place[:, None, :], 1.0 - error, error), place.argmin(axis=1)
    if crowd == "t tails":
        strength = 0.75 * scale * rng.standard_t(3, (n, k))
    elif crowd == "difficulty differs":
        strength *= np.exp(0.8 * rng.normal(size=(n, 1)))
    elif "classes" in crowd or crowd == "one far ahead":
        better = rng.random((n, k)) < 0.5
        lone = np.full(n, crowd == "one far ahead") | ~better.any(axis=1)
        better[lone] = np.arange(k) == rng.integers(k, size=(int(lone.sum()), 1))
        strength = LOGITS * better + (0.35 if "vary" in crowd else 0.0) * rng.normal(size=(n, k))
        strength *= scale / scale_of_error(ERROR)
    elif crowd == "two equal bests":  # in two of five queries
        some = np.flatnonzero(rng.random(n) < 0.4)
        strength[some, np.argsort(strength[some], axis=1)[:, -2]] = strength[some].max(axis=1)
    elif crowd == "circles":
        gap = np.triu(rng.normal(0.0, scale, (n, k, k)), 1)
    gap = gap - gap.transpose(0, 2, 1) + strength[:, :, None] - strength[:, None, :]
    best = (strength + 1e-6 * rng.random((n, k))).argmax(axis=1)
    return 0.5 + 0.5 * np.tanh(0.5 * gap), best
