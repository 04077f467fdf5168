"""Files given where others belong, cut off, or with an id twice: a clear error, and nothing is written."""

import gzip

import pytest

from prefjudge import check, import_votes, init, pool, score, stability, winratio
from prefjudge.errors import InputError
from prefjudge.evaluation.measures.measures import Measure
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.texts.collections import read_texts
from tests.steps.conftest import contents

TOPICS = "<top>\n<num> Number: 1\n<title> a\n</top>\n"
RUN = "1 Q0 d1 1 9 t\n1 Q0 d2 2 8 t\n"
TEXTS = "d1\tone\nd2\ttwo\n"
BEIR = "query-id\tcorpus-id\tscore\n1\td1\t1\n"
VOTE = '{"question_id": 1, "model_a": "x", "model_b": "y", "winner": "tie"}\n'
WRONG = {
    "topics as a collection": (
        "collection",
        TOPICS,
        "holds topics, not a collection\nGive it with --queries.",
    ),
    "questions as a collection": (
        "collection",
        "who is it\t['a']\n",
        "holds questions with answers, not a coll",
    ),
    "a run as queries": ("queries", RUN, "no tab between an id and a text"),
    "topics as qrels": ("qrels", TOPICS, "holds TREC topics (SGML or XML), not lines of columns"),
    "a run as qrels": ("qrels", RUN, "has 6 columns, as a run has"),
    "qrels as a run": ("runs", "1 0 d1 1\n", "has 4 columns, as qrels have"),
    "documents as a run": ("runs", "<DOC>\n<DOCNO>d</DOCNO>x</DOC>\n", "holds TREC documents"),
    "two cards alike": ("collection", "id,text\nd1,a\nd1,b\nd2,c\n", ":3:1: the document has another text"),
    "BEIR qrels as queries": ("queries", BEIR, "holds BEIR qrels, whose first line names the columns"),
    "gold pairs as queries": ("queries", "query_id\tquery\tgood\tbad\n1\ta\tb\tc\n", "holds gold pairs"),
    "votes as queries": ("queries", VOTE, "holds votes: comparisons of two answers"),
    "votes as qrels": ("qrels", VOTE, "holds votes: comparisons of two answers"),
    "votes as a run": ("runs", VOTE, "prefjudge import STUDY"),
    "MS MARCO's run as qrels": (
        "qrels",
        "".join(f"1\td{rank}\t{rank}\n" for rank in range(1, 9)),
        "its third column counts 1, 2, 3 and so on in each query",
    ),
    "compressed Parquet": (
        "collection",
        gzip.compress(b"PAR1" + bytes(99)),
        "is Parquet, compressed or through a pipe",
    ),
    "nothing": ("collection", "\n", "is empty"),
    "padded queries": (
        "queries",
        "01\ta\n",
        "no query of this file is in the runs: its first is '01', the runs have '1'\n"
        "Write the query_ids alike: they differ in leading zeros.",
    ),
    "qrels of a table": ("qrels", "1.0 0 d1 1\n", "they differ in a decimal point, as tables write"),
    "quoted ids in qrels": ("qrels", '"1" 0 d1 1\n', "they differ in quotation marks"),
}


def test_what_no_database_keeps_is_told_before_anything_is_stored(tmp_path):
    (tmp_path / "run").write_bytes(RUN.replace("d1", "d\xe9").encode("latin-1"))
    (tmp_path / "qrels").write_text("1 0 d2 1\n")
    init(tmp_path / "study", name="study")
    before = contents(tmp_path / "study")
    with pytest.raises(InputError, match=r"the id of the document 'd\\udce9' is not UTF-8 text"):
        pool(tmp_path / "study", runs=tmp_path / "run", qrels=tmp_path / "qrels")
    assert contents(tmp_path / "study") == before
    (tmp_path / "texts").write_bytes(b"d1\tone\nd2\t" + b"x" * 5000 + b"\0\n")
    notices = []
    assert read_texts(tmp_path / "texts", ["d2"], notices=notices)["d2"].endswith(
        "x\N{REPLACEMENT CHARACTER}"
    )
    assert "the text holds NUL bytes; they were replaced" in str(notices[0])


def test_judgments_of_subtopics_are_not_read_as_plain_ones_in_silence(tmp_path):
    path = tmp_path / "qrels"
    notices = []
    path.write_text("1 0 d1 1\n1 0 d2 0\n2 0 d1 1\n")
    read_qrels(path, notices=notices)
    assert not notices
    path.write_text("1 1 d1 1\n1 2 d2 0\n")
    read_qrels(path, notices=notices)
    assert "the second column differs from line to line, and is taken for subtopics" in str(notices[0])
    path.write_text("".join(f"1 {number} d1 {number % 2}\n" for number in range(65)))
    with pytest.raises(InputError, match="has grade 0 on line 1 and another here"):
        read_qrels(path)
    with pytest.raises(InputError, match="ERR-IA@20 needs judgments of subtopics"):
        Measure.parse("ERR-IA@20")


def test_grades_that_count_are_ranks_only_beyond_grades(tmp_path):
    path = tmp_path / "qrels"
    path.write_text("1 d1 1\n1 d2 2\n1 d3 3\n2 d1 1\n")
    assert read_qrels(path).grade.tolist() == [1, 2, 3, 1]
    path.write_text("".join(f"1 d{rank} {rank}\n" for rank in range(1, 9)) + "2 d1 3\n")
    assert read_qrels(path).grade.size == 9


