"""A large file is read in parts, side by side, with the same results and the same errors."""

import gzip
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from prefjudge.core.runs import Qrels
from prefjudge.errors import InputError
from prefjudge.reading.files import Notice
from prefjudge.reading.runs import heads as in_parts
from prefjudge.reading.runs.heads import RunFiles
from prefjudge.reading.unpacking import FilePart, parts_of, pieces

SIZE = 2000
"""Bytes of a part here."""


def lines_of(queries: int, depth: int) -> list[str]:
    return [
        f"q{query} Q0 d{query * 31 % 17 + place} {place + 1} {depth - place}.5 tag\n"
        for query in range(queries)
        for place in range(1 + (query * 7) % depth)
    ]


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadPoolExecutor]:
    monkeypatch.setattr(in_parts, "parts_of", lambda path: parts_of(path, SIZE))
    with ThreadPoolExecutor(2) as executor:
        yield executor


def write(path: Path, text: str) -> str:
    path.write_bytes(text.encode())
    return str(path)


QRELS = Qrels.all_relevant(
    name="labels",
    queries=tuple(f"q{n}" for n in range(0, 90, 3)),
    docs=tuple(f"d{n}" for n in range(40)),
    query=np.repeat(np.arange(30, dtype=np.int32), 2),
    doc=np.tile(np.array([18, 5], np.int32), 30),
)


def answers(path: str, executor: ThreadPoolExecutor | None) -> list[object]:
    """Return all that a reading says: results or the error, what the file was taken for, and notices."""
    notices: list[Notice] = []
    forms: dict[str, object] = {}
    try:
        heads = RunFiles([path], executor=executor, notices=notices, forms=forms).top(2)  # type: ignore[arg-type]
        ranks = RunFiles([path], executor=executor, notices=notices).judged(QRELS)[0]
    except InputError as error:
        return [str(error)]
    columns = (ranks.query, ranks.judged, ranks.position, ranks.best, ranks.worst, ranks.retrieved)
    return [
        heads.queries,
        [heads.docs[code] for code in heads.doc],
        heads.start.tolist(),
        *(column.tolist() for column in columns),
        notices,
        {name: str(form) for name, form in forms.items()},
    ]


def test_parts_are_whole_queries_and_all_of_the_file(tmp_path: Path) -> None:
    text = "".join(lines_of(90, 12))
    parts = parts_of(write(tmp_path / "run.txt", text), SIZE)
    assert len(parts) > 5
    texts = [b"".join(pieces(part)) for part in parts]
    assert b"".join(texts) == text.encode()
    held = [{line.split()[0] for line in part.splitlines()} for part in texts]
    assert sum(map(len, held)) == len(set().union(*held)) == 90


def test_a_part_that_is_gone_is_an_error_and_no_end(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "run.txt", "".join(lines_of(90, 12))))
    last = parts_of(str(path), SIZE)[-1]
    path.write_bytes(path.read_bytes()[: last.start + 30])
    with pytest.raises(InputError, match="became shorter"):
        b"".join(pieces(last))


def test_a_file_that_is_cut_while_it_is_read_is_an_error_and_no_end(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "run.txt", "".join(lines_of(900, 12))))
    whole = path.read_bytes()
    reading = pieces(path)
    first = next(reading)
    path.write_bytes(whole[: whole.index(b"\n", len(first)) + 1])  # its last line is sound
    with pytest.raises(InputError, match=r"run\.txt: the file became shorter"):
        b"".join(reading)


