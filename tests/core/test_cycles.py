"""Cycles: the named cycle is one, and goes through all winners of a tournament."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np

from prefjudge.core.resolving.resolutions import name_cycles, resolve
from tests.core.tables import judgments_of


def test_each_of_a_circle_is_preferred_to_the_next() -> None:
    rng = np.random.default_rng(3)
    lines = []
    for query in range(400):
        size = int(rng.integers(3, 8))
        for x in range(size):
            for y in range(x):
                winner, loser = (x, y) if rng.random() < 0.5 else (y, x)
                lines.append(f"q{query} d{loser} d{winner} d{winner}")
    judgments = judgments_of(*lines)
    beats = {tuple(line.split()[i] for i in (0, 3, 1)) for line in lines}
    for rule in ("shallow-pooling", "smith"):
        resolutions = resolve(judgments, rule=rule)
        cycles = name_cycles(judgments, resolutions)
        assert set(cycles) == {one.query_id for one in resolutions if one.status.value == "cycle"}
        assert max(map(len, cycles.values())) > 4
        for query, cycle in cycles.items():
            assert set(cycle) == set(resolutions.of(query).cycle)
            assert cycle[0] == min(cycle)
            for place, doc in enumerate(cycle):
                assert (query, doc, cycle[(place + 1) % len(cycle)]) in beats


def test_without_a_circle_there_is_nothing_to_name() -> None:
    judgments = judgments_of("q a b a", "q a c tie", "p a b tie")
    assert name_cycles(judgments, resolve(judgments)) == {}


def test_a_circle_follows_the_majorities_and_not_single_votes() -> None:
    lines = ["q a b b", "q a b a", "q b a a", "q b c b", "q c a c", "q a c c", "q a c a", "q a b tie"]
    for order in (lines, lines[::-1]):
        judgments = judgments_of(*order)
        resolutions = resolve(judgments, rule="smith")
        assert resolutions.of("q").cycle == ("a", "b", "c")
        assert name_cycles(judgments, resolutions) == {"q": ("a", "b", "c")}


def test_winners_without_a_circle_of_majorities_are_named_in_order() -> None:
    judgments = judgments_of("q c a c", "q c a a", "p b a b")
    resolutions = resolve(judgments)
    named = replace(resolutions, cycle=np.ones_like(resolutions.cycle))
    assert name_cycles(judgments, named) == {"q": ("a", "c"), "p": ("a", "b")}
    quiet = replace(judgments, choice=np.zeros_like(judgments.choice))
    assert name_cycles(quiet, named) == {"q": ("a", "c"), "p": ("a", "b")}


def test_a_circle_goes_through_one_that_all_of_it_beat_and_one_that_beats_them_all() -> None:
    # Neither of the two fits between neighbours alone: the loser stands right before the one it beats.
    for a, b, c, loser, master in permutations("abcde"):
        pairs = [(a, b), (b, c), (c, a), (loser, master)]
        pairs += [(one, loser) for one in (a, b, c)] + [(master, one) for one in (a, b, c)]
        judgments = judgments_of(*(f"q {winner} {other} {winner}" for winner, other in pairs))
        (cycle,) = name_cycles(judgments, resolve(judgments, rule="smith")).values()
        assert sorted(cycle) == list("abcde")
        assert set(zip(cycle, (*cycle[1:], cycle[0]), strict=True)) <= set(pairs)


def test_where_pairs_are_even_a_circle_has_majorities_only() -> None:
    rng = np.random.default_rng(5)
    lines = []
    for query in range(150):
        for x, y in combinations("abcdef", 2):
            for _ in range(int(rng.integers(1, 5))):
                lines.append(f"q{query} {x} {y} {rng.choice([x, y, 'tie'])}")
    judgments = judgments_of(*lines)
    lead: Counter[tuple[str, str, str]] = Counter()
    for query, x, y, chosen in map(str.split, lines):
        if chosen != "tie":
            loser = y if chosen == x else x
            lead[query, chosen, loser] += 1
            lead[query, loser, chosen] -= 1
    resolutions = resolve(judgments, rule="smith")
    cycles = name_cycles(judgments, resolutions)
    whole = 0
    for query, cycle in cycles.items():
        ends = list(zip(cycle, (*cycle[1:], cycle[0]), strict=True))
        left_out = set(resolutions.of(query).cycle) - set(cycle)
        assert len(cycle) == len(set(cycle)) > 2
        assert all(lead[query, x, y] > 0 for x, y in ends)
        assert not any(lead[query, x, z] > 0 and lead[query, z, y] > 0 for x, y in ends for z in left_out)
        whole += not left_out
    assert len(cycles) > whole > 0
