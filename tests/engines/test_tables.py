"""The same reader over tables, here and on Spark, gives what run files give, to the last digit."""

import gzip
import shutil
import sys
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from prefjudge import pool, resolve, score
from prefjudge.core.runs import Order
from prefjudge.errors import ConfigError, InputError
from prefjudge.findings.outputs import to_arrow
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.opened import tables_of
from prefjudge.reading.remote import without_secrets
from prefjudge.reading.runs import heads as files
from prefjudge.reading.runs.heads import Reader, Reading, units_of
from prefjudge.reading.runs.rows import COLUMNS
from prefjudge.reading.runs.runs import read_chunks
from prefjudge.reading.runs.tables import TableRuns, Tables
from prefjudge.reading.unpacking import parts_of
from prefjudge.show.cells import Column, Table
from prefjudge.steps.compare import compare
from tests.serving import Files, Serving

from .test_copies import text
from .test_files import quick, run_files


def runs_of(engine, paths, order="score", **more):
    return TableRuns(engine, paths, Reading(order=order), **more)


def save_table(engine, table, path):
    engine.save(to_arrow(table, path), path)


def save_pool(*given, **more):
    from prefjudge.reading.runs.cluster import save_pool

    return save_pool(*given, **more)


@pytest.fixture(scope="module")
def here():
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra parquet)")
    return Tables()


@pytest.fixture(scope="module")
def spark():
    pytest.importorskip("pyspark", reason="Apache Spark is not installed (extra spark)")
    if shutil.which("java") is None:
        pytest.skip("Apache Spark needs Java, which is not installed")
    from pyspark.sql import SparkSession

    from prefjudge.reading.runs.cluster import SparkTables

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)  # the path may have a python3 of another version
        session = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
    yield SparkTables(session)
    session.stop()


def test_a_session_of_its_own_says_nothing_of_pandas(monkeypatch, recwarn):
    sql = pytest.importorskip("pyspark.sql", reason="Apache Spark is not installed (extra spark)")
    from prefjudge.reading.runs.cluster import SparkTables

    class Session:
        """Warns as PySpark does where it starts Java, before it knows what it is asked for."""

        builder = property(lambda self: self)
        sparkContext = SimpleNamespace(master="local[*]", pythonExec="")  # noqa: N815 - Spark's name

        def config(self, *_):
            return self

        def getActiveSession(self):
            return None

        def getOrCreate(self):
            warnings.warn("PySpark does not yet fully support pandas >= 3.0.0.", FutureWarning, stacklevel=1)
            return self

    monkeypatch.setattr(sql, "SparkSession", Session())
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert SparkTables().session.sparkContext.pythonExec == sys.executable
    assert not recwarn.list


