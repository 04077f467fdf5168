"""Texts whose fields have names: those that a user gives, Parquet, SMART's files, and BEIR's folders."""

import gzip
import json

import pytest

from prefjudge import check, pool, score
from prefjudge.errors import InputError
from prefjudge.formats.labels.qrels import read_qrels
from prefjudge.formats.lines import blocks
from prefjudge.formats.lines.problems import Notice
from prefjudge.formats.runs.runs import read_chunks
from prefjudge.formats.texts.queries import read_queries
from prefjudge.formats.texts.texts import read_texts
from prefjudge.formats.texts.topic_fields import Field, TextFields

OWN = TextFields(id_field="Key", text_field="Body")
ROWS = [{"Key": "k1", "title": "t", "Body": "one, two"}, {"Key": "k2", "title": "t", "Body": "three"}]
NAMED = {
    "JSON lines": "".join(json.dumps(row) + "\n" for row in ROWS),
    "JSON list": json.dumps(ROWS),
    "JSON object": json.dumps({"k1": {"Body": "one, two"}, "k2": {"Body": "three"}}),
    "commas": 'Key,title,Body\nk1,t,"one, two"\nk2,t,three\n',
    "tabs": "title\tKey\tBody\nt\tk1\tone, two\nt\tk2\tthree\n",
    "XML": "<topics>"
    + "".join(f"<topic><Key>{row['Key']}</Key><Body>{row['Body']}</Body></topic>" for row in ROWS)
    + "</topics>",
}


@pytest.mark.parametrize("form", NAMED)
def test_a_user_names_the_fields(tmp_path, form):
    path = tmp_path / "file"
    path.write_text(NAMED[form])
    assert read_queries(path, fields=OWN) == {"k1": "one, two", "k2": "three"}
    if form in ("JSON lines", "commas", "tabs"):
        assert read_texts(path, ["k2", "k9"], fields=OWN) == {"k2": "three"}
    with pytest.raises(InputError, match=r"--text-field|no column|no text|has no Nobody"):
        read_queries(path, fields=TextFields(id_field="Key", text_field="Nobody"))


@pytest.mark.parametrize(
    "text",
    [
        "q1\tone two\n",
        "<top><num>1<title>x</top>\n",
        "1:obama\n",
        ".I 1\n.W\nx\n",
        "<DOC><DOCNO>d</DOCNO>x</DOC>\n",
    ],
)
def test_a_format_without_names_says_so(tmp_path, text):
    (tmp_path / "file").write_text(text)
    with pytest.raises(InputError, match=r"no field has a name of its own\nLeave out --id-field"):
        read_queries(tmp_path / "file", fields=OWN)


SMART = ".I 001\n.W\nwhat laws\napply .\n.I 004\n.W\nheat .\n"
DOCUMENTS = (
    ".I 1\n.T\na wing in a slipstream .\n.A\nbrenckman,m.\n.W\na wing in a slipstream .\n  a study .\n"
    ".I 2\n.T\nshear\n.W\nflow\n.I 3\n.T\n.A\nx\n.W\n"
)


def test_smart_files_are_read_and_queries_are_numbered_as_the_qrels_do(tmp_path):
    notices: list[Notice] = []
    (tmp_path / "cran.qry").write_text(SMART)
    assert read_queries(tmp_path / "cran.qry", notices=notices) == {"1": "what laws apply .", "2": "heat ."}
    assert "query 004 is read as 2, its place" in str(notices[0])
    (tmp_path / "med.qry").write_text(".I 1\n.W\nx\n.I 3\n.W\ny\n")
    assert list(read_queries(tmp_path / "med.qry")) == ["1", "3"]
    (tmp_path / "cran").write_text(DOCUMENTS)
    wing = "a wing in a slipstream . a study ."
    assert read_texts(tmp_path / "cran", ["2", "1", "9"]) == {"2": "shear\nflow", "1": wing}
    (tmp_path / "bad").write_text(".I 1\n.W\nx\n.I\n.I 2 3\n.W\ny\n.I 1\n.W\nz\n")
    with pytest.raises(InputError, match=r"bad:5:1: the id holds a blank") as error:
        read_queries(tmp_path / "bad")
    assert "bad:8:1: the query has another text on line 1" in str(error.value)


def parquet(path, columns, rows):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra parquet)")
    import pyarrow.parquet as pq

    path.parent.mkdir(exist_ok=True, parents=True)
    cells = map(list, zip(*rows, strict=True))
    pq.write_table(pa.table(dict(zip(columns, cells, strict=True))), path, row_group_size=2)


