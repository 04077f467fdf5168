"""``prefjudge workers`` and ``prefjudge work`` as they are typed."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from prefjudge.cli.crowd import workers as show
from prefjudge.steps.workers import workers
from tests.cli.conftest import prefjudge


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    """Two workers who agree, and one who always takes the first."""
    lines = []
    for query in range(40):
        shown = "a b" if query % 2 else "b a"
        lines += [f"q{query} {shown} a ann", f"q{query} {shown} a bob", f"q{query} {shown} {shown[0]} first"]
    path = tmp_path / "judgments.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_workers_prints_a_table_and_what_stands_out(votes: Path) -> None:
    first = prefjudge("workers", "--judgments", votes)
    assert first.stdout.startswith("3 workers made 120 judgments, 120 of which count; 0 barred")
    done = prefjudge("workers", "--judgments", votes, "--details")
    assert done.returncode == 0, done.stderr
    assert "Krippendorff's alpha" in done.stdout
    assert "chose the left passage in 40 of 40 comparisons" in done.stdout
    assert "It is no reason to refuse pay." in done.stdout


def test_errors_of_workers_go_from_the_smaller_to_the_larger(pooled: Path) -> None:
    for given, said in (
        ("0.4:0.1", "must be from 0 to 0.5, the smaller one first"),
        ("much", "not a number"),
    ):
        done = prefjudge("work", pooled, "--error", given)
        assert (done.returncode, said in done.stderr) == (1, True), done.stderr


def test_where_nothing_counts_there_is_no_rate_of_the_left(
    votes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    some = workers(judgments=votes)
    show(some, forget=None, export=None, details=True)
    assert "The left won 66.7%" in capsys.readouterr().out
    show(replace(some, kept=0, left_rate=math.nan), forget=None, export=None, details=True)
    assert "nan" not in capsys.readouterr().out
