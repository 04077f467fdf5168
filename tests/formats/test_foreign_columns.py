"""Runs and qrels as other tools write them: ranx, Pyserini, PyTerrier, MTEB; and vectors, told from them."""

import json
import struct

import pytest

from prefjudge import check, score
from prefjudge.errors import InputError
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.sniffing import sniff

SCORES = {"q1": {"d1": 9.5, "d2": 8.5}, "q2": {"d2": 3.0, "d1": 2.0}}
TREC = "".join(
    f"{query} Q0 {doc} {rank} {value} t\n"
    for query, docs in SCORES.items()
    for rank, (doc, value) in enumerate(docs.items())
)
QRELS = "q1 0 d2 1\nq2 0 d2 1\n"
PYTERRIER = ",qid,docid,docno,rank,score,query\n" + "".join(
    f'{line},{query},77,{doc},{rank},{value},"a, b"\n'
    for line, (query, _, doc, rank, value, _) in enumerate(map(str.split, TREC.splitlines()))
)
RUNS = {
    "pyserini.csv": "qid,docid,rank,score\nq1,d1,1,9.5\nq1,d2,2,8.5\nq2,d2,1,3\nq2,d1,2,2\n",
    "pyterrier.csv": PYTERRIER,
    "tabs.csv": PYTERRIER.replace(",", "\t").replace('"a\t b"', "a b"),
    "ranks.csv": "qid,docno,rank\nq1,d1,1\nq1,d2,2\nq2,d2,1\nq2,d1,2\n",
    "scores.csv": '"q_id","doc_id","score"\r\nq1,d1,9\r\nq1,d2,8\r\nq2,d2,3\r\nq2,d1,2\r\n',
    "trec.csv": TREC,
}


def scores(run, qrels, **how):
    found = score(runs=run, qrels=qrels, per_query=False, measure=["RR", "P@1"], **how)
    return [row.score for board in found.leaderboards for row in board.rows]


@pytest.mark.parametrize("name", RUNS)
def test_a_run_in_csv_is_the_same_run(tmp_path, name):
    (tmp_path / "labels").write_text(QRELS)
    (tmp_path / name).write_bytes(RUNS[name].encode())
    for how in ({}, {"order": "rank"} if name != "scores.csv" else {}):
        assert scores(tmp_path / name, tmp_path / "labels", **how) == [0.75, 0.5]
    (checked,) = check(tmp_path / name).files
    assert (checked.kind, checked.ok) == ("run", True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "qid,rank,score\nq1,1,2\n",
            "run.csv:1: the header lacks a column of documents: it has qid, rank, sc",
        ),
        ("qid,docno,query\nq1,d1,x\n", "run.csv:1: the header lacks a rank, a score or a label"),
        ("qid,docno,score\nq1,d1\n", "run.csv:2: 2 cells where the header has 3"),
        ("qid,docno,score\nq1,d 1,2\n", "run.csv:2: the id 'd 1' is empty or holds a blank"),
        ("qid,docno,score\nq1,d1,2\nq1,d2,x\n", "run.csv:3:12: the score is not a number"),
        ('qid,docno,score\nq1,"d1,2\n', "run.csv:2: not CSV"),
        ("qid,docno,label\nq1,d1,1\n", "run.csv is not a run"),
    ],
)
def test_what_is_wrong_with_csv_is_said(tmp_path, text, said):
    (tmp_path / "run.csv").write_text(text)
    (tmp_path / "labels").write_text(QRELS)
    with pytest.raises(InputError) as error:
        scores(tmp_path / "run.csv", tmp_path / "labels")
    assert said in str(error.value)


def test_qrels_in_csv_and_json_lines(tmp_path):
    (tmp_path / "labels.csv").write_text("qid,docno,label,iteration\nq1,d2,1,0\nq2,d2,1,0\n")
    lines = [{"query-id": query, "corpus-id": "d2", "score": 1} for query in ("q1", "q2")]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name in ("labels.csv", "test.jsonl"):
        assert read_qrels(tmp_path / name).grade.tolist() == [1, 1]
        assert sniff(tmp_path / name).kind == "qrels"
    (tmp_path / "test.jsonl").write_text(
        '{"query-id": "q1", "corpus-id": "d", "score": 1}\n{"query-id": 2}\n'
    )
    with pytest.raises(InputError, match="is not a judgment"):
        read_qrels(tmp_path / "test.jsonl")


def test_a_run_of_ranx_in_lz4(tmp_path):
    lz4 = pytest.importorskip("lz4.frame")
    (tmp_path / "labels").write_text(QRELS)
    cbor2 = pytest.importorskip("cbor2")
    (tmp_path / "ranx.lz4").write_bytes(lz4.compress(lz4.compress(cbor2.dumps(SCORES))))
    assert scores(tmp_path / "ranx.lz4", tmp_path / "labels") == [0.75, 0.5]
    (tmp_path / "bad.lz4").write_bytes(lz4.compress(lz4.compress(cbor2.dumps(SCORES)[:-3])))
    with pytest.raises(InputError, match=r"bad.lz4 is damaged"):
        scores(tmp_path / "bad.lz4", tmp_path / "labels")
    packed = {"run.v1.lz4": json.dumps(SCORES), "run.json.lz4": json.dumps(SCORES), "run.trec.lz4": TREC}
    for name, text in packed.items():
        (tmp_path / name).write_bytes(lz4.compress(text.encode()))
        assert scores(tmp_path / name, tmp_path / "labels") == [0.75, 0.5]
    (tmp_path / "cut.lz4").write_bytes(lz4.compress(TREC.encode() * 99)[:-20])
    with pytest.raises(InputError, match=r"cut.lz4: the lz4 data"):
        scores(tmp_path / "cut.lz4", tmp_path / "labels")


def test_raw_vectors_are_named(tmp_path):
    numbers = struct.pack("<32f", *[0.1 * place - 1 for place in range(32)])
    for name, head in (("x.fvecs", struct.pack("<i", 32)), ("x.fbin", struct.pack("<ii", 1_000_000, 32))):
        (tmp_path / name).write_bytes(head + numbers)
        assert sniff(tmp_path / name).kind == "vectors"
    (tmp_path / "zeros").write_bytes(bytes(200))
    assert sniff(tmp_path / "zeros").kind == "binary"
