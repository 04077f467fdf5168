"""Every page of the site with values that exercise it, served under the site's own policy."""

# ruff: noqa: E501 - rows of samples read best as rows

from typing import Any

from prefjudge.marketplace.site.pages import asset, render_page
from prefjudge.marketplace.site.panels import KINDS
from tests.serving import Handler, Serving

NONCE = "bm9uY2U="
POLICY = (
    f"default-src 'none'; script-src 'nonce-{NONCE}'; style-src 'self' 'nonce-{NONCE}'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'self'"
)
HOSTILE = "<script>alert(1)</script>\"'&\u202e"
COMMON = {
    "csrf": "c5rf", "nonce": NONCE, "worker": {"worker_id": "A1EXAMPLEWORKER", "name": "Ada"},
    "marketplace": {"name": "prefjudge marketplace", "sandbox": True, "version": "1.0"}, "unread": 2, "paid": True,
    "framed": False,
}  # fmt: skip
NOBODY = {"worker": None}
SIGN_IN = {"invite": "", "next": "/hits", "error": "", "suggested": "", "known": "", "other": None}
GROUP = {
    "group_id": "3GROUP", "hit_id": "3HIT", "title": "Choose the passage that answers a question better",
    "description": "Read a question and two passages, and choose the better one. Thirteen comparisons.",
    "keywords": "search, passages", "requester": "Search research group", "reward": "2.00", "available": 24,
    "duration": 3600, "expires": "2026-12-01T10:00:00Z", "qualified": True, "missing": [], "waits": "", "can_preview": True,
}  # fmt: skip
BARRED = GROUP | {
    "group_id": "3BARRED", "title": "Judge passages on " + HOSTILE, "qualified": False, "can_preview": False,
    "missing": [
        {"qualification_type_id": "3QUAL", "name": "Judging test", "has_page": True, "requirement": "of at least 80"},
        {"qualification_type_id": "00000000000000000071", "name": "Location", "has_page": False, "requirement": "is US"},
    ],
}  # fmt: skip
ASSIGNMENT = {
    "assignment_id": "3ASSIGNMENT", "hit_id": "3HIT", "group_id": "3GROUP", "title": GROUP["title"],
    "reward": "2.00", "requester": "Search research group", "status": "Accepted",
    "accepted": "2026-11-21T10:00:00Z", "deadline": "2026-11-21T11:00:00Z", "seconds_left": 3125,
    "submitted": None, "frame_url": "/frame", "feedback": "", "bonus": "0.00", "in_part": False, "expected": None,
    "dispute": "", "dispute_answer": "",
}  # fmt: skip
PAID = ASSIGNMENT | {"status": "Approved", "submitted": "2026-11-20T15:30:00Z", "bonus": "0.45",
                     "feedback": "Thank you for the careful work."}  # fmt: skip
TURNED_DOWN = ASSIGNMENT | {"status": "Rejected", "submitted": "2026-11-19T09:00:00Z", "feedback": HOSTILE}
DISPUTED = TURNED_DOWN | {"assignment_id": "3TWO", "dispute": HOSTILE, "dispute_answer": "We looked again."}
EARLY = TURNED_DOWN | {"in_part": True, "bonus": "0.62", "feedback": "You stopped early, as you may."}
WAITING = ASSIGNMENT | {"status": "Submitted", "submitted": "2026-11-21T09:00:00Z", "expected": "0.16"}
TYPE = {
    "qualification_type_id": "3QUAL", "name": "Judging test", "description": "Ten comparisons with known answers.",
    "has_test": True, "auto_granted": False, "status": "none", "value": None, "retry_after": None,
    "again": False, "final": False, "closed": False,
}  # fmt: skip
PROGRESS = {"done": 3, "total": 14, "pairs": 31}
PACE = {"done": 3, "total": 84, "pairs": 31, "today": "6.16", "hourly": "12.40"}
DONE_VISIT = {"wanted": 3, "done": 3, "held": 0, "over": True}
VISIT = {"wanted": 3, "done": 2, "held": 0, "over": False}
PANEL = {
    "panel": "prolific", "participant": "PROLIFIC_PID", "study": "STUDY_ID", "session": "SESSION_ID", "locale": "US",
    "completion": {"submitted": {"code": "C1ABCDEF", "url": "https://panel.example/?cc={code}"}}, "signed": False,
    "hits": 3, "reward": "1.50", "confirm": True, "keys": "", "requester": "", "closed": False, "created": "2026-11-20T10:00:00Z",
    "path": "/panel/prolific/k3y", "url": "http://127.0.0.1:8000/panel/prolific/k3y", "visits": {"submitted": 12, "working": 3, "returned": 1},
}  # fmt: skip
CAME = {
    "visit": 7, "participant": "5f0c" + HOSTILE, "study": "s1", "session": "e1" * 12, "worker_id": "A1EXAMPLEWORKER",
    "arrived": "2026-11-20T10:00:00Z", "ended": None, "confirmed": False, "outcome": "working", "wanted": 3, "done": 1, "held": 1,
    "to_review": 0, "approved": 0, "rejected": 0, "earned": "0.00", "approve": False, "bonus": "0.00", "paid": None, "assignments": [],
}  # fmt: skip
LEFT = CAME | {
    "visit": 6,
    "participant": "5f0d",
    "confirmed": True,
    "outcome": "submitted",
    "done": 3,
    "held": 0,
    "approved": 3,
    "earned": "1.70",
    "approve": True,
    "bonus": "0.20",
    "paid": "2026-11-21T10:00:00Z",
}
OUTCOMES = ("submitted", "returned", "none_left", "timed_out", "screened_out", "no_consent")
FRAME = {"url": "/frame", "height": 0, "kind": "html"}


