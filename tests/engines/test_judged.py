"""Judged documents looked up, against a dict."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.runs import Qrels, tokens_of
from prefjudge.reading.files import encode
from prefjudge.reading.runs.heads import Judged

from .test_files import quick

docs = st.sampled_from(
    ["d1", "d2", "café", "\udce9", "12345678", "123456789", "end\nof line", "\n", "x" * 40]
)
rows = st.lists(st.tuples(st.integers(0, 5), docs), max_size=40)


@quick
@given(judged=rows, run=rows)
def test_judged_rows_are_those_of_a_dict(judged, run):
    judged = list(dict.fromkeys((query % 5, doc) for query, doc in judged))
    names = tuple(dict.fromkeys(doc for _, doc in judged))
    qrels = Qrels.all_relevant(
        name="q",
        queries=tuple(f"q{n}" for n in range(5)),
        docs=names,
        query=np.array([query for query, _ in judged], np.int32),
        doc=np.array([names.index(doc) for _, doc in judged], np.int32),
    )
    place = {key: row for row, key in enumerate(judged)}
    tokens = tokens_of([encode(doc) for _, doc in run])
    query = np.array([-1 if query == 5 else query for query, _ in run], np.int64)
    found, which = Judged.of(qrels).match(tokens.codes(), query, tokens)
    asked = [(int(q), doc) for q, (_, doc) in zip(query, run, strict=True)]
    expected = [(row, place[key]) for row, key in enumerate(asked) if key in place]
    assert list(zip(found.tolist(), which.tolist(), strict=True)) == expected
