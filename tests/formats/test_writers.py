"""What is written is read back; a file is there whole or not at all."""

import gzip
import os
import stat
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from prefjudge.core.judgments import Judgments
from prefjudge.core.pools import Pools
from prefjudge.core.runs import Qrels
from prefjudge.errors import InputError
from prefjudge.reading import files as atomic
from prefjudge.reading.files import atomic_folder, atomic_write, write_text
from prefjudge.reading.labels import read_judgments, read_qrels, write_judgments, write_qrels
from prefjudge.reading.pools import write_pool, write_pref_qrels, write_prefs


def qrels(grades):
    n = len(grades)
    docs = tuple(f"d{i}" for i in range(n))
    return Qrels(
        name="x",
        queries=("q\udce9",),
        docs=docs,
        query=np.zeros(n, np.int32),
        doc=np.arange(n, dtype=np.int32),
        grade=np.array(grades, dtype=float),
    )


def test_qrels_go_round(tmp_path):
    write_qrels(tmp_path / "a" / "x.qrels", qrels([1, 0, -2]))
    assert (tmp_path / "a" / "x.qrels").read_bytes() == b"q\xe9 Q0 d0 1\nq\xe9 Q0 d1 0\nq\xe9 Q0 d2 -2\n"
    assert read_qrels(tmp_path / "a" / "x.qrels").grade.tolist() == [1, 0, -2]


def test_fractional_grades_are_not_written_by_chance(tmp_path):
    with pytest.raises(InputError, match=r"grade 0\.5 of document 'd1' is a fraction"):
        write_qrels(tmp_path / "x", qrels([1, 0.5]))
    assert not list(tmp_path.iterdir())
    write_qrels(tmp_path / "x", qrels([1, 0.5]), fractions=True)
    assert read_qrels(tmp_path / "x", fractions=True).grade.tolist() == [1, 0.5]


def judgments(workers=()):
    worker = np.arange(3, dtype=np.int32) % 2 if workers else np.full(3, -1, np.int32)
    return Judgments(
        queries=("q1", "q2"),
        docs=("a", "b"),
        workers=workers,
        query=np.array([0, 0, 1], np.int32),
        left=np.array([0, 1, 0], np.int32),
        right=np.array([1, 0, 1], np.int32),
        choice=np.array([1, -1, 0], np.int8),
        strength=np.ones(3, np.int8),
        worker=worker,
    )


@pytest.mark.parametrize("workers", [(), ("w1", "w2")])
def test_judgments_go_round(tmp_path, workers):
    write_judgments(tmp_path / "j.txt", judgments(workers))
    again = read_judgments(tmp_path / "j.txt")
    assert again.choice.tolist() == [1, -1, 0]
    assert again.workers == workers


def test_prefs_of_trec_eval(tmp_path):
    write_prefs(tmp_path / "p", judgments(("w1", "w2")))
    assert (tmp_path / "p").read_text().splitlines() == [
        "q1 w1 p1 a 2",
        "q1 w1 p1 b 0",
        "q1 w2 p2 b 0",
        "q1 w2 p2 a 2",
        "q2 w1 p3 a 1",
        "q2 w1 p3 b 1",
    ]


def test_pool_and_pref_qrels(tmp_path):
    pools = Pools(
        queries=("q1", "q2", "q"),
        docs=("d1", "d10", "é", "a-document-of-" + "a-very-long-name-" * 9),
        query=np.array([0, 0, 2, 2], np.int32),
        doc=np.array([0, 2, 1, 3], np.int32),
        sources=("run2", "a run, by its file", "qrels"),
        source_row=np.array([0, 3, 1, 0, 2, 0], np.int32),
        source=np.array([0, 1, 2, 2, 0, 1], np.int32),
    )
    write_pool(tmp_path / "pool", pools)
    assert (tmp_path / "pool").read_text() == (
        "# query\tdoc\tcontributors\n"
        "q1\td1\ta run, by its file,qrels,run2\n"
        "q1\té\tqrels\n"
        "q\td10\trun2\n"
        f"q\t{pools.docs[3]}\ta run, by its file\n"
    )
    for empty in ("", "a\tb", "a ", "\n"):
        with pytest.raises(InputError, match="holds a blank"):
            write_pool(tmp_path / "none", replace(pools, docs=("d1", "d10", "é", empty)))
    nothing = np.zeros(0, np.int32)
    nobody = replace(pools, query=nothing, doc=nothing, source_row=nothing, source=nothing, docs=())
    write_pool(tmp_path / "empty", nobody)
    assert (tmp_path / "empty").read_text() == "# query\tdoc\tcontributors\n"
    write_pref_qrels(tmp_path / "pref", [("q1", "d1", 2.5)])
    assert (tmp_path / "pref").read_text() == "q1 Q0 d1 2.5\n"


