"""How often the interval of people and a model together holds, and how wide it is, by simulation.

    python scripts/model_worth.py [--studies N] [--seed N] [--brief]

Of each study, people judge a random sample of the queries and a model judges all of them. Printed for several
sizes and models: in what share of the studies the 95 % interval of people alone, and that of both, holds the
true share; its width beside that of people alone, on average and at worst; and how many queries it saves.
``--brief`` prints a row for each model: the least and the mean of these over the sizes.
"""

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from prefjudge.evaluation.models import prediction_powered_mean

Floats = NDArray[np.float64]
Model = Callable[[Floats, np.random.Generator], Floats]


def noisy(wrong: float) -> Model:
    """Say what people say, but for a share of the queries."""
    return lambda truth, rng: np.where(rng.random(truth.size) < wrong, 1 - truth, truth)


def easy_ones(wrong: float) -> Model:
    """Judge but half of the queries, in which the share is another; NaN is said of the others."""

    def said(truth: Floats, rng: np.random.Generator) -> Floats:
        easy = rng.random(truth.size) < np.where(truth == 1, 0.8, 0.2)
        return np.where(easy, noisy(wrong)(truth, rng), np.nan)

    return said


MODELS: dict[str, Model] = {
    "2 % wrong": noisy(0.02),
    "10 % wrong": noisy(0.1),
    "30 % wrong": noisy(0.3),
    "a coin": noisy(0.5),
    "biased": lambda truth, rng: (rng.random(truth.size) < 0.95).astype(float),
    "biased, half right": lambda truth, rng: np.where(rng.random(truth.size) < 0.5, 1.0, truth),
    "against people": noisy(0.8),
    "easy ones, 10 % wrong": easy_ones(0.1),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--brief", action="store_true")
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in MODELS}
    if not asked.brief:
        print("people's  others  share  model                   people   both  width  worst  saved")
    for judged, others in ((15, 300), (30, 300), (30, 30), (100, 1000), (500, 6000)):
        for share in (0.5, 0.8, 0.1):
            for name, model in MODELS.items():
                cell = row(judged, others, share, model, asked.studies, rng)
                found[name].append(cell)
                if not asked.brief:
                    people, both, width, worst, saved = cell
                    print(
                        f"{judged:8}  {others:6}  {share:5}  {name:22}  "
                        f"{people:6.3f} {both:6.3f} {width:6.2f} {worst:6.2f} {saved:6.0f}"
                    )
    if asked.brief:
        print("model                   people: least  mean  both: least  mean  width  worst")
        for name, cells in found.items():
            (people, both, width, worst, _), least = np.mean(cells, axis=0), np.min(cells, axis=0)
            print(
                f"{name:22}  {least[0]:13.3f} {people:5.3f} {least[1]:12.3f} {both:5.3f} {width:6.2f} "
                f"{np.max(cells, axis=0)[3]:6.2f}"
            )


def row(
    judged: int, others: int, share: float, model: Model, studies: int, rng: np.random.Generator
) -> tuple[float, ...]:
    """Return the figures of one cell."""
    held, width, saved = np.zeros((studies, 2)), np.zeros(studies), np.zeros(studies)
    for study in range(studies):
        truth = (rng.random(judged + others) < share).astype(float)
        said = model(truth, rng)
        elsewhere = said[judged:]
        found = prediction_powered_mean(truth[:judged], said[:judged], elsewhere[~np.isnan(elsewhere)])
        held[study] = (
            found.people_low <= share <= found.people_high,
            found.both_low <= share <= found.both_high,
        )
        width[study] = (found.both_high - found.both_low) / (found.people_high - found.people_low)
        saved[study] = found.saved
    people, both = held.mean(axis=0).tolist()
    return people, both, float(width.mean()), float(width.max()), float(saved.mean())


if __name__ == "__main__":
    main()
