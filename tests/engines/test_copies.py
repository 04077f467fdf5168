"""The second look at a run: the same answer, out of the copy, or the file where there is none to be had."""

import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings

from prefjudge import pool, score
from prefjudge.errors import InputError
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.runs import copies
from prefjudge.reading.runs.copies import RunCopies, copies_of
from prefjudge.reading.runs.heads import Reading, RunFiles, units_of
from prefjudge.reading.runs.runs import read_chunks
from prefjudge.reading.unpacking import parts_of

from .test_files import quick, run_files

READ = "prefjudge.reading.runs.heads.read_chunks"
RUN = "q1 Q0 b 1 2 t\nq1 Q0 a 2 2 t\nq1 Q0 c 3 1 t\nq2 Q0 a-long-document-id 1 1 t\n"


def text(rng, *, queries=60, depth=(1, 300), decimals=2, sep=" "):
    """Return a sorted run with many ties and depths that jump about, and the documents of each query."""
    lines, pairs = [], []
    for query in rng.permutation(queries).tolist():
        docs = rng.choice(5000, int(rng.integers(*depth)), replace=False).tolist()
        scores = np.sort(rng.gamma(2, 3, len(docs)))[::-1].round(decimals).tolist()
        pairs += [(query, doc) for doc in docs]
        rows = enumerate(zip(docs, scores, strict=True), 1)
        lines += [
            sep.join((f"q{query}", "Q0", str(doc), str(n), str(score), "t")) for n, (doc, score) in rows
        ]
    return "\n".join(lines) + "\n", pairs


def equal_heads(a, b):
    assert (a.runs, a.queries, a.docs) == (b.runs, b.queries, b.docs)
    for column in ("list_run", "list_query", "start", "doc"):
        assert np.array_equal(getattr(a, column), getattr(b, column))


def equal_ranks(a, b):
    for column in ("query", "judged", "position", "best", "worst", "grade", "retrieved"):
        assert np.array_equal(getattr(a, column), getattr(b, column)), column


def damaged(rng, lines):
    """Return a run with one thing changed, most often far below the top."""
    row, other = sorted(rng.integers(1, len(lines), 2).tolist())
    words = lines[row].split(" ")
    kind = int(rng.integers(9))
    if kind == 0:  # two lines change places
        lines[row], lines[other] = lines[other], lines[row]
    elif kind == 1:  # a line is taken out, and the ranks stay
        del lines[row]
    elif kind == 2:  # a score rises
        lines[row] = " ".join([*words[:4], "99.5", *words[5:]])
    elif kind == 3:  # a rank is another
        lines[row] = " ".join([*words[:3], str(other), *words[4:]])
    elif kind == 4:  # a query comes back at the end
        lines.append(lines.pop(row))
    elif kind == 5:
        lines.insert(row, ["", "# q1 Q0 5 1 1 t", "#q1 Q0 5 1 1 t", "  "][other % 4])
    elif kind == 6:  # other blanks
        lines[row] = ["\t".join(words), "  ".join(words), " " + lines[row], lines[row] + " "][other % 4]
    elif kind == 7:
        lines[row] += "\r"
    else:  # a CR alone
        lines[row - 1 : row + 1] = [lines[row - 1] + "\r" + lines[row]]
    return lines


class Copied(RunFiles):
    """Run files with copies in a folder."""

    def __init__(self, folder, *paths, order="score", **more):
        folder.mkdir(mode=0o700, exist_ok=True)
        own = RunCopies(folder, frozenset(map(str, paths)), 10**9)
        super().__init__(paths, Reading(order=order, copies=own), **more)


@pytest.fixture(autouse=True)
def settled(monkeypatch):
    """Files are made just now, and take part nevertheless."""
    monkeypatch.setattr(copies, "_UNSETTLED", 0)


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "run"
    path.write_text(RUN)
    (tmp_path / "qrels").write_text("q1 0 a 1\nq2 0 a-long-document-id 1\n")
    return path


