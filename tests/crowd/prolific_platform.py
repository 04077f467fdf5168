"""A stand-in of Prolific: its studies, submissions and money, answering over HTTP as its API's document says.

What is asked of it is held against the document's schemas, in our own words (`tests.crowd.prolific_words`): a
request that they do not allow is answered with an error, and an answer that they do not allow fails the test.
Its participants are a test's, by `arrive`, `complete`, `give_back` and `time_out`.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.crowd import prolific_words as words

TOKEN, WORKSPACE, PROJECT = "token-of-tests", "0a" * 12, "0b" * 12
FEE = 40
"""Percent of a reward or bonus that the account pays on top, with VAT."""
RATE = [Decimal(FEE) / 100]
"""The same as a share; a test may change it."""
GONE = ("RETURNED", "TIMED-OUT", "REJECTED")
PAGE = 3
"""Most items on a page, whatever is asked for: every list has pages."""


def cost(cents: int) -> int:
    """What a reward or bonus costs the account."""
    return cents + int((cents * RATE[0]).to_integral_value(ROUND_HALF_UP))


@dataclass
class Submission:
    """A participant's place in a study."""

    id: str
    participant: str
    study: str
    started: str
    status: str = "ACTIVE"
    code: str | None = None
    completed: str | None = None
    asked_back: str | None = None
    bonuses: list[int] = field(default_factory=list)
    told: list[str] = field(default_factory=list)


@dataclass
class Study:
    """A study, as it was made and changed."""

    id: str
    made: dict[str, Any]
    status: str = "UNPUBLISHED"

    @property
    def places(self) -> int:
        return int(self.made["total_available_places"])

    @property
    def reward(self) -> int:
        return int(self.made["reward"])


class DeclinedError(Exception):
    """The API's answer to a call that it does not carry out."""

    def __init__(self, status: int, detail: object) -> None:
        self.status, self.detail = status, detail


