"""Chunks of a run: every line once, whole queries, right line numbers, whatever the size of a block."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefjudge.reading.lines import stem
from prefjudge.reading.runs.runs import RunReader, read_chunks, read_whole


@settings(max_examples=100, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=12),
    size=st.integers(1, 400),
    gaps=st.sampled_from(["", "\n", "# note\n"]),
)
def test_chunks_are_whole_queries(tmp_path_factory, sizes, size, gaps):
    path = tmp_path_factory.mktemp("run") / "run"
    text = gaps + "".join(
        f"q{q} Q0 d{d} {d + 1} {9 - d}.5 t\n" + gaps * (d % 2)
        for q, count in enumerate(sizes)
        for d in range(count)
    )
    path.write_text(text)
    lines = text.split("\n")
    read = []
    for chunk in read_chunks(path, size=size):
        assert chunk.bounds[-1] == len(chunk)
        for group, name in enumerate(chunk.queries):
            for row in range(chunk.bounds[group], chunk.bounds[group + 1]):
                line = lines[chunk.rows.lines[row] - 1].split()
                assert [name, chunk.docs.raw(row)] == [line[0].encode(), line[2].encode()]
                assert chunk.score[row] == float(line[4])
                read.append((name, chunk.docs.raw(row)))
    assert read == [(b"q%d" % q, b"d%d" % d) for q, count in enumerate(sizes) for d in range(count)]
    assert [len(chunk.queries) for chunk in [read_whole(path)]] == [len(sizes)]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b.run.gz", "b"),
        ("x.txt", "x"),
        ("bm25.v2.trec.zst", "bm25.v2"),
        (".gz", ".gz"),
        ("run", "run"),
        ("b.json.gz", "b"),
    ],
)
def test_stem(path, name):
    assert stem(path) == name


@pytest.mark.parametrize(("queries", "docs"), [(1, 40_000), (10_000, 4)])
def test_lines_are_not_tokenised_again_and_again(tmp_path, monkeypatch, queries, docs):
    path = tmp_path / "run"
    path.write_text("".join(f"{q} Q0 {d} 1 {-d} t\n" for q in range(queries) for d in range(docs)))
    sizes = []
    rows = RunReader.rows
    monkeypatch.setattr(
        RunReader, "rows", lambda self, data, line: sizes.append(len(data)) or rows(self, data, line)
    )
    assert sum(map(len, read_chunks(path, size=1 << 17))) == queries * docs
    assert sum(sizes) < 4 * path.stat().st_size
    if queries > 1:
        assert max(sizes) < 1.2 * (1 << 17)  # a block and the rest of the one before
