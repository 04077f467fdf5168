"""Votes that were collected elsewhere, as part of a study."""

import gzip
import json
import math
import os
import signal
import subprocess
import sys
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import prefjudge
from prefjudge import import_votes, init, pool, release, report, resolve, score, status, workers
from prefjudge.core.judgments import ModelVote
from prefjudge.errors import InputError, StudyError
from prefjudge.reading.labels import read_judgments
from prefjudge.steps.import_votes import ImportResult
from prefjudge.study.answers import last_version
from prefjudge.study.assignments import load_judgments
from prefjudge.study.imports import save_votes, sides_known
from prefjudge.study.progress import count_judgments, find_impossible, waiting_pairs
from prefjudge.study.store import (
    LIVE,
    SANDBOX,
    Study,
    forget_answers,
    load_published_targets,
    refuse_other_target,
)
from tests.steps.conftest import contents, pool_demo

PLAIN = "q1 d1 d2 d1 ann\nq1 d1 d3 d1 ben\nq1 d3 d2 d2 ann\nq2 d1 d2 tie ben\nq1 d1 d2 d2 ben\n"


def new(tmp_path: Path, name: str = "study") -> Path:
    init(tmp_path / name, name=name)
    return tmp_path / name


def took(study: Path) -> list[tuple[str, str, str, int, str]]:
    """The judgments that count: query, left, right, choice, worker."""
    with Study(study).transaction(write=False) as db:
        log = load_judgments(db)
    columns = (log.query, log.left, log.right, log.choice, log.worker)
    return [
        (log.queries[q], log.docs[a], log.docs[b], choice, log.workers[w] if w >= 0 else "")
        for q, a, b, choice, w in zip(*(column.tolist() for column in columns), strict=True)
    ]


def brought(tmp_path: Path, content: str | list[Any], name: str = "votes.csv", **how: Any) -> ImportResult:
    path = tmp_path / name
    text = content if isinstance(content, str) else "".join(json.dumps(row) + "\n" for row in content)
    path.write_text(text, encoding="utf-8")
    study = tmp_path / "study"
    if not study.exists():
        new(tmp_path)
    return import_votes(study, path, **how)


def test_votes_of_a_file_are_resolved_as_the_file_is(tmp_path: Path) -> None:
    found = brought(tmp_path, PLAIN, "votes.txt")
    assert (found.votes, found.queries, found.documents, found.workers) == (5, 2, 3, 2)
    study, file = tmp_path / "study", tmp_path / "votes.txt"
    log = read_judgments(file)
    assert len(took(study)) == len(log)
    for rule in ("shallow-pooling", "most-wins", "bradley-terry", "noisy-bradley-terry"):
        own = resolve(study, rule=[rule], out=tmp_path / "own.qrels")
        other = resolve(judgments=file, rule=[rule], out=tmp_path / "other.qrels")
        assert own.rules == other.rules
        lines = [sorted((tmp_path / f"{name}.qrels").read_text().splitlines()) for name in ("own", "other")]
        assert lines[0] == lines[1]
    resolve(study)
    state = status(study)
    assert (state.judgments, state.waiting, state.committed) == (5, 0, "0.00")
    assert state.hits == {}
    for verb, one in (("score", ""), ("winratio", ""), ("compare", "--study "), ("stability", "")):
        with pytest.raises(InputError, match="study has no runs: its votes were imported") as without:
            getattr(prefjudge, verb)(study=study)
        assert without.value.hint.endswith(f"prefjudge {verb} {one}{study} --runs 'runs/*'")
    shown = report(study)
    page = Path(shown.out).read_text()
    assert "5 votes were imported from votes.txt" in page
    assert "The votes were imported; no HIT was published here." in page
    assert not {"HITs:", "Committed:"} & {*page.partition("<template")[0].split()}
    assert "the study has no runs, so it has no leaderboards; add runs by --runs" in shown.notices
    assert "computed with prefjudge (prefjudge " in page, "the program is cited where no run is scored, too"
    assert "The best answer to each query</caption>" in page, "nothing is labelled here"
    assert "Workers were asked" not in page
    result = release(study)
    notes = (Path(result.out) / "README.md").read_text()
    assert "| votes | votes.txt (5) |" in notes
    assert "Reward" not in notes  # nobody was paid here, and nothing is known of what was asked
    assert (result.judgments, result.workers, result.rehearsal) == (5, 2, None)


def test_a_report_of_a_tie_has_no_number_that_is_none(tmp_path: Path) -> None:
    brought(tmp_path, "query,left,right,winner,worker\nq1,d1,d2,tie,a\n", "ties.csv")
    resolve(tmp_path / "study")
    page = Path(report(tmp_path / "study").out).read_text().partition("<template")[0]
    assert "1 judgment counts." in page
    assert "1 vote was imported from ties.csv" in page
    assert not {"nan", "nan%", "nan."} & {*page.split()}


