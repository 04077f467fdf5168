import math
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from io import BytesIO
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

from prefjudge.core.runs import Order, Scores
from prefjudge.errors import InputError
from prefjudge.evaluation.boards import leaderboard, make_board
from prefjudge.evaluation.correlation import TwoVotings, correlate
from prefjudge.evaluation.firmness import rank_intervals as intervals_of
from prefjudge.evaluation.stability import bootstrap_ranks
from prefjudge.evaluation.submissions import Submission
from prefjudge.evaluation.winratios import WinRatio, WinRatios
from prefjudge.findings.outputs import write_figure
from prefjudge.show import plots
from prefjudge.show.boards import winratio_frame, winratio_matrix
from prefjudge.show.cells import write_cell
from prefjudge.show.figures import render_figure
from prefjudge.show.plots import (
    count_chances,
    plot_chances,
    plot_conditions,
    plot_progress,
    plot_rank_intervals,
    plot_ranks,
    plot_work,
    plot_workers,
)
from prefjudge.show.tables import render_table

RUNS = ("alpha", "beta", "gamma", "delta")


def scores(qrels: str, seed: int, runs: tuple[str, ...] = RUNS) -> Scores:
    rng = np.random.default_rng(seed)
    rank = rng.geometric(np.linspace(0.2, 0.7, len(runs)), size=(30, len(runs)))
    return Scores(
        measure="RR@10",
        qrels=qrels,
        queries=tuple(f"q{row}" for row in range(30)),
        runs=runs,
        values=np.where(rank <= 10, 1.0 / rank, 0.0),
        order=Order.SCORE,
    )


def bar(queries: int = 30) -> Scores:
    """The perfect ranking: almost as good as gamma, on some of the queries."""
    first = scores("official", 1)
    values = np.maximum(first.values[:queries, 2:3] - 0.01, 0.0)
    return replace(first, runs=("perfect (official)",), queries=first.queries[:queries], values=values)


def board_plot(queries: int = 30) -> object:
    first = scores("official", 1)
    return plots.plot_leaderboard(leaderboard(first, perfect=bar(queries)), intervals_of(first))


def two_boards() -> object:
    x = leaderboard(scores("official", 1))
    y = leaderboard(scores("preference", 2), perfect=bar())
    agreed = TwoVotings(value=0.6, low=0.5, high=0.7, by="redrawn votes", pairs=400, confidence=0.95)
    pair = correlate(x, y)
    return plots.plot_two_boards(x, y, tau=replace(pair, printed=replace(pair.printed, two_votings=agreed)))


@pytest.mark.parametrize(("count", "named"), [(16, 16), (30, 30), (63, 16)])
def test_points_are_named_all_where_they_are_few_and_else_those_chosen(count: int, named: int) -> None:
    runs = tuple(f"a-system-{number:02}" for number in range(count))
    x, y = (leaderboard(scores(labels, seed, runs)) for seed, labels in enumerate(("official", "preference")))
    written = {text.get_text() for text in plots.plot_two_boards(x, y, shown=runs[:9]).axes[0].texts}
    assert named <= len(written) <= count
    assert written >= {*runs[:9]}, "those asked for"


def ranks() -> object:
    return plot_ranks(bootstrap_ranks(scores("official", 1), trials=50, rng=np.random.default_rng(0)))


def conditions() -> object:
    named = [
        (name, bootstrap_ranks(scores(name, seed), trials=50, rng=np.random.default_rng(0)))
        for seed, name in enumerate(("public", "held out"))
    ]
    return plot_conditions(named, RUNS[:3])


def pool_sizes() -> object:
    return plots.plot_pool_sizes({1: 3, 2: 11, 3: 20, 7: 2})


def win_ratios() -> WinRatios:
    def pair(a: str, b: str, wins_a: int, wins_b: int, p: float) -> WinRatio:
        return WinRatio(
            a=a, b=b, wins_a=wins_a, wins_b=wins_b, ties=0, same=0, unjudged=0, p=p, p_bonferroni=p
        )  # fmt: skip

    return WinRatios(
        runs=RUNS[:3],
        pairs=(
            pair("alpha", "beta", 9, 1, 0.01),
            pair("alpha", "gamma", 5, 5, 1.0),
            pair("beta", "gamma", 0, 0, 1.0),
        ),
        wins={"alpha": 1, "beta": 0, "gamma": 0},
        count="majority",
        queries=12,
    )


def wins() -> object:
    return plots.plot_win_ratios(win_ratios())


def entry(day: int, name: str, description: str, score: float | None) -> Submission:
    told = {"team": "T", "description": description, "type": "", "dev": None, "eval": score}
    return Submission(line=day, submission_id=name, date=date(2021, 1, day), **told)


