"""Pools, gold pairs and resolutions, as files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from prefjudge.core.copies import Copies, folded
from prefjudge.core.gold import GoldPair
from prefjudge.core.judgments import Judgments
from prefjudge.core.pools import Pools, pools_of
from prefjudge.core.runs import BACK, Codes, Tokens, Vocabulary, encode, vocabulary_of
from prefjudge.errors import InputError
from prefjudge.reading.files import Notice, Problems, atomic_write, column, decode
from prefjudge.reading.files import encode as encode_id
from prefjudge.reading.held import Held
from prefjudge.reading.labels import second_column
from prefjudge.reading.lines import Holds, blocks, read_text
from prefjudge.reading.unpacking import can_reread
from prefjudge.words import Rehearsal, json_text, many

if TYPE_CHECKING:
    from prefjudge.core.resolving.confidence import Confidence
    from prefjudge.core.resolving.resolutions import Resolution, Resolutions

_ROWS = 1 << 14
"""Rows of a pool that are written at once."""


def write_pool(path: str | Path, pools: Pools) -> None:
    """Write a pool atomically: ``query<tab>doc<tab>contributors`` joined by commas, under a heading line."""
    pools = _with_empty_cells(pools)
    names = sorted(pools.sources)
    place = encode(pools.sources, names)
    queries, docs = vocabulary_of(pools.queries), vocabulary_of(pools.docs)
    tags = vocabulary_of(names).tokens()  # a run that is called by its file may have blanks
    by_row = np.argsort(pools.source_row, kind="stable").astype(np.int32)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(pools.source_row, minlength=pools.query.size))])
    with atomic_write(path) as file:
        file.write(b"# query\tdoc\tcontributors\n")
        for first in range(0, pools.query.size, _ROWS):
            rows = slice(first, first + _ROWS)
            ids = _words(queries, pools.query[rows]), _words(docs, pools.doc[rows])
            cells, starts = _cells(((ids[0], b"\t"), (ids[1], b"\t"), (tags, b","), (tags, b"\n")))
            ends = bounds[first : first + _ROWS + 1]
            own = np.diff(ends) + 2  # the cells of a row: query, document, contributors
            after = np.cumsum(own)
            row = np.full(after[-1], -1)
            row[after - own] = np.arange(own.size) + starts[0]
            row[after - own + 1] = np.arange(own.size) + starts[1]
            given = by_row[ends[0] : ends[-1]]
            given = given[np.lexsort((place[pools.source[given]], pools.source_row[given]))]
            row[row < 0] = place[pools.source[given]] + starts[2]
            row[after - 1] += starts[3] - starts[2]
            file.write(cells.take(row).symbols().data)


def _with_empty_cells(pools: Pools) -> Pools:
    """Return the pool with ``""`` as the contributor of rows that have none."""
    alone = np.flatnonzero(np.bincount(pools.source_row, minlength=pools.query.size) == 0)
    if not alone.size:
        return pools
    row = np.concatenate([pools.source_row, alone]).astype(np.int32)
    source = np.concatenate([pools.source + 1, np.zeros(alone.size)]).astype(np.int32)
    return replace(pools, sources=("", *pools.sources), source_row=row, source=source)


_POOL_HINT = "Write each line as: query, tab, document, tab, the contributors joined by commas."


def read_pool(path: str | Path, *, notices: list[Notice] | None = None) -> Pools:
    """Read a pool: on each line query, document and its contributors, as `write_pool` writes it."""
    # The contributors may be missing; a run tag with a comma reads as two.
    if isinstance(path, Held):
        return path.holding(Pools, "a pool", "Give a table of queries, documents and contributors.")
    problems = Problems(fspath(path), "pool")
    seen: dict[tuple[str, str], str] = {}
    with problems:
        for block in blocks(path, Holds.COLUMNS, notices=notices):
            for number, line in block.lines():
                if not (line := line.rstrip(b"\r")).strip() or line.startswith(b"#"):
                    continue
                cells = [decode(cell.strip()) for cell in line.split(b"\t")]
                if len(cells) not in (2, 3) or not all(cells[:2]):
                    problems.add(number, 1, many(len(cells), "column"), line, _POOL_HINT)
                elif (cells[0], cells[1]) in seen:
                    problems.add(number, 1, "the document was in this pool before", line, _POOL_HINT)
                else:
                    seen[cells[0], cells[1]] = cells[2] if len(cells) > 2 else ""
    if not seen:
        raise InputError(f"{path} is empty: a pool needs at least one line", _POOL_HINT)
    return pools_of(
        sorted((query, doc, tag.strip()) for (query, doc), tags in seen.items() for tag in tags.split(","))
    )


_COPIES_HINT = "Write each line as: a class, named by one of its passages, and a passage that is the same."


def read_copies(path: str | Path, docs: Collection[str], *, notices: list[Notice] | None = None) -> Copies:
    """Read what passages are the same as some of these: a class and a passage on each line."""
    # NIST's file for MS MARCO v2 has the beginning of the text after them.
    if Path(path).exists() and not can_reread(path):
        raise InputError(f"{path} is not a file, but a list of copies is read twice", "Save it as a file.")
    wanted = {encode_id(doc) for doc in docs}
    held = {name for name, member in _classes(path, notices) if member in wanted or name in wanted}
    groups: dict[bytes, list[bytes]] = {}
    for name, member in _classes(path, None) if held else ():
        if name in held:
            groups.setdefault(name, [name]).append(member)
    return Copies([decode(member) for member in group] for group in groups.values())


def _classes(path: str | Path, notices: list[Notice] | None) -> Iterator[tuple[bytes, bytes]]:
    problems, empty = Problems(fspath(path), "file of copies"), True
    with problems:
        for block in blocks(path, Holds.TEXTS, notices=notices):
            for number, line in block.lines():
                cells = line.split(None, 2)
                if len(cells) > 1:
                    empty = False
                    yield cells[0], cells[1]
                elif cells:
                    problems.add(number, 1, "1 column", line, _COPIES_HINT)
    if empty:
        raise InputError(f"{path} is empty: a file of copies needs at least one line", _COPIES_HINT)


def write_copies(path: str | Path, copies: Copies) -> None:
    """Write copies as `read_copies` reads them, each class called by its first passage."""
    with atomic_write(path) as file:
        for group in copies.groups:
            file.writelines(b"%b\t%b\n" % (column(group[0]), column(doc)) for doc in group)


def _cells(columns: Iterable[tuple[Tokens, bytes]]) -> tuple[Tokens, list[int]]:
    """Return the cells of some columns, each with its end, and the number of each column's first."""
    texts, sizes, starts = [], [], [0]
    for words, end in columns:
        texts.append(words.to_lines().replace(b"\n", end))
        sizes.append(words.ends - words.starts + 1)
        starts.append(starts[-1] + len(words))
    lengths = np.concatenate(sizes)
    ends = np.cumsum(lengths)
    return Tokens(b"".join([*texts, bytes(BACK)]), ends - lengths, ends), starts


