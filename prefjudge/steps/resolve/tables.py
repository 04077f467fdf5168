"""Judgments in Parquet, resolved where they are."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from prefjudge.core.resolving.tournaments import TieWorth
from prefjudge.errors import InputError
from prefjudge.findings.outputs import check_outputs
from prefjudge.reading.runs.cluster import Engine, tables_of
from prefjudge.reading.runs.parquet import is_parquet
from prefjudge.reading.runs.tables import Resolved, resolve_judgments
from prefjudge.steps.resolve.result import Form, ResolveResult


def resolve_tables(
    engine: Engine,
    judgments: str | Path | None,
    out: str | Path | None,
    *,
    rules: Sequence[str],
    ties: TieWorth,
    sparse_rule: str | None,
    others: Mapping[str, object],
) -> ResolveResult:
    """Resolve judgments, and write the preference qrels as Parquet; ``others`` do not fit.

    Raises
    ------
    InputError
        An option does not fit, or the judgments cannot be read.
    """
    unfit = [name for name, given in others.items() if given]
    if unfit:
        raise InputError(
            f"{', '.join(unfit)}: not for judgments in Parquet, resolved query by query where they are",
            f"Leave out {', '.join(unfit)}, or give the judgments as a text file.",
        )
    if judgments is None or not is_parquet(judgments):
        raise InputError(
            "a cluster resolves judgments in Parquet",
            f"Give --judgments NAME.parquet, or leave out --engine {engine}.",
        )
    if out is not None and not is_parquet(out):
        raise InputError(
            f"{out}: the answers of judgments in Parquet are written as Parquet",
            "Give it a name that ends in .parquet.",
        )
    target = str(out) if out else None
    check_outputs(out, inputs=(judgments,), engine=engine)
    with closing(tables_of(engine)) as tables:
        found = resolve_judgments(
            tables, str(judgments), target, rules=rules, ties=ties, sparse_rule=sparse_rule
        )
    return _result(found, target)


def _result(found: Resolved, out: str | None) -> ResolveResult:
    """Return what was resolved: counts, and nothing of a single query."""
    rules = {rule: dict(counts) for rule, counts in found.statuses.items()}
    first = next(iter(rules))
    return ResolveResult(
        rule=first,
        queries=sum(rules[first].values()),
        judgments=found.judgments,
        qrels=found.winners,
        statuses=rules[first],
        differs=None,
        rules=rules,
        cycles={},
        confidence=None,
        sensitivity=(),
        two_votings=None,
        per_query=(),
        form=Form.TREC.value,
        out=out,
        rehearsal=None,
        notices=(),
    )
