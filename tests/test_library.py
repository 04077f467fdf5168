"""The library as a program uses it: the whole road by functions, with paths as plain text."""

import pickle
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import prefjudge
from prefjudge.errors import InputError
from tests.steps.conftest import COLLECTION

FILES = {name: str(COLLECTION / f"{name}.tsv") for name in ("queries", "collection", "gold", "truth")}
RUNS, QRELS = [str(COLLECTION / "runs" / "*.txt")], str(COLLECTION / "qrels.txt")


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
    ):
        with pytest.raises(InputError, match=r"there is no .* 'bogus'"):
            verb()


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
