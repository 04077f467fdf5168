"""Simulated votes at the paper's rates: who is a candidate, who is better, and who is chosen."""

import numpy as np
import pytest

from prefjudge.core.pools import TopPairs, find_rows, top_pairs
from prefjudge.core.strategies import scale_of_error
from prefjudge.evaluation.simulated import (
    Rates,
    all_candidates,
    draw_strengths,
    draw_votes,
    mean_shift,
    pairs_asked,
)
from tests.core.tables import as_sets, heads_of, pools_of, qrels_of


def test_a_candidate_is_found_by_its_names_and_nothing_else_is() -> None:
    candidates = pools_of({"q": "ac", "p": "bde", "r": "b"})
    queries, docs = ("x", "r", "q", "p"), "zedcbay"
    place = {name: number for number, name in enumerate(["qa", "qc", "pb", "pd", "pe", "rb"])}
    names = [(query, doc) for query in queries for doc in docs]
    found = find_rows(
        candidates, queries, docs,
        np.array([queries.index(query) for query, _ in names]),
        np.array([docs.index(doc) for _, doc in names]),
    )  # fmt: skip
    assert found.tolist() == [place.get(query + doc, -1) for query, doc in names]


def test_both_experiments_ask_for_the_passages_of_the_pools_and_of_one_runs_top() -> None:
    # "a" is on top where the qrel is "q" (B), and second where it is on top itself (A).
    heads = heads_of({"run": {"differ": ["a", "z"], "agree": ["q", "a"], "lone": ["q"]}})
    labels = qrels_of([("differ", "q", 1.0), ("agree", "q", 1.0), ("lone", "q", 1.0), ("missed", "q", 1.0)])
    top, pools = top_pairs(heads, labels, "run"), pools_of({"pooled": "xyz", "agree": "qy"})
    candidates = all_candidates(pools, top)
    assert as_sets(candidates) == {
        "pooled": set("xyz"), "agree": set("aqy"), "differ": set("aq"), "lone": {"q"}, "missed": {"q"},
    }  # fmt: skip
    assert candidates.queries[:2] == pools.queries

    def named(rows: np.ndarray) -> list[tuple[str, str, str]]:
        assert (rows[:, 0] < rows[:, 1]).all()
        return [
            (candidates.queries[candidates.query[a]], candidates.docs[candidates.doc[a]],
             candidates.docs[candidates.doc[b]])
            for a, b in rows.tolist()
        ]  # fmt: skip

    duels, pooled = pairs_asked(candidates, pools, top)
    assert sorted(named(duels)) == [("agree", "a", "q"), ("differ", "a", "q")]
    assert named(pooled) == [
        ("pooled", "x", "y"), ("pooled", "x", "z"), ("pooled", "y", "z"), ("agree", "q", "y"),
    ]  # fmt: skip


RATES = Rates(error=0.25, qrel_agreed=0.8, rival_differs=0.7)


