"""Packs the pairs that wait into HITs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prefjudge.core.asking.costs import CENT
from prefjudge.core.asking.gold import rotate_gold
from prefjudge.core.asking.hits import draw_decoys, pack_pairs, plan_hit
from prefjudge.counts import many
from prefjudge.errors import StudyError, quoted
from prefjudge.study.config import DesignConfig
from prefjudge.study.gold import count_hidden, load_active_gold, ways_to_gold
from prefjudge.study.hits import HitKey, StudyHit, StudySlot, last_batch
from prefjudge.study.progress import count_rows, waiting_pairs
from prefjudge.study.study import Study

_LAYOUTS = 4
"""How many ways there are to show a HIT, so that its workers see different sides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    pair_id: int
    query_id: str
    votes: int


def plan_batch(study: Study, target: str) -> tuple[StudyHit, ...]:
    """Return the HITs for the waiting pairs; nothing is recorded.

    Raises
    ------
    StudyError
        The study has no pairs, or fewer gold pairs than a HIT hides.
    """
    with study.transaction(write=False) as db:
        waiting = [
            _Wanted(pair_id=pair_id, query_id=query_id, votes=votes)
            for pair_id, query_id, _, _, votes in waiting_pairs(db, target)
        ]
        pairs = count_rows(db, "pairs")
        gold, used = load_active_gold(db), count_hidden(db, target)
        batch = last_batch(db) + 1
    if not pairs:
        raise StudyError(
            "the study has no pairs to judge", f"Run: prefjudge pool {quoted(study.folder)} --runs …"
        )
    design = study.config.design
    if waiting and len(gold) < design.gold_per_hit:
        raise StudyError(
            f"a HIT hides {many(design.gold_per_hit, 'gold pair')}, and the study has {len(gold)}",
            ways_to_gold(study),
        )
    rng = study.hidden_rng("batch", batch)
    packed = [
        ([group[i] for i in members], votes)
        for votes, group in _by_votes(waiting)
        for members in _pack(_query_codes(group), design, rng)
    ]
    apart = design.one_pair_per_query
    dealt = rotate_gold(
        len(gold),
        design.gold_per_hit,
        len(packed),
        rng=rng,
        used=[used.get(number, 0) for number in gold],
        queries=[pair.query_id for pair in gold.values()] if apart else (),
        taken=[{pair.query_id for pair in pairs} for pairs, _ in packed] if apart else (),
    )
    gold_ids = list(gold)
    return tuple(
        _study_hit(study, target, batch, number, pairs, [gold_ids[g] for g in hidden], votes)
        for number, ((pairs, votes), hidden) in enumerate(zip(packed, dealt, strict=True), start=1)
    )


def _pack(
    query: np.ndarray[tuple[int], np.dtype[np.int32]], design: DesignConfig, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """Deal pairs to HITs, each to one; then give each HIT its decoys, which are pairs of others."""
    apart = design.one_pair_per_query
    packed = pack_pairs(query, design.new_pairs_per_hit, one_per_query=apart, rng=rng)
    if not design.decoys:
        return packed
    decoys = draw_decoys(query, packed, design.decoys, one_per_query=apart, rng=rng)
    return [(*pairs, *more) for pairs, more in zip(packed, decoys, strict=True)]


def _by_votes(waiting: Sequence[_Wanted]) -> list[tuple[int, list[_Wanted]]]:
    """Group the pairs by the votes that they still need: a HIT has as many assignments."""
    groups: dict[int, list[_Wanted]] = {}
    for pair in waiting:
        groups.setdefault(pair.votes, []).append(pair)
    return sorted(groups.items())


def _query_codes(group: Sequence[_Wanted]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    codes: dict[str, int] = {}
    return np.array([codes.setdefault(pair.query_id, len(codes)) for pair in group], dtype=np.int32)


def _study_hit(
    study: Study,
    target: str,
    batch: int,
    number: int,
    pairs: Sequence[_Wanted],
    gold: Sequence[int],
    votes: int,
) -> StudyHit:
    config = study.config
    opaque = study.opaque("hit", batch, number, length=24)
    key = str(HitKey(mark=study.mark, batch=batch, number=number, assignments=votes, opaque=opaque))
    # A stream for each HIT: what one page shows tells nothing about the places of gold pairs in another.
    rng = study.hidden_rng("hit", opaque)
    plan = plan_hit(range(len(pairs)), range(len(gold)), layouts=config.design.layouts or _LAYOUTS, rng=rng)
    slots = tuple(
        StudySlot(
            name=study.opaque(opaque, place),
            pair_id=pairs[k].pair_id if k < len(pairs) else None,
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
