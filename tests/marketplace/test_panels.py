"""Panels: whom they send, when a visit ends and with which code, and what the panel is told of it."""

import hmac
import json
import re
import socket
import threading
from contextlib import nullcontext
from types import SimpleNamespace
from urllib.parse import urlencode, urlsplit

import pytest

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.people.requesters import LOCAL_KEY
from prefjudge.marketplace.server import start
from prefjudge.marketplace.site import panels, state
from prefjudge.marketplace.site.state import PanelTokens
from prefjudge.resources import is_inside
from tests.marketplace.people import HTTP, JSON, Admin, Clock, new_requester, offer, post
from tests.serving import Handler, Serving

CODES = {
    outcome: {"code": f"C-{outcome}", "url": "https://panel.example/?cc={code}&who={participant}"}
    for outcome in ("submitted", "returned", "none_left", "timed_out", "screened_out", "no_consent")
}


class Visitor:
    """A panel's participant: follows the link, and works."""

    def __init__(self, url: str, pid: str, session: str = "", **more: str) -> None:
        self.endpoint = url.partition("/panel/")[0]
        self.link = f"{url}?{urlencode({'PROLIFIC_PID': pid, 'SESSION_ID': session, **more})}"
        answer = HTTP.request("POST", self.link, headers=JSON, redirect=False)
        self.status, said = answer.status, answer.json()
        if self.status == 200:
            self.worker_id = said["worker_id"]
            cookie = answer.headers["set-cookie"].split(";")[0]
            self.headers = {**JSON, "Cookie": cookie, "X-CSRF-Token": said["csrf"]}

    def post(self, path: str, **fields: str):
        return post(self.endpoint + path, self.headers, **fields).json()

    def get(self, path: str):
        return HTTP.request("GET", self.endpoint + path, headers=self.headers).json()

    def take(self, hit) -> str:
        said = self.post(f"/hits/{hit['HITId']}/accept")
        return said.get("assignment_id") or said["code"]

    def submit(self, ident: str):
        return self.post("/mturk/externalSubmit", assignmentId=ident, choice="a")

    def do(self, hit):
        return self.submit(self.take(hit))

    def code(self) -> str | None:
        """What the list of HITs shows."""
        back = self.get("/hits")["completion"]
        assert back is None or back["code"] == f"C-{back['outcome']}"
        return back and back["outcome"]


class Desk:
    """The admin's pages about panels."""

    def __init__(self, admin: Admin) -> None:
        self.call = admin.call

    def panel(self, name: str, **wanted) -> str:
        return self.call("PUT", f"/admin/panels/{name}", {"completion": CODES, "signed": False, **wanted})[
            "url"
        ]

    def visits(self, name: str) -> dict[str, dict]:
        seen = self.call("GET", f"/admin/panels/{name}")["visits"]
        return {visit["session"] or visit["participant"]: visit for visit in seen}

    def says(self, name: str, *rows: tuple[str, str, str]):
        keys = ("session", "participant", "status")
        said = [dict(zip(keys, row, strict=True)) for row in rows]
        return self.call("POST", f"/admin/panels/{name}/submissions", {"submissions": said})

    def file(self, admin: Admin, name: str, file: str) -> str:
        answer = HTTP.request("GET", f"{admin.endpoint}/admin/panels/{name}/{file}", headers=admin.headers)
        assert answer.status == 200
        return answer.data.decode()


@pytest.fixture(scope="module")
def clock():
    return Clock()


@pytest.fixture(scope="module")
def market(tmp_path_factory, clock):
    with start(f"sqlite:///{tmp_path_factory.mktemp('panels')}/market.db", clock=clock) as server:
        yield server


@pytest.fixture(scope="module")
def admin(market):
    return Admin(market)


@pytest.fixture(scope="module")
def desk(admin):
    return Desk(admin)


@pytest.fixture
def requester(market):
    """A requester whose HITs end with the test, so that nothing is left of them for the next."""
    client = new_requester(market.endpoint, (LOCAL_KEY, market.admin_token))
    yield client
    for hit in client.list_hits(MaxResults=100)["HITs"]:
        client.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=0)


