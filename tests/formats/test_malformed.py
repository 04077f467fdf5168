"""Every malformed input of the field's quirk list: what is said, where, and how to fix it."""

import bz2
import gzip
import time

import pytest
import zstandard

from prefjudge.errors import InputError
from prefjudge.reading.labels import read_judgments, read_qrels
from prefjudge.reading.manifest import read_manifest
from prefjudge.reading.pools import read_gold
from prefjudge.reading.runs.heads import Reading, RunFiles
from prefjudge.reading.texts.collections import read_texts
from prefjudge.reading.texts.texts import read_queries
from prefjudge.steps.check import check

COLUMNS = "Write each line of a TREC run as: query Q0 doc rank score tag; of an MS MARCO run: query doc rank."
MOVED = (
    "Check for a blank in a document id, or a column too many before the score. Beyond six columns there can"
    " only be a tag with blanks, the same on every line."
)
QRELS_LINE = "Write each line as: query Q0 doc grade, or: query doc grade."
GOOD = "q1 Q0 d1 1 9.5 t\nq1 Q0 d2 2 8.5 t\n"


def said(path, what):
    """Return the whole message with the file's folder taken out."""
    with pytest.raises(InputError) as error:
        what(path)
    return str(error.value).replace(f"{path.parent}/", "")


def run_error(tmp_path, text, **options):
    path = tmp_path / "run"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return said(path, lambda p: RunFiles([p], Reading(**options)).top(1))


