"""Pools the top results of runs with the qrels, and pairs the candidates of each query."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import numpy as np
from annotated_types import Ge, Interval

from prefjudge.core.copies import (
    Copies,
    copies_in,
    folded,
    heads_of_candidates,
    labels_of_candidates,
    merge_copies,
)
from prefjudge.core.hits import Passage
from prefjudge.core.pools import (
    Candidate,
    PoolDefaults,
    PoolDesign,
    Pools,
    QrelsPerQuery,
    TopSplit,
    all_pairs,
    build_pools,
    candidates_of,
    pool_top_pairs,
    sample_queries,
    select_queries,
    top_pairs,
)
from prefjudge.core.runs import Heads, Order, OrderLike, Qrels, restrict_documents
from prefjudge.errors import InputError, quoted
from prefjudge.findings.outputs import check_outputs
from prefjudge.reading import pools as pool_file
from prefjudge.reading.files import Notice, write_alike
from prefjudge.reading.given import QRELS_NAME, as_path, as_target, expand, given_file, input_files
from prefjudge.reading.inputs import OneLabelSet, Runs, Texts, maybe, take_one_qrels, take_texts
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.opened import Engine, copies_pooled, heads_beside_each_other, reading
from prefjudge.reading.options import InputOptions, run_options, text_fields
from prefjudge.reading.pools import read_copies
from prefjudge.reading.runs.heads import Reader
from prefjudge.reading.runs.parquet import is_parquet
from prefjudge.reading.texts.collections import fields_missing, markup_in, read_passages
from prefjudge.reading.texts.texts import read_queries
from prefjudge.show.cells import Column, Table
from prefjudge.show.results import Shown
from prefjudge.study.store import Study, generator, open_study
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.core.planning.plans import Power
    from prefjudge.study.config import PoolConfig


# What is pooled.


class _Given:
    """Runs, qrels, queries and texts to pool, the settings of a study, and what is odd about them."""

    def __init__(
        self,
        study: str | Path | Study | None,
        runs: Runs,
        qrels: OneLabelSet | None,
        queries: Texts | None,
        collection: Texts | None,
        copies: str | Path | None,
        how: InputOptions,
    ) -> None:
        self.study = open_study(study)
        self.settings: PoolConfig | PoolDefaults = self.study.config.pool if self.study else PoolDefaults()
        self.notices: list[Notice] = []
        self.paths, self.copies = expand(runs), copies
        self.read, self.fields = run_options(how), text_fields(how)
        self.qrels = given_file(maybe(take_one_qrels, qrels), "qrels")
        self.queries = given_file(maybe(take_texts, queries), "queries")
        self.collection = given_file(maybe(take_texts, collection), "collection")

    @cached_property
    def texts(self) -> Mapping[str, str] | None:
        """The texts of the queries to pool; None where all queries of the runs are."""
        if not self.queries:
            return None
        return read_queries(self.queries, fields=self.fields, notices=self.notices)

    @cached_property
    def labels(self) -> Qrels | None:
        """The labels of the qrels."""
        return read_qrels(self.qrels, name=QRELS_NAME, notices=self.notices) if self.qrels else None

    def note(self, where: object, what: str) -> None:
        """Add a notice."""
        self.notices.append(Notice(where=str(where), what=what))

    def nothing_pooled(self, reader: Reader) -> InputError:
        """Return why no query is pooled."""
        heads = reader.top(1, None)
        if self.texts is None or not heads.queries:
            return InputError("the runs have no queries", "Check that these are the right files.")
        self.refuse_swapped(heads)
        return InputError(
            f"{self.queries}: no query of this file is in the runs: its first is {next(iter(self.texts))!r}, "
            f"the runs have {heads.queries[0]!r}",
            write_alike("query_id", self.texts, heads.queries, "queries and runs"),
        )

    def refuse_swapped(self, heads: Heads) -> None:
        """Refuse queries where the collection is meant, and the other way round, where nothing else fits."""
        if self.texts is None or self.collection is None:
            return
        swapped = 2 * sum(doc in self.texts for doc in heads.docs) > len(heads.docs)
        among = read_passages(self.collection, heads.queries, fields=self.fields) if swapped else {}
        if 2 * len(among) > len(heads.queries):
            raise InputError(
                f"queries and collection are swapped: {self.queries} holds the passages, and "
                f"{self.collection} the queries",
                f"Give --queries {quoted(self.collection)} --collection {quoted(self.queries or '')}",
            )

    def note_in_no_run(self, found: int) -> None:
        """Say how many of the queries no run answers."""
        if self.texts is not None and len(self.texts) != found:
            of = many(len(self.texts), "query is", "queries are")
            self.note(self.queries, f"{len(self.texts) - found:,} of its {of} in no run")

    def note_unlabelled(self, pools: Pools, judged: Qrels | None) -> None:
        """Say how many queries are pooled, and will be paid for, without a label."""
        missing = set(pools.queries).difference(judged.queries) if judged else ()
        if missing:
            of = many(len(pools.queries), "pooled query", "pooled queries")
            what = (
                f"lacks {len(missing):,} of the {of}: they are judged nevertheless; "
                "to leave them out, give --queries a file without them"
            )
            self.note(self.qrels, what)

    def known(self, heads: Heads, others: Collection[str]) -> tuple[Qrels | None, dict[str, Passage]]:
        """Return the qrels, without what the collection cannot show, and the texts of the candidates."""
        judged = self.labels
        if judged and judged.queries and {*judged.queries}.isdisjoint(heads.queries):
            what = f"no query of this file is in the runs: its first is {judged.queries[0]!r}, the runs have "
            way = write_alike("query_id", judged.queries, heads.queries, "qrels and runs")
            raise InputError(f"{self.qrels}: {what}{heads.queries[0]!r}", way)
        relevant = {judged.docs[row] for row in judged.doc[judged.grade > 0].tolist()} if judged else set()
        if judged and relevant.isdisjoint(heads.docs):
            what = (
                f"its relevant documents are at the top of no run: its doc_ids look like {judged.docs[0]!r}"
            )
            like = f"{what}, those of the runs like {heads.docs[0]!r}"
            self.note(self.qrels, like if relevant else "has no relevant document")
        if self.collection is None:
            return judged, {}
        texts = self._candidate_texts(self.collection, heads, others)
        return restrict_documents(judged, texts) if judged else None, texts

    def _candidate_texts(
        self, collection: str | Path, heads: Heads, others: Collection[str]
    ) -> dict[str, Passage]:
        """Return the passages of the runs' top documents, of the qrels', and of others if they are there."""
        # A run's document must have one. A qrel without one cannot be shown: it is left out, with a notice.
        qrels = self.labels
        of_runs = [heads.docs[code] for code in np.unique(heads.doc)]
        of_qrels = [qrels.docs[code] for code in np.unique(qrels.doc[qrels.grade >= 1])] if qrels else []
        wanted = dict.fromkeys([*of_runs, *of_qrels, *others])
        found = read_passages(collection, wanted, fields=self.fields, notices=self.notices)
        missing = [doc for doc in of_runs if doc not in found]
        if missing:
            raise InputError(
                f"{collection} lacks {len(missing)} of the runs' {len(of_runs)} top passages, "
                f"such as {missing[0]!r}",
                "Give the collection that the runs were made from.",
            )
        unknown = [doc for doc in of_qrels if doc not in found]
        if unknown:
            what = (
                f"lacks {len(unknown)} of the {len(of_qrels)} relevant documents of the qrels, such as "
                f"{unknown[0]!r}: they cannot be shown and do not enter the pool"
            )
            self.note(collection, what)
        return found

    def note_other_fields(self, passages: Mapping[str, Passage]) -> None:
        """Say below how many passages people would see other fields than the study had."""
        from prefjudge.study.pools import load_shown  # a pool in a file needs no store's memory

        if self.study is None:
            return
        with self.study.transaction(write=False) as db:
            before = load_shown(db)
        other = [doc for doc, one in passages.items() if doc in before and before[doc].shown != one.shown]
        if other:
            fields = " and ".join(self.fields.shown) or "nothing"
            count = many(len(other), "passage")
            self.note(
                self.collection, f"people now see {fields} below {count} that the study showed otherwise"
            )

    def same(self, texts: Mapping[str, str], docs: Collection[str]) -> Copies:
        """Return which documents are copies by their texts, or by a file of those that are."""
        found = copies_in(texts, near=self.settings.near_copies)
        if self.copies is None:
            return found
        told = read_copies(self.copies, {*docs, *texts}, notices=self.notices)
        differ = [
            group for group in told.groups if len({folded(texts[doc]) for doc in group if doc in texts}) > 1
        ]
        if differ:
            classes = many(len(differ), "class", "classes")
            what = f"in {classes}, such as that of {differ[0][0]}, the texts differ"
            self.note(self.copies, f"{what}: they count as copies nevertheless")
        return found | told

    def sampled(self, pools: Pools, count: int | None, min_size: int | None) -> Pools:
        """Return the pools of a sample of the queries, where one is asked for."""
        count, min_size = count or self.settings.sample, min_size or self.settings.min_size
        if count is None or count >= len(pools.queries):
            return pools
        try:
            return sample_queries(pools, count, min_size=min_size, rng=generator(self.study, "sample"))
        except ValueError as error:
            raise InputError(str(error), "Ask for a smaller sample, a smaller size or more depth.") from None


# The files that ``pool`` leaves behind: the pool as a table, and its sizes drawn.


def can_stay(out: str | Path | None, engine: str) -> bool:
    """Return whether a cluster keeps the pool where it is, and writes it."""
    return engine == Engine.SPARK and out is not None and is_parquet(out)


def write_pool(path: str | Path, pools: Pools, engine: str) -> None:
    """Write the pool as a table: query, document, contributors."""
    if is_parquet(path):
        from prefjudge.findings.outputs import write_table

        write_table(path, _table(pools), engine)
    else:
        pool_file.write_pool(path, pools)


def _table(pools: Pools) -> Table:
    sources: list[list[str]] = [[] for _ in range(pools.query.size)]
    for row, source in zip(pools.source_row.tolist(), pools.source.tolist(), strict=True):
        sources[row].append(pools.sources[source])
    members = zip(pools.query.tolist(), pools.doc.tolist(), sources, strict=True)
    return Table(
        title="Pool",
        columns=tuple(Column(name=name) for name in ("query", "doc", "contributors")),
        rows=tuple(
            (pools.queries[query], pools.docs[doc], ",".join(sorted(names))) for query, doc, names in members
        ),
    )


def draw_sizes(path: Path, sizes: dict[int, int]) -> None:
    """Draw how many queries have a pool of each size."""
    from prefjudge.findings.outputs import write_figure
    from prefjudge.show.plots import plot_pool_sizes

    write_figure(path, plot_pool_sizes(sizes))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PoolResult(Shown):
    """A pool in numbers: ``sizes`` says how many queries have a pool of each size.

    ``copies`` counts the documents that gave way to a candidate of the same text, and ``read_as`` says what
    each run file was taken for. The design ``top-against-qrel`` also says how the queries ``split`` into the
    paper's categories, and what numbers of pairs can show (``power``).
    """

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
    read_as: dict[str, str]
    copies: int = 0
    plot: str | None = None
    split: TopSplit | None = None
    power: "tuple[Power, ...]" = ()


def pool(
    study: str | Path | Study | None = None,
    *,
    runs: Runs = (),
    qrels: OneLabelSet | None = None,
    queries: Texts | None = None,
    collection: Texts | None = None,
    copies: str | Path | None = None,
    design: PoolDesign | Literal["shallow", "top-against-qrel"] = PoolDesign.SHALLOW,
    depth: Annotated[int, Ge(1)] | None = None,
    order: OrderLike | None = None,
    qrels_per_query: QrelsPerQuery | Literal["first", "all", "none"] | None = None,
    sample: Annotated[int, Ge(1)] | None = None,
    min_size: Annotated[int, Ge(1)] | None = None,
    challenge: bool = False,
    sure: Annotated[float, Interval(ge=0, le=1)] | None = None,
    engine: Engine | Literal["files", "spark"] = Engine.FILES,
    plot: str | Path | None = None,
    out: str | Path | None = None,
    **how: Unpack[InputOptions],
) -> PoolResult:
    """Pool the top of each run with the qrels, into a study or a file.

    Parameters
    ----------
    study : Path, optional
        The study that takes the pool; its config gives the defaults.
    runs : sequence of paths or patterns
        The run files, or folders of them; ``*`` and ``?`` match names.
    qrels : Path, optional
        The known relevant documents.
    queries : Path, optional
        The queries and their texts; others are left out.
    collection : Path, optional
        The texts of the passages (a study needs them to publish). Those of one query whose texts are the same
        but for blanks are one candidate.
    copies : Path, optional
        A list of further copies: on each line a class and one of its passages, as NIST has
        them for MS MARCO v2.
    design : PoolDesign
        ``shallow`` pools the top of all runs with the qrels; ``top-against-qrel`` compares the top of one run
        with the qrel of each query, or with its own second where the qrel is on top.
    depth : int, optional
        How many documents of each run enter the pool; 1 by default.
    order : Order, optional
        What ranks a document higher.
    qrels_per_query : QrelsPerQuery, optional
        How many qrels of a query enter its pool: ``first`` is one, of the highest grade, and the first in the
        file among those.
    sample : int, optional
        Keep a random sample of this many queries.
    min_size : int, optional
        Draw the sample from the queries whose pools have at least this many candidates.
    challenge : bool
        The runs are new: their top results that the study does not know are judged with the best-known
        answers, and with earlier candidates that may be better after all. ``run`` has them judged.
    sure : float, optional
        With ``challenge``: judge a query until its best answer is the best with this probability, by all
        votes of all rounds, or a further right winner would take more than 400 votes, and more in a study
        that has grown. By default as ``run --sure`` drove the study, or else 0.9.
    engine : Engine
        What reads the runs: this machine, or a cluster that Spark knows.
    plot : Path, optional
        Draw how many queries have a pool of each size, SVG or PNG by the suffix.
    out : Path, optional
        Write the pool as a table: query, document, contributors; Parquet by the suffix. Without a study, a
        collection or a sample, a cluster writes Parquet itself, and only the sizes are returned.
    **how
        How files are read: the words of `ReadOptions` and `TextOptions`.

    Raises
    ------
    InputError
        A file cannot be read, or no run matches.
    StudyError
        The study has published another pool.
    """
    plot = as_path(plot)
    out = as_target(out)
    given = _Given(study, runs, qrels, queries, collection, copies, how)
    opened, settings, notices = given.study, given.settings, given.notices
    inputs = (*given.paths, given.qrels, given.queries, given.collection, copies)
    check_outputs(out, inputs=inputs, study=opened, plot=plot, engine=engine)
    if challenge:
        with reading(given.paths, settings.order, notices, **given.read) as reader:
            return _challenge(given, reader, sure)
    if sure is not None:
        raise InputError("--sure needs --challenge", "Give both, or neither; `run` has a --sure of its own.")
    order = Order(order or settings.order)
    duels = PoolDesign(design) is PoolDesign.TOP_AGAINST_QREL
    depth = 2 if duels else depth or settings.depth
    per_query = QrelsPerQuery(qrels_per_query or settings.qrels)
    texts = given.texts
    changed, split = False, None
    gone: dict[Candidate, str] = {}
    if can_stay(out, engine) and not (opened or duels or given.collection or copies or sample):
        from prefjudge.reading.runs import cluster

        judged = given.labels
        with reading(given.paths, order, notices, engine, **given.read) as reader:
            tags, sizes = cluster.save_pool(
                reader, str(out), depth=depth, qrels=judged, per_query=per_query, queries=texts
            )
            if not sizes:
                raise given.nothing_pooled(reader)
        given.note_in_no_run(sum(sizes.values()))
    else:
        with reading(given.paths, order, notices, engine, **given.read) as reader:
            heads = reader.top(depth, texts)
            if not heads.queries:
                raise given.nothing_pooled(reader)
        kept = _compared_before(opened) if opened else set()
        try:
            judged, passages = given.known(heads, {doc for _, doc in kept})
        except InputError:
            given.refuse_swapped(heads)
            raise
        every = build_pools(heads, judged, depth=depth, per_query=QrelsPerQuery.FIRST if duels else per_query)
        shown = {doc: one.text for doc, one in passages.items()}
        same = given.same(shown, every.docs)
        pools, gone = merge_copies(every, same, judged, kept=kept)
        if duels:
            pools = _duels(heads, judged)
        if duels and judged and gone:
            heads, judged = heads_of_candidates(heads, gone), labels_of_candidates(judged, gone)
            gone = {one: gone[one] for one in candidates_of(pools) if one in gone}
            pools = _duels(heads, judged)
        if texts is not None:
            pools = select_queries(pools, tuple(texts))
        notices += heads_beside_each_other(heads, pools.queries, depth)
        if sample or not duels:  # section 3 takes all queries; what a config samples is section 4's
            pools = given.sampled(pools, sample, min_size)
        judging = set(pools.queries)
        gone = {one: doc for one, doc in gone.items() if one[0] in judging}
        notices += copies_pooled(gone, given.collection or copies)
        given.note_unlabelled(pools, judged)
        given.note_in_no_run(len(heads.queries))
        if opened is not None:
            notices += markup_in(texts or {}, given.queries or "")
            seen = {doc: str(one) for doc, one in passages.items()}
            notices += markup_in(seen, given.collection or "")
            notices += fields_missing(passages, given.collection or "")
            given.note_other_fields(passages)
            others = {
                "qrels": given.qrels,
                "queries": given.queries,
                "collection": given.collection,
                "copies": copies,
            }
            files = input_files(given.paths, heads.runs, others)
            from prefjudge.field.challenge import store_pool  # a pool in a file needs no store's memory

            changed = store_pool(opened, pools, all_pairs(pools), files, texts or {}, passages, same)
        if out is not None:
            write_pool(out, pools, engine)
        tags, sizes = heads.runs, pools.histogram
        if duels and judged:
            split = top_pairs(heads, judged, heads.runs[0], queries=set(pools.queries)).split
    if plot is not None:
        draw_sizes(plot, sizes)
    return PoolResult(
        queries=sum(sizes.values()),
        documents=sum(size * count for size, count in sizes.items()),
        pairs=sum(size * (size - 1) // 2 * count for size, count in sizes.items()),
        sizes=sizes,
        runs=tags,
        depth=depth,
        order=str(order),
        changed=changed,
        out=str(out) if out else None,
        notices=tuple(str(notice) for notice in notices),
        read_as=reader.read_as(),
        copies=len(gone),
        plot=str(plot) if plot else None,
        split=split,
        power=_power(split) if split else (),
    )


def _power(split: TopSplit) -> "tuple[Power, ...]":
    from prefjudge.core.planning.plans import powers

    return powers(split.b, split.pairs)


def _challenge(given: _Given, reader: Reader, sure: float | None) -> PoolResult:
    study = given.study
    if study is None:
        raise InputError(
            "a challenge needs a study", "Run, for instance: prefjudge pool STUDY --challenge --runs …"
        )
    from prefjudge.field.challenge import check_sure, open_challenge
    from prefjudge.findings.answers import write_versions

    check_sure(sure)
    opened = open_challenge(study, reader, given.paths, given.collection, given.copies, given.fields, sure)
    given.notices += copies_pooled(opened.copies, given.collection or given.copies)
    if opened.copies and not opened.newcomers:  # else `run` writes the answers, with their new copies
        write_versions(study)
    if opened.unknown:
        what = f"{many(len(opened.unknown), 'query has', 'queries have')} no best-known answer here, such as "
        given.note(study.folder, f"{what}{opened.unknown[0]!r}: they are left out")
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
        notices=tuple(map(str, given.notices)),
        read_as=reader.read_as(),
        copies=len(opened.copies),
    )


def _compared_before(study: Study) -> set[Candidate]:
    from prefjudge.study.answers import load_compared

    with study.transaction(write=False) as db:
        return load_compared(db)


def _duels(heads: Heads, qrels: Qrels | None) -> Pools:
    if qrels is None or len(heads.runs) != 1:
        raise InputError(
            "the design top-against-qrel compares one run with the qrels",
            "Run, for instance: prefjudge pool STUDY --design top-against-qrel --runs RUN --qrels FILE",
        )
    pools = pool_top_pairs(heads, qrels)
    if pools.sizes.max(initial=0) < 2:
        raise InputError(
            f"no query gives a pair: {heads.runs[0]} answers {many(len(heads.queries), 'query')}, and "
            f"{len(pools.queries):,} have a relevant document that can be shown",
            "Check that the run and the qrels are of one collection.",
        )
    return pools
