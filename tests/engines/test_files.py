"""Tops and judged positions against a reader that splits lines and sorts tuples."""

import functools
import gzip
import math
import struct
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prefjudge.core.runs import Order
from prefjudge.errors import InputError
from prefjudge.reading.files import decode
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.runs.heads import Reading, RunFiles

BLANKS = (b" ", b"\t", b"  ", b" \t ")


def single(score):
    """Round to float32 as C does: what is too large is infinite."""
    try:
        return struct.unpack("f", struct.pack("f", score))[0]
    except OverflowError:
        return math.copysign(math.inf, score)


@functools.lru_cache
def naive(data, order):
    """Rank as slowly and plainly as can be: {query: [(doc, score)]}, queries as they first come."""
    rows = {}
    for line in data.split(b"\n"):
        parts = line.split()
        if not parts or parts[0].startswith(b"#"):
            continue
        if len(parts) == 3:
            parts = [parts[0], b"Q0", parts[1], parts[2], b"%d" % -int(parts[2])]
        rows.setdefault(parts[0], []).append((parts[2], int(parts[3]), float(parts[4])))
    ranked = {}
    for query, docs in rows.items():
        if order is not Order.FILE:
            docs = sorted(docs, reverse=True)
            keys = {
                Order.SCORE: lambda row: -row[2],
                Order.SCORE_F32: lambda row: -single(row[2]),
                Order.RANK: lambda row: row[1],
            }
            docs = sorted(docs, key=keys[order])
        ranked[query] = [(doc, score) for doc, _, score in docs]
    return ranked


def as_lists(heads, run=0):
    """Return the heads of one run in the form of `naive`."""
    ranked = {}
    position = heads.position  # computed each time it is asked for
    for row in np.flatnonzero(heads.run == run).tolist():
        query = heads.queries[heads.query[row]]
        ranked.setdefault(query, []).append(heads.docs[heads.doc[row]])
        assert position[row] == len(ranked[query])
    return ranked


def cut(ranked, k):
    return {decode(query): [decode(doc) for doc, _ in rows[:k]] for query, rows in ranked.items()}


ids = st.one_of(
    st.sampled_from(
        [b"1", b"01", b"007", b"7", b"NA", b"nan", b"null", b'"q"', b"'", b"Q0", b"caf\xc3\xa9", b"\xe9"]
    ),
    st.binary(min_size=1, max_size=30).map(lambda raw: b"x" + raw.translate(None, b"\t\n\v\f\r \0")),
)
scores = st.one_of(
    st.sampled_from(
        [b"1", b"1.0", b"-1", b"0", b"-0.0", b"inf", b"-inf", b"1e3", b"16777217", b"16777216", b".5"]
    ),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda x: repr(x).encode()),
    st.integers(-5, 5).map(lambda x: b"%d" % x),
)


@st.composite
def run_files(draw):
    """Adversarial runs: ties, odd ids, queries that come back, blanks of all kinds, comments."""
    pairs = draw(st.lists(st.tuples(ids, ids), min_size=1, max_size=40, unique=True))
    if draw(st.booleans()):
        pairs.sort(key=lambda pair: pair[0])
    columns = draw(st.sampled_from([3, 5, 6, 6, 6]))
    end = draw(st.sampled_from([b"\n", b"\r\n", b" \n"]))
    tag = draw(st.sampled_from([b"tag", b"a tag"]))
    lines = []
    for query, doc in pairs:
        rank, score = b"%d" % draw(st.integers(-2, 9)), draw(scores)
        parts = [query, doc, rank] if columns == 3 else [query, b"Q0", doc, rank, score]
        if columns == 6:
            parts.append(tag)
        lines.append(draw(st.sampled_from(BLANKS)).join(parts) + end)
        if draw(st.integers(0, 9)) == 0:
            lines.append(draw(st.sampled_from([b"\n", b"# a comment\n", b"   \n"])))
    data = b"".join(lines)
    return data[: -len(end)] if draw(st.booleans()) and data.endswith(end) and len(lines) > 1 else data


quick = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


