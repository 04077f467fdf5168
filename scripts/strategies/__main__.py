"""Which strategy finds the best with the fewest votes: ours, published ones, and what no method can beat.

    python scripts/strategies --brief --pools 4 5 --errors .2 .33 .4 --families sure patient

Prints, for each cell, the votes of a query and the share of right winners with its standard error, and what
share of its votes `sure` needs for the same share of right winners (between two of its levels by the log of
votes): 1 or less is as good. `patient` is the same where patience ends a pool, instead of a level. `sure`
learns how many of the wrong votes are lapses from those on 60 of the pools, as in a study of 60 queries.

`--brief` prints a line for each cell and family instead. It compares the family with the strategies of today
that no other of them beats in both votes and right winners; these are simulated on ten times as many pools,
so that none is taken for the best by luck. `needs` is the share of its votes for as many right winners as the
best of them has (the most right winners), and its 95 % interval by samples of the pools; where the family
never has as many, it is the most that it has, and for which share of the votes. `hardest` is the strategy
beside which the family is worst in standard errors: how many more right winners (in points) the family has
for that one's votes, with the standard error, and the share of its votes for as many right winners.

With a constant error the last line of a cell is the least votes that any method needs which is wrong as
seldom as the best of today (Kaufmann, Cappé and Garivier 2016): to rule a candidate out, the votes must tell
the truth from the order with this candidate on top. Under Bradley and Terry pools differ, near ties take any
number of votes, and there is no such bound on the average.
"""

import argparse
import math
import os
from collections.abc import Sequence

import numpy as np
from brief import FAMILIES, NOISES, TODAY, noise_of, table, usual_trials
from published import Asap, CrowdBt, DoubleThompson, TopTwoThompson
from trials import Trials, curve, measure, needed

from prefjudge.core.asking.strategies import Floats, Strategy
from prefjudge.core.judges.noise import ConstantNoise, Noise

FORM = "{:<30} {:>7} {:>15} {:>6} {:>7}"


def least_votes(error: float, size: int, right: float) -> float:
    """Return the least votes of any method that is right so often, with a constant error.

    Against the order with a candidate on top the votes must carry kl(right, wrong). Each carries
    kl(1 - error, error) if it is on the candidate and one that is truly better: it serves one candidate only.
    """
    if not 0.5 < right < 1:
        return 0.0
    return (size - 1) * _divergence(right, 1 - right) / _divergence(1 - error, error)


def _divergence(p: float, q: float) -> float:
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def cell(noise: Noise, size: int, trials: int, seed: int) -> None:
    """Print the rows of a cell."""
    families = [[measure(one, noise, size, trials, seed) for one in some] for some in FAMILIES.values()]
    curves = [curve(*_means(family)) for family in families]
    pairs = size * (size - 1) // 2
    others: list[Strategy] = [DoubleThompson(2 * pairs), Asap(2 * pairs), CrowdBt(min(2 * pairs, 120))]
    others.append(TopTwoThompson(0.6))
    best = 0.0
    for strategy in [*TODAY, *others]:
        one = measure(strategy, noise, size, trials, seed)
        best = max(best, one.share) if strategy in TODAY else best
        print(_row(one, *(f"{needed(one.share, *line) / one.cost:.2f}" for line in curves)), flush=True)
    for one in (one for family in families for one in family):
        print(_row(one, "", ""))
    if isinstance(noise, ConstantNoise):
        bound = least_votes(noise.error, size, best)
        print(FORM.format("any method, at the least", f"{bound:.1f}", f"{100 * best:.1f} %", "", ""))


def _means(family: Sequence[Trials]) -> tuple[Floats, Floats]:
    return np.array([one.cost for one in family]), np.array([one.share for one in family])


def _row(one: Trials, *ratios: str) -> str:
    right = f"{100 * one.share:.1f} +- {100 * one.error:.1f} %"
    return FORM.format(one.name, f"{one.cost:.1f}", right, *ratios)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pools", type=int, nargs="+", default=[2, 5, 10, 20])
    parser.add_argument("--errors", type=float, nargs="+", default=[0.2, 0.33, 0.4])
    parser.add_argument("--noises", nargs="+", default=NOISES, choices=NOISES)
    parser.add_argument("--trials", type=int, help="pools of each size; fewer the larger by default")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="with --brief")
    parser.add_argument("--brief", action="store_true", help="a line for each cell and family")
    parser.add_argument("--families", nargs="+", default=["patient"], choices=FAMILIES, help="with --brief")
    options = parser.parse_args()
    places = [
        (size, error, kind) for size in options.pools for error in options.errors for kind in options.noises
    ]
    if not options.brief:
        for size, error, kind in places:
            print(f"\npool {size}, {error:.0%} of votes wrong, {kind}")
            print(FORM.format("strategy", "votes", "right", *FAMILIES))
            cell(noise_of(kind, error), size, options.trials or usual_trials(size), options.seed)
        return
    how = (options.trials, options.seed, options.families, options.processes)
    for line in table(places, *how):
        print(line, flush=True)


if __name__ == "__main__":
    main()
