"""TREC's topics in all their forms, and its documents in SGML."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote_plus
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from prefjudge.errors import InputError
from prefjudge.reading.lines import Block
from prefjudge.reading.texts.records import (
    FIELDS,
    Reading,
    Record,
    as_text,
    unescaped,
    whole,
)


def _topic(
    reading: Reading,
    line: int,
    raw: str,
    number: tuple[str, str, str],
    parts: Mapping[str, str],
    names: Sequence[str],
) -> Record | None:
    """Return the topic that starts on a line, with the first of its parts that has one of the names."""
    # What lacks a ``number`` (what it is called, what is said, and how to write it) or such a part is
    # reported.
    called, name, hint = number
    if not name or name.split() != [name]:
        what = f"the {called} of the topic holds a blank" if name else f"the topic has no {called}"
        reading.problems.add(line, 1, what, raw.encode("utf-8", "replace"), hint)
        return None
    if text := next((parts[one] for one in names if parts.get(one)), ""):
        return Record(line, name.encode("utf-8", "replace"), text.encode("utf-8", "replace"))
    asked, there = reading.fields.text_field, ", ".join(one for one in parts if parts[one])
    what = f"topic {name} has no {asked or reading.fields.field}: it has {there or 'nothing else'}"
    ways = [str(one) for one, known in FIELDS.items() if any(parts.get(part) for part in known)]
    hint = "Write queries as lines of id, tab, text."
    if asked is not None:
        hint = "Name the field that holds the text: --dataset text=NAME."
    elif ways:
        hint = f"Choose another field: --dataset field={' or field='.join(ways)}."
    reading.problems.add(line, 1, what, raw.encode("utf-8", "replace"), hint)
    return None


# Topics as one JSON document: a list of objects with ids, or an object of texts or objects by id.

_SPACE = re.compile(r"\s*")


def read_json_topics(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the topics of a file."""
    path = reading.problems.path
    text = as_text(whole(blocks, path), reading)
    try:
        yield from _records(text, reading)
    except (ValueError, RecursionError) as error:
        where = f":{error.lineno}:{error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        what = "nested too deeply" if isinstance(error, RecursionError) else "not valid JSON"
        raise InputError(f"{path}{where}: {what}", "Was the file cut off? Get it again.") from None


def _records(text: str, reading: Reading) -> Iterator[Record]:
    line, counted, ids = 1, 0, reading.fields.ids()
    for place, name, value in _members(text):
        line += text.count("\n", counted, place)
        counted = place
        parts = _texts({"text": value} if isinstance(value, str) else value)
        number = name if name is not None else next((parts[key] for key in ids if parts.get(key)), "")
        parts = {key: said for key, said in parts.items() if name is not None or key not in ids}
        raw = text[place : place + 200]
        hint = f"Put an id of one word under one of: {', '.join(ids)}"
        if record := _topic(reading, line, raw, ("id", number, hint), parts, reading.fields.texts()):
            yield record


def _texts(value: Any) -> dict[str, str]:
    """Return the members of an object that are texts or whole numbers."""
    if not isinstance(value, dict):
        return {}
    return {
        key: " ".join(str(said).split())
        for key, said in value.items()
        if isinstance(said, str) or (isinstance(said, int) and not isinstance(said, bool))
    }


def _members(text: str) -> Iterator[tuple[int, str | None, Any]]:
    """Yield the members of the outermost list or object: where each starts, its name if any, its value."""
    decoder = json.JSONDecoder()
    place = _skip(text, 0)
    named = text[place : place + 1] == "{"
    end = "}" if named else "]"
    place = _skip(text, place + 1)
    while text[place : place + 1] != end:
        start, name = place, None
        if named:
            name, place = decoder.raw_decode(text, place)
            place = _skip(text, place)
            if not isinstance(name, str) or text[place : place + 1] != ":":
                raise json.JSONDecodeError("no name", text, place)
            place = _skip(text, place + 1)
        value, place = decoder.raw_decode(text, place)
        yield start, name, value
        place = _skip(text, place)
        if text[place : place + 1] == ",":
            place = _skip(text, place + 1)
        elif text[place : place + 1] != end:
            raise json.JSONDecodeError("no end", text, place)
    if text[place + 1 :].strip():
        raise json.JSONDecodeError("more behind the end", text, place + 1)


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


# Queries without ids: questions with their answers, as DPR has them, and the titles of TREC CAR.

_NUMBERED = "the questions have no ids; they are numbered from 0 on, as Anserini numbers them"
_HINT = "Write each line as: question, a tab, a list of answers; or as JSON with a question and an answer."
_TITLE_HINT = "Write blanks as %20; or write each line as: id, a tab, the text."
_WIKI = b"enwiki:"


