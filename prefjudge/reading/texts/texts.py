"""Texts: queries and passages, in every form that the field keeps them in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from prefjudge.core.hits import Passage, Shown
from prefjudge.errors import InputError
from prefjudge.reading.datasets import dataset_documents, dataset_entries, is_dataset
from prefjudge.reading.files import Notice, Problems, csv_rows, decode, encode, is_text
from prefjudge.reading.held import DOC, QUERY, Held
from prefjudge.reading.lines import Block, Holds, blocks, suffix_of
from prefjudge.reading.memory import Columns, pick, row_problems
from prefjudge.reading.runs.parquet import open_parquet
from prefjudge.reading.signatures import comparisons
from prefjudge.reading.texts.records import (
    CSV_IDS,
    CSV_TEXTS,
    FIELDS,
    IDS,
    PLAIN,
    Reading,
    Record,
    RecordReader,
    TextFields,
    as_text,
    below,
    columns_of,
    to_name,
)
from prefjudge.reading.unpacking import opened
from prefjudge.registers import Register

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


# Queries and collections in CSV: a header that names an id and a text, and rows that may span lines.
#
# Columns are separated by commas, semicolons or bars, or by tabs where the first line holds one.


def read_csv_records(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the rows of a file, a title before the text where there is one."""
    lines = _lines(blocks, reading)
    first = next(lines)
    rows = csv_rows(reading.path, chain([first], lines), _separator(first))
    header = [cell.strip() for cell in next(rows)[1]]
    key, text, title = columns_of(header, reading)
    name, texts = header.index(key), [header.index(one) for one in (title, text) if one is not None]
    for line, row in rows:
        what, way = "", "Fill in the cell."
        if len(row) != len(header):
            what, way = (
                f"{len(row)} cells where the header has {len(header)}",
                "Quote cells that hold a comma.",
            )
        elif not row[name].strip() or not row[texts[-1]].strip():
            what = "no id" if row[texts[-1]].strip() else "no text"
        if what:
            reading.problems.add(line, 1, what, ",".join(row).encode(), way)
        else:
            said = filter(None, (row[place].strip() for place in texts))
            shown = below(reading.fields, dict(zip(header, row, strict=True)))
            yield Record(line, row[name].strip().encode(), "\n".join(said).encode(), shown)


def _separator(header: str) -> str:
    """Return what separates the columns of a header: a tab where there is one, else what it has most of."""
    return "\t" if "\t" in header else max(",;|", key=header.count)


def _lines(blocks: Iterator[Block], reading: Reading) -> Iterator[str]:
    for block in blocks:
        # splitlines would also split at the line separators of Unicode, which are text
        yield from (line + "\n" for line in as_text(block.data, reading).split("\n")[:-1])


# The queries and documents of datasets of ir_datasets: which of their fields is the text.


def dataset_passages(path: str, doc_ids: Iterable[str], fields: TextFields) -> dict[str, Passage]:
    """Return the passages that a dataset has, in the order asked for."""
    wanted = list(dict.fromkeys(doc_ids))
    found = dataset_documents(path, wanted)
    named = fields.text_field
    return {
        name: Passage(document_text(path, found[name], named), below(fields, found[name]._asdict()))
        for name in wanted
        if name in found
    }


def _query_text(path: str, query: Any, fields: TextFields) -> str:
    """Return the field that is asked for; of a query without a title, what the dataset says is its text."""
    there = query._asdict()
    text = next((there[one] for one in fields.texts() if isinstance(there.get(one), str)), "")
    if not text and fields == PLAIN and hasattr(query, "default_text"):
        text = query.default_text()
    if not text.strip():
        raise _no_text(path, query.query_id, fields.text_field or fields.field, there)
    return text.strip()


def document_text(path: str | Path, document: Any, named: str | None) -> str:
    """Return the field that is named; else the text, behind the title where there is one. It may be empty."""
    there = document._asdict()
    text = there.get(named) if named else document.default_text()
    if not isinstance(text, str):
        raise _no_text(path, document.doc_id, named, there)
    title = "" if named else str(there.get("title") or "").strip()
    if title and text.startswith(title):  # as ir_datasets joins them, on a line
        rest = text.removeprefix(title).strip()
        return rest if rest.startswith(title) else "\n".join(filter(None, (title, rest)))
    return text.strip()


