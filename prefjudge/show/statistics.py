"""The tables of statistics: tests, agreement, stability, audits, workers and history."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan

import numpy as np

from prefjudge.core.planning.rounds import Duel
from prefjudge.core.resolving.resolutions import Change
from prefjudge.core.workers import Sign
from prefjudge.evaluation.agreement import Agreement
from prefjudge.evaluation.correlation import RankShift
from prefjudge.evaluation.measures.measures import in_logarithms
from prefjudge.evaluation.outcomes import Harm, Outcomes
from prefjudge.evaluation.stability import SHARES_FROM, RankStability
from prefjudge.evaluation.submissions import OURS, Audit, Rule, short_name
from prefjudge.evaluation.tests import Significance, SignificanceTest
from prefjudge.show.tables import Bold, Cell, Column, Table
from prefjudge.words import many

_DIFFERING = 15
"""Queries with a difference, fewer than which tell little of the mean difference."""


def pairs_table(results: Sequence[Significance], *, provenance: Mapping[str, str] | None = None) -> Table:
    """Return one row for each pair of runs; the adjusted p-value is bold where it is significant."""
    rows: list[tuple[Cell, ...]] = []
    for result in results:
        significant = result.significant
        for pair in range(len(result)):
            p = float(result.p_adjusted[pair])
            rows.append(
                (
                    result.qrels,
                    result.measure,
                    result.runs[result.a[pair]],
                    result.runs[result.b[pair]],
                    float(result.difference[pair]),
                    float(result.low[pair]),
                    float(result.high[pair]),
                    float(result.effect[pair]),
                    int(result.wins_a[pair]),
                    int(result.wins_b[pair]),
                    float(result.p[pair]),
                    Bold(p) if significant[pair] else p,
                    bool(significant[pair]),
                )
            )
    return Table(
        title=_title(results),
        columns=(
            Column(name="qrels", priority=6),
            Column(name="measure", priority=6),
            Column(name="a", priority=0),
            Column(name="b", priority=0),
            Column(name="difference", head="b - a", kind="number"),
            Column(name="low", head="from", kind="number", priority=2),
            Column(name="high", head="to", kind="number", priority=2),
            Column(name="effect", kind="number", digits=2, priority=5),
            Column(name="wins_a", head="a wins", kind="integer", priority=4),
            Column(name="wins_b", head="b wins", kind="integer", priority=4),
            Column(name="p", kind="p", priority=3),
            Column(name="p_adjusted", head="adjusted p", kind="p"),
            Column(name="significant", kind="flag", priority=2),
        ),
        rows=tuple(rows),
        notes=_comparison_notes(results),
        provenance=provenance or {},
    )


def _title(results: Sequence[Significance]) -> str:
    """Say what is compared: the columns that say so may be left out where a screen is narrow."""
    boards = dict.fromkeys(f"{one.measure} under {one.qrels}" for one in results)
    return f"Differences between runs: {', '.join(boards)}" if boards else "Differences between runs"


def _comparison_notes(results: Sequence[Significance]) -> tuple[str, ...]:
    notes: dict[str, None] = {}
    for result in results:
        drawn = f", {many(result.resamples, 'resample')}" if result.resamples else ""
        notes[f"{result.variant}{drawn}; correction: {result.correction}, level {result.alpha:g}."] = None
        if result.reason:
            notes[f"Why this test: {result.reason}."] = None
    level = {f"{100 * (1 - result.alpha):g} %" for result in results}
    notes[
        f"Intervals of the difference are at {', '.join(sorted(level))}, for one pair at a time, as far as "
        "the scale reaches; effect is the difference over the standard deviation of the differences. Where "
        f"all queries differ by the same amount there is {_no_spread(results)}."
    ] = None
    logs = dict.fromkeys(result.measure for result in results if in_logarithms(result.measure))
    for name in logs:
        ratio = f"of natural logarithms; e to that power is the ratio of one {name} to the other"
        notes[f"Of {name}, b - a and its interval are {ratio}."] = None
    few = sum(_differ_little(result) for result in results)
    if few:
        notes[
            f"{many(few, 'pair')} with fewer than {_DIFFERING} queries that differ: an interval that rests "
            "on so few queries is too narrow if the next one to differ may differ by more."
        ] = None
    return tuple(notes)


def _no_spread(results: Sequence[Significance]) -> str:
    bets = {result.test is SignificanceTest.SEQUENTIAL for result in results}
    return "no effect" if bets == {True} else "neither"


def _differ_little(result: Significance) -> int:
    """Return how many pairs of runs differ on some queries, and on few; an interval by bets bears that."""
    if result.test is SignificanceTest.SEQUENTIAL:
        return 0
    differing = result.wins_a + result.wins_b
    return int(((differing < _DIFFERING) & (differing > 0)).sum())


_PAIR = (
    Column(name="qrels", priority=7),
    Column(name="measure", priority=7),
    Column(name="a", priority=0),
    Column(name="b", priority=0),
    Column(name="difference", head="Δ", kind="number"),
)


_DIFFERENCE = "Δ: the score of b less that of a."


def _pair(tested: Significance, row: Outcomes) -> tuple[Cell, ...]:
    return tested.qrels, tested.measure, row.a, row.b, row.difference


def outcomes_table(
    rows: Sequence[tuple[Significance, Outcomes]], *, provenance: Mapping[str, str] | None = None
) -> Table:
    """Return the outcome breakdown, one row a contender, with every p-value raw (Table 2 of the paper)."""
    return Table(
        title="Outcomes: who answers more queries, and who ranks the answers better",
        columns=(
            *_PAIR,
            Column(name="neither", kind="percent", digits=0, priority=4),
            Column(name="only_a", head="only a", kind="percent", digits=0, priority=2),
            Column(name="only_b", head="only b", kind="percent", digits=0, priority=2),
            Column(name="p_binomial", head="p", kind="p", priority=2),
            Column(name="both", kind="percent", digits=0, priority=4),
            Column(name="esl_a", head="ESL a", kind="number", digits=2, priority=3),
            Column(name="esl_b", head="ESL b", kind="number", digits=2, priority=3),
            Column(name="p_esl_signed_rank", head="WSR p", kind="p", priority=6),
            Column(name="p_esl_t", head="t p", kind="p", priority=3),
            Column(name="rr_a", head="RR a", kind="number", priority=5),
            Column(name="rr_b", head="RR b", kind="number", priority=5),
            Column(name="p_rr_signed_rank", head="WSR p", kind="p", priority=6),
            Column(name="p_rr_t", head="t p", kind="p", priority=6),
            Column(name="verdict", head="verdict (t)"),
            Column(name="verdict_signed_rank", head="verdict (WSR)", priority=4),
        ),
        rows=tuple((*_pair(tested, row), *_outcome_cells(row)) for tested, row in rows),
        notes=(
            "Neither, only one, or both answer within the cut-off; ESL (the position of the answer) and RR "
            "are means over the queries that both answer.",
            _DIFFERENCE,
            f"p-values are raw. A gain counts{_level(rows, 'alpha')} (bold), the level divided among the "
            f"comparisons; a harm counts{_level(rows, 'harm_alpha')}. A verdict takes the "
            "binomial test of the answers and a test of ESL: t, or signed-rank.",
            *_split([row for _, row in rows]),
        ),
        provenance=provenance or {},
    )


def _level(rows: Sequence[tuple[Significance, Outcomes]], name: str) -> str:
    levels = sorted({float(getattr(row, name)) for _, row in rows})
    return f" at p ≤ {' or '.join(f'{level:.2g}' for level in levels)}" if levels else ""


def _split(rows: Sequence[Outcomes]) -> tuple[str, ...]:
    split = [f"{row.a} and {row.b}" for row in rows if row.verdict is not row.verdict_signed_rank]
    if not split:
        return ()
    shown = ", ".join(split[:5]) + (" …" if len(split) > 5 else "")
    return (f"The two verdicts differ for {many(len(split), 'pair')}: {shown}.",)


def _outcome_cells(row: Outcomes) -> tuple[Cell, ...]:
    def mark(p: float) -> Cell:
        return Bold(p) if p <= row.alpha else p

    def verdict(found: Harm) -> Cell:
        return found.value if found is Harm.NOT_TOLD_APART else Bold(found.value)

    return (
        row.neither / row.queries,
        row.only_a / row.queries,
        row.only_b / row.queries,
        mark(row.p_binomial),
        row.both / row.queries,
        row.esl_a,
        row.esl_b,
        mark(row.p_esl_signed_rank),
        mark(row.p_esl_t),
        row.rr_a,
        row.rr_b,
        row.p_rr_signed_rank,
        row.p_rr_t,
        verdict(row.verdict),
        verdict(row.verdict_signed_rank),
    )


def naive_table(
    rows: Sequence[tuple[Significance, Outcomes]], *, provenance: Mapping[str, str] | None = None
) -> Table:
    """Return the tests of reciprocal ranks over all queries, raw p-values (Table 1 of the paper)."""
    return Table(
        title="Reciprocal ranks over all queries",
        columns=(
            *_PAIR,
            Column(name="p_rank_sum", head="WRS p", kind="p", digits=6, priority=2),
            Column(name="p_signed_rank", head="WSR p", kind="p", digits=6, priority=2),
            Column(name="p_t", head="t p", kind="p", digits=6),
        ),
        rows=tuple((*_pair(tested, row), row.p_rank_sum, row.p_signed_rank, row.p_t) for tested, row in rows),
        notes=(
            _DIFFERENCE,
            "Wilcoxon rank-sum, Wilcoxon signed-rank and paired t tests; p-values are raw.",
        ),
        provenance=provenance or {},
    )


# Split-half agreement as a table (Craswell et al., SIGIR 2021, Table 4).


def agreement_matrix(one: Agreement) -> Table:
    """Return the rates of one measure as the paper prints them: a column for each test."""
    shares = (
        ("agree", [row.agree for row in one.rows]),
        ("part. agree", [row.partly for row in one.rows]),
        ("disagree", [row.disagree for row in one.rows]),
        ("perc. signif.", [row.significant for row in one.rows]),
    )
    return Table(
        title=f"Agreement rates: {one.measure} under {one.qrels}",
        columns=(
            Column(name="rate", head=""),
            *(
                Column(
                    name=f"{row.test}_{row.aggregate}",
                    head=f"{row.test}{' (median)' if row.aggregate == 'median' else ''}",
                    kind="percent",
                    digits=1,
                )
                for row in one.rows
            ),
        ),
        rows=tuple((name, *values) for name, values in shares),
        notes=(
            f"{many(one.splits, 'split')} of {many(one.queries, 'query')}, {many(one.pairs, 'pair')} of "
            f"{many(one.runs, 'run')}, level {one.alpha:g}.",
        ),
    )


def agreement_table(agreements: Sequence[Agreement], *, provenance: Mapping[str, str] | None = None) -> Table:
    """Return one row for each test and way to say which run is better."""
    sizes = {
        f"{one.measure} under {one.qrels}: {many(one.splits, 'split')} of {many(one.queries, 'query')}, "
        f"{many(one.pairs, 'pair')} of {many(one.runs, 'run')}, level {one.alpha:g}."
        for one in agreements
    }
    return Table(
        title="Agreement of random halves of the queries",
        columns=(
            Column(name="qrels", priority=0),
            Column(name="measure", priority=0),
            Column(name="test", priority=0),
            Column(name="aggregate", head="better by", priority=0),
            Column(name="agree", kind="percent", digits=1),
            Column(name="partly", kind="percent", digits=1),
            Column(name="disagree", kind="percent", digits=1),
            Column(name="significant", kind="percent", digits=1, priority=2),
            Column(name="equal", kind="percent", digits=1, priority=2),
        ),
        rows=tuple(
            (
                one.qrels,
                one.measure,
                str(row.test),
                row.aggregate,
                row.agree,
                row.partly,
                row.disagree,
                row.significant,
                row.equal,
            )
            for one in agreements
            for row in one.rows
        ),
        notes=(
            *sorted(sizes),
            "Agree: the halves agree which run is better, and whether significantly. Disagree: they disagree "
            "and at least one is significant. Partly: the rest. Significant: in at least one half. Equal: "
            "both find the runs equally good, which counts as agreement.",
        ),
        provenance=provenance or {},
    )


# The audit of a leaderboard as tables: findings, institutions, teams, and dev against eval ranks.


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
        notes=_audit_notes(audit),
        provenance=provenance or {},
    )


def _audit_notes(audit: Audit) -> tuple[str, ...]:
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
            *_audit_notes(audit),
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


# The history of the answers as tables: the versions, what each changed, and the runs that it moved.


def versions_table(rows: Iterable[Mapping[str, Cell]]) -> Table:
    """Return a row per version, from mappings with the columns' names."""
    columns = (
        Column(name="version", kind="integer", priority=0),
        Column(name="made", priority=2),
        Column(name="queries", kind="integer", priority=3),
        Column(name="answers", kind="integer", priority=3),
        Column(name="challenge", kind="integer"),
        Column(name="newcomers", kind="integer"),
        Column(name="changed", kind="integer"),
        Column(name="moved", head="runs moved", kind="integer"),
    )
    return Table(
        title="Versions of the best-known answers",
        columns=columns,
        rows=tuple(tuple(row[column.name] for column in columns) for row in rows),
        notes=("changed: queries whose answers differ from those of the version before.",),
    )