class Platform:
    """One account of a workspace with one project."""

    def __init__(self, balance: int = 1_000_000) -> None:
        self.total = balance
        self.studies: dict[str, Study] = {}
        self.submissions: dict[str, Submission] = {}
        self.groups: dict[str, dict[str, Any]] = {}
        self.bulk: dict[str, tuple[str, list[tuple[str, int]]]] = {}
        self.paid: list[tuple[str, int]] = []
        self.delayed = False
        """Whether bonuses are not seen before `show_bonuses`: Prolific pays them some minutes later."""
        self.calls: list[tuple[str, str, Any]] = []
        self.exchanges: list[words.Exchange] = []
        self.faults: list[Callable[[str, str], str]] = []
        self.lock = threading.RLock()
        self._count = 0

    # ---- what participants do

    def arrive(self, participant: str, study_id: str | None = None) -> Submission | None:
        """Let a participant take a place; None where the study is not offered to them."""
        study = self.studies[study_id] if study_id else next(iter(self.studies.values()))
        mine = [one for one in self._of(study) if one.participant == participant]
        barred = {
            one
            for kept in study.made.get("filters") or []
            if kept["filter_id"] == "participant_group_blocklist"
            for group in kept["selected_values"]
            for one in self.groups[group]["members"]
        }
        most = study.made.get("submissions_config", {}).get("max_submissions_per_participant", 1)
        if study.status != "ACTIVE" or self.taken(study) >= study.places or participant in barred:
            return None
        if most != -1 and len(mine) >= most:
            return None
        one = Submission(self.new_id(), participant, study.id, _now())
        self.submissions[one.id] = one
        return one

    def complete(self, session: str, code: str) -> None:
        """Let a participant come back with a completion code."""
        one = self.submissions[session]
        assert one.status == "ACTIVE", one.status
        study = self.studies[one.study]
        (way,) = [way for way in study.made["completion_codes"] if way["code"] == code]
        one.code, one.completed, one.status = code, _now(), "AWAITING REVIEW"
        for action in way["actions"]:
            if action["action"] == "REQUEST_RETURN":
                one.asked_back = _now()
            elif action["action"] == "AUTOMATICALLY_APPROVE":
                self._approve(one)
        self._turn(study)

    def give_back(self, session: str) -> None:
        """Let a participant return the submission."""
        self.submissions[session].status = "RETURNED"
        self._turn(self.studies[self.submissions[session].study])

    def time_out(self, session: str) -> None:
        """Let the time of a submission run out."""
        assert self.submissions[session].status == "ACTIVE"
        self.submissions[session].status = "TIMED-OUT"

    def pay(self, session: str, cents: int) -> None:
        """Pay a bonus, as the API is asked to, or as a person does on Prolific's pages."""
        self.total -= cost(cents)
        self.paid.append((session, cents))
        if not self.delayed:
            self.submissions[session].bonuses.append(cents)

    def show_bonuses(self) -> None:
        """Let the bonuses be seen that were asked for."""
        for session, _ in self.paid:
            self.submissions[session].bonuses = [cents for one, cents in self.paid if one == session]

    # ---- what a person does on Prolific's pages

    def move(self, action: str) -> None:
        """Pause, start or stop the study."""
        study = next(iter(self.studies.values()))
        study.status = MOVES[study.status, action]

    def decide(self, session: str, status: str) -> None:
        """Approve or reject a submission."""
        one = self.submissions[session]
        if status == "APPROVED":
            self._approve(one)
        one.status = status

    # ---- money

    def taken(self, study: Study) -> int:
        return sum(one.status not in GONE for one in self._of(study))

    def reserved(self, study: Study) -> int:
        """What a study holds of the balance: what its places may still cost."""
        if study.status == "UNPUBLISHED":
            return 0
        statuses = [one.status for one in self._of(study)]
        if study.status == "COMPLETED":
            open_ = sum(status in ("ACTIVE", "AWAITING REVIEW") for status in statuses)
        else:
            open_ = study.places - statuses.count("APPROVED")
        return open_ * cost(study.reward)

    @property
    def available(self) -> int:
        return self.total - sum(map(self.reserved, self.studies.values()))

    def spent(self) -> int:
        """What the account has paid, fees included."""
        rewards = sum(
            cost(self.studies[one.study].reward)
            for one in self.submissions.values()
            if one.status == "APPROVED"
        )
        return rewards + sum(cost(cents) for _, cents in self.paid)

    # ---- the API

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        """Carry out a call."""
        for verb, pattern, act in ROUTES:
            found = re.fullmatch(pattern, path)
            if verb == method and found:
                return act(self, *found.groups(), query, body)  # type: ignore[no-any-return]
        raise DeclinedError(404, "Not found.")

    def new_id(self) -> str:
        self._count += 1
        return f"{self._count:024x}"

    def study(self, study_id: str) -> Study:
        if study_id not in self.studies:
            raise DeclinedError(404, "No study matches the given query.")
        return self.studies[study_id]

    def submission(self, session: str) -> Submission:
        if session not in self.submissions:
            raise DeclinedError(404, "No submission matches the given query.")
        return self.submissions[session]

    def _of(self, study: Study) -> list[Submission]:
        return [one for one in self.submissions.values() if one.study == study.id]

    def _turn(self, study: Study) -> None:
        """Let a study be over whose places are all taken, and go on where one is free again."""
        if study.status not in ("ACTIVE", "AWAITING REVIEW"):
            return
        statuses = [one.status for one in self._of(study)]
        if self.taken(study) < study.places or "ACTIVE" in statuses:
            study.status = "ACTIVE"
        else:
            study.status = "AWAITING REVIEW" if "AWAITING REVIEW" in statuses else "COMPLETED"

    def _approve(self, one: Submission) -> None:
        self.total -= cost(self.studies[one.study].reward)
        one.status = "APPROVED"


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _shown(platform: Platform, study: Study) -> dict[str, Any]:
    return {
        **study.made,
        "id": study.id,
        "status": study.status,
        "places_taken": platform.taken(study),
        "number_of_submissions": len(platform._of(study)),
        "total_cost": study.places * cost(study.reward),
    }


def _paged(items: list[Any], query: dict[str, str]) -> dict[str, Any]:
    page, size = int(query.get("page", 1)), min(int(query.get("page_size", 20)), PAGE)
    if page > 1 and (page - 1) * size >= len(items):
        raise DeclinedError(404, "Invalid page.")
    return {"results": items[(page - 1) * size : page * size]}


