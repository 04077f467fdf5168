"""Topics in XML: ``<topics><topic number="1"><query>…``, as the tracks on the web and COVID have them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from prefjudge.errors import InputError
from prefjudge.formats.lines.blocks import Block
from prefjudge.formats.texts.text_formats import Reading, Record, whole
from prefjudge.formats.texts.topic_fields import no_field

_TOPICS = ("topic", "query", "top")
_DEPTH = 50


@dataclass(slots=True)
class _Topic:
    line: int
    number: str
    parts: dict[str, str] = field(default_factory=dict)
    text: str = ""


@dataclass(slots=True)
class _Topics:
    """What the parser tells: the topics below the root, and the texts of their parts."""

    ids: tuple[str, ...]
    parser: DefusedXMLParser | None = None
    path: list[str] = field(default_factory=list)
    topics: list[_Topic] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        assert self.parser is not None
        line = self.parser.parser.CurrentLineNumber
        if len(self.path) >= _DEPTH:
            raise ParseError(f"nested more than {_DEPTH} deep: line {line}")
        self.path.append(tag.lower())
        if len(self.path) == 2 and tag.lower() in _TOPICS:
            number = next((attributes[name] for name in self.ids if name in attributes), "")
            self.topics.append(_Topic(line=line, number=number.strip()))
        if len(self.path) <= 3:
            self.said = []

    def data(self, text: str) -> None:
        if len(self.path) >= 2:
            self.said.append(text)

    def end(self, tag: str) -> None:
        tag = self.path.pop()
        if not self.topics or len(self.path) not in (1, 2) or self.path[0] in _TOPICS:
            return
        topic, text = self.topics[-1], " ".join("".join(self.said).split())
        if len(self.path) == 2:
            topic.parts.setdefault(tag, text)
            self.said = []
        elif tag in _TOPICS:
            topic.text = text

    def close(self) -> list[_Topic]:
        return self.topics


def read_records(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the topics of a file; nothing outside of it is read, and no entity is expanded."""
    path = reading.problems.path
    ids = tuple(name.lower() for name in reading.fields.ids())
    known = [name.lower() for name in reading.fields.texts()]
    target = _Topics(ids=ids)
    parser = DefusedXMLParser(target=target)
    target.parser = parser
    try:
        parser.feed(whole(blocks, path))
        topics = parser.close()
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
        number = topic.number or next((topic.parts[name] for name in ids if topic.parts.get(name)), "")
        if not number or number.split() != [number]:
            what = "the number of the topic holds a blank" if number else "the topic has no number"
            reading.problems.add(topic.line, 1, what, number.encode(), "Write each as: <topic number=…>.")
            continue
        parts = {name: text for name, text in topic.parts.items() if name not in ids}
        texts = [parts[name] for name in known if parts.get(name)]
        text = texts[0] if texts else topic.text * (not parts)
        if text:
            yield Record(topic.line, number.encode(), text.encode())
        else:
            what, hint = no_field(number, reading.fields, parts)
            reading.problems.add(topic.line, 1, what, b"", hint)