@pytest.fixture(scope="module", params=["here", "spark"])
def engine(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs with many ties, other separators, other columns, comments and compression."""
    folder = tmp_path_factory.mktemp("runs of sql")
    rng = np.random.default_rng(5)
    plain, _ = text(rng, queries=20, depth=(1, 40), decimals=1)
    tabs, pairs = text(rng, queries=20, depth=(1, 40), decimals=0, sep="\t")
    marco = "".join(f"q{query} {doc} {n % 7}\n" for n, (query, doc) in enumerate(pairs))
    (folder / "a run").write_text("# note\n\n" + plain.replace(" t\n", " tag a\n"))
    (folder / "b.gz").write_bytes(gzip.compress(tabs.replace("\tt\n", "\ttag b\r\n").encode()))
    (folder / "c.tsv").write_text(marco)
    chosen = [pairs[n] for n in rng.choice(len(pairs), 60, replace=False).tolist()]
    lines = "".join(f"q{query} 0 {doc} {n % 3}\n" for n, (query, doc) in enumerate(chosen))
    (folder / "qrels").write_text(lines + "q999 0 1 1\n")
    return [str(folder / name) for name in ("a run", "b.gz", "c.tsv")], read_qrels(folder / "qrels")


def as_rows(heads):
    """Return what heads hold, in their order."""
    columns = (heads.run, heads.query, heads.doc, heads.position)
    return [
        (heads.runs[r], heads.queries[q], heads.docs[d], int(p)) for r, q, d, p in zip(*columns, strict=True)
    ]


def same(ours, theirs):
    """Return whether two lists of judged ranks agree in everything."""
    columns = ("query", "judged", "position", "best", "worst", "grade", "retrieved")
    return [one.run for one in ours] == [one.run for one in theirs] and all(
        np.array_equal(getattr(one, column), getattr(other, column))
        for one, other in zip(ours, theirs, strict=True)
        for column in columns
    )


@pytest.mark.parametrize("order", ["score", "score-f32", "rank"])
def test_top_and_judged(engine, runs, order):
    paths, qrels = runs
    asked = runs_of(engine, paths, order=order)
    for k in (1, 5):
        heads = asked.top(k)
        assert as_rows(heads) == as_rows(files.RunFiles(paths, Reading(order=order)).top(k))
        assert heads.runs == ("tag a", "tag b", "c")
    few = ["q3", "q7", "absent"]
    assert as_rows(asked.top(2, few)) == as_rows(files.RunFiles(paths, Reading(order=order)).top(2, few))
    assert same(asked.judged(qrels), files.RunFiles(paths, Reading(order=order)).judged(qrels))


ODD = """
    0.0 -0.0 0 inf -inf 1e400 1e-400 5e-324 -5e-324 0.1 0.1000000000000000055 9007199254740993
    9007199254740992 +1 1. .5 16777217 16777216 1e39 2e39 -2e39 3.4028235677973366e38 3.4028235677973362e38
    3.4028234663852886e38 1.4e-45 7e-46 8e-46
"""


@pytest.mark.parametrize("order", ["score", "score-f32"])
def test_odd_scores(engine, tmp_path, order):
    """Zeros of both signs, infinities, and numbers that round to others are tied or not as in files."""
    scores = ODD.split()
    docs = [f"d{n * 7 % len(scores)}" for n in range(len(scores))]
    lines = (
        f"q Q0 {doc} {n} {score} t\n" for n, (doc, score) in enumerate(zip(docs, scores, strict=True), 1)
    )
    (tmp_path / "run").write_text("".join(lines))
    (tmp_path / "qrels").write_text("".join(f"q 0 {doc} 1\n" for doc in docs))
    qrels, asked = read_qrels(tmp_path / "qrels"), runs_of(engine, tmp_path / "run", order=order)
    assert as_rows(asked.top(99)) == as_rows(files.RunFiles([tmp_path / "run"], Reading(order=order)).top(99))
    assert same(asked.judged(qrels), files.RunFiles([tmp_path / "run"], Reading(order=order)).judged(qrels))


@settings(quick, max_examples=60)
@given(data=run_files(), shuffled=st.randoms(use_true_random=False), order=st.sampled_from(["score", "rank"]))
def test_lines_in_any_order(tmp_path_factory, here, data, shuffled, order):
    """Wherever the lines of a query stand, and however the file is cut into chunks, each counts once."""
    folder = tmp_path_factory.mktemp("shuffled")
    lines = data.decode("utf-8", "replace").encode().split(b"\n")
    shuffled.shuffle(lines)
    run = folder / "run"
    run.write_bytes(b"\n".join(line for line in lines if line.strip()) + b"\n")
    judged = [
        (row[0], row[1] if len(row) == 3 else row[2])
        for row in map(bytes.split, lines)
        if row and not row[0].startswith(b"#")
    ]
    assume(len({*judged}) == len(judged))  # two ids that are not UTF-8 may have become one
    (folder / "qrels").write_bytes(b"".join(b"%s 0 %s 1\n" % pair for pair in judged[::2]))
    qrels = read_qrels(folder / "qrels")
    with patch("prefjudge.reading.runs.heads.read_chunks", partial(read_chunks, size=64)):
        asked = runs_of(here, run, order=order)
        assert as_rows(asked.top(3)) == as_rows(files.RunFiles([run], Reading(order=order)).top(3))
        assert same(asked.judged(qrels), files.RunFiles([run], Reading(order=order)).judged(qrels))


def test_what_readers_notice_is_said(engine, tmp_path):
    """Notices of every run are kept, whatever engine reads it."""
    for name in ("a", "b"):
        (tmp_path / name).write_text("q1 Q0 a 1 2 t\nq2 Q0 b 1 2 t\nq1 Q0 c 2 1 t\n")
    notices = []
    runs_of(engine, [tmp_path / "a", tmp_path / "b"], notices=notices).top(1)
    said = [str(notice) for notice in notices]
    assert said.count("one tag: 't' is that of a, b: they are named by their files") == 1
    assert sum("are not contiguous" in text for text in said) == 2


def test_a_run_that_found_nothing_scores_0_whatever_its_ids_look_like(here, tmp_path):
    """Those of CORD-19 have no common shape; but a number is no document of a collection without numbers."""
    (tmp_path / "run").write_text("q1 Q0 ug7v899j 1 2 t\nq1 Q0 02tnwd4m 2 1 t\n")
    (tmp_path / "qrels").write_text("q1 0 xqhn0vbp 1\n")
    save_table(here, table_of([str(tmp_path / "run")]), str(tmp_path / "run.parquet"))
    for name in ("run", "run.parquet"):
        found = score(qrels=[str(tmp_path / "qrels")], runs=[tmp_path / name])
        assert found.leaderboards[0].rows[0].score == 0
        notice, few = found.notices
        assert "something on fewer than 15 queries" in few
        assert "no judged document of qrels is in this run: its doc_ids look like" in notice
        (tmp_path / "numbers").write_text("q1 0 17 1\n")
        with pytest.raises(InputError, match="no judged document of numbers is in this run"):
            score(qrels=[str(tmp_path / "numbers")], runs=[tmp_path / name])


@pytest.mark.parametrize(
    "line",
    [
        b"q1 Q0 d9 3 x t",
        b"q1 Q0 d9 3 nan t",
        b"q1 Q0 d1 3 7 t",
        b"q1 d9",
        b"q1 Q0 d9 3 7",
        b"q1 Q0 d 9 3 7 t",
    ],
)
def test_bad_lines(engine, tmp_path, line):
    (tmp_path / "run").write_bytes(b"q1 Q0 d1 1 9 t\nq1 Q0 d2 2 8 t\n" + line + b"\n")
    with pytest.raises(InputError, match=r"run:3:\d") as said:
        runs_of(engine, tmp_path / "run").top(1)
    with pytest.raises(InputError) as theirs:
        files.RunFiles([tmp_path / "run"]).top(1)
    assert str(said.value) == str(theirs.value)


def test_parts_of_a_file_are_read_side_by_side(spark, tmp_path, monkeypatch):
    """A large file is shared out at the borders of queries; a mistake in the middle has its line."""
    monkeypatch.setattr("prefjudge.reading.runs.heads.parts_of", partial(parts_of, size=4000))
    plain, pairs = text(np.random.default_rng(6), queries=60, depth=(5, 40), decimals=1)
    (tmp_path / "run").write_text(plain)
    (tmp_path / "qrels").write_text("".join(f"q{query} 0 {doc} 1\n" for query, doc in pairs[::5]))
    path, qrels = tmp_path / "run", read_qrels(tmp_path / "qrels")
    assert len(units_of([str(path)], None)) > 3
    assert as_rows(runs_of(spark, path).top(3)) == as_rows(files.RunFiles([path]).top(3))
    assert same(runs_of(spark, path).judged(qrels), files.RunFiles([path]).judged(qrels))
    lines = plain.splitlines(keepends=True)
    (tmp_path / "bad").write_text("".join([*lines[:700], "q999 Q0 d 1 x t\n", *lines[700:]]))
    with pytest.raises(InputError, match=r"bad:701:\d+: the score is not a number"):
        runs_of(spark, tmp_path / "bad").top(1)


def test_addresses_are_read_through_spark(spark, runs, tmp_path):
    """A folder's address stands for its files, and their problems have their lines."""
    for path in runs[0]:
        shutil.copy(path, tmp_path)
    paths = sorted(map(str, tmp_path.iterdir()))
    address = f"file://{tmp_path}"
    asked = runs_of(spark, address)
    assert as_rows(asked.top(3)) == as_rows(files.RunFiles(paths).top(3))
    assert [Path(source).name for source in asked.sources] == ["a run", "b.gz", "c.tsv"]
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"# note\nq1 Q0 d1 1 9 t\nq1 Q0 d2 2 x t\n"))
    with pytest.raises(InputError, match=r"file:/.*/b\.gz:3:12: the score is not a number"):
        asked.top(1)
    (tmp_path / "c.tsv").write_text("")
    with pytest.raises(InputError, match=r"c\.tsv is empty"):
        runs_of(spark, f"{address}/c*").top(1)
    with pytest.raises(InputError, match=r"Spark cannot read file://.*absent"):
        runs_of(spark, f"{address}/absent")
    with pytest.raises(
        InputError, match=r'Spark cannot write s3://b/c: No FileSystem for scheme "s3"\n.*s3a://'
    ):
        spark.save(one(1), "s3://b/c")


