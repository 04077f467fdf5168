"""The statistics verbs over files: Python twins, the command line, its JSON, and the files they write."""

import gzip
import json
from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from prefjudge import agreement, audit, compare, pool, resolve, score, stability
from prefjudge.cli.app import app
from prefjudge.errors import InputError
from prefjudge.findings.boards import own_votes
from prefjudge.findings.findings import gather

QUERIES, DOCS = 40, 12


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of rising quality over 40 queries with one relevant document each, and votes for it."""
    folder = tmp_path_factory.mktemp("statistics")
    (folder / "runs").mkdir()
    rng = np.random.default_rng(11)
    relevant = rng.integers(0, DOCS, size=QUERIES)
    for name, skill in (("low", 0.5), ("middle", 1.5), ("high", 4.0)):
        lines = []
        for query, right in enumerate(relevant):
            score = rng.normal(size=DOCS)
            score[right] += skill
            if rng.random() < 0.1:
                score[right] = -9
            order = np.argsort(-score)[: DOCS - 2]
            lines += [
                f"q{query} Q0 d{query}-{doc} {rank} {score[doc]:.6f} {name}\n"
                for rank, doc in enumerate(order, 1)
            ]
        with gzip.open(folder / "runs" / f"{name}.txt.gz", "wt") as file:
            file.writelines(lines)
    (folder / "qrels.txt").write_text(
        "".join(f"q{query} 0 d{query}-{doc} 1\n" for query, doc in enumerate(relevant))
    )
    for part in (1, 2):
        votes = []
        for query, right in enumerate(relevant):
            candidates = sorted({int(right), 0, 1, 2})
            for place, one in enumerate(candidates):
                for other in candidates[place + 1 :]:
                    first, second = (one, other) if other != right else (other, one)
                    winner = first if rng.random() < 0.8 else second
                    votes.append(f"q{query} d{query}-{one} d{query}-{other} d{query}-{winner}\n")
        (folder / f"votes-{part}.txt").write_text("".join(votes))
    (folder / "held-out.txt").write_text("".join(f"q{query}\n" for query in range(10)))
    return folder


def invoke(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def data(*words: object) -> dict[str, object]:
    result = invoke(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def test_compare_a_baseline_named_or_filed(files: Path) -> None:
    words = ("compare", "--runs", files / "runs" / "*", "--qrels", files / "qrels.txt", "--baseline")
    named = data(*words, "middle", "--test", "permutation")
    filed = data(*words, files / "runs" / "middle.txt.gz", "--test", "permutation")
    for result in (named, filed):
        (comparison,) = result["comparisons"]  # type: ignore[misc]
        assert {pair["a"] for pair in comparison["pairs"]} == {"middle"}
        assert {pair["b"] for pair in comparison["pairs"]} == {"low", "high"}
        assert comparison["resamples"] == 10_000
    assert named["comparisons"][0]["outcomes"]  # type: ignore[index]


def test_compare_tells_the_state_of_the_art_by_the_order_of_arrival(files: Path) -> None:
    given: dict[str, Any] = {"qrels": str(files / "qrels.txt"), "measure": "RR@100", "arrivals": True}
    runs = [files / "runs" / f"{name}.txt.gz" for name in ("low", "middle", "high")]
    (found,) = compare(runs=runs, **given).comparisons
    (turned,) = compare(runs=runs[::-1], **given).comparisons
    assert found.state_of_the_art[0] == "low"
    assert turned.state_of_the_art == ("high",)
    assert [row.b for row in found.outcomes] == ["middle", "high"]
    assert found.next_level == pytest.approx(0.05 / 24)
    line = ", then ".join(found.state_of_the_art)
    assert f"under qrels, the runs as they came in: {line}." in str(compare(runs=runs, **given))
    with pytest.raises(InputError, match="takes reciprocal ranks, not nDCG@10"):
        compare(runs=runs, **given | {"measure": "nDCG@10"})
    beside: dict[str, Any]
    for beside in ({"baseline": "low"}, {"sequential": True}, {"test": "t"}, {"correction": "none"}):
        with pytest.raises(InputError, match=f"--{next(iter(beside))} changes nothing beside --arrivals"):
            compare(runs=runs, **given | beside)
    assert not compare(runs=runs, **given).notices
    pattern = compare(runs=files / "runs" / "*", **given)
    assert "in the order of their names" in "".join(pattern.notices)


def test_a_run_that_was_withdrawn_is_not_the_state_of_the_art(files: Path, tmp_path: Path) -> None:
    for name in ("low", "middle", "high"):
        copyfile(files / "runs" / f"{name}.txt.gz", tmp_path / f"{name}.txt.gz")
    given: dict[str, Any] = {"qrels": files / "qrels.txt", "measure": "RR@100", "arrivals": True}
    runs = [tmp_path / f"{name}.txt.gz" for name in ("high", "middle", "low")]
    assert compare(runs=runs, **given).comparisons[0].state_of_the_art[0] == "high"
    (tmp_path / "high-metadata.json").write_text('{"withdrawn": "2026-01-01"}')
    found = compare(runs=runs, **given)
    assert found.comparisons[0].state_of_the_art[0] == "middle"
    assert "withdrawn, and so passed over: high" in "".join(found.notices)


def test_compare_all_pairs_repeats_and_writes(files: Path, tmp_path: Path) -> None:
    runs, qrels = [files / "runs" / "*"], [str(files / "qrels.txt")]
    options = {"runs": runs, "qrels": qrels, "measure": ["RR@10", "nDCG@10"]}
    one = compare(**options, test="permutation", seed=7, out=tmp_path / "tests.csv")  # type: ignore[arg-type]
    other = compare(**options, test="permutation", seed=7)  # type: ignore[arg-type]
    for first, second in zip(one.comparisons, other.comparisons, strict=True):
        assert np.array_equal(first.significance.p, second.significance.p)
    reciprocal, gains = one.comparisons
    assert len(reciprocal.outcomes) == 3
    assert reciprocal.no_outcomes == ""
    assert gains.outcomes == ()
    assert "nDCG@10 is not one: add --measure RR@100" in gains.no_outcomes
    lines = (tmp_path / "tests.csv").read_text().splitlines()
    assert lines[0].startswith("qrels,measure,a,b,difference")
    assert len(lines) == 1 + 2 * 3
    names = ["tests.csv", "tests.reciprocal-ranks.csv", "tests.outcomes.csv"]
    assert [Path(path).name for path in one.out] == names
    for name in names[1:]:
        assert len((tmp_path / name).read_text().splitlines()) == 1 + 3
    alone = compare(**{**options, "measure": "nDCG@10"}, out=tmp_path / "n.csv")  # type: ignore[arg-type]
    assert alone.out == (str(tmp_path / "n.csv"),)
    with_baseline = compare(**options, baseline="low", out=tmp_path / "b.md")  # type: ignore[arg-type]
    assert with_baseline.out[1:] == (str(tmp_path / "b.reciprocal-ranks.md"), str(tmp_path / "b.outcomes.md"))
    assert "Outcomes" in (tmp_path / "b.outcomes.md").read_text()


def test_compare_several_baselines_each_by_its_tag_or_its_file(files: Path) -> None:
    words = ("compare", "--runs", files / "runs" / "*", "--qrels", files / "qrels.txt", "--measure", "RR@100")
    result = data(*words, "--baseline", "middle", "--baseline", files / "runs" / "low.txt.gz")
    (comparison,) = result["comparisons"]  # type: ignore[misc]
    asked = [("middle", "high"), ("middle", "low"), ("low", "high")]
    assert [(pair["a"], pair["b"]) for pair in comparison["pairs"]] == asked
    assert [(row["a"], row["b"]) for row in comparison["outcomes"]] == asked
    assert {row["alpha"] for row in comparison["outcomes"]} == {0.05 / 3}
    with pytest.raises(InputError, match="--baseline: there is no run 'best'"):
        compare(runs=[files / "runs"], qrels=[files / "qrels.txt"], baseline="best")


def test_outcomes_warn_of_queries_with_several_answers(files: Path, tmp_path: Path) -> None:
    lines = (files / "qrels.txt").read_text().splitlines(keepends=True)
    more = tmp_path / "more.txt"
    query = lines[0].split()[0]
    more.write_text("".join([*lines, f"{query} 0 another 1\n", f"{query} 0 third 0\n"]))
    words = ("compare", "--runs", files / "runs" / "*", "--qrels")
    assert not data(*words, files / "qrels.txt")["notices"]
    (notice,) = data(*words, f"more={more}")["notices"]  # type: ignore[misc]
    assert notice.startswith("more: 1 of 40 queries have several relevant documents")
    assert not data(*words, f"more={more}", "--measure", "nDCG@10")["notices"]


def test_compare_prints_tables_and_sentences(files: Path) -> None:
    low, high = files / "runs" / "low.txt.gz", files / "runs" / "high.txt.gz"
    result = invoke("compare", low, high, "--qrels", files / "qrels.txt")
    assert result.exit_code == 0
    assert "high is significantly better" in result.stdout
    assert "Outcomes" not in result.stdout
    result = invoke("compare", low, high, "--qrels", files / "qrels.txt", "--details")
    assert "Outcomes" in result.stdout
    assert "WRS p" in result.stdout


def test_compare_looks_every_day(files: Path) -> None:
    runs = [files / "runs" / f"{name}.txt.gz" for name in ("low", "high")]
    words = ("compare", *runs, "--qrels", files / "qrels.txt")
    daily = data(*words, "--sequential")
    assert daily["comparisons"][0]["test"] == "sequential"  # type: ignore[index]
    assert daily == data(*words, "--test", "sequential")
    with pytest.raises(InputError, match="--sequential is a test of its own, beside --test sign"):
        invoke(*words, "--sequential", "--test", "sign")


@pytest.mark.parametrize(("words", "match"), [(["a.txt"], "two runs"), ([], "takes a study")])
def test_compare_needs_runs_and_qrels(words: list[str], match: str) -> None:
    with pytest.raises(InputError, match=match):
        invoke("compare", *words)


def test_stability_over_all_and_held_out_queries(files: Path) -> None:
    words = ("stability", "--runs", files / "runs" / "*", "--qrels", files / "qrels.txt", "--trials", 200)
    (every,) = data(*words)["conditions"]  # type: ignore[misc]
    assert [every[key] for key in ("part", "queries", "trials")] == ["all", 40, 200]
    assert [row["run"] for row in every["runs"]] == ["high", "middle", "low"]
    assert every["runs"][0]["share"][0] > 0.9
    (board,) = score(runs=[files / "runs" / "*"], qrels=[str(files / "qrels.txt")]).boards
    public, private = data(*words, "--held-out", files / "held-out.txt")["conditions"]  # type: ignore[misc]
    assert (public["part"], public["queries"]) == ("public", 30)
    assert (private["part"], private["queries"]) == ("held out", 10)
    assert {(row["share"], row["expected"]) for row in private["runs"]} == {(None, None)}
    (files / "ten.tsv").write_text("".join(f"q{query}\tten\n" for query in range(10)))
    shown = invoke(*words, "--queries", files / "ten.tsv", "--details").stdout
    assert "With fewer than 30 queries, no shares of ranks are given." in shown
    assert "%" not in shown.replace("95 %", "")
    firm = {one.run: (one.highest, one.lowest) for one in board.standings}
    assert {row["run"]: (row["low"], row["high"]) for row in every["runs"]} == firm
    (files / "few.txt").write_text("q1\nq2\n")
    said = invoke(*words, "--held-out", files / "few.txt", "--details").stderr
    assert "held out queries, 2 queries: with fewer than 30 queries, no shares of ranks are given" in said
    assert said.count("fewer than 30 queries") == 1
    (files / "few.txt").write_text("q1\nelsewhere\n")
    with pytest.raises(InputError, match="fewer than two judged queries are among the 2 held out"):
        invoke(*words, "--held-out", files / "few.txt")
    with pytest.raises(InputError, match="absent: there is no such file"):
        stability(runs=[files / "runs" / "*"], qrels=[str(files / "qrels.txt")], held_out=files / "absent")
    assert data(*words) == data(*words)
    assert data(*words, "--seed", 1) != data(*words)


def test_labels_of_the_held_out_queries_only_have_no_public_ranks(files: Path, tmp_path: Path) -> None:
    """Craswell et al., Figure 4: sparse labels on both parts, and TREC's on the private one."""
    held_out = files / "held-out.txt"
    kept = set(held_out.read_text().split())
    lines = (files / "qrels.txt").read_text().splitlines()
    (files / "trec.txt").write_text("".join(f"{line}\n" for line in lines if line.split()[0] in kept))
    result = stability(
        runs=[files / "runs" / "*"],
        qrels=[f"sparse={files / 'qrels.txt'}", f"trec={files / 'trec.txt'}"],
        measure=["RR@10", "nDCG@10"],
        held_out=held_out,
        draw=["low", next(iter((files / "runs").glob("high*")))],
        trials=9,
        plot=tmp_path / "ranks.svg",
    )
    found = [(one.stability.measure, one.stability.qrels, one.part) for one in result.conditions]
    assert sorted(found) == [
        (measure, *rest)
        for measure in ("RR@10", "nDCG@10")
        for rest in (("sparse", "held out"), ("sparse", "public"), ("trec", "held out"))
    ]
    assert result.shown == ("low", "high")
    assert sum("trec qrels: 0 public queries are judged" in notice for notice in result.notices) == 2
    with pytest.raises(InputError, match="--draw: there is no run 'absent'"):
        stability(runs=[files / "runs" / "*"], qrels=[str(files / "qrels.txt")], draw="absent", trials=9)