def test_an_id_with_a_blank_would_break_the_columns(tmp_path):
    with pytest.raises(InputError, match="'a b' holds a blank"):
        write_pref_qrels(tmp_path / "pref", [("q1", "a b", 2.5)])
    assert not list(tmp_path.iterdir())


def test_an_error_leaves_the_old_file(tmp_path):
    write_text(tmp_path / "x", "old")
    with pytest.raises(TypeError), atomic_write(tmp_path / "x") as file:
        file.writelines([b"new", "not bytes"])
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_text() == "old"


def test_the_same_content_gives_the_same_bytes_compressed(tmp_path):
    for name in ("a.gz", "b.gz"):
        write_text(tmp_path / name, "text\n" * 99)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"text\n" * 99


@pytest.mark.skipif(os.name == "nt", reason="file modes are POSIX")
def test_files_have_the_usual_mode(tmp_path):
    (tmp_path / "plain").write_text("")
    write_text(tmp_path / "x", "text")
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_a_folder_that_cannot_be_made_is_an_input_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_text(tmp_path / "file" / "x", "text")


def test_a_folder_that_may_not_be_looked_into_is_an_input_error(tmp_path, monkeypatch):
    def denied(self: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "is_dir", denied)  # nothing is denied to a superuser
    with pytest.raises(InputError, match=r"table\.csv cannot be written: Permission denied"):
        write_text(tmp_path / "table.csv", "text")


@pytest.mark.parametrize(("name", "message"), [("folder", "is a folder"), ("-", "standard output")])
def test_what_is_no_file_is_not_written(tmp_path, name, message):
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=message):
        write_text(tmp_path / name, "text")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_no_file_takes_the_place_of_a_device_or_a_pipe(tmp_path):
    """A superuser's --out /dev/null would replace it for everybody."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to(os.devnull)
    for path in (tmp_path / "pipe", tmp_path / "null", os.devnull, "/dev/stdout", "/dev/fd/1"):
        with pytest.raises(InputError, match=r"standard output|a pipe or a device"):
            write_text(path, "text")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert not stat.S_ISREG(Path(os.devnull).stat().st_mode)


def test_a_name_that_is_taken_meanwhile_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="cannot be written"), atomic_write(tmp_path / "x"):
        (tmp_path / "x").mkdir()
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


WRITING = """
import os, sys
from prefjudge.reading.files import atomic_folder, atomic_write

target, until = sys.argv[1:]
rename = os.rename

def wait(*_):
    print("waiting", flush=True)
    sys.stdin.read()

os.rename = lambda old, new: wait() if until == "set aside" and str(new) == target else rename(old, new)
if until == "file":
    with atomic_write(target) as file:
        file.write(b"half")
        file.flush()
        wait()
with atomic_folder(target) as folder:
    (folder / "part-0").write_text("half")
    if until == "folder":
        wait()
"""


@pytest.mark.parametrize("until", ["file", "folder", "set aside"])
def test_what_a_killed_program_leaves_is_removed_a_day_later(tmp_path, until):
    """But not what one writes that lives; another file's is its own, and what was there is not lost."""
    target, other = tmp_path / "a[1].tsv", tmp_path / ".a[1].tsv.gz.0123456789ab.part"
    other.write_text("")
    os.utime(other, (0, 0))

    def write(text: str) -> None:
        atomic._parts_in.cache_clear()  # as in a program of its own
        if until == "file":
            write_text(target, text)
        else:
            with atomic_folder(target) as folder:
                (folder / "part-0").write_text(text)

    def read() -> str:
        return (target if until == "file" else target / "part-0").read_text()

    write("before")
    command = [sys.executable, "-c", WRITING, str(target), until]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"waiting\n"
        assert target.exists() == (until != "set aside")
        writer.kill()
    left = {*tmp_path.iterdir()} - {target, other}
    assert len(left) == 1 + (until == "set aside")
    if until != "set aside":
        write("theirs")
        assert {*tmp_path.iterdir()} == {target, other, *left}
    for path in left:
        os.utime(path, (0, 0))
    atomic._parts_in.cache_clear()
    with suppress(EOFError), atomic_write(target) if until == "file" else atomic_folder(target):
        assert read() == ("before" if until == "set aside" else "theirs")
        raise EOFError
    assert {*tmp_path.iterdir()} == {target, other}
    write("again")
    assert read() == "again"
    assert {*tmp_path.iterdir()} == {target, other}


def test_a_folder_is_looked_at_once_however_many_files_are_written(tmp_path, monkeypatch):
    """The pages of a study are thousands."""
    looks = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: looks.append(path) or scandir(path))
    for number in range(5):
        write_text(tmp_path / f"{number}.html", "page")
    assert len(looks) == 1


def test_a_folder_that_may_not_be_listed_is_written_in(tmp_path, monkeypatch):
    def denied(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", denied)  # nothing is denied to a superuser
    write_text(tmp_path / "x", "text")
    assert (tmp_path / "x").read_text() == "text"
