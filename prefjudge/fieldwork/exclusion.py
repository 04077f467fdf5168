"""Keeps workers from HITs whose pairs they have judged before: a second vote of theirs would not count."""

from collections.abc import Sequence

from prefjudge.crowd.protocol import Crowd
from prefjudge.crowd.tasks import WorkerGroup
from prefjudge.study.assignments import count_workers, load_overlaps
from prefjudge.study.hits import StudyHit
from prefjudge.study.study import Study

_NOTICE = "Held by those who have judged some of these passages before."


def exclude_earlier(
    study: Study, crowd: Crowd, hits: Sequence[StudyHit]
) -> dict[str, tuple[WorkerGroup, ...]]:
    """Put the workers who should not take a HIT into a group of the HIT's own; return it by the HIT's key.

    The HITs are of one target. A repeat is harmless. HITs whose pairs are new to everyone need no group.
    """
    with study.transaction(write=False) as db:
        overlaps = load_overlaps(db, hits[0].target, [hit.hit_key for hit in hits])
        known = count_workers(db, hits[0].target) if overlaps else 0
    groups: dict[str, tuple[WorkerGroup, ...]] = {}
    for hit in hits:
        pairs = sum(slot.pair_id is not None for slot in hit.slots)
        earlier = choose_excluded(overlaps.get(hit.hit_key, ()), pairs=pairs, known=known)
        group = WorkerGroup(name=f"prefjudge {study.opaque('earlier', hit.hit_key)}", notice=_NOTICE)
        for worker in earlier:
            crowd.bar(worker, group)
        groups[hit.hit_key] = (group,) if earlier else ()
    return groups


def choose_excluded(overlap: Sequence[tuple[str, int]], *, pairs: int, known: int) -> tuple[str, ...]:
    """Return who may not take a HIT.

    Parameters
    ----------
    overlap : sequence of (str, int)
        Workers, and how many of the pairs each has judged.
    pairs : int
        How many pairs the HIT has.
    known : int
        How many workers have taken part and are not barred.

    Returns
    -------
    tuple of str
        Everybody who has judged all of the pairs. Of the others those who have judged most, as long as half
        of the known workers stay: a small panel must not lock itself out for the sake of a few wasted votes.
    """
    ranked = sorted(overlap, key=lambda found: (-found[1], found[0]))
    whole = sum(count >= pairs for _, count in ranked)
    return tuple(worker for worker, _ in ranked[: max(whole, known // 2)])
