"""Trust in workers: who votes by chance is found and counts for little, and who is unknown is one of all."""

import re
from dataclasses import replace
from functools import partial
from itertools import combinations, permutations

import numpy as np
import pytest

from prefjudge.core.judgments import Judgments, nameless
from prefjudge.core.resolving.confidence import (
    Confidence,
    assess_confidence,
    find_contested,
    summarise_confidence,
)
from prefjudge.core.resolving.posterior import fit_strengths, sum_orders
from prefjudge.core.resolving.resolutions import resolve
from prefjudge.core.resolving.scales import learn_trust
from prefjudge.core.resolving.tournaments import CastVotes, tournaments, vote_matrices
from tests.core.tables import chance_best, highest, judgments_of

DOCS = "abcd"


def study(queries: int, workers: int, coins: int, *, votes: int = 2, error: float = 0.2) -> Judgments:
    """Judge every pair: ``a`` is better than ``b``, and so on. Worker ``w0`` is the first of the coins."""
    rng = np.random.default_rng(5)
    lines = []
    for query in range(queries):
        for x, y in combinations(DOCS, 2):
            for worker in rng.choice(workers, votes, replace=False).tolist():
                wrong = rng.random() < (0.5 if worker < coins else error)
                lines.append(f"q{query:02} {x} {y} {y if wrong else x} w{worker}")
    return judgments_of(*lines)


def assess(judgments: Judgments) -> Confidence:
    return assess_confidence(judgments, rng=np.random.default_rng(1), draws=200)


def winners(found: Confidence) -> list[str]:
    return [max(chances := found.of(query), key=chances.__getitem__) for query in found.queries]


def test_who_votes_by_chance_is_told_and_more_answers_are_right() -> None:
    judgments = study(60, 10, 4, votes=3, error=0.15)
    named, blind = assess(judgments), assess(nameless(judgments))
    assert named.trust is not None
    of = dict(zip(named.trust.workers, named.trust.reliability.tolist(), strict=True))
    assert max(of[f"w{number}"] for number in range(4)) < 0.4
    assert min(of[f"w{number}"] for number in range(4, 10)) > 0.8
    assert named.trust.doubted == 4
    assert re.search("workers agree; 4 of 10, with (39|40|41)% of the votes, hardly do$", doubts(named)[0])
    assert named.scales.trust == pytest.approx(0.6, abs=0.1)
    # The share of wrong votes stays that of all votes: .4 x .5 + .6 x .15.
    assert named.scales.error == pytest.approx(0.29, abs=0.05)
    assert winners(named).count("a") > winners(blind).count("a")
    assert highest(named).mean() > highest(blind).mean() + 0.05


def test_a_crowd_of_equals_is_as_sure_as_without_names() -> None:
    judgments = study(40, 10, 0)
    named, blind = assess(judgments), assess(nameless(judgments))
    assert named.trust is not None
    assert named.trust.doubted == 0
    assert doubts(named)[0].endswith("only by how far workers agree")
    assert named.trust.mean > 0.9
    assert np.abs(named.chance - blind.chance).mean() < 0.02


@pytest.mark.parametrize("worker", [lambda row: "w0", lambda row: f"w{row}", lambda row: ""])
def test_workers_who_cannot_be_told_apart_change_nothing(worker: object) -> None:
    assert callable(worker)
    plain = study(4, 5, 0)
    rows = range(len(plain))
    lines = [
        f"{plain.queries[plain.query[row]]} {plain.docs[plain.left[row]]} {plain.docs[plain.right[row]]} "
        f"{plain.docs[plain.winner[row]]} {worker(row)}".strip()
        for row in rows
    ]
    judgments = judgments_of(*lines)
    found = assess(judgments)
    assert found.trust is None
    assert found.chance.tolist() == assess(nameless(judgments)).chance.tolist()


