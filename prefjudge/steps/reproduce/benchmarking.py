"""The exhibits of "MS MARCO: Benchmarking Ranking Models in the Large-Data Regime" (SIGIR 2021)."""

from functools import partial

from prefjudge.evaluation.measures.measures import score_lists
from prefjudge.evaluation.stability import SHARES_FROM, RankStability, in_the_middle
from prefjudge.show.plots import plot_conditions, plot_progress, plot_ranks
from prefjudge.show.statistics import (
    agreement_matrix,
    conditions_table,
    institutions_table,
    shares_table,
    top_table,
)
from prefjudge.show.studies import result_lists_table
from prefjudge.steps.reproduce.exhibits import Exhibit, Made, Paper
from prefjudge.steps.reproduce.material import Material
from prefjudge.steps.reproduce.needs import CannotMakeError, Need

_RUNS, _QRELS = "--runs 'runs/*'", "--qrels QRELS"


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
                highlight=material.given.highlight,
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


def _top_ranks(material: Material) -> Made:
    return Made(tables=(top_table(*_drawn(material)[0]),))


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


def _institutions(material: Material) -> Made:
    return Made(tables=(institutions_table(material.audited.audit),))


def _result_lists(material: Material) -> Made:
    return Made(tables=(result_lists_table(score_lists("RR@10")),))


def _agreement(material: Material) -> Made:
    return Made(tables=tuple(agreement_matrix(one) for one in material.agreed.agreements))


BENCHMARKING = Paper(
    name="benchmarking",
    citation=(
        "Craswell, Mitra, Yilmaz, Campos and Lin: MS MARCO: Benchmarking Ranking Models in the Large-Data "
        "Regime. SIGIR 2021. https://doi.org/10.1145/3404835.3462804"
    ),
    lead="Is a leaderboard stable, do held-out queries agree with it, and what do its tests say?",
    own=(
        "Its own values need all submitted runs of both leaderboards and the qrels of the evaluation "
        "queries. Neither is public."
    ),
    exhibits=(
        Exhibit(
            name="Figure 1",
            shows="the leaderboard over time",
            reading=(
                "Each point is a submission; a red one beat everything before it. --highlight WORD uses a "
                "second colour for submissions with the word in their description."
            ),
            needs=(Need.LEADERBOARD,),
            command="prefjudge audit LEADERBOARD.csv --highlight BERT --plot figure-1.svg",
            own="The CSVs of both leaderboards are public: one command for each panel.",
            make=progress,
        ),
        Exhibit(
            name="Figure 2",
            shows="a ranker's effectiveness by the number of its training queries",
            reading="",
            impossible=(
                "It is quoted from another paper, about training one ranker on more and more data. It needs "
                "the runs of such rankers."
            ),
        ),
        Exhibit(
            name="Table 1",
            shows="how often the first five runs take the first five ranks",
            reading=(
                "A row is a run of the leaderboard, a column a rank: the share of trials in which the run "
                "took it. Each trial draws the queries with replacement."
            ),
            needs=(Need.RUNS, Need.QRELS),
            command=f"prefjudge stability {_RUNS} {_QRELS} --measure RR@100 --out table-1.tex",
            make=_top_ranks,
        ),
        Exhibit(
            name="Table 2",
            shows="the same under another measure, label set or part of the queries",
            reading="As Table 1; the paper has its second leaderboard here.",
            needs=(Need.RUNS, Need.QRELS),
            command=f"prefjudge stability {_RUNS} {_QRELS} --measure nDCG@10 --out table-2.tex",
            make=_top_ranks_of_others,
        ),
        Exhibit(
            name="Figure 3",
            shows="all ranks of all runs under bootstrapping",
            reading="The darker a cell, the more often the run (row) took the rank (column).",
            needs=(Need.RUNS, Need.QRELS),
            command=f"prefjudge stability {_RUNS} {_QRELS} --measure RR@100 --plot figure-3.svg",
            make=_all_ranks,
        ),
        Exhibit(
            name="Figure 4",
            shows="the ranks of a few runs, by measure, label set, and public or private queries",
            reading=(
                "Each panel is a condition. A run that is ahead on the public queries and falls back on the "
                "private (held-out) ones may fit the public ones too well. --draw chooses the runs. From and "
                "to are here the paper's, the middle 95 % of its trials; the command has those of `score`."
            ),
            needs=(Need.RUNS, Need.QRELS, Need.HELD_OUT),
            command=(
                f"prefjudge stability {_RUNS} --qrels sparse=QRELS --qrels graded=NIST --measure RR@100 "
                "--measure nDCG@10 --held-out QUERIES --draw RUN --plot figure-4.svg"
            ),
            make=_conditions_compared,
        ),
        Exhibit(
            name="Section 3.3",
            shows="submissions by institution",
            reading="Who submitted most often; many submissions of one institution may overfit the queries.",
            needs=(Need.LEADERBOARD,),
            command="prefjudge audit LEADERBOARD.csv",
            own="The CSVs of both leaderboards are public.",
            make=_institutions,
        ),
        Exhibit(
            name="Table 3",
            shows="the reciprocal rank of every list of three results",
            reading="The values are not equally far apart: reciprocal rank is not an interval scale here.",
            own="The paper's own values: it needs no data.",
            make=_result_lists,
        ),
        Exhibit(
            name="Table 4",
            shows="how often random halves of the queries agree on pairs of runs, by test",
            reading=(
                "Agree: both halves say the same about the pair. Partly: only one half finds it significant, "
                "and the other half's difference has the same sign. Disagree: they contradict each other."
            ),
            needs=(Need.RUNS, Need.QRELS),
            command=(
                f"prefjudge agreement {_RUNS} {_QRELS} --measure RR@100 --measure nDCG@10 --out table-4.tex"
            ),
            make=_agreement,
        ),
    ),
)
