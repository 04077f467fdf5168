"""Packs the pairs that wait into HITs."""

from collections.abc import Sequence

import numpy as np

from prefjudge.core.asking.costs import CENT
from prefjudge.core.asking.gold import rotate_gold
from prefjudge.core.asking.hits import draw_decoys, pack_pairs, plan_hit
from prefjudge.study.config import DesignConfig
from prefjudge.study.gold import count_hidden, load_active_gold
from prefjudge.study.hits import HitKey, StudyHit, StudySlot, last_batch
from prefjudge.study.progress import Stage, count_rows, lacking, waiting_pairs
from prefjudge.study.study import Study

_LAYOUTS = 4
"""How many ways there are to show a HIT, so that its workers see different sides."""


def plan_batch(study: Study, target: str) -> tuple[StudyHit, ...]:
    """Return the HITs for the waiting pairs; nothing is recorded.

    Raises
    ------
    StudyError
        The study has no pairs, or fewer gold pairs than a HIT hides.
    """
    with study.transaction(write=False) as db:
        waiting = _by_votes(waiting_pairs(db, target))
        pairs = count_rows(db, "pairs")
        gold, used = load_active_gold(db), count_hidden(db, target)
        batch = last_batch(db) + 1
    if not pairs:
        raise lacking(study, Stage.POOL)
    if not waiting:
        return ()
    design = study.config.design
    if len(gold) < design.gold_per_hit:
        raise lacking(study, Stage.GOLD)
    rng = study.hidden_rng("batch", batch)
    packed = [
        ([group[i] for i in members], votes)
        for votes, group in waiting
        for members in _pack(len(group), design, rng)
    ]
    dealt = rotate_gold(
        len(gold),
        design.gold_per_hit,
        len(packed),
        rng=rng,
        used=[used.get(number, 0) for number in gold],
    )
    gold_ids = list(gold)
    return tuple(
        _study_hit(study, target, batch, number, pairs, [gold_ids[g] for g in hidden], votes)
        for number, ((pairs, votes), hidden) in enumerate(zip(packed, dealt, strict=True), start=1)
    )


def _pack(count: int, design: DesignConfig, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Deal pairs to HITs, each to one; then give each HIT its decoys, which are pairs of others."""
    packed = pack_pairs(count, design.new_pairs_per_hit, rng=rng)
    if not design.decoys:
        return packed
    decoys = draw_decoys(packed, design.decoys, rng=rng)
    return [(*pairs, *more) for pairs, more in zip(packed, decoys, strict=True)]


def _by_votes(waiting: Sequence[tuple[int, str, str, str, int]]) -> list[tuple[int, list[int]]]:
    """Group the pairs by the votes that they still need: a HIT has as many assignments."""
    groups: dict[int, list[int]] = {}
    for pair_id, *_, votes in waiting:
        groups.setdefault(votes, []).append(pair_id)
    return sorted(groups.items())


def _study_hit(
    study: Study,
    target: str,
    batch: int,
    number: int,
    pairs: Sequence[int],
    gold: Sequence[int],
    votes: int,
) -> StudyHit:
    config = study.config
    opaque = study.opaque("hit", batch, number, length=24)
    key = str(HitKey(mark=study.mark, batch=batch, number=number, assignments=votes, opaque=opaque))
    # A stream for each HIT: what one page shows tells nothing about the places of gold pairs in another.
    rng = study.hidden_rng("hit", opaque)
    plan = plan_hit(range(len(pairs)), range(len(gold)), layouts=_LAYOUTS, rng=rng)
    slots = tuple(
        StudySlot(
            name=study.opaque(opaque, place),
            pair_id=pairs[k] if k < len(pairs) else None,
            gold_id=gold[k - len(pairs)] if k >= len(pairs) else None,
            tokens=(study.opaque(opaque, place, "first"), study.opaque(opaque, place, "second")),
        )
        for place, k in enumerate(plan.slots)
    )
    return StudyHit(
        hit_key=key,
        batch=batch,
        number=number,
        target=target,
        assignments=votes,
        reward_cents=int(config.hit.reward / CENT),
        layouts=plan.layouts,
        slots=slots,
    )