def test_a_visit_has_its_hits_and_one_code_at_its_end(requester, desk):
    one, two, three = (offer(requester, Reward="0.50") for _ in range(3))
    visitor = Visitor(desk.panel("two", hits=2, reward="0.80"), "p1", "s1")
    assert visitor.do(one)["completion"] is None
    assert visitor.code() is None
    assert visitor.get("/hits")["visit"] == {"wanted": 2, "done": 1, "held": 0, "over": False}
    back = visitor.do(two)["completion"]
    assert back == {
        "outcome": "submitted",
        "code": "C-submitted",
        "url": "https://panel.example/?cc=C-submitted&who=p1",
    }
    assert visitor.code() == "submitted", "who looks at the list after finishing sees the right code"
    assert visitor.get("/hits")["groups"] == []
    assert visitor.take(three) == "visit_over"
    again = Visitor(visitor.link.partition("?")[0], "p1", "s2")
    assert again.worker_id == visitor.worker_id
    assert again.code() is None, "another session is another visit"
    assert again.do(three)["completion"]["outcome"] == "submitted", "nothing more is left for this worker"


def test_a_code_alone_is_a_way_back(requester, desk):
    back = Visitor(desk.panel("plain", completion={"submitted": "CODE1"}), "p1").do(offer(requester))
    assert back["completion"] == {"outcome": "submitted", "code": "CODE1", "url": ""}


def test_a_panel_that_signs_sends_whom_it_means(desk):
    made = desk.call("POST", "/admin/panels", {"name": "signs", "signed": True}, status=201)
    signature = hmac.new(made["secret"].encode(), b"5f00", "sha256").hexdigest()
    assert Visitor(made["url"], "5f00", signature=signature).status == 200
    assert Visitor(made["url"], "5f01", signature=signature).status == 404
    assert Visitor(made["url"], "5f00").status == 404


def test_who_returns_or_is_late_gets_the_code_for_it_and_may_go_on(requester, desk, clock):
    hit = offer(requester)
    visitor = Visitor(desk.panel("late"), "p1", "s1")
    ident = visitor.take(hit)
    assert visitor.code() is None, "no code before the work"
    assert visitor.post(f"/assignments/{ident}/return")["completion"]["outcome"] == "returned"
    assert visitor.code() == "returned"
    late = visitor.take(hit)
    clock.advance(601)
    assert visitor.get(f"/assignments/{late}/done")["completion"]["outcome"] == "timed_out"
    assert visitor.code() == "timed_out"
    assert visitor.do(hit)["completion"]["outcome"] == "submitted"
    assert visitor.code() == "submitted"


def test_names_typed_into_a_link_neither_read_the_study_nor_hold_its_hits(requester, desk, admin, clock):
    hits = [offer(requester) for _ in range(24)]
    url = desk.panel("typed", hits=0)
    came = [Visitor(url, f"n{number}") for number in range(12)]
    assert [one.status for one in came] == [200] * 10 + [429] * 2, "ten of one network in an hour"
    taken = [one.take(hit) for one, hit in zip(came[:10], hits, strict=False)]
    assert taken[8:] == ["many_newcomers"] * 2, "a third of the HITs"
    assert admin.worker().accept(hits[-1]), "who was invited is not counted"
    came[0].submit(taken[0])
    assert Visitor(url, "n10").status == 200, "who submits makes room"
    assert came[0].take(hits[20]), "and is known"
    clock.advance(3601)
    assert Visitor(url, "n11").status == 200
    assert Visitor(desk.panel("vouched", signed=None, confirm=True), "n12", "s12").status == 200


def test_nothing_left_stands_once_it_was_shown(requester, desk):
    url = desk.panel("none")
    visitor, other = Visitor(url, "p1", "s1"), Visitor(url, "p2", "s2")
    assert visitor.code() == "none_left"
    hit = offer(requester)
    assert visitor.code() == "none_left", "the participant has gone back with this code"
    assert visitor.take(hit) == "visit_over"
    assert other.code() is None
    assert other.do(hit)["completion"]["outcome"] == "submitted"


def test_consent_refused_has_its_code_and_frees_the_hit(requester, desk):
    hit = offer(requester)
    visitor = Visitor(desk.panel("consent", hits=2), "p1", "s1")
    ident = visitor.take(hit)
    back = visitor.post(f"/assignments/{ident}/return", reason="no_consent")["completion"]
    assert back["outcome"] == visitor.code() == "no_consent"
    assert visitor.take(hit) == "visit_over"
    assert requester.get_hit(HITId=hit["HITId"])["HIT"]["NumberOfAssignmentsAvailable"] == 1