def _list_studies(at: Platform, project: str, query: Any, body: Any) -> tuple[int, Any]:
    if project != PROJECT:
        raise DeclinedError(404, "No project matches the given query.")
    newest = list(at.studies.values())[::-1]
    short = ("id", "name", "internal_name", "status", "reward", "total_available_places", "places_taken")
    return 200, _paged([{key: _shown(at, one).get(key) for key in short} for one in newest], query)


def _create(at: Platform, query: Any, body: Any) -> tuple[int, Any]:
    if body.get("project") != PROJECT:
        raise DeclinedError(400, {"project": ["This project does not exist."]})
    codes = [way["code"] for way in body["completion_codes"]]
    if len(set(codes)) < len(codes):
        raise DeclinedError(400, {"completion_codes": ["Codes must be unique within a study."]})
    minutes = body["estimated_completion_time"]
    least = 2 + 2 * minutes + 2 * minutes**0.5
    if body.get("maximum_allowed_time", least) < least - 1:
        raise DeclinedError(400, {"maximum_allowed_time": [f"Must be at least {least:.0f}."]})
    study = Study(at.new_id(), dict(body))
    at.studies[study.id] = study
    return 201, _shown(at, study)


def _change(at: Platform, study_id: str, query: Any, body: Any) -> tuple[int, Any]:
    study = at.study(study_id)
    if study.status != "UNPUBLISHED":
        if set(body) - {"internal_name", "total_available_places", "submissions_config"}:
            raise DeclinedError(400, "These fields cannot be changed once a study is published.")
        places = int(body.get("total_available_places", study.places))
        if places < study.places:
            raise DeclinedError(400, {"total_available_places": ["You can only increase the places."]})
        before = at.reserved(study)
        after = Study(study.id, study.made | body, "ACTIVE" if places > study.places else study.status)
        if at.reserved(after) - before > at.available:
            raise DeclinedError(400, "Your balance does not cover the new places.")
        study.status = after.status
    study.made |= body
    return 200, _shown(at, study)


MOVES = {
    ("UNPUBLISHED", "PUBLISH"): "ACTIVE", ("ACTIVE", "PAUSE"): "PAUSED", ("ACTIVE", "STOP"): "COMPLETED",
    ("PAUSED", "START"): "ACTIVE", ("PAUSED", "STOP"): "COMPLETED",
}  # fmt: skip


def _move(at: Platform, study_id: str, query: Any, body: Any) -> tuple[int, Any]:
    study = at.study(study_id)
    wanted = MOVES.get((study.status, body["action"]))
    if wanted is None:
        raise DeclinedError(400, f"A study that is {study.status} cannot {body['action']}.")
    if body["action"] == "PUBLISH" and study.places * cost(study.reward) > at.available:
        raise DeclinedError(400, "Your balance does not cover this study.")
    study.status = wanted
    return 200, _shown(at, study)


def _cost(at: Platform, study_id: str, query: Any, body: Any) -> tuple[int, Any]:
    study = at.study(study_id)
    approved = [one for one in at._of(study) if one.status == "APPROVED"]
    bonuses = [cents for one in at._of(study) for cents in one.bonuses]

    def part(each: list[int]) -> dict[str, Any]:
        amounts = {"rewards": sum(each), "fees": sum(map(cost, each)) - sum(each), "tax": 0}
        return {name: {"amount": cents, "currency": "USD"} for name, cents in amounts.items()}

    return 200, {"rewards": part([study.reward] * len(approved)), "bonuses": part(bonuses), "_links": {}}


def _calculate(at: Platform, query: Any, body: Any) -> tuple[int, Any]:
    return 200, {"total_cost": int(body["total_available_places"]) * cost(int(body["reward"]))}


def _balance(at: Platform, workspace: str, query: Any, body: Any) -> tuple[int, Any]:
    if workspace != WORKSPACE:
        raise DeclinedError(404, "No workspace matches the given query.")
    return 200, {"currency_code": "USD", "total_balance": at.total, "available_balance": at.available}


