"""Readers written plainly from each format's description, line by line: the tests compare ours with them.

Nothing here calls the package. A file that breaks its format is a `Refused`.
"""

import json
import re
from unicodedata import normalize

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?", re.IGNORECASE)
IDS = ("_id", "id", "pid", "docid", "doc_id", "qid", "query_id", "document_id", "passage_id")
TEXTS = ("text", "passage", "contents", "body", "segment", "query", "question")


class Refused(Exception):  # noqa: N818 - what a reader does
    """The file is none of its format."""


def _check(fine):
    if not fine:
        raise Refused


def number(word):
    """Return a decimal number: digits, a point, an exponent, or infinity."""
    text = word.decode("latin-1")
    _check(text.isascii() and NUMBER.fullmatch(text))
    return float(text)


def whole(word):
    """Return a whole number of up to 18 characters."""
    text = word.decode("latin-1")
    _check(text.isascii() and re.fullmatch(r"[+-]?[0-9]+", text) and len(text) <= 18)
    return int(text)


def rows(data):
    """Return the words of each line: lines end in LF, CR LF or CR; comments and blank lines are none."""
    lines = re.split(rb"\r\n|\r|\n", data.removeprefix(b"\xef\xbb\xbf"))
    split = [[word for word in re.split(rb"[ \t\v\f]+", line) if word] for line in lines]
    found = [words for words in split if words and not words[0].startswith(b"#")]
    _check(found and all(len(words) == len(found[0]) for words in found))
    return found


def name(raw):
    """Return an id as text that keeps every byte."""
    return raw.decode("utf-8", "surrogateescape")


def run(data):
    """Return {query: [(document, score)]}, in the file's order; without scores they are minus the ranks."""
    lines = rows(data)
    width = len(lines[0])
    _check(width in (3, 5) or 6 <= width <= 64)
    _check(width <= 6 or all(words[5:] == lines[0][5:] for words in lines))
    found = {}
    for words in lines:
        doc, score = (words[1], -whole(words[2])) if width == 3 else (words[2], number(words[4]))
        ranking = found.setdefault(name(words[0]), {})
        _check(name(doc) not in ranking)
        ranking[name(doc)] = float(score)
    return {query: list(ranking.items()) for query, ranking in found.items()}


def qrels(data, *, fractions=False):
    """Return {(query, document): grade}."""
    lines = rows(data)
    _check(len(lines[0]) in (3, 4))
    found = {}
    for words in lines:
        grade = number(words[-1])
        _check(abs(grade) != float("inf") and (fractions or grade == int(grade)))
        _check(found.setdefault((name(words[0]), name(words[-2])), grade) == grade)
    return found


def judgments(data):
    """Return [(query, document, document, preferred or None, worker or None)]."""
    lines = rows(data)
    _check(len(lines[0]) in (4, 5, 6))
    found = []
    for query, one, other, preferred, *worker in lines:
        if len(worker) == 2:  # then the number of the choice out of several
            _check(re.fullmatch(rb"[0-9]+|-", worker.pop()))
            worker = [] if worker == [b"-"] else worker
        _check(one != other)
        tie = preferred in (b"tie", b"TIE", b"=") and preferred not in (one, other)
        _check(tie or preferred in (one, other))
        chosen = None if tie else name(preferred)
        found.append((name(query), name(one), name(other), chosen, name(worker[0]) if worker else None))
    return found


def records(data):
    """Return [(id, text)]: tab-separated lines, or JSON objects; CR ends lines where no LF does."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    lines = re.split(rb"\n" if b"\n" in data else rb"\r", data)
    read = _object if data.lstrip().startswith(b"{") else _tabs
    return [read(line.rstrip(b"\r")) for line in lines if line.strip()]


def _tabs(line):
    cells = line.split(b"\t")
    _check(len(cells) > 1 and cells[0].strip())
    for place in (found.start() for found in re.finditer(rb"\r[^ \t\n\v\f\r]+\t", line)):
        before, after = line[:place].count(b"\t"), line[place:].count(b"\t")
        _check(not before or before != after)
    texts = cells[2:] if len(cells) > 3 else cells[1:]
    if len(cells) > 2:
        texts = [text for text in texts if text.strip()]
    return name(cells[0].strip()), b"\n".join(texts).strip().decode("utf-8", "replace")


def _object(line):
    try:
        members = json.loads(line)
    except (ValueError, RecursionError):
        raise Refused from None
    _check(isinstance(members, dict))

    def first(keys):
        values = [members[key] for key in keys if key in members]
        values = [value for value in values if isinstance(value, str) or type(value) is int]
        return str(values[0]) if values else None

    ident, text, title = first(IDS), first(TEXTS), first(("title",))
    if text is None and title and title.strip():
        text, title = title, None
    _check(ident is not None and text is not None)
    whole_text = f"{title}\n{text}" if title and title.strip() else text
    while "\n" in whole_text and not whole_text.partition("\n")[0].strip():  # an indented first line stays
        whole_text = whole_text.partition("\n")[2]
    kept = whole_text.rstrip().encode("utf-8", "replace").decode()
    return name(ident.encode("utf-8", "surrogatepass")), kept


def queries(data):
    """Return {query: text}; an id is one word, as in a run."""
    found = texts(data)
    for ident in found:
        _check(len(ident.encode("utf-8", "surrogateescape").split()) == 1)
    return found


def texts(data):
    """Return {document: text}."""
    found = {}
    for ident, text in records(data):
        _check(found.setdefault(ident, text) == text)
    _check(found)
    return found


def gold(data):
    """Return [{column: cell}]: tab-separated with a header line."""
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError:
        raise Refused from None
    header, *lines = re.split("\r\n|\r|\n", text)
    columns = header.split("\t")
    needed = ("query_id", "query", "good", "bad")
    _check(set(needed) <= set(columns))
    found = []
    for line in filter(None, lines):
        cells = line.split("\t")
        _check(len(cells) <= len(columns))
        row = dict(zip(columns, cells, strict=False))
        _check(all(row.get(column, "").strip() for column in needed))
        good, bad = (normalize("NFC", " ".join(row[side].split())) for side in ("good", "bad"))
        _check(good != bad)
        found.append({column: row.get(column, "") for column in (*needed, "good_id", "bad_id")})
    return found
