"""Texts whose fields have names: those that a user gives, Parquet, and BEIR's folders."""

import gzip
import json

import pytest

from prefjudge import check, pool, score
from prefjudge.errors import InputError
from prefjudge.reading import lines as blocks
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.runs.runs import read_chunks
from prefjudge.reading.texts.collections import read_texts
from prefjudge.reading.texts.records import Field, TextFields
from prefjudge.reading.texts.texts import read_queries

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
    with pytest.raises(InputError, match=r"text=Nobody|no column|no text|has no (field )?Nobody"):
        read_queries(path, fields=TextFields(id_field="Key", text_field="Nobody"))


def test_a_file_that_names_other_fields_is_told_what_is_looked_for(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text('id;question\nq1;"one; two"\n')
    assert read_queries(path) == {"q1": "one; two"}
    path.write_text("nr;frage\nq1;a sentence of so very many words\n")
    assert check([path]).files[0].errors[0].endswith("the id or the text: its header has nr, frage")
    with pytest.raises(InputError, match=r"under _id, id, .* --dataset id=NAME,text=NAME"):
        read_queries(path)
    assert read_queries(path, fields=TextFields(id_field="nr", text_field="frage")).keys() == {"q1"}
    (tmp_path / "spaces").write_text("q1   " + "a sentence of so many words\n" * 2)
    assert "no tab between" in check([tmp_path / "spaces"]).files[0].errors[0]
    (tmp_path / "lines").write_text('{"id": "q1", "text": "one"}\n')
    with pytest.raises(InputError, match="has no field foo, but id, text"):
        read_queries(tmp_path / "lines", fields=TextFields(id_field="foo"))


@pytest.mark.parametrize(
    "text",
    [
        "q1\tone two\n",
        "<top><num>1<title>x</top>\n",
        "<DOC><DOCNO>d</DOCNO>x</DOC>\n",
    ],
)
def test_a_format_without_names_says_so(tmp_path, text):
    (tmp_path / "file").write_text(text)
    with pytest.raises(InputError, match=r"no field has a name of its own\nLeave out --dataset id="):
        read_queries(tmp_path / "file", fields=OWN)


def test_smarts_files_are_named_for_what_they_are(tmp_path):
    (tmp_path / "cran.qry").write_text(".I 001\n.W\nwhat laws\napply .\n")
    for read in (read_queries, lambda path: read_texts(path, ["1"]), lambda path: pool(runs=path, out="x")):
        with pytest.raises(InputError, match=r"is in SMART's form.*\nwrite each entry as a line"):
            read(tmp_path / "cran.qry")


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
        (TextFields(), "no column that holds the id: its header has Key, Body, n"),
        (TextFields(id_field="Key", text_field="n"), "the column n holds int64, not text"),
    ):
        with pytest.raises(InputError, match=said) as error:
            read_queries(tmp_path / "own", fields=fields)
        assert "--dataset id=NAME" in error.value.hint
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
    own = {"dataset": "id=Key,text=Body", "queries": folder / "own.jsonl"}
    assert check(folder / "run", **own).ok
    assert score(runs=folder / "run", qrels=folder, **own).leaderboards[0].rows[0].score == 0.5
    pooled = pool(runs=folder / "run", collection=folder / "docs.csv", out=tmp_path / "p.tsv", **own)
    assert pooled.queries == 1
    for words in ("field=x", "name=Key", "download=yes", "text="):
        with pytest.raises(InputError, match="there is no dataset word"):
            score(runs=folder / "run", qrels=folder, queries=folder / "own.jsonl", dataset=words)


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
