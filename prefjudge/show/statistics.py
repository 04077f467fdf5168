"""The tables of statistics: tests, agreement, stability, audits, workers and history."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.planning.rounds import Duel
from prefjudge.core.resolving.resolutions import Change
from prefjudge.core.runs import Scores
from prefjudge.core.workers import Sign, SuspectedPerson
from prefjudge.evaluation.agreement import Agreement
from prefjudge.evaluation.correlation import RankShift
from prefjudge.evaluation.measures.measures import in_logarithms
from prefjudge.evaluation.outcomes import Harm, Outcomes
from prefjudge.evaluation.stability import SHARES_FROM, RankStability
from prefjudge.evaluation.submissions import Audit, Rule, short_name
from prefjudge.evaluation.tests import Significance, SignificanceTest
from prefjudge.show.cells import Bold, Cell, Column, Table, table
from prefjudge.words import many

_DIFFERING = 15
"""Queries with a difference, fewer than which tell little of the mean difference."""


def pairs_table(results: Sequence[Significance]) -> Table:
    """Return one row for each pair of runs; the adjusted p-value is bold where it is significant."""

    def run(name: str) -> Callable[..., Cell]:
        return lambda result, pair: result.runs[getattr(result, name)[pair]]

    def p_adjusted(result: Significance, pair: int) -> Cell:
        p = float(result.p_adjusted[pair])
        return Bold(p) if result.significant[pair] else p

    return table(
        _title(results),
        [(result, pair) for result in results for pair in range(len(result))],
        {
            "qrels": Column(priority=6),
            "measure": Column(priority=6),
            "a": Column(priority=0, value=run("a")),
            "b": Column(priority=0, value=run("b")),
            "difference": Column("number", "b - a", value=_item("difference")),
            "low": Column("number", "from", priority=2, value=_item("low")),
            "high": Column("number", "to", priority=2, value=_item("high")),
            "effect": Column("number", digits=2, priority=5, value=_item("effect")),
            "wins_a": Column("integer", "a wins", priority=4, value=_item("wins_a")),
            "wins_b": Column("integer", "b wins", priority=4, value=_item("wins_b")),
            "p": Column("p", priority=3, value=_item("p")),
            "p_adjusted": Column("p", "adjusted p", value=p_adjusted),
            "significant": Column("flag", priority=2, value=_item("significant")),
        },
        notes=_comparison_notes(results),
    )


def _item(name: str) -> Callable[..., Cell]:
    """Return what takes a pair's value out of an array of a result."""
    return lambda result, pair: getattr(result, name)[pair].item()


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


_PAIR = {
    "qrels": Column(priority=7),
    "measure": Column(priority=7),
    "a": Column(priority=0, value=lambda _, row: row.a),
    "b": Column(priority=0, value=lambda _, row: row.b),
    "difference": Column("number", "Δ", value=lambda _, row: row.difference),
}
_DIFFERENCE = "Δ: b's score minus a's."


