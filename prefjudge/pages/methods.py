"""The paragraph on methods for a paper's appendix, with its sources, for the page, LaTeX and BibTeX."""

import re
from dataclasses import dataclass

from prefjudge.show.tables import escape_latex
from prefjudge.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A publication: how a page cites it, and its entry for BibTeX."""

    cited: str
    kind: str
    fields: tuple[tuple[str, str], ...]


SOURCES = {
    "arabzadeh2022": Source(
        cited="Arabzadeh et al., 2022",
        kind="article",
        fields=(
            ("author", "Arabzadeh, Negar and Vtyurina, Alexandra and Yan, Xinyi and Clarke, Charles L. A."),
            ("title", "Shallow pooling for sparse labels"),
            ("journal", "Information Retrieval Journal"),
            ("volume", "25"),
            ("number", "4"),
            ("pages", "365--385"),
            ("year", "2022"),
            ("doi", "10.1007/s10791-022-09411-0"),
        ),
    ),
    "bradley1952": Source(
        cited="Bradley and Terry, 1952",
        kind="article",
        fields=(
            ("author", "Bradley, Ralph Allan and Terry, Milton E."),
            ("title", "Rank analysis of incomplete block designs: {I}. The method of paired comparisons"),
            ("journal", "Biometrika"),
            ("volume", "39"),
            ("number", "3/4"),
            ("pages", "324--345"),
            ("year", "1952"),
        ),
    ),
    "holm1979": Source(
        cited="Holm, 1979",
        kind="article",
        fields=(
            ("author", "Holm, Sture"),
            ("title", "A simple sequentially rejective multiple test procedure"),
            ("journal", "Scandinavian Journal of Statistics"),
            ("volume", "6"),
            ("number", "2"),
            ("pages", "65--70"),
            ("year", "1979"),
        ),
    ),
    "kendall1938": Source(
        cited="Kendall, 1938",
        kind="article",
        fields=(
            ("author", "Kendall, Maurice G."),
            ("title", "A new measure of rank correlation"),
            ("journal", "Biometrika"),
            ("volume", "30"),
            ("number", "1/2"),
            ("pages", "81--93"),
            ("year", "1938"),
        ),
    ),
    "prefjudge": Source(
        cited=f"prefjudge {__version__}",
        kind="misc",
        fields=(
            ("author", "{The prefjudge contributors}"),
            ("title", "prefjudge: preference qrels from crowdsourced side-by-side judgments"),
            ("note", f"Version {__version__}"),
        ),
    ),
}
_CITED = re.compile(r"\[@([a-z]+[0-9]*)\]")
"""A citation in a paragraph: ``[@holm1979]``. A run may be called so: only known keys count."""


def with_citations(text: str) -> str:
    """Return a paragraph for people: ``(Holm, 1979)``."""
    return _CITED.sub(lambda found: f"({SOURCES[found[1]].cited})" if found[1] in SOURCES else found[0], text)


def to_latex(text: str) -> str:
    r"""Return a paragraph for LaTeX, with ``~\cite{holm1979}``; every other character is escaped."""
    parts = _CITED.split(text)
    written = [escape_latex(parts[0])]
    for key, words in zip(parts[1::2], parts[2::2], strict=True):
        written.append(rf"\cite{{{key}}}" if key in SOURCES else escape_latex(f"[@{key}]"))
        written.append(escape_latex(words))
    return "".join(written) + "\n"


def to_bibtex(text: str) -> str:
    """Return the entries that a paragraph cites, in the order of their keys."""
    keys = sorted({*_CITED.findall(text)} & {*SOURCES})
    return "\n".join(_entry(key, SOURCES[key]) for key in keys)


def _entry(key: str, source: Source) -> str:
    fields = "".join(f"  {name} = {{{value}}},\n" for name, value in source.fields)
    return f"@{source.kind}{{{key},\n{fields}}}\n"
