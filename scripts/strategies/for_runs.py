"""How many votes tell two runs apart: `run --for runs`, beside `run --sure` and the same votes on all pairs.

    python scripts/strategies/for_runs.py --queries 100 --pool 6 --studies 200

Each study has two runs, one of which ranks the candidates better by a little, and the score of a query is
the reciprocal rank of its best answer. Prints, for each way to spend votes, the votes of a query; in what
share of the studies the better run by the answers found is the better one by the true answers (a half where
the two are even), with its standard error; how sure `--for runs` said that it is; and what share of these
votes `--for runs` needs for the same share of right orders, between two of its levels by the log of votes.
"""

import argparse
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.asking.strategies import Asked, Floats, RoundRobin, Strategy
from prefjudge.core.judges.noise import scale_of_error
from prefjudge.core.planning.neighbours import RunGains, find_neighbours
from prefjudge.core.planning.rounds import in_turn, within
from prefjudge.core.planning.simulation import play
from prefjudge.core.planning.sure import Sure
from prefjudge.core.planning.worth import worth
from prefjudge.core.resolving.scales import one_scale

LEVELS = (0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
OTHERS: tuple[Strategy, ...] = (
    RoundRobin(1),
    RoundRobin(2),
    RoundRobin(3),
    RoundRobin(5),
    Sure(0.4),
    Sure(0.5),
    Sure(0.7),
    Sure(0.9),
)
WEAKEST = 0.5
FORM = "{:<16} {:>7} {:>15} {:>7} {:>9}"


@dataclass(frozen=True, kw_only=True)
class Study:
    """Candidates of known strengths, and what two runs score where each of them is the best."""

    chances: Floats
    best: NDArray[np.intp]
    gains: RunGains

    @property
    def query(self) -> NDArray[np.intp]:
        """The query of each row of the gains."""
        n, size = self.chances.shape[:2]
        return np.repeat(np.arange(n), size)

    def lead(self, answer: NDArray[np.intp]) -> float:
        """Return by how much the first run scores more under these answers, summed over the queries."""
        rows = np.arange(answer.size) * self.chances.shape[1] + answer
        return float((self.gains.gain[rows, 0] - self.gains.gain[rows, 1]).sum())


def draw(queries: int, size: int, scale: float, apart: float, rng: np.random.Generator) -> Study:
    """Draw a study whose runs rank the candidates by their strengths and noise, the first one better."""
    strength = rng.standard_normal((queries, size))
    skill = WEAKEST + np.array([apart, 0.0])
    ranked = strength[:, :, None] * skill + rng.standard_normal((queries, size, 2))
    gain = 1.0 / (1 + np.argsort(np.argsort(-ranked, axis=1), axis=1))
    gap = scale * (strength[:, :, None] - strength[:, None, :])
    return Study(
        chances=0.5 * (1.0 + np.tanh(0.5 * gap)),
        best=strength.argmax(axis=1),
        gains=RunGains(runs=("one", "other"), gain=gain.reshape(-1, 2)),
    )


def judge_for_runs(study: Study, sure: Sure, rng: np.random.Generator) -> tuple[Floats, float]:
    """Ask as `run --for runs` does until nothing is asked; return the votes, and how sure the order is."""
    votes = np.zeros_like(study.chances)
    n, size = votes.shape[:2]
    rows = np.arange(n * size).reshape(n, size)
    while True:
        chance = sure.believe(votes)
        aim = find_neighbours(study.gains, study.query, chance.ravel())
        stakes = aim.stakes(rows, sure.level)
        asked = sure.ask_by(votes, chance, stakes)
        value = worth(votes, chance, stakes, crowd=sure.crowd)
        value[~votes.any(axis=(1, 2))] = np.inf
        most = in_turn([asked.votes], [value[asked.pool]], None, math.ceil(sure.share * votes.sum()))
        (wanted,) = within(most, [asked.votes], [value[asked.pool]])
        if not wanted.any():
            return votes, aim.chance
        _vote(votes, Asked(asked.pool, asked.x, asked.y, wanted), study.chances, rng)


def _vote(votes: Floats, asked: Asked, chances: Floats, rng: np.random.Generator) -> None:
    for_x = rng.binomial(asked.votes, chances[asked.pool, asked.x, asked.y])
    votes[asked.pool, asked.x, asked.y] += for_x
    votes[asked.pool, asked.y, asked.x] += asked.votes - for_x


def judge(study: Study, strategy: Strategy, rng: np.random.Generator) -> tuple[float, float, float]:
    """Return the votes of a query, whether the order is right, and how sure it was said to be."""
    said = math.nan
    if isinstance(strategy, Sure) and strategy.runs is not None:
        votes, said = judge_for_runs(study, strategy, rng)
    else:
        votes, _ = play(strategy, study.chances, rng)
    leaders = strategy.leaders(votes)
    # Several that are even: each is drawn alike.
    answer = np.where(leaders, rng.random(leaders.shape), 0.0).argmax(axis=1)
    right = np.sign(study.lead(answer)) * np.sign(study.lead(study.best))
    return float(votes.sum() / len(votes)), (1.0 + float(right)) / 2, said


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--pool", type=int, default=6)
    parser.add_argument("--error", type=float, default=0.33, help="the share of wrong votes on a random pair")
    parser.add_argument("--apart", type=float, default=0.3, help="how much better one run ranks")
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--seed", type=int, default=18)
    options = parser.parse_args()
    scale = scale_of_error(options.error)
    crowd = one_scale(scale)
    for_runs: list[Strategy] = [Sure(level, crowd=crowd, runs=()) for level in LEVELS]
    others = [Sure(one.level, crowd=crowd) if isinstance(one, Sure) else one for one in OTHERS]
    found: dict[str, list[tuple[float, float, float]]] = {one.name: [] for one in [*others, *for_runs]}
    for number in range(options.studies):
        pools, votes = np.random.default_rng([options.seed, number]).spawn(2)
        study = draw(options.queries, options.pool, scale, options.apart, pools)
        if study.lead(study.best) == 0.0:
            continue  # there is no order to find
        for strategy in [*others, *for_runs]:
            rng = np.random.default_rng(votes.integers(1 << 32))
            found[strategy.name].append(judge(study, strategy, rng))
    table = {name: np.array(rows) for name, rows in found.items()}
    ours = np.array([table[one.name].mean(axis=0)[:2] for one in for_runs])
    print(FORM.format("strategy", "votes", "right order", "said", "for runs"))
    for name, rows in table.items():
        votes, right, said = rows.mean(axis=0).tolist()
        error = rows[:, 1].std() / math.sqrt(len(rows))
        needed = math.exp(np.interp(right, np.maximum.accumulate(ours[:, 1]), np.log(ours[:, 0]))) / votes
        share = "" if not math.isnan(said) else "-" if right > ours[:, 1].max() else f"{needed:.2f}"
        told = "" if math.isnan(said) else f"{said:.3f}"
        print(FORM.format(name, f"{votes:.1f}", f"{100 * right:.1f} +- {100 * error:.1f} %", told, share))


if __name__ == "__main__":
    main()
