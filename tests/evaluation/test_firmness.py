"""What a board says of itself: planted boards on which each check fires, clean ones on which none does."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from prefjudge.core.judgments import Judgments, select_judgments
from prefjudge.core.pools import docs_by_query
from prefjudge.core.resolving.resolutions import HowResolved, resolved, to_qrels
from prefjudge.core.runs import Order, Qrels, Scores
from prefjudge.evaluation.boards import make_board
from prefjudge.evaluation.firmness import Check, Firmness, Recount, recount
from tests.core.tables import judgments_of

from .samples import scores_of

HOW = HowResolved(rule="shallow-pooling")


def firmness(values: np.ndarray) -> Firmness:
    found = make_board(scores_of(values)).firmness
    assert found is not None
    return found


def columns(*means: float, queries: int = 200) -> np.ndarray:
    """Scores with a little noise that is each run's own, about means."""
    noise = np.random.default_rng(1).uniform(-0.05, 0.05, (queries, len(means)))
    return np.array(means) + noise


def held(found: Firmness) -> list[bool | None]:
    assert [one.holds for one in found.checks[3:]] == [None, None], "no votes are at hand"
    return [one.holds for one in found.checks[:3]]


def test_a_clean_board_stands_and_its_sentence_says_so() -> None:
    found = firmness(columns(0.9, 0.6, 0.3))
    assert held(found) == [True, True, True]
    assert (found.told_apart, found.neighbours, found.may_lead) == (2, 2, 1)
    assert found.words.startswith("Of 2 neighbours 2 are told apart; only the first may lead (")


def test_runs_alike_behind_a_clear_first_are_not_told_apart() -> None:
    found = firmness(columns(0.9, 0.5, 0.5, 0.3))
    assert held(found) == [True, False, True]
    assert found.words.startswith("Of 3 neighbours 2 are told apart; only the first")


def test_a_first_that_chance_made_is_not_told_apart() -> None:
    found = firmness(np.random.default_rng(2).uniform(size=(40, 5)))
    assert held(found)[0] is False
    assert (found.may_lead, found.told_apart) == (5, 0)
    assert found.words.startswith("Of 4 neighbours none is told apart; all 5 runs may lead")
    assert found.settles > 40
    assert found.checks[0].words == "4 other runs may lead"


def test_the_fewest_queries_that_overturn_are_those_of_every_choice() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        values = rng.choice([0.0, 0.25, 0.5, 1.0], (7, 3))
        lead = values.sum(axis=0)
        first = int(np.lexsort(([0, 1, 2], -lead.round(9)))[0])
        fewest = next(
            (
                count
                for count in range(1, 7)
                for gone in combinations(range(7), count)
                if (
                    np.delete(values, gone, axis=0).sum(axis=0)
                    > np.delete(values, gone, axis=0).sum(axis=0)[first] + 1e-9
                ).any()
            ),
            None,
        )
        check = firmness(values).checks[2]
        assert check.holds is (fewest is None or fewest > 3)
        if fewest is not None:
            assert check.words.startswith(f"without {fewest} quer")


@pytest.mark.parametrize("queries", [400, 800])
def test_the_least_difference_seen_is_the_one_at_which_neighbours_are_told(queries: int) -> None:
    rng = np.random.default_rng(4)
    pair = rng.normal(size=(queries, 2))
    apart = pair[:, 0] - pair[:, 1]
    pair[:, 0] -= apart.mean()  # as good as each other, exactly
    seen = firmness(pair).sees
    below, above = (pair + np.array([by * seen, 0.0]) for by in (0.99, 1.01))
    assert (firmness(below).told_apart, firmness(above).told_apart) == (0, 1)


def test_so_many_queries_settle_it_four_times_in_five() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(30, 2))
    values[:, 1] += (values[:, 0] - values[:, 1]).mean() - 0.4  # by 0.4 worse
    needed = int(firmness(values).settles)
    spread = (values[:, 0] - values[:, 1]).std(ddof=1)
    told = 0
    for _ in range(2000):
        apart = rng.normal(0.4, spread, needed)
        told += abs(apart.mean()) / (apart.std(ddof=1) / np.sqrt(needed)) > 1.98
    assert told / 2000 == pytest.approx(0.8, abs=0.04)


def test_equal_means_are_settled_by_no_number_of_queries() -> None:
    assert firmness(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])).settles == np.inf


# Votes and workers: two runs, of which each query's answer decides.


def board_of(judgments: Judgments, top: dict[str, list[str]]) -> tuple[Scores, Recount]:
    """Runs by what they put on top of each query: they score 1 where it is an answer."""
    runs = tuple(top)

    def score(labels: Qrels) -> Scores:
        answers = docs_by_query(labels)
        place = {query: number for number, query in enumerate(judgments.queries)}
        values = [[float(top[run][place[query]] in docs) for run in runs] for query, docs in answers.items()]
        return Scores(
            measure="RR@1",
            qrels="preference",
            queries=tuple(answers),
            runs=runs,
            values=np.array(values),
            order=Order.SCORE,
        )

    return score(answers(judgments)), Recount(judgments, None, None, HOW, score)