def test_columns_that_moved_are_refused_by_every_engine(engine, tmp_path):
    path = tmp_path / "run"
    for lines in ("q1 Q0 d A 1 9 t\nq1 Q0 d B 2 8 t\n", "q1 Q0 d 1 1 9.5\nq1 Q0 e 2 2 8.5\n"):
        path.write_text(lines)
        with pytest.raises(InputError, match=r"those of the first line|not the tag"):
            runs_of(engine, path).top(1)


def test_what_a_run_was_taken_for_is_the_same_on_every_engine(engine, runs, tmp_path):
    cr = tmp_path / "cr"
    cr.write_bytes(b"q1 Q0 d1 1 9 t\rq1 Q0 d2 2 8 t\rq2 Q0 d1 1 7 t\r")
    paths = [*runs[0], str(cr)]
    forms = {}
    files.RunFiles(paths, forms=forms).top(1)
    assert str(forms[str(cr)]) == "TREC, 6 columns, 3 lines, 2 queries"
    assert str(forms[paths[0]]).startswith("TREC, 7 columns, ")
    asked = runs_of(engine, paths)
    assert as_rows(asked.top(2)) == as_rows(files.RunFiles(paths).top(2))
    assert asked.forms == forms


def test_an_empty_run_is_named(engine, runs, tmp_path):
    (tmp_path / "nothing").write_text("\n")
    with pytest.raises(InputError, match=r"nothing.*is empty"):
        runs_of(engine, [runs[0][0], tmp_path / "nothing"]).top(1)


def test_a_run_that_is_not_there(engine, tmp_path):
    with pytest.raises(InputError, match="absent: there is no such file"):
        runs_of(engine, tmp_path / "absent").top(1)
    with pytest.raises(InputError, match=r"absent\.parquet"):
        runs_of(engine, tmp_path / "absent.parquet")


@pytest.mark.parametrize("name", ["files", "spark"])
def test_without_arrow_it_is_said_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match="pyarrow is not installed") as refused:
        tables_of(name)
    assert "prefjudge[parquet]" in refused.value.hint


