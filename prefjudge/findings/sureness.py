"""How sure the answers are, and which runs may still be the best: one source for all that show it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from prefjudge.core.judgments import Judgments, one_of_each_choice, only_queries, select_judgments
from prefjudge.core.planning.rounds import parse_strategy, taken_out
from prefjudge.core.planning.sure import Sure
from prefjudge.core.pools import select_queries
from prefjudge.core.resolving.confidence import (
    Confidence,
    ConfidenceSummary,
    LikelyPools,
    assess_confidence,
    find_contested,
    foretell,
    summarise_confidence,
)
from prefjudge.core.resolving.resolutions import Resolutions, resolve, to_qrels
from prefjudge.core.resolving.rules import RULES, UNEVEN_RULE
from prefjudge.core.runs import Qrels
from prefjudge.core.shortcuts import CLIQUE, Shortcut, find_shortcuts, visible
from prefjudge.errors import InputError, StudyError
from prefjudge.evaluation.measures.measures import Measure, score_matrix
from prefjudge.evaluation.measures.placings import compared_pairs, place_candidates
from prefjudge.evaluation.models import best_answers
from prefjudge.evaluation.stability import Contenders, cast_again, find_contenders, pooled_documents
from prefjudge.findings.answers import BestAnswers, split_runs
from prefjudge.findings.judgments import JudgmentInput, fitting_rule, gather_judgments
from prefjudge.reading.given import paths_of
from prefjudge.reading.runs.heads import Reading, RunFiles
from prefjudge.study.answers import last_version
from prefjudge.study.pools import load_passages, load_queries
from prefjudge.study.store import Study, generator, load_setting

_QUICK = 16 << 20
"""Bytes of run files that are read in about a second."""


def study_contenders(votes: JudgmentInput, labels: Qrels, *, wanted: bool | None) -> Contenders | None:
    """Say which runs of a study may still be the best; None where that is not known, or takes long."""
    if wanted is False or votes.study is None or votes.pools is None or not labels.queries:
        return None
    try:
        ranked, _ = split_runs(votes.study)
        paths = paths_of(ranked, "run", votes.study.folder)
        if len(paths) < 2 or (wanted is None and sum(map(_size, paths)) > _QUICK):
            return None
        if len(paths) > 2:
            _refuse_chosen_queries(votes.study)
        config = votes.study.config
        runs = RunFiles(paths, Reading(order=config.pool.order))
        placed = place_candidates(pooled_documents(votes.pools), votes.copies, runs.judged)
        scores = score_matrix(placed.under(labels), placed.labels(labels), Measure.parse(config.measures[0]))
        return find_contenders(scores)
    except (InputError, StudyError):
        if wanted:
            raise
        return None


def _refuse_chosen_queries(study: Study) -> None:
    """Refuse queries that were chosen by how two runs score: of the other runs they are no fair sample."""
    with study.transaction(write=False) as db:
        strategy = load_setting(db, "strategy")
    parsed = None if strategy is None or taken_out(strategy) else parse_strategy(strategy)
    if isinstance(parsed, Sure) and parsed.runs:
        raise StudyError(
            f"only queries on which {' and '.join(parsed.runs)} may differ were judged",
            "They do not tell which of all runs is the best. Leave out --top.",
        )


def _size(path: str | Path) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:  # not a file of this machine
        return _QUICK + 1


# How sure the answers to judgments are: one source for all that show it.

SURE_QUERIES = 20_000
"""Up to this many queries, the probabilities are computed by default."""
_HARDLY = 0.02
"""A doubt that is no greater changes no probability."""
_VOTINGS, _FEWEST, _QUERIES = 32, 10, 200
"""So many votings of others are drawn, on so many queries at least and at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySureness:
    """How many queries have each status, how sure their answers are, and which runs may be the best."""

    statuses: dict[str, int]
    confidence: ConfidenceSummary
    top: Contenders | None


def assess_study(study: Study, *, verb: str, top: bool | None = None) -> StudySureness:
    """Say how sure the answers of a study are, by the judgments as they are.

    The answers are those that ``run`` keeps, else those that the rule of the study finds.
    """
    with study.reading():
        with study.transaction(write=False) as db:
            kept = last_version(db)
        if kept:
            best = BestAnswers(study, verb=verb)
            votes, found = best.votes, best.resolutions
        else:
            votes = gather_judgments(study, None, verb=verb)
            (rule,), _ = fitting_rule(votes)
            found = resolve(votes.log, rule=rule, pools=votes.pools, asked=votes.asked)
    # The stream of `resolve`: every verb gives the same figures.
    _, sure = assess_answers(votes, found, rng=generator(study, "resolve"))
    contenders = study_contenders(votes, to_qrels(found), wanted=top)
    return StudySureness(statuses=found.counts(), confidence=sure, top=contenders)


