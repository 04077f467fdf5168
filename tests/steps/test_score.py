"""Scoring on files: what is computed from which input, and what is left behind."""

import csv
import gzip
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import scipy

import prefjudge
from prefjudge import pool, resolve, score, winratio
from prefjudge.errors import InputError
from prefjudge.reading.pools import read_pool
from prefjudge.reading.runs import copies
from tests.steps.conftest import COLLECTION

RUNS = [str(COLLECTION / "runs" / "*.txt")]
QRELS = COLLECTION / "qrels.txt"


@pytest.fixture(scope="module")
def judgments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The truth about every pair of passages of any use: what judges without error would say."""
    utility: dict[str, dict[str, float]] = {}
    for row in csv.DictReader((COLLECTION / "truth.tsv").read_text().splitlines(), delimiter="\t"):
        if float(row["utility"]) > 0:
            utility.setdefault(row["query_id"], {})[row["doc_id"]] = float(row["utility"])
    path = tmp_path_factory.mktemp("votes") / "judgments.txt"
    with path.open("w") as file:
        for query, docs in utility.items():
            for a, b in combinations(sorted(docs), 2):
                if docs[a] != docs[b]:
                    file.write(f"{query} {a} {b} {max(a, b, key=docs.__getitem__)}\n")
    return path


@pytest.fixture(scope="module")
def preference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    best: dict[str, tuple[float, str]] = {}
    for row in csv.DictReader((COLLECTION / "truth.tsv").read_text().splitlines(), delimiter="\t"):
        best[row["query_id"]] = max(
            best.get(row["query_id"], (0.0, "")), (float(row["utility"]), row["doc_id"])
        )
    path = tmp_path_factory.mktemp("qrels") / "preference.txt"
    path.write_text("".join(f"{query} 0 {doc} 1\n" for query, (_, doc) in best.items()))
    return path


@pytest.fixture
def cut(tmp_path: Path) -> list[str]:
    """The demo's runs, of which one lacks four queries, one is short in two, and one is there twice."""
    for path in (COLLECTION / "runs").glob("*.txt"):
        (tmp_path / path.name).write_text(path.read_text())
    first, second = sorted(tmp_path.glob("*.txt"))[:2]
    lines = first.read_text().splitlines(keepends=True)
    queries = list(dict.fromkeys(line.split()[0] for line in lines))
    first.write_text("".join(line for line in lines if line.split()[0] not in queries[:4]))
    lines = second.read_text().splitlines(keepends=True)
    (tmp_path / "twin.txt").write_text("".join(f"{line.rsplit(maxsplit=1)[0]} twin\n" for line in lines))
    third = sorted(tmp_path.glob("*.txt"))[2]
    kept = third.read_text().splitlines(keepends=True)
    third.write_text(
        "".join(line for line in kept if line.split()[0] not in queries[:2] or int(line.split()[3]) == 1)
    )
    return [str(path) for path in sorted(tmp_path.glob("*.txt"))]


def test_what_is_odd_in_the_runs_is_said_once_a_cause_by_every_verb(cut: list[str], judgments: Path) -> None:
    names = [Path(path).read_text().split(maxsplit=6)[5] for path in cut]
    with_labels = [
        verb(runs=cut, qrels=QRELS, measure=["nDCG@3"])
        for verb in (prefjudge.score, prefjudge.stability, prefjudge.agreement)
    ]
    pair = prefjudge.compare(cut[0], cut[1], qrels=QRELS)
    tops = [
        prefjudge.pool(runs=cut, qrels=QRELS, depth=3),
        winratio(judgments=judgments, runs=cut, qrels=QRELS),
    ]
    for result in (*with_labels, pair, *tops):
        (missing,) = [one for one in result.notices if one.startswith("missing queries: ")]
        assert f": {names[0]} 4; " in missing
        assert missing.startswith(
            f"missing queries: in 1 of {2 if result is pair else len(cut)} runs, of 15 "
        )
    for result in (*with_labels, tops[0]):
        (short,) = [one for one in result.notices if one.startswith("few documents: ")]
        assert f": {names[2]} 2; others return more of the first 3" in short
    for result in (*with_labels, *tops):
        (same,) = [one for one in result.notices if one.startswith("identical runs: ")]
        assert f"{names[1]} and twin " in same


