"""The files that a step is given."""

import re
import shutil
from pathlib import Path

import pytest

from prefjudge import gold, init, pool, score, winratio
from prefjudge.errors import InputError, StudyError
from prefjudge.reading.given import expand
from tests.steps.conftest import COLLECTION


def test_a_name_with_brackets_is_that_file_and_else_a_pattern(tmp_path: Path) -> None:
    for name in ("run[1] ü.txt", "run1 ü.txt", "run2 ü.txt"):
        (tmp_path / name).touch()
    assert expand([tmp_path / "run[1] ü.txt"]) == (tmp_path / "run[1] ü.txt",)
    assert expand([tmp_path / "run[12] ü.txt"]) == (tmp_path / "run1 ü.txt", tmp_path / "run2 ü.txt")
    with pytest.raises(InputError, match="no file matches"):
        expand([tmp_path / "run[3] ü.txt"])


def test_a_study_whose_files_moved_says_how_to_tell_it(tmp_path: Path) -> None:
    study, before, after = tmp_path / "study", tmp_path / "before", tmp_path / "after"
    shutil.copytree(COLLECTION, before)

    def pool_at(place: Path) -> None:
        texts = {"queries": place / "queries.tsv", "collection": place / "collection.tsv"}
        pool(study, runs=[place / "runs"], qrels=place / "qrels.txt", **texts)

    init(study, config="demo")
    pool_at(before)
    before.rename(after)
    with pytest.raises(StudyError, match="is gone, and the study") as refused:
        gold(study, suggest=3)
    assert refused.value.message.startswith(str(before / "qrels.txt"))
    assert f"prefjudge pool {study}` again" in refused.value.hint
    pool_at(after)
    assert gold(study, suggest=3).suggested == 3


def test_votes_and_runs_that_share_no_query_are_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q1 Q0 d1 1 2.0 t\n")
    (tmp_path / "votes").write_text("other d1 d2 d1\n")
    with pytest.raises(InputError, match="no query of the judgments is in any run: they have 'other', the"):
        winratio(runs=tmp_path / "run", judgments=tmp_path / "votes")


def test_ids_that_match_in_part_are_told(tmp_path: Path) -> None:
    for name in ("qrels.txt", "queries.tsv"):
        (tmp_path / name).write_text(re.sub(r"(?m)^q0", "q", (COLLECTION / name).read_text()))
    runs, qrels = COLLECTION / "runs" / "*.txt", COLLECTION / "qrels.txt"
    assert any("lacks 9 of the 15" in one for one in pool(runs=runs, qrels=tmp_path / "qrels.txt").notices)
    told = pool(runs=runs, qrels=qrels, queries=tmp_path / "queries.tsv").notices
    assert any("9 of its 15 queries are in no run" in one for one in told)
    (tmp_path / "others.tsv").write_text("zz\ta question\n")
    with pytest.raises(InputError, match=r"others\.tsv: no query of this file is judged: its first is 'zz'"):
        score(runs=runs, qrels=qrels, queries=tmp_path / "others.tsv")
