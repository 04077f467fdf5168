"""Pools of two, without chance: how many votes a lead and a patient `sure` need, and the best possible rule.

    python scripts/strategies/pools_of_two.py

A pool of two is a walk over the votes for each side, so that the votes and the share of right winners of a
rule are sums over all walks. Prints, for each lead, its votes and its share of right winners, and what share
of its votes others need for the same (by the log of votes between two of them): `sure:99/N` at its best N,
`sure:P` at its best P, and the rule that no other beats, which looks ahead over all that may follow, for a
price of each vote.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import comb, sqrt

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.asking.strategies import LeadStop, Strategy
from prefjudge.core.judges.noise import scale_of_error
from prefjudge.core.planning.sure import Sure
from prefjudge.core.resolving.scales import one_scale

Floats = NDArray[np.float64]
Rule = list[NDArray[np.int64]]
"""How many votes to ask for next, by the votes so far and by those for the first candidate."""
Found = tuple[float, float]
"""Votes of a pool, and the share of right winners."""
MOST = 130
PATIENCE = (10, 20, 28, 40, 56, 80, 112, 160, 226, 320, 453, 640, 1280, 2560)
LEVELS = (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99)
PRICES = np.geomspace(0.0003, 0.08, 24).tolist()
FORM = "{:<14} {:>6} {:<8} {:>6} {:>8} {:>8} {:>6} {:>9}"


class Crowd:
    """How probable it is that a vote is right, and of how many pools: the first candidate is the better."""

    def __init__(self, noise: str, error: float, nodes: int = 40) -> None:
        if noise == "constant":
            self.right, self.share = np.array([1.0 - error]), np.ones(1)
            self.known = replace(one_scale(scale_of_error(error)), lapses=np.ones(1))
            return
        points, weights = np.polynomial.legendre.leggauss(nodes)
        gap = 5.0 * (points + 1.0)  # standard deviations of the difference of two strengths
        scale = scale_of_error(error)
        self.known = one_scale(scale)
        self.right = 1.0 / (1.0 + np.exp(-sqrt(2.0) * scale * gap))
        self.share = np.exp(-0.5 * gap**2) * weights
        self.share /= self.share.sum()

    def likely(self, votes: int) -> Floats:
        """Return how probable it is that just these votes are right, by their number, shape (votes + 1,)."""
        right = np.arange(votes + 1)[:, None]
        return np.asarray((self.right**right * (1.0 - self.right) ** (votes - right)) @ self.share)


def asked_by(strategy: Strategy) -> Rule:
    """Return what a strategy asks for."""
    rule = []
    for total in range(MOST):
        votes = np.zeros((total + 1, 2, 2))
        votes[:, 0, 1] = np.arange(total + 1)
        votes[:, 1, 0] = total - votes[:, 0, 1]
        asked, wanted = strategy.ask(votes), np.zeros(total + 1, dtype=np.int64)
        wanted[asked.pool] = asked.votes
        rule.append(wanted)
    return rule


def best_rule(crowd: Crowd, price: float) -> Rule:
    """Return the rule whose share of right winners, less the price of its votes, is the greatest."""
    rule: Rule = [np.zeros(total + 1, dtype=np.int64) for total in range(MOST)]
    value = np.zeros(0)
    for total in range(MOST - 1, -1, -1):
        likely = crowd.likely(total)
        either = likely + likely[::-1]
        stop = np.maximum(likely, likely[::-1]) / either
        if value.size:
            next_right = crowd.likely(total + 1)
            first = (next_right[1:] + next_right[::-1][1:]) / either
            further = first * value[1:] + (1.0 - first) * value[:-1] - price
            rule[total] = (further > stop + 1e-12).astype(np.int64)
            stop = np.maximum(stop, further)
        value = stop
    return rule


def play(rule: Rule, crowd: Crowd) -> Found:
    """Return the votes and the share of right winners of a rule."""
    mass = [np.zeros((total + 1, crowd.right.size)) for total in range(2 * MOST)]
    mass[0][0] = crowd.share
    votes = found = 0.0
    for total, wanted in enumerate(rule):
        ended = wanted == 0
        over = mass[total][ended].sum(axis=1)
        votes += total * float(over.sum())
        lead = 2 * np.flatnonzero(ended) - total
        found += float(over @ (0.5 * (1.0 + np.sign(lead))))
        for many in np.unique(wanted[~ended]).tolist():
            some = np.flatnonzero(wanted == many)
            for right in range(many + 1):
                chance = comb(many, right) * crowd.right**right * (1.0 - crowd.right) ** (many - right)
                mass[total + many][some + right] += mass[total][some] * chance
    return votes, found


def needed(right: float, rules: Sequence[Found]) -> float:
    """Return the votes at which rules have this share of right winners."""
    votes, share = (np.array(column) for column in zip(*sorted(rules), strict=True))
    if share.max() < right:
        return float("inf")
    return float(np.exp(np.interp(right, np.maximum.accumulate(share), np.log(votes))))


def table(noises: Sequence[str], errors: Sequence[float]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield FORM.format("noise", "wrong", "strategy", "votes", "right", "patient", "level", "any rule")
    for noise in noises:
        for error in errors:
            crowd = Crowd(noise, error)
            sure = (
                [Sure(0.99, patience=most, crowd=crowd.known) for most in PATIENCE],
                [Sure(level, crowd=crowd.known) for level in LEVELS],
            )
            ours = [[play(asked_by(one), crowd) for one in family] for family in sure]
            best = [play(best_rule(crowd, price), crowd) for price in PRICES]
            for lead in (2, 3):
                votes, right = play(asked_by(LeadStop(lead)), crowd)
                ratios = (f"{needed(right, rules) / votes:.2f}" for rules in (*ours, best))
                yield FORM.format(
                    noise, f"{error:.0%}", f"lead:{lead}", f"{votes:.2f}", f"{100 * right:.1f} %", *ratios
                )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--noises", nargs="+", default=["bradley-terry", "constant"])
    parser.add_argument("--errors", type=float, nargs="+", default=[0.2, 0.33, 0.4])
    options = parser.parse_args()
    for line in table(options.noises, options.errors):
        print(line, flush=True)


if __name__ == "__main__":
    main()
