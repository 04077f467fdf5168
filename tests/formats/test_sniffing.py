"""What a file is, told from its first bytes, with the way in; and what a reader says of it."""

import gzip
import json

import numpy as np
import pytest

from prefjudge import check, pool, score, stability
from prefjudge.errors import InputError
from prefjudge.reading.given import expand
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.runs.heads import RunFiles
from prefjudge.reading.sniffing import sniff
from prefjudge.reading.texts.texts import read_queries

RUN = "q1 Q0 d1 1 9.5 t\nq1 Q0 d2 2 8.5 t\n"
TOPICS = "<top>\n<num> Number: 301\n<title> International Organized Crime\n</top>\n"

FOREIGN = {
    "vectors": (b"\x93NUMPY\x01\0v\0{'descr'", "the file of the texts"),
    "HDF5": (b"\x89HDF\r\n\x1a\n\0\0", "the file of the texts"),
    "Arrow": (b"ARROW1\0\0", "Parquet"),
    "pickle": (b"\x80\x04\x95\0\0", "as text"),
    "prels": (b"10 GX253-98-16418961 0 1 0.165904710473544\n", "awk '{print $1, 0, $2, $3}'"),
    "ESCI": (b"example_id,query,query_id,product_id,esci_label\n0,a,1,B07,E\n", "write qrels: query_id 0"),
    "Excel": (b"PK\x03\x04\x14\0\x06\0\x08\0[Content_Types].xml", "as CSV"),
    "xz": (b"\xfd7zXZ\0rest", "xz -d"),
    "zip": (b"PK\x03\x04rest", "unzip"),
    "tar": (b"run".ljust(257, b"\0") + b"ustar\x0000", "tar xf"),
    "parquet": (b"PAR1rest", "call it NAME.parquet"),
    "pdf": (b"%PDF-1.7\n%\xe2", "name the file of data"),
    "database": (b"SQLite format 3\0" + bytes(80), "prefjudge status"),
    "UTF-16": (RUN.encode("utf-16"), "iconv"),
    "binary": (RUN.encode("utf-16-le"), "iconv"),
    "topics": (TOPICS.encode(), "as queries"),
    "documents": (b"<DOC>\n<DOCNO> FT911-1 </DOCNO>\n", "as the collection"),
    "html": (b"\n<!DOCTYPE html><html><head><title>Sign in</title>", "Download the file itself"),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", "git lfs pull"),
    "JSON run": (json.dumps({"q1": {"d1": 0.5, "d2": 0.25}}).encode(), "kind='trec'"),
    "JSON qrels": (json.dumps({"q1": {"d1": 1, "d2": 0}}, indent=1).encode(), "kind='trec'"),
    "JSON lines": (b'{"_id": "q1", "text": "what is it"}\n', "as queries"),
}
TEXTS = ("topics", "documents", "JSON lines")
"""Those that have a reader, though not as runs or qrels: `check` reads them."""


@pytest.mark.parametrize("kind", FOREIGN)
def test_every_format_is_told_with_its_way_in(tmp_path, kind):
    data, way = FOREIGN[kind]
    path = tmp_path / "file"
    path.write_bytes(data)
    found = sniff(path)
    if kind not in TEXTS:
        (checked,) = check([path]).files
        assert (checked.kind, checked.errors, checked.hint) == (kind, (found.what,), found.way)
    for read in (
        lambda: RunFiles([path]).top(1),
        lambda: read_qrels(path),
    ):
        with pytest.raises(InputError) as error:
            read()
        assert way in error.value.hint
        assert "--" not in error.value.hint, "an option that not every verb has"
        assert kind in TEXTS or str(error.value) == f"{found.what}\n{found.way}"
    assert found.kind == ("texts" if kind in TEXTS else kind)


GRADES = "q1 a 1\nq1 b 0\nq1 c 1\nq2 a 2\nq2 d 0\nq2 e 0\n"
FIRST = "q1 a 1\nq2 a 1\n"


