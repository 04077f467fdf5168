"""The recipe of docs/pyterrier.md runs as it stands, and both libraries give the same means."""

import re
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

RECIPE = Path(__file__).parent.parent / "docs" / "pyterrier.md"


def test_preference_qrels_go_to_an_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, while it is imported and at work
        pytest.importorskip("pyterrier", reason="PyTerrier is not installed (extra all)")
        _, experiment, score = re.findall(r"```python\n(.*?)```", RECIPE.read_text(), flags=re.S)
        (tmp_path / "my-study").mkdir()
        (tmp_path / "my-study" / "preference.qrels").write_text("q1 0 d2 1\nq2 0 d1 1\nq3 0 d9 1\n")
        monkeypatch.chdir(tmp_path)
        run = pd.DataFrame(
            {
                "qid": ["q1", "q1", "q2", "q2"],
                "docno": ["d1", "d2", "d1", "d3"],
                "score": [2.0, 1.0, 1.0, 1.0],  # the tie is d3's
                "rank": [0, 1, 0, 1],
            }
        )
        names: dict[str, Any] = {
            "results": {"bm25": run, "dense": run.assign(score=-run["score"])},
            "topics": pd.DataFrame({"qid": ["q1", "q2", "q3"], "query": ["a", "b", "c"]}),
        }
        exec(experiment + "import prefjudge\nresult = " + score, names)
    theirs = names["experiment"].set_index("name")
    for board, column in zip(names["result"].leaderboards, ("recip_rank", "ndcg_cut_10"), strict=True):
        for row in board.rows:
            assert row.score == pytest.approx(theirs.loc[row.run, column])