def test_of_runs_in_order_nothing_is_said() -> None:
    causes = ("missing queries", "few documents", "identical runs", "ties")
    for result in (score(runs=RUNS, qrels=[QRELS]), pool(runs=RUNS, qrels=QRELS, depth=3)):
        assert [one for one in result.notices if one.startswith(causes)] == []


def test_label_sets_are_compared_on_the_queries_of_both(preference: Path, tmp_path: Path) -> None:
    every = preference.read_text().splitlines(keepends=True)
    lines = every[:9]
    fewer, others = tmp_path / "fewer.txt", tmp_path / "others.txt"
    fewer.write_text("".join(lines))
    others.write_text("".join(every[9:]))
    only = tmp_path / "only.tsv"
    only.write_text("".join(f"{line.split()[0]}\tx\n" for line in lines))
    labels = [f"old={QRELS}", f"new={fewer}"]
    mixed = score(runs=RUNS, qrels=labels, plot=tmp_path / "boards.svg")
    alone = score(runs=RUNS, qrels=labels, queries=only)
    assert [board.queries for board in mixed.leaderboards] == [15, 9]
    (pair,) = mixed.tau
    assert (pair.over, pair.queries) == ("boards as printed", 9)
    assert (pair.printed.queries, pair.common.queries) == ((15, 9), (9, 9))
    assert pair.common == alone.tau[0].printed != pair.printed
    assert mixed.notices[0] == (
        "old and new: 15 and 9 queries, 9 of them in both: they are compared as they stand, and on these"
    )
    assert all(
        "something on fewer than 15 queries" in notice for notice in (*mixed.notices[1:], *alone.notices)
    )
    assert "6 runs, 15 and 9 queries, two label sets" in (tmp_path / "boards.against.svg").read_text()
    common = score(runs=RUNS, qrels=labels, common=True)
    assert repr(common.leaderboards) == repr(alone.leaderboards)  # from Python 3.13 on NaN is not NaN
    crossed = tmp_path / "crossed.txt"
    crossed.write_text("".join(every[4:]))
    both = score(runs=RUNS, qrels=[f"new={fewer}", f"rest={crossed}"], plot=tmp_path / "crossed.svg")
    assert (both.tau[0].over, both.tau[0].queries) == ("common queries", 5)
    assert both.tau[0].tau == 1.0  # the same labels where both have any
    assert "6 runs, 5 queries, two label sets" in (tmp_path / "crossed.against.svg").read_text()
    apart = score(runs=RUNS, qrels=[f"new={fewer}", f"rest={others}"])
    assert apart.tau == ()
    assert apart.notices[0] == "new and rest: 9 and 6 queries, 0 of them in both: they are not compared"
    assert apart.notices[2] == (
        "RR@10 rest: 6 runs find something on fewer than 15 queries (first-try 4, lexical 5, label-tuned 6, "
        "…): a few more such queries may change the score"
    )
    assert apart.leaderboards[1].perfect is None
    with pytest.raises(InputError, match="no query is judged by all of new, rest"):
        score(runs=RUNS, qrels=[f"new={fewer}", f"rest={others}"], common=True)


def test_the_perfect_ranking_is_scored_where_it_has_labels(preference: Path, tmp_path: Path) -> None:
    """Queries that the first label set lost must not make runs better than perfect."""
    half = tmp_path / "half.txt"
    lines = QRELS.read_text().splitlines(keepends=True)
    some = sorted({line.split()[0] for line in lines})[:7]
    half.write_text("".join(line for line in lines if line.split()[0] in some))
    out = tmp_path / "boards.csv"
    labels = [f"half={half}", f"new={preference}"]
    found = score(runs=RUNS, qrels=labels, out=out, per_query=True).leaderboards[1]
    alone = score(runs=RUNS, qrels=labels, common=True).leaderboards[1]
    assert found.perfect is not None
    assert alone.perfect is not None
    assert (found.queries, found.perfect.queries, found.perfect.score) == (15, 7, alone.perfect.score)
    verdicts = [
        {row.run: (row.above_perfect, row.above_perfect_by, row.p_above_perfect) for row in board.ranked}
        for board in (found, alone)
    ]
    assert verdicts[0] == verdicts[1]
    for row in alone.ranked:
        assert row.above_perfect_by == pytest.approx(row.score - alone.perfect.score)
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [row["queries"] for row in rows if row["perfect"] == "True"] == ["7"]
    queries = list(csv.DictReader((tmp_path / "boards.per-query.csv").read_text().splitlines()))
    assert sum(row["run"] == "perfect (half)" for row in queries) == 7