def test_stability_with_votes_says_how_far_votings_agree(files: Path, tmp_path: Path) -> None:
    result = stability(
        runs=[files / "runs" / "*"],
        judgments=[files / "votes-1.txt", files / "votes-2.txt"],
        trials=40,
        plot=tmp_path / "ranks.png",
        out=tmp_path / "ranks.csv",
    )
    names = ["ranks.csv", "ranks.png", "ranks.2.png", "ranks.side-by-side.png"]
    assert [Path(name).name for name in result.out] == names
    assert all(Path(name).stat().st_size > 50 for name in result.out)
    assert [one.part for one in result.conditions] == ["all", "all"]
    assert result.shown == ("high", "middle", "low")
    assert [one.stability.qrels for one in result.conditions] == ["votes-1", "votes-2"]
    assert [(one.qrels, one.measure, one.two_votings.by) for one in result.voted] == [
        ("votes-1", "RR@10", "redrawn votes"),
        ("votes-2", "RR@10", "redrawn votes"),
        ("votes-1, votes-2", "RR@10", "sets of judgments"),
    ]
    assert result.voted[-1].two_votings.pairs == 1
    rows = (tmp_path / "ranks.csv").read_text().splitlines()
    assert rows[0] == "qrels,measure,queries,run,low,high,rank,share"
    printed = invoke(
        "stability", "--runs", files / "runs" / "*", "--judgments", files / "votes-1.txt", "--trials", 9
    )
    assert "RR@10 under votes-1: Two rounds of voting agree at τ = " in printed.stdout


