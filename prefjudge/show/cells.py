"""Cells: a table as a record of columns and rows, and the words for a cell in the width there is."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from decimal import Decimal
from operator import attrgetter, itemgetter
from typing import Any, Literal

from prefjudge.words import chance_text, printable

Kind = Literal["text", "integer", "number", "percent", "p", "chance", "money", "flag"]
Value = str | int | float | Decimal | bool | None

MISSING = "–"


@dataclass(frozen=True, slots=True)
class Bold:
    """A cell that stands out: significant, or the best of its column."""

    value: Value


@dataclass(frozen=True, slots=True)
class Unsure:
    """A cell with a ring beside it, whatever the form: it would stand out, but chance may have made it."""

    value: Value


Cell = Value | Bold | Unsure

RING = "°"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its key in data files, its heading on screen and how its values are written.

    What it shows of a record is the attribute of its name, unless it has a ``value``: see `table`.

    Where a screen is too narrow, the columns with the greatest ``priority`` are left out first. Those of
    priority 1 are always shown, if need be below the others, where those of priority 0 are repeated: a row is
    known by them.
    """

    kind: Kind = "text"
    head: str = ""
    _: KW_ONLY
    name: str = ""
    digits: int = 4
    priority: int = 1
    value: Callable[..., Cell] | None = field(default=None, compare=False, repr=False)

    @property
    def heading(self) -> str:
        """What the reader sees above the column."""
        return self.head or self.name

    @property
    def right_aligned(self) -> bool:
        """Whether the column holds quantities, which line up on the right."""
        return self.kind not in ("text", "flag")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A result as rows and columns.

    ``notes`` are sentences for the reader; ``provenance`` says what the result was made from.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)

    def only(self, names: Collection[str]) -> "Table":
        """Return the table with the columns of these names."""
        kept = [place for place, column in enumerate(self.columns) if column.name in names]
        rows = tuple(tuple(row[place] for place in kept) for row in self.rows)
        return replace(self, columns=tuple(self.columns[place] for place in kept), rows=rows)

    def made_with(self, provenance: Mapping[str, str]) -> "Table":
        """Return the table with what it was made from."""
        return replace(self, provenance=provenance)

    def stamped(self, stamp: str) -> "Table":
        """Return the table with a stamp above its notes; unchanged where there is none."""
        return replace(self, notes=(stamp, *self.notes)) if stamp else self

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            raise ValueError(f"two columns of {self.title!r} share a name: {names}")
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"row {number} of {self.title!r} has {len(row)} cells for {len(self.columns)} columns"
                )


def table(
    title: str,
    records: Iterable[Any],
    columns: Mapping[str, Column | None],
    *,
    notes: Iterable[str] = (),
) -> Table:
    """Return a table with a row for each record and, by their keys, the columns that are not None.

    A record may be a mapping by these keys; or a tuple of several, such as a board and one of its rows: then
    a ``value`` takes all of them, and an attribute is that of the last one that has it.
    """
    kept = {name: column for name, column in columns.items() if column is not None}
    found = [one if type(one) is tuple else (one,) for one in records]
    values = [column.value or _attribute(name, found[0]) for name, column in kept.items()] if found else []
    return Table(
        title=title,
        columns=tuple(replace(column, name=name) for name, column in kept.items()),
        rows=tuple(tuple(value(*record) for value in values) for record in found),
        notes=tuple(notes),
    )


def _attribute(name: str, record: tuple[object, ...]) -> Callable[..., Cell]:
    if isinstance(record[0], Mapping):
        return itemgetter(name)
    place, read = max(place for place, part in enumerate(record) if hasattr(part, name)), attrgetter(name)
    return lambda *parts: read(parts[place])


def bare(cell: Cell) -> Value:
    """Return the value of a cell without its mark."""
    return cell.value if isinstance(cell, Bold | Unsure) else cell


def write_cell(cell: Cell, column: Column) -> str:
    """Return the words for a cell, as every rendering for people shows it."""
    return _write(bare(cell), column) + (RING if isinstance(cell, Unsure) else "")


def _write(value: Value, column: Column) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if isinstance(value, str):
        return value
    match column.kind:
        case "flag":
            return "yes" if value else "no"
        case "integer":
            return f"{value:,.0f}" if isinstance(value, float) else f"{value:,}"
        case "money":
            return f"-${-value:,.2f}" if value < 0 else f"${value:,.2f}"
        case "percent":
            return _unsigned_zero(f"{100 * float(value):.{column.digits}f}") + "%"
        case "p":
            floor = 10.0**-column.digits
            return f"<{floor:.{column.digits}f}" if 0 <= value < floor else f"{value:.{column.digits}f}"
        case "chance":
            return chance_text(float(value))
        case "number":
            return _unsigned_zero(f"{value:.{column.digits}f}")
        case _:
            return str(value)


