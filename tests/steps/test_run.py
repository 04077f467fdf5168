"""A study driven round after round, and the answers kept current as new runs come."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from prefjudge import collect, gold, init, publish, resolve, run, score, status
from prefjudge.cli.road import _fared
from prefjudge.core.planning.rounds import Duel, gather_challenge, next_challenge_round
from prefjudge.crowd.simulated import Mind, SimulatedWorker, seen
from prefjudge.errors import CrowdError, InputError, StudyError
from prefjudge.field.challenge import USUAL_RULE, grown, usual_rule
from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.field.publish import choose_excluded
from prefjudge.field.rounds import ChallengeDrive, find_gains
from prefjudge.reading.labels import read_qrels
from prefjudge.steps.pool import PoolResult
from prefjudge.steps.work import simulated_truth
from prefjudge.study import store
from prefjudge.study.pools import load_gold, load_passages, load_pools, load_queries
from prefjudge.study.store import Study
from tests.cli.conftest import prefjudge
from tests.core.tables import judgments_of, pools_of, qrels_of
from tests.steps.conftest import COLLECTION, edit, fix_key, made_once, pool_demo
from tests.steps.test_interruptions import Wire, listed, recorded
from tests.steps.test_interruptions import wire as wire
from tests.steps.test_road import TRUTH

RUNS = sorted((COLLECTION / "runs").iterdir())
HONEST = {"workers": 8, "error": 0.0, "truth": TRUTH, "yes": True}


def pool_runs(
    study: Path, runs: list[Path], *, challenge: bool = False, sure: float | None = None
) -> PoolResult:
    left_out = {"qrels": None, "queries": None} if challenge else {}
    return pool_demo(study, runs=runs, challenge=challenge, sure=sure, **left_out)


@pytest.fixture
def young(tmp_path: Path) -> Path:
    return young_study(tmp_path / "study")


def young_study(study: Path) -> Path:
    """A study of the first three runs, with a key of its own."""
    _young(study)
    with Study(study).transaction() as db:
        db.execute("UPDATE settings SET value = :key WHERE key = 'secret'", key=store.new_key())
    return study


@made_once
def _young(study: Path) -> None:
    init(study, config="demo")
    fix_key(study)
    pool_runs(study, RUNS[:3])
    gold(study, accept=True, file=COLLECTION / "gold.tsv")


@made_once
def driven_study(study: Path) -> None:
    """The same, with the first answers that `run` keeps."""
    run(_young(study), strategy="round-robin:1", **HONEST)  # type: ignore[arg-type]


@pytest.fixture
def driven(tmp_path: Path) -> Path:
    return driven_study(tmp_path / "study")


def answers(study: Path) -> dict[str, set[str]]:
    return by_qrels(study / "preference.qrels")


def by_qrels(path: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    qrels = read_qrels(path)
    for query, doc in zip(qrels.query.tolist(), qrels.doc.tolist(), strict=True):
        found.setdefault(qrels.queries[query], set()).add(qrels.docs[doc])
    return found


def best_of(study: Path) -> dict[str, set[str]]:
    """The truly best candidates that the study has seen."""
    truth = {
        (query, doc): float(value)
        for query, doc, value in (line.split("\t") for line in TRUTH.read_text().splitlines()[1:])
    }
    with Study(study).transaction(write=False) as db:
        rows = db.execute(
            "SELECT query_id, doc_id FROM pooled UNION SELECT query_id, doc_id FROM challengers"
        )
    best: dict[str, set[str]] = {}
    for query in {query for query, _ in rows}:
        values = {doc: truth[query, doc] for q, doc in rows if q == query}
        best[query] = {doc for doc, value in values.items() if value == max(values.values())}
    return best


@pytest.mark.parametrize("strategy", ["default", "round-robin:1", "3=round-robin:1,9=sure:60"])
def test_without_error_every_strategy_ends_at_the_truth(young: Path, strategy: str) -> None:
    result = run(young, strategy=strategy, **HONEST)  # type: ignore[arg-type]
    assert (result.unfinished, result.stopped_by) == (0, "nothing left to ask")
    found, best = answers(young), best_of(young)
    assert found.keys() == best.keys()
    assert all(docs <= best[query] for query, docs in found.items())
    with pytest.raises(StudyError, match="version 1, are kept by `prefjudge run`"):
        resolve(young)
    again = run(young, **HONEST)  # type: ignore[arg-type]
    assert (again.rounds, again.judgments) == (0, result.judgments)


def test_the_budget_ends_it_and_queries_that_are_not_through_have_no_answer(young: Path) -> None:
    config = young / "study.toml"
    config.write_text(config.read_text().replace("budget = 100.00", "budget = 12.50"))
    result = run(young, strategy="round-robin:3", **HONEST)  # type: ignore[arg-type]
    assert result.stopped_by.startswith("the budget")
    assert 0 < result.unfinished < result.queries
    assert len(answers(young)) == result.queries - result.unfinished
    assert float(status(young).committed) <= 12.50
    assert status(young).hits.get("open", 0) == 0, "what was paid for is collected"
    assert result.judgments == status(young).judgments > 0
    config.write_text(config.read_text().replace("budget = 12.50", "budget = 200.00"))
    assert run(young, **HONEST).unfinished == 0  # type: ignore[arg-type]


def test_a_visit_in_vain_is_not_the_end_where_what_came_is_asked_again(
    young: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A HIT was submitted before the run, and only its collection finds that it has to be asked again."""
    monkeypatch.setattr("prefjudge.steps.collect.has_fresh_gold", lambda *_: False)  # so the HIT itself is
    edit(young, ("budget = 100.00", "budget = 2.40"))
    with monkeypatch.context() as patch:
        patch.setattr(Mind, "choose", lambda mind, slot, *, leftmost: 1 - mind._better(slot))
        patch.setattr("prefjudge.steps.run.collect", Mock(side_effect=CrowdError("killed")))
        with pytest.raises(CrowdError, match="killed"):
            run(young, strategy="round-robin:1", workers=1, truth=TRUTH, yes=True)
    edit(young, ("budget = 2.40", "budget = 200.00"))
    assert run(young, **HONEST).unfinished == 0  # type: ignore[arg-type]


