"""Judgments and answers as other programs read them, and taken back from there."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from prefjudge import export, import_votes, init, release, resolve
from prefjudge.errors import InputError, StudyError
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.options import text_fields
from prefjudge.reading.texts.collections import read_passages
from prefjudge.reading.votes.exports import EXPORTS
from prefjudge.study.imports import sides_known
from prefjudge.study.pools import load_shown
from prefjudge.study.store import Study

COLUMNS = ("qid", "query", "left", "right", "left_text", "right_text", "winner", "worker")
VOTES = [
    ("q1", "why is it so?", "d1", "d2", "for that reason", "nobody knows", "left", "ann"),
    ("q1", "why is it so?", "d2", "d1", "nobody knows", "for that reason", "left", "ben"),
    ("q1", "why is it so?", "d1", "d3", "for that reason", "ask the rain", "left", "ben"),
    ("q1", "why is it so?", "d2", "d3", "nobody knows", "ask the rain", "left", "ann"),
    ("q1", "why is it so?", "d1", "d2", "for that reason", "nobody knows", "left", "cy"),
    ("q2", "what is it?", "d1", "d4", "for that reason", "a thing", "right", "cy"),
]
TIE = ("q2", "what is it?", "d4", "d1", "a thing", "for that reason", "tie", "ann")


def filled(folder: Path, rows: list[tuple[str, ...]] = VOTES, **how: Any) -> Path:
    init(folder, name="study")
    file = folder.with_suffix(".jsonl")
    file.write_text("".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in rows))
    import_votes(folder, file, **how)
    return folder


def winners(study: Path, rule: str) -> tuple[set[tuple[str, ...]], dict[str, dict[str, int]]]:
    out = study / "found.qrels"
    rules = resolve(study, rule=[rule], out=out).rules
    return {tuple(line.split()) for line in out.read_text().splitlines()}, rules


TABLES = [("crowd-kit", "csv"), ("evalica", "csv")]
TASKS = ("label-studio", "json")


@pytest.mark.parametrize(("to", "suffix"), [TASKS, ("chosen", "jsonl"), ("choix", "csv"), *TABLES])
def test_what_is_exported_and_imported_again_resolves_alike(tmp_path: Path, to: str, suffix: str) -> None:
    rows = [*VOTES, TIE] if EXPORTS[to].ties else VOTES
    study = filled(tmp_path / "study", rows)
    out = tmp_path / f"out.{suffix}"
    found = export(study, out, to=to)
    assert (found.judgments, found.workers, found.notices) == (len(rows), 3, ())
    back = tmp_path / "back"
    init(back)
    again = import_votes(back, out)
    assert (again.votes, again.workers) == (len(rows), 3)
    for rule in ("shallow-pooling", "most-wins", "bradley-terry"):
        assert winners(back, rule) == winners(study, rule)


@pytest.mark.parametrize(("to", "suffix"), [TASKS, *TABLES])
def test_sides_that_are_not_known_stay_so(tmp_path: Path, to: str, suffix: str) -> None:
    study, back, out = tmp_path / "study", tmp_path / "back", tmp_path / f"out.{suffix}"
    filled(study, VOTES, map=["left=left", "right=right"])
    with Study(study).transaction() as db:
        db.execute("UPDATE imports SET sides = 0")  # as of doc_a and doc_b, or chosen and rejected
    export(study, out, to=to)
    init(back)
    import_votes(back, out)
    with Study(back).transaction(write=False) as db:
        assert not sides_known(db)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_each_program_gets_what_it_takes(tmp_path: Path) -> None:
    study = filled(tmp_path / "study", [*VOTES, TIE])
    resolve(study)
    out = tmp_path / "out"
    taken = {}
    for to in ("choix", "crowd-kit", "evalica"):
        found = export(study, out / f"{to}.csv", to=to)
        taken[to] = rows_of(out / f"{to}.csv")
        assert found.ties == (to != "evalica")
        assert bool(found.notices) == bool(found.ties)
        assert found.rows == len(taken[to])
    games = [
        (int(row["winner_item"]), int(row["loser_item"])) for row in taken["choix"] if row["query"] == "q1"
    ]
    assert games == [(0, 1), (1, 0), (0, 2), (1, 2), (0, 1)]
    assert {row["label"] for row in taken["crowd-kit"]} == {"d1", "d2", "d4"}
    assert [row["winner"] for row in taken["evalica"]] == ["left"] * 5 + ["right", "tie"]
    export(study, out / "pairs.json", to="chosen")
    assert json.loads((out / "pairs.json").read_text())[5] == {
        "prompt": "what is it?", "chosen": "a thing", "rejected": "for that reason",
        "query_id": "q2", "chosen_id": "d4", "rejected_id": "d1",
        "worker": taken["evalica"][5]["worker"],
    }  # fmt: skip
    export(study, out / "tasks.json", to="label-studio")
    task = json.loads((out / "tasks.json").read_text())[0]
    assert task["data"]["answer1"] == "for that reason"
    assert [one["result"][0]["value"] for one in task["annotations"]] == [{"selected": "left"}] * 2
    export(study, out / "answers.json", to="ranx")
    assert json.loads((out / "answers.json").read_text()) == {"q1": {"d1": 1}, "q2": {"d4": 1}}
    export(study, out / "answers.qrels", to="ir-measures")
    answers = read_qrels(out / "answers.qrels")
    assert (answers.queries, len(answers.grade)) == (("q1", "q2"), 2)
    export(study, out / "answers.csv", to="ir-measures")
    assert rows_of(out / "answers.csv")[0] == {"query_id": "q1", "doc_id": "d1", "relevance": "1"}
    assert sorted(path.name for path in out.iterdir() if path.name.endswith("rehearsal.txt")) == []


def test_what_people_saw_below_a_passage_goes_with_its_text(tmp_path: Path) -> None:
    study, out = filled(tmp_path / "study"), tmp_path / "out.json"
    with Study(study).transaction() as db:
        db.execute("UPDATE passages SET shown = '[[\"date\", \"1999\"]]' WHERE doc_id = 'd1'")
        shown = load_shown(db)
    resolve(study)
    export(study, out, to="chosen")
    folder = Path(release(study, texts=True).out)
    chosen = json.loads(out.read_text())
    trained = [json.loads(line) for line in (folder / "chosen.jsonl").read_text().splitlines()]
    for rows in (chosen, trained):
        texts = {row["chosen_id"]: row["chosen"] for row in rows}
        assert (texts["d1"], texts["d4"]) == ("for that reason\ndate: 1999", "a thing")
    again = read_passages(folder / "passages.jsonl", shown, fields=text_fields({"dataset": "show=date"}))
    assert again == shown
    import_votes(tmp_path / "again", folder)
    with Study(tmp_path / "again").transaction(write=False) as db:
        assert load_shown(db) == shown, "the study that a release becomes shows it, too"
    assert "1999" not in (folder / "passages.tsv").read_text(), "which programs read as texts alone"


def test_workers_are_pseudonyms_unless_their_ids_are_asked_for(tmp_path: Path) -> None:
    study = filled(tmp_path / "study")
    for to in EXPORTS:
        if not EXPORTS[to].of_answers:
            export(study, tmp_path / "plain.json", to=to)
            words = (tmp_path / "plain.json").read_text()
            assert '"ann"' not in words, to
            assert json.dumps(Study(study).opaque("worker", "ann")) in words
            export(study, tmp_path / "named.json", to=to, ids=True)
            assert '"ann"' in (tmp_path / "named.json").read_text()


def test_exports_of_simulated_judgments_say_so_and_are_read_so(tmp_path: Path) -> None:
    study = filled(tmp_path / "study", judge="simulated")
    resolve(study)
    export(study, tmp_path / "out.csv", to="evalica")
    assert (tmp_path / "out.rehearsal.txt").read_text().startswith("rehearsal: 6 of 6")
    export(study, tmp_path / "answers.txt", to="ranx")
    assert (tmp_path / "answers.txt").read_text().splitlines()[0] == "q1 rehearsal:6/6 d1 1"
    init(tmp_path / "back")
    assert str(import_votes(tmp_path / "back", tmp_path / "out.csv").rehearsal).startswith(
        "rehearsal: 6 of 6"
    )


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    study = filled(tmp_path / "study")
    init(tmp_path / "empty")
    (tmp_path / "votes").write_text("q d1 d2 d1\n")
    init(tmp_path / "bare")
    import_votes(tmp_path / "bare", tmp_path / "votes")
    for folder, to, name, words in (
        (study, "nowhere", "x.json", "nothing is exported to 'nowhere'"),
        (tmp_path / "empty", "choix", "x.csv", "no judgments yet"),
        (tmp_path / "bare", "chosen", "x.json", "1 query has no text in the study, such as 'q'"),
        (study, "ranx", "x.json", "no preference qrels yet"),
        (study, "label-studio", "x.csv", "label-studio is written as JSON"),
        (study, "choix", "x.doc", "the name does not say the form of the table"),
        (study, "choix", "study/study.toml", "would replace"),
    ):
        with pytest.raises((InputError, StudyError), match=words) as refused:
            export(folder, tmp_path / name, to=to)
        assert refused.value.hint
        assert not (tmp_path / name).exists() or name.endswith("toml")


def test_texts_may_be_given_after_the_votes(tmp_path: Path) -> None:
    (tmp_path / "votes").write_text("q d1 d2 d1\n")
    (tmp_path / "queries").write_text("q\twhy?\n")
    (tmp_path / "texts").write_text("d1\tfor that\nd2\tnobody knows\n")
    init(tmp_path / "study")
    import_votes(tmp_path / "study", tmp_path / "votes")
    texts = {"queries": tmp_path / "queries", "collection": tmp_path / "texts"}
    assert import_votes(tmp_path / "study", tmp_path / "votes", **texts).votes == 0
    assert export(tmp_path / "study", tmp_path / "out.json", to="chosen").rows == 1


LONG = "a passage that stands whole in the middle of another"
OLD = {
    "o1": "One  text.",
    "o2": "Two words!",
    "o3": LONG,
    "o4": f"{LONG} one",
    "o5": "gone",
    "o6": "One text.",
}
NEW = {
    "n1": "One text.", "n9": "One text.", "n2": "two WORDS", "n3": f"Here: {LONG}.", "n4": f"{LONG} two",
    "n5": f"x {LONG} one y", "n6": "",
}  # fmt: skip


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_labels_get_the_ids_of_another_collection(tmp_path: Path, ending: str) -> None:
    for name, texts in (("old", OLD), ("new", {doc: text for doc, text in NEW.items() if text})):
        lines = "".join(f"{doc}\t{text}{ending}" for doc, text in texts.items())
        (tmp_path / f"{name}.tsv").write_bytes(lines.encode("utf-8-sig"))
    labels = tmp_path / "old.qrels"
    rows = ["q1 0 o1 1", "q1 0 o6 3", "q1 0 o2 0", "q1 0 o3 2", "q2 0 o4 1.5", "q2 0 o5 1", "q2 0 o7 1"]
    labels.write_bytes(ending.join([*rows, ""]).encode())
    out = tmp_path / "new.qrels"
    differs = "2 passages have labels that differ, such as 'n1' for query 'q1': the higher one counts"
    found = export(labels, out, collection=tmp_path / "old.tsv", onto=tmp_path / "new.tsv")
    assert lines_of(out) == ["q1 Q0 n1 3", "q1 Q0 n9 3", "q1 Q0 n2 0", "q2 Q0 n5 1.5"]
    assert found.carried == {"same text": 2, "same words": 1, "inside": 1, "several": 1, "nowhere": 2}
    assert lines_of(tmp_path / "new.several.qrels") == [f"q1 Q0 {doc} 2" for doc in ("n3", "n4", "n5")]
    assert lines_of(tmp_path / "new.carried.tsv")[1:4] == [
        "o1\tsame text\tn1 n9", "o2\tsame words\tn2", "o3\tseveral\tn3 n4 n5"
    ]  # fmt: skip
    assert any("1 passage has no text to look for, such as 'o7'" in one for one in found.notices)
    assert differs in found.notices


def test_votes_get_the_ids_of_another_collection(tmp_path: Path) -> None:
    votes, out = tmp_path / "votes.txt", tmp_path / "new.txt"
    rows = ["q1 o1 o2 o2 ann", "q1 o4 o6 tie ben", "q1 o1 o6 o1 ben", "q2 o3 o1 o1 ann", "q2 o5 o1 o1 ben"]
    votes.write_text("\n".join(rows))
    found = export(votes, out, collection=OLD, onto=NEW)
    assert lines_of(out) == ["q1 n1 n2 n2 ann", "q1 n5 n1 tie ben"]
    assert (found.rows, found.judgments, found.to) == (2, 5, "judgments")
    torn = "q1 o2 o1 o2 ann 8\nq1 o2 o6 o2 ann 8\nq1 o2 o3 o2 ann 9\nq1 o2 o4 o2 ann 9\n"
    votes.write_text(f"q1 o2 o1 o2 ann 7\nq1 o2 o4 o2 ann 7\nq1 o4 o6 o4 ben -\n{torn}")
    export(votes, out, collection=OLD, onto=NEW)
    assert lines_of(out) == ["q1 n2 n1 n2 ann 1", "q1 n2 n5 n2 ann 1", "q1 n5 n1 n5 ben -"]


def test_a_study_is_exported_with_the_ids_of_another_collection(tmp_path: Path) -> None:
    study, out = filled(tmp_path / "study", [*VOTES, TIE]), tmp_path / "answers.qrels"
    resolve(study)
    new = {"n1": "For that reason!", "n4": "a thing", "n9": "ask the rain"}
    found = export(study, out, onto=new)
    assert (lines_of(out), found.to) == (["q1 Q0 n1 1", "q2 Q0 n4 1"], "ir-measures")
    assert found.carried["nowhere"] == 1
    export(study, tmp_path / "pairs.json", to="chosen", onto=new)
    assert {row["chosen_id"] for row in json.loads((tmp_path / "pairs.json").read_text())} == {"n1", "n4"}


def test_a_collection_in_parts_is_read_part_by_part(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    rows = [json.dumps({"pid": doc, "passage": text, "spans": "(0,9)"}) for doc, text in NEW.items() if text]
    for number in (0, 3):
        part = "\n".join([*rows[number : number + 3], ""])
        (parts / f"part_{number}.gz").write_bytes(gzip.compress(part.encode()))
    labels, out = tmp_path / "labels.txt", tmp_path / "out.txt"
    labels.write_text("q1 0 o1 1\nq1 0 o4 2\n")
    assert export(labels, out, collection=OLD, onto=parts).rows == 3
    assert lines_of(out) == ["q1 Q0 n1 1", "q1 Q0 n9 1", "q1 Q0 n5 2"]


def test_what_cannot_be_carried_is_refused(tmp_path: Path) -> None:
    labels, run = tmp_path / "labels.txt", tmp_path / "one.run"
    labels.write_text("q1 0 o1 1\n")
    run.write_text("q1 Q0 o1 1 2.0 one\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    texts: dict[str, Any] = {"collection": OLD, "onto": NEW}
    for file, how, words in (
        (labels, {}, "its ids are changed, and nothing else"),
        (run, texts, "holds neither qrels nor judgments"),
        (labels, texts | {"onto": empty}, "--onto holds no text"),
        (labels, texts | {"onto": OLD.get}, "of which nobody knows all ids"),
        (labels, texts | {"onto": run.with_name("none.tsv")}, "none.tsv"),
    ):
        with pytest.raises(InputError, match=words):
            export(file, tmp_path / "out.txt", **how)
    with pytest.raises(InputError, match=r"labels\.txt"):
        export(labels, labels, **texts)
    assert labels.read_text() == "q1 0 o1 1\n"