def outcomes_table(
    rows: Sequence[tuple[Significance | Scores, Outcomes]], *, arrivals: bool = False
) -> Table:
    """Return the outcome breakdown, one row a contender, with every p-value raw (Table 2 of the paper)."""

    def share(name: str) -> Callable[..., Cell]:
        return lambda _tested, row: getattr(row, name) / row.queries

    def gain(name: str) -> Callable[..., Cell]:
        return lambda _tested, row: Bold(p) if (p := getattr(row, name)) <= row.alpha else p

    def verdict(name: str) -> Callable[..., Cell]:
        def told(_tested: object, row: Outcomes) -> Cell:
            found = getattr(row, name)
            return found.value if found is Harm.NOT_TOLD_APART else Bold(found.value)

        return told

    gains = f"{_level(rows, 'alpha')} (bold), the level divided among the comparisons"
    if arrivals:
        gains = " at p ≤ its level (bold), which the order of arrival fixes: a is the state of the art then"
    return table(
        "Outcomes: who answers more queries, and who ranks the answers better",
        rows,
        {
            **_PAIR,
            "neither": Column("percent", digits=0, priority=4, value=share("neither")),
            "only_a": Column("percent", "only a", digits=0, priority=2, value=share("only_a")),
            "only_b": Column("percent", "only b", digits=0, priority=2, value=share("only_b")),
            "p_binomial": Column("p", "p", priority=2, value=gain("p_binomial")),
            "both": Column("percent", digits=0, priority=4, value=share("both")),
            "esl_a": Column("number", "ESL a", digits=2, priority=3),
            "esl_b": Column("number", "ESL b", digits=2, priority=3),
            "p_esl_signed_rank": Column("p", "WSR p", priority=6, value=gain("p_esl_signed_rank")),
            "p_esl_t": Column("p", "t p", priority=3, value=gain("p_esl_t")),
            "rr_a": Column("number", "RR a", priority=5),
            "rr_b": Column("number", "RR b", priority=5),
            "p_rr_signed_rank": Column("p", "WSR p", priority=6),
            "p_rr_t": Column("p", "t p", priority=6),
            **({"alpha": Column("p", "level", priority=1)} if arrivals else {}),
            "verdict": Column(head="verdict (t)", value=verdict("verdict")),
            "verdict_signed_rank": Column(
                head="verdict (WSR)", priority=4, value=verdict("verdict_signed_rank")
            ),
        },
        notes=(
            "Neither, only one, or both answer within the cut-off; ESL (the position of the answer) and RR "
            "are means over the queries that both answer.",
            _DIFFERENCE,
            f"p-values are raw. A gain counts{gains}; a harm counts{_level(rows, 'harm_alpha')}. A verdict "
            "takes the binomial test of the answers and a test of ESL: t, or signed-rank.",
            *_split([row for _, row in rows]),
        ),
    )


def _level(rows: Sequence[tuple[Significance | Scores, Outcomes]], name: str) -> str:
    levels = sorted({float(getattr(row, name)) for _, row in rows})
    return f" at p ≤ {' or '.join(f'{level:.2g}' for level in levels)}" if levels else ""


def _split(rows: Sequence[Outcomes]) -> tuple[str, ...]:
    split = [f"{row.a} and {row.b}" for row in rows if row.verdict is not row.verdict_signed_rank]
    if not split:
        return ()
    shown = ", ".join(split[:5]) + (" …" if len(split) > 5 else "")
    return (f"The two verdicts differ for {many(len(split), 'pair')}: {shown}.",)


