"""The leaderboard rows that move when the best-known answers change."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from prefjudge.core.pooling.qrels import Qrels
from prefjudge.engines.files.files import RunFiles
from prefjudge.engines.files.reading import Reading
from prefjudge.errors import InputError
from prefjudge.evaluation.leaderboards.correlation import RankShift, correlate
from prefjudge.evaluation.leaderboards.leaderboard import leaderboard
from prefjudge.evaluation.scoring.judged_pairs import relabel, union_documents
from prefjudge.evaluation.scoring.measures import Measure, score_matrix
from prefjudge.formats.lines.blocks import can_reread
from prefjudge.formats.lines.digests import digest
from prefjudge.study.pooling import load_copies, load_inputs
from prefjudge.study.study import Study


def find_moves(
    study: Study, versions: Sequence[Qrels], notices: list[str], *, without: Collection[str] = ()
) -> list[tuple[RankShift, ...]]:
    """Return, for each version of the answers, the runs whose rank differs from that under the one before.

    The leaderboards are those of the study's runs by its first measure. Runs that are gone or were changed
    are left out, with a notice: what was judged must not be lost for them. So are the runs whose names are
    in ``without``.
    """
    still: list[tuple[RankShift, ...]] = [() for _ in versions]
    runs = unchanged_runs(study, notices, without) if len(versions) > 1 else []
    if not runs:
        return still
    with study.transaction(write=False) as db:
        copies = load_copies(db)
    versions = [copies.spread(answers) for answers in versions]
    measure, documents = Measure.parse(study.config.measures[0]), union_documents(versions)
    ranks = RunFiles(runs, Reading(order=study.config.pool.order)).judged(documents)
    boards = [
        leaderboard(score_matrix(relabel(ranks, documents, qrels), qrels, measure)) for qrels in versions
    ]
    for place in range(1, len(boards)):
        shifts = correlate(boards[place - 1], boards[place]).shifts
        still[place] = tuple(shift for shift in shifts if shift.shift)
    return still


def _digest(path: Path) -> str:
    """Return the digest of a file, nothing where it is gone."""
    with suppress(InputError):
        return digest(path) if can_reread(path) else ""
    return ""


def unchanged_runs(study: Study, notices: list[str], without: Collection[str]) -> list[str]:
    """Return the study's run files; one that is gone or was changed is left out with a notice."""
    with study.transaction(write=False) as db:
        runs = [found for found in load_inputs(db) if found.kind == "run" and found.name not in without]
    kept = []
    for found in runs:
        path = Path(found.path)
        now = _digest(path)
        if now == found.digest:
            kept.append(found.path)
        else:
            what = "has changed since it was pooled" if now else "is gone"
            notices.append(f"{path} {what}: the leaderboards are without run {found.name}")
    return kept