def changes_table(versions: Mapping[int, tuple[Sequence[Change], Sequence[Duel]]]) -> Table:
    """Return a row for each answer that lost its place, or was found later: by version, changes and duels."""
    rows: list[tuple[Cell, ...]] = []
    for version, (changes, duels) in versions.items():
        won: dict[str, list[Duel]] = {}
        for duel in duels:
            if duel.dethroned:
                won.setdefault(duel.query_id, []).append(duel)
        for change in changes:
            rows += [
                (
                    version,
                    change.query_id,
                    duel.incumbent,
                    duel.newcomer,
                    ", ".join(duel.brought_by),
                    duel.votes_for,
                    duel.votes_against,
                )
                for duel in won.get(change.query_id, ())
            ] or [(version, change.query_id, " ".join(change.before), " ".join(change.after), "", None, None)]
    return Table(
        title="Answers that changed",
        columns=(
            Column(name="version", kind="integer", priority=0),
            Column(name="query_id", head="query", priority=0),
            Column(name="before"),
            Column(name="after"),
            Column(name="runs", head="found by", priority=2),
            Column(name="votes_for", head="votes for", kind="number", digits=1),
            Column(name="votes_against", head="against", kind="number", digits=1),
        ),
        rows=tuple(rows),
        notes=("A tie is half a vote for each side.",),
    )


