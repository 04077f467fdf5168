"""Whatever a notebook holds is taken as it is: the same results as from files, and nothing on disk."""

import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import prefjudge
from prefjudge.core.runs import Order
from prefjudge.errors import InputError, StudyError
from prefjudge.reading.given import paths_of
from prefjudge.reading.held import Held
from prefjudge.reading.inputs import take_runs
from prefjudge.resources import resource_dir
from prefjudge.study.pools import load_inputs
from prefjudge.study.store import Study
from tests.steps.conftest import COLLECTION as DEMO

RUNS = sorted((DEMO / "runs").glob("*.txt"))
QRELS, QUERIES, COLLECTION = DEMO / "qrels.txt", DEMO / "queries.tsv", DEMO / "collection.tsv"


def run_frame(path: Path) -> pd.DataFrame:
    columns = ["qid", "Q0", "docno", "rank", "score", "tag"]
    return pd.read_csv(path, sep=r"\s+", names=columns, dtype={"qid": str, "docno": str})


FRAMES = {run_frame(path)["tag"].iloc[0]: run_frame(path) for path in RUNS}
LABELS = pd.read_csv(
    QRELS,
    sep=r"\s+",
    names=["query_id", "iteration", "doc_id", "relevance"],
    dtype={"query_id": str, "doc_id": str},
)
QUERY_TEXTS = dict(line.split("\t", 1) for line in QUERIES.read_text().splitlines())
PASSAGES = dict(line.split("\t", 1) for line in COLLECTION.read_text().splitlines())


class ScoredDoc(NamedTuple):
    query_id: str
    doc_id: str
    score: float


class Run:
    """What ranx's Run and Qrels are to a function."""

    def __init__(self, name: str, scores: dict[str, dict[str, float]]) -> None:
        self.name, self.scores = name, scores

    def to_dict(self) -> dict[str, dict[str, float]]:
        return self.scores


