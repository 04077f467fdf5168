"""Rules: set-valued rules against pref_voting, and properties that every rule has."""

import gzip
from collections import Counter, defaultdict
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefjudge.core.resolving.resolutions import resolve, resolve_all
from prefjudge.core.resolving.rules import RULES, _first_of_best_orders
from prefjudge.core.resolving.tournaments import TieWorth
from tests.core.tables import judgments_of, judgments_of_file

Tournament = tuple[int, list[tuple[int, int]]]
NAMES = "abcdefgh"


def random_tournaments(count: int, seed: int, most: int = 7, votes: int = 3) -> list[Tournament]:
    """Draw complete tournaments: the number of candidates, and (winner, loser) of every vote."""
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(count):
        size = int(rng.integers(2, most + 1))
        log = []
        for x, y in combinations(range(size), 2):
            for _ in range(int(rng.integers(1, votes + 1))):
                log.append((x, y) if rng.random() < 0.5 else (y, x))
        drawn.append((size, log))
    return drawn


def lines_of(tournaments: list[Tournament]) -> list[str]:
    return [
        f"q{i} {NAMES[x]} {NAMES[y]} {NAMES[x]}" for i, (_, log) in enumerate(tournaments) for x, y in log
    ]


@pytest.mark.parametrize(
    ("rule", "peer"),
    [
        ("copeland", "copeland"),
        ("smith", "smith_set"),
        ("schulze", "beat_path"),
        ("unbeaten", "schwartz_set"),
    ],
)
def test_set_valued_rules_equal_pref_voting(rule: str, peer: str) -> None:
    c1 = pytest.importorskip("pref_voting.c1_methods", reason="pref_voting is the oracle")
    margins = pytest.importorskip("pref_voting.margin_based_methods")
    graphs = pytest.importorskip("pref_voting.weighted_majority_graphs")
    oracle = getattr(c1, peer, None) or getattr(margins, peer)
    drawn = random_tournaments(1500, seed=4)
    resolutions = resolve(judgments_of(*lines_of(drawn)), rule=rule)
    for (size, log), one in zip(drawn, resolutions, strict=True):
        votes = np.zeros((size, size), dtype=int)
        np.add.at(votes, tuple(zip(*log, strict=True)), 1)
        margin = votes - votes.T
        edges = [(x, y, int(margin[x, y])) for x, y in permutations(range(size), 2) if margin[x, y] > 0]
        expected = {NAMES[x] for x in oracle(graphs.MarginGraph(list(range(size)), edges))}
        if rule == "unbeaten":
            assert set(one.winners) <= expected
        else:
            assert set(one.winners) == expected


def test_schulze_weighs_a_pair_by_its_margin_and_not_by_the_votes_for_its_winner() -> None:
    # In the cycle of a over b over c over a the weakest pair is left out: a over b by 5 to 4 has the smallest
    # margin, c over a by 2 to 0 the fewest votes.
    cycle = {("a", "b"): (5, 4), ("b", "c"): (4, 1), ("c", "a"): (2, 0)}
    lines = [
        f"q {x} {y} {preferred}"
        for (x, y), won in cycle.items()
        for preferred, votes in zip((x, y), won, strict=True)
        for _ in range(votes)
    ]
    assert resolve(judgments_of(*lines), rule="schulze").of("q").winners == ("b",)


def test_kemeny_equals_trying_every_order() -> None:
    for size, log in random_tournaments(150, seed=5, most=6):
        votes = np.zeros((size, size))
        np.add.at(votes, tuple(zip(*log, strict=True)), 1)
        cost = {
            order: sum(votes[y, x] for x, y in combinations(order, 2)) for order in permutations(range(size))
        }
        expected = {order[0] for order, value in cost.items() if value == min(cost.values())}
        assert set(np.flatnonzero(_first_of_best_orders(votes[None])[0])) == expected
        lines = lines_of([(size, log)])
        assert set(resolve(judgments_of(*lines), rule="kemeny")[0].winners) == {NAMES[x] for x in expected}


def test_kemeny_reaches_twenty_candidates() -> None:
    votes = np.zeros((1, 20, 20))
    for x in range(20):
        for step in range(1, 10):
            votes[0, x, (x + step) % 20] = 3
    votes[0, 7, [6, 5]] = 9
    assert _first_of_best_orders(votes)[0, 7]


def test_pairs_and_votes_read_section_5_1_differently() -> None:
    # b wins more votes in all; a beats both others.
    lines = ["q a b a", "q a b b", "q a b a", "q a c a", *["q b c b"] * 3]
    resolutions = resolve_all(judgments_of(*lines), rules=("shallow-pooling", "shallow-pooling-pairs"))
    assert resolutions["shallow-pooling"][0].winners == ("b",)
    assert resolutions["shallow-pooling-pairs"][0].winners == ("a",)


def test_on_real_crowd_judgments_an_unbeaten_winner_is_unbeaten_where_anybody_is(data_dir: Path) -> None:
    """By a definition in plain Python: nobody was preferred to it by more votes than it was to them."""
    path = data_dir / "cast19" / "judgments.txt.gz"
    lead: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        query, first, second, preferred, *_ = line.split()
        other = second if preferred == first else first
        lead[query][preferred, other] += 1
        lead[query][other, preferred] -= 1
    found = resolve(judgments_of_file(path), rule="unbeaten")
    circular = Counter[str]()
    for one in found:
        beaten = {loser for (_, loser), votes in lead[one.query_id].items() if votes > 0}
        unbeaten = {doc for pair in lead[one.query_id] for doc in pair} - beaten
        assert one.winners
        if unbeaten:
            assert set(one.winners) <= unbeaten, one
        else:
            circular[one.status.value] += 1
    # so many pools in which everybody is beaten: the winner is of the smallest sets that nobody outside beats
    assert circular == {"partial": 63, "single": 21, "tie": 18, "cycle": 7}


