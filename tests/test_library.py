"""The library as a program uses it: the whole road by functions, with paths as plain text."""

import pickle
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import prefjudge
from prefjudge.errors import InputError
from tests.steps.conftest import COLLECTION

FILES = {name: str(COLLECTION / f"{name}.tsv") for name in ("queries", "collection", "gold", "truth")}
RUNS, QRELS = [str(COLLECTION / "runs" / "*.txt")], str(COLLECTION / "qrels.txt")


def test_paths_may_be_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prefjudge.init("study", config="demo")
    prefjudge.pool(
        "study",
        runs=RUNS,
        qrels=QRELS,
        queries=FILES["queries"],
        collection=FILES["collection"],
        out="pool.tsv",
    )
    prefjudge.gold("study", accept=True, file=FILES["gold"])
    prefjudge.publish("study", yes=True)
    for _ in range(20):
        prefjudge.work("study", workers=6, error=0.0, truth=FILES["truth"])
        if prefjudge.collect("study").finished:
            break
    prefjudge.resolve("study")
    results = [prefjudge.status("study"), prefjudge.workers("study"), prefjudge.status("study", history=True)]
    assert prefjudge.status("study").waiting == 0
    assert prefjudge.pay("study", dry_run=True).owed == 0
    assert len(prefjudge.score("study", out="boards.csv").boards) == 2
    assert len(prefjudge.workers("study").workers) == 6
    (tmp_path / "votes.txt").write_text("q1 d1 d2 d1\nq1 d1 d3 d1\nq1 d2 d3 d2\n")
    prefjudge.resolve(judgments="votes.txt", rule=["most-wins"], out="winners.qrels")
    result = prefjudge.score(runs=RUNS, qrels=[f"labels={QRELS}"], measure=["RR@10"], out="leaderboard.csv")
    assert len(result.leaderboards[0].rows) == 6
    prefjudge.winratio(runs=RUNS, judgments="votes.txt", qrels=QRELS, queries=FILES["queries"])
    prefjudge.compare(runs=RUNS, qrels=[QRELS], out="compare.md")
    prefjudge.stability(runs=RUNS, qrels=[QRELS], trials=50, out="stability.md")
    prefjudge.agreement(runs=RUNS, qrels=[QRELS], splits=10, out="agreement.md")
    prefjudge.check([str(COLLECTION / "runs" / "lexical.txt")], qrels=QRELS)
    results += [
        prefjudge.resolve("study", per_query=True, sensitivity=True),
        prefjudge.score("study", per_query=True, leave_one_out=True),
        prefjudge.winratio("study", examples=1),
        prefjudge.compare(runs=RUNS, qrels=[QRELS]),
        prefjudge.stability(runs=RUNS, qrels=[QRELS], trials=5),
        prefjudge.agreement(runs=RUNS, qrels=[QRELS], splits=2),
        prefjudge.check([str(COLLECTION / "runs" / "lexical.txt")]),
        prefjudge.store("check", "study"),
    ]
    for result in results:  # as a pool of processes hands them over, and a program keeps them
        assert repr(pickle.loads(pickle.dumps(result))) == repr(deepcopy(result)) == repr(result)
    for written in ("pool.tsv", "boards.csv", "winners.qrels", "leaderboard.csv", "compare.md"):
        assert (tmp_path / written).is_file()


