"""Looking every day: how often the best run is ever ruled out, and when the first is told from all others."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from votings import Crowd

from prefjudge.core.judgments import Judgments
from prefjudge.core.runs import Scores
from prefjudge.evaluation.stability import Contenders, against_first, find_contenders
from prefjudge.evaluation.tests import sequential_p

QUERIES, DAYS, ERRORS = 200, 20, (0.2, 0.33)
ALPHA = 0.05
FORM = "{:<16} {:>5} {:<12} {:>8} {:>6} {:>6} {:>6} {:>8}"
HEAD = ("each day", "error", "runs", "studies", "out", "+-", "wrong", "told by")


def table(studies: int, seed: int) -> Iterator[str]:
    """Yield the lines of the table.

    ``out`` is how often a best run is ever ruled out: of runs that are equally good each is a best one, else
    it is the last of the crowd. ``wrong`` is the share of studies in which a run is ever told that is not
    better than all others, and ``told by`` the median day on which the best one is, "-" if not by the last.
    """
    yield FORM.format(*HEAD)
    for (name, days), error, family in product(WAYS.items(), ERRORS, ("nearly equal", "far apart")):
        rng = np.random.default_rng([seed, round(100 * error), [*WAYS].index(name), len(family)])
        out, wrong, told = [], [], []
        for _ in range(studies):
            crowd = Crowd(QUERIES, 1, error, family, rng)
            looks = [found for scores in days(crowd, rng) if (found := find_contenders(scores))]
            runs = [f"r{run}" for run in range(crowd.gain.shape[2])]
            best = runs if family == "nearly equal" else runs[-1:]
            out.append(np.mean([any(run not in look.contenders for look in looks) for run in best]))
            wrong.append(any(look.told and best != [look.run] for look in looks))
            told.append(_first_told(looks, best))
        deviation = float(np.std(out, ddof=1) / np.sqrt(studies))
        figures = (f"{figure:.3f}" for figure in (float(np.mean(out)), deviation, float(np.mean(wrong))))
        day = float(np.median(told))
        yield FORM.format(name, error, family, studies, *figures, "-" if day > DAYS else f"{day:.0f}")


EQUAL_FORM = "{:<16} {:>5} {:>4} {:>8} {:>6} {:>6} {:>6} {:>6} {:>6}"
EQUAL_HEAD = ("each day", "error", "runs", "studies", "pair", "+-", "out", "any", "+-")


def equal_table(numbers: Sequence[int], studies: int, seed: int) -> Iterator[str]:
    """Yield the lines of the table for so many runs that are equally good.

    ``pair`` is how often `compare --sequential` ever tells two of them apart that were named beforehand,
    ``out`` how often `status` ever rules a given one out, and ``any`` how often it rules out any of them.
    """
    yield EQUAL_FORM.format(*EQUAL_HEAD)
    for (name, days), error, runs in product(WAYS.items(), ERRORS, numbers):
        rng = np.random.default_rng([seed, round(100 * error), [*WAYS].index(name), runs])
        found = np.array([_wrongly_told(days, error, runs, rng) for _ in range(studies)], dtype=float)
        pair, out, once = found.mean(axis=0)
        off = found.std(axis=0, ddof=1) / np.sqrt(studies)
        figures = (f"{figure:.3f}" for figure in (pair, off[0], out, once, off[2]))
        yield EQUAL_FORM.format(name, error, runs, studies, *figures)


def _wrongly_told(
    days: Callable[[Crowd, np.random.Generator], Iterator[Scores]],
    error: float,
    runs: int,
    rng: np.random.Generator,
) -> tuple[bool, float, bool]:
    """Return whether two runs are ever told apart, the share of runs ever ruled out, and whether any is."""
    out, told = np.zeros(runs, dtype=np.bool_), False
    for scores in days(Crowd(QUERIES, 1, error, "nearly equal", rng, runs=runs), rng):
        order, p = against_first(scores)
        out[order[1:][p <= ALPHA]] = True
        difference = scores.values[:, :1] - scores.values[:, 1:2]
        told = told or bool(sequential_p(difference, 1.0)[0] <= ALPHA)
    return told, float(out.mean()), bool(out.any())


def _first_told(looks: list[Contenders], best: list[str]) -> int:
    days = (day for day, look in enumerate(looks, start=1) if look.told and best == [look.run])
    return next(days, DAYS + 1)


def query_by_query(crowd: Crowd, rng: np.random.Generator) -> Iterator[Scores]:
    """Each day some queries are judged whole: what is judged stays as it is."""
    scores = crowd.score(crowd.vote(rng))
    for day in range(1, DAYS + 1):
        judged = np.arange(len(scores.queries)) < day * QUERIES // DAYS
        yield replace(
            scores,
            queries=tuple(np.array(scores.queries)[judged].tolist()),
            values=scores.values[judged],
        )


def vote_by_vote(crowd: Crowd, rng: np.random.Generator) -> Iterator[Scores]:
    """Each day every pair gets one vote more: the answers change on the way."""
    cast: Judgments | None = None
    for _ in range(DAYS):
        more = crowd.vote(rng)
        cast = more if cast is None else _together(cast, more)
        yield crowd.score(cast)


def _together(one: Judgments, other: Judgments) -> Judgments:
    columns = ("query", "left", "right", "choice", "strength", "worker")
    return replace(
        one, **{name: np.concatenate([getattr(one, name), getattr(other, name)]) for name in columns}
    )


WAYS: dict[str, Callable[[Crowd, np.random.Generator], Iterator[Scores]]] = {
    "10 queries more": query_by_query,
    "a vote on each": vote_by_vote,
}