@pytest.mark.parametrize("rates", [RATES, Rates()])
def test_qrels_win_as_often_as_the_rates_say_and_other_passages_are_as_good_as_each_other(
    rates: Rates,
) -> None:
    kinds, each = ("agree", "differ", "missed"), 6000
    queries = tuple(f"{kind}{number}" for kind in kinds for number in range(each))
    docs = {"a": 0, "b": 1, "q": 2, "none": -1}
    top = TopPairs(
        queries=queries, docs=("a", "b", "q"), query=np.arange(3 * each), qrel=np.full(3 * each, docs["q"]),
        top=np.repeat([docs[first] for first in ("q", "a", "none")], each),
        rival=np.repeat([docs[rival] for rival in ("a", "a", "none")], each),
    )  # fmt: skip
    pools = pools_of(dict.fromkeys(queries, "abq"))
    candidates, rng = all_candidates(pools, top), np.random.default_rng(1)
    strength = draw_strengths(candidates, top, rates, rng)
    a, b, q = strength.reshape(-1, 3).T
    agree, differ, missed = (slice(i * each, (i + 1) * each) for i in range(3))
    scale = scale_of_error(rates.error)
    assert candidates.docs == ("a", "b", "q")
    for column in (a, b, q[agree], q[differ], q[missed]):
        assert column.std() == pytest.approx(scale, rel=0.04)
    assert abs(a.mean() - b.mean()) < 0.05
    assert (q - a)[agree].mean() == pytest.approx(mean_shift(rates.qrel_agreed, scale), abs=0.06)
    assert (q - a)[differ].mean() == pytest.approx(-mean_shift(rates.rival_differs, scale), abs=0.06)
    assert abs((q - a)[missed].mean()) < 0.06

    def share(x: int, y: int, rows: slice) -> float:
        pairs = np.arange(len(strength)).reshape(-1, 3)[rows][:, [x, y]]
        votes = draw_votes(candidates, pairs, strength, rng)
        assert (candidates.docs[votes.left[0]], candidates.docs[votes.right[0]]) == ("abq"[x], "abq"[y])
        assert votes.query.tolist() == candidates.query[pairs[:, 0]].tolist()
        return float((votes.choice > 0).mean())

    assert share(2, 0, agree) == pytest.approx(rates.qrel_agreed, abs=0.02)
    assert share(0, 2, differ) == pytest.approx(rates.rival_differs, abs=0.02)
    assert share(0, 1, slice(None)) == pytest.approx(0.5, abs=0.02)


def test_one_worker_without_a_name_chooses_by_the_difference_and_sides_mean_nothing() -> None:
    candidates = pools_of({"q": "ab"})
    votes = draw_votes(
        candidates, np.tile([[0, 1], [1, 0]], (20_000, 1)), np.array([1.2, 0.2]), np.random.default_rng(1)
    )
    assert (votes.queries, votes.docs) == (candidates.queries, candidates.docs)
    assert set(votes.choice.tolist()) == {-1, 1}
    assert votes.winner.size == 40_000
    chance = 1 / (1 + np.exp(-1.0))
    assert np.mean(votes.choice[::2] > 0) == pytest.approx(chance, abs=0.01)
    assert np.mean(votes.choice[1::2] < 0) == pytest.approx(chance, abs=0.01)
    assert votes.sides is False
    assert (votes.workers, set(votes.worker.tolist()), set(votes.strength.tolist())) == ((), {-1}, {1})


@pytest.mark.parametrize("error", [0.05, 0.33])
def test_a_random_pair_is_judged_wrong_as_often_as_the_rates_say(error: float) -> None:
    heads = heads_of({"run": {"other": ["a"]}})
    pools = pools_of({f"q{i}": "ab" for i in range(20_000)})
    top = top_pairs(heads, qrels_of([("other", "a", 1.0)]), "run")
    candidates, rng = all_candidates(pools, top), np.random.default_rng(2)
    strength = draw_strengths(candidates, top, Rates(error=error), rng)
    pairs = np.arange(40_000).reshape(-1, 2)
    votes = draw_votes(candidates, pairs, strength, rng)
    better = np.where(strength[pairs[:, 0]] > strength[pairs[:, 1]], 1, -1)
    assert np.mean(votes.choice != better) == pytest.approx(error, abs=0.015)


@pytest.mark.parametrize(("share", "scale"), [(0.66, 1.0), (0.95, 1.0), (0.95, 30.0)])
def test_a_passage_that_is_so_much_stronger_wins_that_share(share: float, scale: float) -> None:
    """Also where people hardly err, so that strengths lie far apart; drawn, and not integrated again."""
    rng = np.random.default_rng(1)
    apart = rng.normal(mean_shift(share, scale), np.sqrt(2) * scale, 400_000)
    assert np.mean(0.5 + 0.5 * np.tanh(apart / 2)) == pytest.approx(share, abs=0.005)
