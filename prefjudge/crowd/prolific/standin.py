"""A stand-in of Prolific, for rehearsals and tests: its studies, submissions and money, over HTTP.

What participants do, and what a person clicks on Prolific's pages, are methods of :class:`Platform`.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN, WORKSPACE, PROJECT = "token-of-the-stand-in", "0a" * 12, "0b" * 12
_GONE = ("RETURNED", "TIMED-OUT", "REJECTED", "SCREENED OUT")
"""What gives a place back."""
_PAGE = 3
"""Most items on a page, whatever is asked for: every list has pages."""
_MOVES = {
    ("UNPUBLISHED", "PUBLISH"): "ACTIVE", ("ACTIVE", "PAUSE"): "PAUSED", ("ACTIVE", "STOP"): "COMPLETED",
    ("PAUSED", "START"): "ACTIVE", ("PAUSED", "STOP"): "COMPLETED",
}  # fmt: skip
_DECISIONS = {
    "APPROVE": ("AWAITING REVIEW", "APPROVED"), "COMPLETE": ("AWAITING REVIEW", "PARTIALLY APPROVED"),
    "REJECT": ("AWAITING REVIEW", "REJECTED"), "UNREJECT": ("REJECTED", "AWAITING REVIEW"),
}  # fmt: skip
_LISTED = ("id", "name", "internal_name", "status", "reward", "total_available_places", "places_taken")
FAULTS: Mapping[str, tuple[str, str, str]] = {
    "no-answer": ("GET", "/submissions/", "status 503"),
    "draft-lost": ("POST", "/studies/", "drop after"),
    "publish-lost": ("POST", "/transition/", "drop after"),
    "bonus-refused": ("POST", "/pay/", "status 400"),
    "bonus-lost": ("POST", "/pay/", "drop after"),
    "bonus-never-came": ("POST", "/pay/", "drop before"),
    "busy": ("POST", "/bonus-payments/", "status 429"),
}
"""What the first call of a kind may meet: the method, the end of its path, and what comes of it."""


class Submission:
    """A participant's place in a study; money in cents, ``told`` is what was said to the participant."""

    def __init__(self, id: str, participant: str, study: str, started: str, status: str = "ACTIVE") -> None:
        self.id, self.participant, self.study, self.started = id, participant, study, started
        self.status, self.reward = status, 0
        self.code: str | None = None
        self.completed: str | None = None
        self.asked_back: str | None = None
        self.bonuses: list[int] = []
        self.told: list[str] = []


class Study:
    """A study, as it was ``made`` and changed."""

    def __init__(self, id: str, made: Any, status: str = "UNPUBLISHED") -> None:
        self.id, self.made, self.status = id, made, status

    @property
    def places(self) -> int:
        """How many people may take part."""
        return int(self.made["total_available_places"])

    @property
    def reward(self) -> int:
        """What each of them is paid, in cents."""
        return int(self.made["reward"])


class DeclinedError(Exception):
    """The API's answer to a call that it does not carry out."""

    def __init__(self, status: int, detail: object) -> None:
        self.status, self.detail = status, detail


