"""Signatures: what the first bytes of a file say that it is, where it is not lines of text in columns.

Each says what it is and what to do. A format that gets a reader leaves this table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from struct import unpack

_LINES = "not lines of columns"
_TEXT = "not UTF-8 text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """A format that is not read here: its name, what a message says of it, and what to do (of ``{path}``)."""

    kind: str
    what: str
    way: str

    def words(self, path: str) -> tuple[str, str]:
        """Return what is wrong with a file, and what to do."""
        return f"{path}: {self.what}", self.way.format(path=path)


_VECTORS = "give the file of the texts that the vectors were made from"
_UTF16 = Foreign(
    kind="UTF-16",
    what=f"is UTF-16 text, {_TEXT}",
    way="convert it: iconv -f UTF-16 -t UTF-8 {path} > {path}.utf8",
)
PARQUET = Foreign(
    kind="parquet",
    what=f"is a Parquet file, {_TEXT}",
    way="call it NAME.parquet, or write it as text",
)
PACKED_PARQUET = Foreign(
    kind="parquet",
    what="is Parquet, compressed or through a pipe, and Parquet is read from its end",
    way="give the unpacked file, under its own name: it is compressed inside",
)
UNREAD_PARQUET = Foreign(
    kind="parquet",
    what=f"is a Parquet file, {_TEXT}, but this option reads only text",
    way="write it as CSV: pandas.read_parquet({path!r}).to_csv('NAME.csv', index=False)",
)
_EXCEL = Foreign(
    kind="Excel",
    what=f"is an Excel workbook, {_TEXT}",
    way="save its sheet as text separated by tabs, or as CSV",
)
_BYTES = (
    (b"\xfd7zXZ", Foreign(kind="xz", what=f"is compressed with xz, {_TEXT}", way="unpack it: xz -d {path}")),
    (b"PK\x03\x04", Foreign(kind="zip", what=f"is a zip archive, {_TEXT}", way="unpack it: unzip {path}")),
    (b"7z\xbc\xaf", Foreign(kind="7z", what=f"is a 7z archive, {_TEXT}", way="unpack it: 7z x {path}")),
    (b"PAR1", PARQUET),
    (
        b"\x93NUMPY",
        Foreign(kind="vectors", what=f"holds vectors (NumPy's .npy), {_TEXT}", way=_VECTORS),
    ),
    (
        b"\x89HDF\r\n",
        Foreign(kind="HDF5", what=f"is an HDF5 file, as vectors are kept in, {_TEXT}", way=_VECTORS),
    ),
    (
        b"ARROW1",
        Foreign(
            kind="Arrow",
            what=f"is an Arrow (Feather) file, {_TEXT}",
            way="write it as Parquet: pandas.read_feather({path!r}).to_parquet('NAME.parquet')",
        ),
    ),
    (
        b"\x80\x04",
        Foreign(
            kind="pickle",
            what=f"is a Python pickle, which can run a program when it is read, {_TEXT}",
            way="write it as text in the program that made it",
        ),
    ),
    (
        b"%PDF-",
        Foreign(kind="pdf", what=f"is a PDF, {_TEXT}", way="name the file of data, not its description"),
    ),
    *(
        (
            begins,
            Foreign(kind="image", what=f"is a picture ({name}), {_TEXT}", way="name the file of data"),
        )
        for begins, name in ((b"\x89PNG\r\n", "PNG"), (b"\xff\xd8\xff", "JPEG"), (b"GIF8", "GIF"))
    ),
    (
        b"SQLite format 3\0",
        Foreign(
            kind="database",
            what=f"is an SQLite database, {_TEXT}",
            way="a study is named by its folder: prefjudge status STUDY",
        ),
    ),
    (b"\xff\xfe", _UTF16),
    (b"\xfe\xff", _UTF16),
)
_TAR = Foreign(kind="tar", what=f"is a tar archive, {_TEXT}", way="unpack it: tar xf {path}")
_RAW_VECTORS = Foreign(
    kind="vectors",
    what=f"holds vectors (.fbin, .fvecs and the like), {_TEXT}",
    way=_VECTORS,
)
_NUL = Foreign(
    kind="binary",
    what="holds NUL bytes, so it is not UTF-8 text",
    way="give a text file; if this is UTF-16 text, convert it: "
    "iconv -f UTF-16LE -t UTF-8 {path} > {path}.utf8",
)
_HTML = Foreign(
    kind="html",
    what=f"is an HTML page, {_LINES}",
    way="was a web page saved instead of the file? Download the file itself",
)
_POINTER = Foreign(
    kind="pointer",
    what="is a Git LFS pointer, not the file that it stands for",
    way="get the file: git lfs pull",
)
_TOPICS = Foreign(
    kind="topics",
    what=f"holds TREC topics (SGML or XML), {_LINES}",
    way="give it as queries",
)
_DOCUMENTS = Foreign(
    kind="documents",
    what=f"holds TREC documents (SGML), {_LINES}",
    way="give it as the collection",
)
_MARKUP = (  # what stands behind the first "<", in lower case
    (re.compile(rb"<(!doctype\s+html|html|head)\b", re.IGNORECASE), _HTML),
    (re.compile(rb"<(top|topics?|queries|query|!ELEMENT\s+topic)\b", re.IGNORECASE), _TOPICS),
    (re.compile(rb"<docs?\b", re.IGNORECASE), _DOCUMENTS),
)
BEIR_QRELS = Foreign(
    kind="BEIR qrels",
    what="holds BEIR qrels, whose first line names the columns",
    way="give it as qrels",
)
_JSON_RUN = Foreign(
    kind="JSON run",
    what=f"is a JSON object of queries with scores, as ranx and pytrec_eval keep runs, {_LINES}",
    way="call it NAME.json; or write it as text: in ranx, run.save('run.trec', kind='trec')",
)
_JSON_QRELS = Foreign(
    kind="JSON qrels",
    what=f"is a JSON object of queries with grades, as ranx and pytrec_eval keep qrels, {_LINES}",
    way="call it NAME.json; or write it as text: in ranx, qrels.save('qrels.trec', kind='trec')",
)
_ESCI = Foreign(
    kind="ESCI",
    what="is an ESCI judgment list: products, each with a label (E, S, C or I) for a query",
    way="write qrels: query_id 0 product_id grade, with E as 3, S as 2, C as 1 and I as 0",
)
_PRELS = Foreign(
    kind="prels",
    what="holds NIST's prels: judgments that were sampled, with the method and a probability",
    way="for the judged documents alone: awk '{{print $1, 0, $2, $3}}' {path} > {path}.qrels",
)
_RECORDS = Foreign(
    kind="JSON lines",
    what=f"holds JSON, as queries and collections may be, {_LINES}",
    way="give it as queries or as the collection, or write it as columns",
)
OF_TEXTS = (_TOPICS, _DOCUMENTS, _RECORDS)
"""What holds queries or a collection, in no columns."""
_VOTES = Foreign(
    kind="votes",
    what="holds votes: comparisons of two answers",
    way="make them part of a study: prefjudge import STUDY {path}",
)
_GOLD = Foreign(
    kind="gold pairs",
    what="holds gold pairs",
    way="give them to a study: prefjudge gold STUDY --accept --file {path}",
)
_SMART = Foreign(
    kind="SMART",
    what="is in SMART's form (.I, .T, .W), as Cranfield and CACM are given away",
    way="write each entry as a line: id, a tab, the text; or use irds:cranfield",
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
_BATCH = re.compile(rb'"?HITId"?,[^\n]*"?WorkerId"?,')
_OF_GOLD = re.compile(rb"query_id\tquery\t(good_id\tgood|good\tbad)\b")
_OF_ESCI = re.compile(rb"[^\n]*\bproduct_id\b[^\n]*\besci_label\b")
_OF_PRELS = re.compile(rb"\d+ +[^\s]*[A-Za-z][^\s]*[^\s]{8} +-?\d +\d +(0?\.\d+|1(\.0*)?)\s*\n")
_OF_SMART = re.compile(rb"\.I +\S+\s*\n\.[A-Z]\b")
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
    return _RAW_VECTORS if _of_vectors(head) else _NUL


def _of_vectors(head: bytes) -> bool:
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


def comparisons(head: bytes) -> Foreign | None:
    """Return what a file of pairs, or of BEIR's judgments, is: it might pass for texts."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:4096]
    if text.startswith((b"{", b"[")):
        return _VOTES if any(all(key in text for key in keys) for keys in _KEYS_OF_VOTES) else None
    if _BATCH.match(text):
        return _VOTES
    if _OF_GOLD.match(text):
        return _GOLD
    return BEIR_QRELS if text.lower().startswith(b"query-id\tcorpus-id") else None


def foreign_text(head: bytes) -> Foreign | None:
    """Return what a text is that holds neither columns nor, line by line, an id and a text."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:4096]
    if text.startswith(b"version https://git-lfs"):
        return _POINTER
    if _OF_ESCI.match(text):
        return _ESCI
    if _OF_SMART.match(text):
        return _SMART
    if text.startswith(b"<"):
        found = _markup(text)
        return None if found in (_TOPICS, _DOCUMENTS) else found
    return None


def _markup(text: bytes) -> Foreign | None:
    found = [(match.start(), what) for tag, what in _MARKUP if (match := tag.search(text))]
    return min(found, key=lambda one: one[0])[1] if found else None


def foreign_columns(head: bytes) -> Foreign | None:
    """Return what a text is that holds no columns, or others than files of runs, qrels and judgments."""
    if other := comparisons(head):
        return other
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:4096]
    if _OF_PRELS.match(text):
        return _PRELS
    if text.startswith(b"{"):
        if _OF_QUERIES.match(text):
            return _JSON_RUN if _FRACTION.search(text) else _JSON_QRELS
        return _RECORDS
    if text.startswith(b"["):
        return _RECORDS
    return foreign_text(head) or (_markup(text) if text.startswith(b"<") else None)