def test_who_is_barred_is_screened_out_and_who_has_judged_a_pair_is_not(requester, desk):
    kinds = [
        requester.create_qualification_type(Name=name, Description="d", QualificationTypeStatus="Active")
        for name in ("barred", "judged these pairs")
    ]
    barred, judged = (kind["QualificationType"]["QualificationTypeId"] for kind in kinds)

    def closed_to(*types: str):
        needs = [
            {"QualificationTypeId": one, "Comparator": "DoesNotExist",
             "ActionsGuarded": "DiscoverPreviewAndAccept"} for one in types
        ]  # fmt: skip
        return offer(requester, QualificationRequirements=needs)

    url = desk.panel("screened", hits=3)
    good, bad, blocked = (Visitor(url, f"p{n}", f"s{n}") for n in range(3))
    for visitor in (good, bad):
        visitor.do(closed_to(barred))
    blocked.do(offer(requester))
    closed_to(barred, judged)
    for who, kind in ((good, judged), (bad, barred)):
        requester.associate_qualification_with_worker(
            WorkerId=who.worker_id, QualificationTypeId=kind, IntegerValue=1, SendNotification=False
        )
    requester.create_worker_block(WorkerId=blocked.worker_id, Reason="spam")
    hits = requester.list_hits(MaxResults=100)["HITs"]
    assert blocked.code() == "screened_out"
    assert bad.code() == "screened_out"
    for hit in hits:  # what the others left open
        if hit["NumberOfAssignmentsAvailable"] and len(hit["QualificationRequirements"]) < 2:
            requester.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=0)
    assert good.code() == "submitted", "one HIT is closed to them, because of its pairs"


def test_a_participant_may_stop_and_without_a_number_of_hits_that_is_the_end(requester, desk):
    hits = [offer(requester) for _ in range(3)]
    some = Visitor(desk.panel("stops", hits=3), "p1", "s1")
    some.do(hits[0])
    held = some.take(hits[1])
    assert some.post("/visit/end")["completion"]["outcome"] == "returned"
    assert some.submit(held)["code"] == "returned"
    many = Visitor(desk.panel("any", hits=0), "p1", "s1")
    assert many.do(hits[1])["completion"] is None
    assert many.post("/visit/end")["completion"]["outcome"] == "submitted"
    assert many.take(hits[2]) == "visit_over"


def test_nothing_of_a_visit_counts_before_the_panels_list_confirms_it(requester, desk, admin):
    known, forged = (offer(requester, AutoApprovalDelayInSeconds=60) for _ in range(2))
    url = desk.panel("confirmed", confirm=True)
    visitor, forger = Visitor(url, "p1", "s1"), Visitor(url, "p1", "sguessed")
    ident = visitor.take(known)
    assert forger.get("/hits")["open"] == [], "another visit's HITs are not theirs to return"
    assert visitor.submit(ident)["status"] == "Submitted"
    forger.do(forged)
    for ids in (("p1", ""), ("p1", "{{%SESSION_ID%}}"), ("{{%PROLIFIC_PID%}}", "s1"), ("", "s1")):
        answer = HTTP.request("POST", f"{url}?{urlencode({'PROLIFIC_PID': ids[0], 'SESSION_ID': ids[1]})}")
        assert (answer.status, b"Open the study again from Prolific&#39;s page." in answer.data) == (
            404,
            True,
        )
    for path in ("/history", "/inbox"):
        assert forger.get(path)["code"] == "unconfirmed", "who knows another's id reads nothing of them"
    for hit in (known, forged):
        seen = requester.get_hit(HITId=hit["HITId"])["HIT"]
        assert (seen["HITStatus"], seen["NumberOfAssignmentsPending"]) == ("Unassignable", 1)
        assert requester.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"] == []
    with pytest.raises(requester.exceptions.RequestError, match="not submitted"):
        requester.approve_assignment(AssignmentId=ident)
    rows = desk.visits("confirmed")
    assert [
        (rows[one]["confirmed"], rows[one]["earned"], rows[one]["approve"]) for one in ("s1", "sguessed")
    ] == [(False, "0.00", False)] * 2
    said = (("s1", "p1", "known"), ("sguessed", "p1", "unknown"), ("sother", "p9", "known"))
    assert desk.says("confirmed", *said) == {"confirmed": 1, "ended": 0, "thrown_away": 1, "not_here": 1}
    assert desk.says("confirmed", *said)["confirmed"] == 0
    (arrived,) = requester.list_assignments_for_hit(HITId=known["HITId"])["Assignments"]
    assert arrived["AssignmentId"] == ident
    assert visitor.get("/history")["assignments"]
    assert requester.get_hit(HITId=forged["HITId"])["HIT"]["HITStatus"] == "Assignable"
    requester.approve_assignment(AssignmentId=ident)
    assert desk.visits("confirmed")["s1"]["approve"] is True
    assert admin.call("GET", "/admin/overview")["ledger_imbalance"] == []