def test_newcomers_meet_the_best_known_answer_only_and_history_tells_who_won(driven: Path) -> None:
    before, judged = answers(driven), status(driven).judgments
    opened = pool_runs(driven, RUNS[3:], challenge=True)
    assert opened.documents > 0
    with pytest.raises(StudyError, match="a challenge is under way"):
        pool_runs(driven, RUNS[3:], challenge=True)
    result = run(driven, **HONEST)  # type: ignore[arg-type]
    assert result.version == 2
    assert len(result.duels) == opened.documents
    after, best = answers(driven), best_of(driven)
    assert all(docs <= best[query] for query, docs in after.items())
    assert all(move.reference != move.other for move in result.moved)
    assert {move.run for move in result.moved} & {"reranker-large", "reranker-small", "late-interaction"}
    changed = {query for query in after if after[query] != before[query]}
    assert changed
    assert changed <= {duel.query_id for duel in result.duels if duel.dethroned}
    for duel in result.duels:
        assert duel.brought_by
        assert duel.dethroned == (duel.votes_for > duel.votes_against)
        assert duel.chance is not None
    # Each newcomer meets the most probable best in two votes; one answer is beyond doubt before.
    assert status(driven).judgments - judged >= 2 * opened.documents
    assert (driven / "preference-v1.qrels").is_file()
    assert len(score(driven).boards[0].leaderboard.ranked) == 6
    with pytest.raises(InputError, match="already has a run"):
        pool_runs(driven, RUNS[3:], challenge=True)
    assert resolve(driven, out=driven / "by-rule.qrels").confidence is not None
    files = {path.name: path.read_bytes() for path in driven.glob("preference*.qrels")}
    for path in driven.glob("preference*.qrels"):  # as after a kill before they were written
        path.unlink()
    assert run(driven, **HONEST).version == 2  # type: ignore[arg-type]
    assert {path.name: path.read_bytes() for path in driven.glob("preference*.qrels")} == files


