"""The exhibits of "Shallow Pooling for Sparse Labels" (2021)."""

from dataclasses import replace
from functools import partial
from statistics import median

from prefjudge.core.pools import Pools, chosen_qrels
from prefjudge.evaluation.submissions import OfficialBoard
from prefjudge.evaluation.winratios import PERFECT, TopAgainstQrel, WinRatios
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
    plot_examples,
    plot_leaderboard,
    plot_official,
    plot_pool_sizes,
    plot_shares,
    plot_two_boards,
    plot_win_ratios,
)
from prefjudge.steps.reproduce.exhibits import Exhibit, Made, Paper
from prefjudge.steps.reproduce.material import Material
from prefjudge.steps.reproduce.needs import CannotMakeError, Need
from prefjudge.steps.reproduce.prices import paper_price
from prefjudge.words import many

_VOTES = (Need.RUNS, Need.QRELS, Need.JUDGMENTS)
_JUDGED = "--judgments JUDGMENTS --pool POOL"
_WINRATIO = f"prefjudge winratio --runs 'runs/*' --qrels QRELS {_JUDGED}"
_SCORE = (
    f"prefjudge score --runs 'runs/*' --qrels original=QRELS --qrels preference=PREFERENCE.qrels {_JUDGED}"
)


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


def _preferred(material: Material) -> Made:
    return Made(tables=(preferred_table(_against_qrel(material)),))


def _examples(material: Material) -> Made:
    found = material.won.examples
    if not found:
        raise CannotMakeError(
            "no pair of the run's top passage and the qrel is decided", "Have them judged first."
        )
    return Made(tables=(examples_table(found),), figures=(partial(plot_examples, found),))


def _shares(material: Material) -> Made:
    return Made(figures=(partial(plot_shares, _against_qrel(material)),))


def _pool_sizes(material: Material) -> Made:
    return _sizes(material.pools)


def _selected_sizes(material: Material) -> Made:
    return _sizes(material.selected)


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


def _official(material: Material) -> Made:
    return Made(tables=(official_table(_official_scores(material)),))


def _official_against_sample(material: Material) -> Made:
    return Made(figures=(partial(plot_official, _official_scores(material)),))


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


def _original_board(material: Material) -> Made:
    return _board_in_official_order(material, None)


def _preference_board(material: Material) -> Made:
    return _board_in_official_order(material, "preference")


def _pairings(material: Material) -> Made:
    return Made(tables=(pairings_table(material.scored.pairings, material.scored.cycles),))


def _pair_agreement(material: Material) -> Made:
    return Made(tables=(pair_agreement_table(material.scored.pair_agreement),))


def _left_out(material: Material) -> Made:
    return Made(tables=(left_out_table(material.left_out.left_out, material.left_out.left_out_votings),))


