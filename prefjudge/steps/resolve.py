"""Resolves judgments into preference qrels."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.errors import InputError, StudyError

if TYPE_CHECKING:
    from prefjudge.core.judgments import Judgments
    from prefjudge.core.pools import Pools
    from prefjudge.core.preferences import Resolutions

PREFERENCE_NAME = "preference"
QRELS_FILE = "preference.qrels"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveResult:
    """How many queries each rule decided, and the preference qrels of the first rule."""

    rule: str
    queries: int
    judgments: int
    qrels: int
    statuses: dict[str, int]
    rules: dict[str, dict[str, int]]
    cycles: dict[str, tuple[str, ...]]
    out: str | None
    notices: tuple[str, ...]


def resolve(
    study: Path | None = None,
    *,
    judgments: Path | None = None,
    rule: Sequence[str] = (),
    out: Path | None = None,
) -> ResolveResult:
    """Resolve each query's judgments as a tournament, and write the winners as preference qrels.

    Parameters
    ----------
    study : Path, optional
        The study to resolve, with its pools: a query that is not fully judged gets no winner.
    judgments : Path, optional
        A file of judgments instead: query, document, document, the preferred of the two.
    rule : sequence of str
        The rules to apply; the first one's winners are written. ``shallow-pooling`` by default.
    out : Path, optional
        Where to write the qrels; ``preference.qrels`` in the study by default.

    Raises
    ------
    InputError
        The file cannot be read, the rule is unknown, or neither a study nor a file is given.
    StudyError
        The study has no judgments.
    """
    from prefjudge.core.preferences import resolve_all, to_qrels
    from prefjudge.core.rules import RULES
    from prefjudge.formats.judgments import read_judgments
    from prefjudge.formats.problems import Notice
    from prefjudge.formats.qrels import write_qrels

    if (study is None) == (judgments is None):
        raise InputError(
            "resolve takes either a study or a file of judgments",
            "For instance: prefjudge resolve STUDY, or: prefjudge resolve --judgments FILE",
        )
    unknown = [name for name in rule if name not in RULES]
    if unknown:
        raise InputError(f"there is no rule {unknown[0]!r}", f"The rules are: {', '.join(RULES)}.")
    notices: list[Notice] = []
    if judgments is not None:
        log, pools, default = read_judgments(judgments, notices=notices), None, "shallow-pooling"
    else:
        assert study is not None
        log, pools, default = _of_study(study)
        out = out or study / QRELS_FILE
    found = resolve_all(log, rules=tuple(rule) or (default,), pools=pools)
    first = next(iter(found.values()))
    qrels = to_qrels(first, PREFERENCE_NAME)
    if out is not None:
        write_qrels(out, qrels)
    return ResolveResult(
        rule=first.rule,
        queries=len(first.queries),
        judgments=len(log),
        qrels=int(qrels.query.size),
        statuses=first.counts(),
        rules={name: resolutions.counts() for name, resolutions in found.items()},
        cycles=_cycles(first),
        out=str(out) if out else None,
        notices=tuple(str(notice) for notice in notices),
    )


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


def _cycles(resolutions: "Resolutions") -> dict[str, tuple[str, ...]]:
    """Return the passages that are preferred to each other in a circle, by query."""
    return {resolution.query_id: resolution.cycle for resolution in resolutions if resolution.cycle}
