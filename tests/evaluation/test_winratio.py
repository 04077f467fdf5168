from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.runs import Heads, Qrels, heads_of_judged
from prefjudge.errors import InputError
from prefjudge.evaluation.winratios import (
    WinRatio,
    WinRatios,
    best_runs,
    binomial_p,
    named_count,
    named_runs,
    win_ratios,
)
from prefjudge.show.boards import winratio_list, winratio_matrix
from prefjudge.show.cells import Bold
from prefjudge.show.tables import to_csv

from . import judging
from .judging import Vote, make_judgments
from .samples import make_qrels, make_ranks


def make_heads(tops: dict[str, dict[str, str]]) -> Heads:
    """Turn {run: {query: top document}} into heads, with a second document that must not matter."""
    return judging.make_heads(
        {run: {query: [doc, "second"] for query, doc in top.items()} for run, top in tops.items()}
    )


TOPS = {
    "A": {"1": "x", "2": "x", "3": "x", "4": "x", "5": "x"},
    "B": {"1": "y", "2": "y", "3": "y", "4": "x", "5": "y"},
    "C": {"1": "x", "2": "z"},
}
VOTES: list[Vote] = [
    ("1", "x", "y", 1),
    ("1", "y", "x", 1),
    ("1", "y", "x", -1),  # x by 2 to 1
    ("2", "x", "y", -1),  # y
    ("2", "z", "x", 1),  # z
    ("3", "x", "y", 1),
    ("3", "x", "y", -1),
    ("3", "y", "x", 0),  # undecided
    ("9", "x", "y", 1),  # a query of no run
    ("5", "p", "q", 1),  # a pair of no run
]


def pair(result: WinRatios, a: str, b: str) -> WinRatio:
    return next(one for one in result.pairs if (one.a, one.b) == (a, b))


def test_one_outcome_a_query() -> None:
    result = win_ratios(make_judgments(VOTES), make_heads(TOPS))
    ab, ac, bc = (pair(result, *names) for names in ("AB", "AC", "BC"))
    assert (ab.wins_a, ab.wins_b, ab.ties, ab.same, ab.unjudged) == (1, 1, 1, 0, 1)
    assert (ac.wins_a, ac.wins_b, ac.ties, ac.same, ac.unjudged) == (0, 1, 0, 1, 2)
    assert (bc.wins_a, bc.wins_b, bc.ties) == (0, 1, 0)
    assert result.wins == {"A": 0, "B": 0, "C": 2}
    assert result.queries == 4
    assert (ab.p, ac.p, ac.p_bonferroni, ab.ratio) == (1, 1, 1, 0.5)


def test_every_vote_counts_by_itself() -> None:
    ab = pair(win_ratios(make_judgments(VOTES), make_heads(TOPS), count="votes"), "A", "B")
    assert (ab.wins_a, ab.wins_b, ab.ties) == (3, 3, 1)


@pytest.mark.parametrize("count", ["majority", "votes"])
def test_a_vote_on_one_document_alone_wins_nothing(count: Literal["majority", "votes"]) -> None:
    tops = {"A": {"1": "x"}, "B": {"1": "x"}}
    votes: list[Vote] = [("1", "x", "x", 1), ("1", "x", "y", 1)]
    (ab,) = win_ratios(make_judgments(votes), make_heads(tops), count=count).pairs
    assert (ab.wins_a, ab.wins_b, ab.ties, ab.same) == (0, 0, 0, 1)


def test_queries_without_a_judgment_are_not_unjudged() -> None:
    votes = [vote for vote in VOTES if vote[0] == "2"]
    result = win_ratios(make_judgments(votes), make_heads(TOPS))
    assert (result.queries, pair(result, "A", "B").wins_b, pair(result, "A", "B").unjudged) == (1, 1, 0)


def test_the_perfect_ranking_shows_the_best_qrel_and_the_first_among_equals() -> None:
    qrels = make_qrels({"1": {"x": 1, "y": 3}, "2": {"x": 1, "z": 1}, "3": {"x": 0}})
    result = win_ratios(make_judgments(VOTES), make_heads(TOPS), qrels)
    assert result.runs == ("perfect ranking", "A", "B", "C")
    first = pair(result, "perfect ranking", "A")
    assert (first.wins_a, first.wins_b, first.same, first.unjudged) == (0, 1, 1, 2)