SHALLOW_POOLING = Paper(
    name="shallow-pooling",
    citation=(
        "Arabzadeh, Vtyurina, Yan and Clarke: Shallow Pooling for Sparse Labels. Information Retrieval "
        "Journal 25 (2022). https://doi.org/10.1007/s10791-022-09411-0"
    ),
    lead="Do people prefer what a run puts on top to the labels that it is scored by?",
    own=(
        "Its own values need the runs of its Table 3, its judgments, and for Table 3 and Figure 5 the CSV of "
        "the passage leaderboard. None of them comes with prefjudge."
    ),
    exhibits=(
        Exhibit(
            name="Table 1",
            shows="how often the qrel is the run's first passage",
            reading=(
                "Shares are of all labelled queries, or of those in the judged pools where these are known; "
                "those that the run does not answer have a row."
            ),
            needs=_VOTES,
            command=f"{_WINRATIO} --against-qrel RUN --out table.tex      # in table.categories.tex",
            make=_categories,
        ),
        Exhibit(
            name="Table 2",
            shows="which passage people preferred, by category",
            reading=(
                "In category A the qrel should win; how often it loses is a rough estimate of the judges' "
                "error. In category B, more losses than wins say that the run is better than its labels."
            ),
            needs=_VOTES,
            command=f"{_WINRATIO} --against-qrel RUN --out table.tex      # in table.preferred.tex",
            make=_preferred,
        ),
        Exhibit(
            name="Figure 1",
            shows="examples of judged pairs, drawn at random from both outcomes",
            reading="The preferred passage comes first.",
            needs=(*_VOTES, Need.TEXTS),
            command=(
                "prefjudge winratio STUDY --against-qrel RUN --examples 3 --plot figure.svg      "
                "# in figure.examples.svg"
            ),
            make=_examples,
        ),
        Exhibit(
            name="Figure 2",
            shows="the four shares of Table 2",
            reading=(
                "Shares of all decided pairs: the run's passage and the qrel where they differ, then "
                "where they agree."
            ),
            needs=_VOTES,
            command=f"{_WINRATIO} --against-qrel RUN --plot figure.svg      # in figure.shares.svg",
            make=_shares,
        ),
        Exhibit(
            name="Table 3",
            shows="the runs' scores on the leaderboard, on all queries, and on the judged ones",
            reading=(
                "In the leaderboard's order: its rank and score, RR@10 under the original qrels on all and "
                "on the selected queries, and under the preference qrels; the perfect ranking comes first."
            ),
            needs=(*_VOTES, Need.LEADERBOARD),
            command=f"{_SCORE} --leaderboard LEADERBOARD.csv --out table.tex      # in table.official.tex",
            make=_official,
        ),
        Exhibit(
            name="Figure 3",
            shows="the sizes of the pools of all labelled queries",
            reading=(
                "A pool has the first passage of each run and the qrel. Its pairs grow with the square of "
                "its size. LABELLED.tsv has the queries of the qrels."
            ),
            needs=(Need.RUNS, Need.QRELS),
            command=(
                "prefjudge pool --runs 'runs/*' --qrels QRELS --queries LABELLED.tsv --depth 1 "
                "--plot figure-3.svg"
            ),
            make=_pool_sizes,
        ),
        Exhibit(
            name="Figure 4",
            shows="the sizes of the pools of the selected queries",
            reading=(
                "The selected queries and their pools are those that were judged, which the command makes; "
                "where none was, they are drawn at random from those with at least two passages to compare."
            ),
            needs=(Need.RUNS, Need.QRELS),
            command=(
                "prefjudge pool --runs 'runs/*' --qrels QRELS --depth 1 --sample 500 --min-size 2 "
                "--out POOL --plot figure-4.svg"
            ),
            make=_selected_sizes,
        ),
        Exhibit(
            name="Figure 5",
            shows="the leaderboard's scores against those on the selected queries",
            reading=(
                "Points on one rising line say that the selected queries rank the runs as the leaderboard "
                "does."
            ),
            needs=(*_VOTES, Need.LEADERBOARD),
            command=f"{_SCORE} --leaderboard LEADERBOARD.csv --plot figure.svg      # in figure.official.svg",
            make=_official_against_sample,
        ),
        Exhibit(
            name="Table 4",
            shows="win ratios of the pooled runs: how often the run of the column beats that of the row",
            reading=(
                "Above 50 %, the column's first passage is preferred more often; bold is significant "
                "(binomial test, Bonferroni). The last row counts the runs that each column beats. The runs "
                "are in the leaderboard's order; the command keeps that of --runs."
            ),
            needs=_VOTES,
            command=f"{_WINRATIO} --out table-4.tex --plot table-4.svg",
            make=_win_ratios,
        ),
        Exhibit(
            name="Section 4.1",
            shows="how often each run orders judged pairs in its top ten as people do",
            reading="The share is of the judged pairs that have both passages in the run's top ten.",
            needs=_VOTES,
            command=_SCORE,
            make=_pair_agreement,
        ),
        Exhibit(
            name="Section 5.1",
            shows="the share of their pairings that preference qrels and original qrels win",
            reading=(
                "Preference qrels should win nearly all; original ones win about half if they are no better "
                "than the other passages."
            ),
            needs=_VOTES,
            command=_SCORE,
            make=_pairings,
        ),
        Exhibit(
            name="Figure 6 (top)",
            shows="the runs' scores under the original against those under the preference qrels",
            reading=(
                "People rank runs off the rising line differently. The dashed line is what a perfect ranking "
                "under the original qrels scores under the preference qrels."
            ),
            needs=_VOTES,
            command=f"{_SCORE} --common --plot figure.svg      # in figure.against.svg",
            make=_two_boards,
        ),
        Exhibit(
            name="Figure 6 (middle)",
            shows="the scores under the original qrels with their intervals, in the official order",
            reading="If the points fall steadily, the selected queries confirm the official order.",
            needs=_VOTES,
            command=f"{_SCORE} --common --order-by LEADERBOARD.csv --plot figure.svg",
            make=_original_board,
        ),
        Exhibit(
            name="Figure 6 (bottom)",
            shows="the scores under the preference qrels with their intervals, in the official order",
            reading=(
                "A point that breaks the fall is a run that people rank higher or lower than the leaderboard."
            ),
            needs=_VOTES,
            command=(
                f"{_SCORE} --common --order-by LEADERBOARD.csv --plot figure.svg      # in figure.2.svg"
            ),
            make=_preference_board,
        ),
        Exhibit(
            name="Section 5.2",
            shows="each run's score without the passages that it alone contributed to the pools",
            reading="A run that falls far owes its place to its own passages in the pools.",
            needs=_VOTES,
            command=f"{_SCORE} --leave-one-out",
            make=_left_out,
        ),
    ),
)
