"""What a study's HITs cost, by the prices of its crowd."""

from collections.abc import Sequence
from decimal import Decimal

from prefjudge.core.asking.costs import CENT, Estimate, estimate
from prefjudge.crowd.protocol import Prices
from prefjudge.study.hits import StudyHit
from prefjudge.study.study import Study


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
