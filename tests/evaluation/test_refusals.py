"""Every refusal of the evaluation, word for word: what was wrong, and what to do about it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from prefjudge.core.runs import Order, Scores
from prefjudge.errors import InputError
from prefjudge.evaluation.agreement import split_half
from prefjudge.evaluation.boards import leaderboard
from prefjudge.evaluation.correlation import correlate
from prefjudge.evaluation.intervals import to_grid
from prefjudge.evaluation.measures.measures import Measure, score_lists, score_matrix
from prefjudge.evaluation.measures.placings import relabel
from prefjudge.evaluation.measures.preferences import PreferenceMeasure
from prefjudge.evaluation.outcomes import outcomes_of_pairs, to_positions
from prefjudge.evaluation.stability import bootstrap_ranks, redraw_votings
from prefjudge.evaluation.submissions import Rules, audit
from prefjudge.evaluation.tests import Correction, check_resamples, compare_runs
from prefjudge.evaluation.winratios import named_count, named_runs, win_ratios

from .judging import make_heads, make_judgments
from .samples import make_qrels, make_ranks
from .test_leaderboard import scores_of
from .test_submissions import entry

TWO = scores_of({"a": [1, 0.5, 0.25], "b": [0.5, 0.5, 1]})
NO_QUERY = TWO.where(np.zeros(3, dtype=np.bool_))
ONE_QUERY = TWO.where(np.arange(3) < 1)
ALONE = scores_of({"a": [1, 0.5]})
QRELS = make_qrels({"1": {"d": 1}}, "nist")
RUN = make_ranks({"1": {"d": 1.0}}, QRELS, "r")
BOTH = win_ratios(make_judgments([]), make_heads({"r": {"1": ["d"]}, "s": {"1": ["e"]}}))
FAMILIES = (
    "RR, nDCG, alpha_nDCG, AP, P, R, Success, NCG, Judged, ERR, RBP, ESL, Rprec, Bpref, Compat, GMAP, infAP, "
    "IPrec, INST, NumRet, NumRel, SetP, SetR, SetF"
)
MEASURES = f"Measures: {FAMILIES}; written like RR@10 or AP(rel=2)@100."
PREFERENCES = "Measures: ppref, rpref, wpref, nwpref, APpref, PGC; like ppref@10."


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def compare(scores: Scores = TWO, **options: object) -> object:
    return compare_runs(scores, rng=rng(), **options)  # type: ignore[arg-type]


def queries(count: int, runs: int = 2) -> Scores:
    values = np.random.default_rng(1).random((runs, count))
    return scores_of({f"r{run}": row.tolist() for run, row in enumerate(values)})


REFUSALS: list[tuple[Callable[[], object], str, str]] = [
    (
        lambda: split_half(queries(3), rng=rng()),
        "3 queries, 2 runs and 100 splits",
        "Agreement needs at least 4 queries, 2 runs, 1 split.",
    ),
    (
        lambda: split_half(queries(4), splits=0, rng=rng()),
        "4 queries, 2 runs and 0 splits",
        "Agreement needs at least 4 queries, 2 runs, 1 split.",
    ),
    (
        lambda: split_half(queries(4, runs=1), splits=1, rng=rng()),
        "4 queries, 1 run and 1 split",
        "Agreement needs at least 4 queries, 2 runs, 1 split.",
    ),
    (
        lambda: audit([entry("20210105-b"), entry("20210104-a")], until=date(2021, 1, 3)),
        "2021-01-03 is before the first submission",
        "Name a day from 2021-01-04 on.",
    ),
    (lambda: Rules(limit=0), "limit is 0", "It is 1 or more."),
    (lambda: Rules(days=0), "days is 0", "It is 1 or more."),
    (lambda: Rules(alike=1.01), "alike is 1.01", "It is a likeness from 0 to 1, such as 0.9."),
    (lambda: Rules(alike=-0.01), "alike is -0.01", "It is a likeness from 0 to 1, such as 0.9."),
    (
        lambda: relabel([RUN], QRELS, make_qrels({"1": {"d": 1, "x": 1, "y": 0}}, "new")),
        "the qrels 'new' label 2 documents that the runs were not ranked against, such as x of query 1",
        "Rank the runs against all documents that can be labelled.",
    ),
    (
        lambda: check_resamples(0, 1, 0.05, Correction.NONE),
        "0 resamples: nothing would be drawn",
        "Give 1 or more.",
    ),
    (
        lambda: check_resamples(100, 45, 0.05, Correction.HOLM),
        "100 resamples cannot show significance at 0.05 for 45 pairs after holm: the smallest adjusted "
        "p-value they can give is 0.446",  # 45 / 101
        "Use at least 899 resamples, or a test that needs none (t).",
    ),
    (
        lambda: check_resamples(18, 1, 0.05, Correction.NONE),
        "18 resamples cannot show significance at 0.05 for 1 pair after none: the smallest adjusted "
        "p-value they can give is 0.0526",  # 1 / 19
        "Use at least 19 resamples, or a test that needs none (t).",
    ),
    (
        lambda: check_resamples(9, 1000, 0.05, Correction.BONFERRONI),
        "9 resamples cannot show significance at 0.05 for 1,000 pairs after bonferroni: the smallest "
        "adjusted p-value they can give is 1",
        "Use at least 19,999 resamples, or a test that needs none (t).",
    ),
    (
        lambda: correlate(leaderboard(scores_of({"a": [1]})), leaderboard(scores_of({"b": [1]}, "P@5"))),
        "the leaderboards RR@10 q and P@5 q have no run in common",
        "",
    ),
    (
        lambda: Measure.parse("ERR").score(RUN, make_qrels({"1": {"d": 4.5}})),
        "a grade is 4.5, above ERR's scale of 0 to 4",
        "Name the highest grade of the scale: ERR(max=5), with the cut-off behind.",
    ),
    (
        lambda: to_grid(np.array([[1.0, 0.0], [0.0, np.inf]])),
        "row 1, column 1 of the query x run matrix is not a finite number",
        "Statistics need a finite score for every query and run; a query that a run missed scores 0.",
    ),
    (
        lambda: score_matrix([], QRELS, Measure.parse("RR")),
        "there is no run to score",
        "Give at least one run file.",
    ),
    (
        lambda: score_matrix([RUN], make_qrels({}, "empty"), Measure.parse("RR")),
        "the qrels 'empty' hold no judged query",
        "Give qrels with at least one row.",
    ),
    (
        lambda: score_matrix(
            [RUN, replace(RUN, run="s"), RUN, replace(RUN, run="s")], QRELS, Measure.parse("RR")
        ),
        "two runs share a tag: r, s",
        "Rename one, so that a row of the result is one run.",
    ),
    (
        lambda: score_matrix([RUN, replace(RUN, run="s", order=Order.RANK)], QRELS, Measure.parse("RR")),
        "the runs were ranked by different orders: rank, score",
        "Read all of them by one order.",
    ),
    (lambda: outcomes_of_pairs(TWO, [("c", "a")]), "no run is called 'c'", "Choose one of: a, b."),
    (
        lambda: outcomes_of_pairs(ONE_QUERY, [("a", "b")]),
        "1 judged query",
        "Give at least two judged queries.",
    ),
    (
        lambda: outcomes_of_pairs(NO_QUERY, [("a", "b")]),
        "0 judged queries",
        "Give at least two judged queries.",
    ),
    (
        lambda: to_positions(scores_of({"a": [0.4]}, "nDCG@10")),
        "nDCG@10 is not a reciprocal rank",
        "The outcome breakdown needs the position of the first relevant document: use RR, as RR@100.",
    ),
    (
        lambda: to_positions(scores_of({"a": [-1.0, 1.0]})),
        "RR@10 is not a reciprocal rank",
        "The outcome breakdown needs the position of the first relevant document: use RR, as RR@100.",
    ),
    (lambda: PreferenceMeasure.parse("pref@5"), "unknown preference measure 'pref@5'", PREFERENCES),
    (lambda: PreferenceMeasure.parse("PGC@5"), "measure 'PGC@5' takes no cut-off", "Write PGC(p=0.8)."),
    (
        lambda: PreferenceMeasure.parse("rpref(p=.5)"),
        "measure 'rpref(p=.5)' has no parameter 'p'",
        "Write rpref@10.",
    ),
    (
        lambda: PreferenceMeasure.parse("APpref@0"),
        "measure 'APpref@0' cuts the ranking off before its first document",
        "Start at 1.",
    ),
    *(
        (
            lambda depth=depth: score_lists(depth=depth),
            f"lists of {depth} documents",
            "Ask for 1 to 12: there are 2 to that power.",
        )
        for depth in (0, 13)
    ),
    (lambda: compare(alpha=0.0), "alpha is 0", "Give a level between 0 and 1, such as 0.05."),
    (lambda: compare(alpha=1.0), "alpha is 1", "Give a level between 0 and 1, such as 0.05."),
    (lambda: compare(ONE_QUERY), "1 judged query for RR@10", "Give at least two judged queries."),
    (lambda: compare(NO_QUERY), "0 judged queries for RR@10", "Give at least two judged queries."),
    (lambda: compare(ALONE), "1 run to compare", "Give at least two runs."),
    (lambda: compare(baseline=["a", "c"]), "no run is called 'c'", "Choose one of: a, b."),
    (
        lambda: compare(test="z"),
        "unknown test: 'z'",
        "Choose one of: t, wilcoxon, rank-sum, sign, permutation, sequential.",
    ),
    (
        lambda: compare(correction="z"),
        "unknown correction: 'z'",
        "Choose one of: none, bonferroni, holm.",
    ),
    (
        lambda: compare(queries(20, runs=240), test="permutation"),
        "28,680 pairs after holm need some 1,147,198 resamples",
        "Use the t test, or compare fewer runs.",
    ),
    (lambda: bootstrap_ranks(TWO, trials=0, rng=rng()), "0 trials", "Ask for at least one."),
    (
        lambda: bootstrap_ranks(ONE_QUERY, rng=rng()),
        "2 runs and 1 judged query under q",
        "To ask for ranks under other queries takes a run and at least two queries.",
    ),
    (
        lambda: bootstrap_ranks(replace(TWO, runs=(), values=np.zeros((3, 0))), rng=rng()),
        "0 runs and 3 judged queries under q",
        "To ask for ranks under other queries takes a run and at least two queries.",
    ),
    (lambda: named_runs(BOTH, ["r", "t"]), "there is no run 't' to show", "Choose one of: r, s."),
    (lambda: named_count("all"), "'all' is not a way to count", "Choose majority or votes."),
    (
        lambda: win_ratios(make_judgments([]), make_heads({"r": {"1": ["d"]}})),
        "win ratios compare runs, and there is only one",
        "Give at least two runs that were pooled, or one and qrels.",
    ),
    *(
        (lambda text=text: Measure.parse(text), message, hint)
        for text, message, hint in (
            ("ndgc@10", "unknown measure 'ndgc@10'", f"Did you mean nDCG or alpha_nDCG or NCG? {MEASURES}"),
            ("MMR@10", "unknown measure 'MMR@10'", f"Did you mean RR or R or GMAP? {MEASURES}"),
            ("RR@-3", "unknown measure 'RR@-3'", f"Did you mean RR or ERR or R? {MEASURES}"),
            *((text, f"unknown measure '{text}'", MEASURES) for text in ("zzzz", "a" * 200 + "!")),
            ("P", "measure 'P' needs a cut-off", "Write for instance P@10."),
            ("ndcg_cut", "measure 'ndcg_cut' needs a cut-off", "Write for instance nDCG@10."),
            ("map_cut", "measure 'map_cut' needs a cut-off", "Write for instance AP@10."),
            ("Rprec@5", "measure 'Rprec@5' takes no cut-off", "Write Rprec."),
            ("RR@0", "measure 'RR@0' cuts the ranking off before its first document", "Start at 1."),
            ("AP(2)@5", "measure 'AP(2)@5': '2' is not written name=value", ""),
            (
                "RBP(q=1)",
                "measure 'RBP(q=1)' has no parameter 'q'",
                "RBP takes p, max_rel, rel, judged_only.",
            ),
            ("NCG(q=1)@5", "measure 'NCG(q=1)@5' has no parameter 'q'", "NCG takes gains, judged_only."),
            (
                "nDCG(dcg=ln)",
                "measure 'nDCG(dcg=ln)': dcg must be 'log2' or 'exp-log2', not 'ln'",
                "By default it is nDCG(dcg='log2').",
            ),
            (
                "AP(rel=x)",
                "measure 'AP(rel=x)': rel must be a number, not 'x'",
                "By default it is AP(rel=1).",
            ),
            (
                "AP(rel=inf)",
                "measure 'AP(rel=inf)': rel must be a number, not 'inf'",
                "By default it is AP(rel=1).",
            ),
            (
                "ERR(max=0)",
                "measure 'ERR(max=0)': max must be a number above 0, not '0'",
                "By default it is ERR(max=4).",
            ),
            *(
                (
                    f"RBP(p={value})",
                    f"measure 'RBP(p={value})': p must be a number between 0 and 1, both excluded, "
                    f"not '{value}'",
                    "By default it is RBP(p=0.8).",
                )
                for value in ("x", "1", "0", "nan")
            ),
            (
                "rbp.0",
                "measure 'rbp.0': p must be a number between 0 and 1, both excluded, not '0.0'",
                "By default it is RBP(p=0.8).",
            ),
        )
    ),
]


@pytest.mark.parametrize(
    ("call", "message", "hint"), REFUSALS, ids=[f"{row}-{case[1][:40]}" for row, case in enumerate(REFUSALS)]
)
def test_a_refusal_says_what_was_wrong_and_what_to_do(
    call: Callable[[], object], message: str, hint: str
) -> None:
    with pytest.raises(InputError) as refused:
        call()
    assert (refused.value.message, refused.value.hint) == (message, hint)


def test_what_is_just_allowed_is_not_refused() -> None:
    assert split_half(queries(4), splits=1, rng=rng()).splits == 1
    assert Rules(limit=1, days=1, alike=0.0).alike == 0
    assert Rules(alike=1.0).alike == 1
    entries = [entry("20210104-a"), entry("20210105-b")]
    assert audit(entries, until=date(2021, 1, 4)).submissions == 1
    check_resamples(1, 1, 0.5, Correction.NONE)
    check_resamples(19, 1, 0.05, Correction.NONE)
    assert Measure.parse("ERR").score(RUN, make_qrels({"1": {"d": 4}})).shape == (1,)
    assert len(score_lists(depth=12).lists) == 4096
    assert len(score_lists(depth=1).lists) == 2
    assert compare(queries(2), test="t") is not None
    assert bootstrap_ranks(queries(30), trials=1, rng=rng()).trials == 1
    assert len(redraw_votings(lambda one: ([TWO], [TWO], [TWO]), [TWO], rng=rng())) == 1
    assert len(outcomes_of_pairs(TWO.where(np.arange(3) < 2), [("a", "b")])) == 1
    assert str(PreferenceMeasure.parse("rpref@1")) == "rpref@1"
    assert str(Measure.parse("RR@1")) == "RR@1"