def moves_table(measure: str, versions: Mapping[int, Sequence[RankShift]]) -> Table:
    """Return a row for each run that a version moves on the leaderboard."""
    return Table(
        title=f"Runs that moved, by {measure}",
        columns=(
            Column(name="version", kind="integer", priority=0),
            Column(name="run", priority=0),
            Column(name="from", head="from rank", kind="integer"),
            Column(name="to", head="to rank", kind="integer"),
        ),
        rows=tuple(
            (version, shift.run, shift.reference, shift.other)
            for version, shifts in versions.items()
            for shift in shifts
        ),
    )


# Rank stability as tables (Craswell et al., SIGIR 2021, Tables 1 and 2, Figures 3 and 4).

Named = tuple[str, RankStability]


def top_table(part: str, result: RankStability, *, top: int = 5) -> Table:
    """Return the shares of the first ``top`` ranks of the first ``top`` runs (Tables 1 and 2)."""
    shown = min(top, len(result.runs))
    told = result.share if result.share is not None else np.full((shown, shown), np.nan)
    return Table(
        title=f"Ranks of the first {many(shown, 'run')} under bootstrapping: {label(part, result)}",
        columns=(
            Column(name="rank", kind="integer"),
            Column(name="run", head="leaderboard run"),
            *(
                Column(name=f"share_{rank}", head=str(rank), kind="percent", digits=1)
                for rank in range(1, shown + 1)
            ),
        ),
        rows=tuple(
            (place, run, *map(float, shares[:shown]))
            for place, (run, shares) in enumerate(zip(result.runs[:shown], told[:shown], strict=True), 1)
        ),
        notes=(f"{many(result.trials, 'trial')}; tied runs share their ranks.",),
    )