def test_what_tables_cannot_do(here, runs, tmp_path):
    with pytest.raises(InputError, match="no order of their own"):
        runs_of(here, tmp_path / "x.parquet", order="file")
    assert as_rows(runs_of(here, runs[0], order="file").top(1)) == as_rows(
        files.RunFiles(runs[0], Reading(order=Order.FILE)).top(1)
    )
    with pytest.raises(InputError, match="the depth is 0"):
        runs_of(here, runs[0]).top(0)


COLUMN_KINDS = {"rank": "integer", "score": "number"}


def table_of(paths, **changed):
    """Return run files as the table of runs that they are in Parquet, with some of its columns changed."""
    rows = []
    for path in paths:
        for chunk in read_chunks(path, order=Order.RANK):
            queries = [chunk.queries[group].decode() for group in chunk.group.tolist()]
            docs = chunk.docs.to_lines().decode().split()
            for query, doc, rank, number in zip(queries, docs, chunk.rank, chunk.score, strict=True):
                row = (path, chunk.tag.decode() or None, query, doc, int(rank), float(number))
                rows.append({**dict(zip(COLUMNS, row, strict=True)), **changed})
    return Table(
        title="runs",
        columns=tuple(Column(name=name, kind=COLUMN_KINDS.get(name, "text")) for name in COLUMNS),
        rows=tuple(tuple(row.values()) for row in rows),
    )


def test_runs_in_parquet(engine, runs, tmp_path):
    """What was loaded from files and kept as Parquet gives the same, alone and beside a file."""
    paths, qrels = runs
    save_table(engine, table_of(paths[1:]), str(tmp_path / "two.parquet"))
    kept = runs_of(engine, [paths[0], str(tmp_path / "two.parquet")])
    assert as_rows(kept.top(3)) == as_rows(files.RunFiles(paths).top(3))
    assert same(kept.judged(qrels), files.RunFiles(paths).judged(qrels))
    alone = runs_of(engine, tmp_path / "two.parquet", order="rank")
    assert as_rows(alone.top(3)) == as_rows(files.RunFiles(paths[1:], Reading(order=Order.RANK)).top(3))


def test_queries_of_parquet_come_as_its_files_list_them(engine, tmp_path):
    """Neither by id nor as they were sorted; of several files first those of the first."""
    folder = tmp_path / "a%20 +b.parquet"
    folder.mkdir()
    rows_in_parquet(folder / "b b", query=["q9", "q1", "q9", "q5"])
    rows_in_parquet(folder / "z+", query=["q7", "q9", "q7", "q0"], doc=["e", "f", "g", "h"])
    rows_in_parquet(folder / "ü%", query=["q5", "q5", "q3", "q5"], doc=["i", "j", "k", "l"])
    heads = runs_of(engine, folder).top(1)
    assert [row[1] for row in as_rows(heads)] == ["q9", "q1", "q5", "q7", "q0", "q3"]
    few = runs_of(engine, folder).top(9, ["q0", "q9", "absent"])
    assert [row[1:3] for row in as_rows(few)] == [("q9", "a"), ("q9", "f"), ("q9", "c"), ("q0", "h")]


def test_runs_come_in_the_order_of_their_files(engine, runs, tmp_path):
    """Parquet before a file, and two of which the second has the name that sorts first."""
    paths, _ = runs
    for name, path in (("z", paths[0]), ("a", paths[1])):
        save_table(engine, table_of([path], path=name), str(tmp_path / f"of-{name}.parquet"))
    z, a = str(tmp_path / "of-z.parquet"), str(tmp_path / "of-a.parquet")
    found = runs_of(engine, [z, paths[2], a])
    assert (found.paths, found.sources) == (["z", paths[2], "a"], (z, paths[2], a))
    assert found.top(1).runs == ("tag a", "c", "tag b")
    shutil.copytree(z, tmp_path / "twin.parquet") if Path(z).is_dir() else shutil.copy(
        z, tmp_path / "twin.parquet"
    )
    with pytest.raises(InputError, match=r"both hold a run 'z'"):
        runs_of(engine, [z, tmp_path / "twin.parquet"])


def test_the_first_run_compared_is_the_baseline(engine, tmp_path):
    """Whatever the runs in Parquet call themselves; and a table of two is not one run."""
    good, bad = (tmp_path / f"{name}.parquet" for name in ("good", "bad"))
    both = tmp_path / "both.parquet"
    columns = tuple(
        Column(name=name, kind={"rank": "integer", "score": "number"}.get(name, "text")) for name in COLUMNS
    )
    rows = {
        good: [("z.txt", "good", f"q{n}", doc, p, -p) for n in range(5) for p, doc in enumerate("ab")],
        bad: [("a.txt", "bad", f"q{n}", doc, p, -p) for n in range(5) for p, doc in enumerate("ba")],
    }
    rows[both] = [(f"{row[1]} too", *row[1:]) for row in (*rows[good], *rows[bad])]
    for path, lines in rows.items():
        save_table(engine, Table(title="", columns=columns, rows=tuple(lines)), str(path))
    (tmp_path / "qrels").write_text("".join(f"q{n} 0 a 1\n" for n in range(5)))
    asked = {"qrels": [str(tmp_path / "qrels")], "engine": name_of(engine)}
    for a, b, names in ((good, bad, ["good", "bad"]), (bad, good, ["bad", "good"])):
        tested = compare(a, b, **asked).comparisons[0].significance
        assert [tested.runs[tested.a[0]], tested.runs[tested.b[0]]] == names
        assert tested.difference[0] == (0.5 if names[1] == "good" else -0.5)
    with pytest.raises(InputError, match=r"both\.parquet holds 2 runs"):
        compare(good, both, **asked)