def test_no_vote_vouches_for_itself() -> None:
    # w7 votes on one query only: what is known there of w7 is what is known of anybody.
    lines = [f"q{query} {x} {y} {x} w{query % 3}" for query in range(9) for x, y in combinations(DOCS, 2)]
    own = [f"q0 {x} {y} {{}} w7" for x, y in combinations(DOCS, 2)]
    weights = []
    for preferred in ("d", "a"):
        judgments = judgments_of(*lines, *(line.format(preferred) for line in own if preferred in line))
        trust = learn_trust(judgments)
        assert trust is not None
        w7 = trust.workers.index("w7")
        weights.append(trust.reliability[w7])
        at_q0 = trust(np.array([0]), np.array([w7]))
        assert at_q0[0] == pytest.approx(trust.crowd, abs=0.03)
    assert weights[0] < weights[1]


def test_a_worker_who_contradicts_others_and_himself_is_trusted_less() -> None:
    lines = [
        f"q{query} {x} {y} {x} w{worker}"
        for query in range(8)
        for worker in range(3)
        for x, y in combinations(DOCS, 2)
    ]
    both = [f"q{query} a b {doc} both" for query in range(8) for doc in "ab"]
    trust = learn_trust(judgments_of(*lines, *both))
    assert trust is not None
    of = dict(zip(trust.workers, trust.reliability.tolist(), strict=True))
    assert of["both"] < 0.75 < of["w0"]


def doubts(found: Confidence) -> tuple[str, ...]:
    assert found.trust is not None
    return found.trust.doubts


def gang(*, share: float, right: float, votes: int = 1, queries: int = 60) -> Judgments:
    """Fourteen people of whom ``a`` is better than ``b``, and six who agree on another order in a share."""
    rng = np.random.default_rng(3)
    lines, met = [], np.zeros((2, 20), dtype=np.int64)
    for query in range(queries):
        other = rng.permutation(list(DOCS)).tolist()
        for x, y in (pair for pair in combinations(DOCS, 2) for _ in range(votes)):
            bad = rng.random() < share
            worker = int(rng.integers(14, 20) if bad else rng.integers(14))
            flip = other.index(x) > other.index(y) if bad else rng.random() < 0.15
            lines.append(f"q{query:02} {x} {y} {y if flip else x} w{worker:02}")
            if rng.random() < 0.3:
                met[int(rng.random() > (right if bad else 0.95)), worker] += 1
    found = judgments_of(*lines)
    return replace(found, gold=met[:, [int(name[1:]) for name in found.workers]])


def mean_trust(found: Confidence) -> tuple[float, ...]:
    """The mean reliability of the people, and of the gang."""
    assert found.trust is not None
    of = dict(zip(found.trust.workers, found.trust.reliability.tolist(), strict=True))
    return tuple(float(np.mean([of[f"w{n:02}"] for n in some])) for some in (range(14), range(14, 20)))


def test_nobody_weighs_more_than_the_gold_allows() -> None:
    known = gang(share=0.6, right=0.5)
    bounded, free = assess(known), assess(replace(known, gold=None))
    (people, bots), (doubted, believed) = mean_trust(bounded), mean_trust(free)
    assert bots < 0.3 < 0.7 < people
    assert doubted < 0.6 < 0.8 < believed
    assert winners(bounded).count("a") > winners(free).count("a") + 10
    assert doubts(bounded) == ()
    assert doubts(free)[0].startswith("no gold: workers' votes are weighed only by how far workers")


def test_agreement_that_gold_contradicts_is_said_before_all_else() -> None:
    (said,) = doubts(assess(gang(share=0.6, right=0.95, votes=3)))
    assert said.startswith("do not trust these answers yet: 10 workers with 29% of the votes got ")
    assert said.endswith("read nothing but gold pairs: see prefjudge workers"), (
        "ten are too many for one line"
    )
    assert doubts(assess(gang(share=0.0, right=0.95))) == ()
    (said,) = doubts(assess(replace(gang(share=0.5, right=0.95, votes=3), gold=None)))
    assert said.startswith("do not trust these answers yet: no gold tells who is right, and 1")
    assert " of 20 workers count for little beside a few who agree more and cast " in said