def rank_table(part: str, result: RankStability, *, top: int = 5) -> Table:
    """Return each run's rank interval, and its expected rank and share of the first ``top`` ranks if told.

    The likeliest rank of a run is bold.
    """
    shown = min(top, len(result.runs)) if result.share is not None else 0
    rows: list[tuple[Cell, ...]] = []
    for place, run in enumerate(result.runs):
        shares: list[float] = [] if result.share is None else result.share[place].tolist()
        likeliest = int(np.argmax(shares)) if shares else None
        rows.append(
            (
                place + 1,
                run,
                float(result.mean[place]),
                int(result.low[place]),
                int(result.high[place]),
                *([] if result.expected is None else [float(result.expected[place])]),
                *(Bold(share) if rank == likeliest else share for rank, share in enumerate(shares[:shown])),
            )
        )
    return Table(
        title=f"The ranks that runs may have: {label(part, result)}",
        columns=(
            Column(name="rank", kind="integer", priority=0),
            Column(name="run", priority=0),
            Column(name="mean", head=result.measure, kind="number", priority=2),
            Column(name="low", head="from", kind="integer"),
            Column(name="high", head="to", kind="integer"),
            *(
                [Column(name="expected", head="expected rank", kind="number", digits=1, priority=2)]
                if result.expected is not None
                else []
            ),
            *(
                Column(name=f"share_{rank}", head=f"at {rank}", kind="percent", digits=1, priority=2 + rank)
                for rank in range(1, shown + 1)
            ),
        ),
        rows=tuple(rows),
        notes=(*_notes([result]),),
    )


