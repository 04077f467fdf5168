"""Qrels against a reader of one line after the other."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prefjudge.errors import InputError
from prefjudge.reading.files import decode
from prefjudge.reading.labels import read_qrels

ids = st.sampled_from([b"q", b"d1", b"d2", b"12345678", b"123456789", b"\xff", b"7"])
grades = st.sampled_from([0, 1, 2, -1])
lines = st.lists(st.tuples(ids, ids, grades), min_size=1, max_size=30)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=lines, odd=st.sampled_from([b"", b"# comment\n", b"\n"]))
def test_lines_are_read_as_one_by_one(tmp_path, lines, odd):
    text = odd + b"".join([b"%b 0 %b %d\n" % line for line in lines])
    first: dict[tuple[bytes, bytes], int] = {}
    wrong, again = [], []
    for number, (query, doc, grade) in enumerate(lines, text.count(b"\n", 0, len(odd)) + 1):
        before = first.setdefault((query, doc), number)
        if before != number:
            old = lines[before - 1 - len(odd.splitlines())][2]
            (again if old == grade else wrong).append((number, before))
    (tmp_path / "qrels").write_bytes(text)
    notices = []
    if wrong:
        with pytest.raises(InputError) as caught:
            read_qrels(tmp_path / "qrels", notices=notices)
        said = str(caught.value)
        for number, before in wrong[:20]:
            assert f"qrels:{number}:" in said
            assert f"on line {before} and another here" in said
        return
    qrels = read_qrels(tmp_path / "qrels", notices=notices)
    assert qrels.queries == tuple(decode(name) for name in dict.fromkeys(line[0] for line in lines))
    assert qrels.docs == tuple(decode(name) for name in dict.fromkeys(line[1] for line in lines))
    columns = (qrels.query.tolist(), qrels.doc.tolist(), qrels.grade.tolist())
    rows = [(qrels.queries[q], qrels.docs[d], grade) for q, d, grade in zip(*columns, strict=True)]
    assert rows == list(dict.fromkeys((decode(q), decode(d), float(grade)) for q, d, grade in lines))
    assert [(n.where.rpartition(":")[2], n.what) for n in notices] == [
        (str(number), f"repeats line {before}; counted once") for number, before in again
    ]


def test_problems_are_counted_up_to_a_limit(tmp_path):
    bad = ["q1 d1"] * 5 + [f"q1 0 d{n} yes" for n in range(5)] + ["q2 0 d1 1", "q2 0 d1 2"] * 20
    (tmp_path / "qrels").write_text("\n".join(["q1 0 d1 1", *bad]))
    with pytest.raises(InputError) as caught:
        read_qrels(tmp_path / "qrels")
    assert "the first 20 problems" in str(caught.value)
    assert [line.split(":")[1] for line in caught.value.problems] == [
        *map(str, range(2, 12)),
        *map(str, range(13, 33, 2)),
    ]
