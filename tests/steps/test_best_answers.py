"""A study's page, release and leaderboard have the same best answers, however these were found."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prefjudge import import_votes, init, publish, release, report, resolve, run, score, stability, status
from prefjudge.errors import StudyError
from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.steps.release.contents import TOURNAMENTS
from prefjudge.steps.report.boards import answers_section
from prefjudge.steps.report.material import Material
from prefjudge.study.store import Study
from tests.cli.conftest import prefjudge
from tests.steps.test_release import judged as judged  # the fixture
from tests.steps.test_release import lines
from tests.steps.test_road import judge_all
from tests.steps.test_run import HONEST, RUNS, by_qrels, driven_study, pool_runs, young_study
from tests.steps.test_run import driven as driven  # the fixture

Answers = dict[str, set[str]]


def by_page(study: Path) -> Answers:
    material = Material(study=Study(study), state=status(study, confidence=False), how={})
    (section,) = answers_section(material)
    (table,) = section.tables
    place = [column.name for column in table.columns].index("best")
    cells = {str(row[0]): getattr(row[place], "value", row[place]) for row in table.rows}
    return {query: set(str(best).split()) for query, best in cells.items() if best}


def by_tournaments(folder: Path) -> Answers:
    rows = lines(folder / "resolutions.jsonl")
    return {str(row["query_id"]): set(row["winners"]) for row in rows if row["winners"]}  # type: ignore[call-overload]


def same_everywhere(study: Path) -> Answers:
    folder = Path(release(study, rehearsal=True).out)
    found = by_qrels(folder / "preference.qrels")
    assert by_tournaments(folder) == found
    assert by_page(study) == found
    boards = {board.leaderboard.qrels: board.leaderboard for board in score(study, write=False).boards}
    assert boards["preference"].queries == len(found)
    return found


def test_a_strategy_keeps_answers_that_a_rule_may_not_find(driven: Path, tmp_path: Path) -> None:
    assert same_everywhere(driven) == by_qrels(driven / "preference.qrels")
    with Study(driven).transaction() as db:
        query, doc = db.execute(
            "SELECT query_id, doc_id FROM pooled EXCEPT SELECT query_id, doc_id FROM answers"
        )[0]
        db.execute("UPDATE answers SET doc_id = :doc WHERE query_id = :query", query=query, doc=doc)
    (driven / "preference.qrels").unlink()  # as after a kill before it was written
    kept = same_everywhere(driven)
    assert kept[query] == {doc}
    assert resolve(driven, out=tmp_path / "rule.qrels").rule == "noisy-bradley-terry"
    assert by_qrels(tmp_path / "rule.qrels")[query] != {doc}
    found = score(driven)
    assert found.tau
    assert all(pair.two_votings is not None for pair in found.tau), "the strategy is asked again"
    with Study(driven).transaction() as db:  # as where a model had chosen whom people were shown
        db.execute("UPDATE settings SET value = 'a-model' WHERE key = 'strategy model'")
    found = score(driven)
    assert all(pair.two_votings is None for pair in found.tau)
    assert any("is not known: the rule finds other answers" in str(one) for one in found.notices)
    with Study(driven).transaction() as db:
        db.execute("UPDATE settings SET value = '' WHERE key = 'strategy model'")
    for strategy, known in (("sure:60", True), ("2=round-robin:1,9=sure:60/40", True), ("runs:60", False)):
        with Study(driven).transaction() as db:
            db.execute("UPDATE settings SET value = :name WHERE key = 'strategy'", name=strategy)
        assert all((pair.two_votings is not None) == known for pair in score(driven, write=False).tau), (
            strategy
        )
    with Study(driven).transaction() as db:
        db.execute("UPDATE settings SET value = 'knockout:1' WHERE key = 'strategy'")
    record = json.loads((driven / "release" / "release.json").read_text())
    assert (record["rule"], record["version"]) == ("round-robin:1", 1)
    assert "By the strategy knockout:1, version 1 of the answers that run keeps" in (
        Path(report(driven).out).read_text()
    )


@pytest.mark.parametrize("make", [driven_study, young_study])
def test_newcomers_that_won_are_candidates_with_their_votes(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    young = make(tmp_path / "study")
    if make is young_study:
        with keep_marketplace_open(Study(young)):
            publish(young, yes=True)
            judge_all(young, workers=20)
        resolve(young)
    before = same_everywhere(young)
    pool_runs(young, RUNS[3:], challenge=True)
    assert same_everywhere(young) == before
    with Study(young).transaction() as db:  # as where past candidates meet again
        db.execute("UPDATE pairs SET votes = votes + 1 WHERE pair_id = 1")
    ended = run(young, **HONEST)  # type: ignore[arg-type]
    after = same_everywhere(young)
    assert after != before
    newcomers = {(duel.query_id, duel.newcomer) for duel in ended.duels if not duel.returned}
    pool = [line.split("\t") for line in (young / "release" / "pool.tsv").read_text().splitlines()[1:]]
    assert newcomers <= {(query, doc) for query, doc, _ in pool}
    assert "Challenges" in report(young).sections
    page = (young / "report.html").read_text()
    won = sum(duel.dethroned and not duel.returned for duel in ended.duels)
    assert f"{len(newcomers)} newcomers met the best answers, and {won} took their place" in page


def test_what_resolve_wrote_by_other_options_is_scored_shown_and_released_and_said(judged: Path) -> None:
    usual = ("judgments are simulated", "something on fewer", "have several relevant documents")
    assert all(any(words in notice for words in usual) for notice in report(judged).notices)
    (lacking,) = release(judged, rehearsal=True).notices
    assert lacking.endswith('name one under [release] in study.toml, such as license = "CC-BY-4.0"')
    by_config = same_everywhere(judged)
    answers = judged / "preference.qrels"
    first, *rest = answers.read_text().splitlines()
    query, _, doc, _ = first.split()
    answers.write_text("\n".join(line for line in rest if line.split()[0] != query) + "\n")
    other = same_everywhere(judged)
    assert other == {name: docs for name, docs in by_config.items() if name != query}
    assert doc in by_config[query]
    for notices in (report(judged).notices, release(judged, rehearsal=True).notices):
        (said,) = (text for text in notices if "is out of date" in text)
        assert said.startswith("preference.qrels is out of date for 1 query, to which noisy-bradley-terry")
        assert "prefjudge resolve" in said
        assert str(judged) not in said, "a release names no folder"


def test_there_are_no_answers_before_resolve_or_run_found_them(judged: Path) -> None:
    (judged / "preference.qrels").unlink()
    for verb in (release, score):
        with pytest.raises(StudyError, match=r"no preference qrels yet\nRun: prefjudge resolve"):
            verb(judged)
    assert report(judged).sections == ("Judging", "For a paper", "How it was made")
    with Study(judged).transaction() as db:
        db.execute("INSERT INTO settings VALUES ('strategy', 'lead:2')")
    with pytest.raises(StudyError, match=r"no preference qrels yet\nRun: prefjudge run"):
        release(judged, rehearsal=True)


def test_a_study_that_is_judged_too_little_has_no_answer_yet(tmp_path: Path) -> None:
    study, votes = tmp_path / "study", tmp_path / "votes.txt"
    votes.write_text("q a b a ann\nq c d c ann\n")  # nothing connects the two pairs
    import_votes(study, votes)
    assert resolve(study).qrels == 0
    for verb in (release, score):
        with pytest.raises(StudyError, match="no query of the study has a best answer yet"):
            verb(study)
    done = report(study)
    assert done.sections == ("Judging", "For a paper", "How it was made")
    assert "no query of the study has a best answer yet" in done.notices


def test_score_is_the_next_verb_only_where_it_reads_what_was_written(judged: Path, tmp_path: Path) -> None:
    assert "next: prefjudge score" in prefjudge("resolve", judged).stderr
    for aside in (["--out", tmp_path / "aside.qrels"], ["--format", "jsonl"]):
        done = prefjudge("resolve", judged, *aside)
        assert (done.returncode, "next:" in done.stderr) == (0, False)


def test_what_rebuilds_the_answers_starts_from_all_that_a_strategy_settled(driven: Path) -> None:
    scored = score(driven, leave_one_out=True, write=False)
    board = next(board for board in scored.leaderboards if board.qrels == "preference")
    assert {one.run: one.score for one in scored.left_out} == {row.run: row.score for row in board.ranked}
    found = {one.stability.qrels: one.stability.queries for one in stability(driven, trials=3).conditions}
    assert found["preference"] == board.queries


LOG = (
    "whole a b a ann", "whole b c b ben", "whole a c tie cid", "whole a c c ann",
    "part a b b ann", "part b c b ben", "part b c c cid",
    "tied a b a ann", "tied a b b ben", "tied a b tie cid",
)  # fmt: skip
OPTIONS = (
    {},
    {"sparse_rule": "none"},
    {"sparse_rule": "unbeaten"},
    {"rule": ["most-wins"], "ties": "half"},
    {"rule": ["copeland", "smith"], "without": ["ann"]},
    {"rule": ["bradley-terry"], "without": ["cid"], "sparse_rule": "none"},
)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_answers_carry_the_options_that_made_them(tmp_path: Path, options: dict[str, Any]) -> None:
    """Into the report, its paragraph for a paper, the release and what verifies it."""
    study = tmp_path / "study"
    init(study, name="study")
    (tmp_path / "votes.txt").write_text("\n".join(LOG) + "\n")
    import_votes(study, tmp_path / "votes.txt")
    made = resolve(study, **options)
    counts = ", ".join(f"{count} {status}" for status, count in made.statuses.items() if count)
    done = report(study, bibtex=True)
    words = {
        None: f"resolved by {made.rule} (",
        "ties": f"resolved by {made.rule}, a tie as half a vote to each (",
        "sparse_rule": "queries judged in part",
        "without": "without 1 worker",
    }
    for option in (options.keys() & words.keys()) or {None}:
        assert words[option] in (study / "report.methods.tex").read_text()
    assert f"({counts})" in (study / "report.methods.tex").read_text()
    assert not [text for text in done.notices if "other answers" in text]
    released = release(study)
    record = json.loads((study / "release" / "release.json").read_text())
    assert (record["how"]["rule"], record["derived"]) == (made.rule, True)
    assert not released.problems
    assert "ann" not in json.dumps(record["how"])
    found = [one["status"] for one in lines(study / "release" / TOURNAMENTS)]
    assert {status: found.count(status) for status in made.statuses} == made.statuses
    won = by_qrels(study / "preference.qrels").get("whole", set())
    other, *rest = sorted({"a", "b", "c"} - won) + sorted(won)
    more = [f"whole {doc} {other} {other} {who}" for doc in rest for who in ("dan", "eve", "fay", "gil")]
    (tmp_path / "more.txt").write_text("\n".join(more) + "\n")
    import_votes(study, tmp_path / "more.txt")
    (told,) = [text for text in report(study).notices if "finds other answers" in text]
    assert "other options made it" not in told
    kept = (study / "preference.qrels").read_text()
    (study / "preference.qrels").write_text(f"{kept}# by hand\n")
    assert any("other options made it, or" in text for text in report(study).notices)
