"""Makes the exhibits of the papers: tables and figures, by the names that ``configs/papers`` calls them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from prefjudge.core.hits import estimate
from prefjudge.core.pools import Pools, chosen_qrels, top_pairs
from prefjudge.core.runs import restrict
from prefjudge.evaluation.measures.measures import Measure, score_lists, score_matrix
from prefjudge.evaluation.outcomes import Outcomes
from prefjudge.evaluation.simulated import SimulatedPaper, Spread, simulate_paper
from prefjudge.evaluation.stability import SHARES_FROM, RankStability, in_the_middle, pooled_documents
from prefjudge.evaluation.submissions import OfficialBoard
from prefjudge.evaluation.tests import Significance
from prefjudge.evaluation.winratios import PERFECT, TopAgainstQrel, WinRatios
from prefjudge.reading.given import expand
from prefjudge.reading.labels import write_judgments
from prefjudge.reading.opened import tag_of
from prefjudge.show.boards import (
    categories_table,
    correlation_table,
    examples_table,
    leaderboard_table,
    left_out_table,
    official_table,
    pair_agreement_table,
    pairings_table,
    preferred_table,
    winratio_matrix,
)
from prefjudge.show.plots import (
    plot_conditions,
    plot_examples,
    plot_leaderboard,
    plot_official,
    plot_pool_sizes,
    plot_progress,
    plot_ranks,
    plot_shares,
    plot_two_boards,
    plot_win_ratios,
)
from prefjudge.show.statistics import (
    agreement_matrix,
    conditions_table,
    institutions_table,
    naive_table,
    outcomes_table,
    shares_table,
    top_table,
)
from prefjudge.show.studies import result_lists_table
from prefjudge.show.tables import Column, Table
from prefjudge.steps.reproduce.material import Material
from prefjudge.steps.reproduce.papers import CannotMakeError, Exhibit
from prefjudge.study.store import generator
from prefjudge.words import Rehearsal, many

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What an exhibit consists of: tables, figures still to be drawn, and sentences about them."""

    tables: tuple[Table, ...] = ()
    figures: tuple[Callable[[], "Figure"], ...] = ()
    words: tuple[str, ...] = ()


# Shallow Pooling for Sparse Labels (2021).


def _against_qrel(material: Material) -> TopAgainstQrel:
    found = material.won.against_qrel
    if found is None:
        raise CannotMakeError("no run was compared with the qrels", "Give --qrels FILE.")
    return found


def _categories(material: Material) -> Made:
    found = _against_qrel(material)
    labelled, counted = len(chosen_qrels(material.original)), found.split.queries
    words = f"Of {many(counted, 'labelled query')} in the judged pools; the qrels label {labelled:,}."
    return Made(
        tables=(categories_table(found.split, found.run),), words=(words,) if counted < labelled else ()
    )


def _examples(material: Material) -> Made:
    found = material.won.examples
    if not found:
        raise CannotMakeError(
            "no pair of the run's top passage and the qrel is decided", "Have them judged first."
        )
    return Made(tables=(examples_table(found),), figures=(partial(plot_examples, found),))


def _sizes(pools: Pools) -> Made:
    sizes = pools.histogram
    return Made(figures=(partial(plot_pool_sizes, sizes),), words=(_pools_in_words(sizes),))