def test_votes_that_decide_nothing_are_refused(files: Path, tmp_path: Path) -> None:
    few = tmp_path / "few.txt"
    few.write_text("q1 d1-1 d1-2 d1-1\nq1 d1-3 d1-4 d1-3\n")
    with pytest.raises(InputError, match="few decides no query"):
        stability(runs=[files / "runs" / "*"], judgments=[few])


def test_measures_of_judged_pairs_are_tested_as_those_of_labels_are(files: Path) -> None:
    runs, votes = str(files / "runs"), files / "votes-1.txt"
    scored = score(runs=runs, judgments=votes, measure="ppref@10").boards[0].leaderboard
    mean = {row.run: row.score for row in scored.rows}
    (tested,) = (
        one.significance for one in compare(runs=runs, judgments=votes, measure="ppref@10").comparisons
    )
    assert (tested.measure, tested.qrels, tested.queries) == ("ppref@10", scored.qrels, scored.queries)
    for a, b, difference in zip(tested.a, tested.b, tested.difference, strict=True):
        assert difference == pytest.approx(mean[tested.runs[b]] - mean[tested.runs[a]])
    found = stability(runs=runs, judgments=votes, measure="ppref@10", trials=50)
    assert [one.stability.measure for one in found.conditions] == ["ppref@10"]
    result = agreement(runs=runs, judgments=votes, measure="ppref@10", trials=20)
    assert {one.measure for one in result.agreements} == {"ppref@10"}
    for verb in (compare, stability, agreement):
        with pytest.raises(InputError, match="ppref@10 is computed from judgments"):
            verb(runs=runs, qrels=files / "qrels.txt", measure=["RR", "ppref@10"])