def rows_in_parquet(path, /, **changed):
    """Write two queries of a run as Parquet, and change some of its columns; None leaves one out."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra parquet)")
    import pyarrow.parquet as pq

    columns = {"path": ["r"] * 4, "tag": ["t"] * 4, "query": ["q1", "q2"] * 2, "doc": ["a", "b", "c", "d"]}
    columns |= {"rank": [1, 1, 2, 2], "score": [4.0, 3.0, 2.0, 1.0]} | changed
    pq.write_table(pa.table({name: cells for name, cells in columns.items() if cells is not None}), path)
    return path


ROWS_OF_NO_RUN = {
    "query": ["q1", "q1", "q1", "q1", "q1", "q1", "q2", "q2", "q3"],
    "doc": ["a", "b b", "c\nc", "", None, "f", "g", "g", "h"],
    "score": ["1", "2", "3", "4", "5", "x", "7", "8", None],
}
SAID_OF_THEM = r"""x\.parquet holds rows that no run has:
r: query 'q1', document '', score '4'
r: query 'q1', document 'b b', score '2'
r: query 'q1', document 'c\\nc', score '3'
r: query 'q1', document 'f', score 'x'
r: query 'q1', document None, score '5'
r: query 'q2': document 'g' is repeated
r: query 'q3', document 'h', score None
Each row needs"""


def test_parquet_is_checked(engine, tmp_path):
    """Rows as lines: the same words from every engine, which name each row."""
    rows = {"path": ["r"] * 9, "tag": ["t"] * 9, "rank": [1] * 9} | ROWS_OF_NO_RUN
    asked = runs_of(engine, rows_in_parquet(tmp_path / "x.parquet", **rows))
    with pytest.raises(InputError, match=SAID_OF_THEM):
        asked.top(1)
    for order, changed, words in (
        ("rank", {"rank": [1.5, 1.0, 2.0, 2.0]}, r"r: query 'q1', document 'a', rank 1\.5\nEach"),
        ("score", {"score": [4.0, float("nan"), 2.0, 1.0]}, r"r: query 'q2', document 'b', score nan\nEach"),
        ("score", {"query": [1.5, 2.5, 1.5, 2.5]}, r"column query holds double, not ids"),
        ("score", {"score": None}, r"no column score.*\n.*path, tag, query, doc, rank, score"),
        ("score", {"path": ["r", "r", "r", None]}, r"rows without a path"),
    ):
        with pytest.raises(InputError, match=words):
            runs_of(engine, rows_in_parquet(tmp_path / "y.parquet", **changed), order=order).top(1)


def test_columns_of_other_types_are_read(engine, tmp_path):
    """Numbers as text, ids as numbers, names in capitals, no tags: the values are those of a file."""
    path = rows_in_parquet(tmp_path / "x.parquet", score=["4", "3", "5e0", "1"], query=[1, 2, 1, 2])
    assert as_rows(runs_of(engine, path).top(1)) == [("t", "1", "c", 1), ("t", "2", "b", 1)]
    path = rows_in_parquet(
        tmp_path / "y.parquet", doc=[b"a", b"b", b"\xff", b"d"], SCORE=[1, 2, 3, 4], score=None
    )
    assert as_rows(runs_of(engine, path).top(1)) == [("t", "q1", "\udcff", 1), ("t", "q2", "d", 1)]
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra parquet)")
    views = {"query": pa.array(["q1", "q2"] * 2, "string_view"), "path": pa.array(["r"] * 4, "large_string")}
    coded = {"doc": pa.array(["a", "b", "c", "d"]).dictionary_encode()}
    path = rows_in_parquet(tmp_path / "z.parquet", **views, **coded)
    assert as_rows(runs_of(engine, path).top(1)) == [("t", "q1", "a", 1), ("t", "q2", "b", 1)]


def test_columns_in_the_names_of_folders_are_read(engine, tmp_path):
    """As partitioned tables have them: texts, also where they look like numbers; but not of those above."""
    folder = tmp_path / "x.parquet"
    for name, query in (("r", "007"), ("2021", "007"), ("r", "q1")):
        (folder / f"path={name}" / f"query={query}").mkdir(parents=True)
        rows = {"path": None, "query": None, "tag": [name] * 4}
        rows_in_parquet(folder / f"path={name}" / f"query={query}" / "a.parquet", **rows)
    found = as_rows(runs_of(engine, folder).top(1))
    assert found == [("2021", "007", "a", 1), ("r", "007", "a", 1), ("r", "q1", "a", 1)]
    (tmp_path / "query=q9").mkdir()
    alone = rows_in_parquet(tmp_path / "query=q9" / "y.parquet")
    assert as_rows(runs_of(engine, alone).top(1)) == [("t", "q1", "a", 1), ("t", "q2", "b", 1)]


def test_a_name_of_parquet_is_no_pattern(engine, tmp_path):
    names = ["a b", "s*r", "br[1]", "{a,b}", "what?", "pct%20", "it's", "stir"]
    paths = [rows_in_parquet(tmp_path / f"{name}.parquet", path=[name] * 4) for name in names]
    assert runs_of(engine, paths).paths == names


def test_a_folder_of_parquet_is_read_whole_or_not_at_all(engine, tmp_path):
    """Also what stands deeper, or has no suffix; but neither marks nor a part of another type."""
    folder = tmp_path / "x.parquet"
    (folder / "of=1").mkdir(parents=True)
    with pytest.raises(InputError, match=r"x\.parquet is a folder without Parquet"):
        runs_of(engine, folder)
    rows_in_parquet(folder / "000000_0")
    (folder / "_SUCCESS").write_text("")
    assert as_rows(runs_of(engine, folder).top(1)) == [("t", "q1", "a", 1), ("t", "q2", "b", 1)]
    rows_in_parquet(folder / "of=1" / "b.parquet", path=["s"] * 4, tag=["u"] * 4)
    (folder / "000000_0").rename(folder / "of=1" / "a.parquet")
    assert runs_of(engine, folder).top(1).runs == ("t", "u")
    whole = (folder / "of=1" / "a.parquet").read_bytes()
    rows_in_parquet(folder / "of=1" / "a.parquet", score=["1"] * 4)
    with pytest.raises(InputError, match=r"column score holds string in a\.parquet and double in b\.parquet"):
        runs_of(engine, folder)
    for damaged in (whole[:-5], whole[:50], b"", b"<html></html>"):
        (folder / "of=1" / "a.parquet").write_bytes(damaged)
        with pytest.raises(InputError, match=r"a\.parquet cannot be read as Parquet: .*\nIt may be cut off"):
            runs_of(engine, folder)


def test_what_is_written_is_read_again(engine, tmp_path):
    columns = (Column(name="t"), Column(name="i", kind="integer"), Column(name="n", kind="number"))
    rows = (("a b", 1, 0.1), ("ü", None, 1.0), ("", -7, None))
    table = Table(title="x", columns=(*columns, Column(name="f", kind="flag")), rows=())
    table = Table(title="x", columns=table.columns, rows=tuple((*row, row[0] == "ü") for row in rows))
    for _ in range(2):  # the second takes the place of the first
        save_table(engine, table, str(tmp_path / "x.parquet"))
    assert parquet_rows(tmp_path / "x.parquet") == list(table.rows)
    kinds = [str(kind) for kind in engine.schema(str(tmp_path / "x.parquet")).types]
    assert kinds == ["string", "int64", "double", "bool"]


def test_without_java(monkeypatch):
    pytest.importorskip("pyspark", reason="Apache Spark is not installed (extra spark)")
    from pyspark.sql import SparkSession

    from prefjudge.reading.runs.cluster import SparkTables

    def refuse(self):
        raise RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited.\nand more")

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", refuse)
    with pytest.raises(ConfigError, match=r"does not start: \[JAVA_GATEWAY_EXITED\].*\nInstall Java 17"):
        SparkTables()


DEMO = Path(__file__).parents[2] / "prefjudge" / "demo"


def test_pool_and_score_are_the_same_on_every_engine(engine, tmp_path):
    """The verbs, on a folder of run files: the same pool and the same scores, to the last digit."""
    name = name_of(engine)
    for kind in ("files", name):
        asked = {"runs": [DEMO / "runs"], "engine": kind}
        pool(**asked, qrels=DEMO / "qrels.txt", depth=3, out=tmp_path / f"{kind}.tsv")
        score(
            **asked,
            qrels=[f"labels={DEMO / 'qrels.txt'}"],
            measure=["RR@10", "nDCG@10", "AP", "P@5", "R@10", "Bpref", "ERR@10"],
            per_query=True,
            out=tmp_path / f"{kind}.csv",
        )
    for ending in ("tsv", "csv", "per-query.csv"):
        assert (tmp_path / f"{name}.{ending}").read_text() == (tmp_path / f"files.{ending}").read_text()


@pytest.mark.parametrize("order", ["score", "score-f32", "rank"])
def test_real_runs_give_the_same_files_on_every_engine(engine, data_dir, tmp_path, order):
    """Pools and scores of NIST's runs, byte by byte, queries in the order of the runs."""
    folder = data_dir / "dl21"
    runs = sorted((folder / "runs").iterdir())[::9]
    name = name_of(engine)
    for kind in ("files", name):
        asked = {"runs": runs, "order": order, "engine": kind}
        pool(**asked, qrels=folder / "qrels-nist.txt", depth=5, out=tmp_path / f"{kind}.tsv")
        labels = [f"nist={folder / 'qrels-nist.txt'}"]
        score(**asked, qrels=labels, measure=["nDCG@10", "AP"], per_query=True, out=tmp_path / f"{kind}.csv")
    for ending in ("tsv", "csv", "per-query.csv"):
        ours, theirs = ((tmp_path / f"{kind}.{ending}").read_bytes() for kind in (name, "files"))
        assert ours == theirs


