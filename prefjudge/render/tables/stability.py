"""Rank stability as tables (Craswell et al., SIGIR 2021, Tables 1 and 2, Figures 3 and 4)."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from prefjudge.counts import many
from prefjudge.evaluation.leaderboards.stability import SHARES_FROM, RankStability
from prefjudge.render.text.tables import Bold, Cell, Column, Table

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
