"""Workers: the report on a file of judgments."""

from pathlib import Path

import numpy as np
import pytest

from prefjudge.errors import InputError
from prefjudge.steps.workers import workers


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    """Three careful workers, and one who always takes the left."""
    rng = np.random.default_rng(8)
    lines = []
    for query in range(60):
        better, worse = "ab" if query % 2 else "ba"
        for worker in ("ann", "bob", "cy", "lefty"):
            left, right = ("a", "b") if rng.random() < 0.5 else ("b", "a")
            honest = better if rng.random() < 0.9 else worse
            lines.append(f"q{query} {left} {right} {left if worker == 'lefty' else honest} {worker}")
    path = tmp_path / "judgments.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_careless_worker_comes_first(votes: Path) -> None:
    result = workers(judgments=votes)
    first = result.workers[0]
    assert first.worker == "lefty"
    assert first.left_rate == 1.0
    assert first.left_p < 1e-6
    assert first.left_when_guessing > 0.85
    assert first.reliability < 0.3 < min(one.reliability for one in result.workers[1:])
    assert first.accuracy < 0.65 < min(one.accuracy for one in result.workers[1:])
    assert first.agreement < 0.7 < min(one.agreement for one in result.workers[1:])
    assert (result.judgments, result.pairs, result.repeated, result.unnamed) == (240, 60, 60, 0)
    assert 0.1 < result.alpha < 0.6
    assert result == workers(judgments=votes)


def test_golds_stay_fixed(votes: Path, tmp_path: Path) -> None:
    golds = tmp_path / "golds.txt"
    golds.write_text("".join(f"q{query} a b {'a' if query % 2 else 'b'}\n" for query in range(60)))
    accuracy = {one.worker: one.accuracy for one in workers(judgments=votes, golds=golds).workers}
    assert 0.8 < accuracy["ann"] < 0.97


def test_judgments_without_workers_have_an_agreement_only(tmp_path: Path) -> None:
    path = tmp_path / "judgments.txt"
    path.write_text("q a b a\nq a b a\np a b b\np a b b\n")
    result = workers(judgments=path)
    assert result.workers == ()
    assert (result.unnamed, result.alpha) == (4, 1.0)


def test_something_to_look_at_is_needed() -> None:
    with pytest.raises(InputError, match="workers takes either a study or a file"):
        workers()