def test_the_same_votes_are_added_once(tmp_path: Path) -> None:
    brought(tmp_path, PLAIN, "votes.txt")
    before = contents(tmp_path / "study")
    again = brought(tmp_path, PLAIN, "votes.txt")
    (tmp_path / "packed.gz").write_bytes(gzip.compress(PLAIN.encode()))
    packed = import_votes(tmp_path / "study", tmp_path / "packed.gz")
    assert [(one.votes, one.known) for one in (again, packed)] == [(0, 5), (0, 5)]
    assert contents(tmp_path / "study") == before
    votes = json.dumps(annotated((1, "left", 7)))
    assert brought(tmp_path, votes, "votes.json").votes == 1
    assert brought(tmp_path, votes, "votes.json", criterion="pw").votes == 0  # the only one, by its name


def test_odd_characters_in_names_and_texts_are_kept_out_of_the_store(tmp_path: Path) -> None:
    odd = {"qid": "q", "left": "a", "right": "b", "winner": "a", "worker": "w\ud800\0 x",
           "left_text": "one \ud800", "right_text": "t w"}  # fmt: skip
    brought(tmp_path, [odd], "votes.jsonl")
    ((*_, worker),) = took(tmp_path / "study")
    assert worker == "w?\N{REPLACEMENT CHARACTER}_x"


def annotated(*choices: tuple[int, str, int]) -> list[Any]:
    return [
        {
            "id": number,
            "data": {"prompt": "why is it so?", "answer1": "for that reason", "answer2": "nobody knows"},
            "annotations": [
                {
                    "id": number, "completed_by": by, "lead_time": 2.5, "was_cancelled": False,
                    "result": [{"type": "pairwise", "from_name": "pw", "to_name": "answer1,answer2",
                                "value": {"selected": said}}],
                }
            ],
        }
        for number, said, by in choices
    ]  # fmt: skip


def test_a_newer_export_adds_what_is_new_and_changes_nothing(tmp_path: Path) -> None:
    first = brought(tmp_path, json.dumps(annotated((1, "left", 7))), "one.json")
    both = brought(tmp_path, json.dumps(annotated((1, "left", 7), (2, "right", 8))), "two.json")
    assert [(one.read_as, one.votes, one.known) for one in (first, both)] == [
        ("label-studio", 1, 0), ("label-studio", 1, 1),
    ]  # fmt: skip
    with pytest.raises(StudyError, match="was already imported under the same id"):
        brought(tmp_path, json.dumps(annotated((1, "right", 7))), "three.json")
    with Study(tmp_path / "study").transaction(write=False) as db:
        texts = {*db.execute("SELECT text FROM passages")}
        times = db.execute("SELECT milliseconds FROM judgments")
    assert texts == {("for that reason",), ("nobody knows",)}
    assert times == [(2500,), (2500,)]


def test_votes_of_a_table_are_those_of_its_csv(tmp_path: Path) -> None:
    rows = "qid,left,right,winner,worker\nq,a,b,a,ann\nq,a,c,tie,\nq,c,b,b,ben\n"
    brought(tmp_path, rows)
    table = pd.read_csv(StringIO(rows))
    for number, given in enumerate((table, table.to_dict("records"), table.itertuples(index=False))):
        other = new(tmp_path, f"other{number}")
        found = prefjudge.import_votes(other, given)  # type: ignore[arg-type]
        assert (found.votes, found.read_as) == (3, "table")
        assert took(other) == took(tmp_path / "study")
    assert prefjudge.import_votes(tmp_path / "other0", table).known == 3
    for odd, words in (
        (table.assign(winner="z"), "memory:votes:0:1: the winner is neither of the two: 'z'"),
        (table[:0], "has no votes"),
        ([1, 2], "import_votes: votes is a list; it takes"),
        (table.drop(columns="left"), "no column is known to hold the left"),
    ):
        with pytest.raises(InputError, match=words):
            prefjudge.import_votes(tmp_path / "study", odd)  # type: ignore[arg-type]


def test_imported_votes_are_no_hits_that_a_plan_goes_on_with(tmp_path: Path) -> None:
    brought(tmp_path, PLAIN, "votes.txt")
    planned = prefjudge.plan(tmp_path / "study", trials=20, seed=1)
    assert planned.driven_by == ""  # so that it leads to a strategy, and not to collect


def test_a_longer_file_without_ids_adds_what_is_new(tmp_path: Path) -> None:
    rows = "qid,left,right,winner,worker\nq,a,b,a,ann\nq,a,b,a,ann\nq,a,c,tie,ben\n"
    brought(tmp_path, rows, "one.csv")
    longer = brought(tmp_path, rows + "q,a,b,a,ann\nq,a,b,b,ben\n", "two.csv")
    assert (longer.votes, longer.known) == (2, 3)
    assert "left out: the same workers' votes" in " ".join(longer.notices)
    assert len(took(tmp_path / "study")) == 5
    nobody = "qid,left,right,winner\nq,a,b,a\n"
    brought(tmp_path, nobody, "three.csv")  # nobody knows whether this is the same person
    unsure = brought(tmp_path, nobody + "q,b,c,b\n", "four.csv")
    assert (unsure.votes, unsure.known) == (2, 0)
    assert "1 vote is like earlier ones" in " ".join(unsure.notices)