ODD = {
    "in order": lambda lines: lines,
    "CRLF": lambda lines: [line.replace("\n", "\r\n") for line in lines],
    "tabs": lambda lines: [line.replace(" ", "\t") for line in lines],
    "MS MARCO": lambda lines: ["\t".join(line.split()[i] for i in (0, 2, 3)) + "\n" for line in lines],
    "no newline at the end": lambda lines: [*lines[:-1], lines[-1].rstrip("\n")],
    "a query again": lambda lines: [*lines, "q3 Q0 d99 1 1.5 tag\n"],
    "a document again": lambda lines: [*lines, lines[0]],
    "a comment": lambda lines: [*lines[:300], "# half\n", "\n", *lines[300:]],
    "a column too many": lambda lines: [*lines[:400], "q70 Q0 d1 1 1 1 tag\n", *lines[400:]],
    "a bad score": lambda lines: [*lines[:-9], lines[-9].replace(".5", ".x"), *lines[-8:]],
    "a tag with blanks": lambda lines: [line.replace("tag", "my tag") for line in lines],
    "two tags with blanks": lambda lines: [
        line.replace("tag", f"my tag{number > 300}") for number, line in enumerate(lines)
    ],
    "CR alone": lambda lines: ["".join(lines).replace("\n", "\r")],
    "blanks before": lambda lines: ["  " + line for line in lines],
    "one query": lambda lines: [line.replace(line.split()[0], "q1") for line in lines],
    "one long query": lambda lines: [*lines[:50], *(f"q6x Q0 e{n} 1 1 t\n" for n in range(700)), *lines[50:]],
    "a BOM": lambda lines: ["\ufeff", *lines],
    "another layout later": lambda lines: [*lines[:300], *(f"w{n} d{n} 1\n" for n in range(400))],
}


@pytest.mark.parametrize("odd", ODD)
def test_results_and_errors_are_those_of_one_reading(
    threads: ThreadPoolExecutor, tmp_path: Path, odd: str
) -> None:
    path = write(tmp_path / "run.txt", "".join(ODD[odd](lines_of(90, 12))))
    assert answers(path, threads) == answers(path, None)


def test_a_tag_with_blanks_is_one_for_all_parts(threads: ThreadPoolExecutor, tmp_path: Path) -> None:
    text = "".join(lines_of(90, 12)).replace("tag", "my tag")
    cut = parts_of(write(tmp_path / "run.txt", text), SIZE)[3].start
    path = write(tmp_path / "run.txt", text[:cut] + text[cut:].replace("my tag", "my gat"))
    assert "are not those of the first line" in str(answers(path, None))
    assert answers(path, threads) == answers(path, None)


def test_clean_files_are_read_once_and_others_as_one(
    threads: ThreadPoolExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(lines_of(90, 12))
    plain, packed = write(tmp_path / "run.txt", text), tmp_path / "run.gz"
    packed.write_bytes(gzip.compress(text.encode() * 9, compresslevel=0))
    read: list[str] = []
    whole = in_parts.of_part
    monkeypatch.setattr(
        "prefjudge.reading.runs.heads.of_part", lambda work, part: read.append(part) or whole(work, part)
    )
    RunFiles([plain], executor=threads).top(1)
    assert len(read) > 5
    assert all(isinstance(part, FilePart) for part in read)
    assert in_parts.units_of([str(packed)], None) == [str(packed)]


LIMITED = """
import resource, sys
from prefjudge.reading.runs.heads import RunFiles
RunFiles([sys.argv[1]]).top(1)
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (24 << 20),) * 2)
assert len(RunFiles([sys.argv[2]]).top(1).queries) == 1600
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux: its memory is limited")
def test_a_file_larger_than_the_memory_there_is(tmp_path: Path) -> None:
    rows = "".join(f"Q Q0 document{place:07} {place} {1000 - place}.5 tag\n" for place in range(1, 601))
    with (tmp_path / "large.txt").open("w") as file:
        for query in range(1600):
            file.write(rows.replace("Q ", f"q{query} "))
    with (tmp_path / "small.txt").open("w") as file:
        for query in range(80):
            file.write(rows.replace("Q ", f"q{query} "))
    assert (tmp_path / "large.txt").stat().st_size > 32 << 20
    files = [str(tmp_path / name) for name in ("small.txt", "large.txt")]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
