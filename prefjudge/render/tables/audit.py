"""The audit of a leaderboard as tables: findings, institutions, teams, and dev against eval ranks."""

from collections import Counter
from collections.abc import Mapping
from math import isnan

from prefjudge.counts import many
from prefjudge.evaluation.submissions.audit import Audit
from prefjudge.evaluation.submissions.findings import OURS, Rule
from prefjudge.evaluation.submissions.submissions import short_name
from prefjudge.render.text.tables import Column, Table


def findings_table(audit: Audit, *, provenance: Mapping[str, str] | None = None) -> Table:
    """Return one row for each finding."""
    return Table(
        title="Findings",
        columns=(
            Column(name="rule", priority=0),
            Column(name="submissions", kind="integer"),
            Column(name="team", priority=2),
            Column(name="ids", priority=2),
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
    own = (
        f"Our own: anonymous for at most {many(rules.embargo_months, 'month')}, as of {audit.as_of}; "
        "falls from dev to eval scores; marks; metadata."
        if rules.ours
        else f"Rules of our own are off ({', '.join(OURS)})."
    )
    return (
        f"Rules of the paper: at most {many(rules.limit, 'submission')} of a team in any "
        f"{many(rules.days, 'day')}{since}, and one of the runs that are {rules.alike:.0%} alike.",
        own,
        "A finding is a reason to ask, not a verdict: names go as they are printed, or as --aliases says.",
    )


def summary_table(audit: Audit) -> Table:
    """Return how many findings each rule has."""
    tau = "not defined" if isnan(audit.tau) else f"{audit.tau:.2f}"
    counted = Counter(found.rule for found in audit.findings)
    return Table(
        title="Findings by rule",
        columns=(Column(name="rule", priority=0), Column(name="findings", kind="integer")),
        rows=tuple((str(rule), counted[rule]) for rule in Rule if audit.rules.ours or rule not in OURS),
        notes=(
            f"{many(audit.submissions, 'submission')} of {many(len(audit.teams), 'team')}, "
            f"{audit.first} to {audit.last}; {len(audit.anonymous):,} are anonymous.",
            f"Kendall's τ between dev and eval scores: {tau} "
            f"({many(len(audit.standings), 'submission has', 'submissions have')} both).",
            f"{many(audit.shared_scores, 'submission has', 'submissions have')} the same eval "
            f"score as another.",
            *_notes(audit),
        ),
    )


def teams_table(audit: Audit, *, top: int = 15) -> Table:
    """Return the teams with most submissions, and the names that they go by."""
    return Table(
        title="Teams with most submissions",
        columns=(
            Column(name="team", priority=0),
            Column(name="submissions", kind="integer"),
            Column(name="names", kind="integer", priority=2),
        ),
        rows=tuple(
            (short_name(team.name), len(team.submissions), len(team.names)) for team in audit.teams[:top]
        ),
    )


def institutions_table(audit: Audit, *, top: int = 15) -> Table:
    """Return the institutions with most submissions (Craswell et al., SIGIR 2021, section 3.3)."""
    best = {name: place for place, name in enumerate(reversed(audit.records), 1)}
    return Table(
        title="Institutions with most submissions",
        columns=(
            Column(name="institution", priority=0),
            Column(name="submissions", kind="integer"),
            Column(name="records", kind="integer", priority=2),
            Column(name="last_record", head="latest record", priority=3),
            Column(name="names", priority=4),
        ),
        rows=tuple(
            (
                short_name(one.name),
                len(one.submissions),
                sum(name in best for name in one.submissions),
                min((name for name in one.submissions if name in best), key=best.__getitem__, default=None),
                "; ".join(map(short_name, one.names)),
            )
            for one in audit.institutions[:top]
        ),
        notes=(
            f"{many(len(audit.institutions), 'institution')}; a joint submission counts at each, and "
            f"{many(len(audit.anonymous), 'submission is', 'submissions are')} anonymous. "
            "A record beat all submissions before it.",
        ),
    )


def shifts_table(audit: Audit, *, top: int = 10) -> Table:
    """Return the submissions whose rank changes most from the dev to the eval queries."""
    moved = sorted(audit.standings, key=lambda row: (-abs(row.shift), row.eval_rank))[:top]
    return Table(
        title="Largest shifts from dev to eval rank",
        columns=(
            Column(name="submission", priority=0),
            Column(name="dev", kind="number", digits=3, priority=2),
            Column(name="eval", kind="number", digits=3, priority=2),
            Column(name="dev_rank", head="dev rank", kind="integer"),
            Column(name="eval_rank", head="eval rank", kind="integer"),
            Column(name="shift", head="rises", kind="integer"),
        ),
        rows=tuple(
            (row.submission, row.dev, row.eval, row.dev_rank, row.eval_rank, row.shift) for row in moved
        ),
    )
