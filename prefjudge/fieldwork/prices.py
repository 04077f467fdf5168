"""What a study's HITs cost at its marketplace."""

from collections.abc import Sequence
from decimal import Decimal

from prefjudge.core.asking.costs import CENT, Estimate, Fees, estimate
from prefjudge.study.hits import StudyHit
from prefjudge.study.study import Study


def fees(study: Study) -> Fees:
    """Return what the study's marketplace takes."""
    config = study.config.fees
    return Fees(rate=config.rate, many_rate=config.many_rate, minimum=config.minimum)


def price(study: Study, reward: Decimal, assignments: int) -> Decimal:
    """Return what one assignment costs, fee included, of a HIT that has so many."""
    return reward + fees(study).of_reward(reward, assignments)


def estimate_cost(study: Study, hits: Sequence[StudyHit]) -> Estimate:
    """Return what HITs will cost."""
    design, taken = study.config.design, fees(study)
    parts = [
        estimate(
            pairs=sum(slot.pair_id is not None for slot in hit.slots),
            hits=1,
            assignments_per_hit=hit.assignments,
            slots_per_hit=design.pairs_per_hit + design.gold_per_hit,
            reward=hit.reward_cents * CENT,
            fees=taken,
            seconds_per_pair=design.seconds_per_pair,
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
    )
