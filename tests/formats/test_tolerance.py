"""Unusual but readable files are read as their plain twins are, and what was odd is noticed."""

import bz2
import gzip
import io
import json
import os
import sys
import threading

import pytest
import zstandard

from prefjudge.errors import InputError
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.runs.heads import RunFiles
from prefjudge.reading.runs.runs import read_chunks
from prefjudge.reading.texts.collections import read_texts
from prefjudge.reading.texts.texts import read_queries

RUN = "q1 Q0 d1 1 9.5 tag\nq1 Q0 d2 2 8.5 tag\n007 Q0 NA 1 1e3 tag\n"


def rows(path, **options):
    heads = RunFiles([path], **options).top(9)
    return [
        (heads.queries[q], heads.docs[d], int(p))
        for q, d, p in zip(heads.query, heads.doc, heads.position, strict=True)
    ]


def scores(path):
    return [score for chunk in read_chunks(path) for score in chunk.score.tolist()]


EXPECTED = [("q1", "d1", 1), ("q1", "d2", 2), ("007", "NA", 1)]


@pytest.mark.parametrize(
    "data",
    [
        RUN.encode(),
        RUN.encode().rstrip(b"\n"),
        RUN.encode().replace(b"\n", b"\r\n"),
        RUN.encode().replace(b"\n", b"\r"),
        RUN.encode().replace(b"\n", b"\r", 1),
        RUN.encode().replace(b"\n", b"\r\r\n"),
        RUN.encode().replace(b" ", b"\t"),
        RUN.encode().replace(b" ", b" \t  ").replace(b"\n", b"  \n\n"),
        b"# ir_metadata.start\n# platform: x\n\n" + RUN.encode(),
        RUN.encode().replace(b"tag", b"a tag of words"),
        RUN.encode().replace(b" tag", b""),
        gzip.compress(RUN.encode(), mtime=0),
        gzip.compress(RUN.encode()[:30], mtime=0) + gzip.compress(RUN.encode()[30:], mtime=0) + b"\0" * 99,
        bz2.compress(RUN.encode()),
        zstandard.compress(RUN.encode()),
        zstandard.compress(RUN.encode()[:30]) + zstandard.compress(RUN.encode()[30:]),
        b"\x50\x2a\x4d\x18\x04\0\0\0size" + zstandard.compress(RUN.encode()),
        b"\xef\xbb\xbf" + RUN.encode(),
    ],
    ids=[
        "plain",
        "unended",
        "crlf",
        "cr",
        "one cr",
        "crcrlf",
        "tabs",
        "ragged",
        "comments",
        "words",
        "untagged",
        "gz",
        "members",
        "bz2",
        "zst",
        "frames",
        "pzstd",
        "bom",
    ],
)
def test_a_run_is_read_however_it_is_written(tmp_path, data):
    (tmp_path / "run").write_bytes(data)
    assert rows(tmp_path / "run") == EXPECTED
    assert scores(tmp_path / "run") == [9.5, 8.5, 1000.0]


def test_a_mark_before_the_text_is_noticed(tmp_path):
    (tmp_path / "run").write_bytes(b"\xef\xbb\xbf" + RUN.encode())
    notices = []
    RunFiles([tmp_path / "run"], notices=notices).top(1)
    assert [str(n) for n in notices] == [f"{tmp_path}/run:1: starts with a byte order mark, which is ignored"]


@pytest.mark.parametrize("size", [7, 64 << 10])
def test_a_cr_that_ends_a_line_alone_is_noticed_wherever_pieces_end(tmp_path, monkeypatch, size):
    monkeypatch.setattr("prefjudge.reading.unpacking._PIECE", size)
    text = "".join(f"q{n // 50} Q0 d{n} {n % 50 + 1} {9 - n % 50} t\n" for n in range(500))
    (tmp_path / "lf").write_bytes(text.encode())
    for name, end in (("crlf", "\r\n"), ("cr", "\r")):
        (tmp_path / name).write_bytes(text.replace("\n", end).encode())
    said = {}
    for name in ("lf", "crlf", "cr"):
        notices = []
        assert rows(tmp_path / name, notices=notices) == rows(tmp_path / "lf")
        said[name] = [notice.what for notice in notices]
    assert said == {
        "lf": [],
        "crlf": [],
        "cr": ["lines end in a CR alone, which is read as the end of a line"],
    }


def test_a_cr_far_below_the_top_hides_no_judged_document(tmp_path):
    lines = [f"q{n // 400} Q0 d{n} {n % 400 + 1} {999 - n % 400} t\n" for n in range(1200)]
    lines[640] = lines[640].replace("\n", "\r")
    (tmp_path / "run").write_bytes("".join(lines).encode())
    (tmp_path / "qrels").write_text("q0 0 d5 1\nq1 0 d641 1\nq2 0 d805 1\n")
    (ranks,) = RunFiles([tmp_path / "run"]).judged(read_qrels(tmp_path / "qrels"))
    assert ranks.position.tolist() == [6, 242, 6]
    assert ranks.retrieved.tolist() == [400, 400, 400]


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RUN.encode())))
    assert rows("-") == EXPECTED


def test_scattered_lines_in_a_pipe(monkeypatch):
    text = "q1 Q0 a 1 1 t\nq2 Q0 b 1 1 t\nq1 Q0 c 2 3 t\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    with pytest.raises(InputError, match="a pipe cannot be read twice\nWrite the run to a file"):
        RunFiles(["-"]).top(1)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(RUN,))
    writer.start()
    assert rows(tmp_path / "pipe") == EXPECTED
    writer.join()


