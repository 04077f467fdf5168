"""Texts out of sorted collections: what a scan finds, without reading the file."""

import json
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefjudge.reading.texts.collections import NotSorted, read_texts, sorted_file

SCAN = "prefjudge.reading.texts.collections._Search.scan"


@settings(max_examples=40, deadline=None)
@given(
    ids=st.lists(st.integers(0, 10**9), min_size=2, max_size=2000, unique=True).map(sorted),
    kind=st.sampled_from(["number", "padded", "text"]),
    sizes=st.integers(1, 20_000),
    others=st.lists(st.integers(0, 10**9), max_size=20),
    ended=st.booleans(),
)
def test_look_up_finds_what_is_there(tmp_path_factory, ids, kind, sizes, others, ended):
    names = [{"number": f"{n}", "padded": f"{n:010}", "text": f"D{n}"}[kind] for n in ids]
    if kind == "text":
        names.sort()
    rng = np.random.default_rng(sizes)
    texts = {name: f"text of {name}" + "x" * int(rng.integers(sizes)) for name in names}
    path = tmp_path_factory.mktemp("c") / "collection.tsv"
    path.write_text("\n".join(f"{name}\t{text}" for name, text in texts.items()) + "\n" * ended)
    asked = [names[0], names[-1], *rng.choice(names, 5).tolist()]
    asked += [{"number": f"{n}", "padded": f"{n:010}", "text": f"D{n}"}[kind] for n in others]
    there = [name for name in asked if name in texts]
    with patch(SCAN, side_effect=AssertionError("scanned")):
        assert read_texts(path, there) == {name: texts[name] for name in there}
    assert read_texts(path, asked) == {name: texts[name] for name in there}


def test_few_reads(tmp_path):
    path = tmp_path / "collection.tsv"
    path.write_text("".join(f"{n}\tpassage {n} {'w' * (n % 300)}\n" for n in range(50_000)))
    with patch("prefjudge.reading.texts.collections.os.pread", wraps=__import__("os").pread) as pread:
        with sorted_file(path) as file:
            for n in range(0, 50_000, 500):
                assert file.find(b"%d" % n) is not None
        assert pread.call_count < 100 * 12


@pytest.mark.parametrize(
    "text", ["3\tc\n1\ta\n2\tb\n", "1\ta\n", "", '{"id": 1, "text": "x"}\n{"id": 2, "text": "y"}\n']
)
def test_what_cannot_be_searched(tmp_path, text):
    (tmp_path / "c").write_text(text)
    with pytest.raises(NotSorted), sorted_file(tmp_path / "c"):
        pass


def test_a_file_that_only_looks_sorted_is_scanned(tmp_path):
    ids = list(range(20_000))
    ids[9000:9300], ids[9300:9500] = ids[9200:9500], ids[9000:9200]
    (tmp_path / "c").write_text("".join(f"{n}\ttext {n} {'x' * 99}\n" for n in ids))
    asked = [str(n) for n in range(8990, 9510)]
    with sorted_file(tmp_path / "c"):
        pass
    assert list(read_texts(tmp_path / "c", asked)) == asked


def test_ids_that_say_where_they_are(tmp_path):
    lines, place, names = [], 0, []
    for n in range(50):
        names.append(f"msmarco_passage_07_{place}")
        lines.append(json.dumps({"pid": names[-1], "passage": f"text {n}"}) + "\n")
        place += len(lines[-1])
    (tmp_path / "msmarco_passage_07").write_text("".join(lines))
    with patch(SCAN, side_effect=AssertionError("scanned")):
        assert read_texts(tmp_path, [names[3], names[49]]) == {names[3]: "text 3", names[49]: "text 49"}