def _words(ids: Vocabulary, codes: Codes) -> Tokens:
    """Return some ids as tokens, which hold no blank."""
    tokens = ids.tokens(codes)
    text = tokens.symbols().tobytes()
    if (tokens.starts == tokens.ends).any() or text.split(None, 1) != [text]:
        for code in codes.tolist():
            column(ids[code])  # says which it is
    return tokens


def write_prefs(path: str | Path, judgments: Judgments) -> None:
    """Write judgments in trec_eval's ``prefs`` format, atomically."""
    # Each pair is two lines, ``query group subgroup doc level``, the winner with the higher level. A worker's
    # judgments of a query are one judgment group, since the program calls contradictions inside one an error;
    # every pair is a subgroup of its own. Ties have equal levels.
    queries, docs = ([column(name) for name in names] for names in (judgments.queries, judgments.docs))
    columns = (judgments.query, judgments.left, judgments.right, judgments.choice, judgments.worker)
    with atomic_write(path) as file:
        for number, (query, left, right, choice, worker) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True), 1
        ):
            for doc, level in ((left, 1 + choice), (right, 1 - choice)):
                group = worker + 1 if worker >= 0 else len(judgments.workers) + number  # unknown: another's
                file.write(b"%b w%d p%d %b %d\n" % (queries[query], group, number, docs[doc], level))


def write_pref_qrels(
    path: str | Path, rows: Iterable[tuple[str, str, float]], *, rehearsal: Rehearsal | None = None
) -> None:
    """Write float-valued preference qrels (``query Q0 doc value``), which compatibility scripts read."""
    second = second_column(rehearsal)
    with atomic_write(path) as file:
        for query, doc, value in rows:
            if value != value:
                raise InputError(
                    f"{path}: document {doc!r} of query {query!r} has no value", "resolve it first"
                )
            file.write(b"%b %b %b %b\n" % (column(query), second, column(doc), repr(float(value)).encode()))


# Tables of gold pairs, for people to review: tab-separated, with a header line.

