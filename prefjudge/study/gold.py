"""The study's gold pairs."""

from collections.abc import Sequence

from prefjudge.core.gold import GoldPair
from prefjudge.database import Connection


def save_gold(db: Connection, gold: Sequence[GoldPair]) -> int:
    """Add the gold pairs that the study does not have yet; return how many those were.

    A gold pair that a published HIT hides keeps its number for ever, so pairs are only added.
    """
    known = set(load_gold(db).values())
    fresh = [pair for pair in dict.fromkeys(gold) if pair not in known]
    start = db.execute("SELECT coalesce(max(gold_id), 0) + 1 FROM gold")[0][0]
    db.executemany(
        "INSERT INTO gold VALUES (:id, :query_id, :query, :good_id, :good, :bad_id, :bad)",
        (
            {
                "id": number,
                "query_id": pair.query_id,
                "query": pair.query,
                "good_id": pair.good_id,
                "good": pair.good,
                "bad_id": pair.bad_id,
                "bad": pair.bad,
            }
            for number, pair in enumerate(fresh, start=start)
        ),
    )
    return len(fresh)


def load_gold(db: Connection) -> dict[int, GoldPair]:
    """Return the gold pairs by number."""
    rows = db.execute(
        "SELECT gold_id, query_id, query, good_id, good, bad_id, bad FROM gold ORDER BY gold_id"
    )
    return {
        number: GoldPair(query_id=query_id, query=query, good_id=good_id, good=good, bad_id=bad_id, bad=bad)
        for number, query_id, query, good_id, good, bad_id, bad in rows
    }
