from math import isnan

import pytest

from prefjudge.core.judgments import Judgments
from prefjudge.core.pools import Pools, build_pools, exclusive_rows
from prefjudge.core.runs import JudgedRanks, Qrels
from prefjudge.evaluation.measures.measures import Measure
from prefjudge.evaluation.stability import (
    LeftOut,
    judged_pools,
    leave_one_out,
    pooled_documents,
    unpooled_documents,
)
from prefjudge.show.boards import left_out_table

from .judging import Vote, make_heads, make_judgments
from .samples import make_qrels, make_ranks

RANKINGS = {
    "L": {"1": ["own", "shared"], "2": ["shared"], "3": ["own"]},
    "M": {"1": ["shared", "own"], "2": ["shared"], "3": ["shared"]},
}
VOTES: list[Vote] = [
    ("1", "own", "shared", 1),
    ("1", "own", "qrel", 1),
    ("1", "qrel", "shared", 1),
    ("3", "shared", "own", 1),
]


def most_wins(judgments: Judgments, pools: Pools) -> Qrels:
    """Label the document of each pool with the most votes, in order of the doc_id."""
    labels: dict[str, dict[str, int]] = {}
    for number, query in enumerate(pools.queries):
        candidates = [pools.docs[doc] for doc in pools.doc[pools.query == number]]
        wins = dict.fromkeys(candidates, 0)
        for q, winner in zip(judgments.query, judgments.winner, strict=True):
            if judgments.queries[q] == query and judgments.docs[winner] in wins:
                wins[judgments.docs[winner]] += 1
        if candidates:
            labels[query] = {max(candidates, key=lambda doc, wins=wins: wins[doc]): 1}  # type: ignore[misc]
    return make_qrels(labels, "preference")


def ranks_in(pools: Pools, rankings: dict[str, dict[str, list[str]]] = RANKINGS) -> list[JudgedRanks]:
    documents = pooled_documents(pools)
    return [
        make_ranks(
            {query: {doc: -float(place) for place, doc in enumerate(top)} for query, top in run.items()},
            documents,
            name,
        )
        for name, run in rankings.items()
    ]


def test_a_run_stands_without_its_own_passages() -> None:
    pools = build_pools(make_heads(RANKINGS), make_qrels({"1": {"qrel": 1}}, "official"))
    judgments = make_judgments(VOTES)
    ranks = ranks_in(pools)
    left, other = leave_one_out(judgments, pools, ranks, Measure.parse("RR@10"), resolve=most_wins)
    # its passage is the best answer to query 1 only as long as it is in the pool
    assert (left.run, left.team, left.passages, left.changed) == ("L", "L", 2, 1)
    assert (left.score, left.rank) == (2 / 3, 2)
    assert (left.score_without, left.rank_without) == (1 / 3, 2)
    assert (other.run, other.passages, other.changed) == ("M", 2, 1)


def test_runs_of_a_team_do_not_hide_each_other_s_passages() -> None:
    # The sibling has the same passages on top, so that none is L's alone.
    rankings = {**RANKINGS, "sibling": RANKINGS["L"]}
    pools = build_pools(make_heads(rankings), make_qrels({"1": {"qrel": 1}}, "official"))
    judgments, ranks = make_judgments(VOTES), ranks_in(pools, rankings)

    def left(teams: dict[str, str] | None) -> dict[str, LeftOut]:
        found = leave_one_out(judgments, pools, ranks, Measure.parse("RR@10"), resolve=most_wins, teams=teams)
        return {one.run: one for one in found}

    alone, together = left(None), left({"L": "M", "sibling": "M"})
    assert (alone["L"].passages, alone["L"].changed, alone["L"].score_without) == (0, 0, alone["L"].score)
    for run in ("L", "sibling"):
        assert (together[run].team, together[run].passages, together[run].changed) == ("M", 2, 1)
        assert together[run].score_without == 1 / 3 < together[run].score
    # Their team is called as the run M, which is in none.
    assert together["M"] == alone["M"]


@pytest.mark.filterwarnings("error")
def test_no_query_is_left_where_a_team_gave_every_passage() -> None:
    pools, judgments = build_pools(make_heads(RANKINGS)), make_judgments(VOTES[:1])
    ranks = ranks_in(pools)
    teams = dict.fromkeys(RANKINGS, "all")
    found = leave_one_out(judgments, pools, ranks, Measure.parse("RR@10"), resolve=most_wins, teams=teams)
    assert [(one.queries, one.queries_without, one.rank_without) for one in found] == [(3, 0, 0)] * 2
    assert all(isnan(one.score_without) for one in found)
    shown = left_out_table(found)
    assert [row[-2:] for row in shown.rows] == [(None, 0)] * 2
    assert not any("τ" in note for note in shown.notes)  # of no scores, or of scores on other queries


def test_nothing_of_the_run_is_left() -> None:
    pools = build_pools(make_heads(RANKINGS))
    assert exclusive_rows(pools, ["L"]).sum() == 2
    smaller = pools.only(~exclusive_rows(pools, ["L"]))
    pooled = {(smaller.queries[q], smaller.docs[d]) for q, d in zip(smaller.query, smaller.doc, strict=True)}
    assert pooled == {("1", "shared"), ("2", "shared"), ("3", "shared")}
    assert most_wins(make_judgments(VOTES), smaller).docs == ("shared",)


def test_a_run_that_is_no_source_of_the_pools_is_passed_over() -> None:
    pools = build_pools(make_heads(RANKINGS), make_qrels({"1": {"qrel": 1}}, "official"))
    documents = pooled_documents(pools)
    runs = {"guest": {}, **RANKINGS}
    ranks = [
        make_ranks(
            {query: {doc: -float(place) for place, doc in enumerate(top)} for query, top in run.items()},
            documents,
            name,
        )
        for name, run in runs.items()
    ]
    found = leave_one_out(make_judgments(VOTES), pools, ranks, Measure.parse("RR@10"), resolve=most_wins)
    assert [one.run for one in found] == ["L", "M"]


def test_judged_documents_are_pools_with_the_runs_that_have_them_on_top() -> None:
    pools = judged_pools(make_judgments(VOTES), make_heads(RANKINGS))
    rows = {
        (pools.queries[pools.query[row]], pools.docs[pools.doc[row]]): {
            pools.sources[source] for source in pools.source[pools.source_row == row]
        }
        for row in range(pools.doc.size)
    }
    assert rows == {
        ("1", "own"): {"L"},
        ("1", "shared"): {"M"},
        ("1", "qrel"): set(),
        ("3", "own"): {"L"},
        ("3", "shared"): {"M"},
    }


def test_judged_documents_outside_the_pools_are_named_in_order() -> None:
    pools = judged_pools(make_judgments(VOTES), make_heads(RANKINGS))
    more: list[Vote] = [("3", "zoo", "own", 1), ("1", "own", "ant", 1), ("2", "own", "qrel", 1)]
    assert unpooled_documents(make_judgments([*VOTES, *more]), pools) == [
        ("1", "ant"), ("2", "own"), ("2", "qrel"), ("3", "zoo"),
    ]  # fmt: skip
    assert unpooled_documents(make_judgments(VOTES), pools) == []