_REQUIRED = ("query_id", "query", "good", "bad")
GOLD_COLUMNS = ("query_id", "query", "good_id", "good", "bad_id", "bad", "practice")
COLUMNS_IN_WORDS = f"columns separated by tabs, with a header: {', '.join(GOLD_COLUMNS)}"


def read_gold(path: str | Path) -> tuple[GoldPair, ...]:
    """Read a table of gold pairs; ``good_id``, ``bad_id`` and ``practice`` may be missing or empty."""
    if not Path(path).exists():
        raise InputError(
            f"there is no {path}",
            "Let prefjudge write one for review: prefjudge gold STUDY --suggest 12. Or write it "
            f"({COLUMNS_IN_WORDS}). Or hide none: set gold_per_hit = 0 in [design] of study.toml.",
        )
    heading, *lines = read_text(path).split("\n")
    columns = heading.split("\t")
    missing = [name for name in _REQUIRED if name not in columns]
    if missing:
        raise InputError(
            f"{path}:1: the header lacks {', '.join(missing)}",
            f"Write {COLUMNS_IN_WORDS}; good_id, bad_id and practice may be empty.",
        )
    found, problems = [], []
    for number, line in enumerate(lines, start=2):
        if not line:
            continue
        cells = line.split("\t")
        if len(cells) > len(columns):
            problems.append(f"{path}:{number}: {many(len(cells), 'cell')} for {many(len(columns), 'column')}")
            continue
        row = dict(zip(columns, cells, strict=False))
        empty = [name for name in _REQUIRED if not row.get(name, "").strip()]
        if empty:
            problems.append(f"{path}:{number}: {', '.join(empty)}: empty")
        elif folded(row["good"]) == folded(row["bad"]):
            problems.append(f"{path}:{number}: good and bad have the same text")
        else:
            found.append(GoldPair(**{name: row.get(name, "") for name in GOLD_COLUMNS}))
    if problems:
        raise InputError(
            "these gold pairs cannot be used",
            "Correct the cells or delete the lines. Tabs separate columns, so a text must not contain one.",
            problems[:20],
        )
    return tuple(found)


def write_gold(path: str | Path, pairs: Sequence[GoldPair]) -> None:
    """Write a table of gold pairs; line breaks and tabs in texts become blanks."""
    with atomic_write(path) as file:
        file.write(("\t".join(GOLD_COLUMNS) + "\n").encode())
        for pair in pairs:
            cells = (" ".join(str(getattr(pair, name)).split()) for name in GOLD_COLUMNS)
            file.write(("\t".join(cells) + "\n").encode())


# Resolution files: everything that is known of each query's best answer, one JSON object a line.


def write_resolutions(
    path: str | Path, rules: Iterable[Resolutions], confidence: Confidence | None = None
) -> None:
    """Write the resolution of every query, atomically."""
    first, *others = rules
    with atomic_write(path) as file:
        for place, one in enumerate(first):
            line = {
                **describe_resolution(one, first.rule),
                "candidates": _candidates(first, confidence, place),
                "rules": {other.rule: _outcome(other[place]) for other in others},
            }
            file.write(json_text(line, indent=None).encode() + b"\n")


def describe_resolution(one: Resolution, rule: str) -> dict[str, object]:
    """Return a resolution by a rule as what JSON can say."""
    return {
        "query_id": one.query_id,
        "rule": rule,
        **_outcome(one),
        "margin": one.margin,
        "cycle": list(one.cycle),
        "pool_size": one.pool_size,
        "votes": one.votes,
        "missing": one.missing,
    }


def _outcome(one: Resolution) -> dict[str, object]:
    return {"status": one.status.value, "winners": list(one.winners)}


def _candidates(resolutions: Resolutions, confidence: Confidence | None, place: int) -> list[dict[str, Any]]:
    rows = range(int(resolutions.start[place]), int(resolutions.start[place + 1]))
    found = []
    for row in rows:
        candidate: dict[str, Any] = {
            "doc_id": resolutions.docs[resolutions.doc[row]],
            "winner": bool(resolutions.winner[row]),
            "wins": float(resolutions.wins[row]),
            "comparisons": int(resolutions.comparisons[row]),
            "score": float(resolutions.score[row]),
        }
        if confidence is not None:
            candidate["p_best"] = round(float(confidence.chance[row]), 4)
            candidate["strength"] = round(float(confidence.strength[row]), 4)
            candidate["deviation"] = round(float(confidence.deviation[row]), 4)
        found.append(candidate)
    return sorted(found, key=lambda candidate: candidate["doc_id"])
