"""Boards whose scores stay with an SQL engine."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from prefjudge.core.pooling.qrels import Scores
from prefjudge.engines.sql.scores import formula, tally_scores
from prefjudge.engines.sql.statements import SqlRuns
from prefjudge.errors import InputError
from prefjudge.evaluation.leaderboards.boards import Board
from prefjudge.evaluation.leaderboards.tallies import tally_leaderboard
from prefjudge.evaluation.scoring.measures import Measure
from prefjudge.evaluation.testing.intervals import Statistic
from prefjudge.formats.lines.problems import Notice
from prefjudge.gather.readers import Reader
from prefjudge.gather.score_inputs import ScoreInputs


def check_in_sql(engine: str, measures: Sequence[Measure], options: Mapping[str, object]) -> None:
    """Refuse what cannot be had while the scores stay with the engine, before a run is read."""
    if engine == "files":
        raise InputError(
            "--in-sql is for an engine that knows SQL", "Add --engine duckdb, or --engine spark."
        )
    unfit = [name for name, given in options.items() if given]
    if unfit:
        raise InputError(
            f"{', '.join(unfit)}: not where scores stay in SQL", f"Leave out {', '.join(unfit)}, or --in-sql."
        )
    for measure in measures:
        formula(measure)


def boards_in_sql(
    found: ScoreInputs,
    measures: Sequence[Measure],
    statistic: Statistic,
    reader: Reader,
    path: str | Path | None,
    notices: list[Notice],
) -> list[Board]:
    """Return a board for each label set and measure; the engine writes the score of each query to ``path``.

    The boards have no scores of queries, and nothing that would need them: tiers, tie sensitivity, and the
    perfect ranking, which each run meets query by query.
    """
    if len(found.qrels) > 1:
        what = "scores stay in SQL: no run is compared with the perfect ranking; leave out --in-sql for that"
        notices.append(Notice(where=found.qrels[0].name, what=what))
    runs = reader.runs
    assert isinstance(runs, SqlRuns)
    tallies = tally_scores(runs, found.qrels, measures, path=str(path) if path else None)
    nothing = np.zeros((0, len(runs)))
    return [
        Board(
            leaderboard=tally_leaderboard(
                tallies[labels.name, str(measure)], labels, measure, order=runs.how.order, statistic=statistic
            ),
            standings=(),
            ties=(),
            scores=Scores(
                measure=str(measure),
                qrels=labels.name,
                queries=(),
                runs=runs.tags,
                values=nothing,
                order=runs.how.order,
            ),
        )
        for labels in found.qrels
        for measure in measures
    ]
