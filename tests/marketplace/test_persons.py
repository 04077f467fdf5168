"""Persons: everything that is stored about one can be had, and can be forgotten down to the store's bytes."""

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from prefjudge.database import Database
from prefjudge.marketplace import operator as door
from prefjudge.marketplace.hits import overview
from prefjudge.marketplace.people import workers
from prefjudge.marketplace.people.requesters import LOCAL_KEY
from prefjudge.marketplace.server import start
from prefjudge.marketplace.store.store import Marketplace, Rules
from tests.marketplace.people import HTTP, Admin, Clock, new_requester, offer
from tests.marketplace.test_panels import CODES, Desk, Visitor

PID, SESSION, NAME = "5f00PRIVATEPID", "6a1bPRIVATESESSION", "Private Ann"
SAID = ("PRIVATE comment on a pair", "PRIVATE remark", "PRIVATE draft", "PRIVATE message", "PRIVATE dispute")
PRIVATE = (PID, SESSION, NAME, *SAID, "PRIVATE feedback", "PRIVATE reason")


def bytes_of(store: Path) -> bytes:
    """All that lies in a store's folder: the file, its log and its index."""
    return b"".join(path.read_bytes() for path in store.parent.glob(f"{store.name}*"))


def live(server, requester, *, pay: bool = True) -> tuple[Visitor, str]:
    """One person's days: comes from a panel, has a name, works, comments, is written to, is paid."""
    desk = Desk(Admin(server))
    hits = [offer(requester) for _ in range(3)]
    url = desk.panel("lab", hits=3, completion=CODES)
    person = Visitor(url, PID, SESSION)
    with server.marketplace.transaction() as tx:
        workers.set_name(tx, person.worker_id, NAME)
    idents = [person.take(hit) for hit in hits]
    fields = {"first.comment": SAID[0], "comment": SAID[1], "first": "a"}
    for ident in idents[:2]:
        person.post("/mturk/externalSubmit", assignmentId=ident, **fields)
    HTTP.request(
        "POST",
        f"{server.endpoint}/assignments/{idents[2]}/draft",
        json={"draft": SAID[2]},
        headers=person.headers,
    )
    requester.approve_assignment(AssignmentId=idents[0], RequesterFeedback="PRIVATE feedback")
    requester.reject_assignment(AssignmentId=idents[1], RequesterFeedback="PRIVATE feedback")
    person.post(f"/assignments/{idents[1]}/dispute", text=SAID[4])
    requester.notify_workers(Subject="s", MessageText=SAID[3], WorkerIds=[person.worker_id])
    requester.create_worker_block(WorkerId=person.worker_id, Reason="PRIVATE reason")
    if pay:
        payout = {"worker_id": person.worker_id, "amount": "2.00", "reference": "transfer 1"}
        desk.call("POST", "/admin/payouts", payout, status=201)
    return person, idents[0]


@pytest.fixture
def served(tmp_path):
    clock = Clock()
    with start(f"sqlite:///{tmp_path}/market.db", clock=clock) as server:
        yield server, new_requester(server.endpoint, (LOCAL_KEY, server.admin_token)), clock


def test_a_person_is_forgotten_down_to_the_bytes_and_the_work_and_the_ledger_stay(served, tmp_path):
    server, requester, _ = served
    person, ident = live(server, requester)
    other = Admin(server).worker(name="Other Person")
    store, admin = tmp_path / "market.db", Admin(server)
    before = bytes_of(store)
    assert [text for text in PRIVATE if text.encode() not in before] == [], "else this shows nothing"
    ledger = admin.call("GET", "/admin/overview")["money"]
    receipt = admin.call("POST", f"/admin/workers/{person.worker_id}/forget")["receipt"]
    assert receipt["erased"] == {
        "HITs in hand": 1, "sessions": 1, "messages": 1, "panel ids": 1, "visits": 1,
        "what was written about work": 3, "reasons of blocks": 1, "comments": 2,
    }  # fmt: skip
    after = bytes_of(store)
    assert [text for text in PRIVATE if text.encode() in after] == []
    assert b"Other Person" in after
    assert admin.call("GET", "/admin/overview")["money"] == ledger
    assert admin.call("GET", "/admin/overview")["ledger_imbalance"] == []
    kept = requester.get_assignment(AssignmentId=ident)["Assignment"]
    assert kept["WorkerId"] == person.worker_id
    assert "<QuestionIdentifier>first</QuestionIdentifier><FreeText>a</FreeText>" in kept["Answer"]
    assert "comment" not in kept["Answer"]
    assert person.get("/hits")["code"] == "signed_out"
    desk, url = Desk(admin), person.link.partition("?")[0]
    assert Visitor(url, PID, SESSION).status == 410, "a session is paid once, whoever comes with it"
    assert desk.says("lab", (SESSION, PID, "known"))["not_here"] == 1
    page = HTTP.request(
        "GET", f"{server.endpoint}/admin/panels/lab", headers={**admin.headers, "Accept": "*/*"}
    )
    assert b">forgotten</span>" in page.data
    assert b"<code" in page.data.partition(b">forgotten</span>")[2]
    assert b"forgotten " not in page.data, "nobody needs to read the mark"
    assert Visitor(url, "somebody else", SESSION).status == 200
    assert Visitor(url, PID, "new").worker_id != person.worker_id
    answer = admin.call("POST", f"/admin/workers/{person.worker_id}/invite", status=410)
    assert answer["code"] == "forgotten"
    again = admin.call("POST", f"/admin/workers/{person.worker_id}/forget")["receipt"]
    assert again["erased"] == {}, "a repeat changes nothing more"
    assert admin.call("GET", f"/admin/workers/{other.worker_id}")["name"] == "Other Person"


