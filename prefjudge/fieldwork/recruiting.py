"""Tells a crowd whose people come from elsewhere when more may come, and when to pay them there."""

from collections.abc import Sequence

from prefjudge.crowd.protocol import Crowd, Recruiting
from prefjudge.fieldwork.hit_requests import Pages, eligibility
from prefjudge.study.hits import StudyHit
from prefjudge.study.study import Study


def recruit(crowd: Crowd) -> None:
    """Let as many people come as the published tasks need, where the crowd has to ask for them."""
    if isinstance(crowd, Recruiting):
        crowd.recruit()


def plan_recruiting(study: Study, crowd: Crowd, hits: Sequence[StudyHit]) -> tuple[str, ...]:
    """Return the calls by which people would be asked for, to show before anything is published."""
    if not hits or not isinstance(crowd, Recruiting):
        return ()
    people: Recruiting = crowd
    example = Pages(study).task(hits[0], crowd, eligibility(study))
    return tuple(people.plan(example, sum(hit.assignments for hit in hits)))


def settle_elsewhere(crowd: Crowd) -> None:
    """Pay people where they come from, where somebody else pays than who has decided."""
    if isinstance(crowd, Recruiting):
        crowd.settle()