@pytest.mark.parametrize(("votes", "queries"), [(1, 140), (3, 60)])
def test_a_few_who_vote_most_are_contested_where_others_do_not_foretell_them(
    votes: int, queries: int
) -> None:
    crowd = partial(gang, votes=votes, queries=queries)
    known = crowd(share=0.6, right=0.5)
    log = replace(known, gold=None)
    few, doubt = find_contested(log)
    assert set(few) == {f"w{n}" for n in range(14, 20)}
    assert doubt > 0.9
    summary = summarise_confidence(resolve(log, rule="most-wins"), assess(log))
    (said, *_) = replace(summary, contested=("w 1; ls", "w2")).words
    assert "see prefjudge workers, and resolve --without 'w 1; ls' --without w2. The prob" in said
    assert find_contested(known) == ((), 0.0)
    assert find_contested(crowd(share=0.6, right=0.95)) == (few, doubt)
    rng = np.random.default_rng(0)
    clean = replace(crowd(share=0.0, right=0.5), gold=None)
    # six cast three of five votes; they read as well as the others, or far better
    for errors in [(0.15, 0.15), (0.05, 0.35)] * 4:
        worker = np.where(rng.random(len(clean)) < 0.6, rng.integers(6, size=len(clean)), clean.worker)
        wrong = rng.random(len(clean)) < np.where(worker < 6, *errors)
        choice = np.where(wrong, -1, 1).astype(np.int8)
        assert find_contested(replace(clean, worker=worker.astype(np.int32), choice=choice))[1] < 0.5


def cast_of(lines: tuple[str, ...], trust: float) -> tuple[np.ndarray, CastVotes]:
    judgments = judgments_of(*lines)
    (block,) = tournaments(judgments)
    (stack,) = vote_matrices(block, ties=0.5, trusting=lambda query, worker: np.full(query.size, trust))
    assert stack.cast is not None
    return stack.votes, stack.cast


LINES = ("q a b a", "q a b a", "q b c c", "q c a a", "q b a tie", "q c d d")


@pytest.mark.parametrize("lapses", [0.0, 0.5, 1.0])
def test_votes_that_are_trusted_count_as_without_trust(lapses: float) -> None:
    votes, cast = cast_of(LINES, 1.0)
    fit = fit_strengths(votes, scale=0.8)
    found, plain = (
        chance_best(
            votes, fit, scale=0.8, draws=2000, rng=np.random.default_rng(1), lapses=lapses, cast=given
        )
        for given in (cast, None)
    )
    assert found == pytest.approx(plain, abs=1e-4)


def test_votes_that_are_not_trusted_say_nothing() -> None:
    votes, cast = cast_of(LINES, 0.0)
    assert not votes.any()
    chance, _ = sum_orders(votes, 0.2, cast)
    assert chance == pytest.approx(np.full((1, 4), 0.25))


def test_orders_are_summed_with_the_trust_in_each_vote() -> None:
    votes, cast = cast_of(LINES, 0.6)
    right = 0.5 + 0.6 * 0.3
    wins = np.zeros((4, 4))
    for x, y, count in ((0, 1, 2.5), (1, 0, 0.5), (2, 1, 1.0), (0, 2, 1.0), (3, 2, 1.0)):
        wins[x, y] = count
    assert votes[0] == pytest.approx(0.6 * wins)
    best = np.zeros(4)
    for order in permutations(range(4)):
        best[order[0]] += np.prod(
            [right ** wins[x, y] * (1 - right) ** wins[y, x] for x, y in combinations(order, 2)]
        )
    chance, evidence = sum_orders(votes, 0.2, cast)
    assert chance[0] == pytest.approx(best / best.sum())
    assert evidence[0] == pytest.approx(np.log(best.sum() / 24))
