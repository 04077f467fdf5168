"""Resolve on files: the formats, the rules, the probabilities and the sensitivity report."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from prefjudge import publish, resolve, run
from prefjudge.cli.road import show_resolve as show
from prefjudge.core.judgments import Judgments
from prefjudge.core.resolving.resolutions import HowResolved
from prefjudge.core.resolving.rules import RULES
from prefjudge.core.resolving.tournaments import TieWorth
from prefjudge.errors import InputError
from prefjudge.findings.judgments import JudgmentInput, fitting_rule, rival_rule
from prefjudge.reading.labels import read_judgments, read_qrels
from prefjudge.show.studies import per_query_table
from prefjudge.show.tables import to_records
from prefjudge.steps.resolve import Form, run_order
from prefjudge.study.assignments import load_judgments
from prefjudge.study.store import Study
from tests.core.tables import judgments_of
from tests.steps.conftest import few_pooled
from tests.steps.test_road import TRUTH, judge_all

LINES = """\
q1 a b a w1
q1 a c a w1
q1 b c b w2
q2 a b a w1
q2 b c b w2
q2 c a c model
q3 a b tie w2
q4 a b a w1
q4 b c b w2
"""


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "judgments.txt"
    path.write_text(LINES)
    return path


def test_statuses_cycles_and_probabilities(votes: Path) -> None:
    result = resolve(judgments=votes, rule=["shallow-pooling", "smith"], per_query=True)
    assert result.statuses == {"single": 1, "tie": 1, "cycle": 1, "partial": 1, "sparse": 0}
    assert set(result.rules) == {"shallow-pooling", "smith"}
    assert result.cycles == {"q2": ("a", "b", "c")}
    by_id = {one.query_id: one for one in result.per_query}
    assert by_id["q4"].winners == ("a",)
    assert by_id["q4"].missing == 1
    assert max(by_id["q1"].p_best, key=by_id["q1"].p_best.__getitem__) == "a"
    assert all(abs(sum(one.p_best.values()) - 1) < 0.001 for one in result.per_query)
    assert result.confidence is not None
    assert result == resolve(judgments=votes, rule=["shallow-pooling", "smith"], per_query=True)
    assert resolve(judgments=votes, confidence=False).confidence is None


def test_few_votes_are_not_said_to_tell_how_many_are_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "votes.txt"
    file.write_text("q1 a b a\n")
    few = resolve(judgments=file)
    show(few, details=True)
    printed = capsys.readouterr()
    assert "do not tell how many of them are wrong" in (said := printed.out + printed.err)
    assert "%" not in said
    assert few.confidence is not None
    assert few.confidence.error is None
    assert few.confidence.mean == pytest.approx(0.68, abs=0.05)
    file.write_text("".join(f"q{i} a b {'abaabaab'[i % 8]}\n" * 6 for i in range(40)))
    many = resolve(judgments=file)
    show(many, details=True)
    printed = capsys.readouterr()
    assert many.confidence is not None
    sure = many.confidence
    assert sure.error is not None
    assert sure.error_low is not None
    assert sure.error_high is not None
    assert sure.error_low < sure.error < sure.error_high < 0.2
    words = f"{sure.error:.0%} of votes on a random pair are wrong ({sure.error_low:.0%} to"
    assert words in printed.out + printed.err


@pytest.mark.parametrize(
    ("form", "lines"), [("trec", 7), ("pref", 9), ("prefs", 18), ("values", 11), ("jsonl", 4)]
)
def test_every_format_holds_what_it_says(votes: Path, tmp_path: Path, form: str, lines: int) -> None:
    out = tmp_path / "out"
    resolve(judgments=votes, rule=["shallow-pooling", "most-wins"], form=Form(form), out=out)
    written = out.read_text().splitlines()
    assert len(written) == lines
    if form == "trec":
        assert set(read_qrels(out).queries) == {"q1", "q2", "q3", "q4"}
    elif form == "pref":
        assert {len(line.split()) for line in written} == {4}
        assert len(read_judgments(out)) == 9
    elif form == "jsonl":
        first = json.loads(written[0])
        assert (first["query_id"], first["status"], first["winners"]) == ("q1", "single", ["a"])
        assert {"doc_id", "wins", "comparisons", "p_best"} <= set(first["candidates"][0])
        assert first["rules"] == {"most-wins": {"status": "single", "winners": ["a"]}}


@pytest.mark.parametrize(("sparse_rule", "named"), [(None, True), ("smith", True), ("none", False)])
def test_a_query_judged_in_part_has_a_winner_unless_none_is_asked_for(
    votes: Path, tmp_path: Path, sparse_rule: str | None, named: bool
) -> None:
    out = tmp_path / "q.qrels"
    result = resolve(judgments=votes, sparse_rule=sparse_rule, out=out)
    assert result.statuses["partial" if named else "sparse"] == 1
    assert ("q4 0 a 1" in out.read_text().replace("Q0", "0")) == named


def test_who_says_the_same_again_is_named(tmp_path: Path) -> None:
    path = tmp_path / "judgments.txt"
    path.write_text("q1 a b a ann\n" * 9 + "q1 b a a ann\n" + "q1 a b a ben\n")
    assert any("9 judgments repeat one" in one for one in resolve(judgments=path).notices)
    assert not any("repeat" in one for one in resolve(judgments=path, confidence=False).notices)
    path.write_text("".join(f"q1 a b a w{worker}\n" for worker in range(40)) + "q1 a b a w1\n")
    assert not any("repeat" in one for one in resolve(judgments=path).notices)


def test_a_model_may_be_left_out(votes: Path) -> None:
    result = resolve(judgments=votes, without=["model"])
    assert result.judgments == 8
    assert result.statuses["partial"] == 2


def test_sensitivity_covers_rules_ties_and_workers(votes: Path) -> None:
    result = resolve(judgments=votes, sensitivity=True, ties=TieWorth.HALF)
    changes = {(one.kind.value, one.name) for one in result.sensitivity}
    assert {("rule", "bradley-terry"), ("ties", "first doc_id"), ("worker", "model")} <= changes


def test_sensitivity_compares_the_order_of_runs(votes: Path, tmp_path: Path) -> None:
    for tag, docs in {"one": "abc", "two": "bca"}.items():
        lines = [f"q{q} Q0 {doc} {k} {9 - k} {tag}" for q in (1, 2, 3) for k, doc in enumerate(docs, 1)]
        (tmp_path / f"{tag}.run").write_text("\n".join(lines) + "\n")
    result = resolve(judgments=votes, sensitivity=True, runs=[str(tmp_path / "*.run")])
    assert 1.0 in {one.correlation for one in result.sensitivity}
    assert not {
        one.correlation for one in result.sensitivity if not (one.changed or one.lost or one.gained)
    } - {1.0}
    # Beside each tau stands how far two votings agree.
    assert result.two_votings is not None
    assert (result.two_votings.by, result.two_votings.confidence) == ("redrawn votes", 0.95)
    assert resolve(judgments=votes, sensitivity=True).two_votings is None
    (table,) = result.asked_tables()
    for row in to_records(table):
        assert row["two_votings"] == pytest.approx(result.two_votings.value, nan_ok=True)
        assert row["two_votings_by"] == "redrawn votes"


def test_two_votings_count_votes_as_the_orders_beside_it_do(tmp_path: Path) -> None:
    """A strong vote for a against a weak one for b decides a query only where strengths count."""
    lines = [(0, choice) for choice in "ab"]
    for tag, docs in {"one": "ab", "two": "ba"}.items():
        ranked = [f"q0 Q0 {doc} {k} {9 - k} {tag}" for k, doc in enumerate(docs)]
        (tmp_path / f"{tag}.run").write_text("\n".join(ranked) + "\n")
    log = judgments_of(*(f"q{query} a b {choice}" for query, choice in lines))
    votes = JudgmentInput(
        study=None,
        log=replace(
            log, strength=np.array([3 if choice == "a" else 1 for _, choice in lines], dtype=np.int8)
        ),
        pools=None,
        asked=None,
        rule="shallow-pooling",
        driven_by="",
        notices=[],
    )
    ordered = run_order(votes, [str(tmp_path / "*.run")], None)
    assert ordered is not None
    strong, even = (
        ordered.two_votings(HowResolved(rule=votes.rule, strengths=strengths), np.random.default_rng(1))
        for strengths in (True, False)
    )
    assert strong is not None
    assert even is not None
    assert strong.pairs == 400, "no voting ties the runs"
    assert 0 < even.pairs < 200, "half of the votings do"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": ["best"]}, "there is no rule 'best'"),
        ({"sparse_rule": "worst"}, "there is no rule 'worst'"),
        ({"without": ["nobody"]}, "no judgment that counts is by worker 'nobody'"),
    ],
)
def test_mistakes_are_named(votes: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        resolve(judgments=votes, **options)  # type: ignore[arg-type]


def test_nothing_depends_on_the_order_of_hashes(votes: Path, tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from prefjudge.steps.resolve import Form, resolve; "
        "resolve(judgments=Path(sys.argv[1]), rule=sys.argv[3:], form=Form.JSONL, out=Path(sys.argv[2]))"
    )
    written = []
    for seed in ("0", "1"):
        out = tmp_path / f"{seed}.jsonl"
        command = [sys.executable, "-c", script, str(votes), str(out), *RULES]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
        written.append(out.read_bytes())
    assert written[0] == written[1]


def test_a_study_names_every_change_of_its_runs_and_workers(served: Path) -> None:
    publish(served, yes=True)
    judge_all(served, error=0.2)
    result = resolve(served, sensitivity=True, per_query=True)
    assert result.statuses["sparse"] == 0
    kinds = {
        kind: [one for one in result.sensitivity if one.kind.value == kind]
        for kind in ("run", "worker", "rule")
    }
    assert len(kinds["run"]) >= 6
    assert len(kinds["worker"]) >= 2
    with Study(served).transaction(write=False) as db:
        ids = set(load_judgments(db).workers)  # without those whose every assignment was dropped
    assert not ids & {one.name for one in kinds["worker"]}, "worker ids are private"
    for name in (min(ids), kinds["worker"][0].name):  # a worker is left out by id or by pseudonym
        assert resolve(served, without=[name], out=served / "without.qrels").judgments < result.judgments
    assert len(kinds["rule"]) == len(RULES) - 1
    # Each pair has one vote, so that without a worker some queries are not fully judged.
    assert any(one.lost or one.changed for one in kinds["worker"])
    assert all(-1 <= one.correlation <= 1 for one in kinds["rule"])
    assert len(result.per_query) == result.queries == len({one.query_id for one in result.per_query})
    assert len(read_qrels(served / "preference.qrels").queries) == result.queries


@pytest.mark.parametrize(
    ("strategy", "configured", "rule"),
    [
        ("round-robin:1", "shallow-pooling", "shallow-pooling"),
        ("sure:60", "shallow-pooling", "bradley-terry"),
        ("sure:60", "schulze", "schulze"),
    ],
)
def test_the_rule_is_the_study_s_unless_it_counts_uneven_votes(
    tmp_path: Path, strategy: str, configured: str, rule: str
) -> None:
    pooled = few_pooled(tmp_path / "study")
    config = pooled / "study.toml"
    lines = [line for line in config.read_text().splitlines() if not line.startswith("rule =")]
    config.write_text("\n".join([f'rule = "{configured}"', *lines]))
    run(pooled, strategy=strategy, workers=6, error=0.0, truth=TRUTH, yes=True)
    result = resolve(pooled, out=tmp_path / "out.qrels")
    assert result.rule == rule
    words = [text for text in result.notices if "gave some pairs more votes" in text]
    assert bool(words) == (rule != configured)
    if words:
        assert strategy in words[0]
        assert "--rule shallow-pooling insists" in words[0]
    insisted = resolve(pooled, rule=["shallow-pooling"], out=tmp_path / "out.qrels")
    assert insisted.rule == "shallow-pooling"
    assert not [text for text in insisted.notices if "more votes" in text]


def test_queries_judged_in_part_and_sparse_ones_are_explained(votes: Path, tmp_path: Path) -> None:
    (words,) = resolve(judgments=votes).notices
    assert words.startswith(
        "1 query is judged in part (not every pair): the winner is the best of those that"
    )
    assert "by bradley-terry where some pairs of these were not compared" in words
    (words,) = resolve(judgments=votes, sparse_rule="smith").notices
    assert "bradley-terry" not in words
    (words,) = resolve(judgments=votes, sparse_rule="none").notices
    assert words == (
        "1 query has no winner, as pairs of their candidates lack judgments: --per-query lists them"
    )
    votes.write_text("apart a b a\napart c d c\n")
    (words,) = resolve(judgments=votes).notices
    assert "the candidates that were compared are not connected by comparisons" in words
    assert "--sparse-rule" not in words, "no rule names a winner here"
    full = tmp_path / "full.txt"
    full.write_text("q a b a\n")
    assert resolve(judgments=full).notices == ()


def test_each_winner_has_its_own_probability(votes: Path) -> None:
    table = per_query_table(resolve(judgments=votes, per_query=True).per_query)
    place = [column.name for column in table.columns].index("p_best")
    shown = {row[0]: str(row[place]).split() for row in table.rows}
    # A cycle of three: a third each, and not the certainty that one of them is the best.
    assert [round(float(chance), 1) for chance in shown["q2"]] == [0.3, 0.3, 0.3]
    assert [round(float(chance), 1) for chance in shown["q3"]] == [0.5, 0.5]
    assert len(shown["q4"]) == 1


def test_the_least_sure_queries_are_on_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "votes.txt").write_text("".join(f"q{number} a b a\n" * number for number in range(1, 15)))
    result = resolve(judgments=tmp_path / "votes.txt", per_query=True)
    show(result, details=False)
    shown = capsys.readouterr().out
    assert re.findall(r"(?m)^q\d+", shown) == [f"q{number}" for number in range(1, 11)]
    assert "… and 4 more: --details" in shown
    show(result, details=True)
    assert "q14" in capsys.readouterr().out


def crowd_lines(queries: int = 12) -> list[str]:
    """Three workers judge every pair, the one against the other two, who prefer ``a`` to ``b`` to ``c``.

    Of the last query another pair of workers who are as contrary outvotes an honest one.
    """
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    lines = [
        f"q{query:02} {x} {y} {y if worker in ('bad', 'worse') else x} {worker}"
        for query in range(queries)
        for x, y in pairs
        for worker in (("good", "fine", "bad"), ("fine", "good", "worse"))[query % 2]
    ]
    return [
        *lines,
        *(f"z {x} {y} {y} {worker}" for x, y in pairs for worker in ("bad", "worse")),
        *(f"z {x} {y} {x} good" for x, y in pairs),
    ]


def test_it_is_said_where_weighing_workers_makes_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "named.txt"
    path.write_text("\n".join(crowd_lines()) + "\n")
    found = resolve(judgments=path)
    assert found.rule == "shallow-pooling", "a file keeps the paper's rule"
    assert found.differs is not None
    assert (found.differs.rule, found.differs.queries) == ("noisy-bradley-terry", ("z",))
    assert set(found.rules) == {"shallow-pooling"}
    show(found, details=True)
    said = (printed := capsys.readouterr()).out + printed.err
    assert "(noisy-bradley-terry) 1 query has other winners than without (shallow-pooling): z; " in said
    assert "--rule noisy-bradley-terry takes those" in said
    asked = resolve(judgments=path, rule=["noisy-bradley-terry"], per_query=True, confidence=False)
    assert (asked.differs, asked.per_query[-1].winners) == (None, ("a",))
    assert found.confidence is not None
    assert (found.confidence.doubted, found.confidence.trust) == (2, pytest.approx(0.65, abs=0.1))
    path.write_text("\n".join(line.rpartition(" ")[0] for line in crowd_lines()) + "\n")
    nameless = resolve(judgments=path)
    assert nameless.differs is None
    assert nameless.confidence is not None
    assert (nameless.confidence.trust, nameless.confidence.doubted) == (None, None)
    assert not nameless.difference


@pytest.mark.parametrize("configured", ["shallow-pooling", "noisy-bradley-terry"])
def test_a_rule_that_weighs_workers_takes_several(configured: str) -> None:
    several = judgments_of(*crowd_lines())
    one = judgments_of(*(line for line in crowd_lines() if line.endswith("good")))

    def given(log: Judgments) -> JudgmentInput:
        return JudgmentInput(
            study=None, log=log, pools=None, asked=None, rule=configured, driven_by="", notices=[]
        )

    rules, notices = fitting_rule(given(several))
    assert (rules, notices) == ((configured,), ())
    other = "shallow-pooling" if configured == "noisy-bradley-terry" else "noisy-bradley-terry"
    assert rival_rule(given(several), configured) == other
    assert rival_rule(given(several), "smith") is None
    rules, notices = fitting_rule(given(one))
    assert rules == ("shallow-pooling",)
    assert rival_rule(given(one), rules[0]) is None
    assert bool(notices) == (configured == "noisy-bradley-terry")
    assert all("--rule noisy-bradley-terry insists" in text for text in notices)


def test_a_pool_says_what_lacks_a_judgment(tmp_path: Path) -> None:
    (tmp_path / "votes").write_text("q1 a b a\nq2 a b a\n")
    (tmp_path / "pool").write_text("q1\ta\nq1\tb\nq2\ta\nq2\tb\nq2\tc\n")
    found = resolve(judgments=tmp_path / "votes", pool=tmp_path / "pool", per_query=True)
    assert [str(one.status) for one in found.per_query] == ["single", "partial"]
    assert {str(one.status) for one in resolve(judgments=tmp_path / "votes", per_query=True).per_query} == {
        "single"
    }
