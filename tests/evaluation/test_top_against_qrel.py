import numpy as np

from prefjudge.core.pools import TopSplit, pool_top_pairs, pooled_qrels
from prefjudge.core.runs import restrict_documents
from prefjudge.evaluation.winratios import draw_examples, top_against_qrel, win_ratios
from prefjudge.show.boards import categories_table, preferred_table
from prefjudge.show.cells import write_cell

from .judging import Vote, make_heads, make_judgments
from .samples import make_qrels

HEADS = make_heads(
    {
        "other": {"1": ["x", "y"]},
        "duo": {
            "1": ["q1", "second"],
            "2": ["top", "q2"],
            "3": ["q3"],
            "4": ["top", "second"],
            "5": ["q5", "second"],
            "6": ["top", "x"],
            "8": ["unlabelled", "x"],
        },
    }
)
QRELS = make_qrels(
    {
        **{str(n): {f"q{n}": 1} for n in range(1, 6)},
        "6": {"low": 1, "q6": 2, "late": 2},
        "7": {"q7": 1},
        "9": {"q9": 0},
    }
)


def test_tables_1_and_2_and_figure_2() -> None:
    votes: list[Vote] = [
        ("1", "q1", "second", 1),
        ("2", "top", "q2", 1),
        ("2", "top", "q2", 1),
        ("2", "q2", "top", 1),
        ("4", "q4", "top", 1),
        ("5", "second", "q5", 1),
        ("5", "second", "q5", -1),
        ("6", "low", "top", 1),
    ]
    result = top_against_qrel(make_judgments(votes), HEADS, QRELS, "duo")
    assert (result.a.queries, result.a.qrel, result.a.rival, result.a.tied, result.a.unjudged) == (
        3,
        1,
        0,
        1,
        0,
    )
    assert (result.a.no_rival, result.b.no_rival, result.not_retrieved) == (1, 0, 1)
    assert (result.b.queries, result.b.qrel, result.b.rival, result.b.tied, result.b.unjudged) == (
        3,
        1,
        1,
        0,
        1,
    )
    assert result.shares == (1 / 3, 1 / 3, 0, 1 / 3)
    assert (result.a.rival_ratio, result.b.rival_ratio, result.b.p) == (0, 0.5, 1)


def test_the_papers_own_counts_give_its_figures() -> None:
    def votes_of(category: str, qrel: int, rival: int) -> list[Vote]:
        first = [(f"{category}{n}", "qrel", "rival", 1 if n < qrel else -1) for n in range(qrel + rival)]
        return [(query, left, right, choice) for query, left, right, choice in first]

    votes = votes_of("a", 1228, 640) + votes_of("b", 2116, 2996)
    top = {query: ["qrel", "rival"] if query.startswith("a") else ["rival", "qrel"] for query, *_ in votes}
    result = top_against_qrel(
        make_judgments(votes),
        make_heads({"duo": top}),
        make_qrels({query: {"qrel": 1} for query in top}),
        "duo",
    )
    assert [round(100 * share, 2) for share in result.shares] == [42.92, 30.32, 9.17, 17.59]
    assert round(100 * (1 - result.a.rival_ratio), 1) == 65.7
    assert round(100 * result.b.rival_ratio, 1) == 58.6
    assert result.b.p < 1e-30


def test_without_judgments_there_are_no_shares() -> None:
    result = top_against_qrel(make_judgments([]), HEADS, QRELS, "duo")
    assert np.isnan(result.shares).all()
    assert result.b.unjudged == 3