def _list_submissions(at: Platform, query: Any, body: Any) -> tuple[int, Any]:
    study = at.study(query["study"])
    return 200, _paged(
        [
            {
                "id": one.id, "participant_id": one.participant, "status": one.status,
                "started_at": one.started, "completed_at": one.completed, "has_siblings": False,
                "study_code": one.code, "return_requested": one.asked_back,
            }
            for one in at._of(study)
        ],
        query,
    )  # fmt: skip


def _detail(one: Submission) -> dict[str, Any]:
    return {
        "id": one.id, "participant": one.participant, "status": one.status, "study_id": one.study,
        "started_at": one.started, "completed_at": one.completed, "entered_code": one.code,
        "return_requested": one.asked_back, "bonus_payments": one.bonuses,
    }  # fmt: skip


def _look(at: Platform, session: str, query: Any, body: Any) -> tuple[int, Any]:
    return 200, _detail(at.submission(session))


def _decide(at: Platform, session: str, query: Any, body: Any) -> tuple[int, Any]:
    one, action = at.submission(session), body["action"]
    wanted = {"APPROVE": "APPROVED", "REJECT": "REJECTED"}.get(action)
    if wanted is None:
        raise DeclinedError(400, f"{action} is not for this stand-in.")
    if one.status != wanted:
        if one.status != "AWAITING REVIEW":
            raise DeclinedError(400, f"The submission is {one.status}.")
        if action == "APPROVE":
            at._approve(one)
        else:
            one.status = "REJECTED"
            one.told.append(body["message"])
        at._turn(at.studies[one.study])
    return 200, {key: value for key, value in _detail(one).items() if key != "bonus_payments"}


def _ask_back(at: Platform, session: str, query: Any, body: Any) -> tuple[int, Any]:
    one = at.submission(session)
    if one.status not in ("ACTIVE", "AWAITING REVIEW"):
        raise DeclinedError(400, f"The submission is {one.status}.")
    one.asked_back = _now()
    one.told += body["request_return_reasons"]
    return 200, {"id": one.id, "status": one.status, "participant": one.participant}


def _bonuses(at: Platform, query: Any, body: Any) -> tuple[int, Any]:
    study, rows = at.study(body["study_id"]), []
    for line in body["csv_bonuses"].strip().splitlines():
        who, _, amount = line.partition(",")
        cents = round(float(amount) * 100)
        if who not in at.submissions or at.submissions[who].study != study.id or cents <= 0:
            raise DeclinedError(400, f"These ids or amounts are incorrect: {line}")
        rows.append((who, cents))
    bulk, total = at.new_id(), sum(cost(cents) for _, cents in rows)
    at.bulk[bulk] = (study.id, rows)
    amount = sum(cents for _, cents in rows)
    answer = {"id": bulk, "study": study.id, "amount": amount, "fees": total - amount, "vat": 0}
    return 201, {**answer, "total_amount": total}


def _pay(at: Platform, bulk: str, query: Any, body: Any) -> tuple[int, Any]:
    if bulk not in at.bulk:
        raise DeclinedError(404, "No bonus matches the given query.")
    rows = at.bulk[bulk][1]
    if sum(cost(cents) for _, cents in rows) > at.available:
        raise DeclinedError(400, "Your balance does not cover these bonuses.")
    for session, cents in rows:  # each time that it is asked for, as Prolific does
        at.pay(session, cents)
    return 202, "Your bonuses will be paid in the following minutes."


def _list_groups(at: Platform, query: Any, body: Any) -> tuple[int, Any]:
    return 200, {"results": [_group(one) for one in at.groups.values()]}


def _create_group(at: Platform, query: Any, body: Any) -> tuple[int, Any]:
    group = {"id": at.new_id(), "name": body["name"], "workspace_id": body.get("workspace_id"), "members": []}
    at.groups[group["id"]] = group
    return 201, _group(group)


def _join_group(at: Platform, group_id: str, query: Any, body: Any) -> tuple[int, Any]:
    if group_id not in at.groups:
        raise DeclinedError(404, "No group matches the given query.")
    members = at.groups[group_id]["members"]
    members += [one for one in body["participant_ids"] if one not in members]
    return 200, {"results": [{"participant_id": one, "datetime_created": _now()} for one in members]}


