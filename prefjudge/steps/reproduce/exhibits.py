"""Makes the exhibits of the papers: tables and figures, by the names that ``configs/papers`` calls them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import starmap
from operator import itemgetter
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, TypeAlias

from prefjudge.core.judgments import kin_among
from prefjudge.core.pools import Pools, top_pairs
from prefjudge.core.resolving.resolutions import PREFERENCE_NAME
from prefjudge.core.runs import restrict
from prefjudge.errors import InputError
from prefjudge.evaluation.correlation import RankCorrelation
from prefjudge.evaluation.measures.measures import Measure, score_lists, score_matrix
from prefjudge.evaluation.models import Assessor, mix_labels
from prefjudge.evaluation.outcomes import describe_outcomes
from prefjudge.evaluation.simulated import SimulatedPaper, Spread, simulate_paper
from prefjudge.evaluation.stability import SHARES_FROM, RankStability, pooled_documents
from prefjudge.evaluation.winratios import PERFECT, draw_examples, runs_to_show
from prefjudge.findings.boards import ROUNDS, official_scores
from prefjudge.reading.labels import write_judgments
from prefjudge.show import boards, plots, statistics
from prefjudge.show.cells import Column, Table, table
from prefjudge.show.studies import result_lists_table
from prefjudge.steps.agreement import agreement
from prefjudge.steps.audit import AuditResult, audit
from prefjudge.steps.reproduce.material import MEASURES, Material, needed
from prefjudge.steps.reproduce.papers import Exhibit
from prefjudge.steps.winratio import with_texts
from prefjudge.study.store import generator
from prefjudge.words import Rehearsal, many

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Part: TypeAlias = "Table | Callable[[], Figure] | str"
"""What exhibits consist of: tables, figures still to be drawn, and sentences about them."""


# Shallow Pooling for Sparse Labels (2021).


def _categories(of: Material) -> Iterator[Part]:
    yield boards.categories_table(top_pairs(of.heads, of.original, of.run).split, of.called(of.run))


def _shares(of: Material) -> Iterator[Part]:
    found = of.called(of.against)
    yield partial(plots.plot_shares, found)
    yield boards.preferred_table(found)


def _examples(of: Material) -> Iterator[Part]:
    drawn = draw_examples(of.votes, of.heads, of.original, of.run, rng=of.found.rng("examples"))
    if not drawn:
        raise InputError(
            "no pair of the run's top passage and the qrel is decided", "Have them judged first."
        )
    yield boards.examples_table(found := with_texts(drawn, of.found.study))
    yield partial(plots.plot_examples, found)


def _official(of: Material) -> Iterator[Part]:
    made = of.boards
    found = of.called(
        official_scores(needed(of.told.leaderboard, "leaderboard"), made.found, made.by_labels[0], made.all)
    )
    yield boards.official_table(found)
    yield partial(plots.plot_official, found, of.called(of.told.shown))


def _sizes(pools: Pools) -> Iterator[Part]:
    sizes = pools.histogram
    queries, ordered = sum(sizes.values()), [*Counter(sizes).elements()]
    if not queries:
        raise InputError("no query of the qrels is in the runs", "Check that they are of one collection.")
    pairs = sum(size * (size - 1) // 2 for size in ordered)
    yield (
        f"{many(queries, 'query')}; {sizes.get(1, 0):,} have a pool of one. The mean size is "
        f"{fmean(ordered):.2f}, the median {median(ordered):g}. Judging each pair once takes "
        f"{many(pairs, 'comparison')}, which is {paper_price(pairs)} at the paper's rates."
    )
    yield partial(plots.plot_pool_sizes, sizes)
    columns = (Column("integer", name="documents"), Column("integer", name="queries"))
    yield Table(title="Sizes of the pools", columns=columns, rows=tuple(sorted(sizes.items())))


def _win_ratios(of: Material) -> Iterator[Part]:
    found = of.called(of.ratios)
    chosen = runs_to_show(found, of.called(of.shown))
    yield boards.winratio_matrix(found, shown=chosen)
    if len(chosen) < len(found.runs):
        yield boards.winratio_list(found)
    pairs = tuple(pair for pair in found.pairs if {pair.a, pair.b} <= {*chosen})
    yield partial(plots.plot_win_ratios, replace(found, runs=chosen, pairs=pairs))
    for run in found.runs:  # and section 4.2: which beat the perfect ranking?
        if found.wins[run] == len(found.runs) - 1:
            yield f"{run} beats all others."
    if PERFECT in found.runs:
        matrix, perfect = found.matrix(), found.runs.index(PERFECT)
        surely = matrix.significant[perfect] & (matrix.ratio[perfect] > 0.5)
        better = [run for run, sure in zip(found.runs, surely, strict=True) if sure]
        named = f": {', '.join(better)}" if better else ""
        yield f"{many(len(better), 'run')} significantly better than the perfect ranking{named}."


def _pairings(of: Material) -> Iterator[Part]:
    cycles = of.boards.votes.resolutions.counts()["cycle"] if of.boards.votes else None
    yield boards.pairings_table(of.boards.pairings, cycles)


def _two_boards(of: Material) -> Iterator[Part]:
    a, b = (of.called(of.board(name).leaderboard) for name in ("", PREFERENCE_NAME))
    tau = next((one for one in of.common.tau if {*one.qrels} == {a.qrels, b.qrels}), None)
    yield boards.side_by_side_table((a, b))
    if tau:
        yield boards.correlation_table([of.called(tau)])
    yield partial(plots.plot_two_boards, a, b, tau=tau, shown=of.called(of.told.shown))


def _board_in_order(of: Material, qrels: str) -> Iterator[Part]:
    found, order = of.board(qrels), of.called(of.order)
    board, standings = of.called(found.leaderboard), of.called(found.standings)
    rows = tuple(sorted(board.rows, key=lambda row: -1 if row.perfect else order.runs.index(row.run)))
    yield boards.leaderboard_table(replace(board, rows=rows), standings)
    yield partial(plots.plot_leaderboard, board, standings, order=order.runs, order_name=order.name)


def _left_out(of: Material) -> Iterator[Part]:
    rows, votings = of.boards.left_out(pools=of.selected)
    yield boards.left_out_table(of.called(rows), votings)


# What comparisons cost at the paper's rates.

PRICE, PAIRS_PER_HIT = Decimal("2.40"), 10
"""Section 3.1: two dollars, and a fee of 20 %, for a HIT of ten pairs and three test comparisons."""


def hits_of(pairs: int) -> int:
    """Return how many HITs hold this many pairs."""
    return -(-pairs // PAIRS_PER_HIT)


def paper_price(pairs: int) -> str:
    """Return what judging this many pairs once costs."""
    return f"${hits_of(pairs) * PRICE:,.2f}"


# The same with simulated workers: what would this study cost, find and show?

STAMP = "rehearsal: every judgment is simulated, and no person judged anything here"

SIMULATION = Exhibit(
    name="Simulation",
    shows="what this study would cost, find and show",
    reading="Simulated workers judge, once each, the pairs that these experiments ask for on the runs. Their "
    "tables and figures below are of one such study; the ranges here are over many.",
)


def rehearse(top: Material, pooled: Material, files: Mapping[Material, Path]) -> tuple[Table, str]:
    """Simulate the judgments of both experiments, and write those of one study that have a file, into it.

    Returns what many studies find of these experiments, and the representative run.
    """
    heads, run, pools = top.heads, top.run, pooled.selected
    labels = restrict(pooled.original, pools.queries)
    ranks, known = pooled.found.reader.judged_all([pooled_documents(pools), labels])
    original = score_matrix(known, labels, Measure.parse("RR@10")).values.mean(axis=0)
    rng = generator(None, "rehearsal", pooled.told.seed)
    duels, rounds, found = simulate_paper(
        pools, top_pairs(heads, top.original, run), heads, ranks, original, rng=rng
    )
    for one, written in ((pooled, rounds), (top, duels)):
        if one in files:
            every = Rehearsal(simulated=len(written), judgments=len(written))
            write_judgments(files[one], written, comment=str(every))
    return rehearsal_table(found, run, top=top in files, pools=pooled in files), run


def rehearsal_table(found: SimulatedPaper, run: str, *, top: bool, pools: bool) -> Table:
    """Return what such a study costs, finds and shows of one experiment or both."""
    split, sampled = found.split, found.queries
    of_top = (
        (f"1. {run} against the qrels", f"{split.queries:,} labelled queries"),
        ("category A / category B", f"{split.a:,} / {split.b:,}"),
        ("pairs, HITs, cost", _cost(found.duels)),
        ("the qrel preferred in category A", _share(found.qrel_ratio)),
        ("the run's passage preferred in category B", _share(found.rival_ratio)),
        ("studies in which that is significant at 5 %", f"{found.significant:.0%}"),
    )
    of_pools = (
        ("2. pools of a sample", f"{sampled:,} queries, {found.documents / sampled:.2f} passages each"),
        ("pairs, HITs, cost", _cost(found.pairs)),
        ("queries whose preference qrel is truly the best", _share(found.right)),
        ("queries whose best answers form a cycle", _number(found.cycles)),
        ("significant win ratios", _number(found.significant_ratios)),
        ("runs significantly better than the perfect ranking", _number(found.better_than_perfect)),
        ("Kendall's tau, original against preference leaderboard", _spread(found.tau, ".2f")),
    )
    return Table(
        title="What this study would cost, find and show",
        columns=(Column(name="what"), Column(name="value")),
        rows=(*(of_top if top else ()), *(of_pools if pools else ())),
        notes=(
            f"{found.studies:,} simulated studies: the mean, and in brackets the middle 95 % of them. "
            "Workers err on 33 % of random pairs, prefer the qrel in 65.7 % of category A, and the run's "
            "passage in 58.6 % of category B, as in the paper.",
            f"${PRICE} for a HIT of {PAIRS_PER_HIT} pairs, with the fee; work that fails its test "
            "comparisons is also paid, and costs extra.",
        ),
    )


def _cost(pairs: int) -> str:
    return f"{pairs:,} pairs, {hits_of(pairs):,} HITs, {paper_price(pairs)}"


def _spread(spread: Spread, form: str, ends: str = "") -> str:
    low, high = (format(end, ends or form) for end in (spread.low, spread.high))
    return f"{spread.mean:{form}} [{low}, {high}]"


_share, _number = partial(_spread, form=".1%"), partial(_spread, form=".1f", ends=".0f")


# MS MARCO: Benchmarking Ranking Models in the Large-Data Regime (SIGIR 2021).


def _audited(of: Material) -> AuditResult:
    return of.noting(audit(needed(of.told.leaderboard, "leaderboard"), until=of.told.until))


def _progress(of: Material) -> Iterator[Part]:
    yield partial((found := _audited(of)).plot, of.told.highlight)
    yield table(
        "Submissions",
        sorted((one for one in found.submissions if one.eval is not None), key=lambda one: one.date),
        {
            "date": Column(value=lambda one: str(one.date)),
            "name": Column(head="submission"),
            "team": Column(),
            "eval": Column("number", found.measure or "score"),
            "best": Column("flag", "best so far", value=lambda one: one.name in found.audit.records),
        },
    )


def _drawn(of: Material, least: int = 1) -> list[tuple[str, RankStability]]:
    """Return those with as many queries as tell the share of a rank."""
    told = of.called([(one.part, one.stability) for one in of.stable.conditions])
    drawn = [one for one in told if one[1].share is not None]
    if len(drawn) < least:
        raise InputError(
            f"it takes {many(least, 'condition')}, and samples of fewer than {SHARES_FROM} queries tell no "
            "share of a rank",
            "Give more queries; a second --qrels NAME=FILE or held-out queries are a further condition.",
        )
    return drawn


def _all_ranks(of: Material) -> Iterator[Part]:
    part, ranks = _drawn(of)[0]
    yield partial(plots.plot_ranks, ranks)
    yield statistics.shares_table([(part, ranks)])


def _conditions_compared(of: Material) -> Iterator[Part]:
    named = of.called([(one.part, one.stability) for one in of.stable.conditions])
    yield partial(plots.plot_conditions, named, of.called(of.stable.shown))
    yield statistics.conditions_table(named)


# Significant Improvements over the State of the Art? (SIGIR 2021).


_SENTENCES = 12
"""Sentences on outcomes that are shown."""


def _outcomes(of: Material) -> Iterator[Part]:
    rows = of.called(of.outcomes)
    yield statistics.outcomes_table(rows)
    yield from (describe_outcomes(row) for _, row in rows[:_SENTENCES])


# People, models and label sets.


def _assessors(of: Material) -> Iterator[Part]:
    found, first, rows = of.assessors, of.assessors.all[0], list[dict[str, object]]()
    for number, (one, tau) in enumerate(zip(found.all, of.taus, strict=True)):  # the first: two more rounds
        gate, beside = found.gate(number), [found.beside(number)] if number else of.repeated
        pairs, agree, queries, shared = (
            fmean(getattr(two, name) for two in beside) for name in ("pairs", "agree", "queries", "shared")
        )
        row: dict[str, object] = {"assessor": one.name if number else f"{first.name} again"}
        row |= {"kind": one.kind, "votes": one.votes and len(one.votes), "answered": len(found.best[number])}
        row |= {"tau": tau.tau if tau and number else None, "votings": tau and tau.two_votings}
        row |= {"tau_queries": tau and tau.queries, "pairs": round(pairs), "queries": round(queries)}
        row |= {"alike": agree / pairs if pairs else None, "same": shared / queries if queries else None}
        rows.append(row | {"own_kind": _own_kind(one, tau, of), "gate": gate and gate.state})
    columns = {
        "assessor": Column(priority=0),
        "kind": Column(priority=3),
        "votes": Column("integer", priority=4),
        "answered": Column("integer", priority=4),
        "tau": Column("number", "τ", digits=3),
        "tau_queries": Column("integer", "on queries", priority=4),
        **boards.two_votings_columns(itemgetter("votings")),
        "pairs": Column("integer", priority=2),
        "alike": Column("percent", digits=1),
        "queries": Column("integer", priority=3),
        "same": Column("percent", "same best", digits=1),
        "own_kind": Column(head="its own kind", priority=4),
        "gate": Column(priority=3),
    }
    counts = sorted({str(tau.queries) for tau in of.taus[1:] if tau})
    notes = (
        f"Each beside {first.name}; {first.name} again: two more rounds of such votes, drawn {ROUNDS} times.",
        f"τ: between the boards by RR@10 over the queries of both, {' or '.join(counts) or 'none'}. Alike: "
        "of the pairs that both decide, by most votes or by grades.",
        "Same best: of the answers that either finds best, the share that both do, a mean over queries. "
        f"Whoever finds all of them best has {found.by_chance:.1%}. Of label sets only passages count that "
        f"{first.name} compared.",
        *boards.votings_notes(tau.two_votings for tau in of.taus if tau),
        "Its own kind: runs of a model's maker, and how many places each rises on its board. Gate: whether a "
        "model may stand in for a person, as `judge --worth` tests it.",
    )
    yield table(f"Who judges as {first.name} judge", rows, columns, notes=notes)


def _own_kind(one: Assessor, tau: RankCorrelation | None, of: Material) -> str:
    """Say how far runs of a model's maker rise on its board, in places; nothing of the first one."""
    if one.kind != "model" or tau is None or one is of.assessors.all[0]:
        return ""
    kin = kin_among(one.name, [shift.run for shift in tau.shifts])
    risen = [f"{of.called(shift.run)} {shift.shift:+d}" for shift in tau.shifts if shift.run in kin]
    return ", ".join(risen) or "no run"


