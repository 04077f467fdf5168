"""Publishes HITs for the pairs that wait: each exactly once, also when a call is interrupted."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from annotated_types import Ge

from prefjudge.core.hits import CENT, Estimate, estimate
from prefjudge.core.strategies import RoundRobin
from prefjudge.crowd.protocol import Crowd, Prices, Recruiting, RefusedError
from prefjudge.errors import BudgetError, StudyError, quoted
from prefjudge.field.challenge import asked_by_run, follow_design
from prefjudge.field.crowd import open_crowd
from prefjudge.field.pay import lock_crowd, lock_spending, refuse_unknown_hits
from prefjudge.field.publish import (
    Progress,
    climbs,
    entry_test,
    interrupted_hits,
    pairs_to_read,
    plan_recruiting,
    publish_hits,
    recruit,
    refuse_test,
    steer,
    tell_reward,
)
from prefjudge.field.trust import admit_newcomers, why_stopped
from prefjudge.show.results import Shown
from prefjudge.study.hits import HitStatus, StudyHit
from prefjudge.study.imports import count_imported
from prefjudge.study.money import committed_cents
from prefjudge.study.progress import count_hits, count_judgments
from prefjudge.study.store import (
    LIVE,
    SANDBOX,
    Study,
    choose_target,
    current_target,
    meant_target,
    open_study,
)
from prefjudge.words import many


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PublishResult(Shown):
    """What ``publish`` did, or would do; ``account`` is the balance to spend, where the crowd tells it.

    ``strategy`` is the plan that it follows, empty where ``run`` decides. ``pairs`` counts questions where a
    question may show more than two passages. ``hours`` is the time that all assignments take at the expected
    seconds a pair, three passages being one and a half. ``calls`` would recruit people elsewhere, in a dry
    run. ``places`` are asked for there in all; ``total`` is what more of them cost.
    """

    name: str
    target: str
    endpoint: str
    strategy: str
    pairs: int
    hits: int
    assignments: int
    rewards: Decimal
    fees: Decimal
    total: Decimal
    committed: Decimal
    budget: Decimal | None
    account: Decimal | None
    hourly: Decimal | None
    hours: float
    open: int
    dry_run: bool = False
    published: int = 0
    warnings: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    passages: int = 2
    places: int = 0


def publish(
    study: str | Path | Study,
    *,
    sandbox: bool = True,
    live: bool = False,
    dry_run: bool = False,
    yes: bool = False,
    stop: bool | None = None,
    places: Annotated[int, Ge(1)] | None = None,
    confirm: Callable[[PublishResult], bool] | None = None,
    progress: Progress | None = None,
) -> PublishResult:
    """Publish a HIT for every ten pairs that wait for a judgment.

    Pairs that a published HIT will settle do not wait, so a repeat publishes nothing. An interrupted call is
    taken up where it stopped. With ``stop`` or ``places`` nothing is published: a person says how many
    people may come from Prolific.

    Parameters
    ----------
    study : Path
        The study's folder.
    sandbox : bool
        Use the sandbox: play money.
    live : bool
        Use the live target of the config, which pays real money. It is never the default, and overrides
        ``sandbox``.
    dry_run : bool
        Say what would be published, or changed on Prolific, and what it would cost; do nothing.
    yes : bool
        Do not ask for confirmation. Otherwise ``confirm`` is called.
    stop : bool, optional
        Let nobody come from Prolific any more, or let people come again (False); a study that was over needs
        a place more for that, or as many as HITs wait for.
    places : int, optional
        Let so many people take part on Prolific in all, which lets a stopped study go on. What more places
        cost is asked first.
    confirm : callable, optional
        Shown the estimate; publishes where it returns True.
    progress : callable, optional
        Told how many HITs of how many are published.

    Raises
    ------
    ConfigError
        Neither target was asked for.
    StudyError
        There are no pairs, no texts or too few gold pairs, or it was not confirmed.
    BudgetError
        The budget does not allow it.
    CrowdError
        The marketplace refused, failed or cannot be reached.
    """
    opened = open_study(study)
    if stop is not None or places is not None:
        if stop and places is not None:
            raise StudyError("a study that is stopped takes no places", "Give one of --stop and --places.")
        target = LIVE if live else meant_target(opened)
        with open_crowd(opened, target) as crowd:
            plan = _plan_steering(opened, crowd, target, stop, places)
        if dry_run:
            return replace(plan, dry_run=True)
        if plan.total and not yes and not (confirm and confirm(plan)):
            raise StudyError(
                "nothing was changed: you did not confirm it", "Answer the question with yes, or add --yes."
            )
        return _steer(opened, target, stop, places, plan.total)
    target = choose_target(sandbox=sandbox, live=live)
    with open_crowd(opened, target) as crowd:
        refuse_unknown_hits(opened, crowd, target)
        refuse_test(crowd, entry_test(opened))
        agreed = None
        if dry_run or not yes:  # asked before its turn, so that no other verb waits for an answer
            due = _due(opened, target)
            agreed = _offer(opened, target, crowd, due, dry_run=dry_run)
            if dry_run:
                return replace(agreed, calls=plan_recruiting(opened, crowd, due))
            if not agreed.hits:
                # an earlier call may have ended before it
                return replace(agreed, warnings=(*agreed.warnings, *recruit(opened, crowd)))
            if confirm is None or not confirm(agreed):
                raise StudyError(
                    "nothing was published: you did not confirm it",
                    "Answer the question with yes, or add --yes.",
                )
        with lock_spending(opened):
            if stopped := why_stopped(opened, target):
                raise StudyError(
                    stopped, f"Look at the work first: prefjudge workers {quoted(opened.folder)}"
                )
            hits = _due(opened, target)
            offer = _offer(opened, target, crowd, hits)
            if agreed is not None and offer.total > agreed.total:
                raise StudyError(
                    f"nothing was published: ${agreed.total} was confirmed, but it costs ${offer.total} now",
                    "Repeat the verb: the study or the prices have changed meanwhile.",
                )
            _refuse_held(opened, offer)
            admit_newcomers(opened, crowd, target, more=len(hits))
            publish_hits(opened, crowd, hits, progress)
            kept_away = recruit(opened, crowd)
        done = _offer(opened, target, crowd, hits)
        return replace(done, published=len(hits), warnings=(*offer.warnings, *kept_away))


def _plan_steering(
    study: Study, crowd: Crowd, target: str, stop: bool | None, places: int | None
) -> PublishResult:
    """Return what a person's word about people from elsewhere would do; more than the budget is refused."""
    if not isinstance(crowd, Recruiting):
        raise StudyError(
            f"nobody is recruited for the {target} target: its people come by themselves",
            "Only people from Prolific can be stopped or sent for. `prefjudge serve` ends with Ctrl-C.",
        )
    calls, warnings, cost, held = crowd.plan_steering(stop=stop, places=places)
    offer = replace(_offer(study, target, crowd, ()), total=cost, calls=tuple(calls), warnings=warnings)
    if offer.budget is not None and cost and held > offer.budget:
        raise BudgetError(
            f"the places would hold ${held:,} with what was charged; the budget is ${offer.budget:,.2f}",
            "Raise `budget` in study.toml, or give fewer places.",
        )
    return replace(offer, places=places or 0)