def test_work_that_waits_for_confirmation_is_not_paid_by_itself(requester, desk, clock):
    hit = offer(requester, AutoApprovalDelayInSeconds=60)
    url = desk.panel("waits", confirm=True)
    visitor = Visitor(url, "p1", "s1")
    visitor.do(hit)
    clock.advance(3600)
    assert desk.visits("waits")["s1"]["approved"] == 0
    desk.says("waits", ("s1", "p1", "known"))
    assert desk.visits("waits")["s1"]["to_review"] == 1
    clock.advance(61)
    assert desk.visits("waits")["s1"]["approved"] == 1


@pytest.mark.parametrize(("status", "event"), [("returned", "Returned"), ("timed_out", "Abandoned")])
def test_a_place_that_the_panel_gives_to_another_frees_its_hits_at_once(requester, desk, status, event):
    first, second = offer(requester), offer(requester)
    visitor = Visitor(desk.panel(f"place_{status}", hits=2), "p1", "s1")
    visitor.do(first)
    held = visitor.take(second)
    said = desk.call("POST", f"/admin/panels/place_{status}/sessions/s1/end", {"outcome": status})
    assert said["ended"] == 1
    assert requester.get_hit(HITId=second["HITId"])["HIT"]["NumberOfAssignmentsAvailable"] == 1
    assert visitor.get(f"/assignments/{held}/done")["assignment"]["status"] == event
    assert visitor.code() == status
    (kept,) = requester.list_assignments_for_hit(HITId=first["HITId"])["Assignments"]
    requester.approve_assignment(AssignmentId=kept["AssignmentId"])
    row = desk.visits(f"place_{status}")["s1"]
    assert (row["approve"], row["bonus"]) == (False, "2.00"), "partial work is paid by a bonus"
    desk.call("POST", f"/admin/panels/place_{status}/sessions/none/end", {"outcome": status}, status=404)


def test_the_two_files_say_what_is_owed_and_a_payment_counts_once(requester, desk, admin):
    hits = [offer(requester, Reward="0.50") for _ in range(4)]
    url = desk.panel("paid", hits=2, reward="0.80")
    whole, part, refused = (Visitor(url, pid, f"s{pid}") for pid in ("=p1", "p2", "p3"))
    done = [whole.take(hits[0]), whole.take(hits[1]), part.take(hits[2]), refused.take(hits[3])]
    for visitor, ident in zip((whole, whole, part, refused), done, strict=True):
        visitor.submit(ident)
    for visitor in (part, refused):
        visitor.post("/visit/end")
    assert desk.file(admin, "paid", "approvals.csv") == desk.file(admin, "paid", "bonuses.csv") == ""
    for ident in done[:3]:
        requester.approve_assignment(AssignmentId=ident)
    requester.reject_assignment(AssignmentId=done[3], RequesterFeedback="Not read.")
    requester.send_bonus(
        WorkerId=whole.worker_id, AssignmentId=done[0], BonusAmount="0.05", Reason="Thank you.",
        UniqueRequestToken="once",
    )  # fmt: skip
    assert desk.file(admin, "paid", "approvals.csv") == "'=p1\n", "no spreadsheet computes it"
    assert sorted(desk.file(admin, "paid", "bonuses.csv").splitlines()) == ["'=p1,0.25", "p2,0.50"]
    rows = desk.visits("paid")
    assert [rows[one]["earned"] for one in ("s=p1", "sp2", "sp3")] == ["1.05", "0.50", "0.00"]
    numbers = [rows["s=p1"]["visit"], rows["sp2"]["visit"]]
    pay = {"visits": numbers}
    assert desk.call("POST", "/admin/panels/paid/paid", pay) == {"recorded": 2}
    assert desk.call("POST", "/admin/panels/paid/paid", pay) == {"recorded": 0}
    desk.call("POST", "/admin/panels/paid/paid", {"visits": [rows["sp3"]["visit"]]}, status=400)
    assert desk.file(admin, "paid", "approvals.csv") == desk.file(admin, "paid", "bonuses.csv") == ""
    requester.approve_assignment(AssignmentId=done[3], OverrideRejection=True)
    requester.send_bonus(
        WorkerId=whole.worker_id, AssignmentId=done[0], BonusAmount="0.10", Reason="More.",
        UniqueRequestToken="later",
    )  # fmt: skip
    later = {visit: row["bonus"] for visit, row in desk.visits("paid").items()}
    assert later == {"s=p1": "0.10", "sp2": "0.00", "sp3": "0.50"}
    more = {"visits": [rows["s=p1"]["visit"], rows["sp3"]["visit"]]}
    assert desk.call("POST", "/admin/panels/paid/paid", more) == {"recorded": 2}
    assert desk.call("POST", "/admin/panels/paid/paid", more) == {"recorded": 0}
    assert desk.file(admin, "paid", "bonuses.csv") == ""
    owed = {one["worker_id"]: one["owed"] for one in admin.call("GET", "/admin/overview")["workers"]}
    assert [owed[one.worker_id] for one in (whole, part, refused)] == ["0.00"] * 3
    assert admin.call("GET", "/admin/overview")["ledger_imbalance"] == []


