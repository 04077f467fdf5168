"""The exhibits of "Significant Improvements over the State of the Art?" (SIGIR 2021), both versions."""

from dataclasses import replace

from prefjudge.evaluation.outcomes import Outcomes
from prefjudge.evaluation.tests import Significance
from prefjudge.show.statistics import naive_table, outcomes_table
from prefjudge.steps.reproduce.benchmarking import progress
from prefjudge.steps.reproduce.exhibits import Exhibit, Made, Paper
from prefjudge.steps.reproduce.material import Material
from prefjudge.steps.reproduce.needs import CannotMakeError, Need


def _rows(material: Material) -> list[tuple[Significance, Outcomes]]:
    found = material.compared.comparisons
    rows = [(one.significance, row) for one in found for row in one.outcomes]
    if not rows:
        raise CannotMakeError("; ".join(filter(None, (one.no_outcomes for one in found))) or "no outcomes")
    return rows


def _naive(material: Material) -> Made:
    return Made(tables=(naive_table(_rows(material)),))


def _outcomes(material: Material) -> Made:
    words = [line for one in material.compared.comparisons for line in one.outcome_words]
    return Made(tables=(outcomes_table(_rows(material)),), words=tuple(words[:_SENTENCES]))


_SENTENCES = 12
_COMPARE = "prefjudge compare --runs 'runs/*' --qrels QRELS --measure RR@100"
_LATER = "--baseline R1 --baseline R11 --baseline R12"

SIGNIFICANT_IMPROVEMENTS = Paper(
    name="significant-improvements",
    citation=(
        "Lin, Campos, Craswell, Mitra and Yilmaz: Significant Improvements over the State of the Art? A Case "
        "Study of the MS MARCO Document Ranking Leaderboard. SIGIR 2021. "
        "https://doi.org/10.1145/3404835.3463034"
    ),
    lead="Does a run answer more questions than another, or rank the answers higher?",
    own=(
        "Its own values need the submitted runs R1 to R13 and the qrels of the evaluation queries. Neither "
        "is public."
    ),
    exhibits=(
        Exhibit(
            name="Figure 1",
            shows="the leaderboard over time, with the runs that were the best of their day",
            reading=(
                "Each point is a submission; the red ones were the state of the art of their day. Leave out "
                "--until for your own leaderboard."
            ),
            needs=(Need.LEADERBOARD,),
            command="prefjudge audit LEADERBOARD.csv --until 2021-04-30 --plot figure-1.svg",
            own=(
                "The CSV of the document leaderboard is public: up to that day, 13 submissions were the best "
                "of their day, the paper's R1 to R13."
            ),
            make=progress,
        ),
        Exhibit(
            name="Table 1",
            shows="three tests of the reciprocal ranks over all queries",
            reading=(
                "Raw p-values of the Wilcoxon rank-sum and signed-rank tests and the t test: all three "
                "treat a missing answer as rank infinity, which the paper argues against."
            ),
            needs=(Need.RUNS, Need.QRELS),
            command=f"{_COMPARE} {_LATER} --out table.tex      # in table.reciprocal-ranks.tex",
            make=_naive,
        ),
        Exhibit(
            name="Table 2",
            shows="the outcomes of each pair of runs: neither answers, one answers, both answer",
            reading=(
                "First how often only one of the runs answers, with a binomial test; then, where both "
                "answer, how much further down the answer is, in expected search length."
            ),
            needs=(Need.RUNS, Need.QRELS),
            command=f"{_COMPARE} {_LATER} --out table.tex      # in table.outcomes.tex",
            make=_outcomes,
        ),
    ),
)


def _earlier(exhibit: Exhibit) -> Exhibit:
    """Return an exhibit as the preprint has it, which ends in mid-February 2021 with R10."""
    return replace(
        exhibit,
        command=exhibit.command.replace("2021-04-30", "2021-02-15").replace(
            _LATER, "--baseline R1 --baseline R9"
        ),
        own=exhibit.own.replace("13", "10"),
        make=None,
    )


PREPRINT = replace(
    SIGNIFICANT_IMPROVEMENTS,
    name="significant-improvements, preprint",
    citation=(
        "Lin, Campos, Craswell, Mitra and Yilmaz: Significant Improvements over the State of the Art? "
        "Preprint, February 2021. https://arxiv.org/abs/2102.12887"
    ),
    lead="The same for the runs R1 to R10; `reproduce significant-improvements` makes it, too.",
    own=SIGNIFICANT_IMPROVEMENTS.own.replace("R13", "R10"),
    exhibits=tuple(map(_earlier, SIGNIFICANT_IMPROVEMENTS.exhibits)),
)
