"""The worker's road in JSON, and what keeps strangers off it."""

import json
import re
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pytest
import urllib3

from prefjudge.marketplace.people.qualifications import DISPUTED
from prefjudge.marketplace.people.requesters import LOCAL_KEY
from prefjudge.marketplace.server import _warn_of_panels, start
from tests.marketplace.people import (
    HTTP,
    JSON,
    Admin,
    external_question,
    html_question,
    new_requester,
    offer,
    post,
    question_form,
    selection,
    turk_error,
)


def test_what_is_offered(requester, worker):
    low, high = (
        offer(requester, Reward="0.50"),
        offer(requester, Title="high", Keywords="k", MaxAssignments=2),
    )
    groups = worker.groups()
    assert [group["group_id"] for group in groups] == [high["HITTypeId"], low["HITTypeId"]]
    assert groups[0]["hit_id"] == high["HITId"]
    assert (groups[0]["reward"], groups[0]["requester"], groups[0]["duration"]) == ("2.00", "local", 600)
    assert groups[0]["expires"].endswith("Z")


def test_groups_count_the_hits_that_are_left(requester, worker):
    hits = [offer(requester) for _ in range(3)]
    group = f"/groups/{hits[0]['HITTypeId']}/accept"
    taken = [worker.post(group, status=201) for _ in range(2)]
    assert [one["hit_id"] for one in taken] == [hit["HITId"] for hit in hits[:2]]
    (left,) = worker.groups()
    assert left["available"] == 1
    assert len(worker.get("/hits")["open"]) == 2
    worker.post(group, status=201)
    assert worker.post(group, status=409)["code"] == "none_left"
    assert worker.post("/groups/3NOSUCH/accept", status=404)["code"] == "no_hit"


def test_a_frame_needs_its_ticket(requester, worker):
    html = "<!DOCTYPE html><p>😀 Frage</p><!--accepted-->A<br><!--/accepted-->and<!--accepted-->B"
    hit = offer(requester, Question=html_question(html))
    shown = worker.get(f"/hits/{hit['HITId']}")
    preview = HTTP.request("GET", shown["frame"]["url"])
    begins = r"<!DOCTYPE html><script src=\S+></script><p>😀 Frage</p>"
    assert re.fullmatch(f"{begins}and", preview.data.decode())
    assert "ASSIGNMENT_ID_NOT_AVAILABLE" in shown["frame"]["url"]
    held = worker.accept(hit)
    assert f"assignmentId={held['assignment_id']}" in held["frame_url"]
    frame = HTTP.request("GET", held["frame_url"])
    assert re.fullmatch(begins + re.escape(html.partition("</p>")[2]), frame.data.decode())
    policy = frame.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts allow-forms")
    assert "allow-same-origin" not in policy
    assert frame.headers["cache-control"] == "no-store"
    forged = re.sub(r"workerId=\w+", "workerId=AOTHER", held["frame_url"])
    assert HTTP.request("GET", forged, headers=JSON).json()["code"] == "bad_ticket"


def pairs_seen(worker, hits) -> set[str]:
    """Return the pairs of HITs that somebody reads by every door, without submitting anything."""
    seen: set[str] = set()

    def look(url: str) -> None:
        if "example.org" in url:  # the address of a requester's own page is all that is needed to read it
            seen.update(re.findall(r"pair\d+", url))
            return
        seen.update(re.findall(r"pair\d+", HTTP.request("GET", url).data.decode()))

    def hold(path: str) -> None:
        said = worker.request("POST", path).json()
        if "assignment_id" in said:
            look(said["frame_url"])
            worker.post(f"/assignments/{said['assignment_id']}/return")

    groups = {hit["HITTypeId"] for hit in hits}
    doors = [f"/hits/{hit['HITId']}" for hit in hits] + [f"/groups/{group}" for group in groups]
    for door in ["/hits", *doors]:
        answer = worker.request("GET", door)
        seen.update(re.findall(r"pair\d+", answer.data.decode()))
        if shown := answer.json().get("frame"):
            look(shown["url"])
    for _ in hits:
        for group in groups:
            hold(f"/groups/{group}/accept")
    for hit in hits:
        hold(f"/hits/{hit['HITId']}/accept")
    return seen


