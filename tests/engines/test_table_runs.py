"""Rows of tables in blocks of whole groups: the same runs however they come."""

from itertools import groupby, pairwise

import numpy as np
import pytest

from prefjudge.errors import InputError
from prefjudge.reading.runs.heads import Reading, top_of_run

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra parquet)")

from prefjudge.reading.runs import cluster, tables  # noqa: E402
from prefjudge.reading.runs.rows import GROUP, whole_groups  # noqa: E402
from prefjudge.reading.runs.tables import TableRun, brought_together, found_in_rows, joined_runs  # noqa: E402

ROWS = [
    (run, query, f"d{(7 * n + len(query)) % 11}", float(n % 5))
    for run in ("a", "b")
    for query in ("q1", "q10", "q2")
    for n in range({"q1": 1, "q10": 9, "q2": 4}[query])
]


def batches(rows, size):
    columns = ("path", "query", "doc", "score")
    table = pa.table(
        {name: list(cells) for name, cells in zip(columns, zip(*rows, strict=True), strict=True)}
    )
    return table.to_batches(max_chunksize=size)


@pytest.mark.parametrize("size", [1, 2, 5, 99])
@pytest.mark.parametrize("block", [1, 3, 10, 99])
def test_no_group_is_cut(size, block):
    """Neither where two runs have the same query next to each other, nor where a value is missing."""
    rows = [(None, None, "x", 0.0), *[(None, "q1", "x", 0.0)] * 2, *ROWS, ("b", None, "x", 0.0)]
    found = [
        [tuple(row.values())[:2] for row in table.to_pylist()]
        for table in whole_groups(batches(rows, size), ("path", "query"), block)
    ]
    assert [row for table in found for row in table] == [row[:2] for row in rows]
    assert all(found)
    ends = [(one[-1], other[0]) for one, other in pairwise(found)]
    assert not [pair for pair in ends if pair[0] == pair[1]]
    if block < size == 1:
        assert len(found) > 1


@pytest.mark.parametrize("size", [1, 5, 99])
def test_runs_do_not_depend_on_how_their_rows_come(monkeypatch, size):
    listed = (b"q2", b"q1", b"q10")
    runs = [TableRun(path, f"tag {path}", ("q1", "d"), "x.parquet", listed) for path in ("a", "b")]
    found = []
    for block in (99, 1, 10):
        monkeypatch.setattr(tables, "BLOCK", block)
        work = top_of_run(3, Reading())
        parts = found_in_rows(batches(ROWS, size), work=lambda path, of=work: (of(path), None), how=Reading())
        ended = [one for one, _ in reversed(list(parts))]  # as executors end: in any order
        heads = joined_runs(ended, runs)
        found.append([(one.tag, one.queries, one.sizes.tolist(), one.docs) for one in heads])
    assert found[0] == found[1] == found[2]
    best = sorted((row for row in ROWS if row[:2] == ("a", "q10")), key=lambda row: (row[3], row[2]))[::-1]
    docs = found[0][0][3].split()
    assert found[0][0][:3] == ("tag a", [b"q2", b"q1", b"q10"], [3, 1, 3])
    assert [doc.decode() for doc in docs[4:7]] == [row[2] for row in best[:3]]
    assert np.sum(found[0][0][2]) == len(docs)


@pytest.mark.parametrize("block", [3, 1 << 20])
def test_rows_in_packs_meet_those_of_their_group(monkeypatch, block):
    """Of whatever task, in one bucket; unpacked they come together, a missing value as any other."""
    monkeypatch.setattr(cluster, "_BLOCK", block)
    rows = [(None, "q1", "x", 0.0), *ROWS, (None, "q1", "y", 0.0), *[(run, None, "z", 1.0) for run in "ab"]]
    tasks = (rows[::2], rows[1::2])
    found = [pack for task in tasks for pack in cluster.packed(batches(task, 2), by=GROUP, buckets=5)]
    assert len({row for pack in found for row in pack["bucket"].to_pylist()}) > 2
    groups = []
    for bucket in range(5):
        own = [pack.filter(pa.array(pack["bucket"].to_numpy() == bucket)) for pack in found]
        met = [tuple(row.values()) for batch in cluster.unpacked(own, GROUP) for row in batch.to_pylist()]
        groups += [
            (group, sorted(row[2:] for row in some)) for group, some in groupby(met, lambda row: row[:2])
        ]
    assert len(groups) == len(dict(groups)) == len({row[:2] for row in rows})
    assert sorted((*group, *row) for group, some in groups for row in some if all(group)) == sorted(ROWS)


@pytest.mark.parametrize("held", [1, 1 << 22])
def test_rows_of_a_group_come_together(monkeypatch, held):
    """In memory, or shared out to files where they are many: a missing value is one as any other."""
    monkeypatch.setattr(tables, "_HELD", held)
    rows = [(None, "q1", "x", 0.0), *ROWS[::2], (None, "q1", "y", 0.0), *ROWS[1::2]]
    with brought_together(batches(rows, 2), GROUP) as found:
        parts = [[tuple(row.values()) for row in table.to_pylist()] for table in found]
    assert (len(parts) > 1) == (held == 1)
    met = [
        (group, [row[2:] for row in some])
        for part in parts
        for group, some in groupby(part, lambda row: row[:2])
    ]
    assert len(met) == len({row[:2] for row in rows})
    assert dict(met) == {
        group: [row[2:] for row in rows if row[:2] == group] for group in {row[:2] for row in rows}
    }
    with brought_together([], GROUP) as found:
        assert not list(found)


def test_an_error_travels_as_a_pack():
    def damaged():
        yield from batches(ROWS, 99)
        raise InputError("x.parquet cannot be read")

    with pytest.raises(InputError, match=r"x\.parquet cannot be read"):
        list(cluster.unpacked(cluster.packed(damaged(), by=GROUP, buckets=5), GROUP))