def progress() -> object:
    entries = [
        entry(day, f"2021010{day}-x", "a BERT" if day == 3 else "", score)
        for day, score in enumerate((0.2, 0.3, 0.25, None), 1)
    ]
    return plot_progress(entries, ("20210101-x", "20210102-x"), measure="MRR@100", highlight="bert")


def rank_intervals() -> object:
    board = make_board(scores("official", 1))
    return plot_rank_intervals(board.leaderboard, board.standings)


def chances() -> object:
    return plot_chances([0.3, 0.35, 0.9, 1.0])


def work_done() -> object:
    return plot_work([0.0, 1.0, 2.0], [3, 5, 9], [1.0, 2.0, 3.0], unit="hours")


def workers() -> object:
    return plot_workers([("w1", 0.4, 0.1, 0.9, True), ("w2", None, None, None, False)])


ALL = (
    board_plot, two_boards, ranks, conditions, pool_sizes, wins, progress,
    rank_intervals, chances, work_done, workers,
)  # fmt: skip


@pytest.mark.parametrize("draw", ALL, ids=lambda draw: draw.__name__)
def test_files_are_the_same_bytes_each_time(draw: Callable[[], object]) -> None:
    for form, start in (("svg", b"<?xml"), (".png", b"\x89PNG")):
        once, again = render_figure(draw(), form), render_figure(draw(), form)  # type: ignore[arg-type]
        assert once.startswith(start)
        assert once == again
        assert b"Matplotlib v" not in once


def words(figure: object) -> list[str]:
    import matplotlib.text

    return [text.get_text() for text in figure.findobj(matplotlib.text.Text)]  # type: ignore[attr-defined]


def test_what_is_drawn_can_be_read() -> None:
    assert {*RUNS, "perfect (official)"} <= set(words(board_plot()))
    assert "24" not in words(two_boards())
    assert "orange: better than perfect; orange ring: above, not significant" in " ".join(words(board_plot()))
    tau = correlate(
        leaderboard(scores("official", 1)), leaderboard(scores("preference", 2), perfect=bar())
    ).tau
    agreed = "two rounds of voting agree at 0.60, 0.50 to 0.70"
    title = f"4 runs, 30 queries, two label sets\nKendall's τ {tau:.2f} ({agreed})"
    assert title in words(two_boards())
    assert {
        "RR@10 under public, public queries, 30 queries",
        "RR@10 under held out, held out queries, 30 queries",
        "alpha",
    } <= {text.replace("\n", " ") for text in words(conditions())}
    assert "mean 2.75" in words(pool_sizes())
    assert {"90.0", "10.0", "50.0", "alpha  (1)"} <= set(words(wins()))
    hatched = [patch for patch in wins().axes[0].patches if patch.get_hatch()]  # type: ignore[attr-defined]
    assert len(hatched) == 1, "what was never compared is hatched"
    assert {"3 submissions, 2 records, 1 with “bert”", "MRR@100", "“bert” in the description"} <= set(
        words(progress())
    )
    assert any("RR@10 under official, 30 queries" in text for text in words(ranks()))


def test_a_panel_for_each_condition_shows_the_ranks_of_the_chosen_runs() -> None:
    """Two measures under three conditions (Craswell et al., Figure 4), and one more of another measure."""
    one = bootstrap_ranks(scores("sparse", 1), trials=50, rng=np.random.default_rng(0))
    other = replace(one, measure="nDCG@10")
    parts = ("public", "held out", "all")
    figure = plot_conditions([*((part, one) for part in parts), ("all", other)], ("gamma", "alpha"))
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert len(shown) == 4
    heights = [bar.get_height() for bar in shown[0].containers[1]]
    assert heights == pytest.approx(100 * one.share[one.runs.index("alpha")])
    assert [line.get_xdata()[0] for line in shown[3].lines] == [
        pytest.approx(one.expected[one.runs.index(run)]) for run in ("gamma", "alpha")
    ]
    assert sum(axes.get_xlabel() == "rank" for axes in shown) == 3


def test_significant_win_ratios_are_bold() -> None:
    import matplotlib.text

    bold = {
        text.get_text()
        for text in wins().findobj(matplotlib.text.Text)  # type: ignore[attr-defined]
        if text.get_fontweight() == "bold"
    }
    assert {"90.0", "10.0"} <= bold
    assert "50.0" not in bold


