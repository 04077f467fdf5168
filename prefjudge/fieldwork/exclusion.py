"""Keeps workers from HITs whose pairs they have judged before: a second vote of theirs would not count."""

from collections.abc import Sequence

from prefjudge.crowd.protocol import Crowd
from prefjudge.crowd.tasks import WorkerGroup
from prefjudge.study.assignments import load_overlap
from prefjudge.study.hits import StudyHit
from prefjudge.study.study import Study

_NOTICE = "Held by those who have judged some of these passages before."


def exclude_earlier(study: Study, crowd: Crowd, hit: StudyHit) -> tuple[WorkerGroup, ...]:
    """Put the workers who should not take a HIT into a group of the HIT's own, and return the group.

    A repeat is harmless. HITs whose pairs are new to everyone need none.
    """
    with study.transaction(write=False) as db:
        pairs, overlap, known = load_overlap(db, hit.hit_key)
    earlier = choose_excluded(overlap, pairs=pairs, known=known)
    if not earlier:
        return ()
    group = WorkerGroup(name=f"prefjudge {study.opaque('earlier', hit.hit_key)}", notice=_NOTICE)
    for worker in earlier:
        crowd.bar(worker, group)
    return (group,)


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