def test_a_newcomer_that_is_truly_better_wins_a_rehearsal(young: Path) -> None:
    drawn = {"workers": 8, "error": 0.0, "yes": True}  # what simulated workers take for the truth is drawn
    edit(young, ("budget = 100.00", "budget = 1000.00"))
    run(young, strategy="round-robin:1", **drawn)  # type: ignore[arg-type]
    before = simulated_truth(Study(young), None)
    opened = pool_runs(young, RUNS[3:], challenge=True)
    truth = simulated_truth(Study(young), None)
    assert before.items() <= truth.items(), "nothing changes about the passages that have been judged"
    result = run(young, **drawn)  # type: ignore[arg-type]
    with Study(young).transaction(write=False) as db:
        queries, passages, screening = load_queries(db), load_passages(db), load_gold(db)
    off_topic = {(pair.query, pair.bad) for pair in screening.values()}
    assert off_topic.isdisjoint(truth)
    rivals: dict[str, list[float]] = {}
    for duel in result.duels:
        shown = [seen(passages[doc]) for doc in (duel.incumbent, duel.newcomer)]
        known = [(seen(queries[duel.query_id]), text) for text in shown]
        rivals.setdefault(duel.query_id, []).extend(truth[key] for key in known if key in truth)
    by_truth = {
        (duel.query_id, duel.newcomer): (
            truth[seen(queries[duel.query_id]), seen(passages[duel.newcomer])] == max(rivals[duel.query_id])
        )
        for duel in result.duels
        if (queries[duel.query_id], passages[duel.newcomer]) not in off_topic
    }
    assert len(result.duels) == opened.documents
    assert {key: won for key, won in won_by(result.duels).items() if key in by_truth} == by_truth
    assert {*by_truth.values()} == {True, False}


def won_by(duels: Sequence[Duel]) -> dict[tuple[str, str], bool]:
    return {(duel.query_id, duel.newcomer): duel.dethroned for duel in duels}


def test_a_challenge_that_the_budget_ends_stays_open(driven: Path, tmp_path: Path) -> None:
    before = answers(driven)
    newcomers = [tmp_path / path.name for path in RUNS[3:]]
    for copy, path in zip(newcomers, RUNS[3:], strict=True):
        copy.write_bytes(path.read_bytes())
    for unfit, words in ((0.0, "--sure 0"), (1.5, "sure is 1.5")):
        with pytest.raises(InputError, match=words):
            pool_runs(driven, newcomers, challenge=True, sure=unfit)
    with pytest.raises(InputError, match="--sure needs --challenge"):
        pool_runs(driven, newcomers, sure=0.5)
    pool_runs(driven, newcomers, challenge=True, sure=0.5)
    opened = status(driven).challenge
    assert opened is not None
    assert opened.strategy == "sure:50/516", "patience grows with the candidates"
    with pytest.raises(StudyError, match="under way by sure:50/516, not sure:70"):
        run(driven, sure=0.7, **HONEST)  # type: ignore[arg-type]
    config = driven / "study.toml"
    text = config.read_text()
    config.write_text(text.replace("budget = 100.00", f"budget = {status(driven).committed}"))
    result = run(driven, strategy="round-robin:1", **HONEST)  # type: ignore[arg-type]
    assert result.stopped_by.startswith("the budget")
    assert (result.version, result.duels, result.unfinished) == (1, (), result.queries)
    assert answers(driven) == before
    config.write_text(text.replace("budget = 100.00", "budget = 500.00"))
    newcomers[0].unlink()
    told: list[str] = []
    result = run(driven, **HONEST, tell=told.append)  # type: ignore[arg-type]
    assert (result.version, result.unfinished) == (2, 0)
    assert result.duels
    assert f"{newcomers[0]} is gone" in told[-1], "what was judged is kept without the run's file"


def test_nobody_is_paid_for_the_same_pairs_again_and_again(young: Path) -> None:
    result = run(young, workers=12, error=0.2, truth=TRUTH, yes=True)
    assert result.stopped_by == "nothing left to ask"
    with Study(young).transaction(write=False) as db:
        repeated = db.execute("SELECT count(*) FROM drops WHERE reason LIKE '%before%'")[0][0]
    assert repeated <= 0.1 * result.judgments