def test_comparisons_with_a_known_answer_tell_of_workers_and_are_no_votes(tmp_path: Path) -> None:
    rows = (
        "q,a_id,b_id,pref,w,expected\nq1,a,b,left,ann,\nq1,g,h,left,ann,left\nq1,h,g,left,ann,g\n"
        "q1,a,b,right,ben,\nq1,g,h,right,ben,g\n"
    )
    mapped = ["query=q,left=a_id,right=b_id,winner=pref,worker=w,gold=expected"]
    found = brought(tmp_path, rows, map=mapped)
    assert (found.votes, found.documents, found.workers) == (2, 2, 2)
    assert "3 comparisons with a known answer: 2 answered otherwise" in " ".join(found.notices)
    assert took(tmp_path / "study") == [("q1", "a", "b", 1, "ann"), ("q1", "a", "b", -1, "ben")]
    with Study(tmp_path / "study").transaction(write=False) as db:
        work = db.execute("SELECT worker_id, answered, gold_right, gold_missed FROM assignments ORDER BY 1")
        assert work == [("ann", 3, 1, 1), ("ben", 2, 0, 1)]
        assert db.execute("SELECT count(*) FROM pooled")[0][0] == 2
    with pytest.raises(InputError, match=r"votes.csv:3:1: the gold answer is neither of the two: 'true'"):
        brought(tmp_path, rows.replace("ann,left", "ann,true"), map=mapped)


ARENA = [
    {"prompt": "2+2", "model_a": "gpt 4", "model_b": "b", "winner": "model_a", "judge": "u1",
     "response_a": "4", "response_b": "5"},
    {"prompt": "2+2", "model_a": "b", "model_b": "gpt 4", "winner": "tie (bothbad)", "judge": "u2",
     "response_a": "5", "response_b": "4"},
]  # fmt: skip
RATINGS = [
    {"query_id": "q", "response_a": "x", "response_b": "y", "worker": ["u", "v", "w"],
     "quality_overall_vote": ["A", "N", "B"], "coverage_deep_vote": ["B", "B", "B"]},
]  # fmt: skip
BATCH = (
    "HITId,WorkerId,AssignmentId,AssignmentStatus,WorkTimeInSeconds,Input.query,Input.left,Input.right,"
    "Answer.pick,Answer.comment\n"
    'H1,W1,A1,Approved,12,"q, one",d1,d2,right,fine\nH1,W2,A2,Rejected,1,"q, one",d1,d2,left,\n'
)
RADIO = (
    "HITId,WorkerId,Input.qid,Input.doc_a,Input.doc_b,Answer.pick.a,Answer.pick.b\nH,W,q,d1,d2,false,true\n"
)
ELEMENTS = (
    "HITId,WorkerId,Input.qid,Input.doc_a,Input.doc_b,Answer.taskAnswers\n"
    'H,W,q,d1,d2,"[{""pick"":{""a"":false,""b"":true}}]"\n'
)
POTATO = [
    {"instance_id": "i1", "user_id": "u", "labels": {"pref": {"selection": "B"}}, "spans": {}, "links": {}},
    {"instance_id": "i2", "user_id": "u", "labels": {"pref": {"selection": "tie"}}, "spans": {}, "links": {}},
]
STATE = {
    "user_id": "u",
    "instance_id_to_label_to_value": {
        "i1": {"pref": {"scale_value": "2"}},
        "i2": {"pref": {"scale_value": "0"}},
    },
}
REAL_STATE = {  # what Potato writes itself: pairs of a label and a value
    "user_id": "u",
    "instance_id_ordering": ["i1", "i2", "i3"],
    "instance_id_to_label_to_value": {
        "i1": [[{"schema": "pref", "name": "selection"}, "B"]],
        "i2": [[{"schema": "pref", "name": "selection"}, "tie"],
               [{"schema": "pref:::justification", "name": "justification"}, "much the same"]],
        "i3": [],
    },
}  # fmt: skip
ITEMS = [
    {"id": "i1", "query_id": "q", "left_id": "d1", "right_id": "d2", "text": ["one text", "another"]},
    {"id": "i2", "query_id": "q", "left_id": "d2", "right_id": "d3", "text": ["another", "a third"]},
]
MIN = [{"id": 1, "annotation_id": 4, "annotator": 9, "lead_time": 1, "qid": "q", "text1": "d1", "text2": "d2",
        "pw": "right"}]  # fmt: skip