def test_each_measure_and_label_set_gives_a_board(preference: Path, tmp_path: Path) -> None:
    out = tmp_path / "boards.csv"
    result = score(
        runs=RUNS,
        qrels=[f"old={QRELS}", f"new={preference}"],
        measure=["mrr@10", "P@1"],
        per_query=True,
        out=out,
    )
    boards = [(board.qrels, board.measure, len(board.rows)) for board in result.leaderboards]
    assert boards == [("old", "RR@10", 6), ("old", "P@1", 6), ("new", "RR@10", 7), ("new", "P@1", 7)]
    assert [(pair.qrels, pair.measures) for pair in result.tau] == [
        (("old", "new"), ("RR@10", "RR@10")),
        (("old", "new"), ("P@1", "P@1")),
    ]
    assert all(len(board.standings) == len(board.ties) == 6 for board in result.boards)
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert len(rows) == 6 + 6 + 7 + 7
    assert {row["run"] for row in rows if row["perfect"] == "True"} == {"perfect (old)"}
    queries = list(csv.DictReader((tmp_path / "boards.per-query.csv").read_text().splitlines()))
    assert len(queries) == 15 * (6 + 6 + 7 + 7)
    mean = (
        sum(
            float(row["score"])
            for row in queries
            if (row["qrels"], row["measure"], row["run"]) == ("old", "P@1", "lexical")
        )
        / 15
    )
    assert mean == pytest.approx(
        next(row.score for row in result.leaderboards[1].rows if row.run == "lexical")
    )
    made_from = json.loads((tmp_path / "boards.provenance.json").read_text())
    assert made_from["provenance"]["order"] == "score"
    assert [found["kind"] for found in made_from["inputs"]] == ["run"] * 6 + ["qrels"] * 2
    assert all(found["digest"].startswith("sha256:") for found in made_from["inputs"])


def test_a_label_set_is_called_after_its_file_without_the_suffix(tmp_path: Path) -> None:
    def names(*files: str) -> list[str]:
        for file in files:
            raw = QRELS.read_bytes()
            (tmp_path / file).write_bytes(gzip.compress(raw) if file.endswith(".gz") else raw)
        found = score(runs=RUNS, qrels=[tmp_path / file for file in files])
        return [board.qrels for board in found.leaderboards]

    assert names("Set-I.qrels", "Set-II.qrels.gz", "nist.txt") == ["Set-I", "Set-II", "nist"]
    assert names("Set-I.qrels", "Set-I.txt", "qrels.dev.tsv") == ["Set-I.qrels", "Set-I.txt", "qrels.dev"]
    clash = [f"nist={QRELS}", str(tmp_path / "nist.txt")]
    assert [board.qrels for board in score(runs=RUNS, qrels=clash).leaderboards] == ["nist", "nist.txt"]


def test_judgments_bring_win_ratios_agreement_and_their_own_measures(judgments: Path) -> None:
    result = score(runs=RUNS, qrels=[str(QRELS)], judgments=judgments, measure=["RR@10", "ppref@10", "PGC"])
    assert [board.measure for board in result.leaderboards] == ["RR@10", "ppref@10", "PGC(p=0.8)"]
    assert result.winratio is not None
    assert result.winratio.runs[0] == "perfect ranking"
    assert {row.run for row in result.pair_agreement} == {row.run for row in result.leaderboards[0].rows}
    alone = score(runs=RUNS, judgments=judgments, measure=["ppref@10"])
    assert [board.qrels for board in alone.leaderboards] == ["judgments"]


def test_a_run_is_left_out_with_its_own_passages(judgments: Path) -> None:
    result = score(runs=RUNS, qrels=[str(QRELS)], judgments=judgments, leave_one_out=True)
    assert len(result.left_out) == 6
    assert sum(row.passages for row in result.left_out) > 0
    # Ranks move by the chance of votes, too: the table says how far.
    agreed = result.left_out_votings
    assert agreed is not None
    assert any(
        f"τ = {agreed.value:.2f}, {agreed.low:.2f} to {agreed.high:.2f}; the true board" in note
        for table in result.tables()
        for note in table.notes
        if "Leaving out" in table.title
    )