def test_pool_and_score_write_parquet(engine, tmp_path):
    """The tables as Parquet hold what they hold as text, and the pool's runs may come from Parquet."""
    name = name_of(engine)
    save_table(engine, table_of(sorted(map(str, (DEMO / "runs").iterdir()))), str(tmp_path / "runs.parquet"))
    asked = {"runs": [tmp_path / "runs.parquet"], "engine": name}
    pool(**asked, qrels=DEMO / "qrels.txt", out=tmp_path / "pool.parquet")
    pool(runs=[DEMO / "runs"], qrels=DEMO / "qrels.txt", out=tmp_path / "pool.tsv")
    found = score(**asked, qrels=[str(DEMO / "qrels.txt")], per_query=True, out=tmp_path / "board.parquet")
    assert found.provenance["runs"] == str(len(found.leaderboards[0].rows))

    def rows(table):
        return parquet_rows(tmp_path / f"{table}.parquet")

    lines = (tmp_path / "pool.tsv").read_text().splitlines()[1:]
    assert sorted(rows("pool")) == sorted(tuple(line.split("\t")) for line in lines)
    assert {(row[3], row[4]) for row in rows("board")} == {
        (row.run, row.score) for row in found.leaderboards[0].rows
    }
    assert len(rows("board.per-query")) == found.boards[0].scores.values.size
    assert (tmp_path / "board.provenance.json").is_file()


