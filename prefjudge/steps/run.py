"""Drives a study by a strategy: publish, collect, prune and go on, until it is through or the budget is."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.core.challenge import Duel
from prefjudge.core.qrels import Qrels
from prefjudge.core.rounds import Round
from prefjudge.errors import BudgetError, StudyError
from prefjudge.steps.drives import Drive, find_drive
from prefjudge.study.answers import last_version, save_answers, save_conclusion
from prefjudge.study.assignments import load_judgments
from prefjudge.study.hits import HitStatus
from prefjudge.study.ledger import committed_cents
from prefjudge.study.pooling import save_wanted
from prefjudge.study.progress import count_hits
from prefjudge.study.study import Study

if TYPE_CHECKING:
    from prefjudge.core.judgments import Judgments
    from prefjudge.evaluation.correlation import RankShift
    from prefjudge.steps.publish import PublishResult

_MOST_ROUNDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How a study was driven to its end, or how far the budget reached."""

    strategy: str
    rounds: int
    judgments: int
    committed: Decimal
    queries: int
    unfinished: int
    qrels: int
    version: int
    duels: tuple[Duel, ...]
    moved: tuple["RankShift", ...]
    stopped_by: str
    out: str


def run(
    study: str | Path,
    *,
    strategy: str | None = None,
    model: str | None = None,
    live: bool = False,
    yes: bool = False,
    workers: int = 0,
    error: float = 0.2,
    careless: int = 0,
    truth: str | Path | None = None,
    every: float = 60.0,
    confirm: Callable[["PublishResult"], bool] | None = None,
    tell: Callable[[str], None] | None = None,
) -> RunResult:
    """Have a study judged round after round, without a person in between, and write its preference qrels.

    An interrupted run is taken up where it stopped. Where a challenge is open, that is what is judged.

    Parameters
    ----------
    study : Path
        The study, with its pool and gold pairs.
    strategy : str, optional
        What to ask for: ``default``, ``round-robin:VOTES``, ``halving:VOTESxFACTOR``, ``knockout:VOTES`` or
        ``lead:LEAD``. A study keeps the one that it began with.
    model : str, optional
        Let the votes of this model (see ``judge``) say which candidate is tried first, and veto those that
        lose to all others. People settle the rest. A study keeps this, too.
    live : bool
        Publish to the live target.
    yes : bool
        Publish without asking ``confirm``, which is asked once.
    workers, error, careless, truth
        Let so many simulated workers judge, as ``work`` does (sandbox only). Without, people do.
    every : float
        Seconds between looks at the marketplace while people work.
    confirm : callable, optional
        Shown the first round's estimate and the budget.
    tell : callable, optional
        Told each step in a line.

    Raises
    ------
    StudyError
        There is no pool, the strategy is another than the study's, or nobody said yes.
    """
    from prefjudge.formats.qrels import write_qrels
    from prefjudge.steps.collect import collect
    from prefjudge.steps.publish import publish
    from prefjudge.steps.resolve import QRELS_FILE
    from prefjudge.steps.serve import keep_open
    from prefjudge.steps.work import work

    opened, tell = Study(study), tell or (lambda _: None)
    if live and workers:
        raise StudyError("simulated workers do not work for real money", "Leave out --live or --workers.")
    drive = find_drive(opened, strategy, model)
    rounds, stopped_by = 0, "nothing left to ask"
    with keep_open(opened.folder):
        try:
            while True:
                while _any_open(opened):
                    if workers:
                        work(study, workers=workers, error=error, careless=careless, truth=truth)
                    state = collect(study, live=live)
                    tell(f"{state.judgments:,} judgments count; {state.open} HITs are open")
                    if not state.finished and not workers:
                        time.sleep(every)
                asked = drive.next(_log(opened))
                if not len(asked.pairs) or rounds >= _MOST_ROUNDS:
                    break
                rounds += 1
                _want(opened, asked)
                votes, waiting = int(asked.votes.sum()), int(asked.open.sum())
                tell(f"round {rounds}: {votes:,} votes on {len(asked.pairs):,} pairs of {waiting:,} queries")
                publish(study, sandbox=not live, live=live, yes=yes or rounds > 1, confirm=confirm)
        except BudgetError as error_:
            stopped_by = f"the budget ({error_.message})"
    log = _log(opened)
    qrels, duels = drive.conclude(log)
    out = opened.folder / QRELS_FILE
    moved = _moved(opened, out, qrels) if drive.challenge else ()
    version = _keep_answers(opened, qrels, out, drive, duels)
    write_qrels(out, qrels)
    with opened.transaction(write=False) as db:
        committed = Decimal(committed_cents(db)) / 100
    return RunResult(
        strategy=drive.name,
        rounds=rounds,
        judgments=len(log),
        committed=committed,
        queries=len(drive.next(log).open),
        unfinished=int(drive.next(log).open.sum()),
        qrels=int(qrels.query.size),
        version=version,
        duels=duels,
        moved=moved,
        stopped_by=stopped_by,
        out=str(out),
    )


def _want(study: Study, asked: Round) -> None:
    pairs = asked.pairs
    with study.transaction() as db:
        save_wanted(
            db,
            [
                (pairs.queries[query], pairs.docs[a], pairs.docs[b], votes)
                for query, a, b, votes in zip(
                    pairs.query.tolist(),
                    pairs.doc_a.tolist(),
                    pairs.doc_b.tolist(),
                    asked.votes.tolist(),
                    strict=True,
                )
            ],
        )


def _log(study: Study) -> "Judgments":
    with study.transaction(write=False) as db:
        return load_judgments(db)


def _any_open(study: Study) -> bool:
    with study.transaction(write=False) as db:
        return count_hits(db).get(HitStatus.OPEN, 0) > 0


def _moved(study: Study, before: Path, after: Qrels) -> tuple["RankShift", ...]:
    """Return the runs whose place on the leaderboard changes with the answers."""
    from prefjudge.engines.files import judged
    from prefjudge.evaluation.correlation import correlate
    from prefjudge.evaluation.leaderboard import Leaderboard, leaderboard
    from prefjudge.evaluation.measures import Measure, score_matrix
    from prefjudge.formats.qrels import read_qrels
    from prefjudge.study.pooling import load_inputs

    with study.transaction(write=False) as db:
        runs = [found.path for found in load_inputs(db) if found.kind == "run"]
    measure = Measure.parse(study.config.measures[0])

    def board(labels: Qrels) -> Leaderboard:
        ranks = judged(runs, labels, order=study.config.pool.order)
        return leaderboard(score_matrix(ranks, labels, measure))

    shifts = correlate(board(read_qrels(before, name="before")), board(replace(after, name="after"))).shifts
    return tuple(shift for shift in shifts if shift.shift)


def _keep_answers(study: Study, qrels: Qrels, out: Path, drive: Drive, duels: tuple[Duel, ...]) -> int:
    """Record the answers as a version; a challenge makes a new one and leaves the old file beside it."""
    with study.transaction() as db:
        version = max(last_version(db), 1)
        if drive.challenge is not None:
            if out.is_file():
                out.replace(out.with_name(f"{out.stem}-v{version}{out.suffix}"))
            version += 1
            save_conclusion(db, drive.challenge.number, duels, time.time())
        save_answers(db, version, qrels)
    return version
