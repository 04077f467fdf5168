"""One run against the qrels, from the pool to the tables: the pool and the analysis mean the same pairs."""

from pathlib import Path

import pytest

from prefjudge import collect, gold, init, pool, publish, report, score, winratio, work
from prefjudge.core.pools import TopSplit
from prefjudge.errors import InputError
from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.reading.pools import read_pool, write_pool
from prefjudge.study.store import Study
from tests.steps.conftest import COLLECTION, let_all_work_at_once
from tests.steps.test_road import TRUTH

RUN = COLLECTION / "runs" / "lexical.txt"


def judge_all(pooled: Path, votes: Path) -> None:
    """Prefer the first document of every pair of a pool."""
    pools = read_pool(pooled)
    rows = dict.fromkeys(pools.queries, ())
    for query, doc in zip(pools.query.tolist(), pools.doc.tolist(), strict=True):
        rows[pools.queries[query]] = (*rows[pools.queries[query]], pools.docs[doc])
    votes.write_text("".join(f"{query} {a} {b} {a}\n" for query, (a, *rest) in rows.items() for b in rest))


def test_a_fully_judged_study_has_nothing_unjudged(data_dir: Path, tmp_path: Path) -> None:
    """The qrels of this collection name documents that it does not have, and often first."""
    cacm = data_dir / "cacm"
    run = cacm / "runs" / "bm25-stem.txt.gz"
    pooled = pool(
        runs=[run], qrels=cacm / "qrels.txt", collection=cacm / "collection.tsv",
        design="top-against-qrel", out=tmp_path / "pool.tsv",  # type: ignore[arg-type]
    )  # fmt: skip
    assert pooled.split == TopSplit(a=3, b=49, no_rival=0, not_retrieved=0)
    judge_all(tmp_path / "pool.tsv", tmp_path / "votes")
    given = {"runs": [run], "qrels": cacm / "qrels.txt", "judgments": tmp_path / "votes"}
    blind = winratio(**given, against_qrel="bm25-stem").against_qrel  # type: ignore[arg-type]
    assert blind is not None
    assert blind.b.unjudged > 0, "otherwise this shows nothing"
    result = winratio(**given, against_qrel=run, pool=tmp_path / "pool.tsv")  # type: ignore[arg-type]
    found = result.against_qrel
    assert found is not None
    assert found.split == pooled.split
    assert (found.a.unjudged, found.b.unjudged) == (0, 0)
    assert found.b.qrel + found.b.rival == 49
    (perfect,) = result.winratio.pairs
    assert (perfect.wins_a, perfect.wins_b, perfect.same) == (found.b.qrel, found.b.rival, 3)


def test_the_perfect_ranking_has_first_what_was_judged(tmp_path: Path) -> None:
    """A qrel without a text was never shown: above the one that was it would halve the ranking's score."""
    names = ("run", "original", "liked", "pool.tsv")
    run, original, preference, pooled = (tmp_path / name for name in names)
    run.write_text("".join(f"{q} Q0 top-{q} 1 2 r\n{q} Q0 shown-{q} 2 1 r\n" for q in "abcd"))
    original.write_text("".join(f"{q} 0 lost-{q} 1\n{q} 0 shown-{q} 1\n{q} 0 late-{q} 1\n" for q in "abcd"))
    preference.write_text("a 0 shown-a 1\nb 0 shown-b 1\nc 0 late-c 1\nd 0 top-d 1\n")
    pooled.write_text("".join(f"{q}\ttop-{q}\tr\n{q}\tshown-{q}\toriginal\n" for q in "abcd"))
    given = {"runs": [run], "qrels": [original, preference], "measure": "RR@10"}
    blind = score(**given).leaderboards[1].perfect  # type: ignore[arg-type]
    found = score(**given, pool=pooled).leaderboards[1].perfect  # type: ignore[arg-type]
    assert blind is not None
    assert found is not None
    assert blind.score == pytest.approx((1 / 2 + 1 / 2 + 1 / 3) / 4)
    assert found.score == pytest.approx((1 + 1 + 1 / 3) / 4), "all the original qrels, the pooled one first"