def _all_boards(of: Material) -> Iterator[Part]:
    alike = len({frozenset(one.scores.queries) for one in of.assessed}) == 1
    found = [of.called(one.leaderboard) for one in of.assessed]
    yield boards.side_by_side_table(found, same_queries=alike)


_PARTINGS = 50
"""Queries that are shown."""


def _partings(of: Material) -> Iterator[Part]:
    found, first = of.assessors.partings(), of.assessors.all[0].name
    shown = boards.examples_table(with_texts(found[:_PARTINGS], of.found.study), parted=True)
    counts = Counter(one.category for one in found)
    told = ", ".join(f"{many(count, 'query')} with {name}" for name, count in counts.items()) or "none"
    note = (
        f"Queries without a best answer in common with {first}, whose best comes first, and whose votes are "
        f"told: {told}. Where they say most is on top, {_PARTINGS} at most; of several best answers one."
    )
    yield replace(shown, title=f"Where others part from {first}", notes=(note,))


def _mixed(of: Material) -> Iterator[Part]:
    first, *others = zip(of.assessors.all, (board.scores for board in of.assessed), strict=True)
    rows = [
        (one, mixed)
        for one, scores in others
        for mixed in mix_labels(first[1], scores, rng=of.found.rng("mixed"))
    ]
    if not rows:
        what = "it takes four queries with best answers of both, and two runs whose scores differ"
        raise InputError(what, "Have more judged.")
    columns = {
        "assessor": Column(priority=0, value=lambda one, mixed: one.name),
        "labelled": Column("integer", f"queries by {first[0].name}"),
        "queries": Column("integer", "of"),
        "alone": Column("number", "τ of these alone", digits=2),
        "mixed": Column("number", "τ with the assessor on the rest", digits=2),
        "draws": Column("integer", priority=4),
    }
    notes = (
        f"τ with the board of all of {first[0].name}'s labels by RR@10, a mean over random choices of the "
        "queries that they label, without those of which a board ties all runs. Where the second is smaller, "
        "the assessor's labels cost more than they bring.",
    )
    yield table("What mixed labels cost", rows, columns, notes=notes)