def test_what_is_scored_under_labels_is_not_left_away_without_a_word(judgments: Path, tmp_path: Path) -> None:
    """A measure of judged pairs alone gave no table of runs left out, and none of the leaderboard."""
    board = tmp_path / "board.csv"
    board.write_text("id,date,description,team,eval\nlexical,2024/01/01,x,T,0.4\n")
    given = {"runs": RUNS, "judgments": judgments, "measure": ["ppref@10"]}
    for asked in ({"leave_one_out": True}, {"leaderboard": board}):
        with pytest.raises(InputError, match="under labels, but ppref@10 is computed from judged pairs"):
            score(**given, **asked)
    lost = tmp_path / "lost"
    lost.write_text("elsewhere Q0 d 1 1 lost\n")
    with pytest.raises(InputError, match="judged queries of qrels and judgments is in this run"):
        score(runs=[*RUNS, lost], judgments=judgments, qrels=[str(QRELS)])


def test_a_team_is_left_out_with_the_passages_of_all_its_runs(judgments: Path, tmp_path: Path) -> None:
    given = {"runs": RUNS, "qrels": [str(QRELS)], "judgments": judgments}
    alone = {one.run: one for one in score(**given, leave_one_out=True).left_out}
    teams = tmp_path / "teams.tsv"
    teams.write_text("".join(f"{run}\tus\n" for run in list(alone)[:2]) + "nobody\tus\n")
    result = score(**given, leave_one_out=True, teams=teams)
    together = {one.run: one for one in result.left_out}
    assert [one.team for one in together.values()][:3] == ["us", "us", [*alone][2]]
    for run in list(alone)[:2]:
        # What either has alone, the team has, and what only the two of them have.
        assert together[run].passages >= sum(one.passages for one in list(alone.values())[:2])
    assert [*together.values()][2:] == [*alone.values()][2:]
    assert any("1 name in the teams' file without a run, such as nobody" in one for one in result.notices)
    (table,) = [one for one in result.tables() if one.title.startswith("Leaving out")]
    assert "only one team" in table.title
    scores = [(one.score, one.score_without) for one in result.left_out]
    assert result.left_out_tau == pytest.approx(scipy.stats.kendalltau(*zip(*scores, strict=True)).statistic)
    assert f"each team alone contributed agree at τ = {result.left_out_tau:.2f}." in table.notes[0]
    assert any("by what shallow-pooling makes of the votes" in one for one in result.notices)
    teams.write_text("".join(f"{run}\tus\n" for run in alone))
    assert any(
        "belong to one team, us" in one for one in score(**given, leave_one_out=True, teams=teams).notices
    )
    run = next(iter(alone))
    teams.write_text(f"{run}\tus\n{run}\tus\n{run}\tthem\n")  # which is it?
    with pytest.raises(InputError, match="lines that cannot be used") as wrong:
        score(**given, leave_one_out=True, teams=teams)
    assert f"teams.tsv:3: {run!r} is 'us' already, and not 'them'" in str(wrong.value)
    with pytest.raises(InputError, match="says whose passages"):
        score(**given, teams=teams)


def test_a_copy_of_a_run_is_told_apart_as_such(data_dir: Path, tmp_path: Path) -> None:
    folder = data_dir / "dl21"
    run = folder / "runs" / "p_bm25.txt.gz"
    copy = tmp_path / "copy.txt"
    with gzip.open(run, "rt") as lines:
        copy.write_text("".join(line.rsplit(maxsplit=1)[0] + " copy\n" for line in lines))
    others = [folder / "runs" / f"{name}.txt.gz" for name in ("mono_d3", "top1000")]
    told = score(runs=[run, copy, *others], qrels=folder / "qrels-nist.txt", measure=["nDCG@10"]).notices
    (notice,) = [one for one in told if "nearly the same" in one]
    assert "copy and p_bm25 are nearly the same by this measure" in notice
    assert "score alike on 100%; nothing tells them apart" in notice


