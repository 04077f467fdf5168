"""Questions of several passages against pairs: how many best answers the same work finds."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from prefjudge.core.hits import show_together
from prefjudge.core.judgments import worth_of_win
from prefjudge.core.planning.sure import Sure
from prefjudge.core.resolving.scales import one_scale
from prefjudge.core.strategies import Flags, Floats, LapseNoise, scale_of_error

ERROR, QUERIES = 0.33, 50
"""The share of wrong votes on a random pair; queries in each study."""
DESIGNS = (2, 3, 4)
POOLS = ((3, 6), (5, 15), (8, 30))
"""Pool sizes, and what each query may cost: so many pairs, or as many choices."""


def table(studies: int, seed: int) -> Iterator[str]:
    """Yield the lines of the table.

    ``right``: the share of queries whose most probable answer is the best; ``said``: the mean P(best) of
    these. ``more``: how many more of a hundred are right than by pairs, with the standard error.
    """
    wrong = f"{ERROR:.0%} of votes on a pair wrong; slips: half of them by chance"
    yield f"{studies * QUERIES:,} queries, {wrong}"
    yield "pool slips  as many  pairs: right said  of 3: right said  more   +-  of 4: right said  more   +-"
    for size, most in POOLS:
        for lapses in (0.0, 0.5):
            for by_time in (True, False):
                found = [_judged(size, lapses, most, by_time, many, studies, seed) for many in DESIGNS]
                pairs = found[0][0]
                cells = [f"{right.mean():12.3f} {said:.3f}" for right, said in found]
                more = [100.0 * (right * 1.0 - pairs) for right, _ in found[1:]]
                told = [f"{one.mean():+5.1f} {one.std() / one.size**0.5:4.1f}" for one in more]
                yield (
                    f"{size:4d} {'yes' if lapses else 'no':>5s}  {'minutes' if by_time else 'choices'} "
                    f"{cells[0]} {cells[1]} {told[0]} {cells[2]} {told[1]}"
                )


def _judged(
    size: int, lapses: float, most: int, by_time: bool, passages: int, studies: int, seed: int
) -> tuple[Flags, float]:
    """Return which queries are answered right, and what P(best) says of their answers on average."""
    # A pair costs one; three passages, which are read as well, one and a half, where time is what counts.
    noise, n = LapseNoise(error=ERROR, lapses=lapses), studies * QUERIES
    strength = np.random.default_rng([seed, size]).normal(0.0, noise.scale, (n, size))
    sure = replace(Sure(1.0), crowd=one_scale(scale_of_error(ERROR), lapses))
    votes, left = np.zeros((n, size, size)), np.full(n, float(most))
    rng = np.random.default_rng([seed, size, passages])
    going = np.arange(n)
    while going.size:
        before = left.copy()
        asked = sure.ask(votes[going])
        lacking: dict[int, dict[tuple[int, int], int]] = {}
        for pool, x, y, many in zip(
            going[asked.pool].tolist(), asked.x.tolist(), asked.y.tolist(), asked.votes.tolist(), strict=True
        ):
            lacking.setdefault(pool, {})[x, y] = many
        for pool, pairs in lacking.items():
            for many, shown in show_together(pairs, passages):
                cost = len(shown) / 2 if by_time else 1.0
                clicks = min(many, int(left[pool] / cost))
                left[pool] -= clicks * cost
                won = rng.multinomial(clicks, _chances(strength[pool, [*shown]], noise))
                among = np.ix_([pool], shown, shown)
                votes[among] += worth_of_win(len(shown)) * won[:, None] * (1.0 - np.eye(len(shown)))
        going = going[left[going] < before[going]]  # who is asked for nothing more, or more than is left
    chance = sure.believe(votes)[0]
    return chance.argmax(axis=1) == strength.argmax(axis=1), float(chance.max(axis=1).mean())


def _chances(strength: Floats, noise: LapseNoise) -> Floats:
    """Return how probably each passage is chosen: some choices are thrown by a die (Luce with lapses)."""
    weight = np.exp(strength - strength.max())
    return noise.tossed / strength.size + (1.0 - noise.tossed) * weight / weight.sum()
