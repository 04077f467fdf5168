"""How sure the answers to judgments are: one source for all that show it."""

from dataclasses import dataclass

import numpy as np

from prefjudge.core.resolving.confidence import Confidence, assess_confidence
from prefjudge.core.resolving.confidence_summary import ConfidenceSummary, summarise_confidence
from prefjudge.core.resolving.model_checks import check_model
from prefjudge.core.resolving.preferences import resolve, to_qrels
from prefjudge.core.resolving.resolutions import Resolutions
from prefjudge.evaluation.testing.contenders import Contenders
from prefjudge.gather.best_answers import explain_best_answers
from prefjudge.gather.contenders import study_contenders
from prefjudge.gather.judgments import JudgmentInput, fitting_rule, gather_judgments
from prefjudge.gather.seeds import generator
from prefjudge.study.answers import last_version
from prefjudge.study.study import Study

SURE_QUERIES = 20_000
"""Up to this many queries, the probabilities are computed by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySureness:
    """How many queries have each status, how sure their answers are, and which runs may be the best."""

    statuses: dict[str, int]
    confidence: ConfidenceSummary
    top: Contenders | None


def assess_study(study: Study, *, verb: str, top: bool | None = None) -> StudySureness:
    """Say how sure the answers of a study are, by the judgments as they are.

    The answers are those that ``run`` keeps, else those that the rule of the study finds.

    Parameters
    ----------
    study : Study
    verb : str
        Who asks.
    top : bool, optional
        Whether to read the runs; by default where they are small.

    Raises
    ------
    StudyError
        The study has no judgments.
    """
    with study.reading():
        with study.transaction(write=False) as db:
            kept = last_version(db)
        if kept:
            best = explain_best_answers(study, verb=verb)
            votes, found = best.votes, best.resolutions
        else:
            votes = gather_judgments(study, None, verb=verb)
            (rule,), _ = fitting_rule(votes)
            found = resolve(votes.log, rule=rule, pools=votes.pools, asked=votes.asked)
    # The stream of `resolve`: every verb gives the same figures.
    _, sure = assess_answers(votes, found, rng=generator(study, "resolve"))
    contenders = study_contenders(votes, to_qrels(found), wanted=top)
    return StudySureness(statuses=found.counts(), confidence=sure, top=contenders)


def assess_answers(
    votes: JudgmentInput, resolutions: Resolutions, *, rng: np.random.Generator, strengths: bool = False
) -> tuple[Confidence, ConfidenceSummary]:
    """Return how probable it is that each candidate is the best, and how sure the winners are.

    Parameters
    ----------
    votes : JudgmentInput
        The judgments, and the pools.
    resolutions : Resolutions
        Their winners.
    rng : numpy.random.Generator
    strengths : bool
        Whether a vote counts as often as it is strong.
    """
    chances = assess_confidence(votes.log, rng=rng, pools=votes.pools, strengths=strengths)
    checks = check_model(votes.log, chances.scales, rng=rng, pools=votes.pools)
    return chances, summarise_confidence(resolutions, chances, checks)