def naive_table(rows: Sequence[tuple[Significance | Scores, Outcomes]]) -> Table:
    """Return the tests of reciprocal ranks over all queries, raw p-values (Table 1 of the paper)."""
    return table(
        "Reciprocal ranks over all queries",
        rows,
        {
            **_PAIR,
            "p_rank_sum": Column("p", "WRS p", digits=6, priority=2),
            "p_signed_rank": Column("p", "WSR p", digits=6, priority=2),
            "p_t": Column("p", "t p", digits=6),
        },
        notes=(_DIFFERENCE, "Wilcoxon rank-sum, Wilcoxon signed-rank and paired t tests; p-values are raw."),
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


def agreement_table(agreements: Sequence[Agreement]) -> Table:
    """Return one row for each test and way to say which run is better."""
    sizes = {
        f"{one.measure} under {one.qrels}: {many(one.splits, 'split')} of {many(one.queries, 'query')}, "
        f"{many(one.pairs, 'pair')} of {many(one.runs, 'run')}, level {one.alpha:g}."
        for one in agreements
    }
    return table(
        "Agreement of random halves of the queries",
        [(one, row) for one in agreements for row in one.rows],
        {
            "qrels": Column(priority=0),
            "measure": Column(priority=0),
            "test": Column(priority=0, value=lambda _, row: str(row.test)),
            "aggregate": Column(head="better by", priority=0),
            "agree": Column("percent", digits=1),
            "partly": Column("percent", digits=1),
            "disagree": Column("percent", digits=1),
            "significant": Column("percent", digits=1, priority=2),
            "equal": Column("percent", digits=1, priority=2),
        },
        notes=(
            *sorted(sizes),
            "Agree: the halves agree which run is better, and whether significantly. Disagree: they disagree "
            "and at least one is significant. Partly: the rest. Significant: in at least one half. Equal: "
            "both find the runs equally good, which counts as agreement.",
        ),
    )


# The audit of a leaderboard as tables: findings, institutions, teams, and dev against eval ranks.


def findings_table(audit: Audit) -> Table:
    """Return one row for each finding."""
    return table(
        "Findings",
        audit.findings,
        {
            "rule": Column(priority=0, value=lambda found: str(found.rule)),
            "submissions": Column("integer", value=lambda found: len(found.submissions)),
            "team": Column(priority=2, value=lambda found: found.team or None),
            "ids": Column(priority=2, value=lambda found: ", ".join(found.submissions)),
            "value": Column("number", digits=2),
            "words": Column(head="what was found"),
        },
        notes=_audit_notes(audit),
    )


def _audit_notes(audit: Audit) -> tuple[str, ...]:
    rules = audit.rules
    since = f" since {rules.since}" if rules.since else ""
    return (
        f"Rules of the paper: at most {many(rules.limit, 'submission')} of a team in any "
        f"{many(rules.days, 'day')}{since}, and one of the runs that are {rules.alike:.0%} alike.",
        "A finding is a reason to ask, not a verdict: teams go by their names as printed, or by --aliases.",
    )


def summary_table(audit: Audit) -> Table:
    """Return how many findings each rule has."""
    tau = "not defined" if isnan(audit.tau) else f"{audit.tau:.2f}"
    counted = Counter(found.rule for found in audit.findings)
    return table(
        "Findings by rule",
        [*Rule],
        {
            "rule": Column(priority=0, value=str),
            "findings": Column("integer", value=lambda rule: counted[rule]),
        },
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
    return table(
        "Teams with most submissions",
        audit.teams[:top],
        {
            "team": Column(priority=0, value=lambda team: short_name(team.name)),
            "submissions": Column("integer", value=lambda team: len(team.submissions)),
            "names": Column("integer", priority=2, value=lambda team: len(team.names)),
        },
    )


def institutions_table(audit: Audit, *, top: int = 15) -> Table:
    """Return the institutions with most submissions (Craswell et al., SIGIR 2021, section 3.3)."""
    latest = [*reversed(audit.records)]
    return table(
        "Institutions with most submissions",
        audit.institutions[:top],
        {
            "institution": Column(priority=0, value=lambda one: short_name(one.name)),
            "submissions": Column("integer", value=lambda one: len(one.submissions)),
            "records": Column(
                "integer", priority=2, value=lambda one: len({*latest}.intersection(one.submissions))
            ),
            "last_record": Column(
                head="latest record",
                priority=3,
                value=lambda one: next((name for name in latest if name in one.submissions), None),
            ),
            "names": Column(priority=4, value=lambda one: "; ".join(map(short_name, one.names))),
        },
        notes=(
            f"{many(len(audit.institutions), 'institution')}; a joint submission counts at each, and "
            f"{many(len(audit.anonymous), 'submission is', 'submissions are')} anonymous. "
            "A record beat all submissions before it.",
        ),
    )


def shifts_table(audit: Audit, *, top: int = 10) -> Table:
    """Return the submissions whose rank changes most from the dev to the eval queries."""
    return table(
        "Largest shifts from dev to eval rank",
        sorted(audit.standings, key=lambda row: (-abs(row.shift), row.eval_rank))[:top],
        {
            "submission": Column(priority=0),
            "dev": Column("number", digits=3, priority=2),
            "eval": Column("number", digits=3, priority=2),
            "dev_rank": Column("integer", "dev rank"),
            "eval_rank": Column("integer", "eval rank"),
            "shift": Column("integer", "rises"),
        },
    )


# The history of the answers as tables: the versions, what each changed, and the runs that it moved.


def versions_table(rows: Iterable[Mapping[str, Cell]]) -> Table:
    """Return a row per version, from mappings with the columns' names."""
    columns = {
        "version": Column("integer", priority=0),
        "made": Column(priority=2),
        "queries": Column("integer", priority=3),
        "answers": Column("integer", priority=3),
        "challenge": Column("integer"),
        "newcomers": Column("integer"),
        "changed": Column("integer"),
        "moved": Column("integer", "runs moved"),
    }
    note = "changed: queries whose answers differ from those of the version before."
    return table("Versions of the best-known answers", rows, columns, notes=(note,))


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
    columns = {
        "version": Column("integer", priority=0, value=lambda version, shift: version),
        "run": Column(priority=0),
        "from": Column("integer", "from rank", value=lambda version, shift: shift.reference),
        "to": Column("integer", "to rank", value=lambda version, shift: shift.other),
    }
    moved = [(version, shift) for version, shifts in versions.items() for shift in shifts]
    return table(f"Runs that moved, by {measure}", moved, columns)


# Rank stability as tables (Craswell et al., SIGIR 2021, Tables 1 and 2, Figures 3 and 4).

Named = tuple[str, RankStability]


def top_table(part: str, result: RankStability, *, top: int = 5) -> Table:
    """Return the shares of the first ``top`` ranks of the first ``top`` runs (Tables 1 and 2)."""
    shown = min(top, len(result.runs))
    return table(
        f"Ranks of the first {many(shown, 'run')} under bootstrapping: {label(part, result)}",
        range(shown),
        {
            "rank": Column("integer", value=lambda place: place + 1),
            "run": Column(head="leaderboard run", value=lambda place: result.runs[place]),
            **{
                f"share_{rank}": Column("percent", str(rank), digits=1, value=_share_at(result, rank))
                for rank in range(1, shown + 1)
            },
        },
        notes=(f"{many(result.trials, 'trial')}; tied runs share their ranks.",),
    )


def _share_at(result: RankStability, rank: int, *, likeliest: bool = False) -> Callable[[int], Cell]:
    """Return what gives the share of a rank for the run at a place; the ``likeliest`` one is bold."""

    def share(place: int) -> Cell:
        if result.share is None:
            return nan
        found = float(result.share[place, rank - 1])
        return Bold(found) if likeliest and int(np.argmax(result.share[place])) == rank - 1 else found

    return share


def rank_table(part: str, result: RankStability, *, top: int = 5) -> Table:
    """Return each run's rank interval, and its expected rank and share of the first ``top`` ranks if told."""
    # The likeliest rank of a run is bold.
    shown, expected = (0 if result.share is None else min(top, len(result.runs))), result.expected

    def at(values: NDArray[Any] | None) -> Callable[[int], Cell]:
        return lambda place: None if values is None else values[place].item()

    return table(
        f"The ranks that runs may have: {label(part, result)}",
        range(len(result.runs)),
        {
            "rank": Column("integer", priority=0, value=lambda place: place + 1),
            "run": Column(priority=0, value=lambda place: result.runs[place]),
            "mean": Column("number", result.measure, priority=2, value=at(result.mean)),
            "low": Column("integer", "from", value=at(result.low)),
            "high": Column("integer", "to", value=at(result.high)),
            "expected": Column("number", "expected rank", digits=1, priority=2, value=at(expected))
            if expected is not None
            else None,
            **{
                f"share_{rank}": Column(
                    "percent",
                    f"at {rank}",
                    digits=1,
                    priority=2 + rank,
                    value=_share_at(result, rank, likeliest=True),
                )
                for rank in range(1, shown + 1)
            },
        },
        notes=_notes([result]),
    )


def _notes(results: Sequence[RankStability]) -> Iterator[str]:
    """Say what the intervals rest on, and the shares; or why there are none."""
    level = ", ".join(dict.fromkeys(f"{100 * result.confidence:g} %" for result in results))
    yield (
        "From and to: the ranks by paired t tests of all pairs with Holm's correction, as `score` has them; "
        f"at {level} all of them hold."
    )
    if trials := [result for result in results if result.trials]:
        drawn = ", ".join(dict.fromkeys(many(result.trials, "sample") for result in trials))
        yield (
            f"Expected rank and shares: {drawn} of the queries with replacement, as in the paper "
            "(Craswell et al., SIGIR 2021); tied runs share their ranks."
        )
    if len(trials) < len(results):
        yield f"With fewer than {SHARES_FROM} queries, no shares of ranks are given."


def label(part: str, result: RankStability) -> str:
    """Return the words for a condition: measure, label set and which queries."""
    extra = "" if part == "all" else f", {part} queries"
    return f"{result.measure} under {result.qrels}{extra}, {many(result.queries, 'query')}"


def conditions_table(named: Sequence[Named]) -> Table:
    """Return the rank interval of each run under several conditions, and its expected rank (Figure 4)."""

    def at(result: RankStability, name: str) -> Callable[[str], Cell]:
        values, place = getattr(result, name), {run: place for place, run in enumerate(result.runs)}
        return lambda run: values[place[run]].item() if run in place and values is not None else None

    columns = {"run": Column(priority=0, value=str)}
    for number, (_, result) in enumerate(named, 1):
        columns |= {
            f"low_{number}": Column("integer", f"({number}) from", value=at(result, "low")),
            f"high_{number}": Column("integer", "to", value=at(result, "high")),
            f"expected_{number}": Column(
                "number", "expected", digits=1, priority=2, value=at(result, "expected")
            ),
        }
    return table(
        "Ranks side by side",
        dict.fromkeys(run for _, result in named for run in result.runs),
        columns,
        notes=(
            *(f"({number}) {label(part, result)}" for number, (part, result) in enumerate(named, 1)),
            *_notes([result for _, result in named]),
        ),
    )


def shares_table(named: Sequence[Named]) -> Table:
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
    )


def _shares(result: RankStability, place: int) -> list[tuple[int | None, float | None]]:
    """Return the ranks that a run took, and how often."""
    if result.share is None:
        return [(None, None)]
    return [(rank, share) for rank, share in enumerate(result.share[place].tolist(), 1) if share > 0]


# Workers as tables: who works how, and what stands out.

_WORKERS = {
    "worker": Column(priority=0),
    "judgments": Column("integer"),
    "compared": Column("integer", priority=7),
    "agreement": Column("percent", "agrees", digits=0),
    "reliability": Column("percent", "counts", digits=0, priority=2),
    "left_rate": Column("percent", "left", digits=0, priority=4),
    "left_p": Column("p", "p", priority=4),
    "gold_right": Column("integer", "gold right", priority=2),
    "gold_missed": Column("integer", "missed", priority=2),
    "repeated": Column("integer", "seen again", priority=8),
    "consistent": Column("integer", "judged the same", priority=7),
    "seconds": Column("number", digits=1, priority=4),
    "hurried": Column("integer", priority=3),
    "hourly": Column("money", "an hour", priority=3),
    "held": Column("integer", "pay held", priority=1),
    "barred": Column(),
}


def workers_table(rows: Sequence[Mapping[str, Cell]], notes: Sequence[str] = ()) -> Table:
    """Return a row per worker; columns that say nothing about anybody are left out."""
    told = {
        name: one for name, one in _WORKERS.items() if any(row[name] not in (None, "", 0) for row in rows)
    }
    told = told or dict(list(_WORKERS.items())[:2])
    return table("Workers, the least reliable first", rows, told, notes=notes)


def remarks_table(rows: Sequence[Mapping[str, Cell]]) -> Table:
    """Return what workers said of pairs and of whole HITs, a row for each remark."""
    columns = {
        "worker": Column(priority=0),
        "query": Column(),
        "doc_a": Column(head="passage", priority=3),
        "doc_b": Column(head="against", priority=3),
        "others": Column(head="and", priority=3),
        "unable": Column(head="could not judge", priority=2),
        "comment": Column(),
    }
    told = {name: column for name, column in columns.items() if any(row[name] for row in rows)}
    note = "could not judge: text (broken, or in another language), topic (not known to the worker), other."
    return table("What workers said", rows, told, notes=(note,))


def persons_table(persons: Iterable[SuspectedPerson]) -> Table:
    """Return the accounts that may be one person's, a row for each group."""
    return table(
        "Perhaps one person each",
        persons,
        {
            "workers": Column(priority=0, value=lambda one: ", ".join(one.workers)),
            "seen": Column(head="what was seen", value=lambda one: one.text),
        },
        notes=(
            "Two who take turns at one computer look so, too. To hold all: --hold WORKER for each of them.",
        ),
    )


def signs_table(signs: Iterable[Sign]) -> Table:
    """Return what stands out, a row for each sign."""
    return table(
        "What stands out",
        signs,
        {
            "worker": Column(priority=0),
            "about": Column(value=lambda sign: sign.kind.value),
            "sign": Column(head="what was seen", value=lambda sign: sign.text),
        },
        notes=("This shows whose work to look at. It is no reason to refuse pay.",),
    )