def _steer(
    study: Study, target: str, stop: bool | None, places: int | None, agreed: Decimal
) -> PublishResult:
    """Stop the people who come from elsewhere, or let them come, as a person says."""
    with lock_crowd(study, target) as crowd:
        now = _plan_steering(study, crowd, target, stop, places)
        if now.total > agreed:
            raise StudyError(
                f"nothing was changed: ${agreed} was confirmed, but it costs ${now.total} now",
                "Repeat the verb: the study or the prices have changed meanwhile.",
            )
        assert isinstance(crowd, Recruiting)
        return replace(now, calls=(), warnings=steer(study, crowd, stop=stop, places=places))


def _refuse_held(study: Study, offer: PublishResult) -> None:
    """Refuse visits of several HITs that are not full, where the budget pays for the HITs alone."""
    budget, needed = study.config.budget, offer.committed + offer.rewards + offer.fees
    held = offer.committed + offer.total
    if budget is not None and needed <= budget < held:
        raise BudgetError(
            f"whole visits hold ${offer.total:,} on top of ${offer.committed:,.2f}; the budget is "
            f"${budget:,.2f}",
            "Raise `budget` in study.toml, or lower hits of the target before the first publication.",
        )


def _due(study: Study, target: str) -> tuple[StudyHit, ...]:
    """Return the HITs to publish: those whose publication was interrupted, and those for pairs that wait."""
    from prefjudge.field.publish import plan_batch

    follow_design(study, target)
    return (*interrupted_hits(study, target), *plan_batch(study, target))