def _notes(results: Sequence[RankStability]) -> Iterator[str]:
    """Say what the intervals rest on, and the shares; or why there are none."""
    for interval in dict.fromkeys(result.interval for result in results):
        level = ", ".join(dict.fromkeys(f"{100 * result.confidence:g} %" for result in results))
        if interval == "bootstrap":
            yield f"From and to: the ranks in the middle {level} of the trials, as in the paper."
        else:
            yield (
                f"From and to: the ranks by paired t tests of all pairs with Holm's correction, as `score` "
                f"has them; at {level} all of them hold."
            )
    if trials := [result for result in results if result.trials]:
        drawn = ", ".join(dict.fromkeys(many(result.trials, "sample") for result in trials))
        yield (
            f"Expected rank and shares: {drawn} of the queries with replacement, as in the paper "
            "(Craswell et al., SIGIR 2021); tied runs share their ranks."
        )
    if len(trials) < len(results):
        yield f"Of fewer than {SHARES_FROM} queries no share of a rank is told."


def label(part: str, result: RankStability) -> str:
    """Return the words for a condition: measure, label set and which queries."""
    extra = "" if part == "all" else f", {part} queries"
    return f"{result.measure} under {result.qrels}{extra}, {many(result.queries, 'query')}"


def conditions_table(named: Sequence[Named]) -> Table:
    """Return the rank interval of each run under several conditions, and its expected rank (Figure 4)."""
    runs = list(dict.fromkeys(run for _, result in named for run in result.runs))
    columns = [Column(name="run", priority=0)]
    for number in range(1, len(named) + 1):
        columns += [
            Column(name=f"low_{number}", head=f"({number}) from", kind="integer"),
            Column(name=f"high_{number}", head="to", kind="integer"),
            Column(name=f"expected_{number}", head="expected", kind="number", digits=1, priority=2),
        ]
    rows = []
    for run in runs:
        cells: list[Cell] = [run]
        for _, result in named:
            if run in result.runs:
                place = result.runs.index(run)
                expected = None if result.expected is None else float(result.expected[place])
                cells += [int(result.low[place]), int(result.high[place]), expected]
            else:
                cells += [None, None, None]
        rows.append(tuple(cells))
    return Table(
        title="Ranks side by side",
        columns=tuple(columns),
        rows=tuple(rows),
        notes=(
            *(f"({number}) {label(part, result)}" for number, (part, result) in enumerate(named, 1)),
            *_notes([result for _, result in named]),
        ),
    )