@pytest.mark.parametrize("kind", ["marked", "html", "external", "form"])
def test_nobody_reads_what_they_do_not_work_on(requester, worker, kind):
    def question(name: str) -> str:
        if kind == "external":
            return external_question(f"https://example.org/{name}")
        if kind == "form":
            return question_form(selection(name, "a", "b"))
        return html_question(f"How<!--accepted-->{name}<!--/accepted-->" if kind == "marked" else name)

    hits = [offer(requester, Question=question(f"pair{number}")) for number in range(12)]
    assert len(pairs_seen(worker, hits)) == 1


def test_who_gives_a_hit_back_gets_it_again_and_so_may_others(requester, worker, admin, clock):
    hits = [offer(requester) for _ in range(3)]
    group, other = f"/groups/{hits[0]['HITTypeId']}/accept", admin.worker()
    other.accept(hits[0])
    held = worker.post(group, status=201)
    assert held["hit_id"] == hits[1]["HITId"]
    clock.advance(601)  # both run out of time
    other.accept(hits[0])
    assert worker.refused(hits[2]) == "given_back"
    again = worker.post(group, status=201)
    assert again["hit_id"] == hits[1]["HITId"]
    worker.post(f"/assignments/{again['assignment_id']}/return")
    third = admin.worker()
    third.do(hits[1])  # it was not kept for who gave it back, who now gets another one
    assert worker.post(group, status=201)["hit_id"] == hits[2]["HITId"]


def test_who_gives_back_two_in_a_row_waits_for_the_next(requester, worker, admin, clock):
    hits = [offer(requester) for _ in range(3)]
    group, others = f"/groups/{hits[0]['HITTypeId']}/accept", admin.worker()
    listed = lambda: admin.call("GET", "/admin/overview")["workers"]  # noqa: E731
    for hit in hits[:2]:
        held = worker.post(group, status=201)
        assert held["hit_id"] == hit["HITId"]
        save(worker, f"/assignments/{held['assignment_id']}", hit["HITId"], tab="a", after="")
        worker.post(f"/assignments/{held['assignment_id']}/return")
        again = worker.post(group, status=201)
        assert worker.get(f"/assignments/{again['assignment_id']}")["draft"] == hit["HITId"], "it goes on"
        worker.post(f"/assignments/{again['assignment_id']}/return")
        others.do(hit)
    assert worker.refused(hits[2]) == "pause"
    assert {worker.worker_id} == {one["worker_id"] for one in listed() if one["takes_only"]}
    clock.advance(1801)
    worker.do(hits[2])
    assert not any(one["takes_only"] for one in listed())


def test_pages_find_amazons_script_here(requester, worker):
    script = "https://s3.amazonaws.com/mturk-public/externalHIT_v1.js"
    hit = offer(requester, Question=html_question(f'<script src="{script}"></script>'))
    page = HTTP.request("GET", worker.accept(hit)["frame_url"]).data.decode()
    assert script not in page
    address = re.search(r'src="([^"]+)"', page)[1]
    assert b"turkSetAssignmentID" in HTTP.request("GET", address).data


def test_a_page_may_submit_in_the_address(requester, worker):
    ident = worker.accept(offer(requester))["assignment_id"]
    address = f"{worker.endpoint}/mturk/externalSubmit?assignmentId={ident}&choice=a%20b&choice=c"
    assert HTTP.request("HEAD", address).status == 405
    assert worker.get(f"/assignments/{ident}")["assignment"]["status"] == "Accepted"
    assert HTTP.request("GET", address, headers=JSON).json()["status"] == "Submitted"
    answer = requester.get_assignment(AssignmentId=ident)["Assignment"]["Answer"]
    assert "<FreeText>a b|c</FreeText>" in answer


