"""``prefjudge try``: a person's ten minutes, and whether they agree with the labels."""

import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

import prefjudge
from prefjudge.crowd.simulated import Mind, SimulatedWorker, Temper
from prefjudge.errors import InputError, StudyError
from prefjudge.steps.demo import new_folder
from prefjudge.steps.try_it import _PERSON, TryResult, has_browser, try_it
from prefjudge.steps.work import simulated_truth
from prefjudge.study.store import Study
from tests.steps.conftest import COLLECTION

RUNS = str(COLLECTION / "runs" / "*.txt")


def follow(link: str, folder: Path, temper: Temper = Temper.HONEST) -> None:
    """Follow the link as a person does, and judge what it opens on: by the truth, or by nothing."""
    parts = urlsplit(link)
    query = parse_qs(parts.query)
    truth = simulated_truth(Study(folder / "study"), COLLECTION / "truth.tsv")
    mind = Mind(temper=temper, truth=truth, error=0.0, slip=0.0, rng=np.random.default_rng(1))
    person = SimulatedWorker(f"{parts.scheme}://{parts.netloc}", query["invite"][0], mind)
    assert person.get(query["next"][0])["assignment"]["frame_url"]
    assert person.take_hit()


def tried(folder: Path, temper: Temper, monkeypatch: pytest.MonkeyPatch) -> tuple[TryResult, int, float]:
    monkeypatch.setattr("webbrowser.open", bool)
    monkeypatch.setitem(_PERSON, "simulated", True)  # whose clock is not the server's
    told: list[tuple[int, float]] = []

    def ready(link: str, pairs: int, minutes: float) -> None:
        told.append((pairs, minutes))
        follow(link, folder, temper)

    return try_it(folder, ready=ready), *told[0]


def test_who_judges_by_the_truth_hears_how_often_the_labels_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, pairs, minutes = tried(tmp_path / "try", Temper.HONEST, monkeypatch)
    assert 5 <= pairs == result.pairs <= 24
    assert minutes == pytest.approx(pairs * 25 / 60)
    assert not result.dropped
    assert result.won + result.lost + result.tied > 0
    assert f"in {result.won} of" in str(result)
    assert prefjudge.status(tmp_path / "try" / "study").judgments == pairs - 3  # gold pairs are no votes


def test_whose_work_would_be_dropped_hears_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result, _, _ = tried(tmp_path / "try", Temper.GARBAGE, monkeypatch)
    assert result.dropped
    assert f"A study would drop this work, and ask somebody else: {result.dropped}" in str(result)


def test_runs_without_texts_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="without --queries and --collection there"):
        try_it(tmp_path / "try", runs=RUNS)
    assert not (tmp_path / "try").exists()


def test_runs_without_a_pair_leave_nothing_behind(tmp_path: Path) -> None:
    alike = tmp_path / "alike.run"
    alike.write_bytes((COLLECTION / "runs" / "lexical.txt").read_bytes())
    texts = {"queries": COLLECTION / "queries.tsv", "collection": COLLECTION / "collection.tsv"}
    with pytest.raises(StudyError, match="there is no pair to judge"):
        try_it(tmp_path / "try", runs=[alike], **texts)  # type: ignore[arg-type]
    assert not (tmp_path / "try").exists()


def test_two_at_once_take_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [str(new_folder(None, "sample")) for _ in range(3)] == ["sample", "sample-2", "sample-3"]


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="a browser is always there")
def test_a_browser_is_opened_only_where_there_is_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not has_browser()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert has_browser()
