"""Queries without ids: questions with their answers, as DPR has them, and the titles of TREC CAR."""

import csv
import json
from collections.abc import Iterator
from urllib.parse import unquote_plus

from prefjudge.formats.lines.blocks import Block
from prefjudge.formats.texts.text_formats import Reading, Record

_NUMBERED = "the questions have no ids; they are numbered from 0 on, as Anserini numbers them"
_HINT = "Write each line as: question, a tab, a list of answers; or as JSON with a question and an answer."
_TITLE_HINT = "Write blanks as %20; or write each line as: id, a tab, the text."
_WIKI = b"enwiki:"


def read_answered(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the questions of a file, named by the places of their lines; the answers are left out."""
    reading.notice(_NUMBERED)
    for block in blocks:
        for line, raw in enumerate(block.data.split(b"\n")[:-1], block.line):
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
        for line, raw in enumerate(block.data.split(b"\n")[:-1], block.line):
            if name := raw.strip():
                title = unquote_plus(name.removeprefix(_WIKI).decode("utf-8", "replace"))
                if len(name.split()) > 1 or not title.strip():
                    what = "not a title as addresses have it"
                    reading.problems.add(line, 1, what, raw, _TITLE_HINT)
                else:
                    yield Record(line, name, title.strip().encode())
