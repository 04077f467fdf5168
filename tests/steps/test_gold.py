"""Gold pairs of a study that has no qrels, and the ways out where there are none."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from prefjudge import gold, import_votes, init, pool, publish
from prefjudge.core.pools import candidates_of
from prefjudge.errors import InputError, StudyError
from prefjudge.field.publish import plan_batch
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.pools import GOLD_COLUMNS, read_gold
from prefjudge.study.pools import load_active_gold, load_pairs, load_passages, load_pools
from prefjudge.study.store import Study
from tests.steps.conftest import COLLECTION, pool_demo

RUNS = [str(COLLECTION / "runs" / "*.txt")]
TEXTS = {"queries": COLLECTION / "queries.tsv", "collection": COLLECTION / "collection.tsv"}


def made(folder: Path, **texts: Path) -> Path:
    init(folder, config="demo")
    pool(folder, runs=RUNS, **texts)
    return folder


def test_without_qrels_an_answer_to_the_question_is_set_against_one_to_another(tmp_path: Path) -> None:
    study = made(tmp_path / "study", **TEXTS)
    found = gold(study, suggest=8)
    assert found.suggested == 8
    pairs = read_gold(found.file)
    with Study(study).transaction(write=False) as db:
        pools = load_pools(db)
    asked: dict[str, set[str]] = {}
    for query, doc in zip(pools.query.tolist(), pools.doc.tolist(), strict=True):
        asked.setdefault(pools.queries[query], set()).add(pools.docs[doc])
    assert len({pair.query_id for pair in pairs}) == 8
    for pair in pairs:
        others = set().union(*(docs for query, docs in asked.items() if query != pair.query_id))
        assert pair.good_id in asked[pair.query_id]
        assert pair.bad_id in others - asked[pair.query_id]
    known = read_qrels(COLLECTION / "qrels.txt")
    relevant = {
        (known.queries[q], known.docs[d])
        for q, d, grade in zip(known.query.tolist(), known.doc.tolist(), known.grade.tolist(), strict=True)
        if grade >= 1
    }
    assert not relevant & {(pair.query_id, pair.bad_id) for pair in pairs}
    assert gold(study, accept=True).gold == 8
    assert publish(study, dry_run=True).hits > 0


def test_fewer_suggestions_than_asked_for_are_explained(tmp_path: Path) -> None:
    init(tmp_path / "study", config="demo")
    pool_demo(tmp_path / "study")
    assert gold(tmp_path / "study", suggest=12).notices == ()
    found = gold(tmp_path / "study", suggest=5000)
    (why,) = found.notices
    assert why.startswith(
        f"{found.suggested:,} of 5,000 gold pairs can be suggested from the texts of 15 queries"
    )
    assert "gold.tsv, pool more queries" in why


def test_pairs_on_which_five_agreed_are_suggested_first(tmp_path: Path) -> None:
    study = made(tmp_path / "study", **TEXTS)
    with Study(study).transaction(write=False) as db:
        (_, query, a, b, _), (_, other, c, d, _), (_, third, e, f, _) = load_pairs(db)[:3]
    votes = [(query, a, b, b, n) for n in range(5)]
    votes += [(other, c, d, c if n else d, n) for n in range(5)]  # one of five disagrees
    votes += [(third, e, f, e, n) for n in range(4)]
    lines = ["query,left,right,winner,worker", *(",".join([*vote[:4], f"w{vote[4]}"]) for vote in votes)]
    (tmp_path / "votes.csv").write_text("\n".join(lines) + "\n")
    import_votes(study, tmp_path / "votes.csv")
    found = gold(study, suggest=6)
    assert (found.suggested, found.agreed) == (6, 1)
    first, *rest = read_gold(found.file)
    assert (first.query_id, first.good_id, first.bad_id) == (query, b, a)
    assert not any((pair.query_id, pair.bad_id) in {(other, d), (third, f)} for pair in rest)
    assert gold(study, suggest=1).agreed == 1
    assert gold(study, accept=True).lexical is not None


def test_what_asks_for_gold_names_every_way_out(tmp_path: Path) -> None:
    study = made(tmp_path / "study", **TEXTS)
    bare = made(tmp_path / "bare")
    one = made(tmp_path / "one", **TEXTS)
    with Study(one).transaction() as db:  # no other question
        db.execute("DELETE FROM pairs WHERE query_id <> 'q01'")
        db.execute("DELETE FROM pooled WHERE query_id <> 'q01'")
    for ask in (
        lambda: publish(study, dry_run=True),
        lambda: gold(study, accept=True),
        lambda: gold(bare, suggest=3),
        lambda: gold(one, suggest=3),
    ):
        with pytest.raises((InputError, StudyError)) as refused:
            ask()
        for way in ("gold_per_hit = 0", ", ".join(GOLD_COLUMNS)):
            assert way in refused.value.hint, refused.value


def test_what_the_qrels_call_relevant_is_never_the_bad_passage(tmp_path: Path) -> None:
    words = {"a": "apple", "b": "birch", "c": "cedar", "d": "daisy"}
    files = {
        "runs": "q1 Q0 a 1 2.0 t\nq2 Q0 b 1 2.0 t\nq3 Q0 c 1 2.0 t\n",
        "qrels": "q1 0 a 1\nq1 0 b 1\nq1 0 c 1\nq2 0 b 1\nq3 0 c 1\n",
        "queries": "q1\twhat grows\nq2\twhat stands\nq3\twhat smells\n",
        "collection": "".join(f"{doc}\t{' '.join([word] * 20)}\n" for doc, word in words.items()),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    study = tmp_path / "study"
    init(study, name="study")
    pool(study, **{name: tmp_path / name for name in files}, qrels_per_query="none")  # type: ignore[arg-type]
    pairs = read_gold(gold(study, suggest=9).file)
    assert {pair.query_id for pair in pairs} == {"q2", "q3"}  # all that is shown answers q1
    with pytest.raises(InputError, match="which is read"):
        gold(study, suggest=1, file=study / "study.toml")


def test_a_decoy_is_one_candidate_more_of_a_pool_and_in_no_other(tmp_path: Path) -> None:
    study, collection = made(tmp_path / "study", **TEXTS), tmp_path / "collection.tsv"
    rng = np.random.default_rng(3)
    words = (COLLECTION / "collection.tsv").read_text().split()
    copy = (COLLECTION / "collection.tsv").read_text().splitlines()[0].partition("\t")[2]
    drawn = [" ".join(rng.choice(words, int(rng.integers(10, 80)))) for _ in range(500)]
    elsewhere = {"copy": copy} | {f"other{number}": text for number, text in enumerate(drawn)}
    collection.write_text("".join(f"{doc}\t{text}\n" for doc, text in elsewhere.items()))
    with Study(study).transaction(write=False) as db:
        pools = load_pools(db)
    asked: dict[str, set[str]] = {}
    for query, doc in candidates_of(pools):
        asked.setdefault(query, set()).add(doc)
    with pytest.raises(InputError, match=r"queries.tsv are much shorter than the study's passages"):
        gold(study, suggest=20, decoys=COLLECTION / "queries.tsv")
    found = gold(study, suggest=20, decoys=collection)
    pairs = read_gold(found.file)
    assert found.notices[0].startswith(f"{len(pairs)} gold pairs, and not 20")
    decoys = {pair.query_id: pair.bad_id for pair in pairs}
    assert len(pairs) == sum(len(asked[query]) for query in decoys) >= 20, "whole pools"
    assert {(pair.query_id, pair.good_id) for pair in pairs} == {(q, doc) for q in decoys for doc in asked[q]}
    assert {(pair.query_id, pair.bad_id) for pair in pairs} == set(decoys.items()), "one each"
    assert len(set(decoys.values())) == len(decoys), "and each in one"
    assert set(decoys.values()) <= elsewhere.keys() - {"copy"}
    assert abs(found.lexical - 0.5) < 0.2
    assert gold(study, accept=True).gold == len(pairs)
    with Study(study).transaction(write=False) as db:
        kept = load_active_gold(db)
    hidden = [
        slot.gold_id for hit in plan_batch(Study(study), "sandbox") for slot in hit.slots if slot.gold_id
    ]
    part = Counter(kept[number].bad_id for number in hidden)
    whole = Counter(pair.bad_id for pair in pairs)
    assert len(hidden) == len(set(hidden)) < len(kept)
    assert sum(part[decoy] < whole[decoy] for decoy in part) <= 1, "it stands in as many pairs as candidates"
    with pytest.raises(InputError, match="--decoys says how to suggest"):
        gold(study, decoys=collection)
    with Study(study).transaction(write=False) as db:
        collection.write_text("".join(f"{doc}\t{text}\n" for doc, text in load_passages(db).items()))
    with pytest.raises(StudyError, match="no passage that no pool has"):
        gold(study, suggest=20, decoys=collection)