def read_answered(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the questions of a file, named by the places of their lines; the answers are left out."""
    reading.notice(_NUMBERED)
    for block in blocks:
        for line, raw in block.lines():
            if not raw.strip():
                continue
            if question := _question(raw):
                yield Record(line, b"%d" % (line - 1), question)
            else:
                reading.problems.add(line, 1, "not a question with its answers", raw, _HINT)


def _question(raw: bytes) -> bytes:
    if not raw.startswith(b"{"):
        cells = next(csv.reader([raw.decode("utf-8", "replace")], delimiter="\t"))  # some are quoted
        return cells[0].strip().encode() if len(cells) > 1 else b""
    try:
        question = json.loads(raw)["question"]
    except (ValueError, KeyError, RecursionError):
        return b""
    return question.strip().encode("utf-8", "replace") if isinstance(question, str) else b""


def read_titles(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the topics of TREC CAR: ids are titles of articles and sections, as addresses have them."""
    for block in blocks:
        for line, raw in block.lines():
            if name := raw.strip():
                title = unquote_plus(name.removeprefix(_WIKI).decode("utf-8", "replace"))
                if len(name.split()) > 1 or not title.strip():
                    what = "not a title as addresses have it"
                    reading.problems.add(line, 1, what, raw, _TITLE_HINT)
                else:
                    yield Record(line, name, title.strip().encode())


# TREC topics in SGML: ``<top> <num> Number: 401 <title> … </top>``, with end tags or without.

_TOP = re.compile(r"<top\b[^<>]*>", re.IGNORECASE)
_END = re.compile(r"</top\s*>", re.IGNORECASE)
_TAG = re.compile(  # no others: a narrative may quote HTML
    r"</?(?:num|title|desc|narr|head|dom|smry|con|fac|nat|def|time|query\w*|docid|url|subtopics?|note|type)\b"
    r"[^<>\n]*>",
    re.IGNORECASE,
)
_NAME = re.compile(r"\w[\w.-]*")
_SGML_HINT = "Write each topic as: <top> <num> 1 <title> words </top>."
_LABELS = {
    "num": re.compile(r"\s*(Number|Topic)\s*:", re.IGNORECASE),
    "title": re.compile(r"\s*(Topic|Title)\s*:", re.IGNORECASE),
    "desc": re.compile(r"\s*Description\s*:", re.IGNORECASE),
    "narr": re.compile(r"\s*Narrative\s*:", re.IGNORECASE),
}
"""What the older files write behind a tag."""


def read_trec_topics(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the topics of a file."""
    path = reading.problems.path
    text = as_text(whole(blocks, path), reading)
    tops = list(_TOP.finditer(text))
    starts = [found.end() for found in tops]
    ends = [*(found.start() for found in tops[1:]), len(text)]
    found, line, counted = [], 1, 0
    for start, end in zip(starts, ends, strict=True):
        line += text.count("\n", counted, start)
        counted = start
        closed = _END.search(text, start, end)
        if closed is None and end == len(text):
            raise InputError(
                f"{path}:{line}: the last topic has no </top>", "Was the file cut off? Get it again."
            )
        parts = _parts(text[start : closed.start() if closed else end])
        number, raw = ("<num>", parts.pop("num", ""), _SGML_HINT), text[start : start + 200]
        if record := _topic(reading, line, raw, number, parts, reading.fields.texts()):
            found.append(record)
    yield from _unpadded(found, reading)


def _parts(topic: str) -> dict[str, str]:
    """Return the text of each tag; the first of those that are there twice."""
    parts: dict[str, str] = {}
    name, since = "", 0
    for tag in [*_TAG.finditer(topic), None]:
        text = topic[since : tag.start() if tag else len(topic)]
        if name:
            label = _LABELS.get(name)
            parts.setdefault(
                name,
                " ".join(
                    unescaped(label.sub("", text, count=1) if label and label.match(text) else text).split()
                ),
            )
        if tag is None:
            break
        raw = tag[0].strip()
        word = _NAME.search(raw)
        name = "" if raw.startswith("</") or word is None else word[0].lower()
        since = tag.end()
    return parts


def _unpadded(records: list[Record], reading: Reading) -> list[Record]:
    """Drop the zeros before numbers: TREC-1 to 3 wrote 051 in topics, and 51 in their qrels."""
    padded = [record.name for record in records if record.name.isdigit() and record.name[:1] == b"0"]
    if not padded or not all(record.name.isdigit() for record in records):
        return records
    short = [record.name.lstrip(b"0") or b"0" for record in records]
    short_one = (padded[0].lstrip(b"0") or b"0").decode()
    reading.notice(f"topic {padded[0].decode()} is read as {short_one}, as TREC's qrels have it")
    return [Record(record.line, name, record.text) for record, name in zip(records, short, strict=True)]


# Topics in XML: ``<topics><topic number="1"><query>…``, as the tracks on the web and COVID have them.

_TOPICS = ("topic", "query", "top")
_DEPTH = 50


class _Elements(TreeBuilder):
    """Makes elements, and keeps on which line each begins."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[Element, int] = {}
        self.parser: DefusedXMLParser | None = None
        self.depth = 0

    def start(self, tag: str, attributes: dict[str, str], /) -> Element:
        """Begin an element."""
        assert self.parser is not None
        line = self.parser.parser.CurrentLineNumber
        self.depth += 1
        if self.depth > _DEPTH:
            raise ParseError(f"nested more than {_DEPTH} deep: line {line}")
        element = super().start(tag.lower(), attributes)
        self.lines[element] = line
        return element

    def end(self, tag: str, /) -> Element:
        """End an element."""
        self.depth -= 1
        return super().end(tag.lower())


def read_xml_topics(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the topics of a file; nothing outside of it is read, and no entity is expanded."""
    path = reading.problems.path
    ids = tuple(name.lower() for name in reading.fields.ids())
    known = [name.lower() for name in reading.fields.texts()]
    target = _Elements()
    target.parser = parser = DefusedXMLParser(target=target)
    try:
        parser.feed(whole(blocks, path))
        topics = [one for one in parser.close() if one.tag in _TOPICS]
    except DefusedXmlException as error:
        raise InputError(
            f"{path} declares XML entities, which are not read: {error}", "Write the text in their place."
        ) from None
    except ParseError as error:
        raise InputError(f"{path} is not XML: {error}", "Was the file cut off? Get it again.") from None
    if not topics:
        raise InputError(
            f"{path} is XML without topics", "Write each as: <topic number=…><title>…</title></topic>."
        )
    for topic in topics:
        parts: dict[str, str] = {}
        for part in topic:
            parts.setdefault(part.tag, _words(part.itertext()))
        named = (said for found in (topic.attrib, parts) for name in ids if (said := found.get(name)))
        number = ("number", next(named, "").strip(), "Write each as: <topic number=…>.")
        own = _words([topic.text or "", *(part.tail or "" for part in topic)])
        parts = {name: text for name, text in parts.items() if name not in ids} or {known[0]: own}
        if record := _topic(reading, target.lines[topic], number[1], number, parts, known):
            yield record


def _words(texts: Iterable[str]) -> str:
    return " ".join("".join(texts).split())


# TREC documents in SGML: ``<DOC> <DOCNO> id </DOCNO> … </DOC>``, several in a file.

_DOC = re.compile(rb"<DOC>", re.IGNORECASE)
_DOC_END = re.compile(rb"</DOC>", re.IGNORECASE)
_NUMBER = re.compile(rb"<DOCNO>([^<>]*)</DOCNO>", re.IGNORECASE)
_TITLE = re.compile(r"<(headline|head|title|ttl|hl)>", re.IGNORECASE)
_BODY = re.compile(r"<(?:text|body)>(.*?)(?:</(?:text|body)>|\Z)", re.IGNORECASE | re.DOTALL)
_ASIDE = re.compile(r"<(docno|docid|dochdr|docoldno)>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(r"</?[A-Za-z!][^<>]*>")
_FRONT = len("<DOC>") - 1
_MOST = 32 << 20
"""Bytes of one document: what is longer lacks its end."""


def read_trec_documents(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the documents of a file that are wanted; only these are looked into."""
    rest, line = b"", 1
    for block in blocks:
        data, place = rest + block.data, 0
        while (start := _DOC.search(data, place)) and (end := _DOC_END.search(data, start.end())):
            line += data.count(b"\n", place, start.start())
            if record := _document(data[start.end() : end.start()], line, reading):
                yield record
            line += data.count(b"\n", start.start(), end.end())
            place = end.end()
        if start is None:  # nothing is open: all but what may be the front of a tag is done with
            line += data.count(b"\n", place, max(place, len(data) - _FRONT))
            place = max(place, len(data) - _FRONT)
        rest = data[place:]
        if len(rest) > _MOST:
            break
    if start := _DOC.search(rest):
        line += rest.count(b"\n", 0, start.start())
        raise InputError(
            f"{reading.problems.path}:{line}: the document has no </DOC>",
            "Was the file cut off? Get it again.",
        )


def _document(document: bytes, line: int, reading: Reading) -> Record | None:
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
    lines = (" ".join(line.split()) for line in unescaped(_MARKUP.sub(" ", text)).split("\n"))
    return "\n".join(line for line in lines if line)
