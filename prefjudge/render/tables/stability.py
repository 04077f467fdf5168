"""Rank stability as tables (Craswell et al., SIGIR 2021, Tables 1 and 2, Figures 3 and 4)."""

from collections.abc import Mapping, Sequence

from prefjudge.counts import many
from prefjudge.evaluation.leaderboards.correlation import NoiseCeiling
from prefjudge.evaluation.leaderboards.stability import RankStability
from prefjudge.render.text.tables import Bold, Cell, Column, Table

Named = tuple[str, RankStability]


def top_table(part: str, result: RankStability, *, top: int = 5) -> Table:
    """Return the shares of the first ``top`` ranks of the first ``top`` runs (Tables 1 and 2)."""
    shown = min(top, len(result.runs))
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
            for place, (run, shares) in enumerate(
                zip(result.runs[:shown], result.share[:shown], strict=True), 1
            )
        ),
        notes=(f"{many(result.trials, 'trial')}; tied runs share their ranks.",),
    )


def rank_table(part: str, result: RankStability, *, top: int = 5) -> Table:
    """Return each run's expected rank and interval, and its share of the first ``top`` ranks.

    The likeliest rank of a run is bold.
    """
    shown = min(top, len(result.runs))
    rows: list[tuple[Cell, ...]] = []
    for place, run in enumerate(result.runs):
        likeliest = int(result.share[place].argmax())
        shares = [float(share) for share in result.share[place, :shown]]
        rows.append(
            (
                place + 1,
                run,
                float(result.mean[place]),
                float(result.expected[place]),
                int(result.low[place]),
                int(result.high[place]),
                *(Bold(share) if rank == likeliest else share for rank, share in enumerate(shares)),
            )
        )
    return Table(
        title=f"Ranks under bootstrapping: {label(part, result)}",
        columns=(
            Column(name="rank", kind="integer", priority=0),
            Column(name="run", priority=0),
            Column(name="mean", head=result.measure, kind="number", priority=2),
            Column(name="expected", head="expected rank", kind="number", digits=1),
            Column(name="low", head="from", kind="integer"),
            Column(name="high", head="to", kind="integer"),
            *(
                Column(name=f"share_{rank}", head=f"at {rank}", kind="percent", digits=1, priority=2 + rank)
                for rank in range(1, shown + 1)
            ),
        ),
        rows=tuple(rows),
        notes=(
            f"{_trials(result)}; from and to: the rank in the middle {100 * result.confidence:g} % of them. "
            "Tied runs share their ranks.",
        ),
    )


def _trials(result: RankStability) -> str:
    if result.votes:
        return (
            f"{many(result.trials, 'set of votes', 'sets of votes')} like the one cast, "
            f"on the same {many(result.queries, 'query')}"
        )
    return f"{many(result.trials, 'sample')} of {many(result.queries, 'query')} with replacement"


def label(part: str, result: RankStability) -> str:
    """Return the words for a condition: measure, label set and which queries."""
    extra = {"all": "", "votes": ", other votes"}.get(part, f", {part} queries")
    return f"{result.measure} under {result.qrels}{extra}, {many(result.queries, 'query')}"


def conditions_table(named: Sequence[Named]) -> Table:
    """Return the expected rank and interval of each run under several conditions (Figure 4)."""
    runs = list(dict.fromkeys(run for _, result in named for run in result.runs))
    columns = [Column(name="run", priority=0)]
    for number in range(1, len(named) + 1):
        columns += [
            Column(name=f"expected_{number}", head=f"({number})", kind="number", digits=1),
            Column(name=f"low_{number}", head="from", kind="integer", priority=2),
            Column(name=f"high_{number}", head="to", kind="integer", priority=2),
        ]
    rows = []
    for run in runs:
        cells: list[Cell] = [run]
        for _, result in named:
            if run in result.runs:
                place = result.runs.index(run)
                cells += [float(result.expected[place]), int(result.low[place]), int(result.high[place])]
            else:
                cells += [None, None, None]
        rows.append(tuple(cells))
    return Table(
        title="Expected ranks side by side",
        columns=tuple(columns),
        rows=tuple(rows),
        notes=tuple(f"({number}) {label(part, result)}" for number, (part, result) in enumerate(named, 1)),
    )


def shares_table(named: Sequence[Named], *, provenance: Mapping[str, str] | None = None) -> Table:
    """Return the share of trials of every run at every rank in long form (Figure 3)."""
    return Table(
        title="Ranks under bootstrapping",
        columns=(
            Column(name="qrels"),
            Column(name="measure"),
            Column(name="queries"),
            Column(name="run"),
            Column(name="rank", kind="integer"),
            Column(name="share", kind="percent", digits=1),
        ),
        rows=tuple(
            (result.qrels, result.measure, part, run, rank + 1, float(share))
            for part, result in named
            for run, shares in zip(result.runs, result.share, strict=True)
            for rank, share in enumerate(shares)
            if share > 0
        ),
        provenance=provenance or {},
    )


def describe_ceiling(ceiling: NoiseCeiling, source: str) -> str:
    """Return the noise ceiling as a sentence."""
    if not ceiling.pairs:
        return f"The noise ceiling is unknown: no two leaderboards of {source} order any runs."
    return (
        f"Noise ceiling: leaderboards from {source} agree with each other at τ = {ceiling.value:.2f} "
        f"({_spread(ceiling)}). Another leaderboard that agrees so well with one of them agrees as well as "
        "a second round of judging would." + "".join(f" {words}" for words in ceiling.doubts)
    )


def _spread(ceiling: NoiseCeiling) -> str:
    if ceiling.pairs == 1:
        return "one pair"
    return f"{ceiling.low:.2f} to {ceiling.high:.2f} over {many(ceiling.pairs, 'pair')}"