def answers(judgments: Judgments) -> Qrels:
    return to_qrels(resolved(judgments, HOW))


def first_of(scores: Scores) -> str:
    means = scores.values.mean(axis=0).round(9)
    return min(zip(-means, scores.runs, strict=True))[1]


def overtaken(scores: Scores, first: str) -> bool:
    means = scores.values.mean(axis=0)
    return bool((means > means[scores.runs.index(first)] + 1e-9).any())


def checks_of(judgments: Judgments, top: dict[str, list[str]]) -> tuple[Check, Check]:
    return recount(*board_of(judgments, top))


def votes(*of_queries: tuple[str, str]) -> Judgments:
    """``("ab", "aab")``: three workers on a query of two documents, with what each preferred."""
    lines = [
        f"q{number} {docs[0]} {docs[1]} {choice} w{worker}"
        for number, (docs, choices) in enumerate(of_queries)
        for worker, choice in enumerate(choices)
    ]
    return judgments_of(*lines)


def test_one_vote_and_one_worker_overturn_a_close_board() -> None:
    turned, _ = checks_of(votes(("ab", "aab"), ("ab", "aaa")), {"one": ["a", "a"], "two": ["b", "a"]})
    assert (turned.holds, turned.words) == (False, "two is first if 1 vote is reversed (q0)")
    # without w0 the first query is even, and the second goes to the other run
    _, without = checks_of(votes(("ab", "aab"), ("ab", "ab")), {"one": ["a", "a"], "two": ["b", "b"]})
    assert (without.holds, without.words) == (False, "without 1 worker two is first")


def test_clear_votes_of_many_workers_stand() -> None:
    turned, without = checks_of(votes(*[("ab", "a" * 9)] * 8), {"one": ["a"] * 8, "two": ["b"] * 8})
    assert (turned.holds, without.holds) == (True, True)


def test_what_nobody_can_count_again_is_skipped_with_its_reason() -> None:
    scores, again = board_of(votes(("ab", "aab"), ("ab", "abb")), {"one": ["a", "a"], "two": ["b", "b"]})
    unknown = Recount(again.judgments, None, None, None, again.score, "the rule weighs all votes together")
    assert [(one.holds, one.words) for one in recount(scores, unknown)] == [(None, unknown.why)] * 2
    nameless = judgments_of("q0 a b a", "q1 a b b", "q1 a b b")
    _, without = checks_of(nameless, {"one": ["a", "a"], "two": ["b", "a"]})
    assert (without.holds, without.words) == (None, "the votes do not say who cast them")


def turned_by_hand(judgments: Judgments, top: dict[str, list[str]]) -> int | None:
    scores, again = board_of(judgments, top)
    first = first_of(scores)
    for count in (1, 2, 3):
        for rows in combinations(range(len(judgments)), count):
            choice = judgments.choice.copy()
            choice[list(rows)] *= -1
            other = again.score(answers(replace(judgments, choice=choice)))
            if overtaken(other, first):
                return count
    return None


def left_out_by_hand(judgments: Judgments, top: dict[str, list[str]]) -> int | None:
    scores, again = board_of(judgments, top)
    first = first_of(scores)
    for count in range(1, min(3, len(judgments.workers) - 1) + 1):
        for gone in combinations(range(len(judgments.workers)), count):
            keep = ~np.isin(judgments.worker, gone)
            other = again.score(answers(select_judgments(judgments, keep)))
            if other.queries and overtaken(other, first):
                return count
    return None


@pytest.mark.parametrize("seed", [*range(12), 65])
def test_votes_and_workers_are_those_that_every_choice_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lines = [
        f"q{query} {a} {b} {(a, b)[int(rng.random() < 0.4)]} w{worker}"
        for query in range(3)
        for a, b in combinations("abc", 2)
        for worker in rng.choice(4, 1 + seed % 2, replace=False)
    ]
    judgments = judgments_of(*lines)
    if seed >= 12:  # both wins of who won twice by one worker are one choice
        keys = np.column_stack([judgments.query, judgments.worker, judgments.winner])
        _, of, wins = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
        of = of.ravel()
        judgments = replace(judgments, click=np.where(wins[of] > 1, of, -1).astype(np.int32))
    top = {run: [str(rng.choice(["a", "b", "c"])) for _ in range(3)] for run in ("one", "two", "three")}
    found = checks_of(judgments, top)
    for check, count in zip(
        found, (turned_by_hand(judgments, top), left_out_by_hand(judgments, top)), strict=True
    ):
        assert check.holds is (count is None), (check, count)
        if count is not None:
            assert f"{count} " in check.words