CHOSEN = [{"prompt": "why?", "chosen": "because", "rejected": "dunno", "query_id": "q", "chosen_id": "d2",
           "rejected_id": "d1"}]  # fmt: skip

FORMS: list[tuple[str, Any, dict[str, Any], list[tuple[str, str, str, int, str]]]] = [
    ("crowdrag", RATINGS, {"criterion": "quality_overall"},
     [("q", "x", "y", 1, "u"), ("q", "x", "y", 0, "v"), ("q", "x", "y", -1, "w")]),
    ("mturk-batch", RADIO, {}, [("q", "d1", "d2", -1, "W")]),
    ("mturk-batch", ELEMENTS, {}, [("q", "d1", "d2", -1, "W")]),
    ("label-studio", MIN, {}, [("q", "d1", "d2", -1, "9")]),
    ("chosen", CHOSEN, {}, [("q", "d2", "d1", 1, "")]),
    ("table", "q,a_id,b_id,pref,w\n1,x,y,y,u\n1,y,x,tie,v\n",
     {"map": ["winner=pref,left=a_id", "right=b_id,query=q,worker=w"]},
     [("1", "x", "y", -1, "u"), ("1", "y", "x", 0, "v")]),
    ("table",
     '[{"qid": 1, "left": 5, "right": 6, "winner": 2},\n'
     ' {"qid": 1, "left": 5, "right": 7, "winner": 1}]',
     {}, [("1", "5", "6", -1, ""), ("1", "5", "7", 1, "")]),
    ("table", "qid\tdoc_a\tdoc_b\tlabel\nq\ta\tb\tb\nq\tb\ta\tb\n", {},
     [("q", "a", "b", -1, ""), ("q", "b", "a", 1, "")]),
    ("judgments", "q a b a\nq a b b\nq a b =\n", {},
     [("q", "a", "b", 1, ""), ("q", "a", "b", -1, ""), ("q", "a", "b", 0, "")]),
]  # fmt: skip


@pytest.mark.parametrize(("form", "content", "how", "votes"), FORMS)
def test_a_form_is_known_and_read(
    tmp_path: Path, form: str, content: Any, how: dict[str, Any], votes: list[tuple[str, str, str, int, str]]
) -> None:
    found = brought(tmp_path, content, **how)
    assert (found.read_as, took(tmp_path / "study")) == (form, votes)
    assert found.rehearsal is None


def test_an_arenas_answers_are_those_of_models_to_prompts(tmp_path: Path) -> None:
    assert brought(tmp_path, ARENA, "votes.jsonl").read_as == "arena"
    (first, second) = took(tmp_path / "study")
    query = first[0]
    assert first[1:] == (f"{query}:gpt_4", f"{query}:b", 1, "u1")
    assert second[1:] == (f"{query}:b", f"{query}:gpt_4", 0, "u2")
    with Study(tmp_path / "study").transaction(write=False) as db:
        assert db.execute("SELECT text FROM queries") == [("2+2",)]
        assert set(db.execute("SELECT doc_id, source FROM pooled")) == {
            (f"{query}:b", "b"), (f"{query}:gpt_4", "gpt_4"),
        }  # fmt: skip


def test_rejected_work_does_not_count(tmp_path: Path) -> None:
    found = brought(tmp_path, BATCH)
    assert (found.votes, found.dropped) == (2, 1)
    assert [vote[1:] for vote in took(tmp_path / "study")] == [("d1", "d2", -1, "W1")]


@pytest.mark.parametrize("made", [POTATO, [STATE], [REAL_STATE]])
def test_potatos_instances_are_pairs_of_its_data_file(tmp_path: Path, made: list[Any]) -> None:
    with pytest.raises(InputError, match="--items FILE"):
        brought(tmp_path, made, "votes.jsonl")
    (tmp_path / "items").write_text("".join(json.dumps(one) + "\n" for one in ITEMS))
    assert brought(tmp_path, made, "votes.jsonl", items=tmp_path / "items").read_as == "potato"
    assert took(tmp_path / "study") == [("q", "d1", "d2", -1, "u"), ("q", "d2", "d3", 0, "u")]


