"""TREC documents in SGML: ``<DOC> <DOCNO> id </DOCNO> … </DOC>``, several in a file."""

import re
from collections.abc import Iterator

from prefjudge.errors import InputError
from prefjudge.formats.lines.blocks import Block
from prefjudge.formats.texts.text_formats import Reading, Record, as_text, unescaped

_START = re.compile(rb"<DOC>", re.IGNORECASE)
_END = re.compile(rb"</DOC>", re.IGNORECASE)
_NUMBER = re.compile(rb"<DOCNO>([^<>]*)</DOCNO>", re.IGNORECASE)
_TITLE = re.compile(r"<(headline|head|title|ttl|hl)>", re.IGNORECASE)
_BODY = re.compile(r"<(?:text|body)>(.*?)(?:</(?:text|body)>|\Z)", re.IGNORECASE | re.DOTALL)
_ASIDE = re.compile(r"<(docno|docid|dochdr|docoldno)>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")
_FRONT = len("<DOC>") - 1
_MOST = 32 << 20
"""Bytes of one document: what is longer lacks its end."""


def read_records(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the documents of a file that are wanted; only these are looked into."""
    rest, line = b"", 1
    for block in blocks:
        data, place = rest + block.data, 0
        while (start := _START.search(data, place)) and (end := _END.search(data, start.end())):
            line += data.count(b"\n", place, start.start())
            if record := _record(data[start.end() : end.start()], line, reading):
                yield record
            line += data.count(b"\n", start.start(), end.end())
            place = end.end()
        if start is None:  # nothing is open: all but what may be the front of a tag is done with
            line += data.count(b"\n", place, max(place, len(data) - _FRONT))
            place = max(place, len(data) - _FRONT)
        rest = data[place:]
        if len(rest) > _MOST:
            break
    if start := _START.search(rest):
        line += rest.count(b"\n", 0, start.start())
        raise InputError(
            f"{reading.problems.path}:{line}: the document has no </DOC>",
            "Was the file cut off? Get it again.",
        )


def _record(document: bytes, line: int, reading: Reading) -> Record | None:
    number = _NUMBER.search(document)
    name = number[1].strip() if number else b""
    if len(name.split()) != 1:
        what = "the number of the document holds a blank" if name else "the document has no <DOCNO>"
        hint = "Write each document as: <DOC> <DOCNO>id</DOCNO> text </DOC>."
        reading.problems.add(line, 1, what, document[:200], hint)
        return None
    if reading.wanted is not None and name not in reading.wanted:
        return None
    text = as_text(document, reading)
    title = _title(text)
    bodies = [found[1] for found in _BODY.finditer(text)]
    parts = [title, *bodies] if title and bodies else bodies or [_ASIDE.sub("", text)]
    words = _plain("\n".join(parts))
    return Record(line, name, words.encode())


def _title(text: str) -> str:
    """Return what the first title holds that has an end; each name's end is sought in vain but once."""
    unended: set[str] = set()
    for start in _TITLE.finditer(text):
        name = start[1].lower()
        if name not in unended:
            if end := re.compile(f"</{name}>", re.IGNORECASE).search(text, start.end()):
                return text[start.end() : end.start()]
            unended.add(name)
    return ""


def _plain(text: str) -> str:
    """Return a text without tags, its lines without the blanks around them."""
    lines = (" ".join(line.split()) for line in unescaped(_TAG.sub(" ", text)).split("\n"))
    return "\n".join(line for line in lines if line)
