"""Checks of a study's store: its money, and states that are possible only after something went wrong."""

from prefjudge.database import Connection

_IMPOSSIBLE = (
    (
        "HITs are published without an intent to publish them",
        "SELECT count(*) FROM hits h WHERE hit_id IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM intents i WHERE i.subject = h.hit_key AND i.operation = 'CreateHIT')",
    ),
    (
        "HITs were published twice",
        "SELECT count(*) FROM (SELECT hit_id FROM hits WHERE hit_id IS NOT NULL "
        "GROUP BY hit_id HAVING count(*) > 1) AS twice",
    ),
    (
        "calls of one kind were made twice for the same HIT or assignment",
        "SELECT count(*) FROM (SELECT subject FROM intents WHERE operation IN "
        "('CreateHIT', 'SendBonus', 'RejectAssignment', 'DeleteHIT') "
        "GROUP BY operation, subject HAVING count(*) > 1) AS twice",
    ),
    (
        "assignments were both approved and paid by a bonus",
        "SELECT count(*) FROM assignments a WHERE decision = 'approved' AND EXISTS "
        "(SELECT 1 FROM intents i WHERE i.subject = a.assignment_id AND i.operation = 'SendBonus' "
        "AND i.outcome IS NOT NULL)",
    ),
    (
        "assignments were paid by a bonus in place of their reward without the intents of both",
        "SELECT count(*) FROM assignments a WHERE decision LIKE 'prorated:%' AND 2 > "
        "(SELECT count(DISTINCT operation) FROM intents i WHERE i.subject = a.assignment_id "
        "AND i.operation IN ('SendBonus', 'RejectAssignment'))",
    ),
    (
        "HITs have intents that commit less than their rewards",
        "SELECT count(*) FROM hits h WHERE h.assignments * h.reward_cents > "
        "(SELECT coalesce(sum(i.cents), 0) FROM intents i WHERE i.subject = h.hit_key AND i.cents > 0)",
    ),
    (
        "assignments have fewer judgments than comparisons were answered",
        "SELECT count(*) FROM assignments a WHERE a.answered - "
        "(SELECT count(*) FROM slots s WHERE s.hit_key = a.hit_key AND s.gold_id IS NOT NULL) > "
        "(SELECT count(*) FROM judgments j WHERE j.assignment_id = a.assignment_id)",
    ),
    (
        "judgments count although their assignment was dropped",
        "SELECT count(*) FROM judgments j JOIN assignments a USING (assignment_id) "
        "LEFT JOIN drops d USING (judgment_id) WHERE a.verdict <> 'kept' AND d.judgment_id IS NULL",
    ),
)


def find_impossible(db: Connection) -> list[str]:
    """Return the signs that money was spent twice or rows were lost."""
    found = [(int(db.execute(sql)[0][0]), what) for what, sql in _IMPOSSIBLE]
    return [f"{count:,} {what}" for count, what in found if count]


def ledger_sums(db: Connection) -> dict[str, int]:
    """Return what the study has committed at each target, in cents."""
    rows = db.execute(
        "SELECT target, coalesce(sum(cents), 0) FROM intents WHERE cents > 0 OR outcome IS NOT NULL "
        "GROUP BY target ORDER BY target"
    )
    return {str(target): int(cents) for target, cents in rows}


def newest_time(db: Connection) -> float:
    """Return the latest time of anything in the store, 0 where there is nothing."""
    return float(
        db.execute(
            "SELECT max(t) FROM (SELECT max(intended) AS t FROM intents UNION ALL "
            "SELECT max(collected) FROM assignments) AS times"
        )[0][0]
        or 0
    )
