"""Tables of gold pairs, for people to review: tab-separated, with a header line."""

from collections.abc import Sequence
from pathlib import Path

from prefjudge.core.asking.gold import GoldPair
from prefjudge.core.pooling.copies import folded
from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.formats.lines.atomic import atomic_write
from prefjudge.formats.lines.blocks import read_text

_REQUIRED = ("query_id", "query", "good", "bad")
GOLD_COLUMNS = ("query_id", "query", "good_id", "good", "bad_id", "bad", "practice")
COLUMNS_IN_WORDS = f"columns separated by tabs, with a header: {', '.join(GOLD_COLUMNS)}"


def read_gold(path: str | Path) -> tuple[GoldPair, ...]:
    """Read a table of gold pairs; ``good_id``, ``bad_id`` and ``practice`` may be missing or empty.

    Raises
    ------
    InputError
        The file is missing or not UTF-8, a column is missing, or a line has an empty cell.
    """
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