def qrels_error(tmp_path, text, **options):
    path = tmp_path / "qrels"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return said(path, lambda p: read_qrels(p, **options))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            GOOD + "q2 Q0 d1 1 nan t\n",
            "run is not a readable run (1 problem):\nrun:3:12: the score is NaN: 'nan'\n"
            "Give the document a score, or leave its line out.",
        ),
        (
            GOOD + "q2 Q0 d1 1 abc t\n",
            "run is not a readable run (1 problem):\nrun:3:12: the score is not a number: 'abc'\n"
            "Write a score as a number with a decimal point, such as 12.5 or 1e-3.",
        ),
        (
            GOOD + "q2 Q0 d1 1 3,5 t\n",
            "run is not a readable run (1 problem):\nrun:3:12: the score has a decimal comma: '3,5'\n"
            "Write a decimal point: 3.5",
        ),
        (
            GOOD + "q2 Q0 d1 1 1_000 t\n",
            "run is not a readable run (1 problem):\nrun:3:12: the score is not a number: '1_000'\n"
            "Write a score as a number with a decimal point, such as 12.5 or 1e-3.",
        ),
        (
            GOOD + "q1 Q0 d1 3 7.5 t\n",
            "run is not a readable run (1 problem):\n"
            "run:3:7: document repeated for query 'q1' (first on line 1): 'd1'\n"
            "Keep one of the lines, or say which counts: --on-duplicate first, or best",
        ),
        (
            GOOD + GOOD.splitlines(keepends=True)[1],
            "run is not a readable run (1 problem):\n"
            "run:3:7: document repeated for query 'q1' (first on line 2): 'd2'\n"
            "Keep one of the lines, or say which counts: --on-duplicate first, or best",
        ),
        (
            GOOD + "q2 Q0 d1 1 2.5\n",
            "run is not a readable run (1 problem):\n"
            "run:3:1: 5 columns where 6 are expected, as in the first line: 'q2 Q0 d1 1 2.5'\n" + COLUMNS,
        ),
        (
            GOOD + "q2 Q0 d 1 1 2.5 t\n",
            "run is not a readable run (1 problem):\n"
            "run:3:1: 7 columns where 6 are expected, as in the first line: 'q2 Q0 d 1 1 2.5 t'\n" + MOVED,
        ),
        (
            "q1 Q0 d 1 1 9.5 t\nq1 Q0 d 2 2 8.5 t\n",
            "run is not a readable run (1 problem):\n"
            "run:2:13: columns 6 to 7 are not those of the first line: '8.5 t'\n" + MOVED,
        ),
        (
            "0 q1 Q0 d1 1 9.5 t\n1 q1 Q0 d2 2 8.5 t\n",
            "run is not a readable run (1 problem):\n"
            "run:2:14: columns 6 to 7 are not those of the first line: '8.5 t'\n" + MOVED,
        ),
        (
            "q1 Q0 d A 1 9.5\nq1 Q0 e B 2 8.5\n",
            "run is not a readable run (1 problem):\n"
            "run:2:13: the sixth column holds numbers that change, so it is not the tag: '8.5'\n" + MOVED,
        ),
        (
            "q1 Q0 d 4 1 9.5\nq1 Q0 e 5 2 8.5\nq2 Q0 d 4 1 7.5\n",
            "run is not a readable run (1 problem):\n"
            "run:2:13: the sixth column holds numbers that change, so it is not the tag: '8.5'\n" + MOVED,
        ),
        (
            "q1 Q0 d 9.5 1 t\nq1 Q0 e 8.5 2 t\nq2 Q0 d 7 1 t\n",
            "run is not a readable run (1 problem):\n"
            "run:1:9: the score counts the lines of a query and the rank does not: "
            "the two columns are swapped: '9.5'\n" + COLUMNS,
        ),
        ("", "run is empty: a run needs at least one line\nCheck the program that wrote it."),
        ("\n# nothing\n\n", "run is empty: a run needs at least one line\nCheck the program that wrote it."),
        (
            "q1 0 d1 1\n",
            "run is not a run: its first line has 4 columns, as qrels have\n"
            "If runs and qrels were swapped, swap them back. " + COLUMNS,
        ),
        ("q1 d1\n", "run is not a run: its first line has 2 columns\n" + COLUMNS),
        (
            "q1,d1,1\n",
            "run is not a run: its first line has 1 column\n"
            "Separate columns by blanks or tabs, not by commas.\n" + COLUMNS,
        ),
        (
            "q1 d1 first\n",
            "run is not a readable run (1 problem):\nrun:1:7: the rank is not a whole number: 'first'\n"
            "Write ranks as whole numbers: 1, 2, 3",
        ),
        (
            GOOD.encode("utf-16"),
            "run: is UTF-16 text, not UTF-8 text\nconvert it: iconv -f UTF-16 -t UTF-8 run > run.utf8",
        ),
        (
            GOOD.encode("utf-16-le"),
            "run: holds NUL bytes, so it is not UTF-8 text\n"
            "give a text file; if this is UTF-16 text, convert it: iconv -f UTF-16LE -t UTF-8 run > run.utf8",
        ),
        (b"\x89PNG\r\n\x1a\n\0\0", "run: is a picture (PNG), not UTF-8 text\nname the file of data"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF\0", "run: is a picture (JPEG), not UTF-8 text\nname the file of data"),
        (b"\xfd7zXZ\0rest", "run: is compressed with xz, not UTF-8 text\nunpack it: xz -d run"),
        (
            gzip.compress(GOOD.encode(), mtime=0)[:-9],
            "run: the gz data ends before its end\nCopy or download it again: the copy is incomplete.",
        ),
        (
            bz2.compress(GOOD.encode())[:-9],
            "run: the bz2 data ends before its end\nCopy or download it again: the copy is incomplete.",
        ),
        (
            zstandard.compress(GOOD.encode())[:-3],
            "run: the zst data ends before its end\nCopy or download it again: the copy is incomplete.",
        ),
    ],
)
def test_malformed_run(tmp_path, text, message):
    assert run_error(tmp_path, text) == message


def test_rank_that_is_no_number_matters_in_rank_order_only(tmp_path):
    text = "q1 Q0 d1 first 9.5 t\n"
    assert run_error(tmp_path, text, order="rank") == (
        "run is not a readable run (1 problem):\nrun:1:10: the rank is not a whole number: 'first'\n"
        "Write ranks as whole numbers: 1, 2, 3; or order by score: --order score"
    )
    assert RunFiles([tmp_path / "run"]).top(1).docs == ("d1",)


@pytest.mark.parametrize("ranks", [("3", "2"), ("-", "-"), ("0.5", "x")])
def test_scores_that_rise_by_one_are_no_ranks_by_themselves(tmp_path, ranks):
    path = tmp_path / "run"
    path.write_text(
        "".join(f"q1 Q0 d{rank}{place} {rank} {place} t\n" for place, rank in enumerate(ranks, 1))
    )
    assert len(RunFiles([path]).top(2).docs) == 2