def test_agreement(files: Path, tmp_path: Path) -> None:
    words = ("agreement", "--runs", files / "runs" / "*", "--qrels", files / "qrels.txt", "--trials", 20)
    (found,) = data(*words)["agreements"]  # type: ignore[misc]
    assert (found["pairs"], found["splits"], found["queries"]) == (3, 20, 40)
    assert len(found["rows"]) == 7
    for row in found["rows"]:
        assert row["agree"] + row["partly"] + row["disagree"] == pytest.approx(1)
    assert invoke(*words, "--out", tmp_path / "table.tex").exit_code == 0
    assert "\\toprule" in (tmp_path / "table.tex").read_text()


LEADERBOARD = """id,date,,description,team,paper,code,type,MRR@100 (Dev),MRR@100 (Eval),tweet
low,2021/01/01,,Ranker,Ada Lovelace,,,full ranking,0.3,0.2,
middle,2021/01/05,,Ranker v2,Ada Lovelace - Lab,,,full ranking,0.4,0.3,
high,2021/01/09,,Other,Someone,,,full ranking,0.5,0.4,
secret,2020/01/09,,Hidden,anonymous,,,full ranking,0.5,0.1,
"""


def test_audit(tmp_path: Path) -> None:
    board, known = tmp_path / "leaderboard.csv", tmp_path / "aliases.tsv"
    board.write_text(LEADERBOARD)
    known.write_text("Someone\tAda Lovelace\nAda Lovelace - Lab\tAda Lovelace\n")
    result = data("audit", board)
    rules = [found["rule"] for found in result["findings"]]  # type: ignore[attr-defined]
    assert rules == []
    assert result["anonymous"] == ["secret"]
    assert data("audit", board, "--until", "2021-01-05")["submissions"] == 3
    assert [team["name"] for team in result["teams"]][:2] == ["Ada Lovelace", "Ada Lovelace - Lab"]  # type: ignore[attr-defined]
    twins = tmp_path / "runs"
    twins.mkdir()
    for name in ("low", "high"):
        (twins / name).write_text(f"q1 Q0 d1 1 2.0 {name}\nq1 Q0 d2 2 1.0 {name}\n")
    told = data("audit", board, "--aliases", known, "--runs", twins / "*")
    rules = [found["rule"] for found in told["findings"]]  # type: ignore[attr-defined]
    assert rules[0] == "frequency"
    assert "twins" in rules
    then = audit(board, until="2021-01-05")
    assert [one.name for one in then.submissions] == ["low", "middle", "secret"]
    assert (then.measure, audit(board, measure="RR").measure) == ("MRR@100", "RR")
    plot = tmp_path / "time.svg"
    out = tmp_path / "findings.md"
    printed = invoke("audit", board, "--aliases", known, "--highlight", "v2", "--out", out, "--plot", plot)
    assert (tmp_path / "time.svg").read_bytes().startswith(b"<?xml")
    assert "3 submissions within 30 days" in printed.stdout
    assert "frequency" in out.read_text()