def test_external_and_form_frames(requester, worker):
    external = offer(requester, Question=external_question())
    shown = worker.accept(external)
    assert shown["frame_url"].startswith("https://example.org/study?a=1&assignmentId=3")
    form = offer(requester, Title="form", Question=question_form())
    frame = HTTP.request("GET", worker.accept(form)["frame_url"])
    assert frame.status == 200
    assert b'name="colour"' in frame.data
    assert frame.headers["content-security-policy"].startswith("sandbox")


def test_signing_in(market, admin):
    joined = admin.call("POST", "/admin/workers", {"name": "ann"}, status=201)

    def sign_in(**fields):
        return post(f"{market.worker_site}/signin", JSON, **fields)

    good = sign_in(invite=joined["invite"])
    assert good.json()["worker_id"] == joined["worker_id"]
    cookie = good.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert sign_in(invite="wrong").status == sign_in(name="ann").status == 401


def test_guesses_made_at_once_are_as_many_as_one_after_another(market, admin):
    def sign_in(token):
        url = f"{market.endpoint}/admin/signin"
        return crowd.request("POST", url, fields={"token": token}, headers=JSON).status

    crowd = urllib3.PoolManager(maxsize=40, retries=False)
    with ThreadPoolExecutor(40) as threads:
        heard = Counter(threads.map(sign_in, [f"wrong {i}" for i in range(40)]))
    assert heard == {401: 10, 429: 30}


def test_a_session_ends(worker, clock):
    worker.get("/hits")
    worker.post("/signout")
    worker.get("/hits", status=401)


def test_a_session_lasts_thirty_days(worker, clock):
    clock.advance(30 * 86400 - 1)
    worker.get("/hits")
    clock.advance(1)
    worker.get("/hits", status=401)


def test_changes_need_the_sessions_token(requester, worker):
    hit = offer(requester)
    del worker.headers["X-CSRF-Token"]
    assert worker.post(f"/hits/{hit['HITId']}/accept", status=403)["code"] == "csrf"
    assert worker.post(f"/hits/{hit['HITId']}/accept", {"csrf": "x"}, status=403)["code"] == "csrf"


def test_a_browser_is_sent_on(requester, worker):
    hit = offer(requester)
    csrf = worker.headers.pop("X-CSRF-Token")
    worker.headers["Accept"] = "text/html"
    answer = worker.request("POST", f"/hits/{hit['HITId']}/accept", {"csrf": csrf})
    assert answer.status == 303
    assert answer.headers["location"].startswith("/assignments/3")
    page = worker.request("GET", answer.headers["location"])
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    nonce = re.search(r"script-src 'nonce-([^']+)'", policy)[1]
    assert f'nonce="{nonce}"'.encode() in page.data
    assert b"<iframe" in page.data
    del worker.headers["Cookie"]
    assert worker.request("GET", "/history").headers["location"] == "/signin?next=/history"


@pytest.mark.parametrize("next_page", ["https://evil.example", "//evil.example", "/\\evil.example", "evil"])
def test_signing_in_leads_nowhere_else(market, admin, next_page):
    invite = admin.call("POST", "/admin/workers", {}, status=201)["invite"]
    answer = post(f"{market.endpoint}/signin", invite=invite, next=next_page)
    assert (answer.status, answer.headers["location"]) == (303, "/hits")


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/healthz", {"Host": "evil.example"}),
        ("/signin", {"Host": "127.0.0.1.evil.example"}),
    ],
)
def test_other_host_names_are_refused(market, path, headers):
    assert HTTP.request("GET", market.endpoint + path, headers=headers).status == 403


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/signin", {"Origin": "https://evil.example"}, 403),
        ("/signin", {"Origin": "null"}, 403),
        (
            "/",
            {"Origin": "https://evil.example", "X-Amz-Target": "MTurkRequesterServiceV20170117.ListHITs"},
            403,
        ),
        ("/mturk/externalSubmit", {"Origin": "https://requester.example"}, 400),
        ("/mturk/externalSubmit", {"Origin": "null"}, 400),
    ],
)
def test_posts_from_other_sites_are_refused(market, path, headers, status):
    headers = {**JSON, **headers}
    assert HTTP.request("POST", market.endpoint + path, body=b"", headers=headers).status == status


