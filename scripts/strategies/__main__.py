"""Which strategy finds the best with the fewest votes: ours, published ones, and what no method can beat.

    python scripts/strategies --pools 2 5 10 20 --errors .2 .33 .4 --noises bradley-terry constant

Prints, for each cell, the votes of a query and the share of right winners with its standard error, and what
share of its votes `sure` needs for the same share of right winners (between two of its levels by the log of
votes): 1 or less is as good. `patient` is the same where patience ends a pool, instead of a level. With a
constant error the last line of a cell is the least votes that any method needs which is wrong as seldom as
the best of today (Kaufmann, Cappé and Garivier 2016): to rule a candidate out, the votes must tell the
truth from the order with this candidate on top. Under Bradley and Terry pools differ, near ties take any
number of votes, and there is no such bound on the average.
"""

import argparse
import math

import numpy as np
from published import Asap, CrowdBt, DoubleThompson, TopTwoThompson

from prefjudge.core.asking.strategies import Strategy
from prefjudge.core.judges.noise import BradleyTerryNoise, ConstantNoise, Noise, scale_of_error
from prefjudge.core.planning.plan import STRATEGIES
from prefjudge.core.planning.simulation import play
from prefjudge.core.planning.strategy_names import of_size
from prefjudge.core.planning.sure import Sure

LEVELS = (0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.8, 0.9, 0.95, 0.99)
PATIENCE = (10, 20, 40, 80, 160, 320, 640, 1280, 2560)
FORM = "{:<30} {:>7} {:>15} {:>6} {:>7}"


def measure(
    strategy: Strategy, noise: Noise, size: int, trials: int, seed: int
) -> tuple[float, float, float]:
    """Return the votes of a pool, the share of right winners and its standard error."""
    pools, votes = np.random.default_rng(seed).spawn(2)
    chances, best = noise.draw_chances(trials, size, pools)
    cast, _ = play(strategy, chances, votes)
    leaders = of_size(strategy, size).leaders(cast)
    right = leaders[np.arange(trials), best] / leaders.sum(axis=1)
    return float(cast.sum() / trials), float(right.mean()), float(right.std() / np.sqrt(trials))


def _divergence(p: float, q: float) -> float:
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def least_votes(error: float, size: int, right: float) -> float:
    """Return the least votes of any method that is right so often, with a constant error.

    Against the order with a candidate on top the votes must carry kl(right, wrong). Each carries
    kl(1 - error, error) if it is on the candidate and one that is truly better: it serves one candidate only.
    """
    if not 0.5 < right < 1:
        return 0.0
    return (size - 1) * _divergence(right, 1 - right) / _divergence(1 - error, error)


def cell(noise: Noise, size: int, trials: int, seed: int) -> None:
    """Print the rows of a cell."""
    families = [[Sure(level) for level in LEVELS], [Sure(0.99, patience=most) for most in PATIENCE]]
    measured = [
        [(one.name, measure(one, noise, size, trials, seed)) for one in family] for family in families
    ]
    pairs = size * (size - 1) // 2
    today = [one for one in STRATEGIES if not isinstance(one, Sure)]
    others: list[Strategy] = [DoubleThompson(2 * pairs), Asap(2 * pairs), CrowdBt(min(2 * pairs, 120))]
    others.append(TopTwoThompson(0.6))
    best = 0.0
    for strategy in [*today, *others]:
        cost, right, error = measure(strategy, noise, size, trials, seed)
        best = max(best, right) if strategy in today else best
        ratios = [f"{_needed(right, [found for _, found in family]) / cost:.2f}" for family in measured]
        row = (f"{cost:.1f}", f"{100 * right:.1f} +- {100 * error:.1f} %", *ratios)
        print(FORM.format(strategy.name, *row), flush=True)
    for name, (cost, right, error) in (one for family in measured for one in family):
        print(FORM.format(name, f"{cost:.1f}", f"{100 * right:.1f} +- {100 * error:.1f} %", "", ""))
    if isinstance(noise, ConstantNoise):
        bound = least_votes(noise.error, size, best)
        print(FORM.format("any method, at the least", f"{bound:.1f}", f"{100 * best:.1f} %", "", ""))


def _needed(right: float, measured: list[tuple[float, float, float]]) -> float:
    """Return the votes at which strategies of ascending cost have this share of right winners."""
    votes, share = (np.array([found[place] for found in measured]) for place in (0, 1))
    if share.max() < right:
        return math.inf
    return math.exp(np.interp(right, np.maximum.accumulate(share), np.log(votes)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pools", type=int, nargs="+", default=[2, 5, 10, 20])
    parser.add_argument("--errors", type=float, nargs="+", default=[0.2, 0.33, 0.4])
    parser.add_argument("--noises", nargs="+", default=["bradley-terry", "constant"])
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--seed", type=int, default=18)
    options = parser.parse_args()
    for size in options.pools:
        for error in options.errors:
            for kind in options.noises:
                noise: Noise = ConstantNoise(error=error)
                if kind == "bradley-terry":
                    noise = BradleyTerryNoise(scale=scale_of_error(error))
                print(f"\npool {size}, {error:.0%} of votes wrong, {kind}")
                print(FORM.format("strategy", "votes", "right", "sure", "patient"))
                cell(noise, size, options.trials, options.seed)


if __name__ == "__main__":
    main()
