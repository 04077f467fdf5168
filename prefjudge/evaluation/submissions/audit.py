"""An audit of a leaderboard's submissions against its rules.

The MS MARCO leaderboards allow each group "no more than two runs per month, and no more than one run with
very small changes" (Craswell et al., SIGIR 2021, section 3.3), and the paper counts submissions by
institution. A month is read as any 30 days. What else is looked at are rules of our own, off by default.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from prefjudge.core.pooling.runs import Heads
from prefjudge.errors import InputError
from prefjudge.evaluation.submissions import findings
from prefjudge.evaluation.submissions.findings import OURS, Finding, Rules
from prefjudge.evaluation.submissions.submissions import (
    Group,
    Standing,
    Submission,
    compare_scores,
    group_submissions,
    record_holders,
)


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
    teams, institutions : tuple of Group
        Most submissions first.
    anonymous : tuple of str
        Submissions whose team nobody knows.
    findings : tuple of Finding
    standings : tuple of Standing
        In the order of the eval score.
    tau : float
        Kendall's tau between dev and eval scores; NaN for fewer than two.
    records : tuple of str
        The submissions that beat all earlier ones on the eval queries.
    shared_scores : int
        How many submissions have exactly the eval score of another.
    """

    submissions: int
    first: date
    last: date
    as_of: date
    rules: Rules
    teams: tuple[Group, ...]
    institutions: tuple[Group, ...]
    anonymous: tuple[str, ...]
    findings: tuple[Finding, ...]
    standings: tuple[Standing, ...]
    tau: float
    records: tuple[str, ...]
    shared_scores: int


def audit(
    submissions: Sequence[Submission],
    *,
    rules: Rules | None = None,
    until: date | None = None,
    as_of: date | None = None,
    aliases: Mapping[str, str] | None = None,
    heads: Heads | None = None,
) -> Audit:
    """Audit the entries of a leaderboard.

    Parameters
    ----------
    submissions : sequence of Submission
        At least one.
    rules : Rules, optional
        Without it, those of the MS MARCO leaderboards.
    until : datetime.date, optional
        Leave out what was submitted after this day.
    as_of : datetime.date, optional
        The day to judge embargoes on; without it, the day of the last submission.
    aliases : mapping of str to str, optional
        What a submission, a team or an institution stands for.
    heads : Heads, optional
        The top documents of runs, for likeness by results. A run belongs to the submission of that id.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        A day is before the first submission.
    """
    rules = rules or Rules()
    ordered = sorted(submissions, key=lambda entry: (entry.date, entry.line))
    for given in (until, as_of):
        if given is not None and given < ordered[0].date:
            raise InputError(
                f"{given} is before the first submission", f"Name a day from {ordered[0].date} on."
            )
    ordered = [entry for entry in ordered if until is None or entry.date <= until]
    day = as_of or ordered[-1].date
    named = [(entry.name, entry.team) for entry in ordered]
    groups = group_submissions(named, aliases)
    # By team; of the anonymous entries, under "", nobody knows whose they are.
    bound: dict[str, list[Submission]] = {}
    for entry, team in zip(ordered, groups.team_of, strict=True):
        if not entry.baseline and (rules.since is None or entry.date >= rules.since):
            bound.setdefault(team, []).append(entry)
    anonymous = bound.pop("", [])
    team_of = {name: team.name for team in groups.teams for name in team.submissions}
    standings, tau = compare_scores(ordered, groups.team_of)
    records = record_holders(ordered)
    found = [
        *findings.too_frequent(bound, rules),
        *(findings.twins(heads, team_of, rules) if heads is not None else ()),
        *findings.embargoes(anonymous, day, rules),
        *findings.gaps(standings),
        *findings.marks(ordered, records),
        *findings.metadata(ordered),
    ]
    scores = [entry.eval for entry in ordered if entry.eval is not None]
    return Audit(
        submissions=len(ordered),
        first=ordered[0].date,
        last=ordered[-1].date,
        as_of=day,
        rules=rules,
        teams=groups.teams,
        institutions=groups.institutions,
        anonymous=groups.anonymous,
        findings=tuple(one for one in found if rules.ours or one.rule not in OURS),
        standings=standings,
        tau=tau,
        records=tuple(entry.name for entry in records),
        shared_scores=sum(scores.count(score) > 1 for score in scores),
    )