def test_all_problems_of_a_run_are_told_at_once_in_line_order(tmp_path):
    text = "q1 Q0 d1 1 9,5 t\nq1 Q0 d2\nq1 Q0 d3 1 x t\nq1 Q0 d4 4 1 t\nq1 Q0 d4 5 1 t\n"
    message = run_error(tmp_path, text)
    assert [line.split(":")[1] for line in message.splitlines() if line.startswith("run:")] == [
        "1",
        "2",
        "3",
        "5",
    ]
    assert message.startswith("run is not a readable run (4 problems):\n")
    assert "Write a decimal point: 9.5" in message
    assert COLUMNS in message


def test_problems_stop_at_a_limit(tmp_path):
    message = run_error(tmp_path, "".join(f"q1 Q0 d{n} {n} x t\n" for n in range(1000)))
    assert message.startswith("run is not a readable run (the first 20 problems):\n")
    assert message.count("the score is not a number") == 20


@pytest.mark.parametrize("others", [3, 500])
def test_a_first_line_unlike_the_others_is_the_one_that_is_named(tmp_path, others):
    lines = "".join(f"q{n // 100} Q0 d{n} {n} {-n} t\n" for n in range(others))
    message = run_error(tmp_path, f"made by us\n{lines}")
    assert message.startswith("run: its first line has 3 columns, and the others have 6; line ")
    assert len(message.splitlines()) == 2


def test_a_text_that_is_no_run_is_refused_in_one_sentence(tmp_path):
    text = "".join(f"{'many words ' * n}in a line\n" for n in range(3, 99))
    message = run_error(tmp_path, text)
    assert message.startswith(
        "run is not a run: its lines differ in their number of columns; line 1 is 'many "
    )
    assert message.splitlines()[1:] == [COLUMNS]
    assert "neither a run, qrels, votes nor texts" in check(tmp_path / "run").files[0].errors[0]


@pytest.mark.parametrize(
    ("read", "first", "line"),
    [(read_qrels, "q1 d1 1", "q1 0 d{n} 1"), (read_judgments, "q1 d1 d2 d1", "q1 d{n} e{n} d{n} w")],
)
def test_a_first_line_unlike_other_labels_is_the_one_that_is_named(tmp_path, read, first, line):
    rows = "".join(f"{line.format(n=n)}\n" for n in range(9))
    (tmp_path / "file").write_text(f"{first}\n{rows}")
    widths = f"its first line has {len(first.split())} columns, and the others have {len(line.split())}"
    assert widths in said(tmp_path / "file", read)


def test_missing_file_and_folder(tmp_path):
    assert said(tmp_path / "none", lambda p: RunFiles([p]).top(1)) == (
        "none: there is no such file\nCheck the path; quote patterns like 'runs/*'."
    )
    (tmp_path / "folder").mkdir()
    assert said(tmp_path / "folder", lambda p: RunFiles([p]).top(1)) == (
        "folder is a folder, not a file\nName the files in it: 'folder/*'"
    )


