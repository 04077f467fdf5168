"""The judgments that a step works on, from a study or from a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.errors import InputError, StudyError

if TYPE_CHECKING:
    import numpy as np

    from prefjudge.core.judgments import Judgments
    from prefjudge.core.pools import Pools
    from prefjudge.formats.problems import Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes:
    """The judgments to resolve: of a study, with its pools and its rule, or of a file."""

    study: Path | None
    log: "Judgments"
    pools: "Pools | None"
    rule: str
    notices: list["Notice"]


def gather_votes(
    study: Path | None, judgments: Path | None, without: Sequence[str] = (), *, verb: str
) -> Votes:
    """Read the judgments, less those of the workers in ``without``.

    Raises
    ------
    InputError
        The file cannot be read, a worker is unknown, or neither a study nor a file is given.
    StudyError
        The study has no judgments.
    """
    from prefjudge.formats.judgments import read_judgments

    if (study is None) == (judgments is None):
        raise InputError(
            f"{verb} takes either a study or a file of judgments",
            f"For instance: prefjudge {verb} STUDY, or: prefjudge {verb} --judgments FILE",
        )
    notices: list[Notice] = []
    if judgments is not None:
        log, pools, rule = read_judgments(judgments, notices=notices), None, "shallow-pooling"
    else:
        assert study is not None
        log, pools, rule = _of_study(study)
    return Votes(study=study, log=_leave_out(log, without), pools=pools, rule=rule, notices=notices)


def _of_study(study: Path) -> tuple["Judgments", "Pools", str]:
    from prefjudge.study.assignments import load_judgments
    from prefjudge.study.pooling import load_pools
    from prefjudge.study.study import Study

    opened = Study(study)
    with opened.transaction(write=False) as db:
        log, pools = load_judgments(db), load_pools(db)
    if not len(log):
        raise StudyError("the study has no judgments yet", f"Run: prefjudge collect {study}")
    return log, pools, opened.config.rule


def _leave_out(log: "Judgments", without: Sequence[str]) -> "Judgments":
    import numpy as np

    from prefjudge.core.sensitivity import select_judgments

    unknown = [worker for worker in without if worker not in log.workers]
    if unknown:
        raise InputError(
            f"no judgment is by worker {unknown[0]!r}", "The fifth column of the judgments names them."
        )
    dropped = [code for code, worker in enumerate(log.workers) if worker in set(without)]
    return select_judgments(log, ~np.isin(log.worker, dropped)) if dropped else log


def votes_generator(study: Path | None, seed: int | None, *, verb: str) -> "np.random.Generator":
    """Return the study's stream of the verb's name, or a generator of the seed given."""
    import numpy as np

    from prefjudge.steps.matrices import DEFAULT_SEED
    from prefjudge.study.study import Study

    if study is not None and seed is None:
        return Study(study).rng(verb)
    return np.random.default_rng(DEFAULT_SEED if seed is None else seed)