def test_people_of_a_panel_for_one_requester_see_no_other_s_hits(requester, desk, admin, market):
    key = admin.call("POST", "/admin/requesters", {"name": "lab"}, status=201)
    lab = new_requester(market.endpoint, (key["access_key"], key["secret_key"]))
    theirs, ours = offer(requester, Title="theirs"), offer(lab, Title="ours")
    visitor = Visitor(desk.panel("lab_only", requester="lab", hits=0), "p1", "s1")
    assert [group["title"] for group in visitor.get("/hits")["groups"]] == ["ours"]
    assert visitor.get(f"/hits/{theirs['HITId']}")["code"] == "no_hit"
    assert visitor.take(theirs) == "blocked"
    visitor.do(ours)
    assert visitor.code() == "submitted", "what others offer is not left for this worker"
    assert Visitor(visitor.link.partition("?")[0], "p2", "s2").code() == "none_left", "not screened out"
    everybody = Visitor(desk.panel("all_of_them"), "p1", "s1")
    assert [group["title"] for group in everybody.get("/hits")["groups"]] == ["theirs"]
    refused = desk.call("PUT", "/admin/panels/lab_only", {"requester": "nobody"}, status=400)
    assert "is not the name of a requester" in refused["error"]
    assert desk.call("GET", "/admin/panels/lab_only")["panel"]["requester"] == "lab"


def test_a_list_of_many_visits_comes_in_pages_and_is_paid_as_one(requester, desk, admin, market, monkeypatch):
    monkeypatch.setattr(panels, "AT_ONCE", 2)
    hits = [offer(requester, Reward="0.10") for _ in range(2)]
    visitors = [Visitor(desk.panel("many"), f"p{number}", f"s{number}") for number in range(5)]
    for visitor, hit in zip(visitors, hits, strict=False):
        requester.approve_assignment(AssignmentId=visitor.do(hit)["assignment_id"])
    whole = desk.call("GET", "/admin/panels/many")
    assert [one["participant"] for one in whole["visits"]] == ["p4", "p3", "p2", "p1", "p0"]
    assert whole["before"] is None
    seen, before = [], ""
    while before is not None:
        page = desk.call("GET", f"/admin/panels/many?most=2&before={before}")
        seen, before = seen + page["visits"], page["before"]
    assert seen == whole["visits"]
    for odd in ("most=0", "before=x", "most=-1", f"before={'9' * 19}"):
        desk.call("GET", f"/admin/panels/many?{odd}", status=400)
    html = {"Authorization": admin.headers["Authorization"]}
    page = HTTP.request("GET", f"{admin.endpoint}/admin/panels/many", headers=html).data.decode()
    (more,) = re.findall(r'href="([^"]*before=[^"#]*)#visits"', page)
    assert ("p4" in page, "p2" in page) == (True, False)
    rest = HTTP.request("GET", admin.endpoint + more, headers=html).data.decode()
    assert ("p4" in rest, "p2" in rest) == (False, True)
    for shown in (page, rest):
        (numbers,) = re.findall(r'name="visits" value="([^"]*)"', shown)
        assert numbers == ",".join(str(one["visit"]) for one in whole["visits"][-2:]), "of all pages"
    paid = HTTP.request(
        "POST", f"{admin.endpoint}/admin/panels/many/paid", fields={"visits": numbers}, headers=admin.headers
    )
    assert paid.json() == {"recorded": 2}


@pytest.mark.parametrize("odd", ["5f00\n5f01", "5f00\r", "5f00\x1b[2J", "5f00\u2028", "5f00\u202e1f5"])
def test_an_id_that_is_not_one_visible_line_comes_from_no_panel(desk, odd):
    url = desk.panel("visible")
    assert Visitor(url, odd).status == Visitor(url, "5f00", odd).status == 404
    assert desk.visits("visible") == {}


def test_who_comes_from_a_panel_reads_of_play_money_nowhere(desk):
    url = desk.panel("earnest")
    seen = [HTTP.request("GET", f"{url}{query}") for query in ("?PROLIFIC_PID=p1", "?PROLIFIC_PID=")]
    assert [page.status for page in seen] == [200, 404]
    assert not any(b"play money" in page.data for page in seen)


