"""Plots of one run's top passages against the qrels (shallow pooling, section 3)."""

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from prefjudge.counts import many
from prefjudge.evaluation.comparing.examples import Example
from prefjudge.evaluation.comparing.top_against_qrel import TopAgainstQrel
from prefjudge.render.plots.figures import BLUE, INK, MUTED, ORANGE, drawing
from prefjudge.render.text.plain_text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PARTS = (
    ("disagreed on the top passage; the run's is preferred", ORANGE),
    ("disagreed on the top passage; the qrel is preferred", BLUE),
    ("agreed on the top passage; the second is preferred", "#f3c78e"),
    ("agreed on the top passage; it is preferred", "#9dc1e6"),
)
"""The parts in the order of `TopAgainstQrel.shares`; orange wherever people prefer another than the qrel."""


def plot_shares(result: TopAgainstQrel) -> "Figure":
    """Draw the four outcomes as shares of the decided queries (Figure 2)."""
    decided = sum(part.qrel + part.rival for part in (result.a, result.b))
    with drawing(7, 2.5) as (figure, axes):
        left = 0.0
        for share, (words, color) in zip(result.shares, _PARTS, strict=True):
            if not decided:
                continue
            label = f"{100 * share:.2f} %  run and qrel {words}"
            axes.barh([0], [100 * share], left=left, color=color, height=0.7, edgecolor="white", label=label)
            if share >= 0.06:
                dark = color in (ORANGE, BLUE)
                axes.text(
                    left + 50 * share, 0, f"{100 * share:.2f}%", ha="center", va="center",
                    fontsize=9, color="white" if dark else INK,
                )  # fmt: skip
            left += 100 * share
        axes.set_xlim(0, 100)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(f"% of {many(decided, 'decided query')}")
        axes.set_title(printable(f"The qrel against the top results of {result.run}"))
        if decided:
            # below the axes, and not of the figure: a stamp below that would be printed over it
            axes.legend(loc="upper left", bbox_to_anchor=(-0.01, -0.42), fontsize=8)
    return figure


_WIDTH = 96
_MOST = 700
"""Characters of a passage that are shown."""


def example_lines(examples: Sequence[Example]) -> list[tuple[str, bool, bool]]:
    """Return the lines of Figure 1, and whether each belongs to a question and to a preferred passage."""
    lines: list[tuple[str, bool, bool]] = []
    for number, one in enumerate(examples, 1):
        sides = ("qrel", "non-qrel") if one.qrel_preferred else ("non-qrel", "qrel")
        question = wrap(printable(f"{number}) query {one.query}: {one.query_text}"), _WIDTH - 14)
        best = _passage(f"preferred {sides[0]}", one.preferred, one.preferred_text)
        other = _passage(sides[1], one.other, one.other_text)
        lines += [(words, True, False) for words in question]
        lines += [(words, False, True) for words in best]
        lines += [(words, False, False) for words in [*other, ""]]
    return lines


def plot_examples(examples: Sequence[Example]) -> "Figure":
    """Set examples as a picture, the preferred passage first (Figure 1)."""
    lines = example_lines(examples)
    with drawing(7.6, 0.3 + 0.165 * len(lines)) as (figure, axes):
        axes.set_axis_off()
        axes.set_ylim(len(lines) + 0.5, 0)
        axes.set_xlim(0, 1)
        for place, (words, question, preferred) in enumerate(lines, 1):
            text = axes.text(
                0, place, words, fontsize=8.2, va="center", color=INK if question or preferred else MUTED,
                fontweight="bold" if question else "normal",
            )  # fmt: skip
            text.set_in_layout(False)  # the lines are as wide as the picture
    return figure


def _passage(kind: str, doc: str, text: str) -> list[str]:
    shown = " ".join(text.split())
    shown = shown if len(shown) <= _MOST else shown[:_MOST].rsplit(" ", 1)[0] + " …"
    return wrap(printable(f"{kind} passage {doc}: {shown}"), _WIDTH)
