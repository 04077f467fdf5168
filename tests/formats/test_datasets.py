"""Datasets of ir_datasets and of the Hugging Face Hub: what is here is read, and nothing comes unasked."""

from pathlib import Path

import pytest

from prefjudge import check, pool, score
from prefjudge.errors import ConfigError, InputError
from prefjudge.reading import datasets
from prefjudge.reading import given as hub
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.texts.collections import read_texts
from prefjudge.reading.texts.records import Field, TextFields
from prefjudge.reading.texts.texts import read_queries
from prefjudge.study.pools import load_inputs
from prefjudge.study.store import open_study

DOCS = "1\none compact\nmemory\n   /\n2\ntwo\n   /\n3\nthree\n   /\n"
RUN = "1 Q0 2 1 9 t\n1 Q0 1 2 8 t\n2 Q0 3 1 9 t\n"


@pytest.fixture
def vaswani(tmp_path, monkeypatch):
    """Put a small Vaswani where ir_datasets keeps what it has downloaded, as it keeps it; return a run."""
    pytest.importorskip("ir_datasets")
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.delenv(datasets.ALLOWED, raising=False)
    import ir_datasets

    home = tmp_path / "home" / "vaswani"
    home.mkdir(parents=True)
    (home / "docs.txt").write_text(DOCS)
    (home / "queries.txt").write_text("1\nWHAT IS\nIT\n/\n2\nHOW\n/\n")
    (home / "qrels.txt").write_text("1\n1\n   /\n2\n3\n   /\n")
    registered = ir_datasets.load("vaswani")
    for handler, name in (("docs_dlc", "docs"), ("queries_dlc", "queries"), ("qrels_dlc", "qrels")):
        owner = next(one for one in registered._constituents if hasattr(one, handler))
        monkeypatch.setattr(getattr(owner, handler), "_path", home / f"{name}.txt")
    (tmp_path / "run").write_text(RUN)
    return tmp_path / "run"


def test_a_dataset_is_queries_collection_and_qrels(vaswani, tmp_path):
    given = {"runs": vaswani, "qrels": "irds:vaswani", "queries": Path("irds:vaswani")}
    board = score(**given, measure=["RR"]).leaderboards[0]
    assert (board.qrels, board.rows[0].score) == ("vaswani", 0.75)
    assert read_queries("irds:vaswani") == {"1": "WHAT IS\nIT", "2": "HOW"}
    assert read_texts("irds:vaswani", ["3", "1", "9"]) == {"3": "three", "1": "one compact\nmemory"}
    assert pool(**given, collection="irds:vaswani", out=tmp_path / "pool.tsv").documents == 3
    (tmp_path / "home" / "vaswani" / "docs.txt").unlink()  # the store was built: no scan
    assert read_texts("irds:vaswani", ["2"]) == {"2": "two"}
    assert check(vaswani, qrels="irds:vaswani", queries="irds:vaswani").ok
    assert [(one.kind, one.ok) for one in check("irds:vaswani").files] == [("qrels", True)]


def test_a_study_is_made_of_a_dataset(vaswani, tmp_path):
    import prefjudge

    study = prefjudge.init(tmp_path / "study")
    found = prefjudge.pool(
        tmp_path / "study",
        runs=vaswani,
        qrels="irds:vaswani",
        queries="irds:vaswani",
        collection="irds:vaswani",
    )
    assert (found.queries, found.changed) == (2, True), study
    opened = open_study(tmp_path / "study")
    with opened.transaction(write=False) as db:
        known = {one.kind: (one.path, one.digest) for one in load_inputs(db)}
    assert known["qrels"] == known["queries"] == ("irds:vaswani", datasets.version())
    assert known["collection"][0] == "irds:vaswani"
    suggested = prefjudge.gold(tmp_path / "study", suggest=1)
    assert "three" in Path(tmp_path / "study" / "gold.tsv").read_text(), suggested


def test_nothing_is_downloaded_unasked(vaswani, tmp_path, monkeypatch):
    from ir_datasets.util import download

    asked = []

    def fetch(self):
        asked.append(self.url)
        raise OSError("no network here")

    monkeypatch.setattr(download.RequestsDownload, "stream", fetch)
    with pytest.raises(InputError, match=r"2019qrels-pass.txt would be downloaded \(0.2 MB\)") as error:
        score(runs=vaswani, qrels="irds:msmarco-passage/trec-dl-2019")
    assert "--dataset download, or PREFJUDGE_DOWNLOAD=1" in error.value.hint
    assert not asked
    for allow in ({"dataset": "download"}, {}):
        if not allow:
            monkeypatch.setenv(datasets.ALLOWED, "1")
        with pytest.raises(InputError, match=r"cannot be read: .*no network here"):
            score(runs=vaswani, qrels="irds:msmarco-passage/trec-dl-2019", **allow)
    assert len(asked) == 4  # its own address and the mirror, twice
    monkeypatch.setenv(datasets.ALLOWED, "0")
    with pytest.raises(InputError, match="would be downloaded"):
        read_queries("irds:cranfield")


def test_names_that_are_wrong_are_explained(vaswani, monkeypatch):
    for name, said in (
        ("irds:vaswanni", "knows no dataset 'vaswanni'\nDid you mean one of these? irds:vaswani"),
        ("irds:beir/scifact", "irds:beir/scifact has no qrels\nParts of it have: irds:beir/scifact/test"),
    ):
        with pytest.raises(InputError) as error:
            score(runs=vaswani, qrels=name)
        assert said in str(error.value)
    with pytest.raises(InputError, match="irds:vaswani has no scored documents"):
        score(runs="irds:vaswani", qrels="irds:vaswani")
    with pytest.raises(InputError, match="1 has no desc: it has query_id, text"):
        read_queries("irds:vaswani", fields=TextFields(field=Field.DESC))
    with pytest.raises(InputError, match="3 has no body: it has doc_id, text"):
        read_texts("irds:vaswani", ["3"], fields=TextFields(text_field="body"))
    monkeypatch.setitem(__import__("sys").modules, "ir_datasets", None)
    with pytest.raises(ConfigError, match="irds:vaswani is a dataset of ir_datasets, which is not inst"):
        read_queries("irds:vaswani")