def test_multipart_forms_are_read(requester, worker):
    ident = worker.accept(offer(requester))["assignment_id"]
    HTTP.request("POST", f"{worker.endpoint}/mturk/externalSubmit", fields={"assignmentId": ident, "q": "ü"})
    answer = requester.get_assignment(AssignmentId=ident)["Assignment"]["Answer"]
    assert "<QuestionIdentifier>q</QuestionIdentifier><FreeText>&#252;</FreeText>" in answer


def test_a_worker_who_lost_the_way_in_is_invited_again(admin, worker, market):
    def sign_in(**fields):
        return post(f"{market.endpoint}/signin", JSON, **fields).status

    invite = admin.call("POST", f"/admin/workers/{worker.worker_id}/invite", status=201)["invite"]
    worker.get("/hits", status=401)
    assert sign_in(invite=invite) == 200
    newer = admin.call("POST", f"/admin/workers/{worker.worker_id}/invite", status=201)["invite"]
    assert [sign_in(invite=invite), sign_in(invite=newer)] == [401, 200]
    admin.call("POST", "/admin/workers/ANOBODY/invite", status=400)


def test_a_panels_link_asks_before_it_signs_in(admin, worker):
    url = admin.call(
        "POST", "/admin/panels", {"name": "lab", "participant": "pid", "signed": False}, status=201
    )["url"]
    first = HTTP.request("GET", f"{url}?pid=1", redirect=False)
    assert (first.status, "set-cookie" in first.headers) == (200, False)
    assert "You are signed in" not in first.data.decode()
    asked = HTTP.request("GET", f"{url}?pid=1", headers={"Cookie": worker.cookie}, redirect=False)
    assert "You are signed in as worker1." in asked.data.decode()
    foreign = {"Origin": "https://evil.example"}
    assert HTTP.request("POST", f"{url}?pid=1", headers=foreign, redirect=False).status == 403
    begun = HTTP.request("POST", f"{url}?pid=1", redirect=False)
    cookie = {"Cookie": begun.headers["set-cookie"].split(";")[0]}
    again = HTTP.request("GET", f"{url}?pid=1", headers=cookie, redirect=False)
    assert (again.status, again.headers["location"]) == (303, "/hits")