def test_teams_are_those_that_the_leaderboard_prints(judgments: Path, tmp_path: Path) -> None:
    given = {"runs": RUNS, "qrels": [str(QRELS)], "judgments": judgments, "leave_one_out": True}
    first, second, third = [one.run for one in score(**given).left_out][:3]
    board = tmp_path / "board.csv"
    rows = [
        f'{first},2024/01/01,,one,"Ada Lovelace (University of Waterloo)",,,full ranking,0.4,0.4,',
        f'{second},2024/02/01,,two,"Ada Lovelace (University of Waterloo)",,,full ranking,0.4,0.3,',
        f'{third},2024/03/01,,three,"Somebody Else (Brown University)",,,full ranking,0.3,0.2,',
    ]
    head = "id,date,,description,team,paper,code,type,MRR@100 (Dev),MRR@100 (Eval),tweet"
    board.write_text("\n".join([head, *rows]) + "\n")
    found = {one.run: one.team for one in score(**given, teams="audit", leaderboard=board).left_out}
    assert found[first] == found[second] != first
    assert found[third] not in (found[first], third)
    assert [run for run, team in found.items() if run == team] == [*found][3:], "those that it does not list"
    long = "The Laboratory for Research on the Ranking of Passages of"  # is cut before the last word
    places = ("Oslo", "Lima", "Cairo", "Quito", "Delhi", "Hanoi")
    rows = [
        f"{run},2024/01/01,,{run},{long} {place},,,,0.3,0.2,"
        for run, place in zip(found, places, strict=True)
    ]
    board.write_text("\n".join([head, *rows]))
    cut = {one.team for one in score(**given, teams="audit", leaderboard=board).left_out}
    assert len(cut) == len(found), "teams whose names differ only behind where they are cut"
    with pytest.raises(InputError, match="takes the teams that a leaderboard prints"):
        score(**given, teams="audit")
    other = tmp_path / "teams.tsv"
    other.write_text("nobody\tus\n")
    with pytest.raises(InputError, match="no run has a team"):
        score(**given, teams=other)


def test_only_the_queries_asked_for(tmp_path: Path, judgments: Path) -> None:
    some = tmp_path / "some.tsv"
    some.write_text("q01\tx\nq02\ty\n")
    result = score(
        runs=RUNS, qrels=[str(QRELS)], judgments=judgments, measure=["RR@10", "ppref"], queries=some
    )
    assert [board.queries for board in result.leaderboards] == [2, 2]
    assert result.winratio is not None
    assert result.winratio.queries == 2


def test_runs_that_have_nothing_of_a_label_set_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("query-7 0 msmarco_1 1\n")
    with pytest.raises(InputError, match="none of the 1 judged queries of other"):
        score(runs=RUNS, qrels=[str(QRELS), str(other)])


def test_preference_values_may_be_fractions(tmp_path: Path) -> None:
    values = tmp_path / "values.txt"
    values.write_text("q01 0 p34 0.5\nq01 0 p25 2.5\n")
    result = score(runs=RUNS, qrels=[str(values)], measure=["Compat", "RR"])
    assert "some grades are fractions" in result.notices[0]
    compat, rr = result.leaderboards
    assert {row.run: row.score for row in rr.rows}["label-tuned"] == 0.5
    assert 0 < {row.run: row.score for row in compat.rows}["label-tuned"] < 1


def test_plots_are_named_after_the_first(preference: Path, judgments: Path, tmp_path: Path) -> None:
    plot = tmp_path / "board.svg"
    result = score(runs=RUNS, qrels=[str(QRELS), str(preference)], judgments=judgments, plot=plot)
    names = [Path(path).name for path in result.out]
    assert names == ["board.svg", "board.2.svg", "board.against.svg", "board.winratio.svg"]
    assert all((tmp_path / name).read_text().lstrip().startswith("<?xml") for name in names)
    winratio(runs=RUNS, judgments=judgments, plot=tmp_path / "matrix.png")
    assert (tmp_path / "matrix.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "score takes a study"),
        ({"runs": RUNS}, "score takes a study"),
        (
            {"runs": RUNS, "qrels": [str(QRELS)], "measure": ["ppref@10"]},
            "ppref@10 is computed from judgments",
        ),
        ({"runs": RUNS, "qrels": [str(QRELS), str(QRELS)]}, "two qrels are called 'qrels.txt'"),
        ({"runs": RUNS, "qrels": [str(QRELS)], "leave_one_out": True}, "Add --judgments"),
    ],
)
def test_what_is_missing_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as error:
        score(**options)  # type: ignore[arg-type]
    assert message in str(error.value)