def test_a_panel_is_listed_changed_closed_and_removed(desk, admin):
    url = desk.panel("edited", hits=2)
    assert desk.panel("edited") == url, "a repeat changes nothing, and says the link again"
    shown = desk.call("GET", "/admin/panels/edited")["panel"]
    assert (shown["hits"], shown["completion"]) == (2, CODES)
    assert desk.call("PUT", "/admin/panels/edited", {"hits": 5})["hits"] == 5
    assert "edited" in [one["panel"] for one in desk.call("GET", "/admin/panels")["panels"]]
    before = Visitor(url, "p1", "s1")
    desk.call("POST", "/admin/panels/edited/close")
    assert Visitor(url, "p2", "s2").status == 410
    assert Visitor(url, "p1", "s1").worker_id == before.worker_id, "a visit that has begun goes on"
    desk.call("POST", "/admin/panels/edited/open")
    assert Visitor(url, "p2", "s2").status == 200
    assert Visitor(f"{url[:-3]}abc", "p3", "s3").status == Visitor(url, "", "s3").status == 404
    desk.call("POST", "/admin/panels", {"name": "edited"}, status=400)
    desk.call("DELETE", "/admin/panels/edited", status=400)
    desk.panel("fresh")
    desk.call("DELETE", "/admin/panels/fresh")
    desk.call("GET", "/admin/panels/fresh", status=400)
    desk.call("PUT", "/admin/panels/two%20words", {}, status=400)


def test_the_pages_make_and_edit_a_panel_without_a_program(admin):
    def send(path: str, **fields: str):
        return post(admin.endpoint + path, {"Authorization": admin.headers["Authorization"]}, **fields)

    form = {"name": "by_hand", "participant": "pid", "session": "", "study": "", "locale": "DE", "hits": "4",
            "reward": "1.20", "confirm": "on", "keys": "", "code_submitted": "C1"}  # fmt: skip
    made = send("/admin/panels", **form)
    assert (made.status, made.headers["location"]) == (303, "/admin/panels/by_hand")
    shown = admin.call("GET", "/admin/panels/by_hand")["panel"]
    assert (shown["hits"], shown["reward"], shown["confirm"], shown["locale"]) == (4, "1.20", True, "DE")
    assert shown["completion"] == {"submitted": {"code": "C1", "url": ""}}
    visitor = HTTP.request("POST", f"{shown['url']}?pid=x", headers=JSON)
    assert visitor.status == 200
    del form["name"], form["confirm"]
    send("/admin/panels/by_hand", **{**form, "hits": "5"})
    shown = admin.call("GET", "/admin/panels/by_hand")["panel"]
    assert (shown["hits"], shown["confirm"]) == (5, False)
    send("/admin/panels/by_hand/submissions", ids="x\nnobody\n", by="participant", status="known")
    (row,) = admin.call("GET", "/admin/panels/by_hand")["visits"]
    assert row["confirmed"] is True
    page = HTTP.request("GET", f"{admin.endpoint}/admin/panels/by_hand",
                        headers={"Authorization": admin.headers["Authorization"]})  # fmt: skip
    assert page.status == 200
    assert "by_hand" in page.data.decode()


def test_a_participants_id_is_on_the_panels_own_page_and_nowhere_else(requester, desk, admin, market, capfd):
    pid, session = "5f0c1234SECRETPID", "6a1bSECRETSESSION"
    hit = offer(requester)
    visitor = Visitor(desk.panel("private"), pid, session)
    ident = visitor.take(hit)
    pages = [
        HTTP.request("GET", visitor.endpoint + path, headers={**visitor.headers, "Accept": "text/html"}).data
        for path in ("/hits", f"/assignments/{ident}", "/history", "/inbox", "/qualifications")
    ]
    visitor.submit(ident)
    pages.append(json.dumps(requester.list_assignments_for_hit(HITId=hit["HITId"]), default=str).encode())
    desk.says("private", (session, pid, "known"))
    desk.call("POST", f"/admin/panels/private/sessions/{session}/end", {"outcome": "submitted"}, status=400)
    done = f"{visitor.endpoint}/assignments/{ident}/done"
    pages.append(HTTP.request("GET", done, headers=visitor.headers).data)
    desks = ("", "/panels", "/payouts", "/log")
    for path in (f"/admin{desk}" for desk in desks):
        for accept in ("text/html", "application/json"):
            headers = {"Authorization": admin.headers["Authorization"], "Accept": accept}
            pages.append(HTTP.request("GET", admin.endpoint + path, headers=headers).data)
    out = capfd.readouterr()
    pages += [out.out.encode(), out.err.encode()]
    # its way back may name it, on its own page, once the visit is over
    shown = [text.replace(f"who={pid}".encode(), b"") for text in pages]
    assert [text for text in shown if pid.encode() in text or session.encode() in text] == []
    assert pid in json.dumps(desk.visits("private"))
    stranger = HTTP.request("GET", f"{admin.endpoint}/admin/panels/private", headers=JSON)
    assert stranger.status == 401