def _no_text(path: str | Path, name: str, asked: str | None, there: Mapping[str, object]) -> InputError:
    return InputError(
        f"{path}: {name} has no {asked}: it has {', '.join(there)}",
        "Name the field that holds the text: --dataset text=NAME.",
    )


# Texts in memory: a mapping of ids to texts, a table of them, or a function that knows them.

Texts = Mapping[str, str] | Callable[[str], str | None]
"""The text of each id; a function returns None for an id that has none."""

TEXT = ("text", "body", "contents", "passage")


def held_texts(given: Columns | Mapping[Any, Any] | Callable[[str], str | None], name: str) -> Held[Texts]:
    """Return texts in memory: a mapping or a function as it is, and of a table the ids and texts."""
    if not isinstance(given, Mapping):
        return Held(name, given)
    texts: Mapping[Any, Any] = given
    if given and not any(isinstance(value, str) for value in given.values()):
        ids, column = _columns(given, name)
        texts, twice = {}, []
        for row, (key, text) in enumerate(zip(ids, column, strict=True)):
            if (before := texts.setdefault(key, text)) is not text and before != text:
                twice.append((row, f"{key!r} has another text in a row before"))
        if twice:
            raise row_problems(name, "table of texts", twice, "Give each id one text only.")
    if texts and all(isinstance(key, int | np.integer) and not isinstance(key, bool) for key in texts):
        texts = {str(key): text for key, text in texts.items()}  # as the ids of runs
    odd = [
        (row, f"{key!r} has {text!r}")
        for row, (key, text) in enumerate(texts.items())
        if not (isinstance(key, str) and isinstance(text, str))
    ]
    if odd:
        hint = "Ids are texts, or whole numbers throughout; texts are str."
        raise row_problems(name, "mapping of texts", odd, hint)
    if not texts:
        raise InputError(f"{name} is empty: at least one text is needed", "Give the text of each id.")
    return Held(name, texts)


def _columns(given: Columns, name: str) -> tuple[list[Any], list[Any]]:
    """Return the ids and the texts of a table: of passages, or of queries, whose text may be called query."""
    of_passages = any(column in given for column in DOC)
    ids = pick(given, DOC if of_passages else QUERY, name, "ids")
    text = pick(given, TEXT if of_passages else (*TEXT, "query", "title"), name, "texts")
    return given[ids].tolist(), given[text].tolist()


def texts_of(held: Held[Any], ids: Iterable[str]) -> dict[str, str]:
    """Return the texts of some ids, in the order asked for; those that are not known are left out."""
    look = held.content.get if isinstance(held.content, Mapping) else held.content
    if not callable(look):
        raise InputError(f"{held} does not hold texts", "Give a mapping of ids to texts.")
    found = {one: text for one in ids if (text := _looked_up(look, one)) is not None}
    _check(held, found)
    return found


def _looked_up(look: Callable[[str], str | None], one: str) -> str | None:
    """Return what a function knows of an id; ``texts.__getitem__`` raises where there is nothing."""
    try:
        return look(one)
    except LookupError:
        return None


def _check(held: Held[Any], texts: Mapping[str, object]) -> None:
    """Refuse what a study and its pages cannot hold."""
    for one, text in texts.items():
        if not isinstance(text, str):
            raise InputError(f"{held} has a {type(text).__name__} for {one!r}", "Give a text, or None.")
        if "\0" in text or not is_text(text):
            raise InputError(
                f"the text of {one!r} in {held} holds NUL or half a character", "Take it out of the text."
            )


def queries_of(held: Held[Any]) -> dict[str, str]:
    """Return all queries that are in memory."""
    if not isinstance(held.content, Mapping):
        raise InputError(f"{held} is not a mapping of queries", "Give all queries: {query_id: text}.")
    odd = [
        (row, f"the id {name!r} is empty or holds a blank")
        for row, name in enumerate(held.content)
        if len(encode(name).split()) != 1
    ]
    if odd:
        raise row_problems(
            held.name, "mapping of queries", odd, "No run can name such a query: replace the blanks."
        )
    _check(held, held.content)
    return dict(held.content)


