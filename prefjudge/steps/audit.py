"""Audits the submissions of a leaderboard."""

from collections import Counter
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from annotated_types import Ge

from prefjudge.core.runs import Order, OrderLike
from prefjudge.evaluation.submissions import Audit, Rules, Submission
from prefjudge.evaluation.submissions import audit as examine
from prefjudge.findings.findings import InputDigest, digesting, made_with
from prefjudge.findings.outputs import check_outputs, stamp_of, write_figure, write_table
from prefjudge.reading.files import Notice
from prefjudge.reading.given import as_path, day_of, expand
from prefjudge.reading.inputs import Runs
from prefjudge.reading.labels import file_stamps, rehearsal_in
from prefjudge.reading.leaderboards import read_aliases, read_leaderboard, read_measure
from prefjudge.reading.opened import reading
from prefjudge.reading.options import ReadOptions
from prefjudge.show.cells import Table
from prefjudge.show.plots import plot_progress
from prefjudge.show.results import Screen, Shown, first_few, plain, plain_fields
from prefjudge.show.statistics import (
    findings_table,
    institutions_table,
    shifts_table,
    summary_table,
    teams_table,
)
from prefjudge.words import many

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AuditResult(Shown):
    """The audit of a leaderboard, and what it was made from.

    ``submissions`` are the entries that were audited. ``measure`` is what they are scored by, empty where
    neither the header nor the caller names it.
    """

    audit: Audit
    submissions: tuple[Submission, ...]
    measure: str
    provenance: dict[str, str]
    inputs: tuple[InputDigest, ...]
    out: tuple[str, ...]
    notices: tuple[str, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return what was found by rule, the institutions and teams, and what was shifted."""
        made = (summary_table, institutions_table, teams_table, shifts_table)
        tables = [one(self.audit) for one in made]
        return (*tables[:3], *(table for table in tables[3:] if table.rows))

    def document(self) -> dict[str, Any]:
        """Return its JSON: the audit, and what it was made from."""
        return {**plain(self.audit), **plain_fields(self, "audit", "submissions", "measure", "notices")}

    def plot(self, highlight: str = "") -> "Figure":
        """Return the leaderboard over time, drawn; what is described by a word in a second colour."""
        drawn = self.submissions, self.audit.records
        return plot_progress(*drawn, measure=self.measure, highlight=highlight)

    def sentences(self) -> tuple[str, ...]:
        """Return the first findings of each rule."""
        found: list[str] = []
        for rule in dict.fromkeys(one.rule for one in self.audit.findings):
            words = [f"{rule}: {one.words}" for one in self.audit.findings if one.rule is rule]
            more = [f"{rule}: and {len(words) - _SENTENCES} more, see --json or --out"]
            found += [*words[:_SENTENCES], *(more if len(words) > _SENTENCES else [])]
        return tuple(found)

    def screen(self) -> Screen:
        """Return how many findings each rule has, and the first of them."""
        found = self.audit
        over = f"{many(found.submissions, 'submission')} of {many(len(found.teams), 'team')}"
        counts = Counter(str(one.rule) for one in found.findings)
        rules = ", ".join(f"{rule} {count}" for rule, count in counts.items()) or "none"
        first = f"{over}, {found.first} to {found.last}: {many(len(found.findings), 'finding')} ({rules})."
        findings = [f"  {one.rule}: {one.words}" for one in found.findings]
        sure = "A finding is a reason to ask, not a verdict."
        tau = "" if isnan(found.tau) else f" The dev and eval scores agree at τ = {found.tau:.2f}."
        return Screen(found=(first, *first_few(findings, 7)), sure=(sure + tau,))


_SENTENCES = 12
"""At most this many findings of each rule are told."""


def audit(
    leaderboard: str | Path,
    *,
    runs: Runs = (),
    aliases: str | Path | None = None,
    limit: Annotated[int, Ge(1)] = 2,
    days: Annotated[int, Ge(1)] = 30,
    since: str | None = None,
    until: str | None = None,
    depth: Annotated[int, Ge(1)] = 10,
    order: OrderLike | None = None,
    measure: str = "",
    highlight: str = "",
    plot: str | Path | None = None,
    out: str | Path | None = None,
    **how: Unpack[ReadOptions],
) -> AuditResult:
    """Check a leaderboard's submissions against its rules.

    Parameters
    ----------
    leaderboard : Path
        A CSV in either layout of the MS MARCO leaderboards.
    runs : sequence of paths or patterns
        Run files, or folders of them, to find runs that return nearly the same. A run's name is its
        submission's id.
    aliases : Path, optional
        A file of what names stand for. Each line has a submission's id or the name of a team or an
        institution as printed, a tab, and what it stands for: a team, or its institutions apart by ``;``.
        ``#`` begins a comment line; case, accents and punctuation do not matter; ``Anonymous`` says that the
        team is not known. Without it names are what they are as printed; what follows a dash is the
        institution.
    limit : int
        How many submissions a team may make at most within ``days``.
    days : int
        The length of the period in days; any such period counts.
    since : str, optional
        When the rules came into force, yyyy-mm-dd.
    until : str, optional
        Leave out what was submitted after this day: the leaderboard as it was then.
    depth : int
        How many top documents of the runs to compare.
    order : Order, optional
        What ranks a document higher.
    measure : str
        What the leaderboard scores by, for the plot, where the file's header does not say it.
    highlight : str
        Draw submissions whose description contains this, in any case, in a second colour.
    plot : Path, optional
        Draw the leaderboard over time, SVG or PNG by the suffix.
    out : Path, optional
        Write the findings: CSV, JSON, Markdown, LaTeX or Parquet by the suffix.
    **how
        How the runs are read: the words of `ReadOptions`.

    Raises
    ------
    InputError
        A file or a date cannot be read.
    """
    leaderboard = as_path(leaderboard)
    aliases = as_path(aliases)
    plot = as_path(plot)
    out = as_path(out)
    ordered = Order(order or Order.SCORE)
    notices: list[Notice] = []
    paths = expand(runs) if runs else ()
    files: list[tuple[str, str | Path]] = [("leaderboard", leaderboard), *(("run", path) for path in paths)]
    files += [("aliases", aliases)] if aliases else []
    check_outputs(out, inputs=(path for _, path in files), plot=plot, tables=True)
    rules = Rules(limit=limit, days=days, since=day_of(since, "--since"))
    entries = read_leaderboard(leaderboard)
    notices += file_stamps(leaderboard)
    with digesting(files) as digests, reading(paths, ordered, notices, **how) as reader:
        examined = examine(
            entries,
            rules=rules,
            until=day_of(until, "--until"),
            aliases=read_aliases(aliases) if aliases else None,
            heads=reader.top(depth) if paths else None,
        )
        result = AuditResult(
            audit=examined,
            submissions=tuple(entry for entry in entries if entry.date <= examined.last),
            measure=measure or read_measure(leaderboard),
            provenance=made_with(reader, ordered),
            inputs=digests(),
            out=tuple(str(path) for path in (out, plot) if path),
            notices=tuple(dict.fromkeys(map(str, notices))),
        )
    stamp = stamp_of(rehearsal_in(notices))
    if out:
        write_table(out, findings_table(result.audit), made=result.provenance, stamp=stamp)
    if plot:
        write_figure(plot, result.plot(highlight), stamp)
    return result