def test_queries_whose_lines_are_scattered(tmp_path):
    (tmp_path / "run").write_text("q1 Q0 a 1 1 t\nq2 Q0 b 1 1 t\nq1 Q0 c 2 3 t\n")
    notices = []
    heads = RunFiles([tmp_path / "run"], notices=notices).top(2)
    assert [heads.docs[d] for d in heads.doc] == ["c", "a", "b"]
    assert "are not contiguous" in notices[0].what


def test_scattered_lines_are_checked_too(tmp_path):
    (tmp_path / "run").write_text("q1 Q0 a 1 1 t\nq2 Q0 b 1 1 t\nq1 Q0 a 2 3 t\n")
    with pytest.raises(
        Exception, match=r"run:3:7: document repeated for query 'q1' \(first on line 1\): 'a'"
    ):
        RunFiles([tmp_path / "run"]).top(2)


@pytest.mark.parametrize(
    "text",
    [
        "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 1.0\n",
        "q1 d1 1\nq1\td2\t0\n\n# c\nq2 d1 +1\n",
        "q1 Q0 d1 1\r\nq1 Q0 d2 0\r\nq2 Q0 d1 1\r\n",
        "q1 Q0 d1 1\rq1 Q0 d2 0\rq2 Q0 d1 1\r",
        "q1 Q0 d1 1\rq1 Q0 d2 0\nq2 Q0 d1 1\n",
    ],
)
def test_qrels(tmp_path, text):
    (tmp_path / "my.qrels").write_text(text)
    qrels = read_qrels(tmp_path / "my.qrels", "mine")
    assert (qrels.name, qrels.queries, qrels.docs) == ("mine", ("q1", "q2"), ("d1", "d2"))
    assert (qrels.query.tolist(), qrels.doc.tolist(), qrels.grade.tolist()) == (
        [0, 0, 1],
        [0, 1, 0],
        [1, 0, 1],
    )


@pytest.mark.parametrize(
    "data",
    [b"1\tone\r2\ttwo\r", b'{"id": "1", "text": "one"}\r{"id": "2", "text": "two"}'],
)
def test_queries_and_texts_whose_lines_end_in_cr(tmp_path, data):
    (tmp_path / "file").write_bytes(data)
    notices = []
    assert read_queries(tmp_path / "file", notices=notices) == {"1": "one", "2": "two"}
    assert "CR alone" in str(notices[0])
    assert read_texts(tmp_path / "file", ["2", "1"]) == {"2": "two", "1": "one"}


def test_a_cr_in_a_text_is_text_but_no_line_is_lost_behind_one(tmp_path):
    (tmp_path / "file").write_bytes(b"1\tone\rmore\n2\ttwo\n")
    assert read_queries(tmp_path / "file") == {"1": "one\rmore", "2": "two"}
    (tmp_path / "file").write_bytes(b"1\tone\r2\ttwo\n3\tthree\n")
    for read in (read_queries, lambda path: read_texts(path, ["2"])):
        with pytest.raises(
            InputError, match="file:1:6: a CR alone stands before what looks like another line"
        ):
            read(tmp_path / "file")


def test_query_texts_that_are_not_utf8(tmp_path):
    (tmp_path / "q.tsv").write_bytes(b"1\tcaf\xe9\n")
    notices = []
    assert read_queries(tmp_path / "q.tsv", notices=notices) == {"1": "caf\ufffd"}
    said = f"{tmp_path}/q.tsv:1: the text is not UTF-8: byte 0xe9 behind 'caf'; odd bytes are replaced; "
    assert str(notices[0]) == f"{said}if it is Latin-1, convert the file: iconv -f LATIN1 -t UTF-8"
    (tmp_path / "q.tsv").write_bytes(b"1\tcaf\xe9\n2\tna\xefve\n")
    notices = []
    assert read_queries(tmp_path / "q.tsv", notices=notices) == {"1": "caf\ufffd", "2": "na\ufffdve"}
    assert len(notices) == 1, "once for a file"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("two.tsv", "d1\tone\nd2\ttwo <b>\nd3\tthree\n"),
        ("crlf.tsv", "d1\tone\r\nd2\ttwo <b>\r\nd3\tthree\r\n"),
        ("beir.jsonl", '{"_id": "d1", "title": "", "text": "one"}\n{"_id": "d2", "text": "two <b>"}\n'),
        ("v2.jsonl", '{"pid": "d2", "passage": "two <b>", "docid": 1}\n{"pid": "d1", "passage": "one"}\n'),
        ("pyserini.jsonl", '{"id": "d2", "contents": "two <b>"}\n{"id": "d1", "contents": "one"}\n'),
    ],
)
def test_texts(tmp_path, name, data):
    (tmp_path / name).write_text(data)
    assert read_texts(tmp_path / name, ["d2", "d9", "d1"]) == {"d2": "two <b>", "d1": "one"}
    assert list(read_texts(tmp_path / name, ["d2", "d1"])) == ["d2", "d1"]


def test_a_text_keeps_its_blanks(tmp_path):
    code = "    if x:\n\treturn   1\n\n    # end"
    rows = [{"id": "d1", "text": f"\n  \r\n{code}\n \n"}, {"id": "d2", "title": "T", "text": code}]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert read_texts(tmp_path / "c.jsonl", ["d1", "d2"]) == {"d1": code, "d2": f"T\n{code}"}
    (tmp_path / "c.tsv").write_text("d1\t  a  b \r\nd2\tc\n", encoding="utf-8")
    assert read_texts(tmp_path / "c.tsv", ["d1"]) == {"d1": "a  b"}
