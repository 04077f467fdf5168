"""Every reader against a plain one: equal values, or both refuse; on any bytes nothing but `InputError`."""

import json
import math
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prefjudge.errors import InputError
from prefjudge.reading.labels import read_judgments, read_qrels
from prefjudge.reading.leaderboards import read_aliases, read_leaderboard
from prefjudge.reading.pools import read_gold, read_pool
from prefjudge.reading.runs.heads import Reading, per_chunk
from prefjudge.reading.texts.collections import read_texts
from prefjudge.reading.texts.texts import read_queries

from . import plain_readers as plain

bounded = settings(
    max_examples=250, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
"""The same examples each time: CI finds what a change breaks, and no run of it is a lottery."""

BYTES = b"aZ09.-_:,\"'#%\x01\x1c\x7f\x85\xa0\xc3\xa9\xff"
words = st.lists(st.sampled_from(BYTES), min_size=1, max_size=6).map(bytes)
usual = st.sampled_from([b"q1", b"q2", b"1", b"01", b"d1", b"d2", b"0", b"Q0"])
ids = st.one_of(usual, words)
docs = st.one_of(ids, st.integers(0, 999).map(lambda number: b"d%d" % number), words)
good = st.one_of(
    st.sampled_from(b"1 2 0 -1 +3 1.5 .5 2. -.25 1e3 1E-2 inf -Infinity 1e400 007 1.50 1 2".split()),
    st.sampled_from(b"9007199254740993 123456789012345678901 0.1234567890123456789".split()),
    st.integers(-9, 9).map(lambda number: b"%d" % number),
    st.floats(allow_nan=False).map(lambda number: repr(number).encode()),
)
ranks = st.integers(0, 5).map(lambda number: b"%d" % number)
blanks = st.sampled_from([b" ", b" ", b" ", b"\t", b"  ", b" \t", b"\v", b"\f"])
ends = st.sampled_from([b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b" \n", b"\n# a\n", b"\r\r\n"])


def now_and_then(usually, seldom):
    """One of a dozen draws is the other."""
    return st.integers(0, 11).flatmap(lambda draw: usually if draw else seldom)


numbers = now_and_then(good, st.sampled_from(b"nan 1_0 1e . - 0x1 1,5 --1 \xd9\xa1".split()))


@st.composite
def files(draw, row, tag=None):
    """Lines of columns, most of them right: now and then a column is too many or missing, or a byte odd."""
    tail = [draw(tag)] if tag is not None and draw(st.booleans()) else []
    end, same = draw(ends), draw(st.booleans())
    data = b""
    for cells in draw(st.lists(row, min_size=1, max_size=8)):
        cells = [*cells, *tail]
        slip = draw(st.integers(0, 60))
        if slip == 0:
            cells.insert(draw(st.integers(0, len(cells))), draw(ids))
        elif slip == 1:
            cells.pop()
        elif slip < 5:
            cells[-1] = draw(words)
        data += draw(blanks).join(cells) + (end if same else draw(ends))
    return draw(damaged(data))


@st.composite
def damaged(draw, data):
    """The same bytes, now and then with one put in, taken out, or the end cut."""
    place = draw(st.integers(0, len(data)))
    change = draw(st.integers(0, 23))
    if change == 0:
        odd = draw(st.sampled_from(b' \t\r\n#\x00\x1a\xff"{'))
        return data[:place] + bytes([odd]) + data[place:]
    if change == 1:
        return data[:place] + data[place + 1 :]
    if change == 2:
        return b"\xef\xbb\xbf" + data
    return data[:place] if change == 3 else data


def both(path, data, ours, theirs):
    """Hold what our reader makes of a file against what the plain one does."""
    path.write_bytes(data)
    try:
        expected = theirs(data)
    except plain.Refused:
        with pytest.raises(InputError):
            ours(path)
        return
    if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{" or b"\0" in data:
        try:  # what looks like JSON, or has a NUL, may be refused whatever else it is
            found = ours(path)
        except InputError:
            return
    else:
        found = ours(path)
    assert found == expected


def run_of(path, size=1 << 20):
    """Return a run as the plain reader gives it."""

    def rankings(chunk):
        docs, scores = chunk.docs.to_bytes(), chunk.score.tolist()
        for query, start, end in zip(chunk.queries, chunk.bounds, chunk.bounds[1:], strict=False):
            rows = slice(int(start), int(end))
            yield plain.name(query), list(zip(map(plain.name, docs[rows]), scores[rows], strict=True))

    chunks, _, _ = per_chunk(str(path), lambda chunk: [*rankings(chunk)], Reading(), size=size)
    found = [ranking for chunk in chunks for ranking in chunk]
    assert len(dict(found)) == len(found)
    return dict(found)


tags = st.sampled_from([b"tag", b"my tag", b"a b c"])
run_data = st.one_of(
    files(st.tuples(ids, st.just(b"Q0"), docs, ranks, numbers), tag=tags),
    files(st.tuples(ids, docs, now_and_then(ranks, numbers))),
)


@bounded
@given(data=run_data, size=st.sampled_from([1, 40, 1 << 20]))
def test_runs(tmp_path, data, size):
    both(tmp_path / "run", data, lambda path: run_of(path, size), plain.run)


@bounded
@given(
    data=st.one_of(files(st.tuples(ids, st.just(b"0"), docs, numbers)), files(st.tuples(ids, docs, ranks))),
    fractions=st.booleans(),
)
def test_qrels(tmp_path, data, fractions):
    def ours(path):
        found = read_qrels(path, fractions=fractions)
        columns = (found.query.tolist(), found.doc.tolist(), found.grade.tolist())
        return {(found.queries[q], found.docs[d]): grade for q, d, grade in zip(*columns, strict=True)}

    both(tmp_path / "qrels", data, ours, lambda raw: plain.qrels(raw, fractions=fractions))


few = st.sampled_from([b"a", b"b", b"c", b"tie"])
fair = st.tuples(ids, words, words, st.sampled_from([1, 2, 3])).map(
    lambda row: (row[0], b"x" + row[1], b"y" + row[2], [b"x" + row[1], b"y" + row[2], b"tie"][row[3] - 1])
)
votes = now_and_then(fair, st.tuples(ids, few, few, few))


@bounded
@given(data=files(votes, tag=words))
def test_judgments(tmp_path, data):
    def ours(path):
        found = read_judgments(path)
        rows = []
        for row in range(len(found)):
            sides = [found.docs[side[row]] for side in (found.left, found.right)]
            choice = int(found.choice[row])
            worker = found.workers[found.worker[row]] if found.worker[row] >= 0 else None
            preferred = None if not choice else sides[choice < 0]
            rows.append((found.queries[found.query[row]], *sides, preferred, worker))
        return rows

    both(tmp_path / "judgments", data, ours, plain.judgments)


passages = st.lists(
    st.sampled_from([b"one", b"two  three", b"\xc3\xa9", b"\xff", b"a\rb", b"", b" ", b'"q"', b"#", b"7"]),
    max_size=3,
).map(b" ".join)
tabbed = st.tuples(ids, st.lists(passages, min_size=1, max_size=3)).map(
    lambda row: b"\t".join([row[0], *row[1]])
)
members = st.dictionaries(
    st.sampled_from(["_id", "id", "pid", "text", "contents", "title", "query", "x"]),
    st.one_of(st.sampled_from(["1", "", " a b ", "é", "\ud800", "a\tb"]), st.integers(-2, 99), st.none()),
)


def as_json(record):
    return json.dumps(record).encode()


objects = now_and_then(
    members.map(lambda one: as_json({"id": one.get("x", "1"), "text": "t"} | one)),
    st.one_of(members.map(as_json), st.just(b"{}x")),
)


@st.composite
def record_files(draw):
    lines = draw(st.lists(draw(st.sampled_from([tabbed, objects])), min_size=1, max_size=6))
    end = draw(st.sampled_from([b"\n", b"\n", b"\r\n", b"\r", b"\n\n"]))
    return draw(damaged(end.join(lines) + draw(st.sampled_from([b"", end]))))


@bounded
@given(data=record_files())
def test_queries(tmp_path, data):
    path = tmp_path / "queries"
    path.write_bytes(data)
    try:
        expected = plain.queries(data)
    except plain.Refused:
        with pytest.raises(InputError):
            read_queries(path)
        return
    if b"\0" not in data:
        assert read_queries(path) == expected


@bounded
@given(data=record_files(), trailing=st.booleans())
def test_texts(tmp_path, data, trailing):
    """A sound collection; of a sorted one only the lines that are asked for are looked at."""
    path = tmp_path / "collection"
    path.write_bytes(data)
    try:
        expected = plain.texts(data)
    except plain.Refused:
        with suppress(InputError):
            read_texts(path, ["1", "d1", "q1"])
        return
    if b"\0" not in data:
        assert read_texts(path, [*expected, "nobody's"]) == expected


@bounded
@given(
    lines=st.lists(
        st.lists(st.sampled_from(["1", "q", "good one", "", " ", "é", "#"]), max_size=7), max_size=5
    ),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    header=st.permutations(["query_id", "query", "good", "bad", "good_id", "bad_id"]),
    cut=st.integers(3, 6),
)
def test_gold(tmp_path, lines, end, header, cut):
    data = end.join("\t".join(cells) for cells in [header[:cut], *lines]).encode()

    def ours(path):
        names = ("query_id", "query", "good", "bad", "good_id", "bad_id")
        return [{name: getattr(pair, name) for name in names} for pair in read_gold(path)]

    both(tmp_path / "gold.tsv", data, ours, plain.gold)


READERS = {
    "runs": run_of,
    "qrels": read_qrels,
    "judgments": read_judgments,
    "queries": read_queries,
    "texts": lambda path: read_texts(path, ["1"]),
    "gold": read_gold,
    "pools": read_pool,
    "leaderboards": read_leaderboard,
    "aliases": read_aliases,
}
magics = st.sampled_from(
    [b"", b"\x1f\x8b\x08", b"BZh9", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"\xff\xfe", b"{", b"<top>"]
)


@pytest.mark.parametrize("reader", READERS)
@settings(bounded, max_examples=60)
@given(head=magics, data=st.one_of(st.binary(max_size=60), run_data, record_files()))
def test_any_bytes(tmp_path, reader, head, data):
    path = tmp_path / "file"
    path.write_bytes(head + data)
    with suppress(InputError):
        READERS[reader](path)


def test_the_plain_reader_reads_what_the_format_says():
    """Lest both readers make one mistake: files whose values are written down here."""
    assert plain.run(b"q1 Q0 d1 1 9.5 t\rq1\tQ0 d2 2 -inf t\r\n# c\n") == {
        "q1": [("d1", 9.5), ("d2", -math.inf)]
    }
    assert plain.run(b"1 d 2\n") == {"1": [("d", -2.0)]}
    assert plain.qrels(b"q 0 d 1\nq 0 d 1.0\n") == {("q", "d"): 1.0}
    assert plain.judgments(b"q a b b w\n") == [("q", "a", "b", "b", "w")]
    assert plain.queries(b"1\tone\r2\ttwo") == {"1": "one", "2": "two"}
    for data in (b"q Q0 a 1 1 t\nq Q0 b 2 1 my t\n", b"q Q0 d A 1 9 t\nq Q0 d B 2 8 t\n", b"q d 1.5\n", b""):
        with pytest.raises(plain.Refused):
            plain.run(data)
