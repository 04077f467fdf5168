"""The work that is open in a study that is under way."""

from collections.abc import Mapping

from prefjudge.counts import many
from prefjudge.study.hits import HitStatus
from prefjudge.study.progress import ChallengeRecord, count_hits, load_challenges, waiting_pairs
from prefjudge.study.study import Study


def what_is_open(study: Study) -> str:
    """Return the open work in words; empty where all that was asked is judged."""
    with study.transaction(write=False) as db:
        hits, waiting = count_hits(db), len(waiting_pairs(db))
        challenge = next((one for one in load_challenges(db) if one.concluded is None), None)
    return open_words(hits, waiting, challenge)


def open_words(hits: Mapping[str, int], waiting: int, challenge: ChallengeRecord | None) -> str:
    """Return the same where it is counted: HITs by their state, pairs without one, and an open challenge."""
    still_open = sum(count for name, count in hits.items() if name != HitStatus.CLOSED)
    parts = [
        *([f"{many(still_open, 'HIT')} open"] if still_open else []),
        *([f"{many(waiting, 'pair')} waiting for one"] if waiting and hits else []),
        *([f"challenge {challenge.challenge} under way"] if challenge else []),
    ]
    return ", ".join(parts)
