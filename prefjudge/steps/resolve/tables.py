"""Judgments in Parquet, resolved query by query where their rows are: only the counts come home."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from prefjudge.core.judgments import Judgments
from prefjudge.core.resolving.resolutions import resolve_all, to_qrels
from prefjudge.core.resolving.rules import NO_RULE, RULES
from prefjudge.core.resolving.tournaments import TieWorth
from prefjudge.core.runs import Qrels
from prefjudge.errors import InputError
from prefjudge.findings.outputs import check_outputs
from prefjudge.reading.files import LIMIT
from prefjudge.reading.labels import TIES
from prefjudge.reading.runs.engines import Engine, tables_of
from prefjudge.reading.runs.parquet import is_parquet
from prefjudge.reading.runs.rows import whole_groups
from prefjudge.reading.runs.tables import BLOCK, Tables
from prefjudge.steps.resolve.result import Form, ResolveResult

if TYPE_CHECKING:
    import pyarrow as pa


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
    """Resolve judgments, and write the preference qrels as Parquet; ``others`` do not fit."""
    unfit = [name for name, given in others.items() if given]
    if unfit:
        raise InputError(
            f"{', '.join(unfit)}: not for judgments in Parquet, which are resolved query by query in "
            "their place",
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


COLUMNS = ("query", "doc_1", "doc_2", "preferred")
ROWS = {"query": "string", "doc": "string", "grade": "float64"}
"""The columns of preference qrels."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """How many queries have each status, by rule, and how many winners the first rule names."""

    judgments: int = 0
    winners: int = 0
    statuses: dict[str, Counter[str]] = field(default_factory=dict)


def resolve_judgments(
    tables: Tables,
    path: str,
    out: str | None,
    *,
    rules: Sequence[str],
    ties: TieWorth = TieWorth.IGNORE,
    sparse_rule: str | None = None,
) -> Resolved:
    """Resolve the judgments of a Parquet, and write the winners of the first rule as another.

    Parameters
    ----------
    tables : Tables
        What groups the judgments by query, and resolves them.
    path : str
        Judgments with the columns query, doc_1, doc_2 and preferred, which is one of the two, or ``tie``.
    out : str, optional
        Where the preference qrels are written: query, doc, grade.
    rules, ties, sparse_rule
        As those of :func:`prefjudge.core.resolving.resolutions.resolve_all`.
    """
    asked = (rule for rule in (*rules, sparse_rule) if rule not in (None, NO_RULE))
    learning = [rule for rule in asked if RULES[rule].learn is not None]
    if learning:
        raise InputError(
            f"{learning[0]} learns from all queries together, and judgments in Parquet are resolved query by "
            "query",
            "Choose another rule, or give the judgments as a text file.",
        )
    work = partial(
        resolve_groups, path=path, rules=tuple(dict.fromkeys(rules)), ties=ties, sparse_rule=sparse_rule
    )
    found: list[Resolved] = tables.grouped(path, COLUMNS, ("query",), work, out=out, columns=ROWS)
    return Resolved(
        judgments=sum(part.judgments for part in found),
        winners=sum(part.winners for part in found),
        statuses={rule: sum((part.statuses[rule] for part in found), Counter()) for rule in rules},
    )


def resolve_groups(
    batches: Iterable[pa.RecordBatch],
    *,
    path: str,
    rules: Sequence[str],
    ties: TieWorth,
    sparse_rule: str | None,
) -> Iterator[tuple[Resolved, pa.RecordBatch]]:
    """Resolve judgments of which those of a query come together, some whole queries at a time."""
    import pyarrow as pa

    text = pa.schema([(name, pa.string()) for name in COLUMNS])
    named = (batch.rename_columns([*COLUMNS]) for batch in batches)  # a table may use other letters
    for rows in whole_groups(named, ("query",), BLOCK):
        try:
            log = _judgments(path, rows.cast(text))
        except pa.ArrowInvalid as error:
            raise InputError(f"{path} holds ids that are not text: {error}", "Write UTF-8.") from None
        found = resolve_all(log, rules=rules, ties=ties, sparse_rule=sparse_rule)
        qrels = to_qrels(found[rules[0]])
        statuses = {rule: Counter(one.counts()) for rule, one in found.items()}
        yield Resolved(len(log), int(qrels.query.size), statuses), _rows(qrels)


def _judgments(path: str, rows: pa.Table) -> Judgments:
    """Return rows as judgments; refuse those that lack a value, or prefer neither document."""
    import pyarrow as pa
    import pyarrow.compute as pc

    query = rows["query"].combine_chunks().dictionary_encode()
    sides = (
        pa.chunked_array([*rows["doc_1"].chunks, *rows["doc_2"].chunks]).combine_chunks().dictionary_encode()
    )
    preferred = rows["preferred"]
    left, right = (pc.equal(preferred, rows[name]) for name in ("doc_1", "doc_2"))
    tie = pc.is_in(preferred, pa.array([word.decode() for word in TIES]))
    said = pc.fill_null(pc.xor(pc.or_(left, right), pc.and_(tie, pc.invert(pc.or_(left, right)))), False)
    sound = pc.and_(said, pc.fill_null(pc.not_equal(rows["doc_1"], rows["doc_2"]), False))
    odd = rows.filter(pc.invert(pc.and_(sound, pc.is_valid(rows["query"])))).slice(0, LIMIT)
    if odd.num_rows:
        raise InputError(
            f"{path} is not a readable judgments file:",
            "Each row needs a query, two documents, and the preferred of the two, or tie.",
            [" ".join(map(str, row.values())) for row in odd.to_pylist()],
        )
    codes = sides.indices.to_numpy().astype(np.int32)
    count = rows.num_rows
    choice = left.to_numpy().astype(np.int8) - right.to_numpy()
    return Judgments(
        queries=tuple(query.dictionary.to_pylist()),
        docs=tuple(sides.dictionary.to_pylist()),
        workers=(),
        query=query.indices.to_numpy().astype(np.int32),
        left=codes[:count],
        right=codes[count:],
        choice=choice.astype(np.int8),
        strength=np.ones(count, np.int8),
        worker=np.full(count, -1, np.int32),
        sides=False,
    )


def _rows(qrels: Qrels) -> pa.RecordBatch:
    import pyarrow as pa

    queries, docs = (pa.array(names, pa.string()) for names in (qrels.queries, qrels.docs))
    arrays = [queries.take(pa.array(qrels.query)), docs.take(pa.array(qrels.doc)), pa.array(qrels.grade)]
    return pa.RecordBatch.from_arrays(arrays, names=list(ROWS))
