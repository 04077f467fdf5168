"""The progress of a leaderboard as a plot (Craswell et al., SIGIR 2021, Figure 1)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from prefjudge.counts import many
from prefjudge.evaluation.submissions.submissions import Submission
from prefjudge.render.plots.figures import GRID, ORANGE, RED, drawing
from prefjudge.render.text.plain_text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PLAIN = "#aab4c0"


def plot_progress(
    submissions: Sequence[Submission], records: Sequence[str], *, measure: str = "", highlight: str = ""
) -> "Figure":
    """Draw a leaderboard over time; red points beat everything before them.

    Parameters
    ----------
    submissions : sequence of Submission
    records : sequence of str
        The names of those that beat everything before them.
    measure : str
        What they are scored by, for the axis.
    highlight : str
        Submissions whose description contains this, in any case, are orange; nothing for none.
    """
    scored = [one for one in submissions if one.eval is not None]
    best = sorted((one for one in scored if one.name in records), key=lambda one: one.date)
    told = [one for one in scored if highlight and highlight.casefold() in one.description.casefold()]
    rest = [one for one in scored if one not in best and one not in told]
    with drawing(7, 3.8) as (figure, axes):
        for group, color, words in (
            (rest, _PLAIN, "other submissions" if told else "submissions"),
            (
                [one for one in told if one not in best],
                ORANGE,
                f"“{printable(highlight)}” in the description",
            ),
            (best, RED, "best so far"),
        ):
            if group:
                axes.plot(
                    [one.date for one in group], [one.eval for one in group],  # type: ignore[arg-type]
                    "o", color=color, markersize=5 if group is best else 4, label=words,
                )  # fmt: skip
        axes.step(
            [one.date for one in best], [one.eval for one in best],  # type: ignore[arg-type]
            where="post", color=RED, linewidth=1, alpha=0.5, zorder=1,
        )  # fmt: skip
        axes.grid(axis="y", color=GRID)
        axes.set_ylabel(printable(measure) or "score")
        share = f", {len(told)} with “{printable(highlight)}”" if highlight else ""
        axes.set_title(f"{many(len(scored), 'submission')}, {many(len(best), 'record')}{share}")
        axes.legend(loc="lower right")
    return figure
