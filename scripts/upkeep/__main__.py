"""Simulate a year of monthly new runs: challenges against judging every month's pools afresh.

    python scripts/upkeep 'runs/*.gz' --start 12

The runs after the first ``--start`` come in one by one. Prints one JSON object: what the months cost, and how
often the answers kept agree with a full judging of everything at the end, next to how often two such judgings
agree.
"""

import argparse
import json
from dataclasses import asdict

import numpy as np
from maintenance import Upkeep, simulate_upkeep

from prefjudge.core.asking.strategies import LeadStop
from prefjudge.core.judges.noise import scale_of_error
from prefjudge.core.planning.strategy_names import parse_strategy
from prefjudge.core.pooling.pools import build_pools
from prefjudge.engines.files.files import top
from prefjudge.gather.inputs import expand


def simulate(runs: list[str], *, start: int, error: float, strategy: str, lead: int, seed: int) -> Upkeep:
    """Simulate the months of these run files."""
    paths = expand(runs)
    first = build_pools(top(paths[:start], k=1))
    arrivals = [build_pools(top([path], k=1)) for path in paths[start:]]
    return simulate_upkeep(
        first,
        arrivals,
        scale=scale_of_error(error),
        strategy=parse_strategy(strategy),
        challenge=LeadStop(lead),
        rng=np.random.default_rng(seed),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", help="run files, or a quoted pattern; in the order of their names")
    parser.add_argument("--start", type=int, default=12, help="how many runs make the first pools")
    parser.add_argument("--error", type=float, default=0.33, help="the share of wrong votes on a random pair")
    parser.add_argument("--strategy", default="default", help="how pools are judged in full")
    parser.add_argument("--lead", type=int, default=5, help="the lead that decides a challenge")
    parser.add_argument("--seed", type=int, default=2021)
    options = parser.parse_args()
    found = simulate(**vars(options))
    print(json.dumps({"cost_share": round(found.cost_share, 4), **asdict(found)}, indent=2))


if __name__ == "__main__":
    main()