def test_the_column_beats_the_row_in_the_picture_as_in_every_table() -> None:
    result, axes = win_ratios(), wins().axes[0]  # type: ignore[attr-defined]
    drawn = {text.get_position(): text.get_text() for text in axes.texts}
    columns = [label.get_text().split()[0] for label in axes.get_xticklabels()]
    rows = [label.get_text() for label in axes.get_yticklabels()]
    assert drawn[columns.index("alpha"), rows.index("beta")] == "90.0"  # alpha won 9 of 10
    shade = axes.images[0].get_array()
    table, frame = winratio_matrix(result), winratio_frame(result)
    latex = [line.split("&") for line in render_table(table, "tex").splitlines()]
    for x, winner in enumerate(columns):
        for y, loser in enumerate(rows):
            if x == y:
                continue
            share = frame.loc[loser, winner]
            wanted = "–" if math.isnan(share) else f"{100 * share:.1f}"
            assert drawn.get((x, y), "–") == wanted
            assert math.isnan(share) or shade[y, x] == pytest.approx(100 * share)
            assert write_cell(table.rows[y][x + 1], table.columns[x + 1]).rstrip("%") == wanted
            assert math.isnan(share) or wanted in next(row for row in latex if loser in row[0])[x + 1]


def test_other_forms_are_refused_and_suffixes_are_names(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="written as 'gif'"):
        render_figure(pool_sizes(), "gif")  # type: ignore[arg-type]
    write_figure(tmp_path / "pool.png", pool_sizes())  # type: ignore[arg-type]
    assert (tmp_path / "pool.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_ends_where_its_drawing_does() -> None:
    from matplotlib.image import imread

    for stamp in ("", "rehearsal"):
        file = BytesIO(render_figure(wins(), "png", stamp))  # type: ignore[arg-type]
        seen = np.asarray(imread(file)).min(axis=2) < 0.99
        for lines in (seen.any(axis=0), seen.any(axis=1)):
            blank = lines.argmax(), lines[::-1].argmax()
            assert all(0 < margin < 0.2 * 200 for margin in blank), "a fifth of an inch on each side"


def test_the_plots_of_a_study_say_what_they_draw() -> None:
    assert "2.5 of 4 winners expected to be the best" in words(chances())
    assert count_chances([0.0, 0.3, 0.35, 0.9, 1.0]) == [1, 0, 0, 2, 0, 0, 0, 0, 0, 2]
    assert "2 workers, the least reliable first" in words(workers())
    many_workers = [(f"w{number}", 0.5, None, None, False) for number in range(50)]
    assert "50 workers, the least reliable first, 40 of them shown" in words(plot_workers(many_workers))
    assert {"hours since the first assignment", "Time and money"} <= {*words(work_done())}
    board = make_board(scores("official", 1))
    (axes,) = rank_intervals().axes  # type: ignore[attr-defined]
    lines = [line.get_xdata() for line in axes.lines]
    drawn = [tuple(line) for line in lines if len(line) == 2]
    assert drawn == [(one.highest, one.lowest) for one in board.standings]


def test_the_ratios_of_many_runs_are_colours_alone() -> None:
    runs = tuple(f"run{number}" for number in range(31))
    pairs = tuple(replace(win_ratios().pairs[0], a=a, b=b) for a, b in combinations(runs, 2))
    many_runs = replace(win_ratios(), runs=runs, pairs=pairs, wins=dict.fromkeys(runs, 0))
    assert not {"90.0", "10.0"} & {*words(plots.plot_win_ratios(many_runs))}
    first = plots.plot_win_ratios(many_runs, most=16)
    assert len(first.axes[0].get_yticklabels()) == 16
    assert "90.0" in words(first)


def test_long_names_that_differ_in_their_middles_stay_apart_beside_win_ratios() -> None:
    runs = tuple(f"a_group_of_ours_{middle}_{'dense' * 6}_reranked" for middle in ("one", "two", "three"))
    pairs = tuple(replace(win_ratios().pairs[0], a=a, b=b) for a, b in combinations(runs, 2))
    drawn = plots.plot_win_ratios(replace(win_ratios(), runs=runs, pairs=pairs, wins=dict.fromkeys(runs, 0)))
    for labels in (drawn.axes[0].get_yticklabels(), drawn.axes[0].get_xticklabels()):
        assert len({label.get_text() for label in labels}) == 3


@pytest.mark.parametrize("days", [1, 35, 100, 4000])
def test_no_two_dates_below_a_plot_run_into_each_other(days: int) -> None:
    first = Submission(
        line=1, submission_id="20210101-x", date=date(2021, 1, 1), team="T",
        description="", type="", dev=None, eval=0.2,
    )  # fmt: skip
    last = replace(first, submission_id="20210102-y", date=date(2021, 1, 1) + timedelta(days), eval=0.3)
    figure = plot_progress([first, last], [first.name, last.name])
    figure.draw_without_rendering()
    boxes = [one.get_window_extent() for one in figure.axes[0].get_xticklabels() if one.get_text()]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_counts_have_whole_numbers_and_no_more_of_them_than_have_room() -> None:
    for figure in (chances(), plots.plot_pool_sizes({1: 1, 2: 2})):
        figure.draw_without_rendering()  # type: ignore[attr-defined]
        (axes,) = figure.axes  # type: ignore[attr-defined]
        assert all(place == int(place) for place in axes.get_yticks())
    (axes,) = rank_intervals().axes  # type: ignore[attr-defined]
    assert all(place == int(place) for place in axes.get_xticks()), "there is no half rank"
    (axes,) = plots.plot_pool_sizes({4: 1, 5: 2, 126: 1}).axes
    assert len(axes.get_xticks()) <= 14
    assert {text.get_text() for text in axes.texts} == {"mean 35.00"}, "numbers would stand in each other"


def test_an_empty_pool_is_no_trouble() -> None:
    assert "Sizes of the pools: 0 queries" in words(plots.plot_pool_sizes({}))


def test_a_perfect_ranking_over_fewer_queries_has_no_line_among_the_runs() -> None:
    shown = words(board_plot(12))
    assert "perfect (official)" not in shown
    assert "perfect (official), no line: it has 12 queries" in " ".join(shown)


def test_points_are_filled_as_the_table_marks_them() -> None:
    first = scores("official", 1)
    board = leaderboard(first, perfect=bar())
    fills = [plots._fill(row) for row in board.ranked]
    assert fills == [
        "#d97706" if row.above_perfect else "white" if row.above_perfect_by > 0 else "#2563a8"
        for row in board.ranked
    ]
    assert {*fills} >= {"#d97706", "white"}


def test_a_board_is_drawn_in_the_order_of_another() -> None:
    made = leaderboard(scores("official", 1))
    firm = intervals_of(scores("official", 1))
    order = tuple(reversed([row.run for row in made.ranked]))
    drawn = plots.plot_leaderboard(made, firm, order=order[:-1], order_name="the leaderboard")
    (axes,) = drawn.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == list(order)
    assert "in the order of the leaderboard" in axes.get_title(loc="left")
    assert "tiers" not in axes.get_title(loc="left")
    at = {line.get_ydata()[0]: line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 1}  # type: ignore[index,arg-type]
    assert [at[place] for place in range(len(order))] == [
        next(row.score for row in made.rows if row.run == run) for run in order
    ]


def test_a_figure_is_drawn_once_in_each_file(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    drawings = 0
    draw = Figure.draw

    def counted(figure: Figure, renderer: object) -> None:
        nonlocal drawings
        drawings += 1
        draw(figure, renderer)

    plain = render_figure(plots.plot_pool_sizes({1: 3, 2: 5}), "svg")
    monkeypatch.setattr(Figure, "draw", counted)
    with matplotlib.rc_context({"figure.constrained_layout.use": True}):  # as a user's own style may say
        figure = plots.plot_pool_sizes({1: 3, 2: 5})
        assert drawings == 0, "laying it out is not drawing it"
        same = render_figure(figure, "svg", "a stamp") and render_figure(figure, "svg") == plain
    assert drawings == 2
    assert same


def test_a_figure_is_stamped_once_in_each_form() -> None:
    figure, stamp = plots.plot_pool_sizes({2: 3, 4: 1}), "rehearsal: 4 of 4 judgments are simulated"
    first = render_figure(figure, "svg", stamp)
    assert render_figure(figure, "png", stamp) == render_figure(figure, "png", stamp)
    assert render_figure(figure, "svg", stamp) == first
    assert first.count(f"<!-- {stamp} -->".encode()) == 1


@pytest.mark.parametrize("draw", [board_plot, two_boards, lambda: plots.plot_pool_sizes({2: 3})])
def test_a_stamp_is_seen_below_the_plot_and_nothing_else_moves(draw: Callable[[], object]) -> None:
    from io import BytesIO

    from matplotlib.image import imread

    stamp = "rehearsal: 12,345 of 12,345 judgments are simulated"
    plain, stamped = (imread(BytesIO(render_figure(draw(), "png", text))) for text in ("", stamp))  # type: ignore[arg-type]
    height, width = plain.shape[:2]
    np.testing.assert_array_equal(stamped[:height, :width], plain)
    below = stamped[height:]
    red = (below[..., 0] > 0.6) & (below[..., 1] < 0.3) & (below[..., 2] < 0.3)
    assert below.shape[0] > 40
    assert red.any(axis=1).sum() > 12, "its letters are as high as they are read"
    assert red.any(axis=0).sum() > 0.3 * width
    assert not red[:, -5:].any(), "it ends before the picture does"
    assert f"<!-- {stamp} -->".encode() in render_figure(draw(), "svg", stamp)  # type: ignore[arg-type]
