"""The second look at a run: the same answer out of the copy; a changed file is noticed."""

import os
import shutil
import time
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings

from prefjudge.engines.files.cache import RunCache
from prefjudge.engines.files.files import RunFiles
from prefjudge.engines.files.reading import Reading
from prefjudge.errors import InputError
from prefjudge.formats.labels.qrels import read_qrels
from prefjudge.formats.runs.runs import read_chunks

from .test_files import quick, run_files
from .test_trust import equal_heads, equal_ranks, text

READ = "prefjudge.engines.files.reading.read_chunks"
RUN = "q1 Q0 b 1 2 t\nq1 Q0 a 2 2 t\nq1 Q0 c 3 1 t\nq2 Q0 a-long-document-id 1 1 t\n"


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "run"
    path.write_text(RUN)
    age(path)
    (tmp_path / "qrels").write_text("q1 0 a 1\nq2 0 a-long-document-id 1\n")
    return path


def age(path, seconds=100):
    """Let a file look as if it had been written some time ago."""
    then = time.time() - seconds
    os.utime(path, (then, then))


@settings(quick, max_examples=40)
@given(data=run_files())
def test_a_copy_answers_as_the_file_does(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("run")
    (folder / "run").write_bytes(data)
    for order in ("score", "rank", "score-f32", "file"):
        for k in (1, 3):
            plain = RunFiles([folder / "run"], Reading(order=order)).top(k)
            for _ in range(2):
                equal_heads(
                    RunFiles([folder / "run"], Reading(order=order, cache=folder / "cache")).top(k),
                    plain,
                )


def test_the_second_look_does_not_read_the_file(run, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    monkeypatch.setattr("prefjudge.engines.files.cache._UNSETTLED", 0)  # the file was made just now
    qrels = read_qrels(tmp_path / "qrels")
    heads = RunFiles([run], Reading(cache=cache)).top(2)
    (ranks,) = RunFiles([run], Reading(cache=cache)).judged(qrels)
    with (
        patch(READ, side_effect=AssertionError("read")),
        patch("prefjudge.engines.files.cache.digest") as digest,
    ):
        equal_heads(RunFiles([run], Reading(cache=cache)).top(2), heads)
        equal_heads(RunFiles([run], Reading(cache=cache, trust=True)).top(2), heads)
        equal_ranks(RunFiles([run], Reading(cache=cache)).judged(qrels)[0], ranks)
        digest.assert_not_called()
    assert not list((cache / "runs").glob("*.part"))


def test_a_file_that_moved_is_known_by_its_digest(run, tmp_path):
    heads = RunFiles([run], Reading(cache=tmp_path / "cache")).top(1)
    run.rename(tmp_path / "elsewhere")
    with patch(READ, side_effect=AssertionError("read")):
        assert np.array_equal(
            RunFiles([tmp_path / "elsewhere"], Reading(cache=tmp_path / "cache")).top(1).doc, heads.doc
        )


def test_a_changed_file_is_noticed(run, tmp_path):
    cache = tmp_path / "cache"
    RunFiles([run], Reading(cache=cache)).top(1)
    run.write_text(RUN.replace("b 1 2", "z 1 9"))
    age(run, 50)
    assert "z" in RunFiles([run], Reading(cache=cache)).top(1).docs


def test_a_file_that_was_just_written_is_looked_at_again(run, tmp_path):
    cache = tmp_path / "cache"
    run.write_text(RUN)
    state = run.stat()
    RunFiles([run], Reading(cache=cache)).top(1)
    run.write_text(RUN.replace("q1 Q0 b 1 2", "q1 Q0 z 1 9"))
    os.utime(run, ns=(state.st_atime_ns, state.st_mtime_ns))  # a change that size and time do not tell
    assert "z" in RunFiles([run], Reading(cache=cache)).top(1).docs


@pytest.mark.parametrize("swapped", [True, False])
def test_a_file_of_the_same_size_and_time_is_another(run, tmp_path, swapped, monkeypatch):
    """As cp -p, rsync -t and tar leave them."""
    cache, other = tmp_path / "cache", tmp_path / "other"
    monkeypatch.setattr("prefjudge.engines.files.cache._UNSETTLED", 0)
    RunFiles([run], Reading(cache=cache)).top(1)
    state = run.stat()
    time.sleep(0.05)  # longer than a tick of the file system's clock
    target = other if swapped else run
    target.write_text(RUN.replace("b 1 2", "z 1 9"))
    os.utime(target, ns=(state.st_atime_ns, state.st_mtime_ns))
    if swapped:
        other.rename(run)
    assert (run.stat().st_size, run.stat().st_mtime_ns) == (state.st_size, state.st_mtime_ns)
    assert "z" in RunFiles([run], Reading(cache=cache)).top(1).docs


def test_a_file_that_changes_while_it_is_read_is_not_copied(run, tmp_path):
    """The copy would stand under the digest of the bytes that were there before, also for other files."""
    cache, twin = tmp_path / "cache", tmp_path / "twin"
    shutil.copy(run, twin)

    def change(path, **options):
        run.write_text(RUN.replace("q1 Q0 b 1 2", "q1 Q0 z 1 9"))
        return read_chunks(path, **options)

    with patch(READ, change):
        assert "z" in RunFiles([run], Reading(cache=cache)).top(1).docs
    assert "b" in RunFiles([twin], Reading(cache=cache)).top(1).docs
    assert "z" in RunFiles([run], Reading(cache=cache)).top(1).docs
    assert not list((cache / "runs").glob(".*"))


def test_a_damaged_copy_is_made_anew(run, tmp_path):
    cache = tmp_path / "cache"
    heads = RunFiles([run], Reading(cache=cache)).top(3)
    (copy,) = (cache / "runs").iterdir()
    (copy / "scores").write_bytes(b"")
    equal_heads(RunFiles([run], Reading(cache=cache)).top(3), heads)
    qrels = read_qrels(tmp_path / "qrels")
    (ranks,) = RunFiles([run]).judged(qrels)
    for name in ("docs", "scores", "queries", "bounds"):
        raw = bytearray((copy / name).read_bytes())
        raw[-1 if name == "queries" else len(raw) // 2] ^= 1  # a bit, and the size stays
        (copy / name).write_bytes(raw)
        equal_ranks(RunFiles([run], Reading(cache=cache)).judged(qrels)[0], ranks)
        equal_heads(RunFiles([run], Reading(cache=cache)).top(3), heads)
    (copy / "copy.json").write_text("{")
    equal_heads(RunFiles([run], Reading(cache=cache)).top(3), heads)
    with patch(READ, side_effect=AssertionError("read")):
        equal_heads(RunFiles([run], Reading(cache=cache)).top(3), heads)


def test_a_run_with_problems_is_not_copied(run, tmp_path):
    run.write_text(RUN + "q2 Q0 d 2 x t\n")
    for _ in range(2):
        with pytest.raises(InputError, match="run:5:11: the score is not a number: 'x'"):
            RunFiles([run], Reading(cache=tmp_path / "cache")).top(1)
    assert not list((tmp_path / "cache" / "runs").iterdir())


def test_notices_are_kept(run, tmp_path):
    run.write_text("\ufeff" + RUN)
    for _ in range(2):
        notices = []
        RunFiles([run], Reading(cache=tmp_path / "cache"), notices=notices).top(1)
        assert [str(n) for n in notices] == [f"{run}:1: starts with a byte order mark, which is ignored"]


def test_the_oldest_copies_go_first(run, tmp_path):
    cache = tmp_path / "cache"
    for number in range(3):
        run.write_text(RUN + f"q{number + 5} Q0 a 1 1 t\n")
        age(run)
        with patch("prefjudge.engines.files.cache.LIMIT", 800):
            RunFiles([run], Reading(cache=cache)).top(1)
            known = RunCache(cache)._known(str(run), look=True)
    assert (cache / "runs" / known.key).is_dir()
    assert len(list((cache / "runs").iterdir())) < 3


def test_nothing_that_is_not_ours_goes(run, tmp_path):
    """The folder may be one that holds runs, too."""
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    (tmp_path / "runs" / "mine" / "run.txt").write_text(RUN)
    with patch("prefjudge.engines.files.cache.LIMIT", 0):
        RunFiles([run], Reading(cache=tmp_path)).top(1)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["mine"]
    assert (tmp_path / "runs" / "mine" / "run.txt").read_text() == RUN


def test_the_folder_is_its_owners(run, tmp_path):
    RunFiles([run], Reading(cache=tmp_path / "cache")).top(1)
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cannot_be_written_is_no_error(run, tmp_path):
    (tmp_path / "cache").write_text("a file, not a folder")
    assert len(RunFiles([run], Reading(cache=tmp_path / "cache")).top(1).docs) == 2


@pytest.mark.parametrize("order", ["score", "score-f32", "rank", "file"])
@pytest.mark.parametrize("decimals", [0, 2, 9])
def test_judged_documents_of_a_copy(tmp_path, order, decimals):
    rng = np.random.default_rng(decimals)
    raw, pairs = text(rng, depth=(1, 60), decimals=decimals)
    (tmp_path / "run").write_text(raw.replace(" Q0 1", " Q0 a-document-with-a-long-id-1"))
    age(tmp_path / "run")
    chosen = [pairs[n] for n in rng.choice(len(pairs), 100, replace=False).tolist()]
    lines = [f"q{query} 0 {doc} 1\n" for query, doc in chosen] + ["q1 0 none 1\n", "q999 0 1 1\n"]
    lines += [f"q{query} 0 a-document-with-a-long-id-{str(doc)[1:]} 1\n" for query, doc in chosen]
    (tmp_path / "qrels").write_text("".join(dict.fromkeys(lines)))
    qrels = read_qrels(tmp_path / "qrels")
    (plain,) = RunFiles([tmp_path / "run"], Reading(order=order)).judged(qrels)
    for _ in range(2):
        equal_ranks(
            RunFiles([tmp_path / "run"], Reading(order=order, cache=tmp_path / "cache")).judged(qrels)[0],
            plain,
        )