@settings(quick, max_examples=40)
@given(data=run_files())
def test_a_copy_answers_as_the_file_does(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("run")
    (folder / "run").write_bytes(data)
    for order in ("score", "rank", "score-f32", "file"):
        for k in (1, 3):
            plain = RunFiles([folder / "run"], Reading(order=order)).top(k)
            for _ in range(2):
                equal_heads(Copied(folder / "cache", folder / "run", order=order).top(k), plain)


def refused(runs, qrels):
    """Return why runs cannot be read; None where they can."""
    try:
        runs.judged(qrels)
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("order", ["score", "score-f32", "rank", "file"])
def test_a_copy_of_an_odd_file_answers_as_the_file_does(tmp_path, seed, order):
    """Lines moved, missing, out of order, with other blanks: read in parts or as one, now and again."""
    rng = np.random.default_rng([seed, 17])
    raw, pairs = text(rng, queries=8, depth=(1, 400), decimals=int(rng.integers(0, 10)))
    path = tmp_path / "run"
    path.write_bytes("\n".join(damaged(rng, raw.splitlines())).encode())
    chosen = [pairs[n] for n in rng.choice(len(pairs), 12, replace=False).tolist()]
    labels = [f"q{query} 0 {doc} 1\n" for query, doc in chosen] + ["q1 0 none 1\n", "q999 0 1 1\n"]
    (tmp_path / "qrels").write_text("".join(labels))
    qrels = read_qrels(tmp_path / "qrels")
    if (said := refused(RunFiles([path], Reading(order=order)), qrels)) is not None:
        assert refused(Copied(tmp_path / "cache", path, order=order), qrels) == said
        return
    (ranks,) = RunFiles([path], Reading(order=order)).judged(qrels)
    with patch("prefjudge.reading.runs.heads.parts_of", partial(parts_of, size=4000)):
        for _ in range(2):
            notices = []
            copied = Copied(tmp_path / "cache", path, order=order, notices=notices)
            equal_ranks(copied.judged(qrels)[0], ranks)
            equal_heads(copied.top(5), RunFiles([path], Reading(order=order)).top(5))


def test_the_second_look_does_not_read_the_file(run, tmp_path):
    cache, qrels = tmp_path / "cache", read_qrels(tmp_path / "qrels")
    heads = Copied(cache, run).top(2)
    (ranks,) = Copied(cache, run).judged(qrels)
    with patch(READ, side_effect=AssertionError("read")):
        equal_heads(Copied(cache, run).top(2), heads)
        equal_ranks(Copied(cache, run).judged(qrels)[0], ranks)
    assert not list(cache.glob(".*"))


def test_a_large_file_has_copies_of_its_parts(tmp_path):
    """So that they are made side by side; one whose queries do not stand together has one of all of it."""
    raw, _ = text(np.random.default_rng(6), queries=60, depth=(5, 40), decimals=1)
    lines = raw.splitlines(keepends=True)
    (tmp_path / "run").write_text(raw)
    (tmp_path / "scattered").write_text("".join([*lines[3:], *lines[:3]]))
    with patch("prefjudge.reading.runs.heads.parts_of", partial(parts_of, size=4000)):
        for name, count in (("run", 4), ("scattered", 1)):
            path = str(tmp_path / name)
            plain = RunFiles([path]).top(3)
            equal_heads(Copied(tmp_path / "cache", path).top(3), plain)
            with patch(READ, side_effect=AssertionError("read")):
                equal_heads(Copied(tmp_path / "cache", path).top(3), plain)
            own = RunCopies(tmp_path / "cache", frozenset([path]), 10**9)
            assert (len(units_of([path], own)) >= count) == all(map(own.has, units_of([path], own)))


def test_a_changed_file_is_noticed(run, tmp_path):
    Copied(tmp_path / "cache", run).top(1)
    run.write_text(RUN.replace("b 1 2", "z 1 9"))
    assert "z" in Copied(tmp_path / "cache", run).top(1).docs


def test_a_file_that_was_just_written_is_read(run, tmp_path, monkeypatch):
    monkeypatch.undo()
    state = run.stat()
    Copied(tmp_path / "cache", run).top(1)
    run.write_text(RUN.replace("q1 Q0 b 1 2", "q1 Q0 z 1 9"))
    os.utime(run, ns=(state.st_atime_ns, state.st_mtime_ns))  # a change that size and time do not tell
    assert "z" in Copied(tmp_path / "cache", run).top(1).docs
    assert not list((tmp_path / "cache").iterdir())


@pytest.mark.parametrize("swapped", [True, False])
def test_a_file_of_the_same_size_and_time_is_another(run, tmp_path, swapped):
    """As cp -p, rsync -t and tar leave them."""
    cache, other = tmp_path / "cache", tmp_path / "other"
    Copied(cache, run).top(1)
    state = run.stat()
    time.sleep(0.05)  # longer than a tick of the file system's clock
    target = other if swapped else run
    target.write_text(RUN.replace("b 1 2", "z 1 9"))
    os.utime(target, ns=(state.st_atime_ns, state.st_mtime_ns))
    if swapped:
        other.rename(run)
    assert (run.stat().st_size, run.stat().st_mtime_ns) == (state.st_size, state.st_mtime_ns)
    assert "z" in Copied(cache, run).top(1).docs


def test_a_file_that_changes_while_it_is_read_is_not_copied(run, tmp_path):
    cache = tmp_path / "cache"

    def change(path, **options):
        run.write_text(RUN.replace("q1 Q0 b 1 2", "q1 Q0 z 1 9"))
        return read_chunks(path, **options)

    with patch(READ, change):
        assert "z" in Copied(cache, run).top(1).docs
    assert not list(cache.iterdir())


def the_copy(cache):
    (copy,) = cache.iterdir()
    return copy


def test_a_damaged_copy_is_made_anew(run, tmp_path):
    """Cut off, or with one bit changed, or without one of its files."""
    cache = tmp_path / "cache"
    heads, qrels = Copied(cache, run).top(3), read_qrels(tmp_path / "qrels")
    (ranks,) = RunFiles([run]).judged(qrels)
    for name in ("docs", "scores", "queries", "bounds", "copy.json"):
        for damage in ("bit", "cut", "gone"):
            file = the_copy(cache) / name
            raw = bytearray(file.read_bytes())
            raw[-1 if name == "queries" else len(raw) // 2] ^= 1
            file.unlink()
            if damage != "gone":
                file.write_bytes(raw if damage == "bit" else raw[: len(raw) // 2])
            equal_ranks(Copied(cache, run).judged(qrels)[0], ranks)
            equal_heads(Copied(cache, run).top(3), heads)
    with patch(READ, side_effect=AssertionError("read")):
        equal_heads(Copied(cache, run).top(3), heads)


def test_a_copy_under_the_name_of_another_is_not_used(run, tmp_path):
    """Nor one of another version of this program, nor behind a link, nor where others may write."""
    cache, other = tmp_path / "cache", tmp_path / "other"
    other.write_text(RUN.replace("b 1 2", "z 1 9"))
    Copied(cache, run).top(1)
    own = the_copy(cache)
    Copied(cache, other).top(1)
    (foreign,) = set(cache.iterdir()) - {own}
    heads = RunFiles([run]).top(1)
    shutil.rmtree(own)
    shutil.copytree(foreign, own)
    equal_heads(Copied(cache, run).top(1), heads)
    shutil.rmtree(own)
    own.symlink_to(foreign)
    equal_heads(Copied(cache, run).top(1), heads)
    with patch.object(copies, "__version__", "0.0"):
        equal_heads(Copied(cache, run).top(1), heads)
    equal_heads(Copied(tmp_path / "open", run).top(1), heads)
    the_copy(tmp_path / "open").chmod(0o777)
    with patch("prefjudge.reading.runs.copies.json.loads", side_effect=AssertionError("looked at")):
        equal_heads(Copied(tmp_path / "open", run).top(1), heads)


def test_a_run_with_problems_is_not_copied(run, tmp_path):
    run.write_text(RUN + "q2 Q0 d 2 x t\n")
    for _ in range(2):
        with pytest.raises(InputError, match="run:5:11: the score is not a number: 'x'"):
            Copied(tmp_path / "cache", run).top(1)
    assert not list((tmp_path / "cache").iterdir())


def test_notices_are_kept(run, tmp_path):
    run.write_text("\ufeff" + RUN)
    for _ in range(2):
        notices = []
        Copied(tmp_path / "cache", run, notices=notices).top(1)
        assert [str(n) for n in notices] == [f"{run}:1: starts with a byte order mark, which is ignored"]


def test_the_oldest_copies_go_first_and_nothing_that_is_not_ours(run, tmp_path):
    cache = tmp_path / "cache"
    paths = []
    for number in range(3):
        paths.append(tmp_path / f"run{number}")
        paths[-1].write_text(RUN + f"q{number + 5} Q0 a 1 1 t\n")
        Copied(cache, paths[-1]).top(1)
        time.sleep(0.02)
    Copied(cache, paths[0]).top(1)  # used last
    size = sum(file.stat().st_size for file in next(cache.iterdir()).iterdir())
    (cache / "mine").mkdir()
    (cache / "mine" / "run.txt").write_text(RUN)
    left = cache / f".{'0' * 64}.{'1' * 8}.part"  # by a program that was killed
    left.mkdir()
    os.utime(left, (0, 0))
    RunCopies(cache, frozenset(), 5 * size // 2).trim()
    own = RunCopies(cache, frozenset(map(str, paths)), 0)
    assert [own.has(str(path)) for path in paths] == [True, False, True]
    assert not left.exists()
    own.trim()
    assert [path.name for path in cache.iterdir()] == ["mine"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user's home, in which every run is worth a copy."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setattr(copies, "WORTH", 1)
    return tmp_path / "caches" / "prefjudge" / "runs"


def files_of(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_large_runs_are_copied_by_themselves_and_it_is_told_once(run, tmp_path, home, monkeypatch):
    asked = {"runs": [run], "qrels": [str(tmp_path / "qrels")]}
    plain = score(**asked, workers=ThreadPoolExecutor(1))  # not by an executor, which may be anywhere
    assert not home.exists()
    first, again = score(**asked), score(**asked)
    (told,) = set(first.notices) - set(plain.notices)
    assert told.startswith(f"{home}: copies of checked runs are kept there from now on, up to 5 GB")
    assert "PREFJUDGE_COPIES=0" in told
    assert again.notices == plain.notices
    assert first.leaderboards == again.leaderboards == plain.leaderboards
    assert {path.stat().st_mode & 0o777 for path in files_of(home)} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (home.parent, home, *home.iterdir())} == {0o700}
    with patch(READ, side_effect=AssertionError("read")):
        assert score(**asked).leaderboards == plain.leaderboards
        monkeypatch.setenv("PREFJUDGE_COPIES", "0")
        with pytest.raises(AssertionError, match="read"):
            score(**asked)


def test_small_runs_are_not_copied(run, home, monkeypatch):
    monkeypatch.setattr(copies, "WORTH", run.stat().st_size + 1)
    assert copies_of([run], []) is None
    other = run.with_name("other")
    assert copies_of([run, other], []) is None
    other.write_text(RUN)
    assert copies_of([run, other], []) is not None


@pytest.mark.parametrize("kind", ["link", "file", "open to others", "open above", "read only"])
def test_a_folder_that_is_not_safe_is_not_used(run, tmp_path, home, kind):
    """Where somebody else could plant a copy; and where nothing can be written."""
    (tmp_path / "caches").mkdir()
    if kind == "link":
        (tmp_path / "elsewhere" / "runs").mkdir(parents=True)
        (tmp_path / "caches" / "prefjudge").symlink_to(tmp_path / "elsewhere")
    elif kind == "file":
        (tmp_path / "caches" / "prefjudge").write_text("a file")
    elif kind == "open to others":
        home.mkdir(parents=True)
        home.chmod(0o777)
    elif kind == "open above":
        (tmp_path / "caches").chmod(0o777)
    else:
        (tmp_path / "caches").chmod(0o500)
        if os.access(tmp_path / "caches", os.W_OK):
            pytest.skip("a superuser writes everywhere")
    notices = []
    assert copies_of([run], notices) is None
    assert not notices
    assert not files_of(tmp_path / "elsewhere")
    assert len(pool(runs=[run]).runs) == 1


def test_copies_take_no_more_than_a_tenth_of_the_free_disk(run, tmp_path, home):
    other = tmp_path / "other"
    other.write_text(RUN * 3)
    usage = shutil.disk_usage(tmp_path)
    for free, names in (
        (10 * len(RUN) + 9, {str(run)}),
        (40 * len(RUN) + 40, {str(run), str(other)}),
        (5, set()),
    ):
        with patch("prefjudge.reading.runs.copies.shutil.disk_usage", return_value=usage._replace(free=free)):
            found = copies_of([other, run], [])
        assert found.names == names


def test_a_full_disk_is_no_error(run, tmp_path):
    """Wherever it shows: as a column is written, or as it is closed."""
    heads = RunFiles([run]).top(2)
    for name in ("docs", "scores", "bounds", "queries", "copy.json"):

        def full(path, name=name, new=copies._new_file):
            return Path("/dev/full").open("wb") if path.name == name else new(path)

        with patch.object(copies, "_new_file", full):
            equal_heads(Copied(tmp_path / "cache", run).top(2), heads)
        assert not list((tmp_path / "cache").iterdir())


KILLED = """
import sys
from prefjudge.reading.runs import copies
from prefjudge.reading.runs.heads import RunFiles
from prefjudge.reading.runs.heads import units_of
from prefjudge.reading.runs.heads import Reading
from pathlib import Path
copies._UNSETTLED = 0
folder, run, after = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
made = 0
def counted(path, new=copies._new_file):
    global made
    made += 1
    if made > after:
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)
    return new(path)
copies._new_file = counted
RunFiles([run], Reading(copies=copies.RunCopies(folder, frozenset([run]), 10**9))).top(2)
"""


@pytest.mark.parametrize("after", [0, 2, 4])
def test_a_killed_program_leaves_no_copy(run, tmp_path, after):
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    done = subprocess.run([sys.executable, "-c", KILLED, cache, run, str(after)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [path.name.endswith(".part") for path in cache.iterdir()] == [True]
    equal_heads(Copied(cache, run).top(2), RunFiles([run]).top(2))


def test_two_at_once_leave_one_whole_copy(tmp_path):
    raw, _ = text(np.random.default_rng(2), queries=200, decimals=3)
    path, cache = tmp_path / "run", tmp_path / "cache"
    path.write_text(raw)
    plain = RunFiles([path]).top(3)
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: Copied(cache, path).top(3), range(12)):
            equal_heads(found, plain)
    with patch(READ, side_effect=AssertionError("read")):
        equal_heads(Copied(cache, path).top(3), plain)
    assert len(list(cache.iterdir())) == 1
