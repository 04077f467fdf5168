"""The audit of a leaderboard as tables: findings, teams, and public against held-out ranks."""

from collections import Counter
from collections.abc import Mapping

from prefjudge.evaluation.audit import Audit
from prefjudge.evaluation.findings import Rule
from prefjudge.evaluation.teams import short_name
from prefjudge.render.tables import Column, Table


def findings_table(audit: Audit, *, provenance: Mapping[str, str] | None = None) -> Table:
    """Return one row for each finding."""
    return Table(
        title="Findings",
        columns=(
            Column(name="rule"),
            Column(name="submissions", kind="integer"),
            Column(name="team"),
            Column(name="ids"),
            Column(name="value", kind="number", digits=2),
            Column(name="words", head="what was found"),
        ),
        rows=tuple(
            (
                str(found.rule),
                len(found.submissions),
                found.team or None,
                ", ".join(found.submissions),
                found.value,
                found.words,
            )
            for found in audit.findings
        ),
        notes=_notes(audit),
        provenance=provenance or {},
    )


def _notes(audit: Audit) -> tuple[str, ...]:
    rules = audit.rules
    since = f" since {rules.since}" if rules.since else ""
    return (
        f"Rules: at most {rules.limit} submissions of a team in any {rules.days} days{since}; anonymous for "
        f"at most {rules.embargo_months} months, as of {audit.as_of}.",
        "A finding is a reason to ask, not a verdict: names and descriptions can mislead.",
    )


def summary_table(audit: Audit) -> Table:
    """Return how many findings each rule has."""
    counted = Counter(found.rule for found in audit.findings)
    return Table(
        title="Findings by rule",
        columns=(Column(name="rule"), Column(name="findings", kind="integer")),
        rows=tuple((str(rule), counted[rule]) for rule in Rule),
        notes=(
            f"{audit.submissions:,} submissions of {len(audit.teams):,} teams, "
            f"{audit.first} to {audit.last}.",
            f"Kendall's τ between public and held-out scores: {audit.tau:.2f} "
            f"({len(audit.standings):,} submissions have both).",
            f"{audit.shared_scores:,} submissions share their held-out score with another.",
            *_notes(audit),
        ),
    )


def teams_table(audit: Audit, *, top: int = 15) -> Table:
    """Return the teams with most submissions, and the names that they go by."""
    return Table(
        title="Teams with most submissions",
        columns=(
            Column(name="team"),
            Column(name="submissions", kind="integer"),
            Column(name="names", kind="integer"),
            Column(name="evidence"),
        ),
        rows=tuple(
            (short_name(team.name), len(team.submissions), len(team.names), ", ".join(team.evidence) or None)
            for team in audit.teams[:top]
        ),
    )


def shifts_table(audit: Audit, *, top: int = 10) -> Table:
    """Return the submissions whose rank changes most from the public to the held-out queries."""
    moved = sorted(audit.standings, key=lambda row: (-abs(row.shift), row.held_out_rank))[:top]
    return Table(
        title="Largest shifts from public to held-out rank",
        columns=(
            Column(name="submission"),
            Column(name="public", kind="number", digits=3),
            Column(name="held_out", head="held out", kind="number", digits=3),
            Column(name="public_rank", head="public rank", kind="integer"),
            Column(name="held_out_rank", head="held-out rank", kind="integer"),
            Column(name="shift", head="rises", kind="integer"),
        ),
        rows=tuple(
            (row.submission, row.public, row.held_out, row.public_rank, row.held_out_rank, row.shift)
            for row in moved
        ),
    )
