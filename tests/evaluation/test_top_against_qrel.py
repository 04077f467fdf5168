import numpy as np
import pytest

from prefjudge.core.pairs import all_pairs
from prefjudge.core.pools import build_duels
from prefjudge.errors import InputError
from prefjudge.evaluation.top_against_qrel import top_against_qrel, top_pairs

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


def test_the_pairs_of_section_3() -> None:
    pairs = top_pairs(HEADS, QRELS, "duo")
    found = {
        pairs.queries[query]: (pairs.docs[qrel], pairs.docs[rival], bool(agreed))
        for query, qrel, rival, agreed in zip(pairs.query, pairs.qrel, pairs.rival, pairs.agreed, strict=True)
    }
    assert found == {
        "1": ("q1", "second", True),
        "2": ("q2", "top", False),
        "4": ("q4", "top", False),
        "5": ("q5", "second", True),
        "6": ("q6", "top", False),
    }
    assert top_pairs(HEADS, QRELS, "duo", queries={"1"}).query.size == 1


def test_the_pool_of_this_design_asks_for_exactly_these_pairs() -> None:
    heads = make_heads(
        {"duo": {"1": ["q1", "second"], "2": ["top", "q2"], "3": ["q3"], "8": ["unlabelled", "x"]}}
    )
    pools = build_duels(heads, QRELS)
    assert pools.queries == ("1", "2", "3")
    pairs = all_pairs(pools)
    asked = {
        (pairs.queries[query], pairs.docs[a], pairs.docs[b])
        for query, a, b in zip(pairs.query, pairs.doc_a, pairs.doc_b, strict=True)
    }
    wanted = top_pairs(heads, QRELS, "duo")
    assert asked == {
        (wanted.queries[query], *sorted([wanted.docs[qrel], wanted.docs[rival]]))
        for query, qrel, rival in zip(wanted.query, wanted.qrel, wanted.rival, strict=True)
    }
    givers = {
        (pools.docs[pools.doc[row]], pools.sources[source])
        for row, source in zip(pools.source_row, pools.source, strict=True)
    }
    assert {("q1", "duo"), ("q1", "q"), ("second", "duo"), ("q2", "q")} <= givers
    assert ("q2", "duo") not in givers


def test_the_design_is_for_one_run() -> None:
    with pytest.raises(ValueError, match="not of 2 runs"):
        build_duels(HEADS, QRELS)


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
        2,
        1,
        0,
        1,
        0,
    )
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


def test_an_unknown_run_is_refused() -> None:
    with pytest.raises(InputError, match="other, duo"):
        top_pairs(HEADS, QRELS, "duos")