def parquet_rows(path):
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed (extra parquet)")
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    return [tuple(row.values()) for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def name_of(engine):
    return "files" if isinstance(engine, Tables) else "spark"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"qrels": DEMO / "qrels.txt", "depth": 3},
        {"qrels": DEMO / "qrels.txt", "queries": "few", "qrels_per_query": "all"},
    ],
)
def test_a_pool_that_stays_is_the_one_that_comes_home(spark, tmp_path, monkeypatch, options):
    """The engine writes what the files give, and no top of a run comes home."""
    if "queries" in options:
        lines = (DEMO / "queries.tsv").read_text().splitlines(keepends=True)
        (tmp_path / "few").write_text("".join(lines[:5]) + "absent\tquery\n")
        options = {**options, "queries": tmp_path / "few"}
    home = pool(runs=[DEMO / "runs"], **options, out=tmp_path / "home.tsv")
    monkeypatch.delattr(Reader, "top")
    away = pool(runs=[DEMO / "runs"], **options, engine="spark", out=tmp_path / "a 'way.parquet")
    assert replace(away, out=home.out) == home
    lines = (tmp_path / "home.tsv").read_text().splitlines()[1:]
    assert sorted(parquet_rows(tmp_path / "a 'way.parquet")) == sorted(tuple(x.split("\t")) for x in lines)


def test_no_pool_is_written_of_queries_that_no_run_has(engine, tmp_path):
    (tmp_path / "other").write_text("absent\tquery\n")
    asked = {"queries": tmp_path / "other", "out": tmp_path / "pool.parquet", "engine": name_of(engine)}
    with pytest.raises(InputError, match="other: no query of this file is in the runs"):
        pool(runs=[DEMO / "runs"], **asked)
    assert not (tmp_path / "pool.parquet").exists()


def test_bad_rows_leave_no_pool(spark, tmp_path):
    bad = rows_in_parquet(tmp_path / "x.parquet", doc=["a", "b b", "c", "d"])
    with pytest.raises(InputError, match="holds rows that no run has"):
        save_pool(runs_of(spark, bad), str(tmp_path / "out.parquet"))
    assert not (tmp_path / "out.parquet").exists()


def test_a_qrel_that_sql_cannot_name_is_not_left_out(spark, tmp_path):
    (tmp_path / "run").write_text("q Q0 d 1 1 t\n")
    (tmp_path / "qrels").write_bytes(b"q 0 d\xff 1\nq\xff 0 d 1\n")
    with pytest.raises(InputError, match="not UTF-8"):
        save_pool(runs_of(spark, tmp_path / "run"), str(tmp_path / "x"), qrels=read_qrels(tmp_path / "qrels"))


def one(number):
    import pyarrow as pa

    return pa.table({"one": [number]})