def shares_table(named: Sequence[Named], *, provenance: Mapping[str, str] | None = None) -> Table:
    """Return every run at every rank in long form (Figure 3); once where no share is told."""
    return Table(
        title="The ranks that runs may have",
        columns=(
            Column(name="qrels"),
            Column(name="measure"),
            Column(name="queries"),
            Column(name="run"),
            Column(name="low", head="from", kind="integer"),
            Column(name="high", head="to", kind="integer"),
            Column(name="rank", kind="integer"),
            Column(name="share", kind="percent", digits=1),
        ),
        rows=tuple(
            (result.qrels, result.measure, part, run, int(result.low[place]), int(result.high[place]), *at)
            for part, result in named
            for place, run in enumerate(result.runs)
            for at in _shares(result, place)
        ),
        notes=(*_notes([result for _, result in named]),),
        provenance=provenance or {},
    )


def _shares(result: RankStability, place: int) -> list[tuple[int | None, float | None]]:
    """Return the ranks that a run took, and how often."""
    if result.share is None:
        return [(None, None)]
    return [(rank, share) for rank, share in enumerate(result.share[place].tolist(), 1) if share > 0]


# Workers as tables: who works how, and what stands out.

_COLUMNS = (
    Column(name="worker", priority=0),
    Column(name="judgments", kind="integer"),
    Column(name="compared", kind="integer", priority=7),
    Column(name="agreement", head="agrees", kind="percent", digits=0),
    Column(name="accuracy", kind="percent", digits=0, priority=5),
    Column(name="reliability", head="looks", kind="percent", digits=0, priority=2),
    Column(name="left_when_guessing", head="guesses left", kind="percent", digits=0, priority=6),
    Column(name="left_rate", head="left", kind="percent", digits=0, priority=4),
    Column(name="left_p", head="p", kind="p", priority=4),
    Column(name="longest_run", head="in a row", kind="integer", priority=6),
    Column(name="gold_right", head="gold right", kind="integer", priority=2),
    Column(name="gold_missed", head="missed", kind="integer", priority=2),
    Column(name="repeated", head="seen again", kind="integer", priority=8),
    Column(name="consistent", head="judged the same", kind="integer", priority=7),
    Column(name="seconds", kind="number", digits=1, priority=4),
    Column(name="hurried", kind="integer", priority=3),
    Column(name="hourly", head="an hour", kind="money", priority=3),
    Column(name="held", head="pay held", kind="integer", priority=1),
    Column(name="barred"),
)


def workers_table(rows: Sequence[Mapping[str, Cell]], notes: Sequence[str] = ()) -> Table:
    """Return a row per worker; columns that say nothing about anybody are left out."""
    told = [column for column in _COLUMNS if any(row[column.name] not in (None, "", 0) for row in rows)]
    return Table(
        title="Workers, the least reliable first",
        columns=tuple(told or _COLUMNS[:2]),
        rows=tuple(tuple(row[column.name] for column in told) for row in rows),
        notes=tuple(notes),
    )


def remarks_table(rows: Sequence[Mapping[str, Cell]]) -> Table:
    """Return what workers said of pairs and of whole HITs, a row for each remark."""
    columns = (
        Column(name="worker", priority=0),
        Column(name="query"),
        Column(name="doc_a", head="passage", priority=3),
        Column(name="doc_b", head="against", priority=3),
        Column(name="unable", head="could not judge", priority=2),
        Column(name="comment"),
    )
    told = [column for column in columns if any(row[column.name] for row in rows)]
    return Table(
        title="What workers said",
        columns=tuple(told),
        rows=tuple(tuple(row[column.name] for column in told) for row in rows),
        notes=(
            "could not judge: text (broken, or in another language), topic (not known to the worker), other.",
        ),
    )


def signs_table(signs: Iterable[Sign]) -> Table:
    """Return what stands out, a row for each sign."""
    return Table(
        title="What stands out",
        columns=(
            Column(name="worker", priority=0),
            Column(name="about"),
            Column(name="sign", head="what was seen"),
        ),
        rows=tuple((sign.worker, sign.kind.value, sign.text) for sign in signs),
        notes=("It tells whose work to look at. It is not a reason to refuse pay.",),
    )