@quick
@given(
    data=run_files(),
    k=st.sampled_from([1, 2, 10, 100]),
    order=st.sampled_from(list(Order)),
)
def test_top_is_what_sorting_gives(tmp_path_factory, data, k, order):
    path = tmp_path_factory.mktemp("run") / "run"
    path.write_bytes(data)
    heads = RunFiles([path], Reading(order=order)).top(k)
    assert as_lists(heads) == cut(naive(data, order), k)
    assert heads.order is order


@quick
@given(
    data=run_files(),
    order=st.sampled_from(list(Order)),
    pick=st.randoms(use_true_random=False),
)
def test_judged_positions_are_what_sorting_gives(tmp_path_factory, data, order, pick):
    folder = tmp_path_factory.mktemp("run")
    (folder / "run").write_bytes(data)
    ranked = naive(data, order)
    chosen = [(q, doc) for q, rows in ranked.items() if not q.startswith(b"#") for doc, _ in rows]
    chosen = [*pick.sample(chosen, min(len(chosen), 5)), (chosen[0][0], b"unseen")]
    pick.shuffle(chosen)
    (folder / "qrels").write_bytes(
        b"".join(b"%b\tQ0\t%b\t%d\n" % (q, d, n % 3) for n, (q, d) in enumerate(chosen))
    )
    qrels = read_qrels(folder / "qrels")
    (ranks,) = RunFiles([folder / "run"], Reading(order=order)).judged(qrels)
    got = {
        (qrels.queries[q], qrels.docs[qrels.doc[row]]): (int(p), float(g))
        for q, row, p, g in zip(ranks.query, ranks.judged, ranks.position, ranks.grade, strict=True)
    }
    want = {}
    for n, (query, doc) in enumerate(chosen):
        docs = [name for name, _ in ranked[query]]
        if doc in docs:
            want[decode(query), decode(doc)] = (docs.index(doc) + 1, float(n % 3))
    assert got == want
    assert (ranks.best <= ranks.position).all()
    assert (ranks.position <= ranks.worst).all()
    assert ranks.retrieved.tolist() == [
        len(ranked[q.encode("utf-8", "surrogateescape")]) for q in qrels.queries
    ]


@functools.lru_cache
def unpacked(path):
    return gzip.decompress(path.read_bytes())


@pytest.mark.parametrize("order", [Order.SCORE, Order.SCORE_F32, Order.RANK, Order.FILE])
def test_real_runs(data_dir, order):
    dl21 = data_dir / "dl21" / "runs"
    paths = [
        *sorted((data_dir / "cacm" / "runs").iterdir())[::3],
        dl21 / "top1000.txt.gz",
        dl21 / "yorku21_c.txt.gz",
    ]
    depths = (1, 10, 100)
    found = [RunFiles(paths, Reading(order=order)).top(k) for k in depths]
    for run, path in enumerate(paths):
        ranked = naive(unpacked(path), order)  # by Python, for a million lines
        for heads, k in zip(found, depths, strict=True):
            assert as_lists(heads, run) == cut(ranked, k), (path, k)


def test_spans_of_ties(tmp_path):
    (tmp_path / "run").write_text("q Q0 a 1 5 t\nq Q0 b 2 3 t\nq Q0 d 3 3 t\nq Q0 c 4 3 t\nq Q0 e 5 1 t\n")
    (tmp_path / "qrels").write_text("q 0 c 1\nq 0 a 1\nq 0 e 1\n")
    (ranks,) = RunFiles([tmp_path / "run"]).judged(read_qrels(tmp_path / "qrels"))
    spans = np.stack([ranks.judged, ranks.best, ranks.position, ranks.worst], axis=1).tolist()
    assert spans == [[1, 1, 1, 1], [0, 2, 3, 4], [2, 5, 5, 5]]


