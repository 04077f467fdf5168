"""Run health: each count on a file made for it, and on real runs that misbehave."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.evaluation.measures.measures import Measure, score_matrix
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.opened import run_surprises
from prefjudge.reading.runs.heads import RunFiles
from prefjudge.reading.runs.health import health, identical_runs

from .test_files import quick

RUN = """\
q1 Q0 a 0 2.0 t
q1 Q0 b 1 2.0 t
q1 Q0 c 2 1.0 t
q2 Q0 a 1 -1.0 t
q2 Q0 b 0 -2.0 t
q3 Q0 a 0 3 t
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "qrels").write_text("q1 0 b 1\nq1 0 c 0\nq2 0 z 1\nq9 0 a 1\n")
    return tmp_path


def test_runs_that_were_put_together_and_scores_beyond_numbers(tmp_path):
    tags = ["one", "one", "two", "two", "one", "three"]
    scores = ["1e400", "-1e400", "inf", "1", "2", "3"]
    lines = zip(range(6), scores, tags, strict=True)
    (tmp_path / "run").write_text("".join(f"q{n} Q0 a 1 {score} {tag}\n" for n, score, tag in lines))
    record = health(tmp_path / "run")
    assert (record.tag, record.other_tags, record.infinite_scores) == ("one", ("two", "three"), 3)
    words = " ".join(run_surprises(record))
    assert "3 scores are infinite" in words
    assert "other tags (two, three)" in words
    (tmp_path / "run").write_text(RUN)
    record = health(tmp_path / "run")
    assert (record.other_tags, record.infinite_scores) == ((), 0)


def test_counts(run):
    record = health(run / "run", read_qrels(run / "qrels"), cutoff=2)
    assert (record.tag, record.format, record.lines, record.queries) == ("t", "TREC", 6, 3)
    assert (record.depth_min, record.depth_max) == (1, 3)
    assert (record.missing, record.extra) == (("q9",), ("q3",))
    assert (record.ties_at_top, record.ties_at_cutoff) == (1, 0)
    assert record.rank_contradicts_score == 1
    assert record.first_rank == 0
    assert record.negative_scores == 2
    assert record.judged == (1 / 2 + 0 + 0) / 3
    assert record.digest.startswith("sha256:")


@quick
@given(
    lists=st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=5),
        min_size=1,
        max_size=4,
    )
)
def test_ranks_that_contradict_scores(tmp_path_factory, lists):
    path = tmp_path_factory.mktemp("run") / "run"
    path.write_text(
        "".join(
            f"q{q} Q0 d{d} {rank} {score} t\n"
            for q, rows in enumerate(lists)
            for d, (score, rank) in enumerate(rows)
        )
    )
    wrong = sum(
        any(better > score and first >= rank for better, first in rows for score, rank in rows)
        for rows in lists
    )
    assert health(path).rank_contradicts_score == wrong


@pytest.mark.parametrize("cutoff", [1, 2, 10])
def test_judged_is_the_measure_of_that_name(run, cutoff):
    labels = read_qrels(run / "qrels")
    scores = score_matrix(RunFiles([run / "run"]).judged(labels), labels, Measure.parse(f"Judged@{cutoff}"))
    record = health(run / "run", labels, cutoff=cutoff)
    assert record.judged == pytest.approx(scores.values.mean())
    for depth, found in ((1, record.relevant_first), (cutoff, record.relevant_at_cutoff)):
        success = Measure.parse(f"Success@{depth}")
        assert found == score_matrix(RunFiles([run / "run"]).judged(labels), labels, success).values.sum()
    reciprocal = score_matrix(RunFiles([run / "run"]).judged(labels), labels, Measure.parse("RR")).values
    places = 1 / reciprocal[reciprocal > 0]
    assert (record.relevant_found, record.relevant_place) == (places.size, np.median(places))


def test_tie_at_the_cutoff(run):
    assert health(run / "run", cutoff=1).ties_at_cutoff == 1
    assert health(run / "run", cutoff=1, order="rank").ties_at_cutoff == 0


def test_expected_queries(run):
    record = health(run / "run", queries=["q1", "q7"])
    assert (record.missing, record.extra, record.judged) == (("q7",), ("q2", "q3"), None)


def test_identical_runs_whatever_their_scores_and_query_order(run):
    (run / "other").write_text(
        "q3 Q0 a 9 1 u\nq2 Q0 a 1 5 u\nq2 Q0 b 2 4 u\nq1 Q0 b 1 9 u\nq1 Q0 c 3 7 u\nq1 Q0 a 2 8 u\n"
    )
    (run / "third").write_text(RUN.replace("q3 Q0 a", "q3 Q0 b"))
    records = [health(run / name) for name in ("run", "other", "third")]
    assert identical_runs(records) == [(str(run / "run"), str(run / "other"))]


def test_real_runs_that_misbehave(data_dir):
    records = {
        name: health(data_dir / "dl21" / "runs" / f"{name}.txt.gz")
        for name in ("top1000", "uogTrBasePD", "pash_f1", "pash_r1")
    }
    assert records["top1000"].first_rank == 0
    assert records["top1000"].negative_scores > 0
    assert records["uogTrBasePD"].depth_min < 100
    assert np.all([record.queries == 477 for record in records.values()])