def test_a_place_that_cannot_be_written(engine, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot (be )?write?"):
        engine.save(one(1), str(tmp_path / "file" / "x.parquet"))


def test_what_is_not_shown_of_an_address_goes_with_the_work(engine, tmp_path):
    """To whoever reads it: the processes of an engine know nothing of this one."""
    pytest.importorskip("aiohttp", reason="reads objects (extra remote)")
    with Serving(partial(Files, directory=DEMO / "runs")) as server:
        address = without_secrets(f"{server.origin}/lexical.txt?sig=s3cret")
        asked = runs_of(engine, address)
        if name_of(engine) == "spark":
            save_pool(asked, str(tmp_path / "pool.parquet"), depth=2)
        heads = asked.top(2)
    home = files.RunFiles([DEMO / "runs" / "lexical.txt"]).top(2)
    assert as_rows(heads) == as_rows(home)
    if name_of(engine) == "spark":
        assert sorted(parquet_rows(tmp_path / "pool.parquet")) == sorted(
            (query, doc, run) for run, query, doc, _ in as_rows(home)
        )


def test_a_table_that_cannot_be_written_leaves_the_old_one(engine, tmp_path):
    """Nor anything beside it; and one that can takes its place, be it a file or a folder."""
    path, other = tmp_path / "a b.parquet", rows_in_parquet(tmp_path / "rows.parquet")
    for number in (1, 2):
        engine.save(one(number), str(path))
    with pytest.raises(InputError, match="half way"):
        engine.grouped(str(other), ("query",), ("query",), half_way, out=str(path), columns={"one": "int32"})
    assert parquet_rows(path) == [(2,)]
    assert sorted(tmp_path.iterdir()) == [path, other]


def half_way(batches):
    import pyarrow as pa

    for _ in batches:
        yield None, pa.record_batch({"one": pa.array([3], pa.int32())})
        raise InputError("half way")


JUDGMENTS = """
q1 a b a
q1 b a a
q1 a c c
q1 b c c
q2 x y tie
q2 x z x
q2 y z y
q3 m n n
q4 a b a
q4 b c b
q4 a c c
"""


def judgments_in_parquet(folder, lines, columns=("query", "doc_1", "doc_2", "preferred")):
    """Write judgments as a folder of two Parquet files, the lines of a query in both."""
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed (extra parquet)")
    import pyarrow as pa

    folder.mkdir()
    rows = [line.split() for line in lines.strip().splitlines()]
    for part in (0, 1):
        values = zip(*rows[part::2], strict=True)
        pq.write_table(
            pa.table(dict(zip(columns, map(list, values), strict=True))), folder / f"{part}.parquet"
        )
    return folder


@pytest.mark.parametrize("block", [1, 1 << 18])
def test_judgments_in_parquet_are_resolved_as_those_of_a_file(engine, tmp_path, monkeypatch, block):
    """Whole queries at a time, wherever their rows are: the same counts and winners by every rule asked."""
    monkeypatch.setattr("prefjudge.steps.resolve.BLOCK", block)
    (tmp_path / "log").write_text(JUDGMENTS.lstrip())
    folder = judgments_in_parquet(tmp_path / "log.parquet", JUDGMENTS)
    asked = {"rule": ["most-wins", "schulze"], "ties": "half"}
    out = tmp_path / "out.parquet"
    ours = resolve(judgments=folder, engine=name_of(engine), out=out, **asked)
    theirs = resolve(judgments=tmp_path / "log", out=tmp_path / "out", confidence=False, **asked)
    assert {rule: sum(counts.values()) for rule, counts in ours.rules.items()} == dict.fromkeys(
        asked["rule"], 4
    )
    for rule, counts in theirs.rules.items():
        assert {status: n for status, n in ours.rules[rule].items() if n} == {
            k: n for k, n in counts.items() if n
        }
    assert (ours.queries, ours.judgments, ours.qrels) == (theirs.queries, theirs.judgments, theirs.qrels)
    lines = [line.split() for line in (tmp_path / "out").read_text().splitlines()]
    assert sorted(parquet_rows(out)) == sorted((query, doc, float(grade)) for query, _, doc, grade in lines)


def test_judgments_that_cannot_be_resolved_leave_nothing(engine, tmp_path):
    asked = {"engine": name_of(engine), "out": tmp_path / "out.parquet"}
    odd = judgments_in_parquet(tmp_path / "odd.parquet", JUDGMENTS + "q5 a b c\nq6 a a a\n")
    with pytest.raises(
        InputError, match=r"not a readable judgments file:\n(.|\n)*q5 a b c(.|\n)*preferred of the two"
    ):
        resolve(judgments=odd, **asked)
    columns = judgments_in_parquet(tmp_path / "cols.parquet", JUDGMENTS, ("query", "a", "b", "c"))
    with pytest.raises(InputError, match="doc_1"):
        resolve(judgments=columns, **asked)
    whole = (odd / "0.parquet").read_bytes()
    (odd / "0.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"odd\.parquet"):
        resolve(judgments=odd, **asked)
    for options, words in (
        ({"judgments": tmp_path / "absent.parquet"}, "absent"),
        ({"judgments": odd, "per_query": True, "sensitivity": True}, "--sensitivity, --per-query: not for"),
        ({"judgments": odd, "rule": ["noisy-bradley-terry"]}, "learns from all queries"),
        ({"judgments": tmp_path / "log", "engine": "spark"}, "a cluster resolves judgments in Parquet"),
        ({"judgments": odd, "out": tmp_path / "x.qrels"}, "written as Parquet"),
        ({"judgments": odd, "out": odd}, "would replace"),
    ):
        with pytest.raises(InputError, match=words):
            resolve(**(asked | options))
    assert not (tmp_path / "out.parquet").exists()