def choices(style: str, **changes: Any) -> dict[str, Any]:
    options = [
        {"identifier": name, "content": {"kind": "text", "text": name.title()}}
        for name in ("first", "second")
    ]
    fields = {"kind": "selection", "style": style, "min": 1, "max": 1, "options": options, "other": False}
    return fields | changes


def free(**changes: Any) -> dict[str, Any]:
    names = ("default", "min_length", "max_length", "lines", "numeric", "min", "max")
    return {"kind": "text", "patterns": []} | dict.fromkeys(names) | changes


def question(identifier: str, answer: dict[str, Any], required: bool = True) -> dict[str, Any]:
    content = [{"kind": "text", "text": f"What do you say to {identifier}?"}]
    return {"identifier": identifier, "display_name": identifier.title(), "required": required,
            "content": content, "answer": answer}  # fmt: skip


FORM = {
    "overview": [{"kind": "title", "text": "A few questions"}, {"kind": "text", "text": "Take your time."},
                 {"kind": "list", "items": ["one", "two"]}, {"kind": "html", "html": "<p>With <b>care</b>.</p>"}],
    "questions": [
        question("radio", choices("radiobutton", other=True)),
        question("boxes", choices("checkbox", max=2)),
        question("menu", choices("dropdown")),
        question("name", free(min_length=2, max_length=20, patterns=[{"regex": "\\S", "flags": "", "error": '"Blank"'}])),
        question("essay", free(lines=4), required=False),
        question("age", free(numeric=True, min=18, max=120)),
    ],
}  # fmt: skip

PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "signin": ("/signin", SIGN_IN | NOBODY),
    "signin-wrong": ("/signin", SIGN_IN | {"error": "This invitation is not valid or has expired. Ask for a new one."} | NOBODY),
    "signin-invite": ("/signin", SIGN_IN | {"invite": "t0ken", "known": "Ada"} | NOBODY),
    "signin-newcomer": ("/signin", SIGN_IN | {"invite": "t0ken", "suggested": "Ada", "error": "Another worker has this name."} | NOBODY),
    "signin-other": ("/signin", SIGN_IN | {"invite": "t0ken", "known": "Ben", "other": "Ada"}),
    "arrival": ("/panel/lab/key", {"panel": "lab", "other": None, "here": "/panel/lab/key?pid=1", "ticket": {"until": "1800000000"}} | NOBODY),
    "arrival-other": ("/panel/lab/key", {"panel": "lab", "other": "Ada", "here": "/panel/lab/key?pid=1", "ticket": {"until": "1800000000"}}),
    "admin_signin": ("/admin/signin", {"error": "", "elsewhere": ""} | NOBODY),
    "admin_signin-elsewhere": ("/admin/signin", {"error": "", "elsewhere": "login.example.org"} | NOBODY),
    "hits": ("/hits", {"progress": PROGRESS, "groups": [GROUP, BARRED], "page": 1, "pages": 3, "open": [ASSIGNMENT], "completion": None, "visit": None}),
    "hits-fresh": ("/hits", {"progress": PROGRESS, "groups": [GROUP, BARRED], "page": 1, "pages": 1, "open": [], "completion": None, "visit": None}),
    "hits-none": ("/hits", {"progress": PROGRESS, "groups": [], "page": 1, "pages": 1, "open": [], "completion": None, "visit": None}),
    "hits-panel": ("/hits", {"progress": PROGRESS, "groups": [], "page": 1, "pages": 1, "open": [], "completion": {"outcome": "none_left", "code": "C3", "url": ""}, "visit": DONE_VISIT}),
    "preview": ("/groups/3GROUP", {"group": GROUP, "hit": {"hit_id": "3HIT"}, "frame": FRAME, "can_accept": True, "reason": ""}),
    "preview-barred": ("/groups/3BARRED", {"group": BARRED, "hit": {"hit_id": "3HIT"}, "frame": None, "can_accept": False, "reason": "You do not hold a qualification that this HIT needs."}),
    "assignment": ("/assignments/3ASSIGNMENT", {"assignment": ASSIGNMENT, "frame": FRAME, "draft": None, "draft_tab": "", "agreed": [], "pace": PACE, "visit": None}),
    "done": ("/assignments/3ASSIGNMENT/done", {"assignment": WAITING, "completion": None, "visit": None, "pace": PACE, "next": {"group_id": "3GROUP", "available": 23}}),
    "done-panel": ("/assignments/3ASSIGNMENT/done", {"assignment": WAITING, "completion": {"outcome": "submitted", "code": "C1ABCDEF", "url": "/panel-end"}, "visit": DONE_VISIT, "next": None, "pace": PACE}),
    "hits-visit": ("/hits", {"progress": PROGRESS, "groups": [GROUP], "page": 1, "pages": 1, "open": [], "completion": {"outcome": "returned", "code": "C2", "url": ""}, "visit": VISIT}),
    "done-visit": ("/assignments/3ASSIGNMENT/done", {"assignment": WAITING, "completion": None, "visit": VISIT, "next": {"group_id": "3GROUP", "available": 23}, "pace": PACE}),
    "submitted": ("/mturk/externalSubmit", {"assignment_id": "3ASSIGNMENT"}),
    "refused": ("/groups/3GROUP/accept", {"error": "Others have taken the last HIT of this kind.", "code": "none_left"}),
    "refused-framed": ("/frames/3HIT", {"error": "This HIT no longer exists.", "code": "no_hit", "framed": True}),
    "refused-admin": ("/admin/workers", {"error": "name: 'ada' is taken", "code": "invalid"} | NOBODY),
    "refused-nobody": ("/panel/prolific/key", {"error": "There is no such link.", "code": "no_panel"} | NOBODY),
    "error": ("/nowhere", {"status": 404, "title": "There is no such page", "text": "It may have been moved, or its HIT is finished."}),
    "question_form": ("/frames/3HIT", {"form": FORM, "assignment_id": "3ASSIGNMENT", "submit_to": ""}),
    "history": ("/history", {"progress": PROGRESS, "assignments": [ASSIGNMENT, WAITING, PAID, TURNED_DOWN, DISPUTED, EARLY], "page": 1, "pages": 2, "earnings": {
        "approved": "1234.00", "pending": "2.00", "bonus": "0.45", "balance": "1234.45", "rejected_count": 1, "approved_count": 617, "submitted_count": 1}}),
    "hits-unpaid": ("/hits", {"progress": PROGRESS, "groups": [GROUP, BARRED], "page": 1, "pages": 1, "open": [ASSIGNMENT], "completion": None, "visit": None, "paid": False}),
    "assignment-unpaid": ("/assignments/3ASSIGNMENT", {"assignment": ASSIGNMENT, "frame": FRAME, "draft": None, "draft_tab": "", "agreed": [], "pace": PACE, "visit": None, "paid": False}),
    "done-unpaid": ("/assignments/3ASSIGNMENT/done", {"assignment": WAITING, "completion": None, "visit": None, "pace": PACE, "next": {"group_id": "3GROUP", "available": 23}, "paid": False}),
    "history-unpaid": ("/history", {"progress": PROGRESS, "assignments": [ASSIGNMENT, WAITING, PAID, TURNED_DOWN, DISPUTED, EARLY], "page": 1, "pages": 2, "paid": False, "earnings": {
        "approved": "1234.00", "pending": "2.00", "bonus": "0.45", "balance": "1234.45", "rejected_count": 1, "approved_count": 617, "submitted_count": 1}}),
    "history-none": ("/history", {"progress": PROGRESS, "assignments": [], "page": 1, "pages": 1, "earnings": {
        "approved": "0.00", "pending": "0.00", "bonus": "0.00", "balance": "0.00", "rejected_count": 0, "approved_count": 0, "submitted_count": 0}}),
    "qualifications": ("/qualifications", {"types": [TYPE, TYPE | {"name": "Native English", "has_test": False, "status": "pending"}, TYPE | {"name": "Once only", "status": "rejected", "final": True}, TYPE | {"name": "Careful " + HOSTILE, "status": "granted", "value": 92, "again": True}]}),
    "qualification": ("/qualifications/3QUAL", {"type": TYPE, "form": FORM, "deadline": "2026-11-21T11:00:00Z"}),
    "qualification-once": ("/qualifications/3QUAL", {"type": TYPE | {"status": "rejected", "final": True}, "form": None, "deadline": None}),
    "qualification-ask": ("/qualifications/3QUAL", {"type": TYPE | {"has_test": False}, "form": None, "deadline": None}),
    "inbox": ("/inbox", {"messages": [
        {"subject": "New HITs on Monday", "text": "There will be 400 more.\n\nThank you!", "from": "Search research group", "sent": "2026-11-20T10:00:00Z", "read": False},
        {"subject": HOSTILE, "text": HOSTILE, "from": HOSTILE, "sent": "2026-11-18T10:00:00Z", "read": True}]}),
    "inbox-none": ("/inbox", {"messages": []}),
    "admin": ("/admin", {
        "counts": {"hits": {"Assignable": 312, "Reviewable": 109}, "assignments": {"Accepted": 14, "Submitted": 31, "Approved": 402, "Returned": 9}, "done": 433, "all": 990, "waiting": 32, "workers": 57, "active_workers": 14, "requesters": 2},
        "money": {"paid": "804.00", "bonus": "12.60", "fees": "163.32", "held": "62.00", "owed": "120.00", "paid_out": "684.00"}, "seconds_per_pair": 24.6, "rejected": 0,
        "study": {"judged": 412, "pairs": 990},
        "workers": [{"worker_id": "A1EXAMPLEWORKER", "name": "Ada " + HOSTILE, "locale": "US", "done": 60, "pairs": 600, "working": True, "takes_only": False, "submitted": 31, "approved": 29, "rejected": 0, "earned": "58.00", "owed": "8.00", "blocked": False, "simulated": False, "master": True}],
        "requesters": [{"requester_id": "A2REQUESTER", "name": "Search research group", "balance": "9000.00"}],
        "disputes": [
            {"assignment_id": "3ONE", "worker_id": "A1EXAMPLEWORKER", "requester": "Search research group", "title": GROUP["title"], "status": "Rejected", "feedback": "Too fast.", "text": HOSTILE, "raised": "2026-11-20T10:00:00Z", "answer": ""},
            {"assignment_id": "3TWO", "worker_id": "A1EXAMPLEWORKER", "requester": "Search research group", "title": GROUP["title"], "status": "Approved", "feedback": "Too fast.", "text": "I read fast.", "raised": "2026-11-20T10:00:00Z", "answer": "You are right."}],
        "events": [{"time": "2026-11-21T10:00:00Z", "event": "AssignmentSubmitted", "hit_id": "3HIT", "assignment_id": "3ASSIGNMENT", "worker_id": "A1EXAMPLEWORKER"}]}),
    "admin_log": ("/admin/log", {"before": 31, "entries": [
        {"seq": 33, "time": "2026-11-21T10:00:00Z", "admin": "ada", "act": "POST /admin/payouts", "about": "worker_id=A1EXAMPLEWORKER amount=12.40 reference=" + HOSTILE, "status": 201},
        {"seq": 32, "time": "2026-11-21T09:00:00Z", "admin": "ben@lab", "act": "POST /admin/funds", "about": "requester_id=A2REQUESTER amount=250.00", "status": 403},
        {"seq": 31, "time": "2026-11-21T08:00:00Z", "admin": "(token)", "act": "POST /admin/workers", "about": "", "status": None}]}),
    "admin_log-none": ("/admin/log", {"before": None, "entries": []}),
    "panels": ("/admin/panels", {"panels": [PANEL, PANEL | {"panel": "lab", "closed": True, "hits": 0, "visits": {}}], "kind": "prolific", "kinds": KINDS, "outcomes": OUTCOMES} | NOBODY),
    "panels-none": ("/admin/panels", {"panels": [], "kind": "", "kinds": KINDS, "outcomes": OUTCOMES} | NOBODY),
    "panel": ("/admin/panels/prolific", {"panel": PANEL, "visits": [CAME, LEFT], "kinds": KINDS, "outcomes": OUTCOMES, "to_pay": [6], "before": 5, "first": False} | NOBODY),
    "panel-none": ("/admin/panels/lab", {"panel": PANEL | {"panel": "lab", "closed": True, "participant": "pid", "session": "", "url": "http://127.0.0.1:8000/panel/lab/key"}, "visits": [], "kinds": KINDS, "outcomes": OUTCOMES, "to_pay": [], "before": None, "first": True} | NOBODY),
    "worker": ("/admin/workers/A1EXAMPLEWORKER", {"worker_id": "A1EXAMPLEWORKER", "name": None, "master": False, "counts": {"account": 1, "visits": 2, "qualification_requests": 0}, "forgotten": None, "receipt": None} | NOBODY),
    "worker-forgotten": ("/admin/workers/A1EXAMPLEWORKER", {"worker_id": "A1EXAMPLEWORKER", "name": None, "master": False, "counts": {"account": 1}, "forgotten": "2026-11-21T10:00:00Z", "receipt": {"erased": {"messages": 3, "comments": 1}, "kept": {"assignments": 4}}} | NOBODY),
    "worker-unknown": ("/admin/workers/A1EXAMPLEWORKER", {"worker_id": "A1EXAMPLEWORKER", "name": None, "master": False, "counts": {"account": 1}, "forgotten": "2026-11-21T10:00:00Z", "receipt": None} | NOBODY),
    "invited": ("/admin/workers", {"worker_id": "A1EXAMPLEWORKER", "name": "Ada", "days": 90, "invite_url": "http://127.0.0.1:8000/signin?invite=abc.def"}),
}  # fmt: skip