def _unsigned_zero(text: str) -> str:
    """Turn a ``-0.00`` that rounding made into ``0.00``."""
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


# Long words made short for people: the middle is left out, and two words never come to look the same.

LONGEST = 100
"""So many places of one word are shown at most: nobody reads a longer run tag."""

ELLIPSIS = "…"


def shorten(words: Iterable[str], width: int = LONGEST) -> dict[str, str]:
    """Return what to show for each word that takes more than ``width`` places.

    Runs of a team often differ at one end only, so several cuts are tried; where all fail, numbers tell the
    words apart.
    """
    from rich.cells import cell_len

    every = dict.fromkeys(words)
    long = [word for word in every if len(word) > width or cell_len(word) > width]
    taken = every.keys() - long
    kept = max(1, width - 1)
    for tail in (kept // 3, kept // 2, 2 * kept // 3, 0, kept):
        cut = {word: _first(word, kept - tail) + ELLIPSIS + _last(word, tail) for word in long}
        if len(taken | set(cut.values())) == len(every):
            return cut
    return _numbered(long, taken, width)


def shorten_words(text: str, width: int = LONGEST, known: Mapping[str, str] | None = None) -> str:
    """Return a text in which no word takes more than ``width`` places, shortened as in ``known`` if there."""
    if len(text) <= width // 2:  # no character takes more than two places
        return text
    words = text.split(" ")
    short = shorten(words, width) if known is None else known
    return " ".join(short.get(word, word) for word in words)


def _numbered(words: Iterable[str], taken: set[str], width: int) -> dict[str, str]:
    cut: dict[str, str] = {}
    used, number = set(taken), 0
    for word in words:
        while True:
            number += 1
            end = f"{ELLIPSIS}{number}"
            shown = _first(word, max(0, width - len(end))) + end
            if shown not in used:
                break
        used.add(shown)
        cut[word] = shown
    return cut


def _first(text: str, width: int) -> str:
    from rich.cells import cell_len

    shown = text[:width]
    while cell_len(shown) > width:
        shown = shown[:-1]
    return shown


def _last(text: str, width: int) -> str:
    return _first(text[::-1], width)[::-1]


# Fits a table to a width: what gives way, in which order, where the screen is too narrow.
#
# First headings and sentences go over several lines, then long words lose their middle, then the columns of
# the least priority are left out, and last the columns continue below. Numbers and short words are never
# broken.

GAP = 2
"""The blanks between two columns."""

NARROWEST = 40
"""No table is fitted to fewer columns of a screen than these."""

_UNBOUNDED = 1_000_000

_READABLE = 20
"""A text is not broken into lines that are shorter than this."""

_WORD_WIDTHS = (24, 16, 8)
"""What long words are cut to: before columns are left out, before they go on below, and after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedColumn:
    """A column as shown: its heading and cells are words that fit into its width, if broken at blanks."""

    column: Column
    heading: str
    cells: tuple[str, ...]
    width: int
    cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A table as shown: blocks of columns, one below the other, and a line that says what gave way."""

    blocks: tuple[tuple[FittedColumn, ...], ...]
    left_out: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A column before it is fitted: its words and, where any cell has one, the mark behind each of them."""

    column: Column
    heading: str
    cells: tuple[str, ...]
    marks: tuple[str, ...]

    @property
    def star(self) -> int:
        """The place of the mark."""
        return int(any(self.marks))

    def natural(self) -> int:
        return max(_places(self.heading), *(_places(text) + self.star for text in ("", *self.cells)))

    def least(self, longest: int) -> int:
        """Return the fewest places, where words are cut to ``longest``."""
        head = min(longest, _longest_word(self.heading))
        cells = max(map(_places, self.cells), default=0)
        if not self.column.right_aligned:
            word = max(map(_longest_word, self.cells), default=0)
            cells = max(min(longest, word), min(longest, cells, _READABLE))
        return max(head, cells + self.star)


def cells_for_people(table: Table) -> list[tuple[str, ...]]:
    """Return the words of every cell, row by row; words beyond `LONGEST` lose their middle."""
    columns = [_words(table, number) for number in range(len(table.columns))]
    rows = zip(*columns, strict=True)
    return [
        tuple(
            text + RING if isinstance(cell, Unsure) else text for text, cell in zip(texts, row, strict=True)
        )
        for texts, row in zip(rows, table.rows, strict=True)
    ]


def fit(table: Table, width: int | None = None) -> Fitted:
    """Fit a table to a width."""
    wanted = [_wanted(table, number) for number in range(len(table.columns))]
    room = _UNBOUNDED if width is None else max(width, NARROWEST)
    shown, longest = _chosen(wanted, room)
    heads = shorten((word for one in wanted for word in one.heading.split(" ")), longest)
    blocks = tuple(_block(part, room, longest, heads) for part in _parts(shown, room, longest))
    left_out = tuple(dict.fromkeys(one.heading for one in wanted if one not in shown))
    cut = any(one.cut for block in blocks for one in block)
    return Fitted(blocks=blocks, left_out=left_out, note=_note(room, left_out, cut, len(blocks)))


def _wanted(table: Table, number: int) -> _Wanted:
    cells, column = [row[number] for row in table.rows], table.columns[number]
    marks = tuple(RING if isinstance(cell, Unsure) else "*" * isinstance(cell, Bold) for cell in cells)
    return _Wanted(column, printable(column.heading), _words(table, number), marks)


def _words(table: Table, number: int) -> tuple[str, ...]:
    words = [printable(write_cell(bare(row[number]), table.columns[number])) for row in table.rows]
    return _cut(words, LONGEST)


def _cut(texts: Sequence[str], longest: int) -> tuple[str, ...]:
    short = shorten((word for text in texts for word in text.split(" ")), longest)
    return tuple(shorten_words(text, longest, short) for text in texts)


def _chosen(wanted: Sequence[_Wanted], room: int) -> tuple[list[_Wanted], int]:
    """Return the columns to show and the longest word: the fewest left out, and the least cut."""
    shown = list(wanted)
    if _total(shown, LONGEST) <= room:
        return shown, LONGEST
    longest, tight, tightest = _WORD_WIDTHS
    while _total(shown, longest) > room:
        last = max(one.column.priority for one in shown)
        if last <= 1:
            break
        shown = [one for one in shown if one.column.priority < last]
    else:
        return shown, longest
    keys, rest = _keys(shown)
    widest = max((one.least(tight) for one in rest), default=0)
    return shown, tight if _total(keys, tight) + GAP + widest <= room else tightest


def _total(columns: Sequence[_Wanted], longest: int) -> int:
    return sum(one.least(longest) for one in columns) + GAP * (len(columns) - 1)


def _keys(shown: Sequence[_Wanted]) -> tuple[list[_Wanted], list[_Wanted]]:
    """Return the columns that a row is known by, the first one at least, and the others."""
    keys = [one for one in shown if one.column.priority == 0] or list(shown[:1])
    return keys, [one for one in shown if one not in keys]


def _parts(shown: Sequence[_Wanted], room: int, longest: int) -> list[list[_Wanted]]:
    """Divide the columns into blocks that fit, each of which begins with what a row is known by."""
    if _total(shown, longest) <= room:
        return [list(shown)]
    keys, rest = _keys(shown)
    parts: list[list[_Wanted]] = []
    for one in rest:
        if not parts or _total([*parts[-1], one], longest) > room:
            parts.append([*keys])
        parts[-1].append(one)
    return parts or [keys]


def _block(
    columns: Sequence[_Wanted], room: int, longest: int, heads: Mapping[str, str]
) -> tuple[FittedColumn, ...]:
    """Give each column its least, and what is left over to names before headings, the least need first."""
    widths = [one.least(longest) for one in columns]
    more = [one.natural() - width for one, width in zip(columns, widths, strict=True)]
    left = room - sum(widths) - GAP * (len(columns) - 1)
    needs = sorted((one.column.right_aligned, more[place], place) for place, one in enumerate(columns))
    for *_, place in needs:
        given = max(0, min(left, more[place]))
        widths[place] += given
        left -= given
    return tuple(_fitted(one, width, heads) for one, width in zip(columns, widths, strict=True))


def _fitted(one: _Wanted, width: int, heads: Mapping[str, str]) -> FittedColumn:
    heading = shorten_words(one.heading, width, heads) if _longest_word(one.heading) > width else one.heading
    cells = _cut(one.cells, width - one.star)
    return FittedColumn(
        column=one.column,
        heading=heading,
        cells=tuple(text + mark.ljust(one.star) for text, mark in zip(cells, one.marks, strict=True)),
        width=width,
        cut=heading != one.heading or cells != one.cells,
    )


def _note(room: int, left_out: tuple[str, ...], cut: bool, blocks: int) -> str:
    what = [f"without {', '.join(left_out)}"] if left_out else []
    what += ["long names shortened"] if cut else []
    what += ["the columns continue below"] if blocks > 1 else []
    if not what:
        return ""
    return f"Fitted to {room} columns: {'; '.join(what)}. A wider window or a pipe shows all."


def _places(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _longest_word(text: str) -> int:
    return max(map(_places, text.split(" ")))
