"""Resolves judgments into preference qrels, and estimates how reliable they are."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from annotated_types import Ge

from prefjudge.core.judgments import MODEL_PREFIX, Judgments, nameless
from prefjudge.core.resolving.confidence import Confidence, ConfidenceSummary, resolved_queries
from prefjudge.core.resolving.resolutions import (
    PREFERENCE_NAME,
    STATUSES,
    Difference,
    HowResolved,
    Resolution,
    Resolutions,
    Status,
    Variation,
    assess_sensitivity,
    difference,
    name_cycles,
    resolve_all,
    to_qrels,
)
from prefjudge.core.resolving.rules import NO_RULE, RULES, UNEVEN_RULE, RuleName
from prefjudge.core.resolving.tournaments import TieWorth
from prefjudge.core.runs import Order, Qrels
from prefjudge.errors import InputError, StudyError, quoted
from prefjudge.evaluation.correlation import TwoVotings, kendall_tau
from prefjudge.evaluation.measures.measures import Measure, score_matrix
from prefjudge.evaluation.measures.placings import Placed, compared_pairs, place_candidates
from prefjudge.evaluation.stability import pooled_documents
from prefjudge.field.trust import check_gates, unheeded_drops
from prefjudge.findings.answers import keep_resolved, split_runs
from prefjudge.findings.boards import VoteSet
from prefjudge.findings.judgments import JudgmentInput, fitting_rule, gather_judgments, rival_rule
from prefjudge.findings.outputs import check_outputs, left_unwritten, own_file, stamp_of, write_stamp
from prefjudge.findings.sureness import SURE_QUERIES, assess_answers
from prefjudge.reading.files import LIMIT
from prefjudge.reading.given import as_path, expand, paths_of
from prefjudge.reading.inputs import (
    OneMeasure,
    Pooled,
    Runs,
    Votes,
    maybe,
    take_judgments,
    take_measure,
    take_pool,
)
from prefjudge.reading.labels import TIES, write_judgments, write_qrels
from prefjudge.reading.opened import Engine, tables_of
from prefjudge.reading.pools import write_pref_qrels, write_prefs, write_resolutions
from prefjudge.reading.runs.heads import Reading, RunFiles
from prefjudge.reading.runs.parquet import is_parquet
from prefjudge.reading.runs.rows import whole_groups
from prefjudge.reading.runs.tables import BLOCK, Tables
from prefjudge.show.cells import Table
from prefjudge.show.results import Shown, record_tables
from prefjudge.show.studies import per_query_table, rules_table, sensitivity_table
from prefjudge.study.answers import last_version
from prefjudge.study.imports import count_imported
from prefjudge.study.people import FOLLOWED, count_votes, load_workers
from prefjudge.study.pools import is_published
from prefjudge.study.store import QRELS_FILE, Study, advised, current_target, generator, open_study
from prefjudge.words import Rehearsal, many, some

if TYPE_CHECKING:
    import pyarrow as pa


# Compares the order of runs under two sets of preference qrels.


class RunOrder:
    """The order of runs under preference qrels: ``placed`` is where they placed the candidates."""

    def __init__(self, votes: JudgmentInput, placed: Placed, measure: Measure) -> None:
        self._votes, self._placed, self._measure = votes, placed, measure

    def compare(self, before: Qrels, after: Qrels) -> float:
        """Return Kendall's tau between the orders under two sets of qrels; NaN where one is empty."""
        scores = [
            score_matrix(self._placed.under(qrels), self._placed.labels(qrels), self._measure).values.mean(0)
            for qrels in (before, after)
            if qrels.queries
        ]
        return float(kendall_tau(*scores)) if len(scores) == 2 else float("nan")

    def two_votings(self, how: HowResolved, rng: np.random.Generator) -> TwoVotings | None:
        """Return how well the orders agree that other votes like these give; None where none is decided."""
        # They are resolved as those that it stands beside.
        votes = self._votes
        cast = VoteSet(
            PREFERENCE_NAME,
            votes.log,
            self._placed,
            how=how,
            pools=votes.pools,
            asked=votes.asked,
        )
        if not cast.labels.queries:
            return None
        (agreed,) = cast.agreement([self._measure], rng)
        return agreed