def test_what_a_killed_worker_held_is_finished_at_the_next_run(
    young: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise CrowdError("killed with a HIT in hand")

    with monkeypatch.context() as patch:
        patch.setattr(SimulatedWorker, "_judge", killed)
        with pytest.raises(CrowdError, match="in hand"):
            run(young, strategy="round-robin:1", **HONEST)  # type: ignore[arg-type]
    result = run(young, **HONEST)  # type: ignore[arg-type]
    assert (result.unfinished, result.stopped_by) == (0, "nothing left to ask")


def test_a_run_ends_where_nobody_may_take_what_is_left(young: Path) -> None:
    typed = ("--workers", 2, "--error", 0, "--truth", TRUTH, "--yes")
    stopped = prefjudge("run", young, "--strategy", "round-robin:4", *typed)
    assert "ended by a lack of workers: none of them may take the" in stopped.stderr
    assert stopped.stderr.count("next: ") == 0
    again = re.findall(r"Run: prefjudge (run .* --workers (\d+) --error 0 --truth .*);", stopped.stderr)
    assert int(again[0][1]) > 2
    assert (
        prefjudge("status", young).stderr.splitlines()[-1]
        == f"next: prefjudge run {young} --workers {again[0][1]}"
    )
    done = prefjudge(*again[0][0].split(), "--yes")
    assert done.returncode == 0
    assert "round 1: " in stopped.stderr
    assert "version 1 of the answers" in done.stderr


@pytest.mark.parametrize(
    ("overlap", "pairs", "known", "excluded"),
    [
        ((), 10, 20, ""),
        ((("a", 1), ("b", 10)), 10, 20, "ba"),
        ((("a", 1), ("b", 2), ("c", 9)), 10, 4, "cb"),
        ((("a", 3), ("b", 3), ("c", 3)), 3, 3, "abc"),
        ((("a", 1),), 10, 1, ""),
    ],
    ids=["nobody", "everybody", "half a panel stays", "who has judged all goes", "one must stay"],
)
def test_who_has_judged_most_pairs_of_a_hit_is_kept_from_it(
    overlap: tuple[tuple[str, int], ...], pairs: int, known: int, excluded: str
) -> None:
    assert choose_excluded(overlap, pairs=pairs, known=known) == tuple(excluded)


def test_what_does_not_fit_is_said(young: Path) -> None:
    with pytest.raises(StudyError, match=r"no preference qrels yet\nIt has .*; then .*resolve"):
        pool_runs(young, RUNS[3:], challenge=True)
    with pytest.raises(InputError, match="no strategy 'best'"):
        run(young, strategy="best", **HONEST)  # type: ignore[arg-type]
    with pytest.raises(StudyError, match="you did not confirm it"):
        run(young, strategy="sure:60")
    with pytest.raises(StudyError, match="driven by sure:60, not round-robin:3"):
        run(young, strategy="round-robin:3")
    with pytest.raises(StudyError, match="do not work for real money"):
        run(young, live=True, workers=2)


def test_a_study_driven_by_a_strategy_that_was_taken_out_is_told_what_goes_on(driven: Path) -> None:
    judgments = status(driven).judgments
    with Study(driven).transaction() as db:
        db.execute("UPDATE settings SET value = 'halving:1x2' WHERE key = 'strategy'")
    with pytest.raises(StudyError, match="driven by halving:1x2, but halving is gone") as told:
        run(driven, **HONEST)  # type: ignore[arg-type]
    assert "All its votes still count. Run: prefjudge run" in str(told.value)
    assert "--strategy default" in str(told.value)
    assert status(driven).judgments == judgments, "nothing was asked"
    with pytest.raises(InputError, match="halving is gone"):
        run(driven, strategy="halving:1x2", **HONEST)  # type: ignore[arg-type]
    again = run(driven, strategy="round-robin:1", **HONEST)  # type: ignore[arg-type]
    assert (again.judgments, again.strategy) == (judgments, "round-robin:1")
    assert run(driven, **HONEST).strategy == "round-robin:1"  # type: ignore[arg-type]


def test_a_challenge_by_a_lead_goes_on_by_probability(driven: Path) -> None:
    pool_runs(driven, RUNS[3:], challenge=True)
    with Study(driven).transaction() as db:
        db.execute("UPDATE challenges SET strategy = 'lead:5'")
    said: list[str] = []
    result = run(driven, tell=said.append, **HONEST)  # type: ignore[arg-type]
    assert "the challenge began with lead, which is gone; it goes on as usual, with all its votes" in said
    assert (result.strategy, result.unfinished, result.version) == ("sure:90/400", 0, 2)
    assert not any("P(best)" in words for words in said), "nobody erred"


def test_a_challenge_says_where_its_newcomers_settle_nothing() -> None:
    known, new = pools_of({"q": "ab", "p": "ab", "s": "ab"}), pools_of({"q": "x", "p": "x", "s": "x"})
    drive = ChallengeDrive.__new__(ChallengeDrive)
    drive._strategy = USUAL_RULE
    drive._challenge = gather_challenge(
        qrels_of([("q", "a", 1), ("p", "a", 1), ("s", "a", 1)]), known, new, past=known
    )
    asked = next_challenge_round(drive._challenge, judgments_of(), USUAL_RULE)
    chance = np.array([0.5, 0.4, 0.1, 0.3, 0.1, 0.6, 0.95, 0.05, 0.0])  # of a, b, x each
    assert drive.doubts(replace(asked, chance=chance, enough=np.array([False, False, True]))).startswith(
        "answers below P(best) = 0.9: 2 of 3 challenged; in 1 of them the doubt is between earlier candidates"
    )
    sure = np.array([0.95, 0.05, 0.0] * 3)
    assert drive.doubts(replace(asked, chance=sure, enough=np.ones(3, dtype=bool))) == ""


@pytest.mark.parametrize(
    ("driven", "rule"),
    [
        ("default", "sure:90/600"),
        ("sure:80", "sure:80"),
        ("sure:95/200", "sure:95/300"),
        (None, "sure:90/600"),
    ],
)
def test_a_challenge_is_judged_as_the_study_was_and_grows_with_what_came_in(
    driven: str | None, rule: str
) -> None:
    assert grown(usual_rule(None, driven), first=10, now=15).name == rule
    assert grown(usual_rule(0.5, driven), first=10, now=10).level == 0.5


def test_a_published_study_is_not_driven(young: Path) -> None:
    publish(young, yes=True)
    collect(young)
    with pytest.raises(StudyError, match="was published by `publish`"):
        run(young, **HONEST)  # type: ignore[arg-type]


def test_the_verb_exits_with_3_where_the_budget_ended_it(young: Path) -> None:
    typed = ("run", young, "--workers", 6, "--error", 0, "--yes")
    edit(young, ("budget = 100.00", "budget = 2.39"))
    ended = prefjudge(*typed, "--json")
    assert ended.returncode == 3
    assert json.loads(ended.stdout)["judgments"] == 0
    assert "not finished: 13 of 15 queries are not finished\n" in ended.stderr
    edit(young, ("budget = 2.39", "budget = 10.00"))
    assert "ended by the budget" in prefjudge(*typed).stderr
    edit(young, ("budget = 10.00", "budget = 100.00"), ("reward = 2.00", "reward = 2.50"))
    dearer = "note: a HIT pays $2.50 now; the last ones paid $2.00\n"
    assert prefjudge(*typed).stderr.count(dearer) == 1, "--yes asks nothing, and is told"


def test_a_marketplace_that_is_served_already_goes_on_after_a_run(young: Path) -> None:
    with keep_marketplace_open(Study(young)):
        run(young, strategy="round-robin:1", **HONEST)  # type: ignore[arg-type]
        pointer = young / "marketplace.db.serving"
        assert pointer.is_file(), "the other verbs find the server that is there"
        other = pointer.read_text().replace("127.0.0.1", "localhost")
        pointer.write_text(other)
    assert pointer.read_text() == other, "whoever serves since then is not cut off"


def test_what_an_interrupted_round_asked_for_is_not_asked_for_once_all_is_known(driven: Path) -> None:
    with Study(driven).transaction() as db:  # killed before it published a HIT, and the others were enough
        db.execute("UPDATE pairs SET votes = votes + 1 WHERE pair_id = 1")
    assert status(driven).waiting == 1
    again = run(driven, **HONEST)  # type: ignore[arg-type]
    assert (again.rounds, again.stopped_by) == (0, "nothing left to ask")
    assert status(driven).waiting == 0


@pytest.mark.parametrize(
    ("won", "lost", "dethroned", "words"),
    [
        (2, 0.5, True, "replaces p14, 2 votes to 0.5"),
        (0, 1, False, "loses to p14, 0 votes to 1"),
        (0, 0, True, "replaces p14, with which it was not compared"),
        (0, 0, False, "was not compared with p14"),
    ],
)
def test_nobody_wins_or_loses_by_no_votes(won: float, lost: float, dethroned: bool, words: str) -> None:
    duel = Duel(
        query_id="q", incumbent="p14", newcomer="p06", brought_by=(), votes_for=won, votes_against=lost,
        dethroned=dethroned, chance=None,
    )  # fmt: skip
    assert _fared(duel) == words


def test_who_lets_people_judge_is_told_where(pooled: Path) -> None:
    said: list[str] = []

    def tell(line: str) -> None:
        said.append(line)
        if "HITs open" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(pooled, yes=True, tell=tell)
    assert f"run in another terminal: prefjudge serve {pooled}" in said.pop(0)
    with keep_marketplace_open(Study(pooled)), pytest.raises(KeyboardInterrupt):
        run(pooled, yes=True, tell=tell)
    assert not any("serve" in line for line in said)


def test_a_query_is_judged_until_its_best_answer_is_sure_enough(young: Path, wire: Wire) -> None:
    asked = {"strategy": "sure:60x2"}
    wire.kind = "kill after"
    result = wire.until_done(lambda: run(young, **asked, **HONEST))  # type: ignore[arg-type]
    wire.kind = ""
    assert (result.strategy, result.unfinished) == ("sure:60x2", 0)
    assert listed(young) == recorded(young)
    assert status(young).waiting == 0, "what an interrupted round asked for is not asked for still"
    found, best = answers(young), best_of(young)
    assert found.keys() == best.keys()
    assert {len(docs) for docs in found.values()} == {1}
    assert all(docs <= best[query] for query, docs in found.items())
    assert run(young, **asked, **HONEST).rounds == 0  # type: ignore[arg-type]
    with pytest.raises(StudyError, match="driven by sure:60x2, not sure:90"):
        run(young, sure=0.9, **HONEST)  # type: ignore[arg-type]


def test_a_small_budget_goes_where_it_tells_most_and_is_kept(young: Path) -> None:
    config = young / "study.toml"
    config.write_text(config.read_text().replace("budget = 100.00", "budget = 12.50"))
    result = run(young, sure=0.99, **HONEST)  # type: ignore[arg-type]
    assert result.strategy == "sure:99"
    assert result.stopped_by.startswith("the budget")
    assert result.unfinished > 0
    assert float(status(young).committed) <= 12.50
    assert len(answers(young)) > result.queries - result.unfinished, "the best so far is an answer"
    config.write_text(config.read_text().replace("budget = 12.50", "budget = 0.00"))
    assert run(young, sure=0.99, **HONEST).rounds == 0  # type: ignore[arg-type]


def test_sure_is_a_strategy_of_its_own(young: Path) -> None:
    with pytest.raises(InputError, match="--sure is a strategy of its own"):
        run(young, sure=0.8, strategy="default", **HONEST)  # type: ignore[arg-type]
    for never in (0.0, 1.1, float("nan")):
        with pytest.raises(InputError, match=r"\bsure (is|takes)|--sure"):
            run(young, sure=never, **HONEST)  # type: ignore[arg-type]


@pytest.mark.usefixtures("in_full")
def test_votes_for_two_runs_go_where_they_differ_and_end_when_their_order_is_sure(young: Path) -> None:
    tags = [path.stem for path in RUNS[:3]]
    with pytest.raises(InputError, match=r"--between nobody: the study has no such run"):
        run(young, sure=0.9, for_="runs", between=[tags[0], "nobody"], **HONEST)  # type: ignore[arg-type]
    for wrong, words in (
        ({"for_": "runs"}, "--for runs needs --sure"),
        ({"between": tags[:2], "sure": 0.9}, "--between needs --for runs"),
        ({"for_": "runs", "between": tags[:1], "sure": 0.9}, "not two runs"),
        ({"for_": "runs", "between": [tags[0]] * 2, "sure": 0.9}, "not two runs"),
    ):
        with pytest.raises(InputError, match=words):
            run(young, **wrong, **HONEST)  # type: ignore[arg-type]
    result = run(young, sure=0.55, for_="runs", between=tags[1::-1], **HONEST)  # type: ignore[arg-type]
    assert result.strategy == f"runs:55:{':'.join(sorted(tags[:2]))}"
    assert (result.stopped_by, result.unfinished) == ("nothing left to ask", 0)
    (order,) = result.orders
    assert {order.better, order.other} == {*tags[:2]}
    assert 0.55 <= order.chance < 1.0
    again = run(young, **HONEST)  # type: ignore[arg-type]
    assert (again.rounds, again.orders) == (0, result.orders)
    # Where two runs differ, a third is not sampled fairly.
    assert status(young).top is None
    with pytest.raises(
        StudyError, match=f"only queries on which {' and '.join(sorted(tags[:2]))} may differ"
    ):
        status(young, top=True)


def test_the_better_run_gains_more_also_where_lower_scores_are_better(young: Path) -> None:
    config = young / "study.toml"
    text = config.read_text()
    with Study(young).transaction(write=False) as db:
        pools = load_pools(db)
    found = {}
    for measures in ('["RR@10"]', '["ESL@10"]'):
        config.write_text(text.replace('["RR@10"]', measures))
        found[measures] = find_gains(Study(young), pools, (), []).gain
    ranks, lengths = (np.sign(gain[:, :1] - gain[:, 1:]) for gain in found.values())
    assert np.abs(ranks).sum() > 0
    assert (ranks == lengths).all()