@pytest.fixture(scope="module")
def keys():
    """A panel's keys: what signs tokens, and the address where the public half is."""
    jwt = pytest.importorskip("jwt", reason="no PyJWT: pip install 'prefjudge[panels]'")
    from cryptography.hazmat.primitives.asymmetric import rsa

    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = jwt.algorithms.RSAAlgorithm.to_jwk(private.public_key(), as_dict=True)
    document = json.dumps({"keys": [{**public, "kid": "k1", "use": "sig", "alg": "RS256"}]}).encode()
    asked: list[str] = []

    class Keys(Handler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.answer(200 if self.path == "/jwks.json" else 404, document)

    def token(claims, key=private, kid="k1", algorithm="RS256") -> str:
        return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": kid})

    with Serving(Keys) as server:
        yield token, f"{server.origin}/jwks.json", asked


def test_a_secured_link_counts_only_with_the_panels_token(requester, desk, clock, keys):
    token, address, asked = keys
    hit = offer(requester)
    url = desk.panel("secured", keys=address, confirm=True)

    def arrive(**changes) -> Visitor:
        how = {name: changes.pop(name) for name in ("key", "kid", "algorithm") if name in changes}
        claims = {
            "aud": f"{url}?PROLIFIC_PID=p1&SESSION_ID=s1", "sub": "s1", "exp": int(clock()) + 120,
            "prolific": {"PROLIFIC_PID": "p1", "STUDY_ID": "st", "SESSION_ID": "s1", "workspace_id": "w"},
            **changes,
        }  # fmt: skip
        return Visitor(url, "typed by hand", "s9", prolific_token=token(claims, **how))

    other = {"aud": "https://elsewhere.example/panel/secured/x"}
    assert Visitor(url, "p1", "s1").status == 404, "no token"
    assert Visitor(url, "p1", "s1", prolific_token="x.y.z").status == 404
    assert arrive(**other).status == 404
    assert arrive(sub=None).status == 404
    assert arrive(prolific="p1").status == 404
    assert arrive(kid="k2").status == 404
    assert arrive(algorithm="HS256", key="a secret that is long enough for it").status == 404
    assert arrive(exp=int(clock()) - 60).status == 410
    visitor = arrive()
    assert visitor.do(hit)["completion"]["outcome"] == "submitted"
    assert len(requester.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]) == 1
    row = desk.visits("secured")["s1"]
    assert (row["participant"], row["study"], row["confirmed"]) == ("p1", "st", True)
    assert len(asked) == 1, "keys are kept, and strangers cannot have them fetched again and again"
    clock.advance(61)
    assert arrive(kid="k3").status == 404
    assert len(asked) == 2, "a key that is new is found within a minute"


def test_a_panel_whose_keys_cannot_be_had_says_so_and_is_not_asked_again_at_once(desk, clock, keys):
    token, address, asked = keys
    url = desk.panel("away", keys=f"{address}/missing")
    before = len(asked)
    link = token({"aud": url, "sub": "s", "exp": int(clock()) + 120, "prolific": {"PROLIFIC_PID": "p"}})
    assert [Visitor(url, "p", "s", prolific_token=link).status for _ in range(3)] == [503] * 3
    assert len(asked) == before + 1


@pytest.mark.parametrize("host", ["127.0.0.1", "0x7f.1", "017700000001", "2130706433", "localhost"])
def test_keys_are_fetched_from_inside_only_where_nobody_else_can_call(keys, host):
    token, address, asked = keys
    url, here = f"http://{host}:{urlsplit(address).port}/jwks.json", "https://judge.example.org/panel/p/k"
    link = token({"aud": here, "sub": "s", "exp": 120, "prolific": {"PROLIFIC_PID": "p"}})
    before = len(asked)
    with pytest.raises(Refusal, match="does not answer at the moment"):
        PanelTokens().read(url, link, here, 0.0, inside=False)
    assert len(asked) == before
    assert PanelTokens().read(url, link, here, 0.0, inside=True)["session"] == "s"