def test_names_typed_into_a_panels_link_make_no_workers_unless_that_is_wanted(admin, market, caplog):
    def make(name, **wanted):
        return admin.call("PUT", f"/admin/panels/{name}", {"participant": "who", **wanted})

    def arrive(url, **query):
        return HTTP.request("POST", f"{url}?{urlencode(query)}", headers=JSON, redirect=False).status

    listed = make("lab")
    assert listed["signed"]
    assert [arrive(listed["url"], who=str(number)) for number in range(3)] == [404] * 3
    ((ann, bob),) = admin.call("POST", "/admin/panels/lab/links", {"names": ["ann", " böb ", "ann"]}).values()
    assert (ann["name"], bob["name"]) == ("ann", "böb")
    made = post(f"{admin.endpoint}/admin/panels/lab/links", admin.headers, names="ann\r\n=1")
    file = made.data.decode().splitlines()
    assert file[0] == f"ann,{ann['url']}"
    assert file[1].startswith("'=1,")
    for link in (ann["url"], bob["url"]):
        assert HTTP.request("POST", link, headers=JSON, redirect=False).status == 200
    assert HTTP.request("POST", ann["url"].replace("ann", "eve"), headers=JSON, redirect=False).status == 404
    admin.call("POST", "/admin/panels/lab/links", {"names": ["a\tb"]}, status=404)
    admin.call("POST", "/admin/panels/lab/links", {"names": "ann"}, status=400)
    # who comes may also be told by the panel itself; once that goes, the link must be signed again
    assert not make("told", confirm=True)["signed"]
    assert make("told", confirm=False)["signed"]
    assert arrive(make("open", signed=False)["url"], who="anybody") == 200
    assert not make("open", hits=2)["signed"]
    _warn_of_panels(market)  # as serve does
    (said,) = (one.getMessage() for one in caplog.records if one.name == "prefjudge.marketplace.panels")
    assert said.startswith("panel open: each name that is typed into its link is a new worker")


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "two words"},
        {"name": 5},
        {"locale": "Germany"},
        {"participant": ["a"]},
        {"signed": "no"},
        {"colour": "red"},
        {"completion": "C1"},
        {"completion": {"won": "C1"}},
        {"completion": {"submitted": 5}},
        {"completion": {"submitted": {"code": 5}}},
        {"completion": {"submitted": {"kode": "C1"}}},
        {"completion": {"submitted": {"url": "javascript:alert(1)"}}},
        {"hits": -1},
        {"hits": "3"},
        {"reward": "1.234"},
        {"reward": 1.5},
        {"confirm": "no"},
        {"keys": "file:///etc/passwd"},
        {"keys": "http://[::1"},
        {"completion": []},
        {"participant": ""},
    ],
)
def test_a_panel_that_would_fail_its_workers_is_refused(admin, wrong):
    admin.call("POST", "/admin/panels", {"name": "p", **wrong}, status=400)


def test_blocks_and_messages(requester, worker):
    hit = offer(requester)
    tell = {"Subject": "s", "MessageText": "Thank you.", "WorkerIds": [worker.worker_id]}
    (refused,) = requester.notify_workers(**tell)["NotifyWorkersFailureStatuses"]
    assert refused["NotifyWorkersFailureCode"] == "HardFailure"
    ident = worker.do(hit)
    requester.approve_assignment(AssignmentId=ident)
    assert requester.notify_workers(**tell)["NotifyWorkersFailureStatuses"] == []
    assert worker.get("/inbox")["messages"][0]["text"] == "Thank you."
    requester.create_worker_block(WorkerId=worker.worker_id, Reason="spam")
    assert requester.list_worker_blocks()["WorkerBlocks"] == [
        {"WorkerId": worker.worker_id, "Reason": "spam"}
    ]
    more = offer(requester)
    assert worker.groups() == []
    assert worker.refused(more) == "blocked"
    requester.delete_worker_block(WorkerId=worker.worker_id)
    worker.do(more)


def test_the_old_preview_address_leads_to_the_group(requester, worker, market):
    hit = offer(requester)
    answer = HTTP.request(
        "GET", f"{market.worker_site}/mturk/preview?groupId={hit['HITGroupId']}", redirect=False
    )
    assert answer.headers["location"] == f"/groups/{hit['HITGroupId']}"
    assert worker.get(f"/groups/{hit['HITGroupId']}")["can_accept"] is True


def test_the_same_store_is_the_same_marketplace(tmp_path):
    url = f"sqlite:///{tmp_path}/m.db"
    idents = []
    for _ in range(2):
        with start(url) as server:
            idents.append(HTTP.request("GET", f"{server.endpoint}/healthz").json()["marketplace"])
    assert idents[0] == idents[1]


def test_a_closed_hit_says_so(requester, worker, admin):
    hit = offer(requester)
    assert worker.get(f"/hits/{hit['HITId']}")["can_accept"] is True
    admin.worker().accept(hit)
    seen = worker.get(f"/hits/{hit['HITId']}")
    assert (seen["can_accept"], seen["group"]["available"]) == (False, 0)
    assert "no longer open" in seen["reason"]
    worker.get("/hits/3NOSUCH", status=404)
    requester.create_worker_block(WorkerId=worker.worker_id, Reason="r")
    worker.get(f"/hits/{hit['HITId']}", status=404)