def _pools_in_words(sizes: dict[int, int]) -> str:
    queries = sum(sizes.values())
    if not queries:
        raise CannotMakeError(
            "no query of the qrels is in the runs", "Check that they are of one collection."
        )
    pairs = sum(count * size * (size - 1) // 2 for size, count in sizes.items())
    ordered = [size for size, count in sizes.items() for _ in range(count)]
    return (
        f"{many(queries, 'query')}; {sizes.get(1, 0):,} have a pool of one. The mean size is "
        f"{sum(ordered) / queries:.2f}, the median {median(ordered):g}. Judging each pair once takes "
        f"{many(pairs, 'comparison')}, which is {paper_price(pairs)} at the paper's rates."
    )


def _win_ratios(material: Material) -> Made:
    found = material.won.winratio
    first = [run for run in found.runs if run == PERFECT]
    ordered = replace(
        found, runs=(*first, *(run for run in material.official_order.runs if run in found.runs))
    )
    return Made(
        tables=(winratio_matrix(ordered),),
        figures=(partial(plot_win_ratios, ordered),),
        words=_better_than_perfect(ordered),
    )


def _better_than_perfect(found: WinRatios) -> tuple[str, ...]:
    """Say which runs beat all others, and which significantly beat the perfect one (section 4.2)."""
    matrix = found.matrix()
    perfect = found.runs.index(PERFECT) if PERFECT in found.runs else None
    best = [run for run in found.runs if found.wins[run] == len(found.runs) - 1]
    words = [f"{run} beats all others." for run in best]
    if perfect is not None:
        better = [
            run
            for run, ratio, sure in zip(
                found.runs, matrix.ratio[perfect], matrix.significant[perfect], strict=True
            )
            if sure and ratio > 0.5
        ]
        named = f": {', '.join(better)}" if better else ""
        words.append(f"{many(len(better), 'run')} significantly better than the perfect ranking{named}.")
    return tuple(words)


def _two_boards(material: Material) -> Made:
    a, b = (one.leaderboard for one in material.two_boards)
    tau = next((one for one in material.common.tau if set(one.qrels) == {a.qrels, b.qrels}), None)
    tables = (correlation_table([tau]),) if tau else ()
    return Made(figures=(partial(plot_two_boards, a, b, tau=tau),), tables=tables)


def _official_scores(material: Material) -> OfficialBoard:
    found = material.scored.official
    if found is None:
        raise CannotMakeError(
            "no run of the leaderboard is among the runs", "Check the runs' names against the CSV's."
        )
    return found


def _board_in_official_order(material: Material, qrels: str | None) -> Made:
    board = material.board(qrels)
    order = material.official_order
    figure = partial(
        plot_leaderboard, board.leaderboard, board.standings, order=order.runs, order_name=order.name
    )
    place = {run: number for number, run in enumerate(order.runs)}
    rows = sorted(board.leaderboard.rows, key=lambda row: -1 if row.perfect else place[row.run])
    listed = replace(board.leaderboard, rows=tuple(rows))
    return Made(figures=(figure,), tables=(leaderboard_table(listed, board.standings),))


# What comparisons cost at the paper's rates.

REWARD, PRICE, PAIRS_PER_HIT = Decimal("2.00"), Decimal("2.40"), 10
"""Section 3.1: two dollars, and a fee of 20 %, for a HIT of ten pairs …"""
_SLOTS = 13
"""… and three test comparisons."""


def hits_of(pairs: int) -> int:
    """Return how many HITs hold this many pairs."""
    return -(-pairs // PAIRS_PER_HIT)


def paper_price(pairs: int) -> str:
    """Return what judging this many pairs once costs."""
    cost = estimate(
        pairs=pairs,
        hits=hits_of(pairs),
        assignments_per_hit=1,
        slots_per_hit=_SLOTS,
        reward=REWARD,
        price=PRICE,
    )
    return f"${cost.total:,.2f}"


# The same with simulated workers: what would this study cost, find and show?

JUDGMENTS_FILE = "simulated-judgments.txt"
POOLED_FILE = "simulated-judgments-of-pools.txt"
STAMP = "rehearsal: every judgment is simulated, and no person judged anything here"

SIMULATION = Exhibit(
    name="Simulation",
    shows="what this study would cost, find and show",
    reading=(
        "Simulated workers judge, once each, the pairs that the paper's two experiments ask for on these "
        "runs. The tables and figures below are one such study; the ranges here are over many."
    ),
)


def rehearse(material: Material) -> tuple[SimulatedPaper, str]:
    """Simulate the judgments of both experiments; those of one study are written, and given to the material.

    Returns what many studies find, and the representative run.
    """
    heads = material.heads
    run = material.ranking[0]
    if material.against_qrel is not None:
        run = tag_of(material.against_qrel, expand(material.runs), heads.runs, "--against-qrel")
    rng = generator(None, "rehearsal", material.seed)
    top = top_pairs(heads, material.original, run)
    pools = material.selected
    labels = restrict(material.original, pools.queries)
    with material.reading() as reader:
        ranks, known = reader.judged_all([pooled_documents(pools), labels])
    original = score_matrix(known, labels, Measure.parse("RR@10")).values.mean(axis=0)
    votes, pooled, found = simulate_paper(pools, top, heads, ranks, original, rng=rng)
    paths = material.folder / JUDGMENTS_FILE, material.folder / POOLED_FILE
    for path, written in zip(paths, (votes, pooled), strict=True):
        every = Rehearsal(simulated=len(written), judgments=len(written))
        write_judgments(path, written, comment=str(every))
    material.judgments, material.pooled_judgments = paths
    material.against_qrel = run
    return found, run


def rehearsal_table(found: SimulatedPaper, run: str) -> Table:
    """Return what such a study costs, finds and shows."""
    split, sampled = found.split, found.queries
    rows = (
        (f"1. {run} against the qrels", f"{split.queries:,} labelled queries"),
        ("category A / category B", f"{split.a:,} / {split.b:,}"),
        ("pairs, HITs, cost", _cost(found.duels)),
        ("the qrel preferred in category A", _share(found.qrel_ratio)),
        ("the run's passage preferred in category B", _share(found.rival_ratio)),
        ("studies in which that is significant at 5 %", f"{found.significant:.0%}"),
        ("2. pools of a sample", f"{sampled:,} queries, {found.documents / sampled:.2f} passages each"),
        ("pairs, HITs, cost", _cost(found.pairs)),
        ("queries whose preference qrel is truly the best", _share(found.right)),
        ("queries whose best answers form a cycle", _number(found.cycles)),
        ("significant win ratios", _number(found.significant_ratios)),
        ("runs significantly better than the perfect ranking", _number(found.better_than_perfect)),
        (
            "Kendall's tau, original against preference leaderboard",
            f"{found.tau.mean:.2f} [{found.tau.low:.2f}, {found.tau.high:.2f}]",
        ),
    )
    return Table(
        title="What this study would cost, find and show",
        columns=(Column(name="what"), Column(name="value")),
        rows=rows,
        notes=(
            f"{found.studies:,} simulated studies: the mean, and in brackets the middle 95 % of them. "
            "Workers err on 33 % of random pairs, prefer the qrel in 65.7 % of category A, and the run's "
            "passage in 58.6 % of category B, as in the paper.",
            f"${REWARD} for a HIT of {PAIRS_PER_HIT} pairs and a fee of 20 %; work that fails its test "
            "comparisons is also paid, and costs extra.",
        ),
    )


def _cost(pairs: int) -> str:
    return f"{pairs:,} pairs, {hits_of(pairs):,} HITs, {paper_price(pairs)}"


def _share(spread: Spread) -> str:
    return f"{spread.mean:.1%} [{spread.low:.1%}, {spread.high:.1%}]"


def _number(spread: Spread) -> str:
    return f"{spread.mean:.1f} [{spread.low:.0f}, {spread.high:.0f}]"


# MS MARCO: Benchmarking Ranking Models in the Large-Data Regime (SIGIR 2021).


def progress(material: Material) -> Made:
    """Return the leaderboard over time, its records in red."""
    found = material.audited
    return Made(
        figures=(
            partial(
                plot_progress,
                found.submissions,
                found.audit.records,
                measure=found.measure,
                highlight=material.highlight,
            ),
        )
    )


def _conditions(material: Material) -> list[tuple[str, RankStability]]:
    """Return the ranks with the paper's own intervals, which `stability` no longer takes for true ones."""
    return [(one.part, in_the_middle(one.stability)) for one in material.stable.conditions]


def _drawn(material: Material) -> list[tuple[str, RankStability]]:
    """Return those with as many queries as tell the share of a rank."""
    drawn = [(part, ranks) for part, ranks in _conditions(material) if ranks.share is not None]
    if not drawn:
        raise CannotMakeError(
            f"samples of fewer than {SHARES_FROM} queries tell no share of a rank", "Give more queries."
        )
    return drawn


def _top_ranks_of_others(material: Material) -> Made:
    others = _drawn(material)[1:]
    if not others:
        raise CannotMakeError(
            f"there is only one condition of {SHARES_FROM} queries or more",
            "Give a second --qrels NAME=FILE, or --held-out.",
        )
    return Made(tables=tuple(top_table(*one) for one in others))


def _all_ranks(material: Material) -> Made:
    part, ranks = _drawn(material)[0]
    return Made(figures=(partial(plot_ranks, ranks),), tables=(shares_table([(part, ranks)]),))


def _conditions_compared(material: Material) -> Made:
    named, drawn = _conditions(material), material.stable.shown
    return Made(figures=(partial(plot_conditions, named, drawn),), tables=(conditions_table(named),))


# Significant Improvements over the State of the Art? (SIGIR 2021).


_SENTENCES = 12
"""Sentences on outcomes that are shown."""


def _rows(material: Material) -> list[tuple[Significance, Outcomes]]:
    found = material.compared.comparisons
    rows = [(one.significance, row) for one in found for row in one.outcomes]
    if not rows:
        raise CannotMakeError("; ".join(filter(None, (one.no_outcomes for one in found))) or "no outcomes")
    return rows


def _outcomes(material: Material) -> Made:
    words = [line for one in material.compared.comparisons for line in one.outcome_words]
    return Made(tables=(outcomes_table(_rows(material)),), words=tuple(words[:_SENTENCES]))


MAKERS: Mapping[str, Callable[[Material], Made]] = {
    "categories": _categories,
    "preferred": lambda of: Made(tables=(preferred_table(_against_qrel(of)),)),
    "examples": _examples,
    "shares": lambda of: Made(figures=(partial(plot_shares, _against_qrel(of)),)),
    "official": lambda of: Made(tables=(official_table(_official_scores(of)),)),
    "pool-sizes": lambda of: _sizes(of.pools),
    "selected-sizes": lambda of: _sizes(of.selected),
    "official-against-sample": lambda of: Made(figures=(partial(plot_official, _official_scores(of)),)),
    "win-ratios": _win_ratios,
    "pair-agreement": lambda of: Made(tables=(pair_agreement_table(of.scored.pair_agreement),)),
    "pairings": lambda of: Made(tables=(pairings_table(of.scored.pairings, of.scored.cycles),)),
    "two-boards": _two_boards,
    "original-board": lambda of: _board_in_official_order(of, None),
    "preference-board": lambda of: _board_in_official_order(of, "preference"),
    "left-out": lambda of: Made(tables=(left_out_table(of.left_out.left_out, of.left_out.left_out_votings),)),
    "progress": progress,
    "naive": lambda of: Made(tables=(naive_table(_rows(of)),)),
    "outcomes": _outcomes,
    "top-ranks": lambda of: Made(tables=(top_table(*_drawn(of)[0]),)),
    "top-ranks-of-others": _top_ranks_of_others,
    "all-ranks": _all_ranks,
    "conditions-compared": _conditions_compared,
    "institutions": lambda of: Made(tables=(institutions_table(of.audited.audit),)),
    "result-lists": lambda of: Made(tables=(result_lists_table(score_lists("RR@10")),)),
    "agreement": lambda of: Made(tables=tuple(agreement_matrix(one) for one in of.agreed.agreements)),
}
"""What makes an exhibit, by the name that its paper's description gives it."""
