"""The study's inputs, pools, texts, pairs and gold pairs."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from prefjudge.core.copies import Copies, folded
from prefjudge.core.gold import GoldPair
from prefjudge.core.hits import Passage
from prefjudge.core.pools import Pairs, Pools, pools_of_columns
from prefjudge.database import Connection, row_of
from prefjudge.errors import InputError, StudyError, quoted
from prefjudge.reading.files import is_text
from prefjudge.reading.given import InputFile
from prefjudge.reading.pools import COLUMNS_IN_WORDS
from prefjudge.study.store import COUNTED, IMPORTED, JUDGES, SHOWN_VOTES

if TYPE_CHECKING:
    from prefjudge.study.store import Study


T = TypeVar("T")


def is_published(db: Connection, target: str | None = None) -> bool:
    """Return whether the study has HITs, at a target or anywhere."""
    where = "target = :target" if target else f"target <> '{IMPORTED}'"
    return bool(db.execute(f"SELECT 1 FROM hits WHERE {where} LIMIT 1", {"target": target} if target else {}))


def has_runs(db: Connection) -> bool:
    """Return whether the study has runs: one of imported votes alone has none to score."""
    return any(one.kind == "run" for one in load_inputs(db))


def is_settled(db: Connection) -> bool:
    """Return whether the pool and its texts stay as they are: there are HITs, or imported votes."""
    return bool(db.execute("SELECT 1 FROM hits LIMIT 1"))


def save_pools(db: Connection, pools: Pools, pairs: Pairs) -> None:
    """Replace the study's pools and pairs, which ask for no votes; delete the inputs and models' votes."""
    # Models' replies are kept by prompt, so a model that judges again is not asked the same again.
    for what, names in (("query", pools.queries), ("document", pools.docs), ("run", pools.sources)):
        odd = next((name for name in names if not is_text(name) or "\0" in name), None)
        if odd is not None:
            raise InputError(
                f"the id of the {what} {odd!r} is not UTF-8 text, and a study keeps no other",
                "Write the ids in UTF-8, in the runs, the qrels and the collection alike.",
            )
    for table in ("inputs", "pooled", "model_votes", "pairs"):
        db.execute(f"DELETE FROM {table}")
    now = time.time()
    db.insert_all(
        "pooled",
        (
            {
                "query_id": pools.queries[pools.query[row]],
                "doc_id": pools.docs[pools.doc[row]],
                "source": pools.sources[source],
                "added": now,
            }
            for row, source in zip(pools.source_row.tolist(), pools.source.tolist(), strict=True)
        ),
    )
    db.insert_all(
        "pairs",
        (
            _pair(i, pairs.queries[q], pairs.docs[a], pairs.docs[b])
            for i, (q, a, b) in enumerate(
                zip(pairs.query.tolist(), pairs.doc_a.tolist(), pairs.doc_b.tolist(), strict=True), start=1
            )
        ),
    )


def _pair(number: int, query: str, doc_a: str, doc_b: str, votes: int = 0) -> dict[str, str | int]:
    """Return a row of the pairs."""
    return {"pair_id": number, "query_id": query, "doc_a": doc_a, "doc_b": doc_b, "votes": votes}


def save_inputs(db: Connection, inputs: Iterable[InputFile], *, whole: bool = False) -> None:
    """Record the files that the study is made from; one of the same kind and name is replaced in place.

    If they are the ``whole``, the others are forgotten.
    """
    files, now = {(file.kind, file.name): file for file in inputs}, time.time()
    before = {tuple(row): added for *row, added in db.execute(f"SELECT {_INPUT}, added FROM inputs")}
    places = {} if whole else {(kind, name): place for kind, _, _, name, place in before}
    if whole:
        db.execute("DELETE FROM inputs")
    fresh = enumerate((key for key in files if key not in places), start=max(places.values(), default=0) + 1)
    places |= {key: place for place, key in fresh}
    db.executemany(
        "DELETE FROM inputs WHERE kind = :kind AND name = :name",
        [{"kind": kind, "name": name} for kind, name in files],
    )
    db.insert_all(
        "inputs",
        (
            row | {"added": before.get(tuple(row.values()), now)}
            for row in ({**row_of(file), "place": places[key]} for key, file in files.items())
        ),
        "ON CONFLICT (kind, path) DO NOTHING",
    )
    for row in before.keys() - set(db.execute(f"SELECT {_INPUT} FROM inputs")):
        former = dict(zip(_INPUT.split(", "), row, strict=True))
        db.insert("former_inputs", {**former, "added": before[row], "gone": now})


_INPUT = "kind, path, digest, name, place"


def save_texts(db: Connection, queries: Mapping[str, str], passages: Mapping[str, Passage]) -> None:
    """Store the texts of queries and passages."""
    # Once some are published they stay as they were shown. Texts that differ in blanks alone, as by the ends
    # of lines, are the same to who reads them.
    asked, shown = dict(queries), dict(passages)
    if is_settled(db):
        before = load_shown(db)
        other = before and fields_of(shown.values()) != fields_of(before.values())
        _keep_shown("query", asked, load_queries(db))
        _keep_shown("passage", shown, before, way_to_show(before.values()) if other else _AS_IT_WAS)
    db.insert_all(
        "queries",
        ({"query_id": key, "text": text} for key, text in asked.items()),
        "ON CONFLICT (query_id) DO UPDATE SET text = excluded.text",
    )
    db.insert_all(
        "passages",
        (
            {"doc_id": key, "text": one.text, "shown": json.dumps(one.shown) if one.shown else ""}
            for key, one in shown.items()
        ),
        "ON CONFLICT (doc_id) DO UPDATE SET text = excluded.text, shown = excluded.shown",
    )


def fields_of(passages: Iterable[Passage]) -> set[str]:
    """Return the names of what people see below passages."""
    return {name for one in passages for name, _ in one.shown}


def way_to_show(passages: Iterable[Passage]) -> str:
    """Return what to give so that people see below passages what they see below these."""
    words = ",".join(f"show={name}" for name in sorted(fields_of(passages)))
    return f"Give --dataset {words}." if words else "Leave show=… out of --dataset."


_AS_IT_WAS = "Give the queries and the collection that the study was made from, or make a new study."


def _keep_shown(kind: str, now: dict[str, T], before: Mapping[str, T], way: str = _AS_IT_WAS) -> None:
    """Keep what was shown before; refuse what reads differently."""
    known = {key: before[key] for key in now if key in before}
    other = [key for key, one in known.items() if folded(str(now[key])) != folded(str(one))]
    now.update(known)
    if other:
        raise StudyError(
            f"the text of {kind} {other[0]!r} ({len(other):,} in all) is not what was judged",
            way,
        )


def save_copies(db: Connection, copies: Copies) -> None:
    """Record which documents are copies of each other, in the place of what was recorded."""
    # Each is a copy of the one that was known first, so that those of a day are what was known by then.
    now, since = time.time(), dict[str, float]()
    for doc, head, added in db.execute("SELECT doc_id, copy_of, added FROM copies"):
        since |= {one: min(added, since.get(one, now)) for one in (doc, head)}
    db.execute("DELETE FROM copies")
    ordered = [sorted(group, key=lambda doc: (since.get(doc, now), doc)) for group in copies.groups]
    db.insert_all(
        "copies",
        (
            {"doc_id": doc, "copy_of": head, "added": since.get(doc, now)}
            for head, *others in ordered
            for doc in others
        ),
    )


def load_copies(db: Connection) -> Copies:
    """Return which documents of the pools are copies of each other, and of what others."""
    return Copies(db.execute("SELECT copy_of, doc_id FROM copies"))


def load_pools(db: Connection, *, newcomers: bool = False) -> Pools:
    """Return the study's pools; with ``newcomers``, including the candidates that challenges added."""
    brought = "UNION SELECT query_id, doc_id, source FROM challengers" if newcomers else ""
    return pools_of_columns(
        db.columns(f"SELECT query_id, doc_id, source FROM pooled {brought} ORDER BY query_id, doc_id, source")
    )


