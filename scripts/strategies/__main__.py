"""Which strategy finds the best with the fewest votes: ours, published ones, and what no method can beat.

    python scripts/strategies --pools 2 5 10 20 --errors .2 .33 .4 --noises bradley-terry constant

Prints, for each cell, the votes of a query and the share of right winners with its standard error, and what
share of its votes `sure` needs for the same share of right winners (between two of its levels by the log of
votes): 1 or less is as good. `patient` is the same where patience ends a pool, instead of a level. `sure`
learns how many of the wrong votes are lapses from those on 60 of the pools, as in a study of 60 queries.
`--brief` prints a line for each cell instead: the best strategy of today (the most right winners), its ratio,
and the least and greatest ratio to all of today's that no other beats in both votes and right winners.

With a constant error the last line of a cell is the least votes that any method needs which is wrong as
seldom as the best of today (Kaufmann, Cappé and Garivier 2016): to rule a candidate out, the votes must tell
the truth from the order with this candidate on top. Under Bradley and Terry pools differ, near ties take any
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

LEVELS = (0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999)
PATIENCE = (10, 20, 28, 40, 56, 80, 113, 160, 226, 320, 640, 1280, 2560, 5120)
FORM = "{:<30} {:>7} {:>15} {:>6} {:>7}"
BRIEF = "{:>4} {:>6} {:<14} {:<22} {:>6} {:>7} {:>6} {:>12} {:>12}"
FAMILIES: tuple[tuple[Strategy, ...], ...] = (
    tuple(Sure(level) for level in LEVELS),
    tuple(Sure(0.9999, patience=most) for most in PATIENCE),
)
TODAY = tuple(one for one in STRATEGIES if not isinstance(one, Sure))


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
    measured = [
        [(one.name, measure(one, noise, size, trials, seed)) for one in family] for family in FAMILIES
    ]
    pairs = size * (size - 1) // 2
    others: list[Strategy] = [DoubleThompson(2 * pairs), Asap(2 * pairs), CrowdBt(min(2 * pairs, 120))]
    others.append(TopTwoThompson(0.6))
    best = 0.0
    for strategy in [*TODAY, *others]:
        cost, right, error = measure(strategy, noise, size, trials, seed)
        best = max(best, right) if strategy in TODAY else best
        ratios = [f"{_needed(right, [found for _, found in family]) / cost:.2f}" for family in measured]
        row = (f"{cost:.1f}", f"{100 * right:.1f} +- {100 * error:.1f} %", *ratios)
        print(FORM.format(strategy.name, *row), flush=True)
    for name, (cost, right, error) in (one for family in measured for one in family):
        print(FORM.format(name, f"{cost:.1f}", f"{100 * right:.1f} +- {100 * error:.1f} %", "", ""))
    if isinstance(noise, ConstantNoise):
        bound = least_votes(noise.error, size, best)
        print(FORM.format("any method, at the least", f"{bound:.1f}", f"{100 * best:.1f} %", "", ""))


def brief(noise: Noise, size: int, trials: int, seed: int) -> tuple[str, ...]:
    """Return the columns of a cell's line."""
    today = {one.name: measure(one, noise, size, trials, seed)[:2] for one in TODAY}
    # None of those that cost no more finds as many.
    front = [
        name
        for name, (cost, right) in today.items()
        if not any(c <= cost and r >= right and (c, r) != (cost, right) for c, r in today.values())
    ]
    best = max(front, key=lambda name: today[name][1])
    columns = []
    for family in FAMILIES:
        measured = [measure(one, noise, size, trials, seed) for one in family]
        ratio = {name: _needed(today[name][1], measured) / today[name][0] for name in front}
        columns.append((f"{ratio[best]:.2f}", f"{min(ratio.values()):.2f} to {max(ratio.values()):.2f}"))
    (level, levels), (patient, patients) = columns
    cost, right = today[best]
    return best, f"{cost:.0f}", f"{100 * right:.1f} %", level, levels, patient, patients


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
    parser.add_argument("--brief", action="store_true", help="a line for each cell")
    options = parser.parse_args()
    if options.brief:
        heads = ("pool", "wrong", "noise", "best of today", "votes", "right", "sure", "of all")
        print(BRIEF.format(*heads, "patient, of all"))
    for size in options.pools:
        for error in options.errors:
            for kind in options.noises:
                noise: Noise = ConstantNoise(error=error)
                if kind == "bradley-terry":
                    noise = BradleyTerryNoise(scale=scale_of_error(error))
                if options.brief:
                    best, votes, right, *ratios = brief(noise, size, options.trials, options.seed)
                    level, levels, patient, patients = ratios
                    words = (level, levels, f"{patient}, {patients}")
                    print(BRIEF.format(size, f"{error:.0%}", kind, best, votes, right, *words), flush=True)
                    continue
                print(f"\npool {size}, {error:.0%} of votes wrong, {kind}")
                print(FORM.format("strategy", "votes", "right", "sure", "patient"))
                cell(noise, size, options.trials, options.seed)


if __name__ == "__main__":
    main()
