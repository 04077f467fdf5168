"""What a result says that it was made of is what was read."""

import hashlib
import os
import threading
from pathlib import Path

import pytest

from prefjudge.core.runs import Order
from prefjudge.errors import InputError
from prefjudge.findings.findings import digesting
from prefjudge.steps.score import score

RUN = "q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "qrels").write_text("q1 0 a 1\n")
    return tmp_path / "run"


def test_a_file_that_changes_meanwhile_is_refused(run: Path) -> None:
    with digesting([("run", run)]) as digests:
        assert digests()[0].digest == f"sha256:{hashlib.sha256(run.read_bytes()).hexdigest()}"
        run.write_text(RUN + "q2 Q0 a 1 1 t\n")
        with pytest.raises(InputError, match="run changed while it was read"):
            digests()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_left_to_its_reader(run: Path, tmp_path: Path) -> None:
    """As a shell's <(zcat run.gz) is one."""
    os.mkfifo(tmp_path / "pipe")
    lines = RUN + "".join(f"q{query} Q0 d{doc} 1 {-doc} t\n" for query in range(2, 99) for doc in range(99))
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(lines,))
    writer.start()
    found = score(runs=[tmp_path / "pipe"], qrels=[str(tmp_path / "qrels")])
    writer.join()
    assert found.leaderboards[0].rows[0].score == 0.5
    assert [one.digest[:7] for one in found.inputs] == ["", "sha256:"]


def test_a_result_says_what_the_rank_column_was_good_for(run: Path, tmp_path: Path) -> None:
    run.write_text("q1 Q0 b 2 2 t\nq1 Q0 a 1 1 t\n")  # ranks against scores
    by_score, by_rank = (
        score(runs=[run], qrels=[str(tmp_path / "qrels")], order=order) for order in (Order.SCORE, Order.RANK)
    )
    assert [found.leaderboards[0].rows[0].score for found in (by_score, by_rank)] == [0.5, 1.0]
    assert [found.provenance["rank column"] for found in (by_score, by_rank)] == [
        "not used",
        "orders the documents",
    ]
