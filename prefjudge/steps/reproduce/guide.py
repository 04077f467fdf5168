"""The page of recipes: every table and figure of the papers, with the command that makes it alone."""

from collections.abc import Iterator, Sequence

from prefjudge.steps.reproduce.exhibits import Exhibit, Paper

_HEAD = """# The papers, table by table and figure by figure

`prefjudge reproduce PAPER … --out DIR` makes all tables and figures of a paper for your own data, under the
paper's names, with a page that shows them. Below is the command that makes each alone. Words in capitals
stand for your files and runs; a study replaces files: `prefjudge score STUDY …`.

`prefjudge pool --out POOL` writes the pool that is judged, and `prefjudge resolve --judgments JUDGMENTS --out
PREFERENCE.qrels` the preference qrels. Runs that were not pooled have no win ratios.

Each paper says what its *own* values take. Where they can be had, tests hold what these commands give against
the paper. On the demo's collection they hold that each command of the first paper makes exactly what
`reproduce` does, and that all others run. `python3 scripts/make_papers_page.py` writes this page.
"""


def papers_page(papers: Sequence[Paper]) -> str:
    """Return the page as Markdown."""
    return "\n".join([_HEAD, *(line for paper in papers for line in _paper(paper))]).rstrip() + "\n"


def _paper(paper: Paper) -> Iterator[str]:
    yield from (f"## {paper.name}", "", paper.citation, "", paper.lead, "", paper.own, "")
    for exhibit in paper.exhibits:
        yield from _exhibit(exhibit)


def _exhibit(exhibit: Exhibit) -> Iterator[str]:
    shows = exhibit.shows[:1].upper() + exhibit.shows[1:]
    yield from (f"### {exhibit.name}", "", " ".join(filter(None, [f"{shows}.", exhibit.reading])), "")
    if exhibit.impossible:
        yield from (f"Cannot be made from your data. {exhibit.impossible}", "")
    elif exhibit.command:
        yield from ("```console", f"$ {exhibit.command}", "```", "")
    else:
        yield from ("Made by `prefjudge reproduce` only.", "")
    if exhibit.own:
        yield from (exhibit.own, "")
