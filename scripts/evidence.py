#!/usr/bin/env python3
"""Measure the tables of docs/evidence.md anew: python3 scripts/evidence.py [WORD ...]

Below each line "Measured DAY by `python COMMAND`:" of the page stands what the command printed on that day.
The commands that hold one of the words are run in this folder, and their tables and days are written; without
words all are, which takes hours. `runs/*.gz` are the runs of TREC 2021's passage task.
"""

import re
import shlex
import subprocess
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "evidence.md"
MEASURED = re.compile(
    r"^Measured (?P<day>[\d-]+) by\s`python (?P<command>[^`]+)`:\n\n(?P<printed>```text\n.*?^```\n)",
    re.MULTILINE | re.DOTALL,
)


def measured(block: re.Match[str]) -> str:
    """Return a block of the page with what its command prints now."""
    script, *options = shlex.split(block["command"].replace("\n", " "))
    done = subprocess.run(
        [sys.executable, ROOT / script, *options], stdout=subprocess.PIPE, text=True, check=True
    )
    head = block[0].partition("```text\n")[0].replace(block["day"], f"{date.today():%Y-%m-%d}")
    return f"{head}```text\n{done.stdout.rstrip()}\n```\n"


def main(words: list[str]) -> int:
    """Write the page after each command, so that what was measured stays if the next one is stopped."""
    if {"-h", "--help"} & set(words):
        print(__doc__)
        return 0
    commands = [one["command"] for one in MEASURED.finditer(PAGE.read_text("utf-8"))]
    chosen = [one for one in commands if not words or any(word in one for word in words)]
    for command in chosen:
        print(command.replace("\n", " "), flush=True)
        text = PAGE.read_text("utf-8")
        block = next(one for one in MEASURED.finditer(text) if one["command"] == command)
        PAGE.write_text(text[: block.start()] + measured(block) + text[block.end() :], "utf-8")
    return 0 if chosen else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
