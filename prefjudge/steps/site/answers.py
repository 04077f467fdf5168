"""The best-known answer to each query: who found it first, what it replaced, and how sure it is."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from prefjudge.core.planning.challenge import Duel
from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.resolving.confidence_summary import ConfidenceSummary, ResolvedQuery, resolved_queries
from prefjudge.gather.best_answers import explain_best_answers
from prefjudge.gather.inputs import QRELS_NAME
from prefjudge.gather.seeds import generator
from prefjudge.gather.sureness import SURE_QUERIES, assess_answers
from prefjudge.steps.status.history import History
from prefjudge.study.history import Finding
from prefjudge.study.study import Study

NOT_SHOWN = "a run that is not shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Best answers of a query that took the place of others; ``before`` is empty for the first ones.

    ``duel`` is how the newcomer fared; None where none decided it.
    """

    version: int
    docs: tuple[str, ...]
    before: tuple[str, ...]
    duel: Duel | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The queries as they are resolved, in their order, and the steps that led there.

    ``confidence`` is None where there are too many queries for probabilities.
    """

    queries: tuple[ResolvedQuery, ...]
    steps: Mapping[str, tuple[Step, ...]]
    confidence: ConfidenceSummary | None
    rule: str
    notices: tuple[str, ...]


def explain_answers(study: Study, past: History, versions: Mapping[int, Qrels]) -> Answers:
    """Return what is known of the best answers, by the judgments as they are.

    The probabilities are those of ``resolve``: the same stream of random numbers gives them.
    """
    best = explain_best_answers(study, verb="site")
    chances = sure = None
    if len(best.resolutions) <= SURE_QUERIES:
        chances, sure = assess_answers(best.votes, best.resolutions, rng=generator(study, "resolve"))
    return Answers(
        queries=resolved_queries(best.resolutions, chances),
        steps=_steps(past, versions),
        confidence=sure,
        rule=best.resolutions.rule,
        notices=best.notices,
    )


def _steps(past: History, versions: Mapping[int, Qrels]) -> dict[str, tuple[Step, ...]]:
    first, one = next(iter(versions.items()))
    docs: dict[str, list[str]] = {}
    for query, doc in zip(one.query.tolist(), one.doc.tolist(), strict=True):
        docs.setdefault(one.queries[query], []).append(one.docs[doc])
    found = {
        query: [Step(version=first, docs=tuple(sorted(best)), before=(), duel=None)]
        for query, best in docs.items()
    }
    for version in past.versions:
        won = {(duel.query_id, duel.newcomer): duel for duel in version.duels if duel.dethroned}
        for change in version.changes:
            duels = (won.get((change.query_id, doc)) for doc in change.after)
            found.setdefault(change.query_id, []).append(
                Step(
                    version=version.version,
                    docs=change.after,
                    before=change.before,
                    duel=next(filter(None, duels), None),
                )
            )
    return {query: tuple(steps) for query, steps in found.items()}


def found_by(
    findings: Mapping[tuple[str, str], Finding], query: str, doc: str, hidden: Collection[str]
) -> tuple[str, ...]:
    """Return who first had a passage: runs, ``the labels``, and a word for runs that are not shown."""
    found = findings.get((query, doc))
    sources = found.sources if found else ()
    names = (
        "the labels" if source == QRELS_NAME else NOT_SHOWN if source in hidden else source
        for source in sources
    )
    return tuple(dict.fromkeys(names))