def assess_best(study: Study, best: BestAnswers) -> tuple[Confidence | None, ConfidenceSummary | None]:
    """Return how sure the best-known answers are, where there are not too many queries."""
    # The stream of random numbers is that of `resolve`: both say the same.
    if len(best.resolutions) > SURE_QUERIES:
        return None, None
    return assess_answers(best.votes, best.resolutions, rng=generator(study, "resolve"))


def assess_answers(
    votes: JudgmentInput, resolutions: Resolutions, *, rng: np.random.Generator, strengths: bool = False
) -> tuple[Confidence, ConfidenceSummary]:
    """Return how probable it is that each candidate is the best, and how sure the winners are."""
    shortcuts = study_shortcuts(votes)

    def chances_without(workers: Sequence[int]) -> tuple[Judgments, Confidence]:
        log = select_judgments(votes.log, ~np.isin(votes.log.worker, workers)) if len(workers) else votes.log
        return log, assess_confidence(log, rng=rng, pools=votes.pools, strengths=strengths)

    def without(workers: Sequence[int]) -> tuple[Confidence, ConfidenceSummary]:
        log, chances = chances_without(workers)
        foretold = foretell(log, chances.scales, rng=rng, pools=votes.pools, trust=chances.trust)
        return chances, summarise_confidence(resolutions, chances, foretold)

    codes = [one.worker for one in shortcuts]
    chances, summary = without(codes)
    if not shortcuts:
        few, doubt = find_contested(votes.log)
        if doubt > _HARDLY:
            _, others = chances_without([votes.log.workers.index(name) for name in few])
            mixed = {
                name: (1.0 - doubt) * getattr(chances, name) + doubt * getattr(others, name)
                for name in ("chance", "good", "loss")
            }
            chances = replace(chances, **mixed)
            summary = summarise_confidence(resolutions, chances, summary.foretold)
        if doubt > 0.5:
            return chances, replace(summary, contested=few)
        return chances, replace(summary, again=_named_again(votes, resolutions, rng))
    visible_rules = [one for one in shortcuts if one.rule != CLIQUE]
    if len(visible_rules) < len(shortcuts) and not np.any(votes.log.gold):
        # nobody can tell whether a few read, or the others do: what is sure is sure either way
        with_them = without([one.worker for one in visible_rules])
        if with_them[1].mean < summary.mean:
            chances, summary = with_them
    return chances, replace(
        summary,
        shortcuts=shortcuts,
        suspects=tuple(votes.log.workers[code] for code in codes),
        shortcut_votes=float(np.isin(votes.log.worker, codes).mean()),
    )


def _named_again(votes: JudgmentInput, resolutions: Resolutions, rng: np.random.Generator) -> float | None:
    """Return the share of the winners that others would name who vote on the same pairs, by draws."""
    named = best_answers(to_qrels(resolutions))
    if resolutions.rule not in RULES or len(named) < _FEWEST:
        return None
    some = list(named)
    if len(some) > _QUERIES:
        some = sorted(rng.choice(some, size=_QUERIES, replace=False).tolist())
    log = only_queries(votes.log, some)
    pools = None if votes.pools is None else select_queries(votes.pools, some)
    documents = compared_pairs(log).documents if pools is None else pooled_documents(pools)
    nowhere = np.zeros((0, documents.query.size), dtype=np.int64)
    likely = LikelyPools(log, documents, nowhere, rng=rng, pools=pools)
    rule = UNEVEN_RULE if RULES[resolutions.rule].weighs_workers else resolutions.rule
    shared = 0.0
    for drawn in likely.draws(rng, some, _VOTINGS):
        again = resolve(
            cast_again(log, likely.left, likely.right, drawn, rng), rule=rule, pools=pools, asked=votes.asked
        )
        found = best_answers(to_qrels(again))
        both = ((named[query], found.get(query, set())) for query in some)
        shared += sum(len(one & other) / len(one | other) for one, other in both)
    return shared / (_VOTINGS * len(some))


def study_shortcuts(votes: JudgmentInput) -> tuple[Shortcut, ...]:
    """Return whose votes of a study follow what is seen without reading, but for workers who are to be kept.

    Of a file of judgments that is not known.
    """
    study, log = votes.study, select_judgments(votes.log, one_of_each_choice(votes.log))
    if study is None or not log.workers:
        return ()
    with study.transaction(write=False) as db:
        signals = visible(log, queries=load_queries(db), passages=load_passages(db))
    found, kept = find_shortcuts(log, signals), study.config.screening.keep
    return tuple(one for one in found if log.workers[one.worker] not in kept)