def test_a_set_that_is_unbeaten_wins_only_where_no_candidate_is() -> None:
    cycle = ["q a b a", "q b c b", "q c a c", "q a d a"]
    assert resolve(judgments_of(*cycle), rule="unbeaten")[0].winners == ("a",)
    beside = [*cycle, "q a b a", "q e d e", "q e d d", "q c e tie", "q e f e"]
    assert resolve(judgments_of(*beside), rule="unbeaten")[0].winners == ("e",)


def test_rules_on_real_crowd_judgments(data_dir: Path) -> None:
    folder = data_dir / "cast19"
    graded: dict[str, dict[str, float]] = {}
    for line in gzip.decompress((folder / "preference-qrels.txt.gz").read_bytes()).decode().splitlines():
        query, _, doc, grade = line.split()
        graded.setdefault(query, {})[doc] = float(grade)
    best = {query: {d for d, v in docs.items() if v == max(docs.values())} for query, docs in graded.items()}
    found = resolve_all(judgments_of_file(folder / "judgments.txt.gz"), rules=("smith", "unbeaten"))
    # 78 of the 171 pools are complete, and 31 of these have a candidate that beats all others.
    assert found["smith"].counts()["single"] == 31
    assert found["smith"].counts()["partial"] == 171 - 78
    known = [one for one in found["unbeaten"] if one.query_id in best]
    for status, least in (("partial", 0.75), ("single", 0.9)):
        named = [set(one.winners) & best[one.query_id] for one in known if one.status.value == status]
        assert sum(map(bool, named)) > least * len(named) > 30


@pytest.mark.parametrize("rule", RULES)
def test_a_candidate_who_beats_all_wins_under_every_rule(rule: str) -> None:
    lines = [f"q {x} {y} {x}" for x, y in combinations("abcdef", 2)]
    one = resolve(judgments_of(*lines), rule=rule)[0]
    assert (one.winners, one.status.value) == (("a",), "single")


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_names_and_order_do_not_matter(rule: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = random_tournaments(3, seed=seed, most=5)
    before = resolve(judgments_of(*lines_of(drawn)), rule=rule)
    place = rng.permutation(len(NAMES))
    moved = [(size, [(int(place[x]), int(place[y])) for x, y in log]) for size, log in drawn]
    lines = lines_of(moved)
    after = resolve(judgments_of(*(lines[i] for i in rng.permutation(len(lines)))), rule=rule)
    for one in before:
        renamed = {NAMES[place[NAMES.index(doc)]] for doc in one.winners}
        assert set(after.of(one.query_id).winners) == renamed


def test_the_score_of_a_rule_is_what_it_counts() -> None:
    # a beats b by 2 to 1, b beats c, a and c are even, and d loses to all.
    votes = judgments_of(
        "q a b a", "q a b a", "q a b b", "q b c b", "q a c a", "q c a c", "q a d a", "q b d b", "q d c c",
    )  # fmt: skip
    expected = {
        "copeland": (2.5, 2.0, 1.5, 0.0),  # pairs won, and halves of even ones
        "smith": (2, 2, 1, 0),  # pairs won
        "shallow-pooling-pairs": (2, 2, 1, 0),
        "shallow-pooling": (4, 3, 2, 0),  # votes won
        "schulze": (3, 2, 1, 0),  # those to whom the stronger path leads: from a over b to c
    }
    for rule, scores in expected.items():
        found = resolve(votes, rule=rule)
        names = [found.docs[doc] for doc in found.doc]
        assert dict(zip(names, found.score.tolist(), strict=True)) == dict(
            zip("abcd", scores, strict=True)
        ), rule
        assert dict(zip(names, found.wins.tolist(), strict=True)) == {"a": 4, "b": 3, "c": 2, "d": 0}


@pytest.mark.parametrize("rule", RULES)
def test_ties_and_strengths_are_worth_what_is_asked_under_every_rule(rule: str) -> None:
    rng = np.random.default_rng(9)
    decided = [
        f"q{query} {x} {y} {rng.choice([x, y])}"
        for query in range(20)
        for x, y in combinations("abcd", 2)
        for _ in range(int(rng.integers(1, 4)))
    ]
    even = [f"q{query} a {other}" for query in range(20) for other in "bc"]
    ties = [f"{pair} tie" for pair in even for _ in range(2)]
    both_ways = [f"{pair} {pair.split()[side]}" for pair in even for side in (1, 2)]

    def outcome(lines: list[str], strong: int = 1, **options: object) -> tuple[np.ndarray, np.ndarray]:
        votes = judgments_of(*lines)
        votes.strength[votes.choice != 0] = strong
        found = resolve(votes, rule=rule, **options)  # type: ignore[arg-type]
        return found.score, found.winner

    def same(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> bool:
        return np.allclose(one[0], other[0], atol=1e-3) and np.array_equal(one[1], other[1])

    plain = outcome(decided)
    assert same(outcome([*decided, *ties]), plain), "a tie is worth nothing unless it is asked to be"
    assert same(outcome([*decided, *ties], ties=TieWorth.HALF), outcome([*decided, *both_ways]))
    assert same(outcome(decided, strong=3), plain)
    assert same(outcome(decided, strong=3, strengths=True), outcome(decided * 3))


def test_those_who_are_even_pair_by_pair_meet_again_among_themselves() -> None:
    # a and b win two pairs each, and a beats b; c beats a, d beats c.
    votes = judgments_of("q a b a", "q a d a", "q b c b", "q b d b", "q c a c", "q d c d")
    assert resolve(votes, rule="shallow-pooling-pairs").of("q").winners == ("a",)