def test_a_document_listed_twice_is_refused_unless_it_is_said_which_counts(tmp_path: Path) -> None:
    run = tmp_path / "twice.txt"
    run.write_text("q01 Q0 p34 1 0.2 r\nq01 Q0 p01 2 0.5 r\nq01 Q0 p34 3 0.9 r\n")
    with pytest.raises(InputError, match="--on-duplicate"):
        score(runs=[run], qrels=[str(QRELS)])
    first, best = (
        score(runs=[run], qrels=[str(QRELS)], on_duplicate=which).leaderboards[0].rows[0].score * 15
        for which in ("first", "best")
    )
    assert (first, best) == (pytest.approx(0.5), pytest.approx(1.0))
    with pytest.raises(InputError, match="first"):
        prefjudge.score(runs=[run], qrels=[str(QRELS)], on_duplicate="last")  # type: ignore[arg-type]


def test_win_ratios_on_files(judgments: Path, tmp_path: Path) -> None:
    out = tmp_path / "matrix.csv"
    result = winratio(runs=RUNS, judgments=judgments, qrels=QRELS, against_qrel="reranker-large", out=out)
    assert len(result.winratio.pairs) == 7 * 6 / 2
    assert result.against_qrel is not None
    assert result.against_qrel.a.queries + result.against_qrel.b.queries == 15
    assert len(out.read_text().splitlines()) == 1 + 7 + 1
    votes = winratio(runs=RUNS, judgments=judgments, count="votes")
    assert [pair.wins_a for pair in votes.winratio.pairs] == [
        pair.wins_a for pair in result.winratio.pairs if "perfect ranking" not in (pair.a, pair.b)
    ]
    assert votes.against_qrel is None


def test_win_ratios_leave_out_a_run_that_was_not_pooled(judgments: Path, tmp_path: Path) -> None:
    """Its top is judged only where a pooled run has the same; a copy of a pooled run is judged all over."""
    names = ("lexical", "label-tuned", "late-interaction", "reranker-small")
    runs = [COLLECTION / "runs" / f"{name}.txt" for name in (*names, "reranker-large", "first-try")]
    prefjudge.pool(runs=runs[:4], qrels=QRELS, out=tmp_path / "pool")
    given = {"judgments": judgments, "qrels": QRELS, "pool": tmp_path / "pool"}
    result = winratio(runs=runs, **given)  # type: ignore[arg-type]
    (left_out,) = [one for one in result.notices if one.startswith("not pooled: ")]
    assert "in 1 of 6 runs, of 15 queries: first-try 8; " in left_out
    assert result.winratio == winratio(runs=runs[:5], **given).winratio  # type: ignore[arg-type]
    assert "reranker-large" in result.winratio.runs
    scored = score(runs=runs, **given)  # type: ignore[arg-type]
    assert scored.winratio == result.winratio.in_order(scored.winratio.runs)
    assert left_out in scored.notices
    assert {row.run for row in scored.leaderboards[0].rows} >= {"first-try"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runs": RUNS}, "winratio takes a study"),
        ({"runs": RUNS, "against_qrel": "lexical"}, "needs qrels"),
        ({"runs": RUNS, "qrels": QRELS, "against_qrel": "semantic"}, "there is no run 'semantic'"),
    ],
)
def test_win_ratios_say_what_they_need(judgments: Path, options: dict[str, object], message: str) -> None:
    if len(options) > 1:
        options = {**options, "judgments": judgments}
    with pytest.raises(InputError) as error:
        winratio(**options)  # type: ignore[arg-type]
    assert message in str(error.value)


@pytest.mark.parametrize("copied", [False, True])
def test_how_runs_are_read_changes_no_score(
    copied: bool, judgments: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"runs": RUNS, "qrels": [str(QRELS)], "judgments": judgments, "measure": ["RR@10", "Judged@3"]}
    plain = score(**given)  # type: ignore[arg-type]
    if copied:
        monkeypatch.setattr(copies, "WORTH", 1)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
        score(**given)  # type: ignore[arg-type]
        assert any((tmp_path / "caches").rglob("copy.json"))
    other = score(**given, workers=1 if copied else 2)  # type: ignore[arg-type]
    for a, b in zip(plain.boards, other.boards, strict=True):
        assert repr(a.leaderboard) == repr(b.leaderboard)  # an interval that is not a number equals no other
        assert a.ties == b.ties
    assert plain.winratio == other.winratio
    digests = [found.digest for found in other.inputs if found.kind == "run"]
    assert all(digests)