def test_without_judgments_nobody_wins() -> None:
    result = win_ratios(make_judgments([]), make_heads(TOPS))
    assert set(result.wins.values()) == {0}
    assert all(one.p == 1 and np.isnan(one.ratio) for one in result.pairs)
    assert "–" not in to_csv(winratio_list(result))


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), min_size=1, max_size=20))
def test_the_binomial_test_is_scipys(counts: list[tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    wins, losses = (np.array(column) for column in zip(*counts, strict=True))
    expected = [stats.binomtest(a, a + b).pvalue if a + b else 1.0 for a, b in counts]
    np.testing.assert_allclose(binomial_p(wins, losses), expected, rtol=1e-9)


queries = st.sampled_from(["1", "2", "3"])
docs = st.sampled_from("wxyz")
votes = st.lists(
    st.tuples(queries, docs, docs, st.sampled_from([-1, 0, 1])).filter(lambda vote: vote[1] != vote[2]),
    max_size=30,
)
tops = st.fixed_dictionaries({run: st.dictionaries(queries, docs) for run in "AB"})


@given(votes, tops, st.booleans())
def test_equals_the_slow_count(votes: list[Vote], tops: dict[str, dict[str, str]], with_qrels: bool) -> None:
    qrels: Qrels | None = make_qrels({"1": {"w": 1}, "2": {"z": 2, "x": 2}}) if with_qrels else None
    everything = dict(tops)
    if with_qrels:
        everything = {"perfect ranking": {"1": "w", "2": "z"}, **tops}
    result = win_ratios(make_judgments(votes), make_heads(tops), qrels)
    for one in result.pairs:
        wins = losses = ties = 0
        for query in "123":
            a, b = everything[one.a].get(query), everything[one.b].get(query)
            net = judged = 0
            for voted, left, right, choice in votes:
                if voted == query and {a, b} == {left, right}:
                    judged += 1
                    net += choice if left == a else -choice
            wins += net > 0
            losses += net < 0
            ties += bool(judged and not net)
        assert (one.wins_a, one.wins_b, one.ties) == (wins, losses, ties)
        assert one.wins_a + one.wins_b + one.ties + one.same + one.unjudged == result.queries


def test_the_matrix_shows_how_the_column_beats_the_row() -> None:
    votes: list[Vote] = [(str(number), "x", "y", 1) for number in range(20)] + [("20", "x", "y", -1)]
    runs = {"A": {str(n): "x" for n in range(21)}, "B": {str(n): "y" for n in range(21)}}
    table = winratio_matrix(win_ratios(make_judgments(votes), make_heads(runs)))
    assert [column.heading for column in table.columns] == ["beaten", "A", "B"]
    assert table.rows == (
        ("A", None, Bold(pytest.approx(1 / 21))),
        ("B", Bold(20 / 21), None),
        ("wins", "1", "0"),
    )


def test_many_runs_are_numbered_so_that_the_matrix_fits() -> None:
    runs = {f"a_run_with_a_long_name_{number}": {"1": "x" if number % 2 else "y"} for number in range(12)}
    table = winratio_matrix(win_ratios(make_judgments([("1", "x", "y", 1)]), make_heads(runs)))
    assert [column.heading for column in table.columns] == ["#", "beaten", *map(str, range(1, 13))]
    assert [column.name for column in table.columns][2:] == list(runs)
    data = winratio_matrix(win_ratios(make_judgments([]), make_heads(runs)), numbered=False)
    assert [row[0] for row in data.rows][:-1] == [column.heading for column in data.columns][1:] == list(runs)
    assert [row[:2] for row in table.rows][:2] == [("1", next(iter(runs))), ("2", list(runs)[1])]


def test_the_best_runs_are_shown_with_the_perfect_ranking_and_counted_over_all() -> None:
    votes: list[Vote] = [("1", better, worse, 1) for better, worse in (("x", "y"), ("x", "z"), ("y", "z"))]
    runs = {"C": {"1": "z"}, "B": {"1": "y"}, "A": {"1": "x"}}
    ratios = win_ratios(make_judgments(votes), make_heads(runs))
    assert best_runs(ratios, 2) == ("B", "A")
    turned = ratios.in_order(["A", "B", "C"])
    assert turned.runs == ("A", "B", "C")
    assert [(one.a, one.b, one.wins_a, one.wins_b) for one in turned.pairs] == [
        ("A", "B", 1, 0),
        ("A", "C", 1, 0),
        ("B", "C", 1, 0),
    ]
    assert named_runs(ratios, ["A", "C", "A"]) == ("A", "C")
    table = winratio_matrix(ratios, shown=best_runs(ratios, 2))
    assert table.rows == (("B", None, 1.0), ("A", 0.0, None), ("wins", "1", "2"))
    assert table.notes[-1] == "2 of 3 runs: winratio --runs-shown chooses."
    with pytest.raises(InputError, match="there is no run 'D' to show"):
        named_runs(ratios, ["D"])


def test_the_matrix_marks_what_is_significant_at_the_level_asked_for() -> None:
    def row(a: str, b: str, wins_a: int, wins_b: int, p: float) -> WinRatio:
        return WinRatio(
            a=a, b=b, wins_a=wins_a, wins_b=wins_b, ties=0, same=0, unjudged=0, p=p / 3, p_bonferroni=p
        )

    result = WinRatios(
        runs=("r", "s", "t"),
        pairs=(row("r", "s", 3, 1, 0.05), row("r", "t", 0, 4, 0.051), row("s", "t", 0, 0, 1.0)),
        wins={"r": 1, "s": 0, "t": 1},
        count="majority",
        queries=4,
    )
    matrix = result.matrix()
    assert matrix.runs == ("r", "s", "t")
    np.testing.assert_array_equal(
        matrix.ratio, [[np.nan, 0.25, 1.0], [0.75, np.nan, np.nan], [0.0, np.nan, np.nan]]
    )
    marked = [[False, True, False], [True, False, False], [False, False, False]]
    assert matrix.significant.tolist() == marked
    assert result.matrix(0.049).significant.sum() == 0
    assert result.matrix(0.051).significant.sum() == 4
    assert [named_count(name) for name in ("majority", "votes")] == ["majority", "votes"]
    assert result.test == "two-sided binomial test, exact"


def test_the_tops_are_told_by_where_the_judged_documents_were_placed() -> None:
    judged = make_qrels({query: dict.fromkeys("xyz", 1) for query in "123459"})
    ranks = [
        make_ranks({query: {doc: 2.0, "unjudged": 1.0} for query, doc in top.items()}, judged, name=run)
        for run, top in TOPS.items()
    ]
    heads = heads_of_judged(ranks, judged)
    assert heads is not None
    log = make_judgments(VOTES)
    assert win_ratios(log, heads) == win_ratios(log, make_heads(TOPS))
    # one run begins a query with what is not judged: its first judged document is not its top
    ranks[2] = make_ranks({"1": {"unjudged": 3.0, "x": 2.0}}, judged, name="C")
    assert heads_of_judged(ranks, judged) is None