def test_one_may_be_given_where_several_may() -> None:
    run, labels = COLLECTION / "runs" / "lexical.txt", COLLECTION / "qrels.txt"
    for runs, qrels in ((str(run), QRELS), (run, labels), (run, f"original={QRELS}")):
        (board,) = prefjudge.score(runs=runs, qrels=qrels, measure="RR@10").leaderboards
        assert (board.measure, len(board.rows)) == ("RR@10", 1)
    every = COLLECTION / "runs" / "*.txt"
    assert len(prefjudge.compare(runs=every, qrels=labels, measure="P@1").comparisons) == 1
    assert len(prefjudge.stability(runs=every, qrels=labels, measure="P@1", trials=5).conditions) == 1
    assert len(prefjudge.agreement(runs=every, qrels=labels, measure="P@1", splits=2).agreements) == 1
    assert prefjudge.check(run, qrels=labels).ok


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"statistic": "mode"}, "there is no statistic 'mode'"),
        ({"order": "bogus"}, "there is no order 'bogus'"),
    ],
)
def test_what_is_no_choice_is_named(options: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        prefjudge.score(runs=RUNS, qrels=QRELS, **options)  # type: ignore[arg-type]
    assert refused.value.hint


def test_a_seed_is_not_negative_also_where_nothing_is_drawn() -> None:
    with pytest.raises(InputError, match="score: seed is -1; it takes a whole number of 0 or more or None"):
        prefjudge.score(runs=RUNS, qrels=QRELS, seed=-1)


def test_a_choice_may_be_text() -> None:
    """Text that is passed over in silence would give another result than was asked for."""
    duels: Any = "top-against-qrel"
    (run,) = (COLLECTION / "runs").glob("lexical.txt")
    assert prefjudge.pool(runs=[run], qrels=QRELS, design=duels).depth == 2
    none: Any = "none"
    alone = prefjudge.pool(runs=RUNS, qrels=QRELS, qrels_per_query=none)
    assert alone.documents < prefjudge.pool(runs=RUNS, qrels=QRELS).documents
    constant: Any = "constant"
    assert prefjudge.plan(sizes="2:5", error=0.3, noise=constant, trials=5).noise == "constant"
    bogus: Any = "bogus"
    for verb in (
        partial(prefjudge.pool, runs=RUNS, design=bogus),
        partial(prefjudge.pool, runs=RUNS, qrels_per_query=bogus),
        partial(prefjudge.plan, sizes="2:5", noise=bogus),
        partial(prefjudge.winratio, runs=RUNS, judgments=COLLECTION / "truth.tsv", count=bogus),
        partial(prefjudge.workers, judgments=COLLECTION / "truth.tsv", model=bogus),
    ):
        with pytest.raises(InputError, match=r"there is no .* 'bogus'"):
            verb()


def test_an_order_may_be_text(tmp_path: Path) -> None:
    votes = tmp_path / "votes.txt"
    votes.write_text("q01 p25 p34 p25\n")
    rank: Any = "rank"
    assert prefjudge.score(runs=RUNS, qrels=QRELS, order=rank).leaderboards[0].order == "rank"
    assert prefjudge.pool(runs=RUNS, qrels=QRELS, order=rank).order == "rank"
    assert prefjudge.winratio(runs=RUNS, judgments=votes, order=rank).provenance["order"] == "rank"
    bogus: Any = "bogus"
    for verb in (partial(prefjudge.pool, qrels=QRELS), partial(prefjudge.winratio, judgments=votes)):
        with pytest.raises(InputError, match="there is no order 'bogus'"):
            verb(runs=RUNS, order=bogus)


def test_functions_go_to_other_processes() -> None:
    """A pool of processes pickles what it is to call."""
    names = [name for name in prefjudge.__all__ if name not in {"Study", "__version__"}]
    assert "score" in names
    for name in names:
        function = getattr(prefjudge, name)
        assert pickle.loads(pickle.dumps(function)) is function


def test_a_study_in_a_notebook_has_its_votes_and_queries_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "votes").write_text("q1 d1 d2 d1 ann\nq1 d2 d3 tie ben\n")
    prefjudge.init(tmp_path / "study")
    prefjudge.import_votes(tmp_path / "study", tmp_path / "votes")
    study = prefjudge.Study(tmp_path / "study")
    votes = study.votes()
    shown = votes[["query_id", "left", "right"]].to_numpy().tolist()
    assert shown == [["q1", "d1", "d2"], ["q1", "d2", "d3"]]
    assert votes["preferred"].fillna("a tie").tolist() == ["d1", "a tie"]
    assert votes["worker"].nunique() == 2
    assert "ann" not in votes["worker"].tolist()
    (query,) = study.queries().to_dict("records")
    assert (query["query_id"], query["candidates"]) == ("q1", 3)
    assert study.resolve().queries == 1
    with pytest.raises(InputError):
        study.score()


def test_results_that_are_drawn_have_a_plot() -> None:
    runs = [COLLECTION / "runs" / f"{name}.txt" for name in ("lexical", "first-try", "label-tuned")]
    board = prefjudge.score(runs=runs, qrels=COLLECTION / "qrels.txt")
    assert board.plot().axes
    assert prefjudge.stability(runs=runs, qrels=COLLECTION / "qrels.txt", trials=5).plot().axes
    assert repr(board).startswith("label-tuned is first by RR@10")
    assert list(prefjudge.compare(runs=runs, qrels=COLLECTION / "qrels.txt").frames())