def test_runs_that_were_not_pooled_are_scored_beside_those_left_out(tmp_path: Path) -> None:
    """The set-up of the paper: some of the scored runs gave the pool nothing."""
    pooled = [
        COLLECTION / "runs" / f"{name}.txt" for name in ("lexical", "reranker-large", "late-interaction")
    ]
    pool(runs=pooled, qrels=QRELS, out=tmp_path / "pool.tsv")
    pools = read_pool(tmp_path / "pool.tsv")
    members: dict[str, list[str]] = {}
    for query, doc in zip(pools.query.tolist(), pools.doc.tolist(), strict=True):
        members.setdefault(pools.queries[query], []).append(pools.docs[doc])
    votes = tmp_path / "votes"
    votes.write_text(
        "".join(
            f"{query} {a} {b} {min(a, b)}\n"
            for query, docs in members.items()
            for a, b in combinations(docs, 2)
        )
    )
    full = tmp_path / "preference.qrels"
    resolve(judgments=votes, out=full)
    given = {"runs": RUNS, "qrels": [f"preference={full}"], "judgments": votes, "leave_one_out": True}
    for options, hint in ({"pool": tmp_path / "pool.tsv"}, "contributed nothing"), ({}, "--pool FILE"):
        result = score(**given, **options)  # type: ignore[arg-type]
        board = {row.run: row.score for row in result.leaderboards[0].ranked}
        assert len(board) == 6
        assert {row.run for row in result.left_out} >= {"lexical", "reranker-large", "late-interaction"}
        if (
            not options
        ):  # the qrels rebuilt of everything are those of resolve, which knows no lone candidates
            assert {row.run: row.score for row in result.left_out} == {
                row.run: pytest.approx(board[row.run]) for row in result.left_out
            }
        assert any(hint in notice for notice in result.notices)
    exact = {row.run: row.passages for row in score(**given, pool=tmp_path / "pool.tsv").left_out}  # type: ignore[arg-type]
    assert set(exact) == {"lexical", "reranker-large", "late-interaction"}
    assert exact == {
        name: sum(
            1
            for row in range(len(pools.doc))
            if [pools.sources[one] for one in pools.source[pools.source_row == row]] == [name]
        )
        for name in exact
    }


def test_leaving_out_says_what_it_needs(tmp_path: Path) -> None:
    votes, small = tmp_path / "votes", tmp_path / "pool.tsv"
    votes.write_text("q01 p20 p34 p34\n")
    small.write_text("q01\tp34\tlexical\n")
    given = {"runs": RUNS, "qrels": QRELS, "judgments": votes, "leave_one_out": True}
    with pytest.raises(InputError, match="pool lacks 1 judged document, such as 'p20' of query 'q01'"):
        score(**given, pool=small)  # type: ignore[arg-type]
    small.write_text("q01\tp20\tnobody\nq01\tp34\tnobody\n")
    with pytest.raises(InputError, match="no run contributed to the pool"):
        score(**given, pool=small)  # type: ignore[arg-type]
    votes.write_text("q01 p20 p34 p34\nq01 p1 p2 p1\n")
    small.write_text("".join(f"q01\tp{doc}\tlexical\n" for doc in (20, 34, 1, 2)))
    with pytest.raises(InputError, match="no query is judged far enough"):
        score(**given, pool=small)  # type: ignore[arg-type]


def test_the_real_votes_leave_runs_out(data_dir: Path, tmp_path: Path) -> None:
    """Judged passages that stand on top of no run, and runs whose top nobody judged."""
    folder = data_dir / "dl21"
    (phase, *_) = sorted((folder / "phases").iterdir())
    result = score(
        runs=folder / "runs", qrels=f"nist={folder / 'qrels-nist.txt'}", judgments=phase, leave_one_out=True
    )
    assert len(result.leaderboards[0].ranked) == 24
    assert 0 < len(result.left_out) <= 24


