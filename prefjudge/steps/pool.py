"""Pools the top results of runs with the qrels, and pairs the candidates of each query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from prefjudge.core.pairs import Pairs, all_pairs
from prefjudge.core.pools import (
    PoolDesign,
    Pools,
    QrelsPerQuery,
    build_duels,
    build_pools,
    sample_queries,
    select_queries,
)
from prefjudge.core.qrels import Qrels, restrict_documents
from prefjudge.core.runs import Heads, Order
from prefjudge.errors import InputError, StudyError
from prefjudge.steps.inputs import as_path

if TYPE_CHECKING:
    from prefjudge.formats.problems import Notice
    from prefjudge.study.config import PoolConfig
    from prefjudge.study.pooling import InputFile
    from prefjudge.study.study import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolResult:
    """A pool in numbers: ``sizes`` says how many queries have a pool of each size."""

    queries: int
    documents: int
    pairs: int
    sizes: dict[int, int]
    runs: tuple[str, ...]
    depth: int
    order: str
    changed: bool
    out: str | None
    notices: tuple[str, ...]
    plot: str | None = None


def pool(
    study: str | Path | None = None,
    *,
    runs: Sequence[str | Path],
    qrels: str | Path | None = None,
    queries: str | Path | None = None,
    collection: str | Path | None = None,
    design: PoolDesign = PoolDesign.SHALLOW,
    depth: int | None = None,
    order: Order | None = None,
    qrels_per_query: QrelsPerQuery | None = None,
    sample: int | None = None,
    min_size: int | None = None,
    trust: bool = False,
    challenge: bool = False,
    plot: str | Path | None = None,
    out: str | Path | None = None,
) -> PoolResult:
    """Pool the top of each run with the qrels, into a study or a file.

    Parameters
    ----------
    study : Path, optional
        The study that takes the pool; its config gives what is not said here.
    runs : sequence of paths or patterns
        The run files; ``*`` and ``?`` match names.
    qrels : Path, optional
        The known relevant documents.
    queries : Path, optional
        The queries and their texts; others are left out.
    collection : Path, optional
        The texts of the passages (a study needs them to publish).
    design : PoolDesign
        ``shallow`` pools the top of all runs with the qrels; ``top-against-qrel`` compares the top of one run
        with the qrel of each query, or with its own second where the qrel is on top.
    depth : int, optional
        How many documents of each run enter the pool; 1 by default.
    order : Order, optional
        What ranks a document higher.
    qrels_per_query : QrelsPerQuery, optional
        How many qrels of a query enter its pool.
    sample, min_size : int, optional
        Keep a random sample of so many queries whose pools have at least ``min_size`` candidates.
    trust : bool
        Read only what the top needs: the lines below are then not checked.
    challenge : bool
        The runs are new: only their top results that the study does not know are to be judged, each against
        the best-known answer. ``run`` has them judged.
    plot : Path, optional
        Draw how many queries have a pool of each size, SVG or PNG by the suffix.
    out : Path, optional
        Write the pool as a table: query, document, contributors.

    Raises
    ------
    InputError
        A file cannot be read, or no run matches.
    StudyError
        The study has published another pool.
    """
    from prefjudge.engines.files import top
    from prefjudge.formats.qrels import read_qrels
    from prefjudge.formats.queries import read_queries
    from prefjudge.steps.inputs import QRELS_NAME, expand, input_files

    study = as_path(study)
    qrels = as_path(qrels)
    queries = as_path(queries)
    collection = as_path(collection)
    plot = as_path(plot)
    out = as_path(out)
    opened, settings = _settings(study)
    if challenge:
        return _challenge(opened, runs, collection)
    order, depth = order or settings.order, depth or settings.depth
    duels = design is PoolDesign.TOP_AGAINST_QREL
    depth = 2 if duels else depth
    notices: list[Notice] = []
    paths = expand(runs)
    texts = read_queries(queries, notices=notices) if queries else None
    heads = top(paths, k=depth, order=order, queries=texts, trust=trust, notices=notices)
    judged = read_qrels(qrels, name=QRELS_NAME, notices=notices) if qrels else None
    passages = _passages(collection, heads, judged, notices) if collection else None
    if judged and passages is not None:
        judged = restrict_documents(judged, passages)
    if duels:
        pools = _duels(heads, judged)
    else:
        pools = build_pools(heads, judged, depth=depth, per_query=qrels_per_query or settings.qrels)
    if texts is not None:
        pools = select_queries(pools, tuple(texts))
    if not pools.queries:
        raise InputError(
            "no query of the queries file is in the runs",
            "Are the ids of the queries and the runs of one collection?",
        )
    pools = _sampled(pools, opened, sample or settings.sample, min_size or settings.min_size)
    pairs = all_pairs(pools)
    changed = False
    if opened is not None:
        files = input_files(paths, heads.runs, {"qrels": qrels, "queries": queries, "collection": collection})
        changed = _keep(opened, pools, pairs, files, texts or {}, passages or {})
    if out is not None:
        _write(out, pools)
    if plot is not None:
        _draw(plot, pools)
    return PoolResult(
        queries=len(pools.queries),
        documents=int(pools.query.size),
        pairs=len(pairs),
        sizes=pools.histogram,
        runs=heads.runs,
        depth=depth,
        order=str(order),
        changed=changed,
        out=str(out) if out else None,
        notices=tuple(str(notice) for notice in notices),
        plot=str(plot) if plot else None,
    )


def _challenge(study: "Study | None", runs: Sequence[str | Path], collection: Path | None) -> PoolResult:
    from prefjudge.formats.problems import Notice
    from prefjudge.steps.challenge import open_challenge
    from prefjudge.steps.inputs import expand

    if study is None:
        raise InputError(
            "a challenge needs a study", "For instance: prefjudge pool STUDY --challenge --runs …"
        )
    notices: list[Notice] = []
    opened = open_challenge(study, expand(runs), collection, notices)
    if opened.unknown:
        notices.append(
            Notice(
                where=str(study.folder),
                what=f"{len(opened.unknown)} queries of the new runs have no best-known answer, "
                f"such as {opened.unknown[0]!r}: they are left out",
            )
        )
    return PoolResult(
        queries=opened.queries,
        documents=opened.newcomers,
        pairs=opened.newcomers,
        sizes={},
        runs=opened.runs,
        depth=1,
        order=str(study.config.pool.order),
        changed=opened.newcomers > 0,
        out=None,
        notices=tuple(map(str, notices)),
    )


def _settings(study: Path | None) -> tuple["Study | None", "PoolConfig"]:
    from prefjudge.study.config import PoolConfig
    from prefjudge.study.study import Study

    if study is None:
        return None, PoolConfig()

    opened = Study(study)
    return opened, opened.config.pool


def _sampled(pools: Pools, study: "Study | None", count: int | None, min_size: int) -> Pools:
    if count is None or count >= len(pools.queries):
        return pools
    rng = study.rng("sample") if study else np.random.default_rng(2021)
    try:
        return sample_queries(pools, count, min_size=min_size, rng=rng)
    except ValueError as error:
        raise InputError(str(error), "Ask for a smaller sample, a smaller size or more depth.") from None


def _duels(heads: Heads, qrels: Qrels | None) -> Pools:
    if qrels is None or len(heads.runs) != 1:
        raise InputError(
            "the design top-against-qrel compares one run with the qrels",
            "For instance: prefjudge pool STUDY --design top-against-qrel --runs RUN --qrels FILE",
        )
    return build_duels(heads, qrels)


def _passages(collection: Path, heads: Heads, qrels: Qrels | None, notices: list["Notice"]) -> dict[str, str]:
    """Return the texts of the runs' top documents and of the qrels'.

    A run's document must have one. A qrel without one cannot be shown: it is left out, with a notice.

    Raises
    ------
    InputError
        The collection lacks a document of a run.
    """
    from prefjudge.formats.problems import Notice
    from prefjudge.formats.texts import read_texts

    of_runs = [heads.docs[code] for code in np.unique(heads.doc)]
    relevant = np.unique(qrels.doc[qrels.grade >= 1]) if qrels else np.empty(0, dtype=np.int32)
    of_qrels = [qrels.docs[code] for code in relevant] if qrels else []
    found = read_texts(collection, dict.fromkeys([*of_runs, *of_qrels]), notices=notices)
    missing = [doc for doc in of_runs if doc not in found]
    if missing:
        raise InputError(
            f"{collection} lacks {len(missing)} of the runs' {len(of_runs)} top passages, "
            f"such as {missing[0]!r}",
            "Is it the collection that the runs were made from?",
        )
    unknown = [doc for doc in of_qrels if doc not in found]
    if unknown:
        notices.append(
            Notice(
                where=str(collection),
                what=f"lacks {len(unknown)} of the {len(of_qrels)} relevant documents of the qrels, such as "
                f"{unknown[0]!r}: they cannot be shown and do not enter the pool",
            )
        )
    return found


def _keep(
    study: "Study",
    pools: Pools,
    pairs: Pairs,
    inputs: Sequence["InputFile"],
    queries: Mapping[str, str],
    passages: Mapping[str, str],
) -> bool:
    """Store the pool; return whether that changed anything."""
    from prefjudge.study.pooling import load_pairs, save_pools, save_texts

    votes = _votes(study, len(pairs))
    with study.transaction() as db:
        members = set(db.execute("SELECT query_id, doc_id FROM pooled"))
        stored = [row for row in load_pairs(db) if {(row[1], row[2]), (row[1], row[3])} <= members]
        started = bool(db.execute("SELECT 1 FROM hits LIMIT 1"))
        before = [row[1:4] if started else row[1:] for row in stored]
        sources = set(db.execute("SELECT query_id, doc_id, source FROM pooled"))
        after = [
            (pairs.queries[q], pairs.docs[a], pairs.docs[b], n)[: 3 if started else 4]
            for q, a, b, n in zip(
                pairs.query.tolist(), pairs.doc_a.tolist(), pairs.doc_b.tolist(), votes, strict=True
            )
        ]
        contributions = {
            (pools.queries[pools.query[row]], pools.docs[pools.doc[row]], pools.sources[source])
            for row, source in zip(pools.source_row.tolist(), pools.source.tolist(), strict=True)
        }
        same = after == before and contributions == sources
        if not same and started:
            raise StudyError(
                "the study has HITs for another pool, which cannot be replaced",
                "Make a new study for the new pool.",
            )
        if not same:
            save_pools(db, pools, pairs, votes, inputs)
        pooled = {pools.queries[code] for code in np.unique(pools.query)}
        documents = {pools.docs[code] for code in np.unique(pools.doc)}
        save_texts(
            db,
            {key: text for key, text in queries.items() if key in pooled},
            {key: text for key, text in passages.items() if key in documents},
        )
    return not same


def _votes(study: "Study", count: int) -> list[int]:
    """Return how often each pair is judged: a random share more often, to measure agreement."""
    design = study.config.design
    votes = np.full(count, design.judgments_per_pair)
    more = study.rng("overlap").permutation(count)[: round(design.overlap * count)]
    votes[more] = np.maximum(votes[more], design.overlap_judgments)
    return [int(n) for n in votes]


def _write(path: Path, pools: Pools) -> None:
    from prefjudge.formats.pools import write_pool

    sources: list[list[str]] = [[] for _ in range(pools.query.size)]
    for row, source in zip(pools.source_row.tolist(), pools.source.tolist(), strict=True):
        sources[row].append(pools.sources[source])
    rows = zip(pools.query.tolist(), pools.doc.tolist(), sources, strict=True)
    write_pool(path, ((pools.queries[query], pools.docs[doc], sorted(names)) for query, doc, names in rows))


def _draw(path: Path, pools: Pools) -> None:
    from prefjudge.formats.figures import write_figure
    from prefjudge.render.plots import plot_pool_sizes

    write_figure(path, plot_pool_sizes(pools.histogram))