def load_pool_sizes(db: Connection) -> dict[int, int]:
    """Return how many queries have a pool of each size, as `Pools.histogram` of `load_pools`."""
    return dict(
        db.execute(
            "SELECT size, count(*) FROM (SELECT count(DISTINCT doc_id) AS size FROM pooled "
            "GROUP BY query_id) sizes GROUP BY size ORDER BY size"
        )
    )


def load_contributions(db: Connection) -> set[tuple[str, str, str]]:
    """Return which source added which passage of a query to the pools: query_id, doc_id, source."""
    return set(db.execute("SELECT query_id, doc_id, source FROM pooled"))


def load_pairs(db: Connection) -> list[tuple[int, str, str, str, int]]:
    """Return the pairs: id, query_id, doc_a, doc_b, votes wanted."""
    return db.execute("SELECT pair_id, query_id, doc_a, doc_b, votes FROM pairs ORDER BY pair_id")


def load_pairs_by_number(db: Connection) -> dict[int, tuple[str, str, str]]:
    """Return query_id, doc_a and doc_b of each pair, by its number."""
    return {number: (query, a, b) for number, query, a, b, _ in load_pairs(db)}


def load_pool_pairs(db: Connection) -> list[tuple[int, str, str, str, int]]:
    """Return the pairs whose passages are both pooled, as :func:`load_pairs`: not those of challenges."""
    members = set(db.execute("SELECT query_id, doc_id FROM pooled"))
    return [row for row in load_pairs(db) if {(row[1], row[2]), (row[1], row[3])} <= members]


