"""How often the gate opens to a model that is as good as people, and to one that is worse by epsilon.

    python scripts/model_gate.py [--studies N] [--seed N]

Each pair of a study is judged by three people of a crowd, 15 % of whose votes are wrong; a query has six
pairs. Printed for several crowds: the votes, how many people or groups of people the gate tests, and the
share of the studies in which it opens to a model that is wrong as often as a person; and to one that is worse
by epsilon, because it also misreads 15 % of the queries and is wrong on all of their pairs.
"""

import argparse

import numpy as np
from numpy.typing import NDArray

from prefjudge.evaluation.models import EPSILON, SharedVotes, alternative_annotator

WRONG = 0.15
MISREAD = 0.15
PAIRS = 6
CROWDS = ((3, 20), (3, 40), (5, 40), (10, 40), (40, 20), (40, 40), (40, 100), (40, 400))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    border = worse_by_epsilon(rng)
    print(f"worse by epsilon: wrong on {border:.1%} of the pairs that it does not misread")
    print("people  queries  votes  tested  opens: as good  worse by epsilon")
    for people, queries in CROWDS:
        good, bad, tested = [], [], []
        for _ in range(asked.studies):
            gate = alternative_annotator("m", study(people, queries, WRONG, 0.0, rng))
            good.append(gate.open)
            tested.append(gate.people)
            bad.append(alternative_annotator("m", study(people, queries, border, MISREAD, rng)).open)
        print(
            f"{people:6}  {queries:7}  {gate.votes:5}  {np.mean(tested):6.1f}  {np.mean(good):14.3f}  "
            f"{np.mean(bad):16.3f}"
        )


def study(people: int, queries: int, wrong: float, misread: float, rng: np.random.Generator) -> SharedVotes:
    """Return the votes of three people on each pair, and a model's."""
    query = np.repeat(np.arange(queries), PAIRS)
    truth = rng.choice([-1, 1], query.size)

    def made(share: float | NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.int64]:
        return np.where(rng.random(shape) < share, -1, 1)

    shares = np.where(rng.random(queries) < misread, 1.0, wrong)[query]
    model = truth * made(shares, (query.size,))
    judges = rng.random((query.size, people)).argsort(axis=1)[:, :3]
    choice = truth[:, None] * made(WRONG, (query.size, 3))
    pair = np.repeat(np.arange(query.size), 3)
    return SharedVotes(
        query=query[pair], pair=pair, person=judges.ravel(), choice=choice.ravel(), model=model[pair]
    )


def worse_by_epsilon(rng: np.random.Generator) -> float:
    """Return how often a model is wrong elsewhere that misreads queries and is worse by epsilon in all."""
    low, high = 0.0, 0.5
    for _ in range(12):
        middle = (low + high) / 2
        gate = alternative_annotator("m", study(3, 20_000, middle, MISREAD, rng))
        low, high = (middle, high) if gate.difference > -EPSILON else (low, middle)
    return low


if __name__ == "__main__":
    main()
