"""The same SQL on DuckDB and on Spark gives what the embedded engine gives, to the last digit."""

import gzip
import shutil

import numpy as np
import pytest

from prefjudge.engines import choice, files, sql
from prefjudge.errors import InputError
from prefjudge.formats.qrels import read_qrels

from .test_trust import text

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")


@pytest.fixture(scope="module")
def duck():
    pytest.importorskip("duckdb", reason="DuckDB is not installed (extra sql)")
    from prefjudge.engines.duck import DuckEngine

    return DuckEngine()


@pytest.fixture(scope="module")
def spark():
    pytest.importorskip("pyspark", reason="Apache Spark is not installed (extra spark)")
    if shutil.which("java") is None:
        pytest.skip("Apache Spark needs Java, which is not installed")
    from pyspark.sql import SparkSession

    from prefjudge.engines.spark import SparkEngine

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    yield SparkEngine(session)
    session.stop()


@pytest.fixture(scope="module", params=["duck", "spark"])
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
    columns = (heads.run, heads.query, heads.doc, heads.position, heads.score)
    return {
        (heads.runs[r], heads.queries[q], heads.docs[d], int(p), float(s))
        for r, q, d, p, s in zip(*columns, strict=True)
    }


@pytest.mark.parametrize("order", ["score", "score-f32", "rank"])
def test_top(engine, runs, order):
    for k in (1, 5):
        heads = sql.top(engine, runs[0], k=k, order=order)
        assert as_rows(heads) == as_rows(files.top(runs[0], k=k, order=order))
        assert heads.runs == ("tag a", "tag b", "c")


@pytest.mark.parametrize("order", ["score", "score-f32", "rank"])
def test_judged(engine, runs, order):
    paths, qrels = runs
    for ours, theirs in zip(
        sql.judged(engine, paths, qrels, order=order), files.judged(paths, qrels, order=order), strict=True
    ):
        assert ours.run == theirs.run
        for column in ("query", "judged", "position", "best", "worst", "grade", "retrieved"):
            assert np.array_equal(getattr(ours, column), getattr(theirs, column)), column


def reference(ranks, qrels, measure, cutoff, rel):
    """Score one run by definition: {query: value}."""
    values = {}
    for code, query in enumerate(qrels.queries):
        hits = ranks.position[(ranks.query == code) & (ranks.grade >= rel) & (ranks.position <= cutoff)]
        relevant = int(((qrels.query == code) & (qrels.grade >= rel)).sum())
        values[query] = {
            "RR": 1 / int(hits.min()) if hits.size else 0.0,
            "Success": float(hits.size > 0),
            "P": hits.size / cutoff,
            "R": hits.size / relevant if relevant else 0.0,
        }[measure]
    return values


@pytest.mark.parametrize("measure", ["RR", "Success", "P", "R"])
@pytest.mark.parametrize("rel", [1, 2])
def test_scores(engine, runs, measure, rel):
    paths, qrels = runs
    engine.load_runs(paths, files.Order.SCORE)
    engine.load_qrels(qrels)
    got = {
        (path, query): value
        for path, query, value in engine.rows(sql.scores_text(measure, 7, rel, files.Order.SCORE))
    }
    want = {
        (path, query): value
        for path, ranks in zip(paths, files.judged(paths, qrels), strict=True)
        for query, value in reference(ranks, qrels, measure, 7, rel).items()
    }
    assert got == want
    assert all(isinstance(value, float) for value in got.values())


def test_real_runs(engine, data_dir):
    paths = sorted(map(str, (data_dir / "cacm" / "runs").iterdir()))[:2]
    paths.append(str(data_dir / "dl21" / "runs" / "watprp.txt.gz"))
    assert as_rows(sql.top(engine, paths, k=10)) == as_rows(files.top(paths, k=10))


@pytest.mark.parametrize(
    "line", ["q1 Q0 d9 3 x t", "q1 Q0 d9 3 nan t", "q1 Q0 d1 3 7 t", "q1 d9", "q1 Q0 d9 3 7"]
)
def test_bad_lines(engine, tmp_path, line):
    (tmp_path / "run").write_text(f"q1 Q0 d1 1 9 t\nq1 Q0 d2 2 8 t\n{line}\n")
    with pytest.raises(InputError):
        sql.top(engine, tmp_path / "run", k=1)


def test_the_same_functions_on_every_engine(duck, runs):
    paths, qrels = runs
    tops = [choice.top(paths, k=2, engine=name) for name in ("files", "duckdb")]
    assert as_rows(tops[0]) == as_rows(tops[1])
    ranks = [choice.judged(paths, qrels, engine=name) for name in ("files", "duckdb")]
    assert all(np.array_equal(a.position, b.position) for a, b in zip(*ranks, strict=True))
    with pytest.raises(InputError, match="--on-duplicate best is not for the engine duckdb"):
        choice.top(paths, k=1, engine="duckdb", on_duplicate="best")


def test_engines_by_name(duck):
    assert isinstance(choice.engine_named("duckdb"), type(duck))
    with pytest.raises(InputError, match="choose one of: files, duckdb, spark"):
        choice.engine_named("polars")


def test_what_sql_cannot_do(duck, runs):
    with pytest.raises(InputError, match="order of the file's lines"):
        sql.top(duck, runs[0], k=1, order="file")
    with pytest.raises(InputError, match="nDCG is not a measure"):
        sql.scores_text("nDCG", 10, 1, files.Order.SCORE)


def test_parquet_in_and_out(spark, runs, tmp_path):
    paths, qrels = runs
    spark.load_runs(paths, files.Order.SCORE)
    spark.session.table("runs").write.parquet(str(tmp_path / "runs.parquet"))
    spark.write_top([str(tmp_path / "runs.parquet")], str(tmp_path / "top"), k=2)
    rows = spark.session.read.parquet(str(tmp_path / "top")).collect()
    assert {(r.path, r.query, r.doc, r.position) for r in rows} == {
        (paths[place], *row[1:4]) for place, path in enumerate(paths) for row in as_rows(files.top(path, k=2))
    }
    spark.write_scores(paths, qrels, str(tmp_path / "scores"))
    rows = spark.session.read.parquet(str(tmp_path / "scores")).collect()
    assert len(rows) == len(paths) * len(qrels.queries)