def context(name: str) -> dict[str, Any]:
    path, values = PAGES[name]
    return {**COMMON, "path": path, "here": path, **values}


def rendered(name: str, **changes: Any) -> str:
    return render_page(name.partition("-")[0], context(name) | changes)


class _Page(Handler):
    server: "Gallery"

    def do_GET(self) -> None:
        gallery, path = self.server, self.path.partition("?")[0]
        found = asset(path.removeprefix("/assets/"))
        if ("GET", path) in gallery.answers:
            gallery.asked.append(("GET", path, ""))
            self.show(*gallery.answers["GET", path])
        elif found:
            self.show(200, found[0].decode(), found[1])
        elif path == "/frame":
            self.show(200, gallery.frame, policy="sandbox allow-scripts allow-forms")
        elif path[1:] in PAGES:
            self.show(200, rendered(path[1:], **gallery.changes))
        else:
            gallery.asked.append(("GET", path, ""))
            self.show(200, "<!doctype html><html lang=en><title>Elsewhere</title>", "text/html")

    def do_POST(self) -> None:
        gallery = self.server
        gallery.asked.append(("POST", self.path, self.body().decode()))
        self.show(*gallery.answers.get(("POST", self.path), (200, rendered("submitted"))))

    def show(
        self, status: int, text: str, media: str = "text/html; charset=utf-8", policy: str = POLICY
    ) -> None:
        headers = {"Content-Type": media, "Content-Security-Policy": policy, "Cache-Control": "no-store"}
        self.answer(status, text.encode(), headers)


class Gallery(Serving):
    """Serves each page at ``/<name>``; what is asked of it otherwise is kept in ``asked``."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.frame = "<!doctype html><html lang=en><title>HIT</title><main><h1>A HIT</h1></main>"
        self.changes: dict[str, Any] = {}
        self.answers: dict[tuple[str, str], tuple[int, str]] = {}
        super().__init__(_Page)
