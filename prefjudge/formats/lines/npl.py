"""NPL's own files (Vaswani's collection): a number, lines that belong to it, and a line of a slash alone.

Its documents and queries hold texts, and its qrels the documents that are relevant to each query.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

_HEAD = re.compile(rb"\s*\d+[ \t]*\r?\n")
_QRELS_HEAD = re.compile(rb"\s*\d+[ \t]*\r?\n[ \t\d\r\n]*\d[ \t\r]*\n[ \t]*/")
_END = re.compile(rb"^[ \t]*/[ \t]*\r?$", re.MULTILINE)


def is_npl(head: bytes) -> bool:
    """Tell by the first lines: a number alone, and later a slash alone."""
    return bool(_HEAD.match(head) and _END.search(head))


def is_npl_qrels(head: bytes) -> bool:
    """Tell files with numbers alone between the slashes."""
    return bool(_QRELS_HEAD.match(head))


def npl_entries(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the number of the line that each entry starts on, its name, and its lines."""
    start, name, held = 0, "", list[str]()
    for line, text in lines:
        if text.strip() == "/":
            if start:
                yield start, name, held
            start, name, held = 0, "", []
        elif start:
            held.append(text.strip())
        elif text.strip():
            start, name = line, text.strip()
    if start:
        yield start, name, held


def npl_qrels(head: bytes, stream: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines of columns of qrels in this form: every document of a query is relevant, with grade 1."""
    text = b"".join(chain([head], stream)).decode("ascii", "backslashreplace")
    for _, query, held in npl_entries(enumerate(text.split("\n"), 1)):
        yield "".join(f"{query} 0 {doc} 1\n" for line in held for doc in line.split()).encode()