def test_the_official_leaderboard_stands_beside_the_boards(
    preference: Path, judgments: Path, tmp_path: Path
) -> None:
    csv_file, out, plot = tmp_path / "board.csv", tmp_path / "x.csv", tmp_path / "f.svg"
    names = ("first-try", "lexical", "reranker-large")
    lines = [f"{name},2021/01/0{n},d{n},Team {n},0.{n}\n" for n, name in enumerate(names, 1)]
    csv_file.write_text("id,date,description,team,eval\n" + "".join(lines))
    few = tmp_path / "few.qrels"
    few.write_text("".join(preference.read_text().splitlines(keepends=True)[:9]))
    result = score(
        runs=RUNS, qrels=[f"old={QRELS}", f"new={few}"], judgments=judgments, leaderboard=csv_file,
        order_by=csv_file, out=out, plot=plot,
    )  # fmt: skip
    found = result.official
    assert found is not None
    assert (found.queries, found.selected, found.original, found.preference) == (15, 9, "old", "new")
    assert [row.run for row in found.rows[1:4]] == list(names)[::-1]
    old, new = ({row.run: row.score for row in board.rows} for board in result.leaderboards)
    chosen = tmp_path / "chosen.tsv"
    chosen.write_text("".join(f"{line.split()[0]}\tx\n" for line in few.read_text().splitlines()))
    less = score(runs=RUNS, qrels=[f"old={QRELS}"], queries=chosen).leaderboards[0]
    selected = {row.run: row.score for row in less.rows}
    for row in found.rows[1:]:
        assert (row.all_queries, row.selected, row.preference) == (
            old[row.run], pytest.approx(selected[row.run]), new[row.run],
        )  # fmt: skip
    bar = result.leaderboards[1].perfect
    assert bar is not None
    assert (found.rows[0].all_queries, found.rows[0].preference) == (1.0, bar.score)
    written = [Path(path).name for path in result.out]
    assert {"x.official.csv", "f.official.svg", "f.svg", "f.2.svg"} <= set(written)
    assert [one.qrels for one in result.pairings] == ["old", "new"]
    assert result.cycles == 0  # the truth has none
    assert result.pairings[1].lost == 0
    with pytest.raises(InputError, match="neither a label set's name nor a file"):
        score(runs=RUNS, qrels=[f"old={QRELS}"], order_by="new")
    csv_file.write_text("id,date,description,team,eval\nz,2021/01/01,d,T,0.1\n")
    with pytest.raises(InputError, match="lists none of the runs"):
        score(runs=RUNS, qrels=[f"old={QRELS}"], leaderboard=csv_file)


def test_beside_a_tau_under_votes_stands_how_far_two_votings_agree(tmp_path: Path) -> None:
    """Of the label sets given, the one that the votes make is found, whatever its name."""
    rng = np.random.default_rng(3)
    votes, made, sparse = tmp_path / "votes.txt", tmp_path / "made.txt", tmp_path / "sparse.txt"
    lines = []
    for query in range(60):
        for a, b in combinations(range(4), 2):
            won = a if rng.random() < 0.9 else b
            lines.append(f"q{query} d{a} d{b} d{won}\n")
    votes.write_text("".join(lines))
    sparse.write_text("".join(f"q{query} 0 d{query % 4} 1\n" for query in range(60)))
    for run in range(5):
        ranked = [np.argsort(rng.normal(0, 1, 4) + 0.5 * run * np.arange(4)) for _ in range(60)]
        rows = [
            f"q{query} Q0 d{doc} {place} {9 - place} r{run}\n"
            for query, docs in enumerate(ranked)
            for place, doc in enumerate(docs, 1)
        ]
        (tmp_path / f"r{run}.run").write_text("".join(rows))
    resolve(judgments=votes, out=made)
    asked = {"runs": [tmp_path / "*.run"], "qrels": [str(sparse), str(made)], "measure": ["RR@4", "AP"]}
    found = score(**asked, judgments=votes, plot=tmp_path / "boards.svg")  # type: ignore[arg-type]
    assert len(found.tau) == 2
    for pair in found.tau:
        assert pair.two_votings is not None
        assert pair.two_votings.by == "redrawn votes"
        assert 0.2 < pair.two_votings.low <= pair.two_votings.value <= pair.two_votings.high <= 1
        assert pair.two_votings.truth > pair.two_votings.value
        assert pair.two_votings.truth_low <= pair.two_votings.truth <= pair.two_votings.truth_high <= 1
    assert (
        f"voting agree at {found.tau[0].two_votings.value:.2f}"
        in (tmp_path / "boards.against.svg").read_text()
    )  # type: ignore[union-attr]
    again = score(**asked, judgments=votes)  # type: ignore[arg-type]
    assert [pair.two_votings for pair in again.tau] == [pair.two_votings for pair in found.tau]
    assert [pair.two_votings for pair in score(**asked).tau] == [None, None]  # type: ignore[arg-type]
    others = tmp_path / "others.txt"
    others.write_text(made.read_text().replace("d0", "dx").replace("d1", "d0"))
    other = score(runs=[tmp_path / "*.run"], qrels=[str(sparse), str(others)], judgments=votes)
    assert [pair.two_votings for pair in other.tau] == [None]
