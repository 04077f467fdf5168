"""Shortcuts, against crowds whose rules are known."""

from dataclasses import replace

import numpy as np
import pytest

from prefjudge.core.judgments import Judgments, select_judgments
from prefjudge.core.shortcuts import (
    CLIQUE,
    DENSE,
    LEFT,
    LIKE,
    LONGER,
    MIXTURE,
    RARE,
    SHARED,
    find_shortcuts,
    visible,
)

POOL, QUERIES, PEOPLE, BOTS = 6, 50, 14, 6


def crowd(rng: np.random.Generator, follow: str = "", *, votes: int = 40, noise: float = 0.0) -> tuple:
    """Judgments of people, who mostly choose the better passage, and of bots; and what the rules say."""
    docs = QUERIES * POOL
    worth = rng.normal(size=docs)
    seen = {rule: 0.5 * worth + rng.normal(size=docs) for rule in (LONGER, SHARED, RARE)}
    worker = np.repeat(np.arange(PEOPLE + BOTS * bool(follow)), votes)
    query = rng.integers(QUERIES, size=worker.size)
    first = rng.integers(POOL, size=worker.size)
    left = query * POOL + first
    right = query * POOL + (first + rng.integers(1, POOL, size=worker.size)) % POOL
    signals = {LEFT: np.ones(worker.size)} | {rule: one[left] - one[right] for rule, one in seen.items()}
    followed = signals | {
        MIXTURE: signals[LONGER] + signals[SHARED] + signals[RARE],
        CLIQUE: np.random.default_rng(0).normal(size=docs)[left]
        - np.random.default_rng(0).normal(size=docs)[right],
    }
    wrong = rng.uniform(0.05, 0.35, size=worker.size)
    choice = np.sign(worth[left] - worth[right]) * np.where(rng.random(worker.size) < wrong, -1, 1)
    if follow:
        slips = np.where(rng.random(worker.size) < noise, -1, 1)
        choice = np.where(worker < PEOPLE, choice, np.sign(followed[follow.removeprefix("not ")]) * slips)
        choice = np.where((worker >= PEOPLE) & follow.startswith("not "), -choice, choice)
    log = Judgments(
        queries=tuple(f"q{number}" for number in range(QUERIES)),
        docs=tuple(f"d{number}" for number in range(docs)),
        workers=tuple(f"w{number}" for number in range(PEOPLE + BOTS)),
        query=query.astype(np.int32),
        left=left.astype(np.int32),
        right=right.astype(np.int32),
        choice=choice.astype(np.int8),
        strength=np.ones(worker.size, dtype=np.int8),
        worker=worker.astype(np.int32),
    )
    return log, signals


@pytest.mark.parametrize("rule", [LEFT, LONGER, SHARED, RARE, f"not {LEFT}", f"not {LONGER}"])
def test_who_follows_a_rule_is_found_and_nobody_else(rule: str) -> None:
    found = [find_shortcuts(*crowd(np.random.default_rng(seed), rule, votes=28)) for seed in range(10)]
    named = [one.worker for shortcuts in found for one in shortcuts]
    assert sum(worker >= PEOPLE for worker in named) >= 0.97 * 10 * BOTS
    assert sum(worker < PEOPLE for worker in named) == 0


@pytest.mark.parametrize(("rule", "votes"), [(MIXTURE, 80), (CLIQUE, 300)])
def test_who_mixes_rules_or_votes_as_some_others_do_is_found(rule: str, votes: int) -> None:
    found = [find_shortcuts(*crowd(np.random.default_rng(seed), rule, votes=votes)) for seed in range(10)]
    named = [one.worker for shortcuts in found for one in shortcuts if one.rule == rule]
    assert len(named) >= 0.9 * 10 * BOTS
    assert min(named) >= PEOPLE


def test_two_who_are_nearly_always_right_are_no_clique() -> None:
    """All that they have in common is the truth, which the others see less well."""
    for seed in range(10):
        log, signals = crowd(np.random.default_rng(seed), votes=300)
        truth = np.random.default_rng(seed).normal(size=QUERIES * POOL)
        right = np.sign(truth[log.left] - truth[log.right]).astype(np.int8)
        log = replace(log, choice=np.where(log.worker < 2, right, log.choice))
        assert find_shortcuts(log, signals) == ()


