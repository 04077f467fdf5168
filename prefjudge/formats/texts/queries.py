"""Queries files: ``query_id<tab>text``, JSON, or TREC topics in any of their forms."""

from os import fspath
from pathlib import Path

from prefjudge.errors import InputError
from prefjudge.formats.lines.datasets import is_dataset
from prefjudge.formats.lines.held import Held
from prefjudge.formats.lines.problems import Notice, Problems, Stop, decode
from prefjudge.formats.texts.datasets import dataset_queries
from prefjudge.formats.texts.held_texts import queries_of
from prefjudge.formats.texts.records import read_records, readable
from prefjudge.formats.texts.text_formats import Reading
from prefjudge.formats.texts.topic_fields import PLAIN, TextFields

_BLANK = "the id holds a blank, and no run can name it"
_WORD = "Write each line as: id, a tab, the text. If these are questions and answers, give each an id."


def read_queries(
    path: str | Path, *, fields: TextFields = PLAIN, notices: list[Notice] | None = None
) -> dict[str, str]:
    """Read the texts of queries by query_id, in the file's order; ``fields`` say where ids and texts stand.

    Raises
    ------
    InputError
        With every problem up to a limit: lines without an id, topics without the field, an id with two texts
        or a blank, an empty file.
    """
    if is_dataset(path):
        return dataset_queries(fspath(path), fields)
    if isinstance(path, Held):
        return queries_of(path)
    problems = Problems(fspath(path), "queries file")
    notices = [] if notices is None else notices
    texts: dict[bytes, tuple[int, bytes]] = {}
    try:
        for record in read_records(Reading(problems=problems, notices=notices, fields=fields)):
            if len(record.name.split()) != 1:
                problems.add(record.line, 1, _BLANK, record.name, _WORD)
                continue
            line, text = texts.setdefault(record.name, (record.line, record.text))
            if text != record.text:
                problems.add(
                    record.line,
                    1,
                    f"the query has another text on line {line}",
                    record.name,
                    "Give each query_id one line only.",
                )
    except Stop:
        pass
    problems.check()
    if not texts:
        raise InputError(
            f"{path} is empty: a queries file needs at least one line",
            "Write each line as: id, a tab, the text.",
        )
    return {decode(name): readable(text, f"{path}:{line}", notices) for name, (line, text) in texts.items()}
