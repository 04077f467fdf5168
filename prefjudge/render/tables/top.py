"""One run's top passages against the qrels, as tables (shallow pooling, section 3)."""

from collections.abc import Mapping, Sequence

from prefjudge.core.planning.power import Power
from prefjudge.core.pooling.top_pairs import TopSplit
from prefjudge.evaluation.comparing.examples import Example
from prefjudge.evaluation.comparing.top_against_qrel import TopAgainstQrel
from prefjudge.evaluation.testing.sentences import write_p
from prefjudge.render.text.cells import Column, Table


def categories_table(split: TopSplit, run: str, *, provenance: Mapping[str, str] | None = None) -> Table:
    """Return how often run and qrels agree on the top passage, of all labelled queries (Table 1)."""
    total = split.queries
    rows = (
        ("Category A: qrel at first rank", split.a),
        ("Category B: another passage at first rank", split.b),
        ("not retrieved: the run does not answer", split.not_retrieved),
        ("total", total),
    )
    return Table(
        title=f"Agreement between the qrels and the top results of {run}",
        columns=(
            Column(name="category", priority=0),
            Column(name="queries", kind="integer"),
            Column(name="share", head="% queries", kind="percent", digits=2),
        ),
        rows=tuple((name, count, count / total if total else None) for name, count in rows),
        notes=("A hypothetical perfect ranking always has the qrel at first rank.",),
        provenance=provenance or {},
    )


def preferred_table(result: TopAgainstQrel, *, provenance: Mapping[str, str] | None = None) -> Table:
    """Return which passage people preferred, by category (Table 2)."""
    parts = (result.a, result.b)
    rows = (
        ("qrel preferred", [part.qrel for part in parts]),
        ("comparison passage preferred", [part.rival for part in parts]),
        ("tied", [part.tied for part in parts]),
        ("unjudged", [part.unjudged for part in parts]),
        ("no rival: the run returned the qrel alone", [part.no_rival for part in parts]),
        ("total", [part.queries for part in parts]),
    )
    notes = ["In category A the comparison passage is the run's second, in category B its first."]
    notes += [
        f"Category {name}: the comparison passage won {part.rival_ratio:.1%} of {part.qrel + part.rival:,} "
        f"decided pairs (two-sided binomial test, p {write_p(part.p)})."
        for name, part in zip("AB", parts, strict=True)
        if part.qrel + part.rival
    ]
    notes.append("Above 50 % in category B the run is better than the labels that it is scored by.")
    return Table(
        title=f"The qrel against the top results of {result.run}",
        columns=(
            Column(name="preferred", priority=0),
            Column(name="a", head="category A", kind="integer"),
            Column(name="b", head="category B", kind="integer"),
        ),
        rows=tuple((name, *counts) for name, counts in rows),
        notes=tuple(notes),
        provenance=provenance or {},
    )


def examples_table(rows: Sequence[Example], *, provenance: Mapping[str, str] | None = None) -> Table:
    """Return judged pairs with their texts, the preferred passage first (Figure 1)."""
    names = ("query", "question", "category", "preferred", "preferred_text", "other", "other_text")
    return Table(
        title="Examples, drawn at random from both outcomes",
        columns=(
            *(Column(name=name, head=name.replace("_", " ")) for name in names),
            Column(name="qrel_preferred", head="qrel preferred", kind="flag"),
            Column(name="votes_for", head="votes for", kind="integer"),
            Column(name="votes_against", head="against", kind="integer"),
        ),
        rows=tuple(
            (
                one.query,
                one.query_text,
                one.category,
                one.preferred,
                one.preferred_text,
                one.other,
                one.other_text,
                one.qrel_preferred,
                one.votes_for,
                one.votes_against,
            )
            for one in rows
        ),
        provenance=provenance or {},
    )


def power_table(rows: Sequence[Power]) -> Table:
    """Return what this many pairs of category B can show."""
    return Table(
        title="What judged pairs of category B can show",
        columns=(
            Column(name="pairs", kind="integer", priority=0),
            Column(name="sample", head="queries to judge", kind="integer"),
            Column(name="wins", head="significant from", kind="integer", priority=2),
            Column(name="ratio", head="of the pairs", kind="percent", digits=1),
            Column(name="detectable", head="found 4 times in 5", kind="percent", digits=1),
        ),
        rows=tuple((row.pairs, row.sample, row.wins, row.ratio, row.detectable) for row in rows),
        notes=(
            "Two-sided binomial test at 5 %, one decided outcome a pair. A run whose top passage is "
            "preferred as often as the last column says is found better four times in five.",
            "--sample draws this many queries.",
        ),
    )