def test_results_do_not_depend_on_the_executor(data_dir):
    paths = sorted((data_dir / "cacm" / "runs").iterdir())
    qrels = read_qrels(data_dir / "cacm" / "qrels.txt")
    heads, ranks = RunFiles(paths).top(3), RunFiles(paths).judged(qrels)
    for kind in (ThreadPoolExecutor, partial(ProcessPoolExecutor, mp_context=get_context("spawn"))):
        with kind(2) as executor:
            others = RunFiles(paths, executor=executor).top(3)
            assert (heads.runs, heads.queries, heads.docs) == (others.runs, others.queries, others.docs)
            assert np.array_equal(heads.doc, others.doc)
            again = RunFiles(paths, executor=executor).judged(qrels)
            assert all(np.array_equal(a.position, b.position) for a, b in zip(ranks, again, strict=True))


def test_queries_restrict(tmp_path):
    (tmp_path / "run").write_text("1 Q0 a 1 5 t\n2 Q0 b 1 5 t\n3 Q0 c 1 5 t\n")
    heads = RunFiles([tmp_path / "run"]).top(1, ["3", "1", "9"])
    assert as_lists(heads) == {"1": ["a"], "3": ["c"]}


@pytest.mark.parametrize(("choice", "kept"), [("first", ["b", "a"]), ("best", ["a", "b"])])
def test_a_document_listed_twice(tmp_path, choice, kept):
    (tmp_path / "run").write_text("q Q0 a 1 1 t\nq Q0 b 2 2 t\nq Q0 a 3 3 t\nq Q0 a 4 0 t\n")
    assert as_lists(RunFiles([tmp_path / "run"], Reading(on_duplicate=choice)).top(9)) == {"q": kept}


def test_tags(tmp_path):
    line = "q Q0 a 1 1"
    for name, tag in (("one.txt", "same"), ("two.txt", "same"), ("three", "own"), ("four.run", "")):
        (tmp_path / name).write_text(f"{line} {tag}\n")
    notices = []
    heads = RunFiles(
        [tmp_path / name for name in ("one.txt", "two.txt", "three", "four.run")], notices=notices
    ).top(1)
    assert heads.runs == ("one", "two", "own", "four")
    assert [*map(str, notices)] == [
        "one tag: 'same' is that of one, two: they are named by their files",
        "no tag: four: they are named by their files",
    ]


def test_many_runs_of_few_tags_are_one_line(tmp_path):
    paths = [tmp_path / f"{name}.txt" for name in "abcdefgh"]
    for path in paths:
        path.write_text(f"q Q0 a 1 1 {'first' if path.stem < 'h' else 'second'}\n")
    (tmp_path / "i").write_text("q Q0 a 1 1 second\n")
    notices = []
    RunFiles([*paths, tmp_path / "i"], notices=notices).top(1)
    assert [*map(str, notices)] == [
        "one tag: 'first' is that of a, b, c, d, e and 2 more; 'second' is that of h, i: "
        "they are named by their files"
    ]


def test_what_only_copies_need_is_not_loaded_without_them():
    code = "import sys, prefjudge.reading.runs.heads; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(loaded.stdout.split())
    assert "prefjudge.reading.runs.heads" in modules
    assert modules.isdisjoint({"prefjudge.reading.runs.copies", "hashlib"})


def test_compressed_runs_are_read_side_by_side_with_the_same_result(tmp_path):
    lines = [f"{q} Q0 d{q * n + n} {n} {9 - n} t{{}}\n" for q in range(300) for n in range(1, 6)]
    plain, packed = [], []
    for number in range(5):
        data = "".join(lines[number * 5 :]).format(*[number] * len(lines)).encode()
        plain.append(tmp_path / f"run{number}")
        packed.append(tmp_path / f"run{number}.gz")
        plain[-1].write_bytes(data)
        packed[-1].write_bytes(gzip.compress(data[:999]) + gzip.compress(data[999:]))
    heads, others = RunFiles(plain).top(2), RunFiles(packed).top(2)
    assert (heads.runs, heads.queries, heads.docs) == (others.runs, others.queries, others.docs)
    for column in ("list_run", "list_query", "start", "doc"):
        assert np.array_equal(getattr(heads, column), getattr(others, column))
    packed[3].write_bytes(packed[3].read_bytes()[:-20])
    with pytest.raises(InputError, match=r"run3.gz: the gz data"):
        RunFiles(packed).top(2)
