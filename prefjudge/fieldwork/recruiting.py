"""Tells a crowd whose people come from elsewhere when more may come, and when to pay them there."""

import json
from collections.abc import Sequence

from prefjudge.crowd.protocol import Crowd, Recruiting
from prefjudge.fieldwork.hit_requests import Pages, eligibility
from prefjudge.study.hits import StudyHit
from prefjudge.study.settings import HAPPENED, save_setting
from prefjudge.study.study import Study


def recruit(study: Study, crowd: Crowd) -> tuple[str, ...]:
    """Let as many people come as the published tasks need; return what keeps them away."""
    return _noted(study, crowd.recruit()) if isinstance(crowd, Recruiting) else ()


def plan_recruiting(study: Study, crowd: Crowd, hits: Sequence[StudyHit]) -> tuple[str, ...]:
    """Return the calls by which people would be asked for, to show before anything is published."""
    if not hits or not isinstance(crowd, Recruiting):
        return ()
    people: Recruiting = crowd
    example = Pages(study).task(hits[0], crowd, eligibility(study))
    return tuple(people.plan(example, sum(hit.assignments for hit in hits)))


def settle_elsewhere(study: Study, crowd: Crowd, *, held: bool = False) -> tuple[str, ...]:
    """Pay people where they come from, where somebody else pays than who has decided.

    Returns what a person decided there, which stands; with ``held`` what was refused there is paid.
    """
    return _noted(study, crowd.settle(held=held)) if isinstance(crowd, Recruiting) else ()


def _noted(study: Study, happened: tuple[str, ...]) -> tuple[str, ...]:
    with study.transaction() as db:
        save_setting(db, HAPPENED, json.dumps(happened))
    return happened
