"""What a study of 3, 50 or 500 queries says, and would say again: the examples of docs/how-sure.md."""

from collections.abc import Iterator

import numpy as np
from votings import Crowd

from prefjudge.evaluation.correlation import kendall_tau
from prefjudge.evaluation.firmness import paired_t_tests, rank_intervals

QUERIES, POOL, VOTES, ERROR, RUNS, ALPHA = (3, 50, 500), 5, 3, 0.33, 8, 0.05
HEAD = ("queries", "first", "same", "tau", "others", "tau", "from", "to", "told", "wrong")
FORM = "{:>7}" + " {:>7}" * 9


def table(studies: int, seed: int) -> Iterator[str]:
    """Yield the lines of the table; each study has queries and votes of its own.

    ``first`` is the share of studies whose first run is truly the best. ``same`` is the share in which the
    first run stays first when the same queries are voted on again, ``others`` when other queries are; tau is
    that of the two boards. ``from`` and ``to`` are the mean ends of the first run's rank interval. ``told``
    is the share of pairs of runs that `score` tells apart, and ``wrong`` the share of studies in which it
    tells any pair the wrong way round.
    """
    yield f"{RUNS} runs, pools of {POOL}, {VOTES} votes on a pair, {ERROR:.0%} wrong; {studies} studies"
    yield FORM.format(*HEAD)
    for queries in QUERIES:
        rng = np.random.default_rng([seed, queries])
        found = np.mean([_study(queries, rng) for _ in range(studies)], axis=0)
        yield FORM.format(queries, *(f"{figure:.2f}" for figure in found))


def _study(queries: int, rng: np.random.Generator) -> tuple[float, ...]:
    """Return the figures of one study, whose runs stand from the worst to the best."""
    crowd, elsewhere = (Crowd(queries, VOTES, ERROR, "far apart", rng, pool=POOL, runs=RUNS) for _ in "ab")
    scores, again, others = (one.score(one.vote(rng)) for one in (crowd, crowd, elsewhere))
    board = scores.values.mean(axis=0)
    first = int(board.argmax())
    interval = next(one for one in rank_intervals(scores, alpha=ALPHA) if one.run == scores.runs[first])
    tested = paired_t_tests(scores)
    told = (tested.p <= ALPHA) & (tested.difference != 0)
    figures = [float(first == RUNS - 1)]
    for other in (again.values.mean(axis=0), others.values.mean(axis=0)):
        figures += [float(other.argmax() == first), kendall_tau(board, other)]
    return (
        *figures,
        interval.highest,
        interval.lowest,
        float(told.mean()),
        float((told & (tested.difference < 0)).any()),
    )