def test_wrong_days_and_aliases_are_named(tmp_path: Path) -> None:
    board, known = tmp_path / "leaderboard.csv", tmp_path / "aliases.tsv"
    board.write_text(LEADERBOARD)
    known.write_text("no tab here\n")
    with pytest.raises(InputError, match="--since 2021/01/01: not a date"):
        audit(board, since="2021/01/01")
    with pytest.raises(InputError, match=r"aliases\.tsv:1"):
        audit(board, aliases=known)
    with pytest.raises(InputError, match="there is no"):
        audit(board, aliases=tmp_path / "absent")


def test_a_study_brings_its_runs_labels_votes_and_seed(few_judged: Path) -> None:
    study = few_judged
    ranks = stability(study, trials=20)
    assert [(one.part, one.stability.qrels) for one in ranks.conditions] == [
        ("all", "original"),
        ("all", "preference"),
    ]
    assert [(one.qrels, one.measure) for one in ranks.voted] == [("preference", "RR@10")]
    again = stability(study, trials=20)
    for one, other in zip(ranks.conditions, again.conditions, strict=True):
        assert np.array_equal(one.stability.low, other.stability.low)
        assert one.stability.share is None, "so few queries tell none"
    assert ranks.voted == again.voted
    assert ranks.provenance["seed"] == "the study's"
    tested = compare(study=study, baseline="lexical")
    assert [one.significance.qrels for one in tested.comparisons] == ["original", "preference"]
    assert tested.comparisons[0].significance.test == "permutation"
    assert len(agreement(study, trials=3).agreements) == 2


