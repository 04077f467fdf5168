"""How many words the comparisons of a HIT show."""

from collections.abc import Sequence

from prefjudge.database import Connection, in_list
from prefjudge.study.hits import StudyHit


def count_shown_words(db: Connection, hits: Sequence[StudyHit]) -> dict[str, int]:
    """Return how many words the questions and passages of each HIT have, by the HIT's key."""
    slots = [slot for hit in hits for slot in hit.slots]
    pairs, golds = {s.pair_id for s in slots if s.pair_id}, {s.gold_id for s in slots if s.gold_id}
    of_pair = _counted(db, _PAIRS, sorted(pair for pair in pairs if pair is not None))
    of_gold = _counted(db, _GOLD, sorted(gold for gold in golds if gold is not None))
    return {
        hit.hit_key: sum(of_pair.get(s.pair_id or 0, 0) + of_gold.get(s.gold_id or 0, 0) for s in hit.slots)
        for hit in hits
    }


_PAIRS = """
SELECT p.pair_id, q.text, a.text, b.text FROM pairs p JOIN queries q USING (query_id)
JOIN passages a ON a.doc_id = p.doc_a JOIN passages b ON b.doc_id = p.doc_b WHERE p.pair_id IN
"""
_GOLD = "SELECT gold_id, query, good, bad FROM gold WHERE gold_id IN"


def _counted(db: Connection, select: str, numbers: Sequence[int]) -> dict[int, int]:
    wanted, named = in_list("n", numbers)
    return {
        int(number): sum(len(str(text).split()) for text in texts)
        for number, *texts in db.execute(f"{select} ({wanted})", named)
    }
