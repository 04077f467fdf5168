"""The study's gold pairs."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from prefjudge.core.asking.gold import GoldPair
from prefjudge.database import Connection, row_of
from prefjudge.errors import InputError, quoted
from prefjudge.formats.labels.gold import COLUMNS_IN_WORDS

if TYPE_CHECKING:
    from prefjudge.study.study import Study

REVIEW_FILE = "gold.tsv"
"""Holds suggested gold pairs for review; those that remain are accepted."""


def save_gold(db: Connection, gold: Sequence[GoldPair], when: float) -> tuple[int, int]:
    """Make these the study's gold pairs; return how many are new, and how many are withdrawn.

    A gold pair that a HIT hides keeps its number: it is marked as withdrawn, and not hidden again. So does
    one for practice: workers may have been told its answer.

    Raises
    ------
    InputError
        A pair was one for practice before, and is to screen now.
    """
    known, wanted = load_gold(db), dict.fromkeys(gold)
    withdrawn = load_withdrawn(db)
    active = {number: pair for number, pair in known.items() if number not in withdrawn}
    _refuse_known_answers(known.values(), wanted)
    gone = [number for number, pair in active.items() if pair not in wanted]
    back = [number for number, pair in known.items() if pair in wanted and number not in active]
    hidden = {number for (number,) in db.execute("SELECT DISTINCT gold_id FROM slots")}
    for number in gone:
        if number in hidden or known[number].practice:
            db.execute("UPDATE gold SET withdrawn = :when WHERE gold_id = :number", number=number, when=when)
        else:
            db.execute("DELETE FROM gold WHERE gold_id = :number", number=number)
    for number in back:
        db.execute("UPDATE gold SET withdrawn = NULL WHERE gold_id = :number", number=number)
    there = set(known.values())
    fresh = [pair for pair in wanted if pair not in there]
    _add(db, fresh)
    return len(fresh) + len(back), len(gone)


def _refuse_known_answers(known: Iterable[GoldPair], wanted: Iterable[GoldPair]) -> None:
    told = {replace(pair, practice="") for pair in known if pair.practice}
    both = {replace(pair, practice="") for pair in wanted if pair.practice} | told
    problems = [
        f"{pair.query[:60]!r}: its answer was explained in practice"
        for pair in wanted
        if not pair.practice and pair in both
    ]
    if problems:
        raise InputError(
            "a gold pair for practice cannot screen: workers are told its answer",
            "Delete these lines, or give each its reason again in the column practice.",
            problems[:20],
        )


def _add(db: Connection, gold: Sequence[GoldPair]) -> None:
    start = db.execute("SELECT coalesce(max(gold_id), 0) + 1 FROM gold")[0][0]
    db.insert_all(
        "gold", ({"gold_id": number, **row_of(pair)} for number, pair in enumerate(gold, start=start))
    )


def load_gold(db: Connection) -> dict[int, GoldPair]:
    """Return the gold pairs by number, including withdrawn ones that HITs hide."""
    rows = db.execute(
        "SELECT gold_id, query_id, query, good_id, good, bad_id, bad, practice FROM gold ORDER BY gold_id"
    )
    names = ("query_id", "query", "good_id", "good", "bad_id", "bad", "practice")
    return {number: GoldPair(**dict(zip(names, texts, strict=True))) for number, *texts in rows}


def load_active_gold(db: Connection) -> dict[int, GoldPair]:
    """Return the gold pairs that new HITs may hide, by number."""
    withdrawn = load_withdrawn(db)
    return {
        number: pair
        for number, pair in load_gold(db).items()
        if number not in withdrawn and not pair.practice
    }


def load_practice(db: Connection) -> tuple[GoldPair, ...]:
    """Return the gold pairs that newcomers practise on; none of them screens."""
    withdrawn = load_withdrawn(db)
    return tuple(p for number, p in load_gold(db).items() if p.practice and number not in withdrawn)


def count_hidden(db: Connection, target: str) -> dict[int, int]:
    """Return how many HITs at a target hide each gold pair; those that none hides are left out."""
    return {
        number: int(count)
        for number, count in db.execute(
            "SELECT gold_id, count(*) FROM slots JOIN hits USING (hit_key) "
            "WHERE target = :target AND gold_id IS NOT NULL GROUP BY gold_id",
            target=target,
        )
    }


def load_withdrawn(db: Connection) -> frozenset[int]:
    """Return the numbers of the withdrawn gold pairs: missing one of them has no consequence."""
    rows = db.execute("SELECT gold_id FROM gold WHERE withdrawn IS NOT NULL")
    return frozenset(int(number) for (number,) in rows)


def other_gold(study: "Study") -> str:
    """Return how a study gets gold pairs that nothing suggests, or needs none, as commands and keys."""
    folder, file = quoted(study.folder), study.folder / REVIEW_FILE
    return (
        f"write {file} ({COLUMNS_IN_WORDS}), then: prefjudge gold {folder} --accept. "
        f"Or hide none: set gold_per_hit = 0 in [design] of {study.folder / 'study.toml'}"
    )
