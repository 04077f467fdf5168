"""Nothing in a served page but its meaning tells a gold pair from another."""

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import numpy as np
import pytest
import urllib3

from prefjudge import gold, init, pool, publish
from prefjudge.core.gold import suggest_gold
from prefjudge.crowd.simulated import read_page
from prefjudge.errors import InputError, StudyError
from prefjudge.field.crowd import Address, keep_marketplace_open, open_marketplace
from prefjudge.field.publish import plan_batch
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.pools import read_gold, write_gold
from prefjudge.study.hits import StudyHit, load_hits
from prefjudge.study.pools import load_gold, load_inputs, load_passages, load_queries
from prefjudge.study.store import Study
from tests.marketplace.people import Worker
from tests.steps.conftest import COLLECTION, edit, pool_demo, pool_from
from tests.steps.guesser import (
    ServedPage,
    name_of,
    passages_of_gold,
    slots_by_form,
    slots_by_text,
    success,
    with_texts,
)

CHANCE = 0.002
"""Below this the guesser is not lucky. Secret and seed are fixed, so that luck does not come and go."""
SECRET = "c2356069e9d1e79ca924378153cfbbfb4d4416b1f99d41a2940bfdb66c5319db"


def look_at(address: Address, hit_id: str) -> tuple[bytes, "np.ndarray"]:
    """Return the page's bytes and the second at which each arrived, for somebody who has just accepted it."""
    http = urllib3.PoolManager(timeout=30.0)
    card = http.request(
        "POST", f"{address.admin}/workers",
        headers={"Accept": "application/json", "Authorization": f"Bearer {address.admin_token}"},
        json={"name": f"visitor of {hit_id}", "locale": "US", "approved": 20_000, "approval_rate": 99},
    ).json()  # fmt: skip
    visitor = Worker(address.worker_site, http, card["invite"])
    taken = visitor.accept({"HITId": hit_id})
    frame = urljoin(f"{address.worker_site}/", taken["frame_url"])
    began = time.perf_counter()
    reply = http.request("GET", frame, headers=visitor.headers, preload_content=False)
    parts = [(part, time.perf_counter() - began) for part in reply.stream(512)]
    visitor.post(f"/assignments/{taken['assignment_id']}/return")  # few newcomers may hold one
    return b"".join(part for part, _ in parts), np.repeat([at for _, at in parts], [len(p) for p, _ in parts])


def fix_secret(study: Path) -> None:
    with Study(study).transaction() as db:
        db.execute("INSERT INTO settings VALUES ('secret', :value)", value=SECRET)


def publish_and_look(study: Path) -> list[ServedPage]:
    opened = Study(study)
    pages = []
    with keep_marketplace_open(Study(study)), open_marketplace(opened) as address:
        publish(study, yes=True)
        with opened.transaction(write=False) as db:
            hits = load_hits(db, "sandbox")
        for hit in hits:
            source, arrived = look_at(address, hit.hit_id or "")
            golden = [slot for slot in hit.slots if slot.gold_id is not None]
            pages.append(
                ServedPage(
                    source=source,
                    arrived=arrived,
                    gold=frozenset(slot.name for slot in golden),
                    right=frozenset(slot.tokens[0] for slot in golden),
                )
            )
    return pages


def small_study(study: Path) -> Path:
    """The shipped collection in small HITs."""
    init(study, config="demo")
    edit(study, ("pairs_per_hit = 10", "pairs_per_hit = 2"))
    pool_demo(study)
    gold(study, accept=True, file=COLLECTION / "gold.tsv")
    return study