def test_parquet_is_a_collection_and_queries(tmp_path):
    path = tmp_path / "odd[1]*"  # no pattern, whatever it looks like
    parquet(path, ("_id", "title", "text"), [("d1", "t", "one"), ("d2", "", "two"), ("d3", "t", "x")])
    assert read_texts(path, ["d2", "d1", "d9"]) == {"d2": "two", "d1": "t\none"}
    assert list(read_queries(path)) == ["d1", "d2", "d3"]
    parquet(tmp_path / "own", ("Key", "Body", "n"), [(7, "one", 1), (8, "two", 2)])
    assert read_queries(tmp_path / "own", fields=OWN) == {"7": "one", "8": "two"}
    for fields, said in (
        (TextFields(), "no column that holds the id: it has Key, Body, n"),
        (TextFields(id_field="Key", text_field="n"), "the column n holds int64, not text"),
    ):
        with pytest.raises(InputError, match=said) as error:
            read_queries(tmp_path / "own", fields=fields)
        assert "--id-field NAME" in error.value.hint
    (tmp_path / "cut").write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match="cut cannot be read as Parquet"):
        read_queries(tmp_path / "cut")
    parquet(tmp_path / "twice", ("id", "text"), [("d1", "one"), ("d1", "two")])
    with pytest.raises(InputError, match="twice:2:1: the query has another text on line 1"):
        read_queries(tmp_path / "twice")


def beir(folder):
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text(
        '{"_id": "d1", "title": "T", "text": "one"}\n{"_id": "d2", "title": "", "text": "two"}\n'
    )
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "what"}\n')
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    (folder / "run").write_text("q1 Q0 d2 1 9 t\nq1 Q0 d1 2 8 t\n")
    return folder


def test_a_folder_of_beir_is_queries_collection_and_qrels(tmp_path):
    folder = beir(tmp_path / "scifact")
    given = {"runs": folder / "run", "qrels": folder}
    found = pool(**given, queries=folder, collection=folder, out=tmp_path / "pool.tsv")
    assert (found.queries, found.documents) == (1, 2)
    board = score(**given, queries=folder, measure=["RR@10"]).leaderboards[0]
    assert (board.rows[0].score, board.qrels) == (0.5, "test")
    assert score(runs=folder / "run", qrels=[f"labels={folder}"]).leaderboards[0].qrels == "labels"
    assert check(folder / "run", qrels=folder, queries=folder).ok
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "train.tsv")
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    (folder / "queries.jsonl").rename(folder / "asked.jsonl")
    with pytest.raises(InputError, match=r"without qrels/test.tsv: it holds qrels/dev.tsv, qrels/train.tsv"):
        score(**given)
    with pytest.raises(InputError, match=r"without queries.jsonl: it holds asked.jsonl") as error:
        pool(runs=folder / "run", queries=folder, out=tmp_path / "other.tsv")
    assert f"--queries {folder / 'asked.jsonl'}" in str(error.value) or "corpus.jsonl" in str(error.value)
    assert not (tmp_path / "other.tsv").exists()


def test_the_options_reach_every_verb_that_reads_texts(tmp_path):
    folder = beir(tmp_path)
    (folder / "own.jsonl").write_text('{"Key": "q1", "Body": "what"}\n')
    (folder / "docs.csv").write_text("Key,Body\nd1,one\nd2,two\n")
    own = {"id_field": "Key", "text_field": "Body", "queries": folder / "own.jsonl"}
    assert check(folder / "run", **own).ok
    assert score(runs=folder / "run", qrels=folder, **own).leaderboards[0].rows[0].score == 0.5
    pooled = pool(runs=folder / "run", collection=folder / "docs.csv", out=tmp_path / "p.tsv", **own)
    assert pooled.queries == 1
    with pytest.raises(InputError, match="there is no field 'x'"):
        score(runs=folder / "run", qrels=folder, queries=folder / "own.jsonl", field="x")


def test_a_line_without_an_end_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "LONGEST", 1 << 20)
    read = []

    def endless(path):
        while True:
            read.append(1)
            assert len(read) < 100, "it was read on"
            yield (b"x\n" if len(read) == 1 else b"") + b"x" * (1 << 16)

    monkeypatch.setattr(blocks, "pieces", endless)
    path = tmp_path / "file"
    path.touch()
    runs = (lambda: list(read_chunks(path)), lambda: read_qrels(path))
    for look in (lambda: read_queries(path), lambda: read_texts(path, ["d"]), *runs):
        read.clear()
        with pytest.raises(InputError, match=r"no line ends within 1 MB after byte 2\n"):
            look()


def test_cells_of_csv_may_be_long(tmp_path):
    path = tmp_path / "long.csv.gz"
    path.write_bytes(gzip.compress(b'id,text\nd1,"' + b"word " * 40_000 + b'"\n'))
    assert len(read_texts(path, ["d1"])["d1"]) == 199_999
    assert read_texts(path, ["d1"], fields=TextFields(field=Field.TITLE))["d1"].startswith("word word")