def test_a_disposed_hits_frame_is_gone(requester, worker):
    hit = offer(requester)
    held = worker.accept(hit)
    address = held["frame_url"]
    worker.submit(held["assignment_id"])
    requester.approve_assignment(AssignmentId=held["assignment_id"])
    requester.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=0)
    requester.delete_hit(HITId=hit["HITId"])
    assert HTTP.request("GET", address, headers=JSON).json()["code"] == "no_hit"


def test_what_is_not_there(market, worker):
    assert HTTP.request("GET", f"{market.endpoint}/nowhere", headers=JSON).json()["status"] == 404
    assert HTTP.request("GET", f"{market.endpoint}/assets/nothing.js").status == 404
    assert HTTP.request("GET", f"{market.endpoint}/", redirect=False).headers["location"] == "/signin"
    assert worker.request("GET", "/").status == 200  # in JSON there is nobody to send on
    assert worker.get("/qualifications/3NOSUCH", status=404)["code"] == "no_qualification"
    large = "x" * 1_100_000
    assert worker.request("POST", "/mturk/externalSubmit", {"assignmentId": large}).status == 413


OF_PAY = re.compile(r"\$|money|\bpa(?:y|id)|reward|bonus|earn|reject|approv|disput|\brates?\b", re.IGNORECASE)


def test_who_is_not_paid_reads_nothing_of_pay_and_sees_the_own_progress(requester, admin, worker):
    def shown(path):
        headers = {"Cookie": worker.cookie}
        page = worker.http.request("GET", worker.endpoint + path, headers=headers).data.decode()
        return re.sub(r"<script.*?</script>|<[^>]*>|\s+", " ", page, flags=re.DOTALL)

    rate = {"QualificationTypeId": "000000000000000000L0", "Comparator": "GreaterThan", "IntegerValues": [99]}
    offer(requester, Title="For others", Reward="3.00", QualificationRequirements=[rate])
    hits = [offer(requester, Title="Compare", Reward="2.00") for _ in range(4)]
    group = hits[0]["HITTypeId"]
    times = [(f"q{number}", "a") for number in range(5)] + [(f"q{number}.ms", "900") for number in range(5)]
    for hit, decided in zip(hits, (requester.approve_assignment, requester.reject_assignment), strict=False):
        ident = worker.do(hit, dict(times))
        decided(AssignmentId=ident, RequesterFeedback="We have looked at it.")
    requester.send_bonus(
        WorkerId=worker.worker_id,
        BonusAmount="1.00",
        AssignmentId=ident,
        Reason="Thanks",
        UniqueRequestToken="1",
    )
    ended = worker.do(hits[2], dict(times))
    held = worker.accept(hits[3])["assignment_id"]
    pages = {path: shown(path) for path in (
        "/hits", f"/groups/{group}", f"/assignments/{held}", f"/assignments/{ended}/done", "/history",
        "/inbox", f"/groups/{worker.groups()[-1]['group_id']}",
    )}  # fmt: skip
    assert [(path, found) for path, page in pages.items() for found in OF_PAY.findall(page)] == []
    assert "3 of 4 HITs, 15 pairs judged" in pages["/hits"]
    assert "3 HITs, 15 pairs judged" in pages["/history"]
    assert pages["/history"].count(" Done ") == 3
    assert "not open to you" in pages["/hits"]
    frame = worker.get(f"/assignments/{held}")["assignment"]["frame_url"]
    assert "unpaid=yes" in frame