def test_gold_shows_below_its_passages_what_all_others_show(tmp_path: Path) -> None:
    study, file = tmp_path / "study", tmp_path / "dated.jsonl"
    lines = [line.split("\t", 1) for line in (COLLECTION / "collection.tsv").read_text().splitlines()]
    rows = [{"id": doc, "text": text, "date": f"day {place}"} for place, (doc, text) in enumerate(lines)]
    given: dict[str, Any] = {"runs": COLLECTION / "runs", "qrels": COLLECTION / "qrels.txt"}
    given |= {"queries": COLLECTION / "queries.tsv", "collection": file}
    init(study, config="demo")
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    pool(study, **given, dataset="show=date")
    with pytest.raises(InputError, match="workers would know them by it") as refused:
        gold(study, accept=True, file=COLLECTION / "gold.tsv")
    assert refused.value.problems[0].endswith("a passage without doc_id has no date")
    with pytest.raises(InputError, match="workers would know them by it") as refused:
        gold(study, suggest=0, decoys=COLLECTION / "collection.tsv")
    assert "as --suggest without --decoys does, or pool again" in refused.value.hint
    gold(study, suggest=6)
    gold(study, accept=True)
    for page in publish_and_look(study):
        source = page.source.decode()
        assert source.count("<small>\n\ndate: day ") == source.count("<dd id=") > 0
        seen = {text for slot in read_page(source).slots for text in slot.passages}
        assert seen <= {text for _, text in lines}, "a study is rebuilt by the texts alone"
    with pytest.raises(InputError, match="newcomers would show other fields") as refused:
        pool(study, **given, challenge=True)
    assert refused.value.hint == "Give --dataset show=date."
    with pytest.raises(StudyError, match="is not what was judged") as stopped:
        pool(study, **given)
    assert stopped.value.hint == "Give --dataset show=date."

    other = tmp_path / "other"
    init(other, config="demo")
    (pair,) = read_gold(study / "gold.tsv")[:1]
    bare = {pair.bad_id, *(str(row["id"]) for row in rows[::2])}
    dated = [row | {"date": None} if row["id"] in bare else row for row in rows]
    file.write_text("".join(json.dumps(row) + "\n" for row in dated))
    again = pool(other, **given, dataset="show=date")
    assert not any("showed otherwise" in one for one in again.notices)
    (lacks,) = (one for one in again.notices if "people see no date" in one)
    assert re.search(r"people see no date below \d+ of \d+ passages, such as ", lacks)
    again = pool(other, **given)
    assert not again.changed
    assert any("people now see nothing below" in one for one in again.notices)
    again = pool(other, **given, dataset="show=date")
    assert any("people now see date below" in one for one in again.notices)
    gold(other, suggest=12)
    assert not bare & {doc for one in read_gold(other / "gold.tsv") for doc in (one.good_id, one.bad_id)}
    with pytest.raises(InputError, match="workers would know them by it") as refused:
        gold(other, accept=True, file=study / "gold.tsv")
    assert any(one.endswith(f"{pair.bad_id} has no date") for one in refused.value.problems)


@pytest.fixture(scope="module")
def demo_pages(tmp_path_factory: pytest.TempPathFactory) -> list[ServedPage]:
    study = small_study(tmp_path_factory.mktemp("secrecy") / "study")
    fix_secret(study)
    return publish_and_look(study)


