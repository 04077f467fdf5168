"""Trusted reading skips lines and finds what a full reading finds; where it cannot, it reads in full."""

import bz2
import gzip
from unittest.mock import patch

import numpy as np
import pytest
import zstandard

from prefjudge.engines.files import files
from prefjudge.engines.files.files import RunFiles
from prefjudge.engines.files.reading import Reading
from prefjudge.engines.health import health
from prefjudge.errors import InputError
from prefjudge.formats.labels.qrels import read_qrels


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


PACKED = {
    "plain": lambda raw: raw,
    "unended": lambda raw: raw[:-1],
    "crlf": lambda raw: raw.replace(b"\n", b"\r\n"),
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "zst": zstandard.compress,
}


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("order", ["score", "score-f32", "rank", "file"])
@pytest.mark.parametrize("depth", [(1, 300), (250, 260), (1, 4)])
def test_trust_changes_nothing_in_a_sound_run(tmp_path, packing, order, depth):
    rng = np.random.default_rng(7)
    raw, pairs = text(rng, depth=depth, sep="\t" if depth[0] == 250 else " ")
    path = tmp_path / "run"
    path.write_bytes(PACKED[packing](raw.encode()))
    for k in (1, 3, 40):
        equal_heads(
            RunFiles([path], Reading(order=order, trust=True)).top(k),
            RunFiles([path], Reading(order=order)).top(k),
        )
    chosen = [pairs[n] for n in rng.choice(len(pairs), 80, replace=False).tolist()]
    lines = [f"q{query} 0 {doc} 1\n" for query, doc in chosen] + [
        "q1 0 none 1\n",
        "q999 0 1 1\n",
        "q2 0 0 0\n",
    ]
    (tmp_path / "qrels").write_text("".join(dict.fromkeys(lines)))
    qrels = read_qrels(tmp_path / "qrels")
    equal_ranks(
        RunFiles([path], Reading(order=order, trust=True)).judged(qrels)[0],
        RunFiles([path], Reading(order=order)).judged(qrels)[0],
    )


def test_galloping_reads_few_lines(tmp_path):
    raw, _ = text(np.random.default_rng(1), depth=(290, 300), decimals=9)
    (tmp_path / "run").write_text(raw)
    with (
        patch.object(files, "head_of", wraps=files.head_of),
        patch("prefjudge.engines.files.reading.per_chunk", side_effect=AssertionError("read in full")),
    ):
        assert len(RunFiles([tmp_path / "run"], Reading(trust=True)).top(1).docs) > 50


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: lines[300:] + lines[:150] + lines[150:300],  # still whole queries or scattered ones
        lambda lines: lines[::-1],  # scores rise
        lambda lines: ["# a comment", *lines],
        lambda lines: [*lines[:9000], "", *lines[9000:]],
        lambda lines: [line.replace(" ", "\t", n % 2) for n, line in enumerate(lines)],
    ],
    ids=["moved", "reversed", "comment", "blank", "mixed"],
)
def test_files_that_need_a_full_reading_get_one(tmp_path, damage):
    raw, _ = text(np.random.default_rng(3), depth=(150, 151), decimals=9)
    (tmp_path / "run").write_text("\n".join(damage(raw.splitlines())))
    equal_heads(RunFiles([tmp_path / "run"], Reading(trust=True)).top(2), RunFiles([tmp_path / "run"]).top(2))


def damaged(rng, lines):
    """Return a run with one thing changed, most often where a trusted reading does not look."""
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


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("order", ["score", "rank"])
def test_what_check_lets_pass_is_the_same_when_trusted(tmp_path, seed, order):
    rng = np.random.default_rng([seed, 17])
    raw, pairs = text(rng, queries=8, depth=(1, 400), decimals=int(rng.integers(1, 6)))
    path = tmp_path / "run"
    path.write_bytes("\n".join(damaged(rng, raw.splitlines())).encode())
    if not health(path, order=order).trustable:
        return
    chosen = [pairs[n] for n in rng.choice(len(pairs), 12, replace=False).tolist()]
    (tmp_path / "qrels").write_text("".join(f"q{query} 0 {doc} 1\n" for query, doc in chosen))
    qrels = read_qrels(tmp_path / "qrels")
    equal_ranks(
        RunFiles([path], Reading(order=order, trust=True)).judged(qrels)[0],
        RunFiles([path], Reading(order=order)).judged(qrels)[0],
    )
    for k in (1, 5):
        equal_heads(
            RunFiles([path], Reading(order=order, trust=True)).top(k),
            RunFiles([path], Reading(order=order)).top(k),
        )


def test_what_check_does_not_let_pass_may_differ(tmp_path):
    """The one line that is out of order low in a query, which a trusted reading does not see."""
    lines = [f"q Q0 d{n} {n} {1000 - n} t" for n in range(1, 401)]
    lines[299] = "q Q0 d300 300 1000 t"
    path = tmp_path / "run"
    path.write_text("\n".join(lines))
    (tmp_path / "qrels").write_text("q 0 d9 1\n")
    qrels = read_qrels(tmp_path / "qrels")
    full, trusted = (
        RunFiles([path], Reading(trust=trust)).judged(qrels)[0].position.tolist() for trust in (False, True)
    )
    assert (full, trusted, health(path).trustable) == ([10], [9], False)


def test_an_error_in_a_head_is_told_with_its_line(tmp_path):
    raw, _ = text(np.random.default_rng(3), depth=(150, 151))
    lines = raw.splitlines()
    lines[450] = "q Q0 d 1 oops t"
    (tmp_path / "run").write_text("\n".join(lines))
    with pytest.raises(InputError, match="run:451:10: the score is not a number: 'oops'"):
        RunFiles([tmp_path / "run"], Reading(trust=True)).top(1)


def test_a_doc_id_that_equals_a_rank_is_not_mistaken(tmp_path):
    (tmp_path / "run").write_text("3 Q0 9 1 9 t\n3 Q0 1 2 8 t\n3 Q0 3 3 7 3\n" + "4 Q0 2 1 1 t\n")
    (tmp_path / "qrels").write_text("3 0 3 1\n3 0 8 1\n4 0 1 0\n")
    (ranks,) = RunFiles([tmp_path / "run"], Reading(trust=True)).judged(read_qrels(tmp_path / "qrels"))
    assert ranks.position.tolist() == [3]
    assert ranks.retrieved.tolist() == [3, 1]