def test_a_study_of_one_run_needs_no_resolve_and_finds_what_it_pooled(tmp_path: Path) -> None:
    study, few = tmp_path / "study", tmp_path / "texts.tsv"
    first = {}
    for line in (COLLECTION / "qrels.txt").read_text().splitlines():
        query, _, doc, _ = line.split()
        first.setdefault(query, doc)
    qrels = tmp_path / "qrels.txt"  # the first of each query has no text
    lines = [f"{query} 0 lost-{query} 1\n{query} 0 {doc} 1\n" for query, doc in first.items()]
    qrels.write_text("".join(lines))
    few.write_text((COLLECTION / "collection.tsv").read_text())
    init(study, config="demo")
    let_all_work_at_once(study)
    pooled = pool(
        study, runs=[RUN], qrels=qrels, queries=COLLECTION / "queries.tsv", collection=few,
        design="top-against-qrel",  # type: ignore[arg-type]
    )  # fmt: skip
    assert pooled.split is not None
    assert pooled.split.pairs == pooled.pairs
    gold(study, accept=True, file=COLLECTION / "gold.tsv")
    with keep_marketplace_open(Study(study)):
        publish(study, sandbox=True, yes=True)
        work(study, workers=6, error=0.0, truth=TRUTH)
        collect(study)
    page = report(study)  # not resolved: what needs no answers is shown
    assert "The qrels against one run" in page.sections
    text = Path(page.out).read_text()
    assert "Category A: qrel at first rank" in text
    assert "comparison passage preferred" in text
    out, plot = tmp_path / "t.csv", tmp_path / "f.svg"
    result = winratio(study, against_qrel=RUN, examples=2, out=out, plot=plot)
    found = result.against_qrel
    assert found is not None
    assert found.split == pooled.split
    assert (found.a.unjudged, found.b.unjudged) == (0, 0)
    assert [Path(path).name for path in result.files] == [
        "t.csv", "t.categories.csv", "t.preferred.csv", "t.examples.csv",
        "f.svg", "f.shares.svg", "f.examples.svg",
    ]  # fmt: skip
    assert all(one.query_text and one.preferred_text and one.other_text for one in result.examples)
    assert winratio(study, against_qrel="lexical", examples=2).examples == result.examples
    assert "unjudged,0,0" in (tmp_path / "t.preferred.csv").read_text()


def test_the_pairings_of_the_official_qrels_are_those_of_the_pooled_ones(tmp_path: Path) -> None:
    qrels, votes, pooled = tmp_path / "qrels.txt", tmp_path / "votes", tmp_path / "pool.tsv"
    qrels.write_text("q01 0 p34 1\nq01 0 p20 1\n")  # the run's top passage is relevant, too
    votes.write_text("q01 p20 p34 p34\n")
    pool(runs=[RUN], qrels=qrels, design="top-against-qrel", out=pooled)  # type: ignore[arg-type]
    given = {"runs": [RUN], "qrels": qrels, "judgments": votes}
    (known,) = score(**given, pool=pooled).pairings  # type: ignore[arg-type]
    assert (known.passages, known.won, known.lost) == (1, 1, 0)
    (unknown,) = score(**given).pairings  # type: ignore[arg-type]
    assert (unknown.passages, unknown.won, unknown.lost) == (2, 1, 1)


def test_a_run_that_misses_queries_keeps_them_in_the_shares(tmp_path: Path) -> None:
    part = tmp_path / "part.txt"
    lines = RUN.read_text().splitlines(keepends=True)
    part.write_text("".join(line for line in lines if not line.startswith(("q01 ", "q02 "))))
    pooled = pool(
        runs=[part], qrels=COLLECTION / "qrels.txt", design="top-against-qrel",  # type: ignore[arg-type]
    )  # fmt: skip
    assert pooled.split is not None
    assert (pooled.split.not_retrieved, pooled.split.queries, pooled.queries) == (2, 15, 15)
    elsewhere = tmp_path / "elsewhere.txt"
    elsewhere.write_text("x Q0 d 1 1 tag\n")
    with pytest.raises(InputError, match="no query of this file is in the runs"):
        pool(runs=[elsewhere], qrels=COLLECTION / "qrels.txt", design="top-against-qrel")  # type: ignore[arg-type]


def test_a_pool_is_read_as_it_was_written(tmp_path: Path) -> None:
    pool(runs=[COLLECTION / "runs"], qrels=COLLECTION / "qrels.txt", depth=2, out=tmp_path / "pool.tsv")
    once = read_pool(tmp_path / "pool.tsv")
    write_pool(tmp_path / "again.tsv", once)
    assert (tmp_path / "again.tsv").read_bytes() == (tmp_path / "pool.tsv").read_bytes()
    bad = tmp_path / "bad.tsv"
    bad.write_text("q1\td1\ta\nq1\td1\tb\nq2 d2\n")
    with pytest.raises(InputError) as refused:
        read_pool(bad)
    assert [":2:" in line or ":3:" in line for line in refused.value.problems] == [True, True]