def test_no_query_is_lost_where_the_run_is_cut_or_misses_one() -> None:
    votes: list[Vote] = [("2", "top", "q2", 1)]
    cut = make_heads({"duo": {"1": ["q1"], "2": ["top"], "3": ["q3"], "4": ["top"], "5": ["q5"]}})
    result = top_against_qrel(make_judgments(votes), cut, QRELS, "duo")
    assert result.split == TopSplit(a=3, b=2, no_rival=3, not_retrieved=2)
    table = categories_table(result.split, "duo")
    shares = [write_cell(row[2], table.columns[2]) for row in table.rows]
    assert shares == ["42.86%", "28.57%", "28.57%", "100.00%"]
    counted = {row[0]: row[1:] for row in preferred_table(result).rows}
    assert counted["no rival: the run returned the qrel alone"] == (3, 0)
    for column in (0, 1):  # the parts of each category are its whole
        *parts, total = (counts[column] for counts in counted.values())
        assert sum(int(str(part)) for part in parts) == total


def test_the_analysis_means_the_qrel_that_was_pooled() -> None:
    qrels = make_qrels({"1": {"textless": 1, "q1": 1}, "2": {"silent": 1, "q2": 1}})
    heads = make_heads({"duo": {"1": ["q1", "second"], "2": ["top", "x"]}})
    shown = restrict_documents(qrels, {"q1", "second", "q2", "top"})
    pools = pool_top_pairs(heads, shown)
    judged = pooled_qrels(qrels, pools, qrels.name)
    log = make_judgments([("1", "q1", "second", 1), ("2", "top", "q2", 1)])
    result = top_against_qrel(log, heads, judged, "duo")
    assert (result.a.queries, result.a.qrel, result.a.unjudged) == (1, 1, 0)
    assert (result.b.queries, result.b.rival, result.b.unjudged) == (1, 1, 0)
    perfect = win_ratios(log, heads, judged).pairs[0]
    assert (perfect.wins_b, perfect.same, perfect.unjudged) == (1, 1, 0)
    assert top_against_qrel(log, heads, qrels, "duo").b.unjudged == 2  # the file's first, which nobody saw
    assert pooled_qrels(qrels, pools, "other") is qrels


def test_examples_come_from_both_outcomes_and_from_the_seed() -> None:
    votes: list[Vote] = [
        ("1", "q1", "second", 1), ("5", "second", "q5", 1), ("5", "second", "q5", 1),
        ("5", "second", "q5", -1), ("2", "top", "q2", 1), ("4", "q4", "top", 1),
    ]  # fmt: skip
    log = make_judgments(votes)
    drawn = [
        draw_examples(log, HEADS, QRELS, "duo", count=2, rng=np.random.default_rng(seed))
        for seed in (1, 1, 2, 3, 4)
    ]
    assert drawn[0] == drawn[1]
    assert len({tuple(one.query for one in each) for each in drawn}) > 1
    for each in drawn:
        assert {one.qrel_preferred for one in each} == {True, False}
    everything = draw_examples(log, HEADS, QRELS, "duo", count=9, rng=np.random.default_rng(0))
    found = {one.query: one for one in everything}
    assert {*found} == {"1", "2", "4", "5"}
    five = found["5"]
    assert (five.preferred, five.other, five.category, five.votes_for, five.votes_against) == (
        "second", "q5", "A", 2, 1,
    )  # fmt: skip


def test_examples_are_told_as_the_votes_were() -> None:
    votes: list[Vote] = [
        ("1", "q1", "second", 1), ("1", "second", "q1", -1), ("1", "second", "q1", 1),
        ("2", "top", "q2", 1), ("4", "q4", "top", 1), ("4", "q4", "top", -1),
    ]  # fmt: skip
    drawn = draw_examples(make_judgments(votes), HEADS, QRELS, "duo", rng=np.random.default_rng(0))
    told = {
        (
            one.query,
            one.category,
            one.preferred,
            one.other,
            one.qrel_preferred,
            one.votes_for,
            one.votes_against,
        )
        for one in drawn
    }
    assert told == {("1", "A", "q1", "second", True, 2, 1), ("2", "B", "top", "q2", False, 1, 0)}
    assert {one.query_text + one.preferred_text + one.other_text for one in drawn} == {""}