@pytest.mark.parametrize("pack", [str.encode, lambda text: gzip.compress(text.encode())])
@pytest.mark.parametrize("options", [{}, {"order": "rank"}])
def test_grades_are_not_taken_for_ranks(tmp_path, pack, options):
    run, labels = tmp_path / "run", tmp_path / "labels"
    labels.write_bytes(b"q1 0 a 1\nq2 0 a 1\n")
    run.write_bytes(pack(GRADES))
    with pytest.raises(InputError, match="is not a run: its third column repeats 0, 1, 2") as error:
        score(runs=run, qrels=labels, **options)
    assert "as qrels" in error.value.hint
    for verb in (
        lambda: pool(runs=run, qrels=labels, out=tmp_path / "pool.tsv"),
        lambda: stability(runs=run, qrels=labels),
    ):
        with pytest.raises(InputError, match="is not a run"):
            verb()
    run.write_bytes(pack(FIRST))
    assert any("taken for ranks" in note for note in score(runs=run, qrels=labels, **options).notices)


@pytest.mark.parametrize(
    "text", ["q1 a 1\nq1 b 2\nq2 a 1\n", "q1 a 1\nq1 b 7\n", "q1 Q0 a 1 1 t\nq1 Q0 b 1 1 t\n"]
)
def test_ranks_are_not_taken_for_grades(tmp_path, text):
    run, labels = tmp_path / "run", tmp_path / "labels"
    labels.write_text("q1 0 a 1\n")
    run.write_text(text)
    assert not any("third column" in note for note in score(runs=run, qrels=labels).notices)


@pytest.mark.parametrize("kind", ["html", "pointer", "vectors", "ESCI", "pdf"])
def test_readers_of_texts_say_it_too(tmp_path, kind):
    data, way = FOREIGN[kind]
    (tmp_path / "queries").write_bytes(data)
    with pytest.raises(InputError, match=r"queries: (is|holds) ") as error:
        read_queries(tmp_path / "queries")
    assert way in str(error.value)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_qrels_of_beir_are_read_and_are_no_run(tmp_path, mark, end):
    path = tmp_path / "test.tsv"
    path.write_bytes(mark + end.join([b"query-id\tcorpus-id\tscore", b"q1\td1\t1", b"q1\td2\t0", b""]))
    qrels = read_qrels(path)
    assert (qrels.docs, qrels.grade.tolist()) == (("d1", "d2"), [1, 0])
    (checked,) = check([path]).files
    assert (checked.kind, checked.ok, checked.counts["labels"]) == ("qrels", True, 2)
    with pytest.raises(InputError, match=r"BEIR qrels.*\n.*as qrels"):
        RunFiles([path]).top(1)
    path.write_bytes(b"query-id\tcorpus-id\tscore\nq1\td1\tx\n")
    with pytest.raises(InputError, match=r"test.tsv:2:7: the grade is not a number"):
        read_qrels(path)


def test_what_is_packed_is_looked_into(tmp_path):
    (tmp_path / "run.gz").write_bytes(gzip.compress(FOREIGN["JSON run"][0]))
    assert sniff(tmp_path / "run.gz").kind == "JSON run"
    (tmp_path / "run.json.gz").write_bytes(gzip.compress(FOREIGN["JSON run"][0]))
    assert sniff(tmp_path / "run.json.gz").kind == "run"