@pytest.mark.parametrize(("dead", "found"), [(1, True), (3, True), (4, False)])
def test_keys_are_fetched_from_another_address_where_one_is_dead(keys, monkeypatch, dead, found):
    token, address, _ = keys
    link = token({"aud": "https://x/y", "sub": "s", "exp": 120, "prolific": {"PROLIFIC_PID": "p"}})
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        places = [("", nobody.getsockname())] * dead + [("", ("127.0.0.1", urlsplit(address).port))]
        there = SimpleNamespace(getaddrinfo=lambda *_, **__: places, SOCK_STREAM=socket.SOCK_STREAM)
        monkeypatch.setattr(state, "socket", there)
        with nullcontext() if found else pytest.raises(Refusal, match="does not answer at the moment"):
            read = PanelTokens().read("http://panel.test/jwks.json", link, "https://x/y", 0.0, inside=True)
            assert read["session"] == "s"


def test_an_address_inside_is_known_in_whatever_form_it_is_written():
    inside = (
        "0x7f.1", "017700000001", "127.1", "0", "::1", "localhost.", "a.localhost", "10.1", "169.254.169.254",
        "100.64.0.1", "fe80::1%lo", "::ffff:10.0.0.1", "::7f00:1", "2002:7f00:1::", "2001:0:7f00:1::",
        "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::808:808", "224.0.0.1",
    )  # fmt: skip
    outside = ("8.8.8.8", "134744072", "2002:808:808::", "64:ff9b::808:808", "::ffff:8.8.8.8", "0x7f.example")
    assert [host for host in inside if not is_inside(host)] == []
    assert [host for host in outside if is_inside(host)] == []


def test_a_page_that_was_opened_in_time_may_be_begun_after_the_token(desk, clock, keys):
    import re

    token, address, _ = keys
    url = desk.panel("slow", keys=address)
    claims = {"aud": url, "sub": "s1", "exp": int(clock()) + 120, "prolific": {"PROLIFIC_PID": "p1"}}
    link = f"{url}?prolific_token={token(claims)}"
    page = HTTP.request("GET", link).data.decode()
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page))
    clock.advance(900)
    assert HTTP.request("POST", link, headers=JSON).status == 410
    assert post(link, JSON, **fields).status == 200
    assert post(link, JSON, **{**fields, "participant": "p2"}).status == 410
    clock.advance(3600)
    assert post(link, JSON, **fields).status == 410


def test_a_panels_day_on_postgresql(postgres_url, clock):
    with start(postgres_url, clock=clock) as server:
        admin = Admin(server)
        desk, requester = Desk(admin), new_requester(server.endpoint)
        hits = [offer(requester) for _ in range(3)]
        url = desk.panel("day", confirm=True, hits=2)
        visitor, late = Visitor(url, "p1", "s1"), Visitor(url, "p2", "s2")
        idents = [visitor.take(hit) for hit in hits[:2]]
        late.take(hits[2])
        threads = [threading.Thread(target=visitor.submit, args=(ident,)) for ident in idents] + [
            threading.Thread(target=desk.says, args=("day", ("s1", "p1", "known"), ("s2", "p2", "timed_out")))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (visitor.code(), late.code()) == ("submitted", "timed_out")
        for ident in idents:
            requester.approve_assignment(AssignmentId=ident)
        row = desk.visits("day")["s1"]
        assert (row["approve"], row["earned"], row["bonus"]) == (True, "4.00", "4.00")
        assert desk.call("POST", "/admin/panels/day/paid", {"visits": [row["visit"]]}) == {"recorded": 1}
        assert requester.get_hit(HITId=hits[2]["HITId"])["HIT"]["NumberOfAssignmentsAvailable"] == 1
        assert admin.call("GET", "/admin/overview")["ledger_imbalance"] == []


def test_participants_read_nothing_of_play_money_and_an_address_without_its_code_is_none(requester, admin):
    offer(requester)
    headers = {"Authorization": admin.headers["Authorization"]}
    form = {"name": "preset", "participant": "PROLIFIC_PID", "session": "SESSION_ID", "code_submitted": "C1",
            "url_submitted": "https://p.io/{code}", "url_returned": "https://p.io/{code}"}  # fmt: skip
    post(f"{admin.endpoint}/admin/panels", headers, **form)
    shown = admin.call("GET", "/admin/panels/preset")["panel"]
    assert list(shown["completion"]) == ["submitted"]
    visitor = Visitor(shown["url"], "p1", "s1")
    page = HTTP.request("GET", f"{admin.endpoint}/hits", headers={**visitor.headers, "Accept": "text/html"})
    assert "$2.00" in page.data.decode()
    assert "play money" not in page.data.decode()