BAD: list[tuple[Any, dict[str, Any], str]] = [
    (RATINGS, {}, "2 criteria: quality_overall, coverage_deep(?s:.*)--criterion coverage_deep"),
    (RATINGS, {"criterion": "taste"}, "no votes on a criterion 'taste'"),
    (PLAIN, {"criterion": "taste"}, "no votes on a criterion 'taste'"),
    ("q,left,right,winner\nq1,a,b,a\nq1,a,b,c\nq1,a,a,a\n", {},
     "votes.csv:3:1: the winner is neither of the two: 'c'"),
    ("q,left,right,winner\nq1,a,b,0\nq1,a,b,1\n", {},
     "votes.csv:2:1: the winner is neither of the two: '0'"),
    ("qid,left,right,winner\nq1,a b,b,left\nq1,a,b,\n", {"map": ["left=left", "right=right"]},
     "votes.csv:2:1: the id of the left holds a blank(?s:.*)votes.csv:3:1: no winner"),
    ("q1 d1 d2 d1\nq1 d1 d2 d9\n", {}, "votes.csv:2:10: the preferred document is neither"),
    ("q1 d1 d2 d9\nq1 d1 d2 d1\n", {}, "votes.csv:1:10: the preferred document is neither"),
    ("q1 d1 d2\nq1 d1 d2 d1\n", {}, "votes.csv:1:1: the preferred document is missing: 'q1 d1 d2'"),
    ("q1\td1\td2\nq1\td1\td2\td1\n", {}, "votes.csv:1:1: the preferred document is missing"),
    ("q1 d1 d2\nq1 d1 d3\n", {}, "votes.csv:2:1: the preferred document is missing: 'q1 d1 d3'"),
    ("qid,left,right\nq1,a,b\n", {},
     "no column is known to hold the winner(?s:.*)--map winner=COLUMN.*qid, left, right"),
    ("qid,left,right,winner\nq1,a,b,a\n", {"map": ["winner=prefs"]}, "has no column 'prefs'"),
    ("qid,left,right,winner\nq1,a,b,a\n", {"map": ["winner"]}, "--map winner: not a part of a vote"),
    ("qid,left,right,winner\nq1,a,b\n", {}, "votes.csv:2: 3 cells where the header has 4"),
    ('qid,left,right,winner\nq1,"a,b,a\n', {}, "not CSV"),
    ('{"qid": 1, "left": 2, "right": 3, "winner": 2}\n{"qid"\n', {}, "votes.csv:2: not valid JSON"),
    ('[{"qid": 1, "left": 2, "right": 3, "winner": 2},\n{"qid": 1', {}, "votes.csv:2: not valid JSON"),
    ('[{"qid": 1, "left": 2, "right": 3, "winner": 2},\n', {}, "the JSON list is cut off"),
    ("[1]", {}, "votes.csv:1: not a JSON object"),
    ("", {}, "is empty"),
    ("one line of words\n", {}, "not a file of votes"),
    ("qid,left,right,winner,milliseconds\nq,a,b,a,nan\n", {},
     "votes.csv:2:1: the milliseconds is not a number"),
    ('{"qid": "q\\ud800", "left": "a", "right": "b", "winner": "a"}\n', {},
     "the id of the query holds a blank or cannot be printed"),
    ([{"qid": "q", "left": "a", "right": "b", "winner": "a", "left_text": "one text", "right_text": "x y"},
      {"qid": "q", "left": "a", "right": "b", "winner": "a", "left_text": "another", "right_text": "x y"}],
     {},
     "votes.csv:2:1: the document 'a' had another text before"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "how", "words"), BAD)
def test_what_cannot_be_read_is_named_by_its_line_and_nothing_is_written(
    tmp_path: Path, content: Any, how: dict[str, Any], words: str
) -> None:
    before = contents(new(tmp_path))
    with pytest.raises(InputError, match=words) as refused:
        brought(tmp_path, content, **how)
    assert refused.value.hint
    assert contents(tmp_path / "study") == before


def test_a_files_columns_are_told_once(tmp_path: Path) -> None:
    content = "qid,x,y,winner\nq,a,b,left\n"
    brought(tmp_path, content, map=["left=x,right=y"])
    with pytest.raises(StudyError, match="imported with --map left=x,right=y before"):
        brought(tmp_path, content, map=["left=y,right=x"])


def test_a_choice_is_known_by_all_its_wins(tmp_path: Path) -> None:
    new(tmp_path)
    brought(tmp_path, "q a b a w\n", "pair.txt")
    choice = "q a b a w 1\nq a c a w 1\n"
    assert brought(tmp_path, choice, "choice.txt").votes == 2, (
        "though the worker judged one of its pairs before"
    )
    found = brought(tmp_path, f"{choice}q a b b w -\n", "again.txt")
    assert (found.votes, found.known) == (1, 2)


