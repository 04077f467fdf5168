"""Plan on sizes and votes: what it compares, chooses, estimates and refuses."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from prefjudge import compare, init, publish
from prefjudge.core.planning.rounds import parse_strategy
from prefjudge.core.resolving.scales import weigh_scales
from prefjudge.core.strategies import error_of_scale, log_weight_of_golds, scale_of_error
from prefjudge.errors import InputError, StudyError
from prefjudge.show.results import plain
from prefjudge.steps.plan.pilot import NoiseModel, WrongVotes, likely_studies, pilot_of
from prefjudge.steps.plan.plan import parse_sizes, plan
from prefjudge.study.store import Study
from tests.core.tables import simulated_judgments
from tests.evaluation.test_leaderboard import scores_of
from tests.steps.conftest import COLLECTION
from tests.steps.test_road import judge_all


def test_the_budget_chooses_and_the_seed_repeats() -> None:
    result = plan(sizes="2:12,4:20,6:18", error=0.33, budget=Decimal(200), trials=100, seed=3)
    assert result.sizes == {2: 12, 4: 20, 6: 18}
    assert result.queries == 50
    assert (result.error, result.error_source) == (0.33, "given")
    assert result.chosen is not None
    assert result.chosen.most <= 200
    assert [one.name for one in result.plans] == ["round-robin:1", "default", "sure:80"]
    by_size = [outlook.size for outlook in result.chosen.by_size]
    assert by_size == [2, 4, 6]
    assert result == plan(sizes="2:12,4:20,6:18", error=0.33, budget=Decimal(200), trials=100, seed=3)


def test_money_is_what_the_hits_cost() -> None:
    result = plan(
        sizes="3:10",
        error=0.2,
        strategy=["round-robin:1"],
        reward=Decimal("1.00"),
        reissued=0.0,
        trials=10,
    )
    (one,) = result.plans
    assert (one.hits, one.assignments, one.money) == (3, 3, Decimal("3.60"))


def test_too_small_a_budget_says_what_it_pays() -> None:
    result = plan(sizes="6:100", budget=Decimal(36), strategy=["round-robin:1"], reissued=0, trials=10)
    assert result.chosen is None
    assert "pays for about 10 of the 100 queries" in result.notices[0]
    assert result.error_source.startswith("assumed")


def test_the_error_is_estimated_from_votes(tmp_path: Path) -> None:
    judgments, _ = simulated_judgments(150, 6, votes=3, scale=scale_of_error(0.25), seed=1)
    lines = [
        f"{judgments.queries[q]} {judgments.docs[x]} {judgments.docs[y]} {judgments.docs[x if c > 0 else y]}"
        for q, x, y, c in zip(judgments.query, judgments.left, judgments.right, judgments.choice, strict=True)
    ]
    path = tmp_path / "votes.txt"
    path.write_text("\n".join(lines) + "\n")
    result = plan(sizes="4:10", judgments=path, strategy=["default"], trials=10)
    assert result.error == pytest.approx(0.25, abs=0.03)
    assert "judgments" in result.error_source
    assert "usually" not in result.error_source
    judgments_file = tmp_path / "few.txt"
    judgments_file.write_text("q1 a b a\n")
    few = plan(sizes="3:10", judgments=judgments_file, trials=10, strategy=["default"])
    assert few.error == pytest.approx(0.32, abs=0.01)
    assert few.error_source.endswith("it rests on what crowds usually show")


def test_constant_noise_is_harder_on_large_pools() -> None:
    hard = plan(sizes="12:10", error=0.33, noise=NoiseModel.CONSTANT, strategy=["round-robin:3"], trials=500)
    real = plan(sizes="12:10", error=0.33, strategy=["round-robin:3"], trials=500)
    assert real.plans[0].chance > hard.plans[0].chance + 0.05


@pytest.mark.parametrize(
    "text", ["", "x", "2", "2:", "2:0", "0:3", "2:3;4:5", "300:1", "2:99999999999999999999"]
)
def test_sizes_must_be_sizes(text: str) -> None:
    with pytest.raises(InputError, match="--sizes"):
        parse_sizes(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either a study or --sizes"),
        ({"sizes": "2:3", "error": 0.5}, "not a share of wrong votes"),
        ({"sizes": "2:3", "strategy": ["best"]}, "no strategy 'best'"),
        ({"sizes": "2:3", "reissued": 1.0}, "not a share"),
        ({"sizes": "2:3", "strategy": ["by size"]}, "no strategy 'by size'"),
        ({"sizes": "2:3", "trials": 0}, "--trials 0: out of bounds"),
        ({"sizes": "2:3", "sure": 0}, "--sure 0"),
        ({"sizes": "2:3", "strategy": ["halving"]}, "halving is gone: sure finds as many winners with fewer"),
        ({"sizes": "2:3", "budget": Decimal("NaN")}, "--budget NaN: not a possible amount"),
        ({"sizes": "2:3", "reward": Decimal(-1)}, "--reward -1: not a possible amount"),
    ],
)
def test_mistakes_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(**options)  # type: ignore[arg-type]


def test_a_study_gives_its_sizes_fees_and_budget(pooled: Path) -> None:
    result = plan(pooled, trials=50)
    assert result.queries == 15
    assert sum(size * count for size, count in result.sizes.items()) > 30
    assert result.budget is not None
    assert result.chosen is not None
    assert result.chosen.money <= result.budget
    assert result.error_source.startswith("assumed")
    assert result == plan(pooled, trials=50)


def test_every_plan_has_a_spelling_that_run_reads() -> None:
    given = ["default", "2=round-robin:5,6=sure:70"]
    result = plan(sizes="2:12,6:8", error=0.33, strategy=given, sure=0.6, budget=Decimal(1500), trials=100)
    assert [one.strategy for one in result.plans] == [*given, "sure:60"]
    assert [one.name for one in result.plans] == ["default", "by size", "sure:60"]
    assert result.chosen in result.plans
    for one in result.plans:
        assert parse_strategy(one.strategy).name == one.strategy


def test_a_plan_says_between_which_shares_nine_studies_of_ten_find() -> None:
    assumed = plan(sizes="4:40", strategy=["round-robin:1"], trials=800)
    assert assumed.errors == pytest.approx((0.18, 0.43), abs=0.01)
    (table,) = assumed.tables()
    assert "18% to 43% in nine crowds of ten" in table.notes[0]
    given = plan(sizes="4:40", error=0.33, strategy=["round-robin:1"], trials=800)
    assert given.errors is None
    wide, narrow = (float(np.diff(one.plans[0].ends)[0]) for one in (assumed, given))
    assert 0.1 < narrow < wide
    least, most = (f"{40 * end:.0f}" for end in given.plans[0].ends)
    assert f"({least} to {most}) of 40 queries" in given.screen().found[0]


def test_work_that_is_dropped_is_expected_before_any_work_is_done() -> None:
    result = plan(sizes="4:100", error=0.2, strategy=["round-robin:1"], trials=100)
    # Honest workers miss one gold pair in twenty, and a HIT has three.
    assert result.reissued == pytest.approx(1 - 0.95**3, abs=0.05)
    (one,) = result.plans
    assert one.least < one.money < one.most
    assert one.money > 60 * Decimal("2.40")


def test_a_budget_that_pays_for_nothing_says_so() -> None:
    result = plan(sizes="2:120", budget=Decimal(0), strategy=["default"], reissued=0, trials=10)
    assert result.notices == (
        "$0.00 is too little: the cheapest plan, default, costs $86.40; it pays for none of the 120 queries",
    )


def test_a_study_on_its_way_is_planned_with_what_it_has_seen(served: Path) -> None:
    publish(served, yes=True)
    judge_all(served)
    result = plan(served, trials=20, strategy=["default"])
    assert result.committed > 0
    assert result.budget is not None
    assert result.left == result.budget - result.committed
    assert result.driven_by == "publish"
    assert "repeats, and" in result.error_source
    assert "answers to gold pairs" in result.error_source
    assert f"committed ${result.committed:,.2f} already" in result.notices[0]
    assert result.notices[1].startswith("rehearsal: "), "it has learned from simulated judgments"
    with Study(served).transaction() as db:
        count = len(db.execute("SELECT 1 FROM assignments"))
        db.execute("UPDATE assignments SET verdict = 'kept'")
    before = plan(served, trials=20, strategy=["default"])
    # What is usual weighs as much as twenty assignments, of which none was dropped.
    usual = 1 - (1 - before.error / 4) ** 3
    assert before.reissued == pytest.approx(usual * 20 / (20 + count), abs=0.06)
    with Study(served).transaction() as db:
        db.execute(
            "UPDATE assignments SET verdict = 'missed gold', gold_missed = gold_right, gold_right = 0 "
        )
    after = plan(served, trials=20, strategy=["default"])
    assert after.reissued > before.reissued + 0.2
    assert after.plans[0].money > before.plans[0].money
    assert plan(served, trials=20, strategy=["default"], reissued=0.0).reissued == 0


def test_missed_golds_hold_the_error_up_and_few_answers_say_little() -> None:
    def error(**golds: int) -> float:
        return weigh_scales(lambda scale, _: log_weight_of_golds(error_of_scale(scale), **golds)).error

    usual = error(right=0, missed=0)
    assert usual == pytest.approx(0.32, abs=0.01)
    assert error(right=3, missed=0) == pytest.approx(usual, abs=0.06)
    assert error(right=60, missed=40) > 0.37
    assert error(right=600, missed=400) > error(right=60, missed=40)
    assert error(right=100, missed=0) < usual


def test_a_study_without_a_pool_has_no_plan(tmp_path: Path) -> None:
    init(tmp_path / "study", config="demo", name="trial")
    with pytest.raises(StudyError, match="no pool"):
        plan(tmp_path / "study")


def test_json_leaves_the_simulated_pools_out() -> None:
    result = plan(sizes="3:10", error=0.2, strategy=["round-robin:2"], trials=10)
    (size,) = plain(result)["plans"][0]["by_size"]
    assert {*size} == {"size", "chance", "pairs", "judgments"}


def test_a_pilot_tells_the_deviation_of_a_difference() -> None:
    runs = [COLLECTION / "runs" / f"{name}.txt" for name in ("lexical", "reranker-large")]
    given = {"sizes": "2:5", "strategy": ["round-robin:1"], "trials": 5, "queries": 0.1}
    found = plan(**given, runs=runs, qrels=[str(COLLECTION / "qrels.txt")])
    (one,) = compare(*runs, qrels=[str(COLLECTION / "qrels.txt")]).comparisons
    tested = one.significance
    assert found.needed is not None
    # The effect of `compare` is the mean difference in units of the deviation.
    assert found.needed.deviation == pytest.approx(abs(tested.difference[0] / tested.effect[0]))
    assert any("1 pair of runs on 15 queries, too few to know it well" in one for one in found.notices)
    by_hand = plan(**given, deviation=found.needed.deviation)
    assert by_hand.needed == found.needed
    for wrong, words in (
        ({"queries": None}, "need --queries"),
        ({"deviation": 0.3}, "exclude each other"),
        ({"runs": [runs[0], runs[0]]}, "run"),
        ({"runs": runs[:1]}, "no two runs of the pilot differ"),
    ):
        with pytest.raises(InputError, match=words):
            plan(**(given | {"runs": runs, "qrels": [str(COLLECTION / "qrels.txt")]} | wrong))
    with pytest.raises(InputError, match="needs the deviation"):
        plan(**given)


def test_a_study_that_is_not_judged_is_a_pilot_by_its_own_qrels(pooled: Path) -> None:
    found = plan(pooled, strategy=["round-robin:1"], trials=5, queries=0.1)
    assert found.needed is not None
    assert any("15 pairs of runs" in one and "under qrels" in one for one in found.notices)


def test_plans_whose_answers_are_wrong_more_often_need_more_queries() -> None:
    given = {"sizes": "1:10,2:10,5:10", "strategy": ["round-robin:1", "round-robin:5"], "trials": 300}
    found = plan(**given, queries=0.05, deviation=0.3)
    assert found.needed is not None
    few, many = found.needed.by_plan
    assert found.needed.queries < many.queries < few.queries
    chances = {one.size: one.chance for one in found.plans[0].by_size}
    assert few.shown == pytest.approx((1 + 2 * chances[2] - 1 + chances[5]) / 3)
    assert few.judgments == round(found.plans[0].judgments / 30 * few.queries)
    assert f"round-robin:1 {few.queries:,} and {few.judgments:,}" in "".join(found.tables()[0].notes)
    # Half of the answers of two candidates are right by chance: no number of queries shows anything.
    nothing = plan(
        sizes="2:5", error=0.45, strategy=["round-robin:1"], trials=50, queries=0.05, deviation=0.3
    )
    assert nothing.needed is not None
    assert nothing.needed.by_plan[0].shown < 0.4


def test_a_copy_of_a_run_says_nothing_of_the_deviation() -> None:
    values = {"a": [1.0, 0.0, 0.5, 0.2], "copy": [1.0, 0.0, 0.5, 0.2], "b": [0.0, 0.0, 1.0, 0.2]}
    found = pilot_of(scores_of(values))
    assert found.pairs == 2
    assert found.deviation == pytest.approx(np.std([1.0, 0.0, -0.5, 0.0], ddof=1))
    for none in ({"a": [1.0, 0.0], "b": [1.0, 0.0]}, {"a": [1.0], "b": [0.0]}, {"a": [1.0, 0.5]}):
        with pytest.raises(InputError, match="no two runs of the pilot differ"):
            pilot_of(scores_of(none))


def test_simulated_studies_have_answers_that_lie_in_any_way() -> None:
    rng, wrong = np.random.default_rng(1), WrongVotes(share=0.33, source="given")
    equal = []
    for study in likely_studies(NoiseModel.BRADLEY_TERRY, wrong, 20, lambda error: 0.0, rng):
        chances, best = study.noise.draw_chances(100, 6, rng)
        of_best = np.abs(chances[np.arange(100), best] - 0.5) < 1e-6
        equal.append((of_best.sum(axis=1) > 1).mean())
    assert min(equal) < 0.03 < 0.12 < max(equal)