def test_scored_documents_are_a_run(vaswani, monkeypatch):
    import ir_datasets
    from ir_datasets.formats import BaseScoredDocs, GenericScoredDoc

    class Scored(BaseScoredDocs):
        def scoreddocs_iter(self):
            yield from (
                GenericScoredDoc("1", "1", 2.5),
                GenericScoredDoc("2", "3", 1.0),
                GenericScoredDoc("1", "2", 3),
            )

    monkeypatch.setitem(ir_datasets.registry._registered, "ours", ir_datasets.Dataset(Scored()))
    found = score(runs="irds:ours", qrels="irds:vaswani", measure=["RR"])
    assert found.leaderboards[0].rows[0].score == 0.75
    with pytest.raises(InputError, match="the rank is not a whole number"):
        score(runs="irds:ours", qrels="irds:vaswani", order="rank")


class Planned:
    def __init__(self, filename):
        self.filename, self.file_size, self.will_download = filename, 2_100_000, True


def test_the_hub_gives_files_of_its_cache_and_asks_for_others(tmp_path, monkeypatch):
    hf = pytest.importorskip("huggingface_hub")
    here = tmp_path / "datasets--mteb--x"
    files = here / "snapshots" / "abc"
    (files / "qrels").mkdir(parents=True)
    (here / "refs").mkdir()
    (here / "refs" / "main").write_text("abc")
    (files / "queries.jsonl").write_text('{"_id": "1", "text": "what"}\n')
    (files / "qrels" / "test.jsonl").write_text('{"query-id": "1", "corpus-id": "2", "score": 1}\n')
    monkeypatch.delenv(datasets.ALLOWED, raising=False)
    real, asked = hf.snapshot_download, []

    def snapshot(name, **how):
        if how.get("local_files_only"):
            return real(name, cache_dir=tmp_path, **how)
        asked.append(how.get("dry_run", False))
        if how.get("dry_run"):
            return [Planned("corpus.jsonl")]
        (files / "corpus.jsonl").write_text('{"_id": "2", "title": "T", "text": "two"}\n')
        return str(files)

    monkeypatch.setattr(hf, "snapshot_download", snapshot)
    (tmp_path / "run").write_text(RUN)
    given = {"runs": tmp_path / "run", "qrels": "hf:mteb/x", "queries": "hf:mteb/x"}
    assert score(**given, measure=["RR"]).leaderboards[0].rows[0].score == 1
    assert not asked
    out = tmp_path / "pool.tsv"
    with pytest.raises(InputError, match=r"corpus.jsonl would be downloaded .*\(2.1 MB\)") as error:
        pool(**given, collection="hf:mteb/x", out=out)
    assert "--dataset download" in error.value.hint
    assert asked == [True]
    assert not out.exists()
    (tmp_path / "run").write_text("1 Q0 2 1 9 t\n")
    assert pool(**given, collection="hf:mteb/x", out=out, dataset="download").documents == 1
    assert asked == [True, True, False]
    assert read_texts(hub.hub_file("hf:mteb/x", "collection"), ["2"]) == {"2": "T\ntwo"}
    with pytest.raises(InputError, match="not a name of the hub"):
        hub.hub_file("hf:a/b/c", "queries")


def parquet(path, rows, names=("query-id", "corpus-id", "score")):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra parquet)")
    import pyarrow.parquet as pq

    pq.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), path)
    return path


def test_qrels_in_parquet(tmp_path):
    parquet(tmp_path / "q.parquet", [("1", "2", 1)])
    parquet(tmp_path / "r.parquet", [("1", "2", 1)], ("path", "query", "score"))
    (tmp_path / "run").write_text(RUN)
    assert score(runs=tmp_path / "run", qrels=tmp_path / "q.parquet").leaderboards[0].rows[0].score == 1
    with pytest.raises(InputError, match=r"holds no qrels: it has the columns path, query, score"):
        score(runs=tmp_path / "run", qrels=tmp_path / "r.parquet")


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (("1 2", "d", 1), r"row 1: the id '1 2' is empty or holds a blank"),
        (("1", "d 1\n2 0 x", 1), r"row 1: the id .* holds a blank"),
        (("1", None, 1), r"row 1: the id None is empty"),
        (("1", "d", None), r"row 1: there is no grade"),
    ],
)
def test_odd_rows_of_qrels_in_parquet_are_refused(tmp_path, row, says):
    path = tmp_path / "q[1]*.parquet"  # which is one file, not a pattern of several
    with pytest.raises(InputError, match=says):
        read_qrels(parquet(path, [("1", "2", 1), row]))


def test_grades_in_parquet_are_numbers(tmp_path):
    path = parquet(tmp_path / "q.parquet", [("1", "2", "high")], ("qid", "docno", "label"))
    with pytest.raises(InputError, match=r"row 0: the grade 'high' is not a number"):
        read_qrels(path)


def test_grades_in_parquet_keep_their_digits(tmp_path):
    path = parquet(tmp_path / "q.parquet", [("1", "2", 1234567.5)])
    assert read_qrels(path, fractions=True).grade.tolist() == [1234567.5]
