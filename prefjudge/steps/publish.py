"""Publishes HITs for the pairs that wait: exactly one for each, whatever happens in between."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.errors import StudyError
from prefjudge.study.hits import HitStatus, StudyHit, load_hits, save_hits, save_published
from prefjudge.study.ledger import TOKEN_LIFE, Intent, committed_cents, intend, settle
from prefjudge.study.progress import count_hits
from prefjudge.study.study import Study

if TYPE_CHECKING:
    from prefjudge.crowd.protocol import Crowd

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishResult:
    """What ``publish`` did, or would do."""

    name: str
    target: str
    endpoint: str
    pairs: int
    hits: int
    assignments: int
    rewards: Decimal
    fees: Decimal
    total: Decimal
    committed: Decimal
    budget: Decimal | None
    hourly: Decimal | None
    open: int
    dry_run: bool = False
    published: int = 0
    warnings: tuple[str, ...] = ()


def publish(
    study: str | Path,
    *,
    sandbox: bool = True,
    live: bool = False,
    dry_run: bool = False,
    yes: bool = False,
    confirm: Callable[[PublishResult], bool] | None = None,
    progress: Progress | None = None,
) -> PublishResult:
    """Publish a HIT for every ten pairs that wait for a judgment.

    Pairs that a published HIT will settle do not wait, so a repeat publishes nothing. An interrupted call is
    taken up where it stopped.

    Parameters
    ----------
    study : Path
        The study.
    sandbox, live : bool
        The target in the config. ``live`` must be asked for.
    dry_run : bool
        Say what would be published and what it would cost; publish and record nothing.
    yes : bool
        Publish without asking ``confirm``.
    confirm : callable, optional
        Shown the estimate; publishes where it returns True.
    progress : callable, optional
        Told how many HITs of how many are published.

    Raises
    ------
    StudyError
        There are no pairs, no texts or too few gold pairs, or nobody said yes.
    BudgetError
        The budget does not allow it.
    CrowdError
        The marketplace refused, failed or cannot be reached.
    """
    from prefjudge.steps.packing import plan_batch
    from prefjudge.steps.pool_store import follow_design
    from prefjudge.steps.serve import open_crowd

    opened = Study(study)
    follow_design(opened)
    target = "live" if live else "sandbox"
    fresh = plan_batch(opened, target)
    with opened.transaction(write=False) as db:
        hits = (*load_hits(db, HitStatus.PLANNED), *fresh)
    with open_crowd(opened, target) as crowd:
        offer = _offer(opened, target, crowd.endpoint, hits, dry_run=dry_run)
        if dry_run or not hits:
            return offer
        if not yes and (confirm is None or not confirm(offer)):
            raise StudyError(
                "nothing was published: nobody said yes", "Repeat with --yes, or answer the question."
            )
        with opened.transaction() as db:
            save_hits(db, fresh)
        publish_hits(opened, crowd, hits, progress)
        return replace(_offer(opened, target, crowd.endpoint, hits), published=len(hits))


def publish_hits(
    study: Study, crowd: "Crowd", hits: Sequence[StudyHit], progress: Progress | None = None
) -> None:
    """Publish planned HITs, each exactly once."""
    from prefjudge.steps.exclusion import exclude_earlier
    from prefjudge.steps.packing import Pages, requirements

    pages, needs = Pages(study), requirements(study, crowd)
    listed: dict[str, str] | None = None
    for number, hit in enumerate(hits, start=1):
        request = pages.request(hit, (*needs, *exclude_earlier(study, crowd, hit)))
        intent = _intend(study, hit, request.token)
        if time.time() - intent.intended > TOKEN_LIFE - 3600:  # the marketplace may have forgotten the token
            listed = crowd.find([hit.hit_key for hit in hits]) if listed is None else listed
        hit_id = (listed or {}).get(hit.hit_key) or crowd.publish(request)
        with study.transaction() as db:
            settle(db, request.token, hit_id, time.time())
            save_published(db, hit.hit_key, hit_id, time.time())
        if progress:
            progress(number, len(hits))


def _intend(study: Study, hit: StudyHit, token: str) -> Intent:
    from prefjudge.core.costs import CENT
    from prefjudge.steps.packing import price

    with study.transaction() as db:
        return intend(
            db,
            Intent(
                token=token,
                operation="CreateHIT",
                target=hit.target,
                subject=hit.hit_key,
                cents=int(hit.assignments * price(study, hit) / CENT),
                intended=time.time(),
            ),
            budget=study.config.budget,
        )


def _offer(
    study: Study, target: str, endpoint: str, hits: Sequence[StudyHit], *, dry_run: bool = False
) -> PublishResult:
    from prefjudge.steps.packing import estimate_cost

    cost, design = estimate_cost(study, hits), study.config.design
    with study.transaction(write=False) as db:
        committed, open_hits = committed_cents(db), count_hits(db).get(HitStatus.OPEN, 0)
    warnings = []
    if cost.hourly is not None and cost.hourly < design.hourly_floor:
        warnings.append(
            f"at {design.seconds_per_pair:g} seconds a pair an hour pays ${cost.hourly:.2f}, "
            f"less than the floor of ${design.hourly_floor:.2f}"
        )
    return PublishResult(
        name=study.config.name,
        target=target,
        endpoint=endpoint,
        pairs=cost.pairs,
        hits=cost.hits,
        assignments=cost.assignments,
        rewards=cost.rewards,
        fees=cost.fees,
        total=cost.total,
        hourly=cost.hourly,
        committed=Decimal(committed) / 100,
        budget=study.config.budget,
        open=open_hits,
        dry_run=dry_run,
        warnings=tuple(warnings),
    )