def nested(frame: pd.DataFrame, columns: list[str]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for query, doc, value in frame[columns].itertuples(index=False):
        found.setdefault(query, {})[doc] = value
    return found


def records(frame: pd.DataFrame) -> Any:
    return (ScoredDoc(*row) for row in frame[["qid", "docno", "score"]].itertuples(index=False))


DICTS = {name: nested(frame, ["qid", "docno", "score"]) for name, frame in FRAMES.items()}
GRADES = nested(LABELS, ["query_id", "doc_id", "relevance"])


def boards(result: Any) -> dict[tuple[str, str], dict[str, list[float]]]:
    return {
        (board.leaderboard.qrels, board.leaderboard.measure): dict(
            zip(board.scores.runs, board.scores.values.T.tolist(), strict=True)
        )
        for board in result.boards
    }


FROM_FILES = boards(prefjudge.score(runs=RUNS, qrels=f"labels={QRELS}", measure=["RR@10", "nDCG@10"]))


@pytest.mark.parametrize(
    "runs",
    [
        FRAMES,
        DICTS,
        {name: list(records(frame)) for name, frame in FRAMES.items()},
        [Run(name, scores) for name, scores in DICTS.items()],
        {name: frame.astype({"qid": "category"}) for name, frame in FRAMES.items()},
        {name: frame.sample(frac=1, random_state=3) for name, frame in FRAMES.items()},
        {name: frame.rename(columns={"qid": "q_id", "docno": "doc_id"}) for name, frame in FRAMES.items()},
        [run if place % 2 else RUNS[place] for place, run in enumerate(Run(n, s) for n, s in DICTS.items())],
    ],
    ids=["frames", "dicts", "records", "ranx", "categories", "shuffled", "other names", "with paths"],
)
def test_runs_in_memory_score_as_their_files(runs: Any) -> None:
    assert (
        boards(prefjudge.score(runs=runs, qrels=f"labels={QRELS}", measure=["RR@10", "nDCG@10"]))
        == FROM_FILES
    )


@pytest.mark.parametrize(
    "labels",
    [{"labels": LABELS}, {"labels": GRADES}, [Run("labels", GRADES)], {"labels": LABELS.to_dict("records")}],
    ids=["frame", "dict", "ranx", "records"],
)
def test_qrels_in_memory_score_as_their_files(labels: Any) -> None:
    assert boards(prefjudge.score(runs=RUNS, qrels=labels, measure=["RR@10", "nDCG@10"])) == FROM_FILES


@pytest.mark.parametrize("order", list(Order))
def test_every_order_is_that_of_the_file(order: Order) -> None:
    ours = prefjudge.score(runs=FRAMES, qrels={"labels": LABELS}, order=order)
    theirs = prefjudge.score(runs=RUNS, qrels=f"labels={QRELS}", order=order)
    assert boards(ours) == boards(theirs)


def test_ids_of_whole_numbers_are_their_digits() -> None:
    frame = pd.DataFrame({"query_id": [1, 1, 20], "doc_id": [7, 300, 7], "score": [2, 1, 3]})
    labels = {"1": {"300": 1}, "20": {"7": 1}}
    result = prefjudge.score(runs=frame, qrels=labels, measure="RR")
    assert boards(result) == {("qrels", "RR"): {"run1": [0.5, 1.0]}}


def test_runs_are_called_by_the_mapping_by_their_own_name_or_by_their_place() -> None:
    first, second = list(FRAMES.values())[:2]
    result = prefjudge.score(runs=[first, Run("bm25", DICTS[NAMES_OF[1]])], qrels=LABELS)
    assert set(boards(result)[("qrels", "RR@10")]) == {"run1", "bm25"}
    compared = prefjudge.compare(first, second, qrels=LABELS)
    assert set(compared.comparisons[0].significance.runs) == {"a", "b"}
    assert [one.path for one in compared.inputs] == ["memory:a", "memory:b", "memory:qrels"]


NAMES_OF = list(FRAMES)


def test_measures_are_those_of_ir_measures() -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed (extra trec)")
    given = [ir_measures.RR @ 10, ir_measures.nDCG(judged_only=True) @ 5, "P@1,2"]
    found = prefjudge.score(runs=FRAMES, qrels=LABELS, measure=given)
    assert [board.leaderboard.measure for board in found.boards] == [
        "RR@10",
        "nDCG(judged_only=True)@5",
        "P@1",
        "P@2",
    ]
    assert (
        prefjudge.score(runs=FRAMES, qrels=LABELS, measure=ir_measures.AP).boards[0].leaderboard.measure
        == "AP"
    )


def test_documents_without_a_label_are_left_out_of_every_measure() -> None:
    measures = ["RR@10", "nDCG@10"]
    condensed = ["RR(judged_only=True)@10", "nDCG(judged_only=True)@10"]
    found = prefjudge.score(runs=RUNS, qrels=QRELS, measure=measures, judged_only=True)
    assert boards(found) == boards(prefjudge.score(runs=RUNS, qrels=QRELS, measure=condensed))
    assert boards(found).keys() == {("qrels", name) for name in condensed}
    for verb in (prefjudge.compare, prefjudge.stability, prefjudge.agreement):
        given = {"runs": FRAMES, "qrels": LABELS, "measure": "RR@10", "judged_only": True, "seed": 1}
        assert "judged_only=True" in repr(verb(**given))  # type: ignore[operator]
    with pytest.raises(InputError, match="Judged@10 has no form for judged documents only"):
        prefjudge.score(runs=RUNS, qrels=QRELS, measure="Judged@10", judged_only=True)


VOTES = pd.DataFrame(
    [
        ("q1", "d1", "d2", "d1", "ann"),
        ("q1", "d1", "d3", "d3", "bob"),
        ("q1", "d2", "d3", "d3", "ann"),
        ("q2", "d1", "d2", "tie", "bob"),
    ],
    columns=["query", "doc_1", "doc_2", "preferred", "worker"],
)


def test_judgments_in_memory_resolve_as_their_file(tmp_path: Path) -> None:
    file = tmp_path / "votes.txt"
    VOTES.to_csv(file, sep=" ", header=False, index=False)
    for given in (VOTES, VOTES.to_dict("records"), list(VOTES.itertuples(index=False))):
        ours, theirs = (
            prefjudge.resolve(judgments=one, rule=["most-wins"], sparse_rule="unbeaten")
            for one in (given, file)
        )
        assert ours.rules == theirs.rules
        assert ours.judgments == theirs.judgments == 4
    assert len(prefjudge.workers(judgments=VOTES).workers) == 2


def test_a_paper_of_memory_is_that_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prefjudge.pool(runs=RUNS, qrels=QRELS, depth=2, out="pool.tsv")
    rows = [line.split("\t") for line in Path("pool.tsv").read_text().splitlines() if line[:1] != "#"]
    members: dict[str, list[str]] = {}
    for query, doc, _ in rows:
        members.setdefault(query, []).append(doc)
    votes = [
        (query, one, other, min(one, other), f"w{len(other + one) % 3}")
        for query, docs in members.items()
        for one in docs
        for other in docs
        if one > other
    ]
    Path("votes.txt").write_text("".join(" ".join(vote) + "\n" for vote in votes))
    table = pd.DataFrame(votes, columns=["query", "doc_1", "doc_2", "preferred", "worker"])
    pooled = pd.DataFrame(rows, columns=["query_id", "doc_id", "contributors"])
    ours, theirs = (
        prefjudge.score(runs=runs, qrels=qrels, judgments=given, pool=pool, leave_one_out=True, seed=1)
        for runs, qrels, given, pool in (
            (FRAMES, {"qrels": LABELS}, table, pooled),
            (RUNS, QRELS, "votes.txt", "pool.tsv"),
        )
    )
    assert ours.left_out == theirs.left_out
    for pool in (
        pooled,
        members,
        {query: dict.fromkeys(docs, (NAMES_OF[0],)) for query, docs in members.items()},
    ):
        assert prefjudge.winratio(runs=FRAMES, judgments=table, pool=pool).winratio.pairs
    assert prefjudge.workers(judgments=table).workers
    assert prefjudge.check(RUNS[0], qrels=LABELS, queries=QUERY_TEXTS).ok
    with pytest.raises(InputError, match="row 1: document 'd' is in the pool of query 'q' already, in row 0"):
        prefjudge.winratio(runs=FRAMES, judgments=table, pool={"q": ["d", "d"]})
    text = resource_dir("configs").joinpath("papers", "shallow-pooling.toml").read_text()
    Path("few.toml").write_text("[[exhibits]]".join(text.split("[[exhibits]]")[:6]))
    monkeypatch.setattr(
        "prefjudge.steps.reproduce.reproduce.write_figure", lambda path, figure, stamp: path.touch()
    )
    for folder, runs, qrels, given in (("a", RUNS, QRELS, "votes.txt"), ("b", FRAMES, LABELS, table)):
        prefjudge.reproduce("few.toml", out=folder, runs=runs, qrels=qrels, judgments=given, seed=1)
    for path in Path("a").glob("*.csv"):
        assert path.read_bytes() == (Path("b") / path.name).read_bytes()


def test_a_pool_from_memory_is_that_of_files_and_texts_may_be_a_function(tmp_path: Path) -> None:
    def text_of(doc: str) -> str | None:
        return PASSAGES.get(doc)

    pools = []
    for number, given in enumerate(
        (
            {"runs": RUNS, "qrels": QRELS, "queries": QUERIES, "collection": COLLECTION},
            {"runs": FRAMES, "qrels": LABELS, "queries": QUERY_TEXTS, "collection": PASSAGES},
            {"runs": DICTS, "qrels": GRADES, "queries": QUERY_TEXTS, "collection": text_of},
            {
                "runs": FRAMES,
                "qrels": LABELS,
                "queries": pd.DataFrame({"qid": list(QUERY_TEXTS), "query": list(QUERY_TEXTS.values())}),
                "collection": pd.DataFrame({"docno": list(PASSAGES), "text": list(PASSAGES.values())}),
            },
        )
    ):
        target = tmp_path / f"pool{number}.tsv"
        prefjudge.pool(**given, out=target)  # type: ignore[arg-type]
        pools.append(target.read_bytes())
    assert len(set(pools)) == 1


def test_a_study_is_pooled_from_memory_and_scored_with_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prefjudge.init("study")
    given = {"runs": FRAMES, "qrels": LABELS, "queries": QUERY_TEXTS, "collection": PASSAGES}
    assert prefjudge.pool("study", **given).changed  # type: ignore[arg-type]
    assert not prefjudge.pool("study", **given).changed  # type: ignore[arg-type]
    assert prefjudge.gold("study", suggest=2).suggested
    assert sorted(path.name for path in tmp_path.iterdir()) == ["study"]
    with pytest.raises(StudyError):  # nothing is judged yet
        prefjudge.score("study", runs=FRAMES, qrels=LABELS)


def test_runs_of_files_have_the_names_of_a_mapping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    named = {f"my-{number}": path for number, path in enumerate(RUNS)}
    expected = list(FROM_FILES["labels", "RR@10"].values())
    for how in ({}, {"workers": 2}):
        found = boards(prefjudge.score(runs=named, qrels=QRELS, measure="RR@10", **how))  # type: ignore[arg-type]
        assert found["qrels", "RR@10"] == dict(zip(named, expected, strict=True))
    prefjudge.init("study")
    prefjudge.pool("study", runs=named, qrels=QRELS)
    with Study("study").transaction(write=False) as db:
        files = paths_of(load_inputs(db), "run", Path("study"))
    assert [(str(file), getattr(file, "name", "")) for file in files] == [
        (str(path), name) for name, path in named.items()
    ]


def test_a_run_in_memory_goes_to_other_processes() -> None:
    (held,) = take_runs({"bm25": FRAMES[NAMES_OF[0]]})
    again = pickle.loads(pickle.dumps(held))
    assert isinstance(again, Held)
    assert again.content.score.tolist() == held.content.score.tolist()  # type: ignore[union-attr]
    with ProcessPoolExecutor(1) as workers:
        found = prefjudge.score(runs=FRAMES, qrels={"labels": LABELS}, measure="RR@10", workers=workers)
    assert boards(found)[("labels", "RR@10")] == FROM_FILES[("labels", "RR@10")]


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"qid": ["q1", "q1"], "docno": ["d1", "d2"], "score": [2.0, 1.0]} | columns)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "no column of documents": (
        lambda: pd.DataFrame({"qid": ["q1"], "text": ["x"], "score": [1.0]}),
        "run run1 has no column of documents: its columns are qid, text, score",
    ),
    "no score": (lambda: frame().drop(columns="score"), "run run1 has no column of scores"),
    "NaN": (lambda: frame(score=[1.0, float("nan")]), "row 1: the score is NaN"),
    "text as a score": (lambda: frame(score=["2.5", "1"]), "row 0: column score holds the text '2.5'"),
    "mixed ids": (lambda: frame(docno=["d1", 7]), "row 1: column docno holds 7, a int"),
    "a missing id": (lambda: frame(qid=["q1", None]), "read files with dtype=str, keep_default_na=False"),
    "numbers with a fraction as ids": (
        lambda: frame(docno=[1.5, 2.0]),
        "column docno holds float64, not ids",
    ),
    "a blank in an id": (lambda: frame(docno=["d 1", "d2"]), "row 0: the id 'd 1' in column docno"),
    "an empty id": (lambda: frame(docno=["", "d2"]), "row 0: the id '' in column docno"),
    "a document twice": (
        lambda: frame(docno=["d1", "d1"]),
        "row 1: document 'd1' repeated for query 'q1' (first in row 0)",
    ),
    "no rows": (lambda: frame().iloc[:0], "run run1 is empty"),
    "an empty dictionary": (dict, "run run1 is empty"),
    "a column": (lambda: frame()["score"], "a Series is one column of a table"),
    "two columns of one name": (
        lambda: pd.concat([frame(), frame()[["score"]]], axis=1),
        "two columns are called 'score'",
    ),
    "numbers that are not real": (lambda: frame(score=[1 + 2j, 2]), "column score does not hold numbers"),
    "broken ranks": (lambda: frame(rank=[1.0, 1.5]), "row 1: the rank is 1.5"),
    "records of other fields": (
        lambda: [{"qid": "q1", "docno": "d1", "score": 1.0}, {"qid": "q1"}],
        "do not have the same fields",
    ),
    "a number as a run": (lambda: 7, "score: runs is 7; it takes"),
    "a name with a blank": (lambda: {"bm 25": frame()}, "the name 'bm 25' is empty, or holds a blank"),
    "a name with NUL": (lambda: {"a\0": frame()}, "or holds a blank or what cannot be printed"),
    "half a character": (lambda: {"q1": {"d\ud800": 1.0}}, "row 0: the id 'd\\ud800' in column doc_id"),
    "a number beyond all": (
        lambda: frame(score=pd.Series([10**400, 1], dtype=object)),
        "column score does not hold numbers",
    ),
    "True among scores": (
        lambda: frame(score=pd.Series([True, 1.5], dtype=object)),
        "some are True or False",
    ),
    "nothing under a name": (lambda: {"bm25": None}, "'bm25' is None, and not a run"),
    "an index for columns": (lambda: frame().set_index(["qid", "docno"]), "frame.reset_index()"),
    "one file twice": (
        lambda: {"a": str(RUNS[0]), "b": str(RUNS[0])},
        f"'a' and 'b' are the same file: {RUNS[0]}",
    ),
    "a name for several files": (
        lambda: {"a": str(DEMO / "runs" / "*.txt")},
        "which is one run: 'a'",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_run_is_refused_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    given, says = BAD[name]
    out = tmp_path / "board.csv"
    with pytest.raises(InputError) as refused:
        prefjudge.score(runs=given(), qrels={"q1": {"d1": 1}}, out=out)
    assert says in str(refused.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("qrels", "says"),
    [
        (frame(rank=[1, 2]), "they have a score and a rank, as a run has"),
        (pd.DataFrame({"qid": ["q1"], "docno": ["d1"]}), "qrels qrels has no column of grades"),
        (
            pd.DataFrame({"qid": ["q", "q"], "docno": ["d", "d"], "label": [0, 1]}),
            "has another grade in row 0",
        ),
        (pd.DataFrame({"qid": ["q"], "docno": ["d"], "label": [np.inf]}), "the label is infinite"),
        ({"q1": {"d1": "high"}}, "holds the text 'high'"),
    ],
)
def test_bad_qrels_are_refused(qrels: Any, says: str) -> None:
    with pytest.raises(InputError) as refused:
        prefjudge.score(runs=frame(), qrels=qrels)
    assert says in str(refused.value)


def test_bad_judgments_and_texts_are_refused() -> None:
    with pytest.raises(InputError, match="preferred document is neither 'd1' nor 'd2': 'd9'"):
        prefjudge.resolve(judgments=VOTES.assign(preferred="d9"))
    with pytest.raises(InputError, match="has no column of preferred documents"):
        prefjudge.resolve(judgments=VOTES.drop(columns="preferred"))
    with pytest.raises(InputError, match="memory:texts has a int for"):
        prefjudge.pool(runs=FRAMES, qrels=LABELS, collection=lambda doc: 7, out="never.tsv")  # type: ignore[arg-type,return-value]
    with pytest.raises(InputError, match="is not a mapping of queries"):
        prefjudge.pool(runs=FRAMES, qrels=LABELS, queries=PASSAGES.get, out="never.tsv")
    with pytest.raises(InputError, match="memory:texts lacks"):  # not the KeyError of a dictionary
        prefjudge.pool(runs=FRAMES, qrels=LABELS, collection={}.__getitem__, out="never.tsv")
    for odd in ("\0", "\ud800"):
        broken = {doc: text + odd for doc, text in PASSAGES.items()}
        with pytest.raises(InputError, match="holds NUL or half a character"):
            prefjudge.pool(runs=FRAMES, qrels=LABELS, collection=broken, out="never.tsv")
    for missing in (None, float("nan")):
        texts = pd.DataFrame({"docno": ["d", "e"], "text": ["a", missing]})
        with pytest.raises(InputError, match=r"row 1: 'e' has (None|nan)"):
            prefjudge.pool(runs=FRAMES, qrels=LABELS, collection=texts, out="never.tsv")
    twice = pd.DataFrame({"docno": ["d", "d"], "text": ["a", "b"]})
    with pytest.raises(InputError, match="'d' has another text in a row before"):
        prefjudge.pool(runs=FRAMES, qrels=LABELS, collection=twice, out="never.tsv")


def test_a_document_twice_may_be_chosen_and_sql_does_not_read_memory() -> None:
    given = frame(docno=["d1", "d1"], score=[1.0, 2.0])
    labels = {"q1": {"d1": 1}}
    for choice in ("first", "best"):
        assert prefjudge.score(runs=given, qrels=labels, on_duplicate=choice).boards  # type: ignore[arg-type]
    with pytest.raises(InputError, match="memory:run1 is in memory, and a cluster reads files and tables"):
        prefjudge.score(runs=frame(), qrels=labels, engine="spark")
    with pytest.raises(
        InputError, match="memory:run1 is in memory, and the health of a run is that of its file"
    ):
        prefjudge.score(runs=frame(), qrels=labels, health=True)
    with pytest.raises(InputError, match="run run1 has no column rank"):
        prefjudge.score(runs=frame(), qrels=labels, order="rank")


def test_arrow_and_polars_tables_are_tables() -> None:
    found = 0
    for library, make in (("pyarrow", "table"), ("polars", "DataFrame")):
        try:
            module = __import__(library)
        except ImportError:
            continue
        found += 1
        columns = {"qid": ["q1", "q1"], "docno": ["d1", "d2"], "score": [2.0, 1.0]}
        result = prefjudge.score(runs=getattr(module, make)(columns), qrels={"q1": {"d2": 1}}, measure="RR")
        assert boards(result) == {("qrels", "RR"): {"run1": [0.5]}}
    if not found:
        pytest.skip("neither pyarrow nor polars is installed")