def load_queries(db: Connection) -> dict[str, str]:
    """Return the texts of the queries."""
    return dict(db.execute("SELECT query_id, text FROM queries ORDER BY query_id"))


def load_passages(db: Connection) -> dict[str, str]:
    """Return the texts of the passages."""
    return dict(db.execute("SELECT doc_id, text FROM passages ORDER BY doc_id"))


def load_shown(db: Connection) -> dict[str, Passage]:
    """Return the passages as people see them, with what stands below their texts."""
    return {
        doc: Passage(text, tuple((name, value) for name, value in json.loads(shown or "[]")))
        for doc, text, shown in db.execute("SELECT doc_id, text, shown FROM passages ORDER BY doc_id")
    }


def refuse_marked(db: Connection, gold: Iterable[GoldPair]) -> None:
    """Refuse gold pairs that lack a field which other passages show: it would tell them from the others."""
    passages = load_shown(db)
    shown = _compared_fields(db, passages)
    problems = [
        f"{pair.query[:60]!r}: {doc or 'a passage without doc_id'} has no {' or '.join(sorted(lacks))}"
        for pair in gold
        for doc in (pair.good_id, pair.bad_id)
        if (lacks := shown - {name for name, _ in passages.get(doc, Passage("")).shown})
    ]
    if problems:
        raise InputError(
            "gold pairs lack what other passages show: workers would know them by it",
            "Take passages that the study shows, as --suggest without --decoys does, or pool again without "
            "--dataset show=…",
            problems[:20],
        )


def load_unmarked(db: Connection) -> dict[str, str]:
    """Return the texts of the passages that :func:`refuse_marked` would not refuse as gold."""
    passages = load_shown(db)
    shown = _compared_fields(db, passages)
    return {doc: one.text for doc, one in passages.items() if shown <= {name for name, _ in one.shown}}


def _compared_fields(db: Connection, passages: Mapping[str, Passage]) -> set[str]:
    compared = {doc for _, *docs in load_pairs_by_number(db).values() for doc in docs} & passages.keys()
    return fields_of(passages[doc] for doc in compared)


def load_inputs(db: Connection) -> list[InputFile]:
    """Return the files that the study was made from, runs in the order in which it met them."""
    return db.select(InputFile, "FROM inputs ORDER BY kind, place, path")


def save_pair(db: Connection, number: int, query: str, doc_a: str, doc_b: str) -> None:
    """Add a pair of candidates that asks for no votes, unless it is there."""
    db.insert("pairs", _pair(number, query, doc_a, doc_b), "ON CONFLICT DO NOTHING")


def clear_votes_wanted(db: Connection) -> None:
    """Ask for no votes on any pair."""
    db.execute("UPDATE pairs SET votes = 0")


def save_votes_wanted(db: Connection, votes: Mapping[int, int]) -> None:
    """Set how many votes each pair asks for, by the pair's number."""
    db.executemany(
        "UPDATE pairs SET votes = :votes WHERE pair_id = :id",
        ({"id": number, "votes": count} for number, count in votes.items()),
    )