@pytest.mark.parametrize(("reward", "spoken"), [("2.00", True), ("0.00", False)])
def test_who_is_paid_in_real_money_reads_of_it_where_there_is_some(tmp_path, stopping, reward, spoken):
    server = start(f"sqlite:///{tmp_path}/live.db", sandbox=False)
    stopping.append(threading.Thread(target=server.stop))
    admin = Admin(server)
    requester = new_requester(server.endpoint, (LOCAL_KEY, server.admin_token))
    known = requester.get_account_balance()
    assert known["AvailableBalance"] == "0.00"
    (lab,) = admin.call("GET", "/admin/overview")["requesters"]
    admin.call("POST", "/admin/funds", {"requester_id": lab["requester_id"], "amount": "9.00"}, status=201)
    worker = admin.worker()
    ident = worker.do(offer(requester, Reward=reward))
    requester.approve_assignment(AssignmentId=ident)
    offer(requester, Reward=reward)
    for path in ("/hits", f"/assignments/{ident}/done", "/history"):
        page = worker.http.request(
            "GET", server.endpoint + path, headers={"Cookie": worker.cookie}
        ).data.decode()
        assert ("$2.00" in page, "$" in page) == (spoken, spoken), path
    stopping[-1].start()


def test_who_runs_no_scripts_is_told_that_a_hit_may_need_them(requester, worker):
    held = worker.accept(offer(requester))["assignment_id"]
    as_browser = {"Cookie": worker.cookie, "Accept": "text/html"}
    answer = worker.http.request("GET", f"{worker.endpoint}/assignments/{held}", headers=as_browser)
    page = answer.data.decode()
    told = page.partition("<noscript>")[2].partition("</noscript>")[0]
    assert "Switch it on, then load this page again." in told
    assert "<noscript>" not in page.partition("</noscript>")[2]


def test_what_a_worker_agreed_to_is_asked_once_by_each_requester(market, requester, admin, worker):
    held = worker.accept(offer(requester))
    road = f"/assignments/{held['assignment_id']}"

    def agree(who, page, status=200):
        body = json.dumps({"page": page})
        headers = {**who.headers, "Content-Type": "application/json"}
        answer = HTTP.request("POST", worker.endpoint + road + "/agreed", body=body, headers=headers)
        assert answer.status == status, answer.data

    assert worker.get(road)["agreed"] == []
    for _ in range(2):
        agree(worker, "0a1b2c3d4e5f")
    another = worker.accept(offer(requester))
    assert worker.get(f"/assignments/{another['assignment_id']}")["agreed"] == ["0a1b2c3d4e5f"]
    stranger = admin.worker()
    agree(stranger, "0a1b2c3d4e5f", 404)
    for bad in ("", "<script>alert(1)</script>", "x" * 65, "\u0000" * 12, None):
        agree(worker, bad, 400)
    key = admin.call("POST", "/admin/requesters", {"name": "other"}, status=201)
    other = new_requester(worker.endpoint, (key["access_key"], key["secret_key"]))
    elsewhere = worker.accept(offer(other))
    assert worker.get(f"/assignments/{elsewhere['assignment_id']}")["agreed"] == []
    for number in range(99):
        agree(worker, f"{number:012}")
    agree(worker, "onetoomany", 400)
    assert len(worker.get(road)["agreed"]) == 100


def save(worker, road, draft, status=200, **tab):
    headers = {**worker.headers, "Content-Type": "application/json"}
    body = json.dumps({"draft": draft, **tab})
    answer = HTTP.request("POST", f"{worker.endpoint}{road}/draft", body=body, headers=headers)
    assert answer.status == status, answer.data


def test_a_draft_of_another_tab_is_not_overwritten_unasked(requester, worker):
    road = f"/assignments/{worker.accept(offer(requester))['assignment_id']}"
    for draft in (1, 2):  # the reply to the first may have been lost
        save(worker, road, draft, tab="a", after="")
    assert worker.get(road)["draft_tab"] == "a"
    save(worker, road, 3, tab="b", after="a")
    save(worker, road, 4, 412, tab="a", after="")
    assert worker.get(road)["draft"] == 3
    save(worker, road, 5, tab="a", after=None)
    save(worker, road, 6, 412, tab="b", after="a" * 99)
    save(worker, road, 7)  # a program that knows no tabs
    assert worker.get(road)["draft"] == 7


