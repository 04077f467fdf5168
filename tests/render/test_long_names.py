"""No plot cuts a name: long ones make the figure larger, and leave the plot its room."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prefjudge.evaluation.boards import leaderboard
from prefjudge.evaluation.firmness import rank_intervals
from prefjudge.evaluation.stability import RankStability, bootstrap_ranks
from prefjudge.evaluation.winratios import WinRatio, WinRatios
from prefjudge.show import plots
from prefjudge.show.plots import plot_conditions, plot_progress, plot_ranks
from tests.render.test_plots import entry, scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure


TAIL = "-reranker-large-distilled-on-msmarco-v2-ensemble-of-five-checkpoints"
LONG = tuple(f"{name}{TAIL}"[:60] for name in ("alpha", "beta", "gamma", "delta", "epsilon"))
LABELS = f"labels{TAIL}"[:60]


def ranked(names: tuple[str, ...], labels: str) -> RankStability:
    return bootstrap_ranks(scores(labels, 1, names), trials=50, rng=np.random.default_rng(0))


def board(names: tuple[str, ...], labels: str) -> "Figure":
    given = scores(labels, 1, names)
    return plots.plot_leaderboard(leaderboard(given), rank_intervals(given))


def two_boards(names: tuple[str, ...], labels: str) -> "Figure":
    return plots.plot_two_boards(leaderboard(scores("one", 1, names)), leaderboard(scores(labels, 1, names)))


def ranks(names: tuple[str, ...], labels: str) -> "Figure":
    return plot_ranks(ranked(names, labels))


def conditions(names: tuple[str, ...], labels: str) -> "Figure":
    return plot_conditions([(labels, ranked(names, labels)), ("other", ranked(names, labels))], names)


def wins(names: tuple[str, ...], labels: str) -> "Figure":
    pairs = [
        WinRatio(a=a, b=b, wins_a=9, wins_b=1, ties=0, same=0, unjudged=0, p=0.01, p_bonferroni=0.01)
        for at, a in enumerate(names)
        for b in names[at + 1 :]
    ]
    given = dict.fromkeys(names, 1)
    return plots.plot_win_ratios(
        WinRatios(runs=names, pairs=tuple(pairs), wins=given, count="majority", queries=9)
    )


def progress(names: tuple[str, ...], labels: str) -> "Figure":
    entries = [entry(at, name, name, at / 9) for at, name in enumerate(names, 1)]
    return plot_progress(entries, names[:1], measure=labels, highlight=names[1])


ALL = (board, two_boards, ranks, conditions, wins, progress)


@pytest.mark.parametrize("draw", ALL, ids=lambda draw: draw.__name__)
def test_no_text_is_outside_the_figure(draw: "Callable[[tuple[str, ...], str], Figure]") -> None:
    import matplotlib.text

    figure = draw(LONG, LABELS)
    figure.draw_without_rendering()  # a legend places its texts when it is drawn
    width, height = figure.bbox.width, figure.bbox.height
    for text in figure.findobj(matplotlib.text.Text):
        if len(text.get_text()) > 20:  # type: ignore[attr-defined]  # and no tick beyond the plot
            box = text.get_window_extent()  # type: ignore[attr-defined]
            assert box.x0 >= -1, text
            assert box.y0 >= -1, text
            assert box.x1 <= width + 1, text
            assert box.y1 <= height + 1, text


@pytest.mark.parametrize("draw", ALL, ids=lambda draw: draw.__name__)
def test_long_names_leave_the_plot_its_room(draw: "Callable[[tuple[str, ...], str], Figure]") -> None:
    short, long = (draw(names, "labels").axes[0].get_window_extent() for names in (("a", "b", "c"), LONG[:3]))
    assert long.width >= 0.6 * short.width
    assert long.height >= 0.6 * short.height