def test_votes_outside_the_pool_of_runs_are_left_out_once_it_is_published(tmp_path: Path) -> None:
    study = new(tmp_path)
    pool_demo(study)
    with Study(study).transaction() as db:
        ((query, a, b),) = db.execute("SELECT query_id, doc_a, doc_b FROM pairs WHERE pair_id = 1")
        third = db.value("SELECT max(doc_b) FROM pairs WHERE query_id = :query", query=query)
    with pytest.raises(StudyError, match="none of the 1 vote is about a document of"):
        brought(tmp_path, "q d1 d2 d1\n", "other.txt")
    found = brought(tmp_path, f"{query} {a} {b} {a}\n{query} {a} elsewhere {a}\n", "votes.txt")
    assert (found.votes, found.left_out) == (2, 0)
    assert any("1 vote about documents outside the study's pool: these are" in one for one in found.notices)
    assert status(study).waiting == status(study).pairs - 2
    with Study(study).transaction() as db:
        db.execute(
            "INSERT INTO hits (hit_key, batch, number, target, assignments, reward_cents, layouts, status, "
            "published) VALUES ('one', 1, 1, 'sandbox', 1, 1, '[]', 'open', 1.0)"
        )
    before = status(study).waiting
    found = brought(tmp_path, f"{query} {b} {a} {b}\n{query} {b} further {b}\n", "more.txt")
    assert (found.votes, found.left_out) == (1, 1)
    chosen = [
        f"{query} {a} {b} {a} w {n}\n{query} {a} {c} {a} w {n}\n" for n, c in ((1, third), (2, "further"))
    ]
    found = brought(tmp_path, "".join(chosen), "choices.txt")
    assert (found.votes, found.left_out, status(study).waiting) == (2, 2, before - 2)
    assert any(
        "2 votes about documents outside the study's pool: left out; a choice" in n for n in found.notices
    )
    with pytest.raises(StudyError, match="none of the 1 vote is about two documents"):
        brought(tmp_path, f"{query} {a} other {a}\n", "outside.txt")
    (tmp_path / "run").write_text("q01 Q0 p1 1 2 r\n")
    with pytest.raises(StudyError, match="HITs or answers for another pool"):
        pool(study, runs=[tmp_path / "run"])


VOTED = "".join(
    f"q{query} {pair} {pair[:2]} {worker}\n"
    for query in range(1, 4)
    for worker in ("ann", "ben")
    for pair in ("d1 d2", "d1 d3", "d2 d3")
)


def runs_and_qrels(tmp_path: Path) -> tuple[list[Path], Path]:
    """Two runs on four queries, with a passage on top that votes are about in one of them, and qrels."""
    runs = [tmp_path / "one.run", tmp_path / "two.run"]
    for run, docs in zip(runs, (("d1", "d2"), ("new", "d1")), strict=True):
        run.write_text(
            "".join(
                f"q{query} Q0 {doc} {rank} {9 - rank} {run.stem}\n"
                for query in range(1, 5)
                for rank, doc in enumerate(docs, 1)
            )
        )
    (tmp_path / "labels.qrels").write_text("".join(f"q{query} 0 d2 1\n" for query in range(1, 5)))
    return runs, tmp_path / "labels.qrels"


def pooled_in(study: Path) -> tuple[set[Any], ...]:
    with Study(study).transaction(write=False) as db:
        return (
            {*db.execute("SELECT query_id, doc_id, source FROM pooled")},
            {*db.execute("SELECT query_id, doc_a, doc_b FROM pairs")},
            {*db.execute("SELECT kind, name FROM inputs")},
        )


def test_votes_and_runs_join_in_either_order(tmp_path: Path) -> None:
    (tmp_path / "votes.txt").write_text(VOTED)
    runs, qrels = runs_and_qrels(tmp_path)
    first, last = new(tmp_path, "first"), new(tmp_path, "last")
    import_votes(first, tmp_path / "votes.txt")
    assert pool(first, runs=runs[:1], depth=2).changed  # as long as nothing is published, others may follow
    assert pool(first, runs=runs, qrels=qrels).changed
    assert not pool(first, runs=runs, qrels=qrels).changed
    pool(last, runs=runs, qrels=qrels)
    import_votes(last, tmp_path / "votes.txt")
    assert pooled_in(first) == pooled_in(last)
    with Study(first).transaction(write=False) as db:
        assert not find_impossible(db)
    found = [resolve(study, per_query=True) for study in (first, last)]
    assert [one.statuses for one in found] == [found[0].statuses] * 2
    assert found[0].statuses == {"single": 0, "tie": 0, "cycle": 0, "partial": 3, "sparse": 1}
    for one in found[0].per_query[:3]:
        assert (one.winners, one.p_best["new"]) == (("d1",), 0.25), (
            "one in four candidates, nobody compared it"
        )
    scored = score(first, write=False)
    assert [(one.run, one.judged, one.queries) for one in scored.judged_tops] == [
        ("one", 3, 3),
        ("two", 0, 3),
    ]
    (words,) = [one for one in scored.notices if one.startswith("not judged")]
    assert words.startswith(
        "not judged: in 1 of 2 runs, of 3 queries: two 3; nobody compared their first passage"
    )
    compared = prefjudge.compare(study=first, baseline="one")
    assert words in compared.notices
    strict = resolve(first, sparse_rule="none", out=tmp_path / "strict.qrels")
    assert strict.qrels == 0
    (tmp_path / "other.run").write_text("p1 Q0 d1 1 1 other\n")
    with pytest.raises(StudyError, match="no query of this pool, such as 'p1'"):
        pool(first, runs=[tmp_path / "other.run"])
    taken = release(first, out=tmp_path / "release")
    assert prefjudge.release(verify=taken.out).problems == ()


