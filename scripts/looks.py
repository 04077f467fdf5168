"""How often two equal runs are ever called different, where one looks each day.

    python scripts/looks.py

Queries come in day after day, with the reciprocal ranks of two runs that are equally good; each day they are
compared, by the t test for one look and by `compare --sequential`. Prints the share of studies where
each ever falls to .05, with its standard error, and how often each finds runs that do differ at the end.
The sequential test must stay at 5 % or less.
"""

import argparse

import numpy as np

from prefjudge.evaluation.tests import sequential_test, t_test

ALPHA = 0.05


def reciprocal_ranks(queries: int, gain: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of two runs on queries as hard for both; the second is better by ``gain``."""
    hard = rng.beta(1.0, 1.5, queries)
    ranks = [rng.geometric(np.clip(hard + more, 0.02, 0.98)) for more in (0.0, gain)]
    one, other = (np.where(rank <= 10, 1.0 / rank, 0.0) for rank in ranks)
    return one, other


def study(days: int, a_day: int, gain: float, rng: np.random.Generator) -> np.ndarray:
    """Return whether either test ever fell to the level, and whether it was there on the last day."""
    one, other = reciprocal_ranks(days * a_day, gain, rng)
    found = []
    for day in range(1, days + 1):
        seen = (other - one)[: day * a_day]
        sums = np.array([seen.sum()]), np.array([(seen**2).sum()])
        once = float(t_test(*sums, seen.size)[1][0])
        found.append([once, float(sequential_test(seen[:, None], 1.0, ALPHA)[0][0])])
    p = np.array(found)
    return np.concatenate([(p <= ALPHA).any(axis=0), p[-1] <= ALPHA])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--days", type=int, default=20)
    parser.add_argument("--a-day", type=int, default=20, help="how many queries come in a day")
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("--gain", type=float, nargs="+", default=[0.0, 0.05, 0.1])
    parser.add_argument("--seed", type=int, default=18)
    options = parser.parse_args()
    print(
        f"{'gain':>5} {'t, ever':>14} {'sequential, ever':>17} {'t, last day':>14} {'sequential, last':>17}"
    )
    for gain in options.gain:
        rng = np.random.default_rng([options.seed, round(1000 * gain)])
        found = np.array(
            [study(options.days, options.a_day, gain, rng) for _ in range(options.studies)], dtype=float
        )
        mean, error = found.mean(axis=0), found.std(axis=0) / np.sqrt(options.studies)
        cells = [f"{share:.3f} +- {off:.3f}" for share, off in zip(mean, error, strict=True)]
        print(f"{gain:>5} {cells[0]:>14} {cells[1]:>17} {cells[2]:>14} {cells[3]:>17}", flush=True)


if __name__ == "__main__":
    main()
