"""An audit of a leaderboard's submissions against its rules.

The MS MARCO leaderboards ask each group for at most two runs in any 30 days and at most one with very small
changes, and reveal anonymous entries after nine months (Craswell et al., SIGIR 2021, section 3.3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from prefjudge.core.runs import Heads
from prefjudge.errors import InputError
from prefjudge.evaluation import findings
from prefjudge.evaluation.findings import Finding, Rules
from prefjudge.evaluation.likeness import run_likeness
from prefjudge.evaluation.submissions import Standing, Submission, compare_scores, record_holders
from prefjudge.evaluation.teams import ANONYMOUS, Team, resolve_teams


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The result of an audit.

    Attributes
    ----------
    submissions : int
    first, last : datetime.date
        The dates that the entries span.
    as_of : datetime.date
        The day that the embargo is judged on.
    rules : Rules
    teams : tuple of Team
        Most submissions first.
    findings : tuple of Finding
    standings : tuple of Standing
        In the order of the held-out score.
    tau : float
        Kendall's tau between public and held-out scores; NaN for fewer than two.
    records : tuple of str
        The submissions that beat all earlier ones on the held-out queries.
    shared_scores : int
        How many submissions have exactly the held-out score of another.
    """

    submissions: int
    first: date
    last: date
    as_of: date
    rules: Rules
    teams: tuple[Team, ...]
    findings: tuple[Finding, ...]
    standings: tuple[Standing, ...]
    tau: float
    records: tuple[str, ...]
    shared_scores: int


def audit(
    submissions: Sequence[Submission],
    *,
    rules: Rules | None = None,
    as_of: date | None = None,
    aliases: Mapping[str, str] | None = None,
    merge: bool = True,
    heads: Heads | None = None,
) -> Audit:
    """Audit the entries of a leaderboard.

    Parameters
    ----------
    submissions : sequence of Submission
        At least one.
    rules : Rules, optional
        Without it, those of the MS MARCO leaderboards.
    as_of : datetime.date, optional
        The day to judge embargoes on; without it, the day of the last submission.
    aliases : mapping of str to str, optional
        What is known about teams: the name on the leaderboard to the team that it stands for.
    merge : bool
        Whether names that share a person or a submission id's suffix are taken for one team.
    heads : Heads, optional
        The top documents of runs, for likeness by results. A run belongs to the submission of that id.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        The day is before the first submission.
    """
    rules = rules or Rules()
    ordered = sorted(submissions, key=lambda entry: (entry.date, entry.line))
    if as_of is not None and as_of < ordered[0].date:
        raise InputError(f"{as_of} is before the first submission", f"Name a day from {ordered[0].date} on.")
    day = as_of or ordered[-1].date
    teams = resolve_teams([(entry.name, entry.team) for entry in ordered], aliases=aliases, merge=merge)
    team_of = {name: team.name for team in teams for name in team.submissions}
    bound = [
        entry
        for entry in ordered
        if not entry.baseline and (rules.since is None or entry.date >= rules.since)
    ]
    by_team: dict[str, list[Submission]] = {}
    for entry in bound:
        if team_of[entry.name] != ANONYMOUS:
            by_team.setdefault(team_of[entry.name], []).append(entry)
    standings, tau = compare_scores(ordered, team_of)
    records = record_holders(ordered)
    found = [
        *findings.too_frequent(by_team, rules),
        *findings.siblings(by_team, rules),
        *(findings.twins(run_likeness(heads, least=rules.alike), team_of) if heads is not None else ()),
        *findings.embargoes(bound, day, rules),
        *findings.gaps(standings),
        *findings.names(teams),
        *findings.marks(ordered, records),
        *findings.metadata(ordered),
    ]
    scores = [entry.held_out for entry in ordered if entry.held_out is not None]
    return Audit(
        submissions=len(ordered),
        first=ordered[0].date,
        last=ordered[-1].date,
        as_of=day,
        rules=rules,
        teams=teams,
        findings=tuple(found),
        standings=standings,
        tau=tau,
        records=tuple(entry.name for entry in records),
        shared_scores=sum(scores.count(score) > 1 for score in scores),
    )