def test_votes_and_runs_become_a_report_in_two_commands(tmp_path: Path) -> None:
    study, votes = tmp_path / "study", tmp_path / "votes.txt"
    votes.write_text("no vote\n")
    with pytest.raises(InputError):
        import_votes(study, votes)
    assert not study.exists(), "nothing is written for a file that cannot be read"
    votes.write_text(VOTED)
    assert "made a new study here" in import_votes(study, votes).notices[0]
    runs, qrels = runs_and_qrels(tmp_path)
    made = report(study, runs=runs, qrels=[str(qrels)])
    assert made.sections[0] == "Leaderboards"
    assert any("the votes were resolved into" in one for one in made.notices)
    import_votes(tmp_path / "scored", votes)
    found = score(tmp_path / "scored", runs=runs, qrels=[str(qrels)])
    assert any("the votes were resolved into" in one for one in found.notices)
    assert (tmp_path / "scored" / "preference.qrels").read_bytes() == (
        study / "preference.qrels"
    ).read_bytes()
    assert any(one.startswith("not judged: in 1 of 2 runs, of 3 queries: two 3") for one in made.notices)
    page = Path(made.out).read_text().partition("<template")[0]
    assert "RR@10 labels, 4 queries" in page
    assert "RR@10 preference, 3 queries" in page
    with pytest.raises(InputError, match="no such file"):
        report(study, runs=[tmp_path / "nothing.run"], qrels=[str(qrels)])
    again = report(study, runs=runs, qrels=[str(qrels)])
    assert not any("resolved into" in one for one in again.notices), "once is enough"


def test_votes_of_programs_are_a_rehearsal_and_stay_one(tmp_path: Path) -> None:
    found = brought(tmp_path, PLAIN, "votes.txt", judge="simulated")
    assert str(found.rehearsal) == "rehearsal: 5 of 5 judgments are simulated"
    resolve(tmp_path / "study")
    with pytest.raises(StudyError, match="simulated"):
        release(tmp_path / "study")
    made = Path(release(tmp_path / "study", rehearsal=True).out)
    for number, file in enumerate((made, made / "judgments.jsonl", made / "judgments.txt")):
        other = new(tmp_path, f"other{number}")
        assert str(import_votes(other, file).rehearsal) == "rehearsal: 5 of 5 judgments are simulated"


def test_an_import_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    study, file = new(tmp_path), tmp_path / "votes.txt"
    file.write_text(PLAIN)
    before = contents(study)
    script = (
        "import os, signal, sys; from prefjudge.steps.import_votes import import_votes\n"
        "def die(db): os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.modules[import_votes.__module__].ask_for_what_there_is = die\n"
        "import_votes(sys.argv[1], sys.argv[2])\n"
    )
    done = subprocess.run([sys.executable, "-c", script, study, file], env={**os.environ}, check=False)
    assert done.returncode == -signal.SIGKILL
    assert contents(study) == before
    assert import_votes(study, file).votes == 5


def test_a_release_is_taken_back_whole(tmp_path: Path) -> None:
    brought(tmp_path, BATCH)
    brought(tmp_path, PLAIN, "votes.txt")
    study = tmp_path / "study"
    resolve(study)
    with Study(study).transaction() as db:
        number, query, a, b = db.execute("SELECT pair_id, query_id, doc_a, doc_b FROM pairs ORDER BY 1")[0]
        save_votes(db, "judge-1", [(number, ModelVote(pair=(query, a, b), a_first=1, b_first=0))])
    made = Path(release(study).out)
    other = new(tmp_path, "other")
    found = import_votes(other, made)
    with Study(other).transaction(write=False) as db:
        assert not sides_known(db)  # those of votes.txt are not
    assert (found.read_as, found.votes, found.dropped) == ("release", 7, 1)
    resolve(other)
    again = Path(release(other).out)
    for name in ("preference.qrels", "resolutions.jsonl", "pool.tsv", "models.jsonl"):
        assert (again / name).read_bytes() == (made / name).read_bytes(), name
    told = [
        [
            (row["query"], row["choice"], row["dropped"], row["milliseconds"])
            for row in map(json.loads, (folder / "judgments.jsonl").read_text().splitlines())
        ]
        for folder in (made, again)
    ]
    assert told[0] == told[1]


def test_what_imported_votes_do_not_tell_is_null_in_a_release_and_not_0(tmp_path: Path) -> None:
    brought(tmp_path, PLAIN, "votes.txt")
    study = tmp_path / "study"
    resolve(study)
    made = Path(release(study).out)
    rows = {
        name: [json.loads(line) for line in (made / f"{name}.jsonl").read_text().splitlines()]
        for name in ("judgments", "assignments")
    }
    assert {row["milliseconds"] for row in rows["judgments"]} == {None}
    unknown = {(row["gold_right"], row["gold_missed"], row["seconds"]) for row in rows["assignments"]}
    assert unknown == {(None, None, None)}
    assert import_votes(new(tmp_path, "other"), made).votes == 5