@pytest.fixture(scope="module")
def cacm_study(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    cacm = data_dir / "cacm"
    if not cacm.is_dir():
        pytest.skip("no cacm/ in the real data")
    study = tmp_path_factory.mktemp("secrecy") / "study"
    init(study)
    fix_secret(study)
    pool_from(cacm, study, "runs/*.gz")
    gold(study, suggest=60, accept=True)
    return study


@pytest.fixture(scope="module")
def cacm_pages(cacm_study: Path) -> list[ServedPage]:
    """Real abstracts and titles, with suggested gold pairs, in HITs of the usual size."""
    return publish_and_look(cacm_study)


@pytest.mark.parametrize("pages", ["demo_pages", "cacm_pages"])
def test_the_form_of_a_page_does_not_tell_gold(pages: str, request: pytest.FixtureRequest) -> None:
    served: list[ServedPage] = request.getfixturevalue(pages)
    assert len(served) >= 20
    found = success(slots_by_form(served))
    assert found.p_value > CHANCE, found
    assert 0.35 < found.auc < 0.65


@pytest.mark.parametrize("pages", ["demo_pages", "cacm_pages"])
def test_the_form_of_a_page_does_not_tell_the_answer_to_gold(
    pages: str, request: pytest.FixtureRequest
) -> None:
    found = success(passages_of_gold(request.getfixturevalue(pages)))
    assert found.p_value > CHANCE, found


def test_the_size_and_punctuation_of_texts_do_not_tell_suggested_gold(cacm_pages: list[ServedPage]) -> None:
    examples = slots_by_text(cacm_pages)
    assert examples.sought.sum() >= 40
    found = success(examples)
    assert found.p_value > CHANCE, found


def test_who_has_all_but_the_secret_cannot_draw_a_page_again(
    demo_pages: list[ServedPage], tmp_path: Path
) -> None:
    """The seed, the files and the source are public; a page that is drawn again names its gold pairs."""
    shown = {str([order for order, _ in page.layouts]) for page in demo_pages}
    assert len(shown) == len(demo_pages)
    study = Study(small_study(tmp_path / "study"))
    guessed = plan_batch(study, "sandbox")
    assert len(guessed) == len(demo_pages)
    assert not shown & _orders(guessed)
    assert plan_batch(study, "sandbox") == guessed, "who has the study gets the same"
    other = small_study(tmp_path / "other")
    fix_secret(other)
    assert shown == _orders(plan_batch(Study(other), "sandbox"))


def test_who_has_all_but_the_secret_cannot_suggest_the_same_gold(tmp_path: Path) -> None:
    studies = [tmp_path / name for name in ("one", "other")]
    for study in studies:
        init(study, config="demo")
        pool_demo(study)
    one, other = (Path(gold(study, suggest=6).file).read_text() for study in studies)
    assert one != other
    assert Path(gold(studies[0], suggest=6).file).read_text() == one, "who has the study gets the same"


def _orders(hits: Sequence[StudyHit]) -> set[str]:
    return {str([list(layout.order) for layout in hit.layouts]) for hit in hits}


def test_the_page_comes_alone_and_asks_for_nothing(demo_pages: list[ServedPage]) -> None:
    for page in demo_pages[:5]:
        assert b"default-src 'none'; script-src 'sha256-" in page.source
        # but for the marketplace's own script, which it puts before the page of every HIT
        own = rb'<script src="http://[\d.:]+/assets/externalHIT_v1\.js"></script>'
        alone = re.sub(own, b"", page.source, count=1)
        assert not re.search(rb"<(link|img|iframe)|\b(src|href)=|fetch\(|XMLHttpRequest", alone)


def test_gold_keeps_the_blanks_and_line_breaks_of_its_passages(tmp_path: Path) -> None:
    """The table for review has one line a pair; what it folds would tell gold from the other pairs."""
    lines = (COLLECTION / "collection.tsv").read_text().splitlines()
    texts = dict(line.split("\t") for line in lines)
    spaced = {doc: text.replace(". ", ".  \n") for doc, text in texts.items()}
    collection = tmp_path / "collection.jsonl"
    collection.write_text("".join(json.dumps({"id": d, "contents": t}) + "\n" for d, t in spaced.items()))
    study = tmp_path / "study"
    init(study, config="demo")
    pool_demo(study, collection=collection)
    suggested = Path(gold(study, suggest=6).file)
    write_gold(suggested, [*read_gold(suggested), *read_gold(COLLECTION / "gold.tsv")])
    gold(study, accept=True)
    with Study(study).transaction(write=False) as db:
        passages, found = set(load_passages(db).values()), list(load_gold(db).values())
    assert any("  \n" in text for text in passages)
    assert len(found) > 6
    assert {pair.good for pair in found[:6]} | {pair.bad for pair in found[:6]} <= passages
    shipped = found[6:]
    known = {" ".join(text.split()) for text in passages}
    for pair in shipped:
        for text in (pair.good, pair.bad):
            assert (text in passages) == (" ".join(text.split()) in known)


def _rename(page: ServedPage) -> ServedPage:
    source = page.source
    for name in page.gold:
        source = source.replace(name.encode(), b"77" + name[2:].encode())
    return replace(page.edited(source), gold=frozenset("77" + name[2:] for name in page.gold))


def _space(page: ServedPage) -> ServedPage:
    return page.with_chunks(
        [c.replace(b"<dd", b" <dd", 1) if name_of(c) in page.gold else c for c in page.chunks]
    )


def _last_in_source(page: ServedPage) -> ServedPage:
    return page.with_chunks(sorted(page.chunks, key=lambda chunk: name_of(chunk) in page.gold))


def _every_fourth(page: ServedPage) -> ServedPage:
    """Show gold at fixed places of the first layout."""
    golden = [i for i, chunk in enumerate(page.chunks) if name_of(chunk) in page.gold]
    others = [i for i in range(len(page.chunks)) if i not in golden]
    order = others[:1] + golden[:1] + others[1:2] + golden[1:2] + others[2:3] + golden[2:] + others[3:]
    return page.with_layouts([[order, page.layouts[0][1]], *page.layouts[1:]])


def _turn_alone(page: ServedPage) -> ServedPage:
    """Turn all sides but those of gold from one layout to the next."""
    fixed = [name_of(chunk) in page.gold for chunk in page.chunks]
    first = page.layouts[0][1]
    turned = [[side ^ (number % 2) ^ (f and number % 2) for side, f in zip(first, fixed, strict=True)]
              for number in range(len(page.layouts))]  # fmt: skip
    return page.with_layouts([[order, sides] for (order, _), sides in zip(page.layouts, turned, strict=True)])


def _late(page: ServedPage) -> ServedPage:
    arrived = page.arrived.copy()
    for chunk in page.chunks:
        if name_of(chunk) in page.gold:
            at = page.source.index(chunk)
            arrived[at : at + len(chunk)] += 0.5
    return replace(page, arrived=arrived)


LEAKS: list[Callable[[ServedPage], ServedPage]] = [
    _rename, _space, _last_in_source, _every_fourth, _turn_alone, _late,
]  # fmt: skip


@pytest.mark.parametrize("leak", LEAKS)
def test_a_planted_leak_of_form_is_found(
    demo_pages: list[ServedPage], leak: Callable[[ServedPage], ServedPage]
) -> None:
    found = success(slots_by_form([leak(page) for page in demo_pages]))
    assert found.auc > 0.9, found
    assert found.p_value < CHANCE / 100


def test_longer_gold_is_found(cacm_pages: list[ServedPage]) -> None:
    longer = [
        page.with_chunks([c.replace(b"<dd", b" and so on" * 40 + b"<dd") if name_of(c) in page.gold else c
                          for c in page.chunks])
        for page in cacm_pages
    ]  # fmt: skip
    found = success(slots_by_text(longer))
    assert found.auc > 0.9, found  # some abstracts are as long by themselves


def test_gold_that_takes_after_no_pair_is_found(cacm_study: Path, cacm_pages: list[ServedPage]) -> None:
    """Gold drawn without a look at the pairs is longer than they are: half of these are titles alone."""
    with Study(cacm_study).transaction(write=False) as db:
        queries, passages = load_queries(db), load_passages(db)
        qrels = read_qrels(next(found.path for found in load_inputs(db) if found.kind == "qrels"))
    drawn = cycle(suggest_gold(qrels, queries, passages, 60, rng=np.random.default_rng(1)))

    def careless(page: ServedPage) -> ServedPage:
        chunks = page.chunks
        for place, chunk in enumerate(chunks):
            if name_of(chunk) in page.gold:
                pair = next(drawn)
                chunks[place] = with_texts(chunk, pair.query, pair.good, pair.bad)
        return page.with_chunks(chunks)

    found = success(slots_by_text([careless(page) for page in cacm_pages]))
    assert found.auc > 0.65, found
    assert found.p_value < CHANCE / 100


def test_a_right_answer_that_always_comes_first_is_found(demo_pages: list[ServedPage]) -> None:
    def first(page: ServedPage) -> ServedPage:
        tokens = [re.findall(rb'<dd id="([^"]*)"', chunk)[0].decode() for chunk in page.chunks]
        return replace(page, right=frozenset(tokens))

    found = success(passages_of_gold([first(page) for page in demo_pages]))
    assert found.auc > 0.85, found
