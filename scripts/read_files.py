#!/usr/bin/env python3
"""Reads every file of topics and of qrels under a folder, whole, and says how many could be read.

scripts/read_files.py FOLDER       such as a checkout of castorini/anserini-tools, or of BEIR's data sets

A file whose path says qrels is read as qrels; one whose path says topics or queries, as queries. What is
refused is listed with the reason. The exit code is 1 where a file ends in anything but an answer or a clear
error, or where nothing was read. `scripts/check` runs this for the folder in PREFJUDGE_FILES.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

from prefjudge.errors import PrefjudgeError
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.texts.texts import read_queries

KINDS: dict[str, Callable[[Path], int]] = {
    "qrels": lambda path: int(read_qrels(path, fractions=True).grade.size),
    "queries": lambda path: len(read_queries(path)),
}


def kind_of(path: Path) -> str:
    """Return what a path says that a file is; nothing where it does not say."""
    words = [re.split(r"[.\-_]", part.lower())[0] for part in path.parts]
    if words[-1] in ("topics", "queries"):
        return "queries"
    if "qrels" in words:
        return "qrels"
    return "queries" if "topics" in words[:-1] else ""


def main(folder: Path) -> int:
    """Read the files, print what came of it, and return the exit code."""
    read, entries, crashed = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0), 0
    refused: list[str] = []
    for path in sorted(folder.rglob("*")):
        kind = kind_of(path.relative_to(folder)) if path.is_file() else ""
        if not kind:
            continue
        try:
            entries[kind] += KINDS[kind](path)
            read[kind] += 1
        except PrefjudgeError as error:
            first = (error.problems or [error.message])[0]
            refused.append(f"{kind} {first.removeprefix(f'{folder}/')[:200]}")
        except Exception as error:
            crashed += 1
            print(f"CRASH {path}: {type(error).__name__}: {error}")
    for line in refused:
        print(f"refused: {line}")
    for kind, count in read.items():
        print(f"read {count:,} files of {kind}, {entries[kind]:,} entries")
    print(f"refused {len(refused):,}, crashed {crashed:,}")
    return int(crashed > 0 or not any(read.values()))


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