@pytest.mark.usefixtures("in_full")
def test_two_real_votings_do_not_agree_in_all(data_dir: Path, tmp_path: Path) -> None:
    """Of 24 runs on 25 queries; fewer runs tell too badly how far they agree."""
    folder = data_dir / "dl21"
    result = stability(
        runs=[folder / "runs"],
        judgments=[folder / "phases" / f"Set-{phase}.txt" for phase in ("I", "II", "III")],
        trials=10,
    )
    *redrawn, cast = (one.two_votings for one in result.voted)
    assert 0.4 < cast.value < 0.9
    assert len(redrawn) == 3
    # What redrawn votes say, votes cast anew bear out.
    assert abs(np.mean([one.value for one in redrawn]) - cast.value) < 0.12
    assert all(one.low < cast.value < one.high for one in redrawn)
    one, other = (_majority(folder / "phases" / f"Set-{phase}.txt") for phase in ("I", "II"))
    both = one.keys() & other.keys()
    first = result.sets[0]
    assert (first.a, first.b, len(result.sets)) == ("Set-I", "Set-II", 3)
    assert (first.pairs, first.agree) == (len(both), sum(one[pair] == other[pair] for pair in both))
    assert first.queries == len({query for query, *_ in both}) > len(first.parted) > 0
    seen = [(one.agree / one.pairs, len(one.parted) / one.queries) for one in result.sets]
    shares = []
    for phase in ("I", "II", "III"):  # and so they do what is said of pairs and of best answers
        found = gather(None, runs=[folder / "runs"], judgments=folder / "phases" / f"Set-{phase}.txt", seed=1)
        with found.reading(digest=False):
            told = own_votes(found).two_rounds(found.rng("again"))
        assert {(one.pairs, one.queries) for one in told} == {(first.pairs, first.queries)}
        shares += [(one.agree / one.pairs, len(one.parted) / one.queries) for one in told]
    pairs, parted = np.mean(shares, axis=0) - np.mean(seen, axis=0)
    assert abs(pairs) < 0.05
    assert abs(parted) < 0.1, "25 queries tell what is seen to .07"
    again = []
    for phase in ("I", "II", "III"):
        sure = resolve(judgments=folder / "phases" / f"Set-{phase}.txt", out=tmp_path / "q.txt").confidence
        assert sure is not None
        again.append(sure.again)
    assert abs(np.mean(again) - np.mean([one.shared / one.queries for one in result.sets])) < 0.1


def _majority(votes: Path) -> dict[tuple[str, ...], str]:
    """Return who won each pair of a round robin with one vote a pair."""
    rows = [line.split() for line in votes.read_text().splitlines()]
    return {(query, *sorted((a, b))): won for query, a, b, won in rows}


def test_how_runs_are_read_changes_nothing(files: Path, tmp_path: Path) -> None:
    options = {"runs": [files / "runs" / "*"], "qrels": [str(files / "qrels.txt")]}
    plain = compare(**options)  # type: ignore[arg-type]
    other = compare(**options, workers=2, on_duplicate="first")  # type: ignore[arg-type]
    assert np.array_equal(plain.comparisons[0].significance.p, other.comparisons[0].significance.p)
    few = tmp_path / "few.tsv"
    few.write_text("".join(f"q{query}\ttext\n" for query in range(12)))
    assert agreement(**options, queries=few, trials=2).agreements[0].queries == 12  # type: ignore[arg-type]
    assert stability(**options, queries=few, trials=9).conditions[0].stability.queries == 12  # type: ignore[arg-type]
    assert compare(**options, queries=few).comparisons[0].significance.queries == 12  # type: ignore[arg-type]


def test_pool_sizes_can_be_drawn(files: Path, tmp_path: Path) -> None:
    made = pool(runs=[files / "runs" / "*"], qrels=files / "qrels.txt", plot=tmp_path / "sizes.png")
    assert made.plot == str(tmp_path / "sizes.png")
    assert (tmp_path / "sizes.png").read_bytes().startswith(b"\x89PNG")