def test_the_pay_is_what_will_be_paid(market, clock, requester, worker):
    hits = [offer(requester, Title="same") for _ in range(4)]
    begun = worker.accept(hits[0])["assignment_id"]
    assert worker.get(f"/assignments/{begun}")["pace"] == {
        "done": 0, "total": 4, "pairs": 0, "today": "0.00", "hourly": None,
    }  # fmt: skip
    clock.advance(300)
    worker.submit(begun, {"q": "a", "stopped": "1", "pay": "0.16"})
    done = worker.get(f"/assignments/{begun}/done")
    assert done["assignment"]["expected"] == "0.16"
    assert done["pace"] == {"done": 1, "total": 4, "pairs": 0, "today": "0.16", "hourly": "1.92"}
    forged = worker.accept(hits[1])["assignment_id"]
    worker.submit(forged, {"q": "a", "stopped": "1", "pay": "999999.00"})
    assert worker.get(f"/assignments/{forged}/done")["assignment"]["expected"] == "2.00"
    whole = worker.accept(hits[2])["assignment_id"]
    worker.submit(whole, {"q": "a", "pay": "0.01", "x.ms": "3300000"})
    assert worker.get("/history")["earnings"]["pending"] == "4.16"
    assert worker.get(f"/assignments/{whole}/done")["pace"]["hourly"] == "4.16"
    clock.advance(90_000)
    assert worker.get(f"/assignments/{whole}/done")["pace"]["today"] == "0.00"


def test_a_rejection_is_disputed_once_by_its_worker_and_answered(requester, admin, worker):
    ident = worker.do(offer(requester))
    road, words = f"/assignments/{ident}/dispute", {"text": "<script>alert(1)</script>\x00 I read it all."}
    assert worker.post(road, words, status=409)["code"] == "not_rejected"
    requester.reject_assignment(AssignmentId=ident, RequesterFeedback="Too fast.")
    assert admin.worker().post(road, words, status=404)["code"] == "no_assignment"
    assert worker.post(road, {"text": " "}, status=400)["code"] == "invalid"
    assert worker.post(road, {"text": "x" * 2001}, status=400)["code"] == "invalid"
    worker.post(road, words)
    assert worker.post(road, words, status=409)["code"] == "disputed"
    asked = requester.list_qualification_requests(QualificationTypeId=DISPUTED)["QualificationRequests"]
    assert [(one["QualificationRequestId"], one["WorkerId"]) for one in asked] == [(ident, worker.worker_id)]
    assert requester.list_qualification_requests()["NumResults"] == 0, "not among those that scripts grant"
    assert turk_error(requester.accept_qualification_request, QualificationRequestId=ident)
    assert turk_error(requester.reject_qualification_request, QualificationRequestId=ident), "without a word"
    (found,) = admin.call("GET", "/admin/overview")["disputes"]
    assert (found["assignment_id"], found["text"]) == (
        ident,
        "<script>alert(1)</script>\ufffd I read it all.",
    )
    answering = f"/admin/disputes/{ident}"
    admin.call("POST", answering, {"text": "You are right."})
    admin.call("POST", answering, {"text": "No."}, status=404)
    admin.call("POST", "/admin/disputes/3NOSUCH", {"text": "No."}, status=404)
    (done,) = worker.get("/history")["assignments"]
    assert done["dispute_answer"] == "You are right."
    assert worker.get("/inbox")["messages"][0]["text"] == "You are right."
    requester.approve_assignment(AssignmentId=ident, OverrideRejection=True)
    assert admin.call("GET", "/admin/overview")["disputes"][0]["status"] == "Approved"
    early = worker.do(offer(requester))
    requester.send_bonus(WorkerId=worker.worker_id, AssignmentId=early, BonusAmount="0.50", Reason="part")
    requester.reject_assignment(AssignmentId=early, RequesterFeedback="You stopped early.")
    assert worker.post(f"/assignments/{early}/dispute", words, status=409)["code"] == "not_rejected"