@pytest.mark.parametrize("case", WRONG)
def test_the_wrong_file_is_named_and_nothing_is_written(tmp_path, case):
    role, text, said = WRONG[case]
    right = {"runs": RUN, "qrels": "1 0 d1 1\n", "queries": "1\ta\n", "collection": TEXTS}
    given = {name: tmp_path / name for name in right}
    for name, path in given.items():
        path.write_text(right[name])
    given[role].write_bytes(text if isinstance(text, bytes) else text.encode("latin-1"))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError) as error:
        pool(**given, out=tmp_path / "pool.tsv")
    assert said in str(error.value)
    assert str(given[role]) in error.value.message
    assert error.value.hint
    assert sorted(tmp_path.iterdir()) == before
    if role in ("runs", "qrels", "queries"):
        del given["collection"]
        with pytest.raises(InputError):
            score(**given, out=tmp_path / "board.csv")
        assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("passages", ["d1\tone\nd2\ttwo\n", "1\tx\n2\ty\n3\tz\n"])  # 1 is a query, too
def test_swapped_texts_are_named_as_swapped(tmp_path, passages):
    first = passages.split("\n")[1].split("\t")[0]
    (tmp_path / "run").write_text(f"1 Q0 {first} 1 9 t\n")
    (tmp_path / "a.tsv").write_text("1\twhat is it\n")
    (tmp_path / "b.tsv").write_text(passages)
    given = {"queries": tmp_path / "b.tsv", "collection": tmp_path / "a.tsv"}
    with pytest.raises(InputError, match=r"are swapped: .*b.tsv holds the passages") as swapped:
        pool(runs=tmp_path / "run", **given, out=tmp_path / "pool.tsv")
    assert swapped.value.hint == f"Give --queries {given['collection']} --collection {given['queries']}"


def test_the_qrels_of_a_folder_are_found_among_its_files(tmp_path):
    (tmp_path / "run").write_text(RUN)
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "queries.tsv").write_text("1\tone two\n")
    with pytest.raises(InputError, match=r"a folder without qrels: queries.tsv\nName the file: --qrels FILE"):
        score(runs=tmp_path / "run", qrels=folder)
    (folder / "labels.txt").write_text("1 0 d1 1\n")
    assert score(runs=tmp_path / "run", qrels=folder).provenance["queries under labels"] == "1"
    (folder / "more.txt").write_text("1 0 d2 1\n")
    with pytest.raises(InputError, match=r"a folder with several qrels: labels.txt, more.txt\nName the file"):
        score(runs=tmp_path / "run", qrels=folder)


def test_labels_of_other_documents_are_no_labels_by_which_all_score_0(tmp_path):
    for name, docs in (("other", "b"), ("own", "a")):
        (tmp_path / name).write_text("".join(f"q{n} Q0 {docs}{n} 1 2.5 {name}\n" for n in range(10)))
    (tmp_path / "qrels").write_text("".join(f"q{n % 10} 0 a{n} 1\n" for n in range(100)))
    (tmp_path / "sparse").write_text("".join(f"q{n} 0 a{n} 1\n" for n in range(10)))
    (tmp_path / "none").write_text("".join(f"q{n} 0 a{n} 0\n" for n in range(10)))
    (tmp_path / "judgments").write_text("q1 a1 a2 a1\n")
    both = [tmp_path / "other", tmp_path / "own"]
    for verb in (score, stability):
        with pytest.raises(InputError, match="none of the 10 documents of 1 run is judged in qrels"):
            verb(runs=both[:1], qrels=tmp_path / "qrels")
        with pytest.raises(InputError, match="no relevant document is among its 10 labels"):
            verb(runs=both, qrels=tmp_path / "none")
    for runs, labels in ((both, "qrels"), (both[:1], "sparse")):  # of one label a query a run may find none
        said = score(runs=runs, qrels=tmp_path / labels).notices[0]
        assert "it scores 0: is it of this collection?" in said
    assert (
        score(runs=both[1:], qrels=tmp_path / "none", measure="Judged@1").leaderboards[0].rows[0].score == 1
    )
    with pytest.raises(InputError, match="no doc of the judgments is at the top of any run"):
        winratio(runs=both[:1], judgments=tmp_path / "judgments")
    for labels, what in (("none", "has no relevant document"), ("qrels", "at the top of no run")):
        assert what in pool(runs=both[:1], qrels=tmp_path / labels, out=tmp_path / "pool").notices[0]


def test_a_header_is_told_from_a_mistake_and_semicolons_separate(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("query\tdoc\trelevance\n1\td1\t1\n1\td2\t1\n")
    (file,) = check([path]).files
    assert (file.kind, file.hint) == ("qrels", "Line 1 names the columns: take it out.")
    path.write_text("qid;docno;label\n1;d1;1\n")
    assert read_qrels(path).docs == ("d1",)
    path.write_text("query;doc_1;doc_2;preferred\n1;d1;d2;d1\n")
    assert import_votes(tmp_path / "study", path).votes == 1
    path.write_text("1 d1 d2 x\n1 d1 d3 x\n")
    with pytest.raises(InputError, match="the preferred document is neither 'd1' nor 'd2'"):
        import_votes(tmp_path / "study", path)
    (tmp_path / "run").write_text(RUN)
    path.write_text("1, 0 d1 1\n")
    with pytest.raises(InputError, match="they differ in a comma or semicolon at the end"):
        score(runs=tmp_path / "run", qrels=path)


def test_parquet_where_none_is_read_is_told_with_the_way_on(tmp_path):
    (tmp_path / "votes.parquet").write_bytes(b"PAR1rest")
    (tmp_path / "run").write_text(RUN)
    with pytest.raises(InputError, match=r"this option reads only text\nwrite it as CSV: pandas"):
        import_votes(tmp_path / "study", tmp_path / "votes.parquet")
    with pytest.raises(InputError, match=r"only `resolve` reads judgments from Parquet\nWrite text: pandas"):
        winratio(runs=tmp_path / "run", judgments=tmp_path / "votes.parquet")
    assert not (tmp_path / "study").exists()