@pytest.mark.parametrize(
    ("text", "kind", "doubted"),
    [
        (RUN, "run", False),
        (RUN.replace("\n", "\r"), "run", False),
        (RUN.replace(" t\n", "\n"), "run", False),
        ("q1 0 d1 1\nq1 0 d2 0\n", "qrels", False),
        ("q1\td1\t1\nq1\td2\t1\nq2\td9\t0\n", "qrels", False),  # a grade comes back in a query
        ("q1\td1\t2\nq2\td7\t0\n", "qrels", False),
        ("q1\td1\t1\nq2\td7\t1\n", "qrels", True),  # or one rank a query
        ("q1\td1\t1\nq1\td2\t2\nq2\td9\t1\n", "run", True),  # or grades that happen to count
        ("q1\td1\t1\n" + "".join(f"q2\td{n}\t{n}\n" for n in range(1, 9)), "run", False),
        ("q1 a b a\nq1 b c tie\n", "judgments", False),
        ("q1 d1 d2 tie\nq1 d3 d2 oops\nq2 7 8 7\n", "judgments", False),
        ("# made by hand\nq1 d1 d2 d1 w1\n", "judgments", False),
        ("q1 Q0 d1 1\nq1 Q0 d2 0\n", "qrels", False),
        ("q1 a b a w 1\nq1 a c a w 1\nq1 b c c - -\n", "judgments", False),
        ("q1 a b a w first\nq1 a c y w 1\n", "judgments", False),
        ("q1 a b 1 0.5 tag\nq1 a c 2 0.4 tag\n", "run", False),
        ("q1 Q0 1 1 9.5 7\nq1 Q0 2 2 9.1 7\n", "run", False),
        ("q1\twhat is love\nq2\thow far is the moon\n", "texts", False),
        ("7\tone two three four five six\n", "texts", False),
        ("1 184 2\n1 29 -1\n1 31 4\n2 7 3\n2 9 3\n", "qrels", False),  # Cranfield's
        (".I 1\n.W\nwhat laws\n", "SMART", False),
        ("id,title,text\n1,a,b\n", "texts", False),
        ("who is it\t['a']\n", "texts", False),
        ("", "run", False),
    ],
)
def test_columns_are_told_apart(tmp_path, text, kind, doubted):
    (tmp_path / "file").write_bytes(text.encode())
    found = sniff(tmp_path / "file")
    assert (found.kind, bool(found.doubt)) == (kind, doubted)


def test_queries_are_read_as_queries(tmp_path):
    (tmp_path / "queries.tsv").write_bytes(b"q1\twhat is love\nq2\thow far, caf\xe9\n")
    (checked,) = check([tmp_path / "queries.tsv"]).files
    assert (checked.kind, checked.ok, checked.counts) == ("texts", True, {"texts": 2})
    assert "queries.tsv:2: the text is not UTF-8: byte 0xe9 behind 'how far, caf'" in checked.warnings[0]
    (tmp_path / "topics.txt").write_text(TOPICS)
    assert check([tmp_path / "topics.txt"]).ok
    (tmp_path / "twice.tsv").write_text("q1\twhat is love\nq1\thow far\nq2\n")
    (checked,) = check([tmp_path / "twice.tsv"], kind="texts").files
    assert [error.partition("tsv:")[2] for error in checked.errors] == [
        "2:1: the id is also on line 1: 'q1'",
        "3:1: no tab between an id and a text: 'q2'",
    ]


def test_latin_1_that_begins_as_utf_16_does_is_told_from_it(tmp_path):
    (tmp_path / "queries.tsv").write_bytes("\xff\xfe1\tc\xe9\n2\tb c\n".encode("latin-1"))
    assert check([tmp_path / "queries.tsv"]).files[0].kind == "texts"


def test_the_folder_of_a_study_is_no_folder_of_runs(tmp_path):
    study = tmp_path / "my study"
    study.mkdir()
    (study / "study.toml").write_text("")
    (study / "preference.qrels").write_text("q1 Q0 d1 1\n")
    assert sniff(study).kind == "study"
    for read in (lambda: check([study]), lambda: expand([study])):
        with pytest.raises(InputError, match=r"is the folder of a study, not of runs\n.*prefjudge status"):
            read()
    assert len(expand([str(study / "*.qrels")])) == 1


def test_real_files_are_what_they_are(data_dir):
    rng = np.random.default_rng(2)
    runs = sorted((data_dir / "dl21" / "runs").iterdir())
    for path in [runs[n] for n in rng.choice(len(runs), 10, replace=False)]:
        assert (sniff(path).kind, sniff(path).doubt) == ("run", ""), path
    assert sniff(data_dir / "cast19" / "judgments.txt.gz").kind == "judgments"
    assert sniff(data_dir / "msmarco" / "qrels.dl19-passage.txt.gz").kind == "qrels"