def _leave_group(at: Platform, group_id: str, query: Any, body: Any) -> tuple[int, Any]:
    if group_id not in at.groups:
        raise DeclinedError(404, "No group matches the given query.")
    left = [one for one in at.groups[group_id]["members"] if one not in body["participant_ids"]]
    at.groups[group_id]["members"] = left
    return 200, {"results": [{"participant_id": one, "datetime_created": _now()} for one in left]}


def _group(group: dict[str, Any]) -> dict[str, Any]:
    return {key: group[key] for key in ("id", "name", "workspace_id")} | {"is_deleted": False}


_ID = r"(\w+)"
ROUTES: tuple[tuple[str, str, Callable[..., tuple[int, Any]]], ...] = (
    ("GET", rf"/api/v1/projects/{_ID}/studies/", _list_studies),
    ("POST", "/api/v1/studies/", _create),
    ("GET", rf"/api/v1/studies/{_ID}/", lambda at, one, query, body: (200, _shown(at, at.study(one)))),
    ("PATCH", rf"/api/v1/studies/{_ID}/", _change),
    ("POST", rf"/api/v1/studies/{_ID}/transition/", _move),
    ("GET", rf"/api/v1/studies/{_ID}/cost/", _cost),
    ("POST", "/api/v1/study-cost-calculator/", _calculate),
    ("GET", rf"/api/v1/workspaces/{_ID}/balance/", _balance),
    ("GET", "/api/v1/submissions/", _list_submissions),
    ("GET", rf"/api/v1/submissions/{_ID}/", _look),
    ("POST", rf"/api/v1/submissions/{_ID}/transition/", _decide),
    ("POST", rf"/api/v1/submissions/{_ID}/request-return/", _ask_back),
    ("POST", "/api/v1/submissions/bonus-payments/", _bonuses),
    ("POST", rf"/api/v1/bulk-bonus-payments/{_ID}/pay/", _pay),
    ("GET", "/api/v1/participant-groups/", _list_groups),
    ("POST", "/api/v1/participant-groups/", _create_group),
    ("POST", rf"/api/v1/participant-groups/{_ID}/participants/", _join_group),
    ("DELETE", rf"/api/v1/participant-groups/{_ID}/participants/", _leave_group),
)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def _handle(self) -> None:
        platform = self.server.platform
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(sent) if sent else None
        with platform.lock:
            platform.calls.append((self.command, parts.path, body))
            fault = next((found for one in platform.faults if (found := one(self.command, self.path))), "")
            if fault.startswith("status"):
                return self._send(int(fault.split()[1]), {"error": {"title": "fault", "detail": "a fault"}})
            if fault == "drop before":
                return self._drop()
            status, said = self._done(platform, parts.path, query, body)
            return self._drop() if fault == "drop after" else self._send(status, said)

    do_GET = do_POST = do_PATCH = do_DELETE = _handle  # noqa: N815

    def _done(self, platform: Platform, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        if self.headers["Authorization"] != f"Token {TOKEN}":
            return 401, _error(401, "Authentication credentials were not provided.")
        try:
            words.hold_request(self.command, path, query, body)
            status, said = platform.answer(self.command, path, query, body)
        except words.NotAllowedError as wrong:
            return 400, _error(400, str(wrong))
        except DeclinedError as refused:
            return refused.status, _error(refused.status, refused.detail)
        platform.exchanges.append(words.Exchange(self.command, path, query, body, status, said))
        words.hold_answer(self.command, path, said)
        return status, said

    def _send(self, status: int, said: Any) -> None:
        content = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.close()

    def log_message(self, *_: object) -> None:
        pass


def _error(status: int, detail: object) -> dict[str, Any]:
    return {"error": {"status": status, "error_code": 140_000 + status, "title": "Error", "detail": detail}}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    platform: Platform


@contextmanager
def served() -> Iterator[tuple[Platform, str]]:
    """Serve a new platform on a free port; give it and its address."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.platform = Platform()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.platform, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