@pytest.mark.parametrize("goes", [0.0, 0.8])
def test_people_who_read_are_named_neither_as_a_clique_nor_for_a_rule_among_coins(goes: float) -> None:
    """They agree with each other alone, and follow what goes with the truth alone: reading does that, too."""
    for seed in range(10):
        log, signals = crowd(np.random.default_rng(seed), votes=200)
        rng = np.random.default_rng(seed)
        worth = rng.normal(size=QUERIES * POOL)
        better = worth[log.left] - worth[log.right]
        chosen = np.where(rng.random(len(log)) < np.where(log.worker < 8, 0.5, 0.05), -better, better)
        log = replace(log, choice=np.sign(chosen).astype(np.int8))
        signals[LONGER] = np.where(rng.random(len(log)) < goes, better, signals[LONGER])
        assert find_shortcuts(log, signals) == ()


def test_a_few_votes_of_many_coins_make_nobody_a_clique_and_hide_none() -> None:
    """Accounts of twenty votes, dropped since, beside fourteen careful people; and with a clique of six."""
    named = []
    for seed in range(10):
        log, _ = crowd(np.random.default_rng(seed), CLIQUE, votes=200)
        rng = np.random.default_rng(seed)
        worth = rng.normal(size=QUERIES * POOL)
        read = np.sign(worth[log.left] - worth[log.right]).astype(np.int8)
        slips = np.where(rng.random(len(log)) < 0.05, -read, read)
        coin = PEOPLE + BOTS + np.arange(600) // 20
        tossed = replace(
            select_judgments(log, rng.choice(len(log), 600)),
            workers=(*log.workers, *(f"coin{number:02}" for number in range(30))),
            worker=coin.astype(np.int32),
            choice=rng.choice(np.array([-1, 1], np.int8), 600),
        )
        clique = replace(log, choice=np.where(log.worker < PEOPLE, slips, log.choice))
        for name, some in (("people", clique.worker < PEOPLE), ("both", clique.worker >= 0)):
            rows = select_judgments(clique, some)
            columns = ("query", "left", "right", "choice", "strength", "worker")
            both = replace(
                tossed, **{one: np.concatenate((getattr(rows, one), getattr(tossed, one))) for one in columns}
            )
            found = {one.worker for one in find_shortcuts(both, {})}
            assert not any(worker < PEOPLE for worker in found), name
            named += [found] * (name == "both")
    assert sum(map(len, named)) >= 0.8 * 10 * BOTS


def test_the_base_alone_says_what_is_usual() -> None:
    log, signals = crowd(np.random.default_rng(0), LEFT, votes=100)
    bots = range(PEOPLE, PEOPLE + BOTS)
    assert {one.worker for one in find_shortcuts(log, signals, base=log.workers)} == {*bots}
    assert find_shortcuts(log, signals, base=[log.workers[one] for one in bots]) == ()


def test_of_a_clean_crowd_nobody_is_named() -> None:
    clean = [find_shortcuts(*crowd(np.random.default_rng(seed), votes=300)) for seed in range(30)]
    assert clean == [()] * 30


def test_a_taste_is_no_shortcut_however_many_votes_there_are() -> None:
    """A worker who takes the longer passage somewhat more often than others is not one who follows a rule."""
    for seed in range(5):
        log, signals = crowd(np.random.default_rng(seed), LONGER, votes=2000, noise=0.3)
        assert find_shortcuts(log, signals) == ()


def test_what_is_seen_of_texts() -> None:
    log = Judgments(
        queries=("q",), docs=("long", "short", "none"), workers=("w",), query=np.zeros(2, np.int32),
        left=np.array([0, 1], np.int32), right=np.array([1, 2], np.int32), choice=np.ones(2, np.int8),
        strength=np.ones(2, np.int8), worker=np.zeros(2, np.int32),
    )  # fmt: skip
    texts = {"long": "a passage of many words", "short": "the red fox"}
    seen = visible(log, queries={"q": "red fox"}, passages=texts)
    assert {rule: np.sign(one).tolist() for rule, one in seen.items()} == {
        LEFT: [1, 1], LONGER: [1, 0], SHARED: [-1, 0], RARE: [-1, 0], DENSE: [-1, 0],
        LIKE: [0, 0],
    }  # fmt: skip
    assert visible(replace(log, sides=False)) == {}
