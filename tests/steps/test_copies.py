"""Passages of one text on the road: nobody is paid to compare them, and all of them are answers."""

import json
import re
from pathlib import Path

import pytest

from prefjudge import check, gold, import_votes, init, pool, release, resolve, run, score, winratio
from prefjudge.core.copies import copies_in
from prefjudge.core.pools import candidates_of
from prefjudge.core.runs import Qrels
from prefjudge.errors import InputError
from prefjudge.findings.answers import load_best_answers
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.pools import read_copies, read_gold, read_pool
from prefjudge.steps.pool import PoolResult
from prefjudge.study.answers import save_answers
from prefjudge.study.pools import load_copies, load_pairs, load_passages
from prefjudge.study.store import Study
from tests.steps.conftest import edit, pool_from

TEXTS = {
    "msmarco_passage_01_10": "Ada Lovelace wrote the first program, for the Analytical Engine.",
    "msmarco_passage_02_20": "Ada Lovelace wrote the first  program,\u00a0for the Analytical Engine. ",
    "msmarco_passage_03_30": "ADA LOVELACE wrote the first program - for the analytical engine",
    "msmarco_passage_04_40": "Grace Hopper wrote the first compiler.",
    "msmarco_passage_05_50": "Ada Lovelace wrote the first program, for the Analytical Engine.",
    "msmarco_passage_06_60": "The Analytical Engine was never built.",
}
A, B, NEAR, OTHER, LATE, ENGINE = TEXTS
RUNS = {"one": [A, OTHER], "two": [B, A], "three": [OTHER, NEAR], "four": [NEAR, B]}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A little collection like MS MARCO v2: copies, copies but for blanks, and near copies."""
    (tmp_path / "collection.jsonl").write_text(
        "".join(json.dumps({"pid": doc, "passage": text}) + "\n" for doc, text in TEXTS.items())
    )
    (tmp_path / "queries.tsv").write_text("q1\twho wrote the first program\nq2\twhat was the first engine\n")
    (tmp_path / "qrels.txt").write_text(f"q1 0 {B} 1\nq1 0 {A} 0\nq2 0 {ENGINE} 1\n")
    for name, docs in RUNS.items():
        write_run(tmp_path, name, docs)
    return tmp_path


def write_run(folder: Path, run: str, docs: list[str]) -> Path:
    path = folder / f"{run}.txt"
    lines = [f"q1 Q0 {doc} {rank} {9 - rank} {run}" for rank, doc in enumerate(docs, 1)]
    lines += [f"q2 Q0 {doc} {rank} {9 - rank} {run}" for rank, doc in enumerate([ENGINE, OTHER], 1)]
    path.write_text("\n".join(lines) + "\n")
    return path


def pooled(files: Path, study: Path | None, *runs: str, **options: object) -> PoolResult:
    given = {"runs": [files / f"{run}.txt" for run in runs or RUNS], "collection": files / "collection.jsonl"}
    return pool_from(files, study, **{**given, **options})


def pairs_of(study: Path) -> set[tuple[str, str, str]]:
    with Study(study).transaction(write=False) as db:
        return {row[1:4] for row in load_pairs(db)}


def answers_of(qrels: Qrels, query: str = "q1") -> set[str]:
    return {doc for one, doc in candidates_of(qrels) if one == query}


def voted(files: Path, study: Path, *votes: tuple[str, str]) -> None:
    """Import votes of q1: who is preferred to whom."""
    lines = (f"q1 {winner} {loser} {winner} worker{n}\n" for n, (winner, loser) in enumerate(votes))
    (files / "votes.txt").write_text("".join(lines))
    import_votes(study, files / "votes.txt")


def test_copies_are_one_candidate_and_the_study_says_so(files: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    init(study, name="trial")
    made = pooled(files, study)
    assert (made.copies, made.documents, made.pairs) == (1, 4, 3)
    assert any("1 pooled document is a copy of another in 1 query" in text for text in made.notices)
    docs = {doc for _, *pair in pairs_of(study) for doc in pair}
    assert docs == {B, NEAR, OTHER}, "the qrel stands for its copy"
    with Study(study).transaction(write=False) as db:
        assert load_copies(db).groups == ((A, B),)
        assert A not in load_passages(db)
    assert not pooled(files, study).changed


def test_near_copies_are_one_candidate_where_the_config_says_so(files: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    init(study, name="trial")
    edit(study, ("near_copies = false", "near_copies = true"))
    assert pooled(files, study).copies == 2
    assert pairs_of(study) == {("q1", B, OTHER)}


def test_without_texts_nothing_is_known_of_copies(files: Path) -> None:
    made = pool(runs=[files / f"{run}.txt" for run in RUNS], qrels=files / "qrels.txt")
    assert (made.copies, made.documents) == (0, 5)
    assert not any("cop" in text for text in made.notices)


def test_a_list_of_copies_joins_what_texts_tell(files: Path, tmp_path: Path) -> None:
    listed, out = files / "neardupes.txt", tmp_path / "pool.tsv"
    listed.write_text(
        f"{NEAR}\t{NEAR}\tADA\n{NEAR}\t{A}\tAda Lovelace wrote\nother\tmore\n{NEAR}\tunseen\tAda\n"
    )
    made = pooled(files, None, copies=listed, out=out)
    assert made.copies == 2
    assert any("the texts differ: they count as copies nevertheless" in text for text in made.notices)
    assert answers_of_pool(out) == {B, OTHER}, "a chain of a list and of texts is one group"
    alone = pool(runs=[files / f"{run}.txt" for run in RUNS], copies=listed)
    assert (alone.copies, alone.documents) == (1, 4)
    found = read_copies(listed, [A])
    assert found.groups == (tuple(sorted((A, NEAR, "unseen"))),)
    listed.write_text("alone\n")
    with pytest.raises(InputError, match="not a readable file of copies"):
        pooled(files, None, copies=listed)
    with pytest.raises(InputError, match=r"nowhere\.txt: there is no such file"):
        pooled(files, None, copies=files / "nowhere.txt")


def answers_of_pool(path: Path) -> set[str]:
    return {doc for query, doc in candidates_of(read_pool(path)) if query == "q1"}


def test_all_copies_are_answers_in_qrels_boards_and_a_release(files: Path, tmp_path: Path) -> None:
    study, bundle = tmp_path / "study", tmp_path / "release"
    init(study, name="trial")
    pooled(files, study)
    voted(files, study, (A, OTHER), (B, NEAR), (OTHER, NEAR), (A, B))
    assert pairs_of(study) == {("q1", *sorted(pair)) for pair in ((B, OTHER), (B, NEAR), (OTHER, NEAR))}
    found = resolve(study, rule=["shallow-pooling"])
    assert answers_of(read_qrels(study / "preference.qrels", name="p")) == {A, B}
    assert found.qrels == len(candidates_of(read_qrels(study / "preference.qrels", name="p")))
    boards = score(study)
    assert all(one.judged for one in boards.judged_tops)
    top = {row.run: row.score for row in boards.boards[-1].leaderboard.rows}
    assert (top["one"], top["two"]) == (1, 1)
    pairs = {(one.a, one.b): one for one in winratio(study).winratio.pairs}
    assert (pairs["one", "two"].same, pairs["one", "two"].unjudged) == (1, 0), "on the judged query"
    assert (pairs["one", "three"].wins_a, pairs["two", "three"].wins_a) == (1, 1)
    made = release(study, out=bundle)
    assert "copies.tsv" in {one.name for one in made.files}
    assert (bundle / "copies.tsv").read_text() == f"{A}\t{A}\n{A}\t{B}\n"
    assert release(verify=bundle).ok
    (bundle / "copies.tsv").write_text(f"{A}\t{A}\n{A}\t{OTHER}\n")
    assert not release(verify=bundle).ok


def test_votes_that_came_before_the_pool_keep_their_documents(files: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    voted(files, study, (A, OTHER), (LATE, OTHER))
    made = pooled(files, study)
    assert made.copies == 1
    docs = {doc for query, *pair in pairs_of(study) for doc in pair if query == "q1"}
    assert docs == {A, LATE, NEAR, OTHER}, "B gave way to one that was judged"
    assert ("q1", *sorted((A, LATE))) not in pairs_of(study)


def test_copies_that_come_by_a_challenge_are_no_newcomers(files: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    init(study, name="trial")
    pooled(files, study, "one", "three")
    voted(files, study, (B, OTHER), (B, OTHER))
    resolve(study, rule=["shallow-pooling"])
    known = answers_of(load_best_answers(Study(study))[0])
    late = write_run(files, "late", [LATE, OTHER])
    opened = pool(study, challenge=True, runs=[late], collection=files / "collection.jsonl")
    assert (opened.documents, opened.copies) == (0, 1)
    assert answers_of(load_best_answers(Study(study))[0]) == known | {LATE}
    assert answers_of(read_qrels(study / "preference.qrels", name="p")) == known | {LATE}
    with Study(study).transaction() as db:
        stored = set(db.execute("SELECT doc_id FROM answers WHERE query_id = 'q1'"))
        save_answers(db, 2, load_best_answers(Study(study))[0])  # as `store recover` reads them
        assert set(db.execute("SELECT doc_id FROM answers WHERE version = 2 AND query_id = 'q1'")) == stored
        db.execute("DELETE FROM answers WHERE version = 2")
    assert stored == {(B,)}
    again = write_run(files, "again", [LATE, OTHER])
    assert pool(study, challenge=True, runs=[again]).copies == 1, "a copy that is known needs no text"
    other = write_run(files, "other", [NEAR, OTHER])
    twin = write_run(files, "twin", [NEAR, OTHER])
    opened = pool(study, challenge=True, runs=[other, twin], collection=files / "collection.jsonl")
    assert (opened.documents, opened.copies) == (1, 0)


def test_run_counts_all_copies_of_its_answers(files: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    init(study, config="demo", name="trial")
    config = study / "study.toml"
    config.write_text(re.sub("gold_per_hit = [0-9]+", "gold_per_hit = 0", config.read_text()))
    pooled(files, study, "one", "two")
    found = run(study, strategy="round-robin:1", workers=5, error=0, yes=True)
    listed = candidates_of(read_qrels(study / "preference.qrels", name="p"))
    assert {doc for query, doc in listed if query == "q1"} == {A, B}, "alone in its pool"
    assert found.qrels == len(listed)


def test_a_published_pool_keeps_copies_that_people_compared(files: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    init(study, name="trial")
    made = pooled(files, study)
    with Study(study).transaction() as db:  # as an earlier version pooled them, and asked for votes
        db.execute("DELETE FROM copies")
        db.execute(f"INSERT INTO pooled VALUES ('q1', '{A}', 'one', 0)")
        db.execute(f"DELETE FROM pooled WHERE doc_id = '{B}' AND source = 'one'")
        known = sorted({doc for (doc,) in db.execute("SELECT doc_id FROM pooled WHERE query_id = 'q1'")})
        db.execute("DELETE FROM pairs")
        pairs = [(a, b) for a in known for b in known if a < b]
        for number, (a, b) in enumerate(pairs, 1):
            db.execute(f"INSERT INTO pairs VALUES ({number}, 'q1', '{a}', '{b}', 1)")
        db.execute("INSERT INTO answers VALUES (1, 'q1', :doc, 0)", doc=B)
    assert made.pairs < len(pairs)
    again = pooled(files, study)
    assert (again.changed, again.copies) == (False, 0)
    assert answers_of(load_best_answers(Study(study))[0]) == {A, B}


def test_the_top_of_a_run_is_not_compared_with_its_copy(files: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    init(study, name="trial")
    made = pooled(files, study, "one", design="top-against-qrel")
    assert made.split is not None
    assert (made.split.a, made.split.b, made.split.no_rival, made.copies) == (2, 0, 0, 1)
    assert {pair for pair in pairs_of(study) if pair[0] == "q1"} == {("q1", *sorted((B, OTHER)))}
    both = pooled(files, None, "two", design="top-against-qrel", out=tmp_path / "pool.tsv")
    assert both.split is not None
    assert both.split.no_rival == 1, "its second is a copy of the qrel, too"
    voted(files, study, (B, OTHER))
    against = winratio(study, against_qrel="one").against_qrel
    assert against is not None
    assert against.split.a == 2


def test_gold_takes_no_copy_of_an_answer_for_off_topic(files: Path, tmp_path: Path) -> None:
    study, file = tmp_path / "study", tmp_path / "gold.tsv"
    init(study, name="trial")
    (files / "qrels.txt").write_text(f"q1 0 {B} 1\nq2 0 {LATE} 1\n")
    pooled(files, study)
    assert gold(study, suggest=9, file=file).suggested > 1
    assert not any(copies_in({"good": one.good, "bad": one.bad}) for one in read_gold(file))
    file.write_text(f"query_id\tquery\tgood\tbad\nq1\twho\t{TEXTS[A]}\t{TEXTS[A]} \n")
    with pytest.raises(InputError) as raised:
        gold(study, accept=True, file=file)
    assert "good and bad have the same text" in str(raised.value.problems)


def test_check_names_copies_with_other_labels(files: Path) -> None:
    (found,) = check(files / "qrels.txt", collection=files / "collection.jsonl").files
    assert any("1 labelled document is a copy of another" in text for text in found.warnings)
    assert any(f"1 text has copies with other labels (q1: {B} 1, {A} 0)" in text for text in found.warnings)
    assert not any("cop" in text for text in check(files / "qrels.txt").files[0].warnings)
    (alone,) = check(files / "one.txt", collection=files / "collection.jsonl").files
    assert not any("cop" in text for text in alone.warnings)
