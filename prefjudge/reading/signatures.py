"""Signatures: what the first bytes of a file say that it is, where it is not lines of text in columns.

Each says what it is and what to do. A format that gets a reader leaves this table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from struct import unpack


@dataclass(frozen=True, slots=True)
class Foreign:
    """A format that is not read here: its name, what a message says of it, and what to do (of ``{path}``)."""

    kind: str
    what: str
    way: str

    def words(self, path: str) -> tuple[str, str]:
        """Return what is wrong with a file, and what to do."""
        return f"{path}: {self.what}", self.way.format(path=path)


def _bytes(kind: str, what: str, way: str) -> Foreign:
    return Foreign(kind, f"{what}, not UTF-8 text", way)


def _lines(kind: str, what: str, way: str) -> Foreign:
    return Foreign(kind, f"{what}, not lines of columns", way)


_OF_VECTORS = "give the file of the texts that the vectors were made from"
_UTF16 = _bytes("UTF-16", "is UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8 {path} > {path}.utf8")
_EXCEL = _bytes("Excel", "is an Excel workbook", "save its sheet as text separated by tabs, or as CSV")
PARQUET = _bytes("parquet", "is a Parquet file", "call it NAME.parquet, or write it as text")
PACKED_PARQUET = Foreign(
    "parquet",
    "is Parquet, compressed or through a pipe, and Parquet is read from its end",
    "give the unpacked file, under its own name: it is compressed inside",
)
UNREAD_PARQUET = Foreign(
    "parquet",
    "is a Parquet file, not UTF-8 text, but this option reads only text",
    "write it as CSV: pandas.read_parquet({path!r}).to_csv('NAME.csv', index=False)",
)
_ARROW = _bytes(
    "Arrow",
    "is an Arrow (Feather) file",
    "write it as Parquet: pandas.read_feather({path!r}).to_parquet('NAME.parquet')",
)
_PICKLE = _bytes(
    "pickle",
    "is a Python pickle, which can run a program when it is read",
    "write it as text in the program that made it",
)
_BYTES = (
    (b"\xfd7zXZ", _bytes("xz", "is compressed with xz", "unpack it: xz -d {path}")),
    (b"PK\x03\x04", _bytes("zip", "is a zip archive", "unpack it: unzip {path}")),
    (b"7z\xbc\xaf", _bytes("7z", "is a 7z archive", "unpack it: 7z x {path}")),
    (b"PAR1", PARQUET),
    (b"\x93NUMPY", _bytes("vectors", "holds vectors (NumPy's .npy)", _OF_VECTORS)),
    (b"\x89HDF\r\n", _bytes("HDF5", "is an HDF5 file, as vectors are kept in", _OF_VECTORS)),
    (b"ARROW1", _ARROW),
    (b"\x80\x04", _PICKLE),
    (b"%PDF-", _bytes("pdf", "is a PDF", "name the file of data, not its description")),
    (b"\x89PNG\r\n", _bytes("image", "is a picture (PNG)", "name the file of data")),
    (b"\xff\xd8\xff", _bytes("image", "is a picture (JPEG)", "name the file of data")),
    (b"GIF8", _bytes("image", "is a picture (GIF)", "name the file of data")),
    (
        b"SQLite format 3\0",
        _bytes("database", "is an SQLite database", "a study is named by its folder: prefjudge status STUDY"),
    ),
    (b"\xff\xfe", _UTF16),
    (b"\xfe\xff", _UTF16),
)
_TAR = _bytes("tar", "is a tar archive", "unpack it: tar xf {path}")
_RAW_VECTORS = _bytes("vectors", "holds vectors (.fbin, .fvecs and the like)", _OF_VECTORS)
_NUL = Foreign(
    "binary",
    "holds NUL bytes, so it is not UTF-8 text",
    "give a text file; if this is UTF-16 text, convert it: iconv -f UTF-16LE -t UTF-8 {path} > {path}.utf8",
)

_HTML = _lines(
    "html", "is an HTML page", "was a web page saved instead of the file? Download the file itself"
)
_TOPICS = _lines("topics", "holds TREC topics (SGML or XML)", "give it as queries")
_DOCUMENTS = _lines("documents", "holds TREC documents (SGML)", "give it as the collection")
_RECORDS = _lines(
    "JSON lines",
    "holds JSON, as queries and collections may be",
    "give it as queries or as the collection, or write it as columns",
)
OF_TEXTS = (_TOPICS, _DOCUMENTS, _RECORDS)
"""What holds queries or a collection, in no columns."""
_JSON_RUN = _lines(
    "JSON run",
    "is a JSON object of queries with scores, as ranx and pytrec_eval keep runs",
    "call it NAME.json; or write it as text: in ranx, run.save('run.trec', kind='trec')",
)
_JSON_QRELS = _lines(
    "JSON qrels",
    "is a JSON object of queries with grades, as ranx and pytrec_eval keep qrels",
    "call it NAME.json; or write it as text: in ranx, qrels.save('qrels.trec', kind='trec')",
)
_MARKUP = (  # what stands behind the first "<", in lower case
    (re.compile(rb"<(!doctype\s+html|html|head)\b", re.IGNORECASE), _HTML),
    (re.compile(rb"<(top|topics?|queries|query|!ELEMENT\s+topic)\b", re.IGNORECASE), _TOPICS),
    (re.compile(rb"<docs?\b", re.IGNORECASE), _DOCUMENTS),
)
_TEXTS = (
    (
        re.compile(rb"version https://git-lfs"),
        Foreign(
            "pointer",
            "is a Git LFS pointer, not the file that it stands for",
            "get the file: git lfs pull",
        ),
    ),
    (
        re.compile(rb"[^\n]*\bproduct_id\b[^\n]*\besci_label\b"),
        Foreign(
            "ESCI",
            "is an ESCI judgment list: products, each with a label (E, S, C or I) for a query",
            "write qrels: query_id 0 product_id grade, with E as 3, S as 2, C as 1 and I as 0",
        ),
    ),
    (
        re.compile(rb"\.I +\S+\s*\n\.[A-Z]\b"),
        Foreign(
            "SMART",
            "is in SMART's form (.I, .T, .W), as Cranfield and CACM are given away",
            "write each entry as a line: id, a tab, the text; or use irds:cranfield",
        ),
    ),
)
_PRELS = Foreign(
    "prels",
    "holds NIST's prels: judgments that were sampled, with the method and a probability",
    "for the judged documents alone: awk '{{print $1, 0, $2, $3}}' {path} > {path}.qrels",
)
_VOTES = Foreign(
    "votes",
    "holds votes: comparisons of two answers",
    "make them part of a study: prefjudge import STUDY {path}",
)
BEIR_QRELS = Foreign("BEIR qrels", "holds BEIR qrels, whose first line names the columns", "give it as qrels")
_COMPARISONS = (
    (re.compile(rb'"?HITId"?,[^\n]*"?WorkerId"?,'), _VOTES),
    (
        re.compile(rb"query_id\tquery\t(good_id\tgood|good\tbad)\b"),
        Foreign(
            "gold pairs",
            "holds gold pairs",
            "give them to a study: prefjudge gold STUDY --accept --file {path}",
        ),
    ),
    (re.compile(rb"query-id\tcorpus-id", re.IGNORECASE), BEIR_QRELS),
)
_KEYS_OF_VOTES = (
    (b'"winner"', b'"model_a"'),
    (b'"chosen"', b'"rejected"'),
    (b'"response_a"', b'"response_b"'),
    (b'"left"', b'"right"', b'"choice"'),
    (b'"annotations"', b'"result"'),
    (b'"instance_id_to_label_to_value"',),
)
"""What the first object of JSON names, where it is a vote: each of some."""
_OF_PRELS = re.compile(rb"\d+ +[^\s]*[A-Za-z][^\s]*[^\s]{8} +-?\d +\d +(0?\.\d+|1(\.0*)?)\s*\n")
_OF_QUERIES = re.compile(rb'\{\s*"[^"]*"\s*:\s*\{')
_OF_EXCEL = re.compile(rb"\bxl/|\[Content_Types\]\.xml(?!.*\b(word|ppt)/)", re.DOTALL)
_FRACTION = re.compile(rb":\s*-?\d+(\.\d|[eE])")


def foreign_bytes(head: bytes) -> Foreign | None:
    """Return what a file is that is not UTF-8 text."""
    for magic, what in _BYTES:
        if head.startswith(magic) and (what is not _UTF16 or b"\0" in head):  # Latin-1 may begin so, too
            return _EXCEL if what.kind == "zip" and _OF_EXCEL.search(head[:4096]) else what
    if head[257:262] == b"ustar":
        return _TAR
    if b"\0" not in head[:4096]:
        return None
    return _RAW_VECTORS if _are_vectors(head) else _NUL


def _are_vectors(head: bytes) -> bool:
    """Tell files of vectors: how many dimensions, or how many vectors and that, before floats near 0."""
    if len(head) < 72:
        return False
    first, second = int.from_bytes(head[:4], "little"), int.from_bytes(head[4:8], "little")
    for dimensions, start in ((first, 4), (second, 8)):
        if 2 <= dimensions <= 1 << 14:
            numbers = unpack(f"<{min(dimensions, 16)}f", head[start : start + 4 * min(dimensions, 16)])
            if all(number == 0 or 1e-9 < abs(number) < 1e4 for number in numbers) and any(numbers):
                return True
    return False


def _start(head: bytes) -> bytes:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:4096]


def _beginning(text: bytes, kinds: Sequence[tuple[re.Pattern[bytes], Foreign]]) -> Foreign | None:
    return next((what for begins, what in kinds if begins.match(text)), None)


def comparisons(head: bytes) -> Foreign | None:
    """Return what a file of pairs, or of BEIR's judgments, is: it might pass for texts."""
    text = _start(head)
    if text.startswith((b"{", b"[")):
        return _VOTES if any(all(key in text for key in keys) for keys in _KEYS_OF_VOTES) else None
    return _beginning(text, _COMPARISONS)


def foreign_text(head: bytes) -> Foreign | None:
    """Return what a text is that holds neither columns nor, line by line, an id and a text."""
    text = _start(head)
    found = _beginning(text, _TEXTS) or _markup(text)
    return None if found in (_TOPICS, _DOCUMENTS) else found


def _markup(text: bytes) -> Foreign | None:
    found = [(match.start(), what) for tag, what in _MARKUP if (match := tag.search(text))]
    return min(found, key=lambda one: one[0])[1] if found and text.startswith(b"<") else None


def foreign_columns(head: bytes) -> Foreign | None:
    """Return what a text is that holds no columns, or others than files of runs, qrels and judgments."""
    if other := comparisons(head):
        return other
    text = _start(head)
    if _OF_PRELS.match(text):
        return _PRELS
    if _OF_QUERIES.match(text):
        return _JSON_RUN if _FRACTION.search(text) else _JSON_QRELS
    if text.startswith((b"{", b"[")):
        return _RECORDS
    return foreign_text(head) or _markup(text)