def _offer(
    study: Study, target: str, crowd: Crowd, hits: Sequence[StudyHit], *, dry_run: bool = False
) -> PublishResult:
    cost, account = estimate_cost(study, crowd.prices, hits), _account(crowd)
    held = cost.total
    if isinstance(crowd, Recruiting):
        held = max(held, crowd.quote(study.config.hit.reward, cost.assignments)[0])
    with study.transaction(write=False) as db:
        committed = committed_cents(db, target)
        open_hits = count_hits(db, target).get(HitStatus.OPEN, 0)
        by_run = asked_by_run(db)
    return PublishResult(
        name=study.config.name,
        target=target,
        endpoint=crowd.endpoint,
        strategy="" if by_run else RoundRobin(study.config.design.judgments_per_pair).name,
        pairs=cost.pairs,
        hits=cost.hits,
        assignments=cost.assignments,
        rewards=cost.rewards,
        fees=cost.fees,
        total=held,
        hourly=cost.hourly,
        hours=round(cost.hours, 1),
        committed=Decimal(committed) / 100,
        budget=study.config.budget,
        account=account,
        open=open_hits,
        dry_run=dry_run,
        passages=study.config.hit.passages,
        warnings=(*tell_reward(study, target, hits), *_warn(study, target, crowd, cost, account)),
    )


def _warn(study: Study, target: str, crowd: Crowd, cost: Estimate, account: Decimal | None) -> Iterator[str]:
    """Yield warnings to read before anything is published."""
    design, experience = study.config.design, study.config.workers.approved_more_than
    with study.transaction(write=False) as db:
        rehearsed = count_judgments(db)[0] - count_imported(db) if target != current_target(db) else 0
    if rehearsed:
        yield (
            f"{many(rehearsed, 'judgment was', 'judgments were')} made in the sandbox, and will not count "
            f"once the study is live"
        )
    if target == LIVE and account is not None and account < cost.total:
        yield f"the account holds ${account:,}, and refuses HITs that it cannot pay for"
    if isinstance(crowd, Recruiting):
        asked, currency = crowd.quote(study.config.hit.reward, cost.assignments)
        if currency != "USD":
            yield f"the account is in {currency}, and so are all amounts here, even those with a $"
        if asked != cost.total:
            yield (
                f"{cost.assignments} together cost {asked} {currency} there, and {cost.total} here, where "
                "each HIT has a share, rounded to the cent"
            )
    if target == SANDBOX and crowd.identity().play_money is None:
        yield f"{crowd.endpoint} does not say whether its money is play money; study.toml calls it a sandbox"
    if experience is not None:
        yield (
            f"only workers with more than {experience:,} approved HITs see these HITs, and people whom "
            "you invite to your own marketplace have none (approved_more_than in study.toml)"
        )
    if cost.rewards and cost.hourly is not None and cost.hourly < design.hourly_floor:
        yield (
            f"at {design.seconds_per_pair:g} seconds a pair an hour pays ${cost.hourly:.2f}, "
            f"less than the floor of ${design.hourly_floor:.2f}"
        )
    days, doubt = study.config.hit.auto_approval_days, study.config.pay.doubt_days
    if cost.rewards and climbs(study) and design.gold_per_hit and days < doubt:
        when = f"after {many(days, 'day')}" if days else "at once"
        yield (
            f"the crowd pays {when} what nobody has decided on (auto_approval_days in study.toml), so pay "
            f"cannot wait {doubt:g} days for gold pairs to show who guesses (doubt_days)"
        )


def _account(crowd: Crowd) -> Decimal | None:
    """Return what there is to spend; None where the crowd does not tell."""
    try:
        return crowd.balance()
    except RefusedError:
        return None


def estimate_cost(study: Study, prices: Prices, hits: Sequence[StudyHit]) -> Estimate:
    """Return what HITs will cost."""
    design = study.config.design
    parts = [
        estimate(
            pairs=sum(slot.pair_id is not None for slot in hit.slots),
            hits=1,
            assignments_per_hit=hit.assignments,
            slots_per_hit=design.pairs_per_hit + design.gold_per_hit,
            reward=hit.reward_cents * CENT,
            price=prices.submission(hit.reward_cents * CENT, hit.assignments),
            seconds_per_pair=design.seconds_per_pair * pairs_to_read(hit) / len(hit.slots),
        )
        for hit in hits
    ]
    return Estimate(
        pairs=sum(part.pairs for part in parts),
        hits=len(parts),
        assignments=sum(part.assignments for part in parts),
        rewards=sum((part.rewards for part in parts), Decimal("0.00")),
        fees=sum((part.fees for part in parts), Decimal("0.00")),
        hourly=parts[0].hourly if parts else None,
        hours=sum(part.hours for part in parts),
    )