def test_a_person_gets_all_that_is_stored(served):
    server, requester, _ = served
    person, _ = live(server, requester)
    admin = Admin(server)
    stored = admin.call("GET", f"/admin/workers/{person.worker_id}/export.json")
    text = json.dumps(stored)
    assert [one for one in PRIVATE if one not in text] == []
    assert stored["account"][0]["name"] == NAME
    assert [row["title"] for row in stored["assignments"]] == ["Which passage is better?"] * 3
    assert [row["kind"] for row in stored["payments"]] == ["reward", "payout"]
    shown = admin.call("GET", f"/admin/workers/{person.worker_id}")
    assert shown["counts"]["messages"] == 1
    admin.call("GET", "/admin/workers/ANOBODY", status=400)


def test_a_store_notes_when_it_became_another_file(tmp_path):
    first, second, third = (tmp_path / f"{name}.db" for name in ("first", "second", "third"))

    def moved(file, now):
        market = Marketplace(f"sqlite:///{file}", sweep=overview.sweep, clock=lambda: now)
        market.close()
        return market.moved

    assert moved(first, 1.0) == 0
    shutil.copy(first, second)
    assert [moved(first, 2.0), moved(second, 3.0), moved(second, 4.0)] == [0, 3, 3]
    first.rename(third)
    assert moved(third, 5.0) == 0
    shutil.copy(second, first)
    assert moved(first, 6.0) == 6, "a copy of a copy"


def test_the_export_leaves_out_no_table_that_knows_a_worker(tmp_path):
    market = Marketplace(f"sqlite:///{tmp_path}/m.db", sweep=overview.sweep)
    with market.database.transaction() as db:
        tables = {
            table for table in db.tables()
            if any(row[1] == "worker_id" for row in db.execute(f"PRAGMA table_info({table})"))
        }  # fmt: skip
    market.close()
    read = set(re.findall(r"FROM (\w+)", " ".join(overview._KNOWN.values())))
    assert tables - read == set()


def test_work_that_no_panel_has_confirmed_is_free_again_once_nobody_can(served):
    server, requester, _ = served
    admin, hit = Admin(server), offer(requester)
    url, listed = Desk(admin).panel("typed", confirm=True), Desk(admin).panel("listed")
    person, always = Visitor(url, PID, SESSION), Visitor(listed, "of a list")
    person.do(hit)
    assert requester.get_hit(HITId=hit["HITId"])["HIT"]["NumberOfAssignmentsAvailable"] == 0
    receipt = admin.call("POST", f"/admin/workers/{person.worker_id}/forget", {"unpaid": "on"})["receipt"]
    assert receipt["erased"] == {"unconfirmed work": 1, "sessions": 1, "panel ids": 1, "visits": 1}
    assert requester.get_hit(HITId=hit["HITId"])["HIT"]["NumberOfAssignmentsAvailable"] == 1
    admin.call("POST", f"/admin/workers/{always.worker_id}/forget")
    back = Visitor(listed, "of a list")
    assert (back.status, back.worker_id == always.worker_id) == (200, False), "a link without a session"


def test_while_somebody_reads_the_bytes_stay_and_that_is_said(served, tmp_path):
    server, requester, _ = served
    person, _ = live(server, requester)
    admin, path = Admin(server), f"/admin/workers/{person.worker_id}/forget"
    with closing(sqlite3.connect(tmp_path / "market.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM workers").fetchall()
        assert admin.call("POST", path, status=503)["code"] == "bytes"
    admin.call("POST", path)
    assert [text for text in PRIVATE if text.encode() in bytes_of(tmp_path / "market.db")] == []


def test_who_is_owed_something_is_not_forgotten_by_mistake(served, tmp_path):
    server, requester, _ = served
    person, _ = live(server, requester, pay=False)
    admin = Admin(server)
    path = f"/admin/workers/{person.worker_id}/forget"
    refused = admin.call("POST", path, status=400)
    assert "is owed $2.00" in refused["error"]
    assert admin.call("GET", f"/admin/workers/{person.worker_id}")["forgotten"] is None
    assert admin.call("POST", path, {"unpaid": "yes"})["receipt"]["ledger"] == "2.00"
    Desk(admin).says("lab", (SESSION, PID, "known"))
    for file in ("approvals.csv", "bonuses.csv"):
        assert Desk(admin).file(admin, "lab", file) == "", "nobody knows whom to pay"


def test_old_people_are_forgotten_by_the_sweep(tmp_path):
    clock = Clock()
    store = tmp_path / "market.db"
    with start(f"sqlite:///{store}", clock=clock, rules=Rules(keep_days=30)) as server:
        requester = new_requester(server.endpoint, (LOCAL_KEY, server.admin_token))
        person, _ = live(server, requester)
        admin = Admin(server)
        clock.advance(3600 + 29 * 86_400)
        assert admin.call("GET", f"/admin/workers/{person.worker_id}")["forgotten"] is None
        clock.advance(2 * 86_400)
        admin.call("GET", "/admin/overview")
        assert admin.call("GET", f"/admin/workers/{person.worker_id}")["forgotten"]
        assert [text for text in PRIVATE if text.encode() in bytes_of(store)] == []


def test_the_door_forgets_on_postgresql(postgres_url):
    with start(postgres_url) as server:
        person, _ = live(server, new_requester(server.endpoint))
        assert json.dumps(door.known_of(postgres_url, person.worker_id), default=str).count(PID)
        assert door.forget_person(postgres_url, person.worker_id)["erased"]["comments"] == 2
    database = Database(postgres_url)
    with database.transaction(write=False) as db:
        for table in db.tables():
            held = [row for row in db.execute(f"SELECT t::text FROM {table} t") if "PRIVATE" in row[0]]
            assert held == [], table
    database.close()
