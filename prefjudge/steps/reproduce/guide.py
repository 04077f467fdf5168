"""The page of recipes: every table and figure of the papers, with the command that makes it alone."""

import re
from collections.abc import Iterator, Sequence

from prefjudge.steps.reproduce.exhibits import Exhibit, Paper

_HEAD = """# The papers, table by table and figure by figure

`prefjudge reproduce PAPER … --out DIR` makes all tables and figures of a paper for your own data, under the
paper's names, with a page that shows them and says how to read each. Below is the command that makes each
alone: add the options in brackets, and take the file that is named there.

Words in capitals stand for your files and runs; a study replaces files: `prefjudge score STUDY …`.
`LABELLED.tsv` has the queries of the qrels. `prefjudge pool --out POOL` writes the pool, and `prefjudge
resolve --judgments JUDGMENTS --out PREFERENCE.qrels` the preference qrels. Runs that were not pooled have
no win ratios. Leave out `--until` for your own leaderboard. Tests hold the commands against the papers'
values where these can be had.
"""

_ADDED = re.compile(r"(.*?)(?: (--(?:leaderboard|common|leave-one-out|out|plot)\b.*))?$")
"""A command, and the options by which it makes one exhibit of several."""


def papers_page(papers: Sequence[Paper]) -> str:
    """Return the page as Markdown."""
    return "\n".join([_HEAD, *(line for paper in papers for line in _paper(paper))]).rstrip() + "\n"


def _paper(paper: Paper) -> Iterator[str]:
    yield from (f"## {paper.name}", "", paper.citation, "", f"{paper.lead} {paper.own}", "")
    by_command: dict[str, list[str]] = {}
    for exhibit in paper.exhibits:
        words, _, file = (part.strip() for part in exhibit.command.partition("# in "))
        command, added = _ADDED.findall(words)[0]
        by_command.setdefault(command, []).append(_exhibit(exhibit, added, file))
    for command, made in by_command.items():
        yield from (("```console", f"$ {command}", "```", "") if command else ("Not by a command:", ""))
        yield from (*made, "")


def _exhibit(exhibit: Exhibit, added: str, file: str) -> str:
    how = ", in ".join(f"`{one}`" for one in (added, file) if one)
    why = exhibit.impossible or ("" if exhibit.command else "Made by `prefjudge reproduce` only.")
    said = [f"{exhibit.shows}.", why, exhibit.own]
    return f"- **{exhibit.name}**{how and f' ({how})'}: {' '.join(filter(None, said))}"
