"""Simulate monthly new runs: challenges, beside judging everything afresh once.

    python scripts/upkeep 'runs/*.gz' --start 12

The runs after the first ``--start`` come in one by one, in an order that is drawn for each study. Prints a
row for each rule: the votes of all months on a query, and their share of those of one fresh judging at the
end; on what share of the queries the answers agree with a fresh judging, and name the true best; and how far
both are from a fresh judging's, with the standard error of the difference over queries. ``first`` is how many
votes on a query the first judging took.
"""

import argparse
from itertools import product

import numpy as np
from maintenance import Shares, Upkeep, simulate_upkeep

from prefjudge.core.planning.rounds import parse_strategy
from prefjudge.core.planning.sure import Sure
from prefjudge.core.pools import build_pools
from prefjudge.core.strategies import scale_of_error
from prefjudge.field.challenge import USUAL_RULE
from prefjudge.reading.given import expand
from prefjudge.reading.runs.heads import RunFiles

FORM = "{:<26} {:>7} {:>6} {:>6} {:>6} {:>15} {:>6} {:>15} {:>5} {:>5} {:>6}"
HEAD = (
    "answers",
    "votes",
    "share",
    "rounds",
    "agrees",
    "less fresh",
    "right",
    "less fresh",
    "start",
    "error",
)


def simulate(
    runs: list[str], *, start: int, error: float, strategy: str, rules: list[str], seed: int
) -> Upkeep:
    """Simulate the months of these run files, in an order drawn by the seed."""
    rng = np.random.default_rng(seed)
    paths = expand(runs)
    paths = [paths[place] for place in rng.permutation(len(paths))]
    challenges = [parse_strategy(rule) for rule in rules]
    return simulate_upkeep(
        build_pools(RunFiles(paths[:start]).top(1)),
        [build_pools(RunFiles([path]).top(1)) for path in paths[start:]],
        scale=scale_of_error(error),
        strategy=parse_strategy(strategy),
        rules=[rule for rule in challenges if isinstance(rule, Sure)],
        rng=rng,
    )


def table(studies: list[Upkeep], start: int, error: float) -> list[str]:
    """Return the rows over all studies: each rule, below one fresh judging."""
    queries = sum(one.right.size for one in studies)
    fresh = sum(one.votes for one in studies)
    agrees, right = (np.concatenate([getattr(one, name) for one in studies]) for name in ("agrees", "right"))
    first = sum(one.first_votes for one in studies) / queries
    of = (start, error, f"{first:.1f}")
    once = ("judged afresh, once", f"{fresh / queries:.1f}", "1.00", "")
    rows = [FORM.format(*once, *_column(agrees), *_column(right), *of)]
    for place, kept in enumerate(studies[0].kept):
        same = [one.kept[place] for one in studies]
        votes, rounds = sum(one.votes for one in same), sum(one.rounds for one in same) / len(same)
        rows.append(
            FORM.format(
                f"kept, {kept.rule}",
                f"{votes / queries:.1f}",
                f"{votes / fresh:.2f}",
                f"{rounds:.0f}",
                *_column(np.concatenate([one.agrees for one in same]), agrees),
                *_column(np.concatenate([one.right for one in same]), right),
                *of,
            )
        )
    return rows


def _column(values: Shares, fresh: Shares | None = None) -> tuple[str, str]:
    """Return the mean, and how far it is from a fresh judging's, with its standard error."""
    apart = values if fresh is None else values - fresh
    error = apart.std(ddof=1) / np.sqrt(apart.size)
    return (
        f"{values.mean():.3f}",
        f"+- {error:.3f}" if fresh is None else f"{apart.mean():+.3f} +- {error:.3f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", help="run files, or a quoted pattern")
    parser.add_argument(
        "--start", type=int, nargs="+", default=[12], help="how many runs make the first pools"
    )
    parser.add_argument(
        "--error", type=float, nargs="+", default=[0.33], help="the wrong votes on a random pair"
    )
    parser.add_argument("--strategy", default="default", help="how pools are judged in full")
    parser.add_argument("--rules", nargs="+", default=[USUAL_RULE.name], help="rules of challenges")
    parser.add_argument("--studies", type=int, default=3, help="how many crowds and orders of the runs")
    parser.add_argument("--seed", type=int, default=2021)
    options = vars(parser.parse_args())
    studies, seed = options.pop("studies"), options.pop("seed")
    cells = [*product(options.pop("start"), options.pop("error"))]
    print(f"{studies} studies")
    print(FORM.format(*HEAD, "first"))
    for start, error in cells:
        found = [
            simulate(**options, start=start, error=error, seed=seed + number) for number in range(studies)
        ]
        print("\n".join(table(found, start, error)), flush=True)


if __name__ == "__main__":
    main()