class Platform:
    """One account; ``partly`` says whether its workspace may approve submissions in part."""

    def __init__(self, balance: int = 1_000_000) -> None:
        self.total, self.currency = balance, "USD"
        self.fee, self.vat = Decimal("0.40"), Decimal(0)
        self.partly = False
        self.ahead = 0.0
        """Seconds by which its clock is ahead: nobody waits for participants who read."""
        self.studies: dict[str, Study] = {}
        self.submissions: dict[str, Submission] = {}
        self.groups: dict[str, Any] = {}
        self.bulk: dict[str, list[tuple[str, int]]] = {}
        self.paid: list[tuple[str, int]] = []
        self.delayed = False
        """Whether bonuses are not seen before `show_bonuses`: Prolific pays them some minutes later."""
        self.calls: list[tuple[str, str, Any]] = []
        self.faults: list[Callable[[str, str], str]] = []
        self.check: Callable[..., None] = lambda *_: None
        """Is given each call before it is carried out, and again with its answer."""
        self.lock = threading.RLock()
        self._count = 0

    def break_once(self, name: str) -> None:
        """Let the first call of a kind of `FAULTS` meet it."""
        method, ending, kind = FAULTS[name]
        left = [kind]
        self.faults.append(
            lambda called, path: (
                left.pop() if left and called == method and path.partition("?")[0].endswith(ending) else ""
            )
        )

    # ---- what participants do

    @property
    def study(self) -> Study:
        """The first study."""
        return next(iter(self.studies.values()))

    def arrive(self, participant: str, study_id: str | None = None) -> Submission | None:
        """Let a participant take a place; None where the study is not offered to them."""
        study = self.studies[study_id] if study_id else self.study
        mine = [one for one in self.of(study) if one.participant == participant]
        barred = {
            one
            for kept in study.made.get("filters") or []
            if kept["filter_id"] == "participant_group_blocklist"
            for group in kept["selected_values"]
            for one in self.groups[group]["members"]
        }
        most = study.made.get("submissions_config", {}).get("max_submissions_per_participant", 1)
        full = self.taken(study) >= study.places or (most != -1 and len(mine) >= most)
        if study.status != "ACTIVE" or full or participant in barred:
            return None
        one = Submission(self.new_id(), participant, study.id, self.now())
        self.submissions[one.id] = one
        return one

    def complete(self, session: str, code: str) -> None:
        """Let a participant come back with a completion code."""
        one = self.submissions[session]
        assert one.status == "ACTIVE", one.status
        study = self.studies[one.study]
        (way,) = [way for way in study.made["completion_codes"] if way["code"] == code]
        with self.lock:  # a call may decide on it at once, and that too ends by looking at the study
            one.code, one.completed, one.status = code, self.now(), "AWAITING REVIEW"
            if any(action["action"] == "REQUEST_RETURN" for action in way["actions"]):
                one.asked_back = self.now()
            self._turn(study)

    def turn_into(self, session: str, status: str) -> None:
        """Let a submission be returned, time out, or be decided on by a click on Prolific's pages."""
        one = self.submissions[session]
        if "APPROVED" in status:  # a part is half
            self._approve(one, self.studies[one.study].reward // (1 + (status != "APPROVED")))
        one.status = status
        self._turn(self.studies[one.study])

    def pay(self, session: str, cents: int) -> None:
        """Pay a bonus, as the API is asked to, or as a person does on Prolific's pages."""
        self.total -= self.cost(cents)
        self.paid.append((session, cents))
        if not self.delayed:
            self.submissions[session].bonuses.append(cents)

    def show_bonuses(self) -> None:
        """Let the bonuses be seen that were asked for."""
        for session, _ in self.paid:
            self.submissions[session].bonuses = [cents for one, cents in self.paid if one == session]

    def move(self, action: str) -> None:
        """Pause, start or stop the study, by a click on Prolific's pages."""
        self.study.status = _MOVES[self.study.status, action]

    # ---- money

    def cost(self, cents: int) -> int:
        """Return what a reward or bonus costs the account, with the fee and VAT on the fee."""
        fee = (cents * self.fee).to_integral_value(ROUND_HALF_UP)
        return cents + int(fee + (fee * self.vat).to_integral_value(ROUND_HALF_UP))

    def taken(self, study: Study) -> int:
        """Return how many places of a study are taken."""
        return sum(one.status not in _GONE for one in self.of(study))

    def reserved(self, study: Study) -> int:
        """Return what a study holds of the balance: what its places may still cost."""
        if study.status == "UNPUBLISHED":
            return 0
        listed = self.of(study)
        if study.status == "COMPLETED":
            open_ = sum(one.status in ("ACTIVE", "AWAITING REVIEW") for one in listed)
        else:
            open_ = study.places - sum(one.reward > 0 for one in listed)
        return open_ * self.cost(study.reward)

    @property
    def available(self) -> int:
        """What the account can spend."""
        return self.total - sum(map(self.reserved, self.studies.values()))

    def spent(self) -> int:
        """Return what the account has paid, fees included."""
        rewards = sum(self.cost(one.reward) for one in self.submissions.values())
        return rewards + sum(self.cost(cents) for _, cents in self.paid)

    # ---- the API

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        """Carry out a call."""
        self.check(method, path, query, body)
        call = (method, *path.removeprefix("/api/v1/").strip("/").split("/"))
        for act in (self._on_studies, self._on_submissions, self._on_the_account):
            if done := act(call, query, body):
                self.check(method, path, query, body, *done)
                return done
        raise DeclinedError(404, "Not found.")

    def _on_studies(self, call: tuple[str, ...], query: dict[str, str], body: Any) -> tuple[int, Any] | None:
        match call:
            case "GET", "projects", project, "studies":
                newest = [one for one in self.studies.values() if one.made["project"] == project][::-1]
                listed = [{key: self._shown(one).get(key) for key in _LISTED} for one in newest]
                return 200, _paged(listed, query)
            case "POST", "studies":
                return 201, self._shown(self._create(body))
            case method, "studies", name, *action:
                study = self._find("studies", name)
                if method == "PATCH":
                    self._change(study, body)
                elif action == ["transition"]:
                    self._move(study, body["action"])
                elif action == ["cost"]:
                    bonuses = [cents for one in self.of(study) for cents in one.bonuses]
                    parts = {"rewards": [one.reward for one in self.of(study)], "bonuses": bonuses}
                    return 200, {"_links": {}, **{kind: self._part(each) for kind, each in parts.items()}}
                return 200, self._shown(study)
        return None

    def _shown(self, study: Study) -> Any:
        return {
            **study.made,
            "id": study.id,
            "status": study.status,
            "places_taken": self.taken(study),
            "number_of_submissions": len(self.of(study)),
            "total_cost": study.places * self.cost(study.reward),
        }

    def _part(self, each: list[int]) -> Any:
        amounts = {"rewards": sum(each), "fees": sum(map(self.cost, each)) - sum(each), "tax": 0}
        return {name: {"amount": cents, "currency": self.currency} for name, cents in amounts.items()}

    def _create(self, body: Any) -> Study:
        codes, minutes = body["completion_codes"], body["estimated_completion_time"]
        least = 2 + 2 * minutes + 2 * minutes**0.5
        partly = any(action["action"] == "DYNAMIC_PAYMENT" for way in codes for action in way["actions"])
        for wrong, key, why in (
            (body.get("project") != PROJECT, "project", "This project does not exist."),
            (len({way["code"] for way in codes}) < len(codes), "completion_codes", "Codes must be unique."),
            (partly and not self.partly, "completion_codes", "Your workspace has no dynamic payments."),
            (
                body.get("maximum_allowed_time", least) < least - 1,
                "maximum_allowed_time",
                f"At least {least:.0f}.",
            ),
        ):
            if wrong:
                raise DeclinedError(400, {key: [why]})
        study = Study(self.new_id(), dict(body))
        self.studies[study.id] = study
        return study

    def _change(self, study: Study, body: Any) -> None:
        if study.status != "UNPUBLISHED":
            if set(body) - {"internal_name", "total_available_places", "submissions_config"}:
                raise DeclinedError(400, "These fields cannot be changed once a study is published.")
            places = int(body.get("total_available_places", study.places))
            if places < study.places:
                raise DeclinedError(400, {"total_available_places": ["You can only increase the places."]})
            after = Study(study.id, study.made | body, "ACTIVE" if places > study.places else study.status)
            if self.reserved(after) - self.reserved(study) > self.available:
                raise DeclinedError(400, "Your balance does not cover the new places.")
            study.status = after.status
        study.made |= body

    def _move(self, study: Study, action: str) -> None:
        if (study.status, action) not in _MOVES:
            raise DeclinedError(400, f"A study that is {study.status} cannot {action}.")
        if action == "PUBLISH" and study.places * self.cost(study.reward) > self.available:
            raise DeclinedError(400, "Your balance does not cover this study.")
        study.status = _MOVES[study.status, action]

    def _on_submissions(
        self, call: tuple[str, ...], query: dict[str, str], body: Any
    ) -> tuple[int, Any] | None:
        match call:
            case "GET", "submissions":
                listed = [
                    {**_detail(one), "participant_id": one.participant, "has_siblings": False}
                    for one in self.of(self._find("studies", query["study"]))
                ]
                return 200, _paged(listed, query)
            case "POST", "submissions", "bonus-payments":
                return 201, self._set_up(self._find("studies", body["study_id"]), body["csv_bonuses"])
            case "POST", "bulk-bonus-payments", bulk, "pay":
                rows = self._find("bulk", bulk)
                if sum(self.cost(cents) for _, cents in rows) > self.available:
                    raise DeclinedError(400, "Your balance does not cover these bonuses.")
                for session, cents in rows:  # each time that it is asked for, as Prolific does
                    self.pay(session, cents)
                return 202, "Your bonuses will be paid in the following minutes."
            case _, "submissions", name, *action:
                one = self._find("submissions", name)
                if action == ["transition"]:
                    self._decide(one, body)
                elif action == ["request-return"]:
                    if one.status not in ("ACTIVE", "AWAITING REVIEW"):
                        raise DeclinedError(400, f"The submission is {one.status}.")
                    one.asked_back = self.now()
                    one.told += body["request_return_reasons"]
                return 200, {**_detail(one), **({} if action else {"bonus_payments": one.bonuses})}
        return None

    def _decide(self, one: Submission, body: Any) -> None:
        action, study = body["action"], self.studies[one.study]
        before, after = _DECISIONS.get(action, ("", ""))
        if one.status == after:  # a repeat is ignored
            return
        if one.status != before:
            raise DeclinedError(400, f"The submission is {one.status}.")
        if action == "COMPLETE":
            ways = [way for way in study.made["completion_codes"] if way["code"] == body["completion_code"]]
            share = Decimal(str(body["completion_code_data"]["percentage_of_reward"]))
            if not ways or ways[0]["actor"] != "researcher" or not 8 <= share <= 99:
                raise DeclinedError(400, "The study has no such code for researchers, or the share is odd.")
            self._approve(one, int((study.reward * share / 100).to_integral_value(ROUND_HALF_UP)), after)
        elif action == "APPROVE":
            self._approve(one, study.reward)
        else:
            one.status = after
            one.told += [body["message"]] if action == "REJECT" else []
        self._turn(study)

    def _set_up(self, study: Study, csv: str) -> Any:
        rows = []
        for line in csv.strip().splitlines():
            who, _, dollars = line.partition(",")
            cents = round(float(dollars) * 100)
            if who not in self.submissions or self.submissions[who].study != study.id or cents <= 0:
                raise DeclinedError(400, f"These ids or amounts are incorrect: {line}")
            rows.append((who, cents))
        bulk, amount = self.new_id(), sum(cents for _, cents in rows)
        total = sum(self.cost(cents) for _, cents in rows)
        self.bulk[bulk] = rows
        sums = {"amount": amount, "fees": total - amount, "vat": 0, "total_amount": total}
        return {"id": bulk, "study": study.id, **sums}

    def _on_the_account(
        self, call: tuple[str, ...], query: dict[str, str], body: Any
    ) -> tuple[int, Any] | None:
        match call:
            case "POST", "study-cost-calculator":
                return 200, {"total_cost": body["total_available_places"] * self.cost(body["reward"])}
            case "GET", "workspaces", workspace, "balance" if workspace == WORKSPACE:
                sums = {"total_balance": self.total, "available_balance": self.available}
                return 200, {"currency_code": self.currency, **sums}
            case "GET", "participant-groups":
                return 200, {"results": [*self.groups.values()]}
            case "POST", "participant-groups":
                name = self.new_id()
                self.groups[name] = {**body, "id": name, "is_deleted": False, "members": []}
                return 201, self.groups[name]
            case method, "participant-groups", name, "participants":
                group, meant = self._find("groups", name), body["participant_ids"]
                others = [one for one in group["members"] if one not in meant]
                group["members"] = [*others, *(meant if method == "POST" else ())]
                joined = [{"participant_id": one, "datetime_created": self.now()} for one in group["members"]]
                return 200, {"results": joined}
        return None

    def now(self) -> str:
        """Return the time by its clock."""
        return datetime.fromtimestamp(time.time() + self.ahead, UTC).isoformat()

    def new_id(self) -> str:
        """Return an id as Prolific's are."""
        self._count += 1
        return f"{self._count:024x}"

    def of(self, study: Study) -> list[Submission]:
        """Return the submissions of a study."""
        return [one for one in self.submissions.values() if one.study == study.id]

    def _find(self, kind: str, name: str) -> Any:
        found = getattr(self, kind).get(name)
        if found is None:
            raise DeclinedError(404, "No such thing matches the given query.")
        return found

    def _turn(self, study: Study) -> None:
        """Let a study be over whose places are all taken, and go on where one is free again."""
        if study.status not in ("ACTIVE", "AWAITING REVIEW"):
            return
        statuses = [one.status for one in self.of(study)]
        if self.taken(study) < study.places or "ACTIVE" in statuses:
            study.status = "ACTIVE"
        else:
            study.status = "AWAITING REVIEW" if "AWAITING REVIEW" in statuses else "COMPLETED"

    def _approve(self, one: Submission, cents: int, status: str = "APPROVED") -> None:
        self.total -= self.cost(cents)
        one.reward, one.status = cents, status


def _detail(one: Submission) -> Any:
    return {
        "id": one.id, "participant": one.participant, "status": one.status, "study_id": one.study,
        "started_at": one.started, "completed_at": one.completed, "study_code": one.code,
        "return_requested": one.asked_back,
    }  # fmt: skip


def _paged(items: list[Any], query: dict[str, str]) -> Any:
    page, size = int(query.get("page", 1)), min(int(query.get("page_size", 20)), _PAGE)
    if page > 1 and (page - 1) * size >= len(items):
        raise DeclinedError(404, "Invalid page.")
    return {"results": items[(page - 1) * size : page * size]}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer's body waits 40 ms for its headers to be acknowledged
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
                return self._send(int(fault.split()[1]), _error(0, "a fault"))
            if fault == "drop before":
                return self._drop()
            try:
                if self.headers["Authorization"] != f"Token {TOKEN}":
                    raise DeclinedError(401, "Authentication credentials were not provided.")
                status, said = platform.answer(self.command, parts.path, query, body)
            except DeclinedError as refused:
                status, said = refused.status, _error(refused.status, refused.detail)
            return self._drop() if fault == "drop after" else self._send(status, said, fault == "cut short")

    do_GET = do_POST = do_PATCH = do_DELETE = _handle  # noqa: N815

    def _send(self, status: int, said: Any, cut: bool = False) -> None:
        content = json.dumps(said).encode()[: 5 if cut else None]
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


def _error(status: int, detail: object) -> Any:
    return {"error": {"status": status, "error_code": 140_000 + status, "title": "Error", "detail": detail}}


class _Server(ThreadingHTTPServer):
    platform: Platform


@contextmanager
def served(platform: Platform | None = None) -> Iterator[tuple[Platform, str]]:
    """Serve a new platform on a free port; give it and its address."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.platform = platform or Platform()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.platform, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
