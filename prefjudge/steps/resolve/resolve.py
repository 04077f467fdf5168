"""Resolves judgments into preference qrels, and estimates how reliable they are."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from prefjudge.core.judgments import MODEL_PREFIX, Judgments, nameless
from prefjudge.core.resolving.confidence import Confidence, resolved_queries
from prefjudge.core.resolving.resolutions import (
    STATUSES,
    HowResolved,
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
from prefjudge.core.runs import Qrels
from prefjudge.errors import InputError, StudyError
from prefjudge.field.trust import check_gates
from prefjudge.findings.answers import keep_how_resolved
from prefjudge.findings.judgments import JudgmentInput, fitting_rule, gather_judgments, rival_rule
from prefjudge.findings.outputs import check_outputs, left_unwritten, own_file, stamp_of, write_stamp
from prefjudge.findings.sureness import SURE_QUERIES, assess_answers
from prefjudge.reading.given import as_path, expand
from prefjudge.reading.inputs import OneMeasure, Runs, Votes, maybe, take_judgments, take_measure
from prefjudge.reading.labels import write_judgments, write_qrels
from prefjudge.reading.pools import write_pref_qrels, write_prefs, write_resolutions
from prefjudge.reading.runs.engines import Engine
from prefjudge.reading.runs.parquet import is_parquet
from prefjudge.steps.resolve.result import Form, ResolveResult, RunOrder, run_order
from prefjudge.steps.resolve.tables import resolve_tables
from prefjudge.study.answers import last_version
from prefjudge.study.imports import count_imported
from prefjudge.study.people import load_workers
from prefjudge.study.pools import is_published
from prefjudge.study.store import QRELS_FILE, Study, advised, generator, open_study
from prefjudge.words import many


def resolve(
    study: str | Path | Study | None = None,
    *,
    judgments: Votes | None = None,
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
            "--strengths": strengths,
            "--without": without,
            "--with": with_,
            "--with-models": with_models,
            "--confidence": confidence,
            "--sensitivity": sensitivity,
            "--runs": runs,
            "--per-query": per_query,
            "--format": form is not Form.TREC,
        }
        return resolve_tables(
            engine, table, out, rules=names, ties=ties, sparse_rule=sparse_rule, others=options
        )
    opened = open_study(study)
    judgments = maybe(take_judgments, judgments)
    runs, measure = expand(runs) if runs else (), maybe(take_measure, measure)
    out = as_path(out)
    votes = gather_judgments(
        opened, judgments, without, with_models=with_models, counted=with_, verb="resolve"
    )
    fitting, notices = (rule, ()) if rule else fitting_rule(votes)
    names = tuple(dict.fromkeys(fitting))
    rival = None if rule or _is_large(votes) else rival_rule(votes, names[0])
    if with_models and out is None:
        raise InputError(
            "people's answers are not replaced by models'", "Give --out FILE to write those with models."
        )
    if with_models and opened is not None:
        notices = (*notices, *check_gates(opened, _counted_models(votes), ungated=ungated))
    if opened is not None and out is None and form is Form.TREC:
        _refuse_kept_answers(opened)
        out = own_file(opened, QRELS_FILE)
        notices = (*notices, *left_unwritten(opened, QRELS_FILE))
        kept = out is not None
    check_outputs(out, inputs=(judgments, *runs), study=opened)
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
            keep_how_resolved(opened, out, replace(how, without=left, counted=back))
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
    """Resolve imported votes that nobody has resolved yet, and return what there is to know of it.

    Where votes are collected here, that is done when the work is.
    """
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