def run_order(votes: JudgmentInput, runs: Sequence[str | Path], measure: str | None) -> RunOrder | None:
    """Return the order of the runs, to compare; None without runs."""
    order, paths = Order.SCORE, expand(runs) if runs else ()
    if not paths and votes.study is not None:
        order = votes.study.config.pool.order
        measure = measure or votes.study.config.measures[0]
        ranked, _ = split_runs(votes.study)
        paths = paths_of(ranked, "run", votes.study.folder)
    if not paths:
        return None
    documents = pooled_documents(votes.pools) if votes.pools else compared_pairs(votes.log).documents
    placed = place_candidates(
        documents, votes.copies, RunFiles(paths, Reading(order=order), notices=votes.notices).judged
    )
    return RunOrder(votes, placed, Measure.parse(measure or "RR@10"))


# What resolving gives, and the forms in which it is written.


class Form(StrEnum):
    """What the file holds."""

    TREC = "trec"
    """Preference qrels: ``query 0 doc 1`` for each winner."""
    PREF = "pref"
    """The judgments resolved: ``query doc_1 doc_2 preferred``."""
    PREFS = "prefs"
    """The same for trec_eval: ``query group subgroup doc level``, two lines a judgment."""
    VALUES = "values"
    """Every candidate with its score under the rule: ``query Q0 doc value``."""
    JSONL = "jsonl"
    """Everything, one query a line."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ResolveResult(Shown):
    """How many queries each rule decided, and the preference qrels of the first rule.

    ``two_votings`` is how far the orders of runs agree that other votes like these give, beside the
    correlations of ``sensitivity``; None where no runs are compared.
    """

    rule: str
    queries: int
    judgments: int
    qrels: int
    statuses: dict[str, int]
    differs: "Difference | None"
    rules: dict[str, dict[str, int]]
    cycles: dict[str, tuple[str, ...]]
    confidence: "ConfidenceSummary | None"
    sensitivity: tuple["Variation", ...]
    two_votings: TwoVotings | None
    per_query: tuple["Resolution", ...]
    form: str
    out: str | None
    rehearsal: "Rehearsal | None"
    notices: tuple[str, ...]

    @property
    def difference(self) -> str:
        """Where it changes winners that workers are weighed, or are not, in words; empty where nowhere."""
        if self.differs is None or not self.differs.queries:
            return ""
        other, queries = self.differs.rule, self.differs.queries
        weighing, plain = (other, self.rule) if RULES[other].weighs_workers else (self.rule, other)
        return (
            f"with workers weighed by how reliable they are ({weighing}) "
            f"{many(len(queries), 'query has', 'queries have')} other winners than without ({plain}): "
            f"{some(queries, 10)}; --rule {other} takes those of {other}"
        )

    def asked_tables(self) -> tuple[Table, ...]:
        """Return what each of several rules decided, each query, and what would change it, as asked."""
        tables = [rules_table(self.rules)] if len(self.rules) > 1 else []
        tables += [per_query_table(self.per_query)] if self.per_query else []
        tables += (
            [sensitivity_table(self.rule, self.sensitivity, self.two_votings)] if self.sensitivity else []
        )
        return tuple(tables)

    def tables(self) -> tuple[Table, ...]:
        """Return the same, or else how many queries were decided."""
        return self.asked_tables() or record_tables(self)


def resolve(
    study: str | Path | Study | None = None,
    *,
    judgments: Votes | None = None,
    pool: Pooled | None = None,
    rule: Sequence[RuleName] = (),
    ties: TieWorth | Literal["ignore", "half"] = TieWorth.IGNORE,
    strengths: bool = False,
    sparse_rule: RuleName | Literal["none"] | None = None,
    without: Sequence[str] = (),
    with_: Sequence[str] = (),
    with_models: bool = False,
    ungated: bool = False,
    confidence: bool | None = None,
    sensitivity: bool = False,
    runs: Runs = (),
    measure: OneMeasure | None = None,
    per_query: bool = False,
    seed: Annotated[int, Ge(0)] | None = None,
    until: str | None = None,
    form: Form | Literal["trec", "pref", "prefs", "values", "jsonl"] = Form.TREC,
    engine: Engine | Literal["files", "spark"] = Engine.FILES,
    out: str | Path | None = None,
) -> ResolveResult:
    """Resolve each query's judgments as a tournament, and write the winners as preference qrels.

    Parameters
    ----------
    study : Path, optional
        The study to resolve, with its pools.
    judgments : Path, optional
        A file of judgments instead: query, document, document, the preferred of the two. Of any number in
        Parquet (query, doc_1, doc_2, preferred), of which the answers are written as Parquet (query, doc,
        grade) and only counts come home.
    pool : Path, optional
        With a file: the pool that was to be judged, as ``pool --out`` writes it, so that what lacks a
        judgment is known. A study knows its own.
    rule : sequence of RuleName
        The rules to apply; the first one's winners are written. By default the one of the study's config
        (``noisy-bradley-terry`` unless it says otherwise, which weighs workers), or ``shallow-pooling`` for a
        file. Where workers cannot be told apart, or the study's strategy gave some pairs more votes than
        others, a rule that does not fit is replaced, and a notice says so. Without this option it is said
        which queries have other winners by a rule that weighs workers than by one that does not.
    ties : TieWorth
        Whether a tie is worth nothing, or half a vote, to each side.
    strengths : bool
        Count a vote by its strength: once for the weakest, twice for the next.
    sparse_rule : RuleName or 'none', optional
        What finds the winner where not all pairs of a query are judged: the best of the candidates that were
        compared, if comparisons connect these. By default the rule itself, or ``bradley-terry`` in the place
        of one that counts votes where some of these never met; ``none`` leaves such queries without a winner,
        as the paper does.
    without : sequence of str
        Leave out the judgments of these workers, for instance of models.
    with_ : sequence of str
        Count the work of these barred workers, except HITs with a missed gold pair.
    with_models : bool
        Count the votes of the models that ``judge`` asked, too; people's alone count by default. People's
        votes must vouch for these models (see ``judge --worth``).
    ungated : bool
        Count models even if people's votes do not vouch for them.
    confidence : bool, optional
        Compute the probability that each candidate is the best; by default up to 20,000 queries.
    sensitivity : bool
        Resolve again by the other rules given (by all, where one is given), with ties broken, and without
        each worker and each run, and report what changes.
    runs : sequence of paths or patterns
        Runs whose order is compared in the sensitivity report; those of the study by default.
    measure : str, optional
        What orders them; RR@10 by default.
    per_query : bool
        Give the resolution of each query, too.
    seed : int, optional
        The seed of the samples that give the probabilities; a study has its own.
    until : str, optional
        Resolve what a study had by then, the end of a day in UTC or a time, as in `score`.
    form : Form
        What to write: the qrels, or one of the other formats.
    engine : Engine
        What resolves judgments in Parquet: this machine, or a cluster that Spark knows.
    out : Path, optional
        Where to write it; ``preference.qrels`` in the study by default. A study that ``run`` drives keeps
        the answers of ``run`` unless this is given.

    Raises
    ------
    InputError
        The file cannot be read, the rule is unknown, or neither a study nor a file is given.
    StudyError
        The study has no judgments.
    """
    form, ties, engine, kept = Form(form), TieWorth(ties), Engine(engine), False
    _check_rules(rule, sparse_rule)
    table = judgments if isinstance(judgments, str | Path) else None
    if engine is Engine.SPARK or (table is not None and is_parquet(table)):
        names = tuple(dict.fromkeys(rule or ("shallow-pooling",)))
        options = {
            "STUDY": study,
            "--pool": pool,
            "--strengths": strengths,
            "--without": without,
            "--with": with_,
            "--with-models": with_models,
            "--confidence": confidence,
            "--sensitivity": sensitivity,
            "--runs": runs,
            "--per-query": per_query,
            "--until": until,
            "--format": form is not Form.TREC,
        }
        return resolve_tables(
            engine, table, out, rules=names, ties=ties, sparse_rule=sparse_rule, others=options
        )
    opened = open_study(study, until)
    judgments, pool = maybe(take_judgments, judgments), maybe(take_pool, pool)
    runs, measure = expand(runs) if runs else (), maybe(take_measure, measure)
    out = as_path(out)
    votes = gather_judgments(
        opened, judgments, without, with_models=with_models, counted=with_, pool=pool, verb="resolve"
    )
    fitting, notices = (rule, ()) if rule else fitting_rule(votes)
    if opened is not None:
        notices = (*_words_on_held(opened, with_), *unheeded_drops(opened, without), *notices)
    names = tuple(dict.fromkeys(fitting))
    rival = None if rule or _is_large(votes) else rival_rule(votes, names[0])
    if with_models and out is None:
        raise InputError(
            "people's answers are not replaced by models'", "Give --out FILE to write those with models."
        )
    if with_models and opened is not None:
        notices = (*notices, *check_gates(opened, _counted_models(votes), ungated=ungated))
    if opened is not None and opened.until is None and out is None and form is Form.TREC:
        _refuse_kept_answers(opened)
        out = own_file(opened, QRELS_FILE)
        notices = (*notices, *left_unwritten(opened, QRELS_FILE))
        kept = out is not None
    check_outputs(out, inputs=(judgments, pool, *runs), study=opened)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        found = resolve_all(
            votes.log,
            rules=(*names, *((rival,) if rival else ())),
            pools=votes.pools,
            asked=votes.asked,
            ties=ties,
            strengths=strengths,
            sparse_rule=sparse_rule,
            each=threads.map,
        )
    first = found[names[0]]
    differs = difference(first, found.pop(rival)) if rival else None
    qrels = votes.copies.spread(to_qrels(first))
    wanted = not _is_large(votes) if confidence is None else confidence
    chances, sure = None, None
    if wanted and len(votes.log):
        rng = generator(votes.study, "resolve", seed)
        chances, sure = assess_answers(votes, first, rng=rng, strengths=strengths)
    ordered = run_order(votes, runs, measure) if sensitivity else None
    how = HowResolved(rule=names[0], ties=ties, strengths=strengths, sparse_rule=sparse_rule)
    if out is not None:
        _write(out, form, qrels, votes, list(found.values()), chances)
        if kept and opened is not None:
            left, back = _pseudonyms(opened, without), _pseudonyms(opened, with_)
            keep_resolved(opened, out, qrels, replace(how, without=left, counted=back))
    return ResolveResult(
        rule=first.rule,
        queries=len(first),
        judgments=len(votes.log),
        qrels=int(qrels.query.size),
        statuses=first.counts(),
        differs=differs,
        rules={name: resolutions.counts() for name, resolutions in found.items()},
        cycles=name_cycles(votes.log, first),
        confidence=sure,
        sensitivity=_sensitivity(votes, names, ties, strengths, sparse_rule, ordered) if sensitivity else (),
        two_votings=ordered.two_votings(how, generator(votes.study, "votes", seed)) if ordered else None,
        per_query=resolved_queries(first, chances) if per_query else (),
        form=form.value,
        out=str(out) if out else None,
        rehearsal=votes.rehearsal,
        notices=(
            *map(str, votes.notices),
            *notices,
            *(_words_on_repeats(votes.log) if sure else ()),
            *_words_on_partial(first, votes.asked is not None, sparse_rule),
            *_words_on_sparse(first, opened, sparse_rule),
        ),
    )


def _is_large(votes: JudgmentInput) -> bool:
    return len((votes.pools or votes.log).queries) > SURE_QUERIES


def _counted_models(votes: JudgmentInput) -> list[str]:
    """Return the models that have votes among those to resolve."""
    names = [votes.log.workers[code] for code in np.unique(votes.log.worker[votes.log.worker >= 0])]
    return [name.removeprefix(MODEL_PREFIX) for name in names if name.startswith(MODEL_PREFIX)]


def _words_on_held(study: Study, counted: Sequence[str]) -> tuple[str, ...]:
    """Say of how many held workers votes are left out, but for those whose votes are ``counted``."""
    with study.transaction(write=False) as db:
        held = count_votes(db, current_target(db), FOLLOWED)
    left = [one for one in held if one not in counted and study.opaque("worker", one) not in counted]
    if not left:
        return ()
    held_ones, see = many(len(left), "held worker"), f"prefjudge status {quoted(study.folder)}"
    return (f"the votes of {held_ones} are left out; {see} says how to decide",)


def _words_on_repeats(log: Judgments) -> tuple[str, ...]:
    """Say where workers were asked the same again: whether they err again is no chance of its own."""
    known = log.worker >= 0
    first, last = np.minimum(log.left, log.right)[known], np.maximum(log.left, log.right)[known]
    asked = np.unique(np.stack([log.query[known], first, last, log.worker[known]]), axis=1).shape[1]
    repeated = int(known.sum()) - asked
    if repeated <= _FEW_REPEATS * len(log):
        return ()
    return (
        f"{many(repeated, 'judgment repeats', 'judgments repeat')} one by the same worker on the same pair. "
        "Each counts as if another worker had made it, so P(best) is too high where workers repeat "
        "themselves",
    )


_FEW_REPEATS = 0.05
"""Of all judgments: a study that asks some pairs again, to see who is consistent, may do so."""


def _words_on_partial(found: Resolutions, asked: bool, sparse_rule: str | None) -> tuple[str, ...]:
    """Say how many queries have a winner though not all is judged, and what finds it."""
    partial = found.status == STATUSES.index(Status.PARTIAL)
    if not partial.any():
        return ()
    size, compared = (
        np.diff(found.start),
        np.bincount(found.query[found.comparisons > 0], minlength=len(found)),
    )
    met = found.missing == (size * (size - 1) - compared * (compared - 1)) // 2
    uneven = not sparse_rule and not RULES[found.rule].for_partial and (asked or not met[partial].all())
    by = f", by {UNEVEN_RULE} where some pairs of these were not compared" if uneven else ""
    seen, every = int(compared[partial].sum()), int(size[partial].sum())
    what = f"{seen:,} of {every:,} candidates" if seen < every else "not every pair"
    return (
        f"{many(int(partial.sum()), 'query is', 'queries are')} judged in part ({what}): the winner is the "
        f"best of those that were compared{by}; --sparse-rule none leaves them without one",
    )


def _words_on_sparse(found: Resolutions, study: Study | None, sparse_rule: str | None) -> tuple[str, ...]:
    """Say why queries have no winner."""
    sparse = found.status == STATUSES.index(Status.SPARSE)
    if not sparse.any():
        return ()
    why = "pairs of their candidates lack judgments"
    if not found.votes[sparse].any():
        why = "nobody compared their candidates"
    elif sparse_rule != NO_RULE:
        why = "the candidates that were compared are not connected by comparisons"
    collect = ""
    if study is not None:
        with study.transaction(write=False) as db:
            published = is_published(db)  # else all votes were imported: there is nothing to collect
        collect = f"{advised(study, 'collect')} collects more judgments, " if published else ""
    whose = many(int(sparse.sum()), "query has", "queries have")
    return (f"{whose} no winner, as {why}: {collect}--per-query lists them",)


def _pseudonyms(study: Study, names: Sequence[str]) -> tuple[str, ...]:
    """Return workers by their pseudonyms, as judgments have them, whichever way they were named."""
    with study.transaction(write=False) as db:
        ids = {*load_workers(db)}
    return tuple(study.opaque("worker", name) if name in ids else name for name in names)


def _refuse_kept_answers(study: Study) -> None:
    """Do not overwrite the answers that ``run`` keeps: a strategy does not judge every pair of a pool."""
    with study.transaction(write=False) as db:
        version = last_version(db)
    if version:
        raise StudyError(
            f"the answers of this study, version {version}, are kept by `prefjudge run`",
            "Give --out FILE to write what a rule makes of its judgments.",
        )


def _check_rules(rules: Sequence[str], sparse_rule: str | None) -> None:
    for name in (*rules, *((sparse_rule,) if sparse_rule not in (None, NO_RULE) else ())):
        if name not in RULES:
            raise InputError(f"there is no rule {name!r}", f"Choose one of: {', '.join(RULES)}.")


def _sensitivity(
    votes: JudgmentInput,
    rules: tuple[str, ...],
    ties: TieWorth,
    strengths: bool,
    sparse_rule: str | None,
    ordered: RunOrder | None,
) -> tuple["Variation", ...]:
    return assess_sensitivity(
        votes.log,
        rule=rules[0],
        rules=rules[1:] or tuple(RULES.ours),
        pools=votes.pools,
        asked=votes.asked,
        ties=ties,
        strengths=strengths,
        sparse_rule=sparse_rule,
        compare_runs=ordered.compare if ordered else None,
    )


def resolve_imported(study: Study) -> tuple[str, ...]:
    """Resolve imported votes that nobody has resolved yet, and return what there is to know of it."""
    # Where votes are collected here, that is done when the work is.
    path = own_file(study, QRELS_FILE)
    if path is None or path.is_file():
        return ()
    with study.transaction(write=False) as db:
        if is_published(db) or last_version(db) or not count_imported(db):
            return ()
    return (*resolve(study, confidence=False).notices, f"the votes were resolved into {path}")


def _write(
    out: Path,
    form: Form,
    qrels: "Qrels",
    votes: JudgmentInput,
    found: Sequence["Resolutions"],
    chances: "Confidence | None",
) -> None:
    first, log, stamp = found[0], votes.log, stamp_of(votes.rehearsal)
    stamped_within = form in (Form.TREC, Form.PREF, Form.VALUES)
    if not stamped_within:  # a killed program leaves no file without its stamp
        write_stamp(out, stamp)
    if form is Form.TREC:
        write_qrels(out, qrels, rehearsal=votes.rehearsal)
    elif form is Form.PREF:
        write_judgments(out, nameless(log), comment=stamp)
    elif form is Form.PREFS:
        write_prefs(out, log)
    elif form is Form.VALUES:
        columns = (first.query.tolist(), first.doc.tolist(), first.score.tolist())
        rows = [
            (first.queries[q], doc, value)
            for q, d, value in zip(*columns, strict=True)
            for doc in votes.copies.of(first.docs[d])
        ]
        write_pref_qrels(out, rows, rehearsal=votes.rehearsal)
    else:
        write_resolutions(out, found, chances)
    if stamped_within:  # last, so that a folder where nothing may be written is said of the file asked for
        write_stamp(out, stamp)


# Judgments in Parquet, resolved query by query where their rows are: only the counts come home.


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


def _result(found: "Resolved", out: str | None) -> ResolveResult:
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
    """Resolve the judgments of a Parquet, and write the winners of the first rule as another."""
    # The judgments have the columns query, doc_1, doc_2 and preferred, which is one of the two, or `tie`; the
    # preference qrels query, doc and grade.
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
    batches: "Iterable[pa.RecordBatch]",
    *,
    path: str,
    rules: Sequence[str],
    ties: TieWorth,
    sparse_rule: str | None,
) -> "Iterator[tuple[Resolved, pa.RecordBatch]]":
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


def _judgments(path: str, rows: "pa.Table") -> Judgments:
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
    return Judgments.of_nobody(
        queries=tuple(query.dictionary.to_pylist()),
        docs=tuple(sides.dictionary.to_pylist()),
        query=query.indices.to_numpy().astype(np.int32),
        left=codes[:count],
        right=codes[count:],
        choice=choice.astype(np.int8),
        sides=False,
    )


def _rows(qrels: Qrels) -> "pa.RecordBatch":
    import pyarrow as pa

    queries, docs = (pa.array(names, pa.string()) for names in (qrels.queries, qrels.docs))
    arrays = [queries.take(pa.array(qrels.query)), docs.take(pa.array(qrels.doc)), pa.array(qrels.grade)]
    return pa.RecordBatch.from_arrays(arrays, names=list(ROWS))