def save_wanted(db: Connection, wanted: Iterable[tuple[str, str, str, int]], target: str) -> None:
    """Ask for more votes: query_id, doc_a, doc_b, and how many besides those that count at a target."""
    # A pair that the study did not have is added. Of other pairs no more votes are wanted than they have:
    # what an earlier round asked for in vain need not be what the votes of today ask for.
    kept = {
        (query, a, b): votes
        for query, a, b, votes in db.execute(
            f"SELECT p.query_id, p.doc_a, p.doc_b, {JUDGES} FROM {SHOWN_VOTES} JOIN pairs p USING (pair_id) "
            f"WHERE d.judgment_id IS NULL AND {COUNTED} GROUP BY p.query_id, p.doc_a, p.doc_b",
            target=target,
        )
    }
    db.executemany(
        "UPDATE pairs SET votes = :votes WHERE pair_id = :id",
        [
            {"id": number, "votes": kept.get((query, a, b), 0)}
            for number, query, a, b, votes in load_pairs(db)
            if votes > kept.get((query, a, b), 0)
        ],
    )
    following = int(db.value("SELECT coalesce(max(pair_id), 0) + 1 FROM pairs"))
    db.insert_all(
        "pairs",
        (
            _pair(number, query, a, b, more + kept.get((query, a, b), 0))
            for number, (query, a, b, more) in enumerate(wanted, start=following)
        ),
        "ON CONFLICT (query_id, doc_a, doc_b) DO UPDATE SET votes = excluded.votes",
    )


# The study's gold pairs.

REVIEW_FILE = "gold.tsv"
"""Holds suggested gold pairs for review; those that remain are accepted."""


def save_gold(db: Connection, gold: Sequence[GoldPair], when: float) -> tuple[int, int]:
    """Make these the study's gold pairs; return how many are new, and how many are withdrawn."""
    # A gold pair that a HIT hides keeps its number: it is marked as withdrawn, and not hidden again. So does
    # one for practice: workers may have been told its answer.
    known, wanted = load_gold(db), dict.fromkeys(gold)
    withdrawn = load_withdrawn(db)
    active = {number: pair for number, pair in known.items() if number not in withdrawn}
    _refuse_known_answers(known.values(), wanted)
    refuse_marked(db, [pair for pair in wanted if not pair.practice])
    gone = [number for number, pair in active.items() if pair not in wanted]
    back = [number for number, pair in known.items() if pair in wanted and number not in active]
    hidden = set(db.values("SELECT DISTINCT gold_id FROM slots"))
    for number in gone:
        if number in hidden or known[number].practice:
            db.update("gold", {"withdrawn": when}, gold_id=number)
        else:
            db.execute("DELETE FROM gold WHERE gold_id = :number", number=number)
    for number in back:
        db.update("gold", {"withdrawn": None}, gold_id=number)
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
    start = int(db.value("SELECT coalesce(max(gold_id), 0) + 1 FROM gold"))
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


def load_gold_sets(db: Connection, passages: int) -> dict[int, tuple[int, ...]]:
    """Return the gold pairs that new HITs may hide together, by the number of the first.

    In a question of so many passages the good one stands beside several that are off-topic: those of the
    pairs that have the question and the good one in common.
    """
    same: dict[tuple[str, ...], list[int]] = {}
    for number, pair in load_active_gold(db).items():
        same.setdefault((pair.query_id, pair.query, pair.good_id, pair.good), []).append(number)
    each = passages - 1
    sets = [
        tuple(numbers[at : at + each])
        for numbers in same.values()
        for at in range(0, len(numbers) - each + 1, each)
    ]
    return {numbers[0]: numbers for numbers in sorted(sets)}


def load_practice(db: Connection) -> tuple[GoldPair, ...]:
    """Return the gold pairs that newcomers practise on; none of them screens."""
    withdrawn = load_withdrawn(db)
    return tuple(p for number, p in load_gold(db).items() if p.practice and number not in withdrawn)


def count_hidden(db: Connection, target: str) -> dict[int, int]:
    """Return how many HITs at a target hide each gold pair; those that none hides are left out."""
    return db.tally(
        "SELECT gold_id, count(*) FROM slots JOIN hits USING (hit_key) "
        "WHERE target = :target AND gold_id IS NOT NULL GROUP BY gold_id",
        target=target,
    )


def load_withdrawn(db: Connection) -> frozenset[int]:
    """Return the numbers of the withdrawn gold pairs: missing one of them has no consequence."""
    return frozenset(db.values("SELECT gold_id FROM gold WHERE withdrawn IS NOT NULL"))


def other_gold(study: "Study") -> str:
    """Return how a study gets gold pairs that nothing suggests, or needs none, as commands and keys."""
    folder, file = quoted(study.folder), study.folder / REVIEW_FILE
    return (
        f"write {file} ({COLUMNS_IN_WORDS}), then: prefjudge gold {folder} --accept. "
        f"Or hide none: set gold_per_hit = 0 in [design] of {study.folder / 'study.toml'}"
    )