def test_damaged_gz(tmp_path):
    packed = bytearray(gzip.compress(GOOD.encode() * 99, mtime=0))
    packed[20:30] = b"\xff" * 10
    message = run_error(tmp_path, bytes(packed))
    assert message.startswith("run: the gz data is damaged: ")
    assert message.endswith("\nCopy or download the file again.")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "q1 0 d1 1\nq1 0 d1 0\n",
            "qrels is not a readable qrels file (1 problem):\n"
            "qrels:2:9: document 'd1' of query 'q1' has grade 1 on line 1 and another here: '0'\n"
            "Keep the line with the right grade.",
        ),
        (
            "q1 0 d1 1\nq1 0 d2 0.5\n",
            "qrels is not a readable qrels file (1 problem):\n"
            "qrels:2:9: fractional grade, which most programs read as a whole number: '0.5'\n"
            "Use whole grades, or read it with fractional grades allowed (fractions=True).",
        ),
        (
            "q1 0 d1 yes\n",
            "qrels is not a readable qrels file (1 problem):\nqrels:1:9: the grade is not a number: 'yes'\n"
            "Write a grade as a whole number: 0 is not relevant, 1 or more is.",
        ),
        (
            "q1 0 d1 nan\n",
            "qrels is not a readable qrels file (1 problem):\nqrels:1:9: the grade is not a number: 'nan'\n"
            "Write a grade as a whole number: 0 is not relevant, 1 or more is.",
        ),
        (
            "q1 0 d1 1\nq2 d2 1\n",
            "qrels is not a readable qrels file (1 problem):\n"
            "qrels:2:1: 3 columns where 4 are expected, as in the first line: 'q2 d2 1'\n" + QRELS_LINE,
        ),
        (
            GOOD,
            "qrels is not a qrels file: its first line has 6 columns, as a run has\n"
            "If runs and qrels were swapped, swap them back. " + QRELS_LINE,
        ),
        ("q1 d1\n", "qrels is not a qrels file: its first line has 2 columns\n" + QRELS_LINE),
        (
            "q1 how long is an egg boiled\n",
            "qrels is not a qrels file: its first line has 7 columns\n" + QRELS_LINE,
        ),
        ("", "qrels is empty: qrels need at least one line\nCheck the program that wrote it."),
        (
            "q1 0 d1 1\n".encode("utf-16"),
            "qrels: is UTF-16 text, not UTF-8 text\nconvert it: iconv -f UTF-16 -t UTF-8 qrels > qrels.utf8",
        ),
    ],
)
def test_malformed_qrels(tmp_path, text, message):
    assert qrels_error(tmp_path, text) == message


def overlap_error(tmp_path, run, qrels):
    (tmp_path / "qrels").write_text(qrels)
    (tmp_path / "run").write_text(run)
    return said(tmp_path / "run", lambda p: RunFiles([p]).judged(read_qrels(tmp_path / "qrels")))


def test_no_query_in_common(tmp_path):
    assert overlap_error(tmp_path, GOOD, "q7 0 d1 1\n") == (
        "run: none of the 1 judged queries of qrels is in this run: its first query is 'q1',"
        " the qrels have 'q7'\n"
        "Give a run and qrels of the same collection, which write the query_id alike."
    )
    assert overlap_error(tmp_path, "7 Q0 d1 1 1 t\n", "007 0 d1 1\n").endswith(
        "Write the query_ids alike: they differ in leading zeros."
    )


@pytest.mark.parametrize("qrels", ["d1 0 q1 1\n", "d1 0 q7 1\n", "d7 0 q1 1\n"])
def test_queries_and_documents_that_are_swapped(tmp_path, qrels):
    assert overlap_error(tmp_path, GOOD, qrels).endswith(
        "One of the two has queries where the other has documents: swap these columns. "
        "Write each line of a run as: query Q0 doc rank score tag; of qrels as: query Q0 doc grade."
    )


def test_no_document_in_common(tmp_path):
    assert overlap_error(tmp_path, "q1 Q0 msmarco_passage_37_406 1 1 t\n", "q1 0 7067032 1\n") == (
        "run: no judged document of qrels is in this run: its doc_ids look like 'msmarco_passage_37_406',"
        " those of the qrels like '7067032'\n"
        "Give a run and qrels of the same collection, which write the doc_id alike."
    )


def test_a_run_that_found_nothing_is_not_an_error(tmp_path):
    (tmp_path / "qrels").write_text("q1 0 d9 1\n")
    (tmp_path / "run").write_text(GOOD)
    (ranks,) = RunFiles([tmp_path / "run"]).judged(read_qrels(tmp_path / "qrels"))
    assert ranks.judged.size == 0
    assert ranks.retrieved.tolist() == [2]


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (
            ["q a b a w 1", "q a c c w 1"],
            "2:7: choice 1 of this worker for this query has another winner before",
        ),
        (["q a b a w 1", "q a c tie w 1"], "2:7: a choice out of several passages is no tie"),
        (
            ["q a b a w 1", "q a c a w 1", "q b a a w 1"],
            "3:3: choice 1 of this worker for this query has this",
        ),
        ([f"q a {doc} a w 1" for doc in "bcdef"], "5:7: choice 1 is out of more than 5 passages"),
        (["q a b a w -1", "q a c a w 1"], "1:11: the sixth column is not the number of a choice"),
    ],
)
def test_judgments_that_no_choice_can_be(tmp_path, lines, what):
    path = tmp_path / "judgments"
    path.write_text("".join(f"{line}\n" for line in lines))
    assert f"judgments:{what}" in said(path, read_judgments)
    assert "The sixth column numbers a worker's choices" in said(path, read_judgments)


