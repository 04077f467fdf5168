"""A pool in a study: what may change before the first HIT, and what stays as it was published."""

from pathlib import Path
from shutil import copytree

import pytest

from prefjudge import collect, gold, init, publish, status, work
from prefjudge.core.judgments import ModelVote
from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.errors import StudyError
from prefjudge.field.crowd import open_marketplace
from prefjudge.marketplace.server import Server
from prefjudge.study.imports import save_votes
from prefjudge.study.pools import load_inputs, load_pairs, load_passages
from prefjudge.study.store import Study
from tests.steps.conftest import COLLECTION, contents, edit, pool_demo, pool_from
from tests.steps.test_targets import live as live
from tests.steps.test_targets import point_live_at


def judged_before(study: Path) -> list[int]:
    with Study(study).transaction(write=False) as db:
        return [row[4] for row in load_pairs(db)]


def test_the_design_is_the_configs_until_the_first_hit_and_then_stays(served: Path) -> None:
    pairs = len(judged_before(served))
    edit(served, ("pairs_per_hit = 10", "pairs_per_hit = 10\njudgments_per_pair = 3"))
    offer = publish(served, dry_run=True)
    assert (offer.pairs, offer.assignments) == (pairs, 3 * offer.hits)
    edit(served, ("judgments_per_pair = 3", "judgments_per_pair = 1\noverlap = 0.5\noverlap_judgments = 2"))
    publish(served, yes=True)
    assert sorted(set(judged_before(served))) == [1, 2]
    asked = sum(judged_before(served))
    edit(served, ("judgments_per_pair = 1", "judgments_per_pair = 5"))
    with pytest.raises(StudyError, match=rf"asks for {5 * pairs} judgments of {pairs} pairs.* for {asked}"):
        publish(served, yes=True)
    edit(served, ("judgments_per_pair = 5", "judgments_per_pair = 1"))
    assert publish(served, yes=True).hits == 0


def test_what_the_hits_ask_stays_and_what_explains_or_pays_it_may_change(served: Path) -> None:
    """Votes on two questions would be counted together, and released as votes on the last one."""
    publish(served, yes=True)
    work(served, workers=1, most=1, error=0.0)
    with open_marketplace(Study(served)) as door:
        crowd = MTurkCrowd(door.endpoint)
        for task in list(crowd.tasks()):
            crowd.close(task.task_id)
    asks = "question = \"Which passage is longer?\"\nallow_ties = true\nstrengths = ['a', 'b']"
    for one in asks.splitlines():
        edit(served, ("[design]", f"[design]\n{one}"))
        with pytest.raises(StudyError, match=f"{one.split()[0]} in .* cannot be counted together"):
            publish(served, yes=True)
        edit(served, (f"[design]\n{one}", "[design]"))
    edit(served, ("[design]", f"[design]\n{asks}"), ("reward = 2.00", "reward = 2.50"))
    with pytest.raises(StudyError, match=r"allow_ties in .* is true, but the published HITs have false"):
        collect(served)
    state = status(served)
    assert (state.assignments, "open" in state.hits) == (1, False)  # what had come is taken in
    wrapped = 'question = """Which passage\nbest answers the question?"""\ninstructions = "Read both."'
    edit(served, (f"[design]\n{asks}", f"[design]\n{wrapped}"))
    done = collect(served)
    assert done.reissued
    assert done.notices == ("a HIT pays $2.50 now; the last ones paid $2.00",)
    assert collect(served).notices == ()


def test_the_design_may_change_between_the_rehearsal_and_the_live_study(served: Path, live: Server) -> None:
    point_live_at(served, live.endpoint)
    edit(served, ("[targets.live]", "[targets.sandbox]\n\n[targets.live]"))
    publish(served, yes=True)
    edit(served, ("pairs_per_hit = 10", 'pairs_per_hit = 10\njudgments_per_pair = 2\nlanguage = "de"'))
    with pytest.raises(StudyError, match=r'language .* is "de", but the published HITs have "en"'):
        publish(served, yes=True)
    edit(served, ('language = "de"', ""))
    with pytest.raises(StudyError, match=r"overlap_judgments in \[design\]"):
        publish(served, yes=True)
    edit(served, ("[design]", '[design]\nlanguage = "de"'))
    offer = publish(served, live=True, dry_run=True)
    assert offer.assignments == 2 * offer.hits > 0


def test_texts_stay_as_they_were_published(served: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    copytree(COLLECTION, other)
    texts = (other / "collection.tsv").read_text()
    (other / "collection.tsv").write_text(texts.replace("\t", "\tChanged: "))
    pool_from(other, served)
    pool_demo(served)
    publish(served, yes=True)
    before = contents(served)
    with pytest.raises(StudyError, match=r"the text of passage .* in all\) is not what was judged"):
        pool_from(other, served)
    (other / "collection.tsv").write_text(texts)
    (other / "queries.tsv").write_text((other / "queries.tsv").read_text().replace("\t", "\tChanged: "))
    with pytest.raises(StudyError, match="the text of query"):
        pool_from(other, served)
    assert contents(served) == before
    blanks = "".join(line.replace(" ", "  ") + " \r\n" for line in texts.splitlines())
    (other / "collection.tsv").write_text(blanks, newline="")
    (other / "queries.tsv").write_text((COLLECTION / "queries.tsv").read_text())
    pool_from(other, served)
    assert contents(served)["passages"] == before["passages"], "as it was shown"


def test_a_study_is_told_where_its_files_are_now(tmp_path: Path) -> None:
    study, here, there = tmp_path / "study", tmp_path / "here", tmp_path / "there"
    init(study, config="demo")
    copytree(COLLECTION, here)
    assert pool_from(here, study).changed
    with Study(study).transaction(write=False) as db:
        before, passages = load_inputs(db), load_passages(db)
    here.rename(there)
    assert not pool_from(there, study).changed
    with Study(study).transaction(write=False) as db:
        after = load_inputs(db)
    assert [(one.kind, one.name, one.digest) for one in after] == [
        (one.kind, one.name, one.digest) for one in before
    ]
    assert all(Path(one.path).is_relative_to(there) for one in after)
    assert {one.digest.partition(":")[0] for one in after if one.kind == "collection"} == {"texts-sha256"}
    assert passages
    assert gold(study, suggest=5).suggested == 5


def test_another_pool_takes_the_votes_of_models_with_it(pooled: Path) -> None:
    opened = Study(pooled)
    with opened.transaction() as db:
        number, query, a, b, _ = load_pairs(db)[0]
        save_votes(db, "judge-1", [(number, ModelVote(pair=(query, a, b), a_first=1, b_first=-1))])
    assert pool_from(COLLECTION, pooled, depth=2).changed
    with opened.transaction(write=False) as db:
        assert db.execute("SELECT count(*) FROM model_votes") == [(0,)]


def test_queries_without_a_label_are_counted_before_they_are_paid_for(tmp_path: Path) -> None:
    lines = (COLLECTION / "qrels.txt").read_text().splitlines(keepends=True)
    few = tmp_path / "few.txt"
    few.write_text("".join(line for line in lines if line.startswith("q01 ")))
    init(tmp_path / "study")
    (notice,) = pool_demo(tmp_path / "study", qrels=few).notices
    assert notice.startswith(f"{few}: lacks 14 of the 15 pooled queries: they are judged nevertheless")
    init(tmp_path / "all")
    assert pool_demo(tmp_path / "all").notices == ()