MAKERS: Mapping[str, Callable[[Material], Iterable[Part]]] = {
    "categories": _categories,
    "preferred": lambda of: [boards.preferred_table(of.called(of.against))],
    "examples": _examples,
    "shares": _shares,
    "official": lambda of: [*_official(of)][:1],
    "pool-sizes": lambda of: _sizes(of.pools),
    "selected-sizes": lambda of: _sizes(of.selected),
    "official-against-sample": _official,
    "win-ratios": _win_ratios,
    "pair-agreement": lambda of: [boards.pair_agreement_table(of.called(of.boards.agreement))],
    "pairings": _pairings,
    "two-boards": _two_boards,
    "original-board": lambda of: _board_in_order(of, ""),
    "preference-board": lambda of: _board_in_order(of, PREFERENCE_NAME),
    "left-out": _left_out,
    "progress": _progress,
    "naive": lambda of: [statistics.naive_table(of.called(of.outcomes))],
    "outcomes": _outcomes,
    "arrivals": lambda of: [statistics.outcomes_table(of.called(of.arrivals), arrivals=True)],
    "top-ranks": lambda of: [statistics.top_table(*_drawn(of)[0])],
    "top-ranks-of-others": lambda of: starmap(statistics.top_table, _drawn(of, 2)[1:]),
    "all-ranks": _all_ranks,
    "conditions-compared": _conditions_compared,
    "institutions": lambda of: [statistics.institutions_table(_audited(of).audit)],
    "result-lists": lambda of: [result_lists_table(score_lists("RR@10"))],
    "agreement": lambda of: map(
        statistics.agreement_matrix, of.asked(agreement, measure=MEASURES).agreements
    ),
    "assessors": _assessors,
    "all-boards": _all_boards,
    "partings": _partings,
    "mixed": _mixed,
}
"""What makes an exhibit, by the name that its paper's description gives it."""

OF_ALL = frozenset({"assessors", "all-boards", "partings", "mixed"})
"""Those that are made of all experiments."""
