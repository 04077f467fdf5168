"""A file that rests on simulated judgments says so, and what is made of it says so too."""

import bz2
import gzip
from pathlib import Path

import numpy as np
import pytest

import prefjudge
from prefjudge.core.runs import Qrels
from prefjudge.reading.files import Notice
from prefjudge.reading.labels import (
    file_stamps,
    read_judgments,
    read_qrels,
    rehearsal_in,
    write_beside,
    write_qrels,
)
from prefjudge.words import Rehearsal

STAMP = Rehearsal(simulated=1_200, judgments=1_234)
VOTES = "q1 a b a w1\nq1 a c a w1\nq1 b c b w2\nq2 a b b w2\n"


def found_in(read: object, path: Path) -> Rehearsal | None:
    notices: list[Notice] = []
    read(path, notices=notices)  # type: ignore[operator]
    return rehearsal_in(notices)


@pytest.mark.parametrize(
    "before", ["", "\ufeff", "# by hand\n\n", VOTES], ids=["alone", "mark", "comment", "joined"]
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_a_comment_of_judgments_is_a_stamp_wherever_it_stands(
    tmp_path: Path, before: str, pack: type[bytes]
) -> None:
    path = tmp_path / "judgments.txt"
    path.write_bytes(pack(f"{before}# {STAMP}\n{VOTES}".encode()))
    assert found_in(read_judgments, path) == STAMP


@pytest.mark.parametrize(
    "line", ["# rehearsal: none", "# see rehearsal: 1 of 2 judgments are simulated", "#"]
)
def test_other_comments_are_no_stamps(tmp_path: Path, line: str) -> None:
    path = tmp_path / "judgments.txt"
    path.write_text(f"{line}\n{VOTES}")
    assert found_in(read_judgments, path) is None


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_qrels_that_were_copied_alone_still_say_that_they_are_a_rehearsal(
    tmp_path: Path, joined: bool, pack: type[bytes]
) -> None:
    labels = Qrels.all_relevant(
        name="liked",
        queries=("q1", "q2"),
        docs=("a", "b"),
        query=np.array([0, 1], dtype=np.int32),
        doc=np.array([0, 1], dtype=np.int32),
    )
    path = tmp_path / "liked.qrels"
    write_qrels(path, labels, rehearsal=STAMP)
    before = b"q0 Q0 a 1\n" if joined else b""
    path.write_bytes(pack(before + path.read_bytes()))
    assert found_in(read_qrels, path) == STAMP
    assert [*read_qrels(path).queries][-2:] == ["q1", "q2"]
    write_qrels(path, labels)
    assert path.read_text().splitlines() == ["q1 Q0 a 1", "q2 Q0 b 1"]
    assert found_in(read_qrels, path) is None


@pytest.mark.parametrize("line", ["q1 rehearsal: a 1", "q1 Q0 rehearsal:1/2 1", "rehearsal:1/2 Q0 a 1"])
def test_ids_that_look_like_a_stamp_are_none(tmp_path: Path, line: str) -> None:
    path = tmp_path / "labels.qrels"
    path.write_text(f"{line}\n")
    assert found_in(read_qrels, path) is None


def test_a_stamp_lies_beside_qrels_until_people_have_judged(tmp_path: Path) -> None:
    path = tmp_path / "preference.qrels"
    path.write_text("q1 Q0 a 1\n")
    write_beside(path, str(STAMP))
    packed = tmp_path / "preference.qrels.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert [found_in(read_qrels, one) for one in (path, packed)] == [STAMP, STAMP]
    assert rehearsal_in(file_stamps(path)) == STAMP
    write_beside(path, "")
    assert found_in(read_qrels, path) is None
    (tmp_path / "preference.rehearsal.txt").write_text("my own notes\n")
    write_beside(path, "")
    assert (tmp_path / "preference.rehearsal.txt").is_file(), "it is not ours"


def test_two_files_of_one_study_count_once_and_others_together(tmp_path: Path) -> None:
    notices: list[Notice] = []
    for name, stamp in (("a", STAMP), ("b", STAMP), ("c", Rehearsal(simulated=1, judgments=2))):
        path = tmp_path / name
        path.write_text(f"# {stamp}\n{VOTES}")
        read_judgments(path, notices=notices)
    assert rehearsal_in(notices) == Rehearsal(simulated=1_201, judgments=1_236)


def test_every_verb_that_is_given_a_stamped_file_says_so(tmp_path: Path) -> None:
    votes, run, other, labels = (tmp_path / name for name in ("votes.txt", "one.run", "two.run", "own.qrels"))
    votes.write_text(f"# {STAMP}\n{VOTES}")
    run.write_text(
        "".join(f"{q} Q0 {d} {n} {9 - n} one\n" for q in ("q1", "q2") for n, d in enumerate("abc", 1))
    )
    other.write_text(
        "".join(f"{q} Q0 {d} {n} {9 - n} two\n" for q in ("q1", "q2") for n, d in enumerate("bac", 1))
    )
    labels.write_text("q1 0 a 1\nq2 0 b 1\n")
    liked = tmp_path / "liked.qrels"
    assert prefjudge.resolve(judgments=votes, out=liked).rehearsal == STAMP
    assert (tmp_path / "liked.rehearsal.txt").is_file(), "what is made of it is stamped, too"
    given = {"runs": [run, other], "qrels": labels}
    scored = prefjudge.score(runs=[run, other], qrels=[labels, liked], out=tmp_path / "board.csv")
    assert scored.rehearsal == STAMP
    assert scored.to_frame().attrs["provenance"]["rehearsal"].startswith("1,200 of 1,234")
    assert (tmp_path / "board.rehearsal.txt").is_file()
    assert prefjudge.score(**given).rehearsal is None
    assert prefjudge.score(**given, judgments=votes).rehearsal == STAMP
    ratios = prefjudge.winratio(**given, judgments=votes)
    assert ratios.rehearsal == STAMP
    assert ratios.to_frame().attrs["provenance"]["rehearsal"].startswith("1,200 of 1,234")
    assert prefjudge.workers(judgments=votes).rehearsal == STAMP
    assert prefjudge.stability(**given, judgments=[votes], trials=10).rehearsal == STAMP
    assert prefjudge.compare(runs=[run, other], qrels=[liked]).rehearsal == STAMP
    assert str(STAMP) in " ".join(prefjudge.check(votes).files[0].warnings)
    assert str(STAMP) in " ".join(prefjudge.plan(sizes="2:9", judgments=votes, trials=10).notices)
    alone = tmp_path / "elsewhere" / "liked.qrels"
    alone.parent.mkdir()
    alone.write_bytes(liked.read_bytes())
    assert prefjudge.score(runs=[run, other], qrels=[labels, alone]).rehearsal == STAMP
    values = tmp_path / "elsewhere" / "values.qrels"
    prefjudge.resolve(judgments=votes, form="values", out=tmp_path / "values.qrels")
    values.write_bytes((tmp_path / "values.qrels").read_bytes())
    assert prefjudge.score(runs=[run, other], qrels=[labels, values]).rehearsal == STAMP
    assert str(STAMP) in " ".join(prefjudge.check(alone).files[0].warnings)
    official = tmp_path / "official.csv"
    official.write_text(
        "id,date,description,team,eval,dev\none,2021/01/02,one,A,0.3,0.3\ntwo,2021/02/03,two,B,0.4,0.4\n"
    )
    assert prefjudge.score(**given, leaderboard=official, order_by=official).rehearsal is None
    write_beside(official, str(STAMP))
    assert prefjudge.score(**given, leaderboard=official).rehearsal == STAMP
    assert prefjudge.score(**given, order_by=official).rehearsal == STAMP
    assert str(STAMP) in " ".join(prefjudge.audit(official, out=tmp_path / "findings.md").notices)
    assert str(STAMP) in (tmp_path / "findings.md").read_text()
    made = prefjudge.reproduce(
        "shallow-pooling", runs=[run, other], qrels=[labels], judgments=votes, out=tmp_path / "p"
    )
    assert str(STAMP) in (tmp_path / "p" / "index.html").read_text(), made
