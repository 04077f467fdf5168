"""What a model's votes are worth beside people's: the gate, and estimates of both together."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from prefjudge import import_votes, init, judge
from prefjudge.core.judgments import Judgments, select_judgments, split_models
from prefjudge.core.runs import Order, Qrels, Scores
from prefjudge.errors import InputError, StudyError
from prefjudge.evaluation.models import (
    LEAST_JUDGED,
    Assessor,
    Assessors,
    PoweredMean,
    SharedVotes,
    alternative_annotator,
    estimate_new_best,
    gate_model,
    mix_labels,
    prediction_powered_mean,
)
from prefjudge.field import trust as model_gates
from prefjudge.study.store import Study


def votes_of(people: dict[str, list[int]], model: list[int]) -> Judgments:
    """Make a log: everybody votes on pair number i of query i // 4, 0 for nothing said."""
    names = tuple(sorted([*people, "model:m"]))
    rows = [
        (pair, names.index(name), choice)
        for name, made in {**people, "model:m": model}.items()
        for pair, choice in enumerate(made)
        if choice is not None
    ]
    pair, worker, choice = (np.array(column, dtype=np.int32) for column in zip(*rows, strict=True))
    flip = pair % 2 == 1  # shown in either order
    a, b = 2 * pair, 2 * pair + 1
    return Judgments(
        queries=tuple(f"q{number}" for number in range(pair.max() // 4 + 1)),
        docs=tuple(f"d{number:04}" for number in range(2 * pair.max() + 2)),
        workers=names,
        query=pair // 4,
        left=np.where(flip, b, a).astype(np.int32),
        right=np.where(flip, a, b).astype(np.int32),
        choice=np.where(flip, -choice, choice).astype(np.int8),
        strength=np.ones(len(pair), dtype=np.int8),
        worker=worker,
    )


def crowd(error: float, model_error: float, *, people: int = 4, pairs: int = 80, seed: int = 1) -> Judgments:
    rng = np.random.default_rng(seed)
    truth = rng.choice([-1, 1], pairs)

    def made(share: float) -> list[int]:
        return list(map(int, truth * np.where(rng.random(pairs) < share, -1, 1)))

    return votes_of({f"w{number}": made(error) for number in range(people)}, made(model_error))


def test_a_model_as_good_as_people_passes_and_a_coin_does_not() -> None:
    for model_error, passes in ((0.1, True), (0.5, False)):
        people, models = split_models(crowd(0.2, model_error))
        gate = gate_model(people, "m", models["m"])
        assert (gate.people, gate.votes, gate.enough, gate.open) == (4, 320, True, passes)
        assert gate.state == ("open" if passes else "shut"), "all four are better than a coin: that is told"
        assert gate.low < gate.difference < gate.high
        assert (gate.high < 0) is not passes


def test_the_gate_is_that_of_the_papers_authors() -> None:
    """Figures of their code (github.com/nitaytech/AltTest) for these votes."""
    pattern = [[1, 1, -1, 1, -1, 1], [1, -1, -1, 1, -1, 1], [1, 1, -1, -1, -1, 1], [1, 1, 1, 1, -1, -1]]
    people, models = split_models(
        votes_of({f"w{n}": row * 7 for n, row in enumerate(pattern[:3])}, pattern[3] * 7)
    )
    gate = gate_model(people, "m", models["m"])
    assert (gate.won, gate.people) == AUTHORS[:2]
    assert (gate.advantage, gate.people_advantage) == pytest.approx(AUTHORS[2:])


AUTHORS = (0, 3, 0.6666666666666666, 0.888888888888889)


def test_few_votes_leave_the_gate_shut() -> None:
    people, models = split_models(crowd(0.0, 0.0, people=2, pairs=984))
    two = gate_model(people, "m", models["m"])
    assert (two.enough, two.lacks) == (False, "1,968 votes by 2 people: a third person is missing")
    people, models = split_models(crowd(0.0, 0.0, people=6, pairs=14))  # 84 votes: two people of 42 each
    gate = gate_model(people, "m", models["m"])
    assert (gate.people, gate.enough, gate.open) == (2, False, False)
    assert gate.lacks.startswith("84 votes by 6 people, 84 of them on pairs that another person judged: it")
    alone = votes_of({"w": [1] * 100}, [1] * 100)
    people, models = split_models(alone)
    gate = gate_model(people, "m", models["m"])
    assert (gate.votes, gate.people, gate.lacks[-27:]) == (0, 0, "two more people are missing")
    assert gate.state == f"not told: {gate.lacks}"
    assert np.isnan([gate.difference, gate.advantage, gate.winning_rate]).all()
    nameless = replace(people, worker=np.full(len(people), -1, np.int32))
    assert gate_model(nameless, "m", models["m"]).lacks.startswith("100 votes of unknown people, 0 of them")
    none = alternative_annotator("m", SharedVotes(*[], **dict.fromkeys(FIELDS, np.empty(0, np.int64))))
    assert not none.open


def test_a_large_crowd_opens_the_gate_to_a_model_that_is_as_good() -> None:
    """Forty workers of 45 votes each shut it to every such model, and so it did in 300 of 300 studies."""
    opened, rng = [], np.random.default_rng(3)
    for _ in range(20):
        truth = rng.choice([-1, 1], 600)
        votes = truth[:, None] * np.where(rng.random((600, 3)) < 0.15, -1, 1)
        pair = np.repeat(np.arange(600), 3)
        shared = SharedVotes(
            query=pair // 6,
            pair=pair,
            person=rng.random((600, 40)).argsort(axis=1)[:, :3].ravel(),
            choice=votes.ravel(),
            model=(truth * np.where(rng.random(600) < 0.15, -1, 1))[pair],
        )
        gate = alternative_annotator("m", shared)
        assert 3 <= gate.people <= 9
        opened.append(gate.open)
    assert np.mean(opened) > 0.8


def test_a_model_that_misreads_one_query_of_twenty_may_misread_more() -> None:
    """Its four pairs are not four independent errors: 80 such pairs passed for all three people."""
    people, models = split_models(votes_of({name: [1] * 80 for name in "abc"}, [-1] * 4 + [1] * 76))
    gate = gate_model(people, "m", models["m"])
    assert (gate.people, gate.won, gate.state, gate.worse) == (3, 0, "not told", False)
    assert gate.low < -gate.epsilon < gate.difference == pytest.approx(-0.05)
    spread = votes_of(
        {name: [1] * 80 for name in "abc"}, [-1, *[1] * 19] * 4
    )  # on four queries, one pair each
    people, models = split_models(spread)
    assert gate_model(people, "m", models["m"]).open


def test_a_copy_of_a_person_is_no_judge() -> None:
    """It agrees with the others as that person does, and passed for everybody."""
    people, _ = split_models(crowd(0.2, 0.2))
    copied = select_judgments(people, people.worker == people.workers.index("w1"))
    gate = gate_model(people, "m", copied)
    assert (gate.won, gate.people, gate.repeats, gate.state) == (4, 4, ("w1",), "shut: votes as w1")
    people, models = split_models(crowd(0.0, 0.0))
    unanimous = gate_model(people, "m", models["m"])
    assert (unanimous.repeats, unanimous.open) == ((), True), "all are right, and nobody's copy"
    people, models = split_models(crowd(0.2, 0.0, pairs=400))
    assert gate_model(people, "m", models["m"]).repeats == ()


def test_a_gate_names_people_of_a_study_by_their_pseudonyms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    init(tmp_path / "study", name="study")
    study, log = Study(tmp_path / "study"), crowd(0.2, 0.2)
    of_model, of_person = (log.worker == log.workers.index(name) for name in ("model:m", "w1"))
    log.choice[of_model] = log.choice[of_person]
    monkeypatch.setattr(model_gates, "load_judgments", lambda *_, **__: log)
    (gate,) = model_gates.study_gates(study)
    assert gate.repeats == (study.opaque("worker", "w1"),)
    with pytest.raises(StudyError, match=f"votes as {gate.repeats[0]} does"):
        model_gates.check_gates(study, [gate.model], ungated=False)


def test_a_judge_of_imported_votes_may_be_named_as_a_model(tmp_path: Path) -> None:
    log = crowd(0.2, 0.2)
    votes = tmp_path / "votes.txt"
    rows = zip(log.query, log.left, log.right, log.choice, log.worker, strict=True)
    votes.write_text(
        "".join(
            f"{log.queries[q]} {log.docs[a]} {log.docs[b]} {log.docs[a if c > 0 else b]} "
            f"{log.workers[w].removeprefix('model:')}\n"
            for q, a, b, c, w in rows
        )
    )
    init(tmp_path / "study")
    import_votes(tmp_path / "study", votes)
    (gate,) = judge(tmp_path / "study", worth=True, model="m").gates
    people, models = split_models(log)
    alone = gate_model(people, "m", models["m"])
    assert (gate.model, gate.votes, gate.won, gate.people) == ("m", alone.votes, alone.won, alone.people)
    assert (gate.low, gate.high) == pytest.approx((alone.low, alone.high))  # added in another order
    with pytest.raises(InputError, match="no judgment is by 'nobody'"):
        judge(tmp_path / "study", worth=True, model="nobody")
    with pytest.raises(StudyError, match="no model has judged"):
        judge(tmp_path / "study", worth=True)
    with pytest.raises(InputError, match="needs a model and its address"):
        judge(tmp_path / "study")


def test_people_are_taken_together_by_how_many_votes_they_cast() -> None:
    few = crowd(0.2, 0.2, people=5, pairs=40)
    people, models = split_models(few)
    assert gate_model(people, "m", models["m"]).people == 5  # each alone, as in the paper
    many = crowd(0.2, 0.2, people=6, pairs=40)
    people, models = split_models(many)
    assert gate_model(people, "m", models["m"]).people == 3  # 240 votes
    people, models = split_models(crowd(0.2, 0.2, people=7, pairs=200))
    assert gate_model(people, "m", models["m"]).people == 7  # each has 200


FIELDS = ("query", "pair", "person", "choice", "model")


def test_a_second_vote_of_one_person_on_a_pair_is_not_another_person() -> None:
    log = crowd(0.2, 0.2)
    people, models = split_models(log)
    twice = replace(
        people,
        **{
            name: np.tile(getattr(people, name), 2) for name in ("query", "left", "right", "choice", "worker")
        },
        strength=np.tile(people.strength, 2),
    )
    assert gate_model(twice, "m", models["m"]) == gate_model(people, "m", models["m"])


COLUMNS = ("query", "left", "right", "choice", "strength", "worker")


def test_models_are_named_or_known_by_their_prefix() -> None:
    log = crowd(0.2, 0.2)
    people, models = split_models(log, ["w0"])
    assert set(models) == {"w0"}
    assert len(people) == 3 * 80  # a model that is not asked for is not a person either
    with pytest.raises(KeyError):
        split_models(log, ["nobody"])


def powered(people: int, others: int, wrong: float, share: float, seed: int = 0) -> tuple[float, PoweredMean]:
    rng = np.random.default_rng(seed)
    truth = (rng.random(people + others) < share).astype(np.float64)
    said = np.where(rng.random(truth.size) < wrong, 1 - truth, truth)
    return share, prediction_powered_mean(truth[:people], said[:people], said[people:])


def test_a_good_model_narrows_the_interval_and_no_model_widens_it() -> None:
    held, narrower = 0, []
    for seed in range(30):
        share, good = powered(60, 600, 0.1, 0.6, seed)
        held += good.both_low <= share <= good.both_high
        narrower.append((good.both_high - good.both_low) / (good.people_high - good.people_low))
        _, useless = powered(60, 600, 0.5, 0.6, seed)
        assert useless.both_high - useless.both_low <= useless.people_high - useless.people_low + 1e-12
        assert useless.saved_low < 10
    assert held >= 26  # of 30 at 95 %: fewer by chance once in 60
    assert max(narrower) < 0.9
    assert np.mean(narrower) < 0.7


def test_a_model_that_chooses_its_queries_takes_none_of_peoples_away() -> None:
    """It judges mostly queries on which the first run wins: the share over all queries is people's."""
    rng = np.random.default_rng(5)
    held, narrower = 0, []
    for _ in range(80):
        truth = (rng.random(700) < 0.5).astype(np.float64)
        said = np.where(rng.random(700) < 0.1, 1 - truth, truth)
        said[rng.random(700) > np.where(truth == 1, 0.8, 0.2)] = np.nan
        elsewhere = said[100:][~np.isnan(said[100:])]
        found = prediction_powered_mean(truth[:100], said[:100], elsewhere)
        assert (found.judged, found.people) == (100, pytest.approx(truth[:100].mean()))
        assert found.shared == (~np.isnan(said[:100])).sum() < 100
        held += found.both_low <= 0.5 <= found.both_high
        narrower.append((found.both_high - found.both_low) / (found.people_high - found.people_low))
    assert held >= 71  # of 80 at 95 %: fewer by chance once in 70
    assert max(narrower) <= 1 + 1e-12
    assert np.mean(narrower) < 0.99


@pytest.mark.parametrize("ones", [20, 30, 31])
def test_a_model_that_says_what_people_say_is_no_sure_thing_and_saves_what_lies_between(ones: int) -> None:
    """Some correlations of equal outcomes are 1 but for rounding, and some are 1."""
    people = (np.arange(60) < ones).astype(np.float64)
    found = prediction_powered_mean(people, people, np.tile([1.0, 0.0], 30))
    assert found.correlation == pytest.approx(1.0)
    assert found.correlation_low < 0.99
    assert found.saved_low < 50 < found.saved < found.saved_high == pytest.approx(60)


def test_a_model_that_judged_nothing_of_peoples_leaves_them_as_they_are() -> None:
    people = np.tile([1.0, 0.0, 1.0], 20)
    for elsewhere in (np.empty(0), np.ones(50)):
        found = prediction_powered_mean(people, np.full(60, np.nan), elsewhere)
        assert (found.shared, found.weight, found.saved, found.shift) == (0, 0.0, 0.0, 0.0)
        assert (found.both, found.both_low, found.both_high) == (
            found.people,
            found.people_low,
            found.people_high,
        )


def test_what_is_known_of_few_queries_stays() -> None:
    _, few = powered(LEAST_JUDGED - 1, 500, 0.0, 0.6)
    assert (few.weight, few.both, few.both_low, few.both_high) == (
        0.0,
        few.people,
        few.people_low,
        few.people_high,
    )
    ones = np.ones(50)
    same = prediction_powered_mean(ones, ones, np.zeros(50))
    assert (same.weight, same.saved, same.both) == (0.0, 0.0, 1.0)
    assert same.both_low == same.people_low < 1.0
    nothing_else = prediction_powered_mean(ones, ones, np.empty(0))
    assert (nothing_else.saved, nothing_else.both) == (0.0, 1.0)


def test_it_is_the_estimate_of_ppi_python() -> None:
    """Figures of ppi_py 0.2.3, ``ppi_mean_pointestimate(people, model, elsewhere, lam=weight)``."""
    rng = np.random.default_rng(7)
    people = (rng.random(80) < 0.6).astype(np.float64)
    model = np.where(rng.random(80) < 0.2, 1 - people, people)
    elsewhere = (rng.random(400) < 0.55).astype(np.float64)
    found = prediction_powered_mean(people, model, elsewhere)
    assert found.both == pytest.approx(people.mean() + found.weight * (elsewhere.mean() - model.mean()))
    assert (found.weight, found.both) == pytest.approx(PPI_PYTHON)


PPI_PYTHON = (0.533213298350616, 0.59066876727886)


def test_a_sample_that_is_not_random_shows() -> None:
    people = np.tile([1.0, 0.0, 1.0], 20)
    found = prediction_powered_mean(people, people, np.zeros(300))
    assert found.shift > 2.6


def test_a_new_best_answer_is_none_of_the_qrels() -> None:
    log = votes_of({"w": [1, None, None, None, -1]}, [1, None, None, None, -1])  # type: ignore[list-item]
    people, models = split_models(log)
    qrels = Qrels(
        name="official",
        queries=("q0", "q1", "q9"),
        docs=("d0000", "d0002", "d0008", "x"),
        query=np.array([0, 0, 1, 2], dtype=np.int32),
        doc=np.array([0, 1, 2, 3], dtype=np.int32),
        grade=np.array([1.0, 1.0, 1.0, 1.0]),
    )
    found = estimate_new_best(people, "m", models["m"], qrels, rule="most-wins")
    assert found is not None
    # q0: the winner is the qrel; q1: d0009 beat the qrel d0008.
    assert (found.mean.judged, found.mean.people) == (2, 0.5)


@pytest.mark.parametrize(("share", "wrong", "count"), [(0.4, 0.1, 60), (0.1, 0.1, 60), (0.4, 0.02, 200)])
def test_the_interval_of_what_is_saved_holds_for_outcomes_of_0_and_1(
    share: float, wrong: float, count: int
) -> None:
    """Fisher's interval is for normal outcomes, and held in 43 to 78 % of these studies."""
    rng = np.random.default_rng(12)

    def judged(queries: int) -> tuple[np.ndarray, np.ndarray]:
        people = (rng.random(queries) < share).astype(float)
        return people, np.where(rng.random(queries) < wrong, 1 - people, people)

    true = np.corrcoef(*judged(400_000))[0, 1]
    found = [prediction_powered_mean(*judged(count), judged(500)[1]) for _ in range(100)]
    assert np.mean([one.correlation_low <= true <= one.correlation_high for one in found]) > 0.91


@pytest.mark.parametrize(("count", "share", "wrong"), [(60, 0.1, 0.02), (100, 0.05, 0.01)])
def test_a_model_that_was_right_on_all_of_peoples_queries_may_be_wrong_on_others(
    count: int, share: float, wrong: float
) -> None:
    """The interval held in 90 and 86 % of such studies, in 70 and 64 % of those without a disagreement."""
    rng = np.random.default_rng(14)
    held, promised = [], []
    for _ in range(120):
        truth = (rng.random(count + 2000) < share).astype(float)
        said = np.where(rng.random(truth.size) < wrong, 1 - truth, truth)
        found = prediction_powered_mean(truth[:count], said[:count], said[count:])
        held.append(found.both_low <= share <= found.both_high)
        width = (found.people_high - found.people_low) / (found.both_high - found.both_low)
        if found.both_low > 0 and found.both_high < 1:  # not cut off
            assert found.saved == pytest.approx(count * (width**2 - 1), abs=1e-6)
        promised.append(found.saved_low <= found.saved <= found.saved_high)
    assert np.mean(held) > 0.93
    assert all(promised)


def test_an_outcome_that_people_hardly_saw_leaves_the_model_out() -> None:
    """The model's worth rested on a single query, and the 95 % interval held in four studies of five."""
    rng = np.random.default_rng(13)
    held, left_out = [], []
    for _ in range(100):
        people, elsewhere = ((rng.random(n) < 0.03).astype(float) for n in (30, 300))
        said = [np.where(rng.random(one.size) < 0.03, 1 - one, one) for one in (people, elsewhere)]
        found = prediction_powered_mean(people, *said)
        held.append(found.both_low <= 0.03 <= found.both_high)
        left_out.append(found.weight == 0)
    assert np.mean(held) > 0.93
    assert np.mean(left_out) > 0.9


def test_assessors_are_set_beside_the_first_on_what_both_know() -> None:
    """Each judges other pairs of other queries; a label set decides pairs by its grades."""

    def voted(*rows: tuple[str, str, str, int], name: str, kind: str, **best: str) -> Assessor:
        queries, docs = (tuple(sorted({row[place] for row in rows})) for place in (0, 1))
        docs = tuple(sorted({*docs, *(row[2] for row in rows)}))
        votes = Judgments.of_nobody(
            queries=queries,
            docs=docs,
            query=np.array([queries.index(row[0]) for row in rows], np.int32),
            left=np.array([docs.index(row[1]) for row in rows], np.int32),
            right=np.array([docs.index(row[2]) for row in rows], np.int32),
            choice=np.array([row[3] for row in rows], np.int8),
        )
        return Assessor(name=name, kind=kind, labels=graded(dict.fromkeys(best.items(), 1)), votes=votes)

    def graded(grades: dict[tuple[str, str], float]) -> Qrels:
        queries = tuple(sorted({query for query, _ in grades}))
        docs = tuple(sorted({doc for _, doc in grades}))
        return Qrels(
            name="labels",
            queries=queries,
            docs=docs,
            query=np.array([queries.index(query) for query, _ in grades], np.int32),
            doc=np.array([docs.index(doc) for _, doc in grades], np.int32),
            grade=np.array([*grades.values()], float),
        )

    people = voted(
        ("q1", "a", "b", 1), ("q1", "b", "a", -1), ("q1", "a", "b", -1),  # two of three for a
        ("q1", "b", "c", 1), ("q2", "x", "y", 1), ("q3", "u", "v", 0),
        name="people", kind="people", q1="a", q2="x",
    )  # fmt: skip
    model = voted(
        ("q0", "a", "b", 1), ("q1", "b", "a", 1), ("q1", "c", "b", -1), ("q2", "y", "x", -1),
        ("q3", "u", "v", 1), name="model", kind="model", q0="a", q1="b", q2="x",
    )  # fmt: skip
    labels = Assessor(
        name="labels", kind="labels",
        labels=graded({
            ("q1", "a"): 2, ("q1", "c"): 2, ("q1", "b"): 0, ("q2", "y"): 1, ("q9", "x"): 1, ("q1", "new"): 3,
        }),
    )  # fmt: skip
    found = Assessors([people, model, labels])
    of_model, of_labels = found.beside(1), found.beside(2)
    assert (of_model.pairs, of_model.agree) == (3, 2), "a tie decides no pair"
    assert (of_labels.pairs, of_labels.agree) == (3, 1), "a before b; but c before b, y before x unlabelled"
    assert [(one.queries, one.parted) for one in (of_model, of_labels)] == [(2, ("q1",)), (2, ("q2",))]
    assert (of_model.shared, of_labels.shared) == (1, 1 / 2), "one of the two that are named"
    assert found.by_chance == pytest.approx(5 / 12)
    again = select_judgments(people.votes, np.tile(np.arange(len(people.votes)), 2))
    twice = Assessor(name="twice", kind="people", labels=people.labels, votes=again)
    assert [*Assessors([people, model, twice]).same_votes()] == [("people", "twice")]
    assert [(one.query, one.category, one.preferred, one.other) for one in found.partings()] == [
        ("q1", "model", "a", "b"),
        ("q2", "labels", "x", "y"),
    ]
    assert [(one.votes_for, one.votes_against) for one in found.partings()] == [(2, 1), (1, 0)]
    assert found.gate(2) is None
    gate = found.gate(1)
    assert gate is not None
    assert (gate.cast, gate.lacks[:26]) == (6, "6 votes of unknown people,")


def test_labels_that_say_the_same_cost_nothing_and_turned_ones_cost_most() -> None:
    rng = np.random.default_rng(5)
    queries, runs = tuple(f"q{number:02}" for number in range(40)), tuple("abcdef")
    values = np.clip(rng.random((40, 6)) + np.linspace(0, 0.3, 6), 0, 1)

    def scores(values: np.ndarray, queries: tuple[str, ...]) -> Scores:
        return Scores(
            measure="RR@10", qrels="x", order=Order.SCORE, queries=queries, runs=runs, values=values
        )

    first = scores(values, queries)
    turned = np.flip(np.arange(40))  # the rows of the other in another order, and one query more
    same = scores(np.vstack([values[turned], values[:1]]), (*(queries[row] for row in turned), "q99"))
    worse = scores(1 - values, queries)
    found = mix_labels(first, same, rng=rng)
    assert [(one.labelled, one.queries) for one in found] == [(10, 40), (20, 40), (30, 40)]
    assert all(one.mixed == pytest.approx(1) and one.alone < 1 for one in found)
    assert found[0].alone < found[1].alone < found[2].alone
    against = mix_labels(first, worse, rng=rng)
    assert all(one.mixed < one.alone for one in against)
    assert against[0].mixed == pytest.approx(-against[2].mixed, abs=0.1), "a quarter is what three leave"
    assert mix_labels(scores(values[:3], queries[:3]), same, rng=rng) == ()
    few = np.where(np.arange(40)[:, None] < 2, values[:1], 0)  # most draws of ten have none of the two
    rare = mix_labels(scores(few, queries), scores(few, queries), rng=rng)
    assert 100 < rare[0].draws < rare[1].draws < rare[2].draws < 500
    assert rare[0].alone == pytest.approx(1), "no draw counts that orders no runs"