# Queries and collections in Parquet: a column with ids and one with texts.

_ROWS = 4096
"""Rows that are unpacked at once."""


def read_parquet_records(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the rows of a file; of a collection, only row groups in which one is wanted are unpacked."""
    del blocks  # a file that is read from its end
    with open_parquet(reading.path) as file:  # which refuses what pyarrow would be missing for
        import pyarrow as pa
        import pyarrow.compute as pc

        columns = columns_of(list(file.schema_arrow.names), reading)
        _check_types(file, columns, reading)
        name, wanted, start = columns[0], _wanted(reading), 0
        shown = [one for one in reading.fields.shown if one in file.schema_arrow.names]
        asked = [one for one in dict.fromkeys([*columns, *shown]) if one]
        for group in range(file.num_row_groups):
            if wanted is not None:
                ids = file.read_row_group(group, columns=[name])[name].cast(pa.string())
                if not pc.any(pc.is_in(ids, wanted)).as_py():
                    start += file.metadata.row_group(group).num_rows
                    continue
            for batch in file.iter_batches(_ROWS, row_groups=[group], columns=asked):
                keys = batch[name].cast(pa.string())
                places = pa.array(range(batch.num_rows))
                if wanted is not None:
                    places = places.filter(pc.is_in(keys, wanted))
                body, head = (
                    batch[one].take(places).cast(pa.string()).to_pylist() if one else [None] * len(places)
                    for one in columns[1:]
                )
                rows = batch.select(shown).take(places).to_pylist() if shown else []
                below_them = [below(reading.fields, row) for row in rows] or [()] * len(places)
                names = keys.take(places).to_pylist()
                cells = zip(places.to_pylist(), names, body, head, below_them, strict=True)
                yield from _of_rows(start + 1, cells, reading)
                start += batch.num_rows


def _of_rows(
    first: int, cells: Iterator[tuple[int, str | None, str | None, str | None, Shown]], reading: Reading
) -> Iterator[Record]:
    for place, key, body, head, shown in cells:
        line = first + place
        parts = [part.strip() for part in (head, body) if part and part.strip()]
        if key is None or not key.strip() or not parts:
            what = "no id" if key is None or not key.strip() else "no text"
            reading.problems.add(line, 1, what, str(key or "").encode(), "Fill in the cell.")
        else:
            yield Record(line, key.strip().encode(), "\n".join(parts).encode(), shown)


def _wanted(reading: Reading) -> pa.Array | None:
    import pyarrow as pa

    if reading.wanted is None:
        return None
    names = (raw.decode("utf-8", "surrogateescape") for raw in reading.wanted)
    return pa.array([name for name in names if is_text(name)], pa.string())


def _check_types(file: pq.ParquetFile, columns: tuple[str, str, str | None], reading: Reading) -> None:
    import pyarrow.types as kinds

    for column in filter(None, columns):
        kind = file.schema_arrow.field(column).type
        kind = kind.value_type if kinds.is_dictionary(kind) else kind
        is_word = kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind)
        if not (is_word or (column == columns[0] and kinds.is_integer(kind))):
            raise InputError(
                f"{reading.path}: the column {column} holds {kind}, not text",
                "Say which columns hold the id and the text: --dataset id=NAME,text=NAME.",
            )


# Text formats: what holds queries or a collection besides lines of id, tab, text, and one reader for each.
#
# A reader turns the blocks of a file into records, and everything else follows: checks, look-up, notices.
# The first bytes of a file say which of ours it is, and its suffix which of another package's.

TEXT_FORMATS: Register[RecordReader] = Register(
    "text format",
    Callable,
    {
        "topics": "prefjudge.reading.texts.topics:read_trec_topics",
        "XML topics": "prefjudge.reading.texts.topics:read_xml_topics",
        "JSON topics": "prefjudge.reading.texts.topics:read_json_topics",
        "questions with answers": "prefjudge.reading.texts.topics:read_answered",
        "titles": "prefjudge.reading.texts.topics:read_titles",
        "documents": "prefjudge.reading.texts.topics:read_trec_documents",
        "CSV": "prefjudge.reading.texts.texts:read_csv_records",
        "Parquet": "prefjudge.reading.texts.texts:read_parquet_records",
    },
)
"""The reader of each format; tabs and JSON lines are read in bulk, elsewhere."""
OF_QUERIES = {
    **dict.fromkeys(("topics", "XML topics", "JSON topics"), "topics"),
    **{kind: kind for kind in ("questions with answers", "titles")},
}
"""The formats that no collection has, in words."""
LINES, JSON_LINES = "lines of an id, a tab and a text", "JSON lines"
_WITH_NAMES = ("XML topics", "JSON topics", "CSV", "Parquet")
"""Those of ours in which the fields have names of their own."""

_XML = re.compile(rb"\s*<(\?xml\b|!DOCTYPE(?!\s+html)\b|!--|topics?\b|quer(y|ies)\b)", re.IGNORECASE)
_DOC = re.compile(rb"(<\?xml[^<>]*>|<!--[^<>]*>|\s|<root>)*+<DOC>", re.IGNORECASE)
_TOP = re.compile(rb"<top\b", re.IGNORECASE)
_ANSWERED = re.compile(rb"[^\t\n]* [^\t\n]*\t\"?\[(['\"][^\n]*)?\]\"?\s*")
_ANSWERED_JSON = re.compile(rb'\{\s*"question"\s*:\s*"[^\n]*"answers?"\s*:\s*\[')
_TITLES = re.compile(rb"(enwiki:\S+|\S*%20\S*)\s*")


def open_texts(reading: Reading) -> tuple[str, Iterator[Block]]:
    """Return the format of a file, and its blocks: none where nothing stands in it."""
    every = blocks(reading.path, Holds.TEXTS, notices=reading.notices)
    if kind := _file_format(reading.path):
        return kind, every
    first = next((block for block in every if block.data.strip()), None)
    if first is None:
        return LINES, iter(())
    if other := comparisons(first.data):
        raise InputError(*other.words(reading.path))
    lines = JSON_LINES if first.data.lstrip().startswith(b"{") else LINES
    if lines is LINES and suffix_of(reading.path) == "csv" and b"\t" not in first.data.partition(b"\n")[0]:
        lines = "CSV"  # whose reader says what its header lacks
    kind = format_of(first.data, reading.fields) or lines
    if kind not in _WITH_NAMES and reading.fields.given and kind is not JSON_LINES:
        raise InputError(
            f"{reading.path} holds {kind}, in which no field has a name of its own",
            f"Leave out --dataset {reading.fields.given}.",
        )
    return kind, chain([first], every)


def _file_format(path: str) -> str:
    """Return the format of a file that is another package's, or that is not text; else nothing."""
    if (suffix := suffix_of(path)) in TEXT_FORMATS.theirs:
        return suffix
    if not Path(path).is_file():
        return ""
    with opened(path) as file:
        return "Parquet" if file.read(4) == b"PAR1" else ""


def format_of(head: bytes, fields: TextFields = PLAIN) -> str:
    """Return the format of a text that has a reader here, from its first lines; else nothing."""
    text = head[: 1 << 16].lstrip()
    if text.startswith(b"<"):
        if _DOC.match(text):
            return "documents"
        # FIRE wraps its SGML topics in <topics>, so the inner tag decides.
        return "topics" if _TOP.search(text) else "XML topics" if _XML.match(text) else ""
    if text.startswith(b"["):
        return "JSON topics"
    if text.startswith(b"{"):
        if _ANSWERED_JSON.match(text) and not _has_id(text.partition(b"\n")[0]):
            return "questions with answers"
        return "JSON topics" if _is_one_object(head.lstrip(), fields) else ""
    if _is_csv(text.partition(b"\n")[0], fields):
        return "CSV"
    lines = [line for line in text.split(b"\n")[:20] if line.strip()]
    lines = lines[:-1] or lines
    if lines and all(map(_ANSWERED.match, lines)):
        return "questions with answers"
    # TREC CAR's topics are single words, of which some have blanks as addresses write them.
    titles = any(map(_TITLES.fullmatch, lines)) and all(len(line.split()) == 1 for line in lines)
    return "titles" if titles else ""


def _has_id(line: bytes) -> bool:
    """Tell whether an object of a line has an id; one that is cut off is left to its reader."""
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        return True
    return isinstance(first, dict) and any(name in first for name in (*CSV_IDS, "document_id", "passage_id"))


def _is_csv(line: bytes, fields: TextFields) -> bool:
    """Tell a header of CSV: it names an id and a text; where it has tabs, those that were given."""
    text = line.decode("utf-8", "replace")
    mark = _separator(text)
    if mark == "\t" and not fields.given:
        return False
    names = {name.strip().strip('"').lower() for name in text.split(mark)}
    ids, texts = (map(str.lower, known) for known in (fields.ids(CSV_IDS), fields.texts(CSV_TEXTS)))
    return not names.isdisjoint(ids) and not names.isdisjoint(texts)


def read_as(kind: str, every: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the records of a file whose format has a reader."""
    with TEXT_FORMATS.using(kind):
        yield from TEXT_FORMATS[kind](every, reading)


def _is_one_object(text: bytes, fields: TextFields) -> bool:
    """Tell one JSON object of topics from a line for each."""
    line, _, rest = text.partition(b"\n")
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        # cut off in the middle of a line, or pretty-printed, which a line that ends early shows
        return line.rstrip().endswith((b"{", b",", b"["))
    if rest.strip() or not isinstance(first, dict) or not first:
        return False
    usual = (*IDS, *(name for names in FIELDS.values() for name in names))
    return not any(name in first for name in (*usual, *fields.ids(), *fields.texts()))


# Records: lines that hold an id and a text, tab-separated or JSON.

_ID_KEYS = tuple(
    dict.fromkeys(
        ("_id", "id", "pid", "docid", "doc_id", "qid", "query_id", "document_id", "passage_id", *IDS)
    )
)
_TEXT_KEYS = ("text", "passage", "contents", "body", "segment", "query", "question", "query_txt")
_TITLE_KEYS = ("title",)
_AFTER_CR = re.compile(rb"\r[^\s]+\t")
"""A CR, and what may be an id."""
_NOT_UTF8 = "the text is not UTF-8"
_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")


def read_records(reading: Reading) -> Iterator[Record]:
    """Yield the records of a file of queries, in any format; blank lines are passed over."""
    return records_of(*open_texts(reading), reading)


def records_of(kind: str, every: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the records of a file that is open."""
    if kind not in (LINES, JSON_LINES):
        yield from read_as(kind, every, reading)
        return
    problems = reading.problems
    parse = partial(parse_json, fields=reading.fields) if kind is JSON_LINES else parse_tabs
    for block in every:
        for number, line in block.lines():
            if (line := line.rstrip(b"\r")).strip() and (record := parse(line, number, problems)):
                yield record


def parse_tabs(line: bytes, number: int, problems: Problems) -> Record | None:
    """Read ``id<tab>text``. With four columns (id, address, title, body) the address is left out."""
    name, tab, text = line.partition(b"\t")
    name = name.strip()
    if not tab or not name:
        what = "no tab between an id and a text" if not tab else "no id before the tab"
        problems.add(number, 1, what, line, "Write each line as: id, a tab, the text.")
        return None
    if (place := hidden_line(line)) is not None:
        problems.add(
            number,
            place + 1,
            "a CR alone stands before what looks like another line",
            line[place:],
            "End every line with a newline, and remove CRs from the texts.",
        )
        return None
    columns = text.split(b"\t")
    if len(columns) > 1:
        columns = [part for part in (columns[1:] if len(columns) >= 3 else columns) if part.strip()]
        text = b"\n".join(columns)
    return Record(number, name, text.strip())


def hidden_line(line: bytes) -> int | None:
    """Return where a CR stands that may have ended a line: before an id, and as many tabs as before it."""
    if b"\r" not in line:
        return None
    tabs, before, start = line.count(b"\t"), 0, 0
    for found in _AFTER_CR.finditer(line):
        before += line.count(b"\t", start, found.start())
        start = found.start()
        if before and 2 * before == tabs:
            return start
    return None


def parse_json(line: bytes, number: int, problems: Problems, fields: TextFields = PLAIN) -> Record | None:
    """Read a JSON object: an id, a text, perhaps a title, under the names that collections use."""
    # A title alone is the text. Another field than the title is that of a topic.
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        column = getattr(error, "colno", 1)
        what = "nested too deeply" if isinstance(error, RecursionError) else "not valid JSON"
        problems.add(number, column, what, line, "Write one JSON object with an id and a text on each line.")
        return None
    ids, keys, titles = _USUAL if fields is PLAIN else _keys(fields)
    name, title = _member(record, ids), _member(record, titles)
    text = _member(record, keys)
    if text is None and (title is None or not title.strip()):
        _refuse_vectors(record, number, problems)
    elif text is None:
        title, text = None, title
    if name is None or text is None:
        lacks, names = ("id", ids) if name is None else ("text", (*keys, *titles))
        what = f"the JSON object has no {lacks if len(names) > 1 else f'field {names[0]}'}"
        has = f", but {', '.join(record)}" if isinstance(record, dict) else ""
        problems.add(number, 1, what + has, line, to_name({lacks: names}))
        return None
    whole = f"{title}\n{text}" if title and title.strip() else text
    whole = _BLANK_LINES.sub("", whole).rstrip()  # its first line keeps its indentation: it may be code
    shown = below(fields, record) if fields.shown else ()
    return Record(number, name.encode("utf-8", "surrogatepass"), whole.encode("utf-8", "replace"), shown)


def _keys(fields: TextFields) -> tuple[tuple[str, ...], ...]:
    """Return the names that ids, texts and titles may have."""
    return fields.ids(_ID_KEYS), fields.texts(_TEXT_KEYS), _TITLE_KEYS if fields.with_title else ()


_USUAL = _keys(PLAIN)
"""The usual names: asking for them anew costs a sixth of the time that a line takes."""


def _refuse_vectors(record: Any, number: int, problems: Problems) -> None:
    """Refuse a file of vectors at its first line: every other would say the same."""
    if isinstance(record, dict) and isinstance(record.get("vector", record.get("embedding")), list):
        raise InputError(
            f"{problems.path}:{number}: holds vectors, which nobody can read",
            "Give the file of the texts that the vectors were made from.",
        )


def _member(record: Any, keys: tuple[str, ...]) -> str | None:
    if isinstance(record, dict):
        for key in keys:
            value = record.get(key)
            if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
                return str(value)
    return None


def readable(text: bytes, where: str, notices: list[Notice] | None) -> str:
    """Return text for people; NUL and what is not UTF-8 become the replacement character."""
    # The first of each file that is not UTF-8 is noticed.
    if b"\0" in text:  # which no database keeps
        if notices is not None:
            notices.append(Notice(where=where, what="the text holds NUL bytes; they were replaced"))
        text = text.replace(b"\0", "\N{REPLACEMENT CHARACTER}".encode())
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        file = where.rpartition(":")[0]
        if notices is not None and not any(_NOT_UTF8 in one.what and file in one.where for one in notices):
            odd = f"{_NOT_UTF8}: byte 0x{text[error.start]:02x} behind {text[: error.start][-20:].decode()!r}"
            way = "odd bytes are replaced; if it is Latin-1, convert the file: iconv -f LATIN1 -t UTF-8"
            notices.append(Notice(where=where, what=f"{odd}; {way}"))
        return text.decode("utf-8", "replace")


_BLANK = "the id holds a blank, and no run can name it"
_WORD = "Write each line as: id, a tab, the text. If these are questions and answers, give each an id."


def read_queries(
    path: str | Path, *, fields: TextFields = PLAIN, notices: list[Notice] | None = None
) -> dict[str, str]:
    """Read the texts of queries by id, in the file's order; ``fields`` say where ids and texts stand."""
    if is_dataset(path):
        path = fspath(path)
        return {one.query_id: _query_text(path, one, fields) for one in dataset_entries(path, "queries")}
    if isinstance(path, Held):
        return queries_of(path)
    fields = replace(fields, shown=()) if fields.shown else fields
    problems = Problems(fspath(path), "queries file")
    notices = [] if notices is None else notices
    texts: dict[bytes, tuple[int, bytes]] = {}
    with problems:
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
    if not texts:
        raise InputError(
            f"{path} is empty: a queries file needs at least one line",
            "Write each line as: id, a tab, the text.",
        )
    return {decode(name): readable(text, f"{path}:{line}", notices) for name, (line, text) in texts.items()}
