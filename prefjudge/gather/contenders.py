"""The top of a study's leaderboard, by the answers as far as they are known."""

from pathlib import Path

from prefjudge.core.planning.strategy_names import parse_strategy, taken_out
from prefjudge.core.planning.sure import Sure
from prefjudge.core.pooling.qrels import Qrels
from prefjudge.engines.files.files import RunFiles
from prefjudge.engines.files.reading import Reading
from prefjudge.errors import InputError, StudyError
from prefjudge.evaluation.scoring.judged_pairs import place_candidates
from prefjudge.evaluation.scoring.leave_one_out import pooled_documents
from prefjudge.evaluation.scoring.measures import Measure, score_matrix
from prefjudge.evaluation.testing.contenders import Contenders, find_contenders
from prefjudge.gather.inputs import paths_of
from prefjudge.gather.judgments import JudgmentInput
from prefjudge.gather.waiting_runs import split_runs
from prefjudge.study.settings import load_setting
from prefjudge.study.study import Study

_QUICK = 16 << 20
"""Bytes of run files that are read in about a second."""


def study_contenders(votes: JudgmentInput, labels: Qrels, *, wanted: bool | None) -> Contenders | None:
    """Say which runs of a study may still be the best; None where that is not known, or takes long.

    Parameters
    ----------
    votes : JudgmentInput
        The judgments of a study.
    labels : Qrels
        The best answers that they make.
    wanted : bool, optional
        Whether to read the runs; by default where they are small, and nothing is wrong with them.

    Raises
    ------
    InputError
        The runs are wanted and cannot be read, or their measure has no greatest score.
    StudyError
        They are wanted, and the queries were judged to tell two of them apart.
    """
    if wanted is False or votes.study is None or votes.pools is None or not labels.queries:
        return None
    try:
        ranked, _ = split_runs(votes.study)
        paths = paths_of(ranked, "run", votes.study.folder)
        if len(paths) < 2 or (wanted is None and sum(map(_size, paths)) > _QUICK):
            return None
        if len(paths) > 2:
            _refuse_chosen_queries(votes.study)
        config = votes.study.config
        runs = RunFiles(paths, Reading(order=config.pool.order))
        placed = place_candidates(pooled_documents(votes.pools), votes.copies, runs.judged)
        scores = score_matrix(placed.under(labels), placed.labels(labels), Measure.parse(config.measures[0]))
        return find_contenders(scores)
    except (InputError, StudyError):
        if wanted:
            raise
        return None


def _refuse_chosen_queries(study: Study) -> None:
    """Refuse queries that were chosen by how two runs score: of the other runs they are no fair sample."""
    with study.transaction(write=False) as db:
        strategy = load_setting(db, "strategy")
    parsed = None if strategy is None or taken_out(strategy) else parse_strategy(strategy)
    if isinstance(parsed, Sure) and parsed.runs:
        raise StudyError(
            f"only queries on which {' and '.join(parsed.runs)} may differ were judged",
            "They do not tell which of all runs is the best. Leave out --top.",
        )


def _size(path: str | Path) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:  # not a file of this machine
        return _QUICK + 1