def test_the_numbers_of_choices_may_begin_again_with_each_query_and_worker(tmp_path):
    rows = [f"{query} a {doc} a {worker} 1\n" for query in "pq" for worker in "vw-" for doc in "bc"]
    (tmp_path / "judgments").write_text("".join([*rows, "q a b b - -\n"]))
    found = read_judgments(tmp_path / "judgments")
    assert found.click.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, -1]
    assert found.passages == 3
    assert set(found.worker[[4, 5, 12]]) == {-1}


def test_malformed_judgments(tmp_path):
    path = tmp_path / "judgments"
    path.write_text("q1 a b a\nq1 a b c\nq1 a a a\nq1 a b\n")
    assert said(path, read_judgments) == (
        "judgments is not a readable judgments file (3 problems):\n"
        "judgments:2:8: the preferred document is neither 'a' nor 'b': 'c'\n"
        "judgments:3:6: the document is compared with itself: 'a'\n"
        "judgments:4:1: the preferred document is missing: 'q1 a b'\n"
        "the last column repeats one of the two documents, or is: tie\n"
        "Write each line as: query doc_1 doc_2 preferred, and perhaps a fifth column, the worker, and a "
        "sixth, the number of a choice out of several, or - of two."
    )


def test_malformed_queries(tmp_path):
    path = tmp_path / "queries"
    path.write_text("1\tone\n2 two\n1\tother\n")
    assert said(path, read_queries) == (
        "queries is not a readable queries file (2 problems):\n"
        "queries:2:1: no tab between an id and a text: '2 two'\n"
        "queries:3:1: the query has another text on line 1: '1'\n"
        "Write each line as: id, a tab, the text.\n"
        "Give each query_id one line only."
    )


def test_json_that_is_nested_deeper_than_python_goes(tmp_path):
    path = tmp_path / "queries.jsonl"
    path.write_text('{"_id": "1", "text": "one"}\n{"_id": "2", "text": ' + "[" * 100_000 + "\n")
    assert "queries.jsonl:2:1: nested too deeply" in said(path, read_queries)
    assert "queries.jsonl:2:1: nested too deeply" in said(path, lambda p: read_texts(p, ["2"]))


@pytest.mark.parametrize("end", ["x", "e", ".", "e+"])
def test_a_number_as_long_as_a_file_is_read_in_one_pass(tmp_path, end):
    start = time.process_time()
    text = "q1 Q0 d1 1 " + "1" * 300_000 + end + " t\n"
    if end == ".":
        (tmp_path / "run").write_text(text)
        assert len(RunFiles([tmp_path / "run"]).top(1).doc) == 1
    else:
        assert "the score is not a number" in run_error(tmp_path, text)
    assert time.process_time() - start < 10  # looking at each digit again and again takes minutes


def test_a_manifest_nested_deeper_than_python_goes(tmp_path):
    (tmp_path / "list.toml").write_text("file = " + "[" * 100_000)
    with pytest.raises(InputError, match="is not a manifest"):
        read_manifest(str(tmp_path / "list.toml"))


def test_gold_with_a_cell_too_many_or_longer_than_csv_takes(tmp_path):
    (tmp_path / "gold.tsv").write_text("query_id\tquery\tgood\tbad\n1\tq\tgood\t" + "b" * 200_000 + "\n\n")
    (pair,) = read_gold(tmp_path / "gold.tsv")
    assert (pair.query_id, pair.good, len(pair.bad)) == ("1", "good", 200_000)
    (tmp_path / "gold.tsv").write_text("query_id\tquery\tgood\tbad\n1\tq\tgood\tba\td\n2\tq\n")
    assert "gold.tsv:2: 5 cells for 4 columns" in said(tmp_path / "gold.tsv", read_gold)
    assert "gold.tsv:3: good, bad: empty" in said(tmp_path / "gold.tsv", read_gold)