def test_a_pool_whose_votes_were_imported_waits_for_no_hit(tmp_path: Path) -> None:
    """Nobody has published anything: it is not under way."""
    pool_demo(new(tmp_path))
    with Study(tmp_path / "study").transaction(write=False) as db:
        pairs = db.execute("SELECT query_id, doc_a, doc_b FROM pairs ORDER BY pair_id")
    file = tmp_path / "votes.txt"
    file.write_text("".join(f"{query} {a} {b} {a} ann\n" for query, a, b in pairs[:20]))
    import_votes(tmp_path / "study", file)
    page = Path(report(tmp_path / "study").out).read_text()
    assert "under way" not in page
    left = len(pairs) - 20
    price = Decimal("2.40") * -(-left // 10)  # a HIT of ten pairs is $2, and a fifth of it the marketplace's
    assert f"what waits: {left} pairs, about ${price} at one vote each." in page


def test_published_preference_sets_are_resolved_as_their_files_are(tmp_path: Path, data_dir: Path) -> None:
    for name in ("Set-I", "Combined-I+II+III"):
        study, file = new(tmp_path, name), data_dir / "dl21" / "phases" / f"{name}.txt"
        import_votes(study, file, queries=data_dir / "dl21" / "questions.tsv")
        resolve(study)
        resolve(judgments=file, out=tmp_path / "file.qrels")
        own = {tuple(line.split()[::2]) for line in (study / "preference.qrels").read_text().splitlines()}
        other = {tuple(line.split()[::2]) for line in (tmp_path / "file.qrels").read_text().splitlines()}
        assert own == other
        assert len({query for query, _ in own}) == 25


def test_imported_votes_count_at_every_target_and_are_no_rehearsal(tmp_path: Path) -> None:
    """A study of imported votes may go live at once: nothing was judged in the sandbox that would be lost."""
    brought(tmp_path, PLAIN, "votes.txt")
    study = Study(tmp_path / "study")
    with study.transaction() as db:
        db.insert("answers", {"version": 1, "query_id": "q1", "doc_id": "d1"})
        db.insert("challenges", {"challenge": 1, "strategy": "lead:5", "started": 1.0})
        assert load_published_targets(db) == frozenset()
        refuse_other_target(db, LIVE)
        forget_answers(db, LIVE)
        assert last_version(db) == 1
        assert [len(load_judgments(db, target=target)) for target in (SANDBOX, LIVE)] == [5, 5]
        assert [count_judgments(db, target) for target in (SANDBOX, LIVE)] == [(5, 0), (5, 0)]
        assert find_impossible(db) == []
        hit = {"batch": 1, "assignments": 1, "reward_cents": 0, "layouts": "[]", "status": "open"}
        db.insert("hits", {"hit_key": "h", "number": 1, "target": SANDBOX, **hit})
        with pytest.raises(StudyError, match="answers that were found in the sandbox"):
            refuse_other_target(db, LIVE)
        forget_answers(db, LIVE)
        assert last_version(db) == 0


def test_nothing_is_said_of_sides_that_imported_votes_do_not_tell(tmp_path: Path) -> None:
    """They were drawn by lot, and the lots were given a share and a p-value."""
    brought(tmp_path, "".join(f"q{query} a b a w{query % 2}\n" for query in range(60)), "votes.txt")
    found = workers(tmp_path / "study")
    assert math.isnan(found.left_rate)
    assert math.isnan(found.left_p)
    assert {(one.left_rate, one.left_p) for one in found.workers} == {(None,) * 2}
    assert "The left won" not in " ".join(found.tables()[0].notes)
    assert found.signs == ()
    assert any("sides" in notice for notice in found.notices)


def test_what_waits_is_found_in_time_that_grows_with_the_votes(tmp_path: Path) -> None:
    """Of 300,000 votes of choices it took minutes: each looked through its worker's others."""
    steps = []
    for many in (1000, 2000):
        path = tmp_path / f"{many}.txt"
        rows = (f"q{one} a {other} a w {one}" for one in range(many) for other in "bc")
        path.write_text("\n".join(rows) + "\n")
        import_votes(tmp_path / str(many), path)
        with Study(tmp_path / str(many)).transaction(write=False) as db:
            steps.append(0)

            def counted() -> int:
                steps[-1] += 1
                return 0

            db._raw.set_progress_handler(counted, 1000)  # so many instructions of SQLite
            assert waiting_pairs(db) == []
            db._raw.set_progress_handler(None, 1000)
    assert steps[1] < 2.6 * steps[0]
