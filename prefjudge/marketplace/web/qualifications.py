"""The worker's qualifications: those that exist, those that were requested, and the tests."""

from collections.abc import Mapping
from typing import TypedDict

from starlette.requests import Request

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.people import qualifications
from prefjudge.marketplace.people.qualifications import QualificationType
from prefjudge.marketplace.people.workers import Session
from prefjudge.marketplace.questions import form_view, parse_form
from prefjudge.marketplace.store.store import Transaction, iso
from prefjudge.marketplace.web.forms import remembered_pairs
from prefjudge.marketplace.web.pages import Page
from prefjudge.marketplace.web.state import AppState

HAND_IN = "hand_in"
_MOST_LISTED = 200
_STATUS = {"Open": "none", "Submitted": "pending", "Granted": "granted", "Rejected": "rejected"}


class TypeView(TypedDict):
    """A qualification, as a worker's page and JSON show it."""

    qualification_type_id: str
    name: str
    description: str
    has_test: bool
    auto_granted: bool
    status: str
    value: int | None
    again: bool
    retry_after: str | None
    final: bool
    closed: bool


def _view(tx: Transaction, kind: QualificationType, worker_id: str) -> TypeView:
    last = qualifications.latest_request(tx, kind, worker_id)
    grant = qualifications.get_grant(tx, kind.qualification_type_id, worker_id)
    granted = grant if grant and grant.status == "Granted" else None
    rejected = bool(last and last.status == "Rejected")
    # a test is granted whatever its score, and may be taken again for a better one
    again = kind.retry_delay is not None and bool(last and last.status == "Granted" and kind.test)
    retry = None
    if last and (rejected or again) and kind.retry_delay is not None:
        then = (last.submitted_at or last.started) + kind.retry_delay
        retry = iso(then) if then > tx.now else None
    return {
        "qualification_type_id": kind.qualification_type_id,
        "name": kind.name,
        "description": kind.description,
        "has_test": kind.test is not None,
        "auto_granted": bool(kind.auto_granted),
        "status": "granted" if granted else _STATUS[last.status] if last else "none",
        "value": granted.value if granted else None,
        "again": again,
        "retry_after": retry,
        "final": rejected and kind.retry_delay is None,
        "closed": kind.status != "Active",
    }


async def list_types(state: AppState, request: Request, session: Session) -> Page:
    """List the qualifications that can be requested, and those that the worker has."""

    def act(tx: Transaction) -> list[TypeView]:
        kinds = qualifications.list_types(tx, session.worker_id)
        return [_view(tx, kind, session.worker_id) for kind in kinds[:_MOST_LISTED]]

    return Page(name="qualifications", context={"types": await state.executor.run(act, write=False)})


def _kind(tx: Transaction, type_id: str) -> QualificationType:
    kind = qualifications.get_type(tx, type_id)
    if kind is None:
        raise Refusal("no_qualification", "There is no such qualification.", 404)
    return kind


async def show_type(state: AppState, request: Request, session: Session) -> Page:
    """Show a qualification, and the test of a request that is open."""
    type_id = request.path_params["type_id"]

    def act(tx: Transaction) -> Mapping[str, object]:
        kind = _kind(tx, type_id)
        last = qualifications.latest_request(tx, kind, session.worker_id)
        form, deadline = None, None
        if last and last.status == "Open" and kind.test is not None:
            form = form_view(parse_form(kind.test, "Test"))
            deadline = iso(last.started + (kind.test_duration or 0))
        return {"type": _view(tx, kind, session.worker_id), "form": form, "deadline": deadline}

    return Page(name="qualification", context=await state.executor.run(act, write=False))


async def request_type(state: AppState, request: Request, session: Session) -> Page:
    """Request a qualification, or submit its test; a hidden field marks a test, as answers may be empty."""
    type_id = request.path_params["type_id"]
    sent = [(name, text) for name, text in await remembered_pairs(request) if name != "csrf"]
    fields = [(name, text) for name, text in sent if name != HAND_IN]

    def act(tx: Transaction) -> tuple[TypeView, bool]:
        kind = _kind(tx, type_id)
        handed_in = bool(sent) and kind.test is not None
        if handed_in:
            qualifications.finish_request(tx, type_id, session.worker_id, fields)
        else:
            qualifications.begin_request(tx, type_id, session.worker_id)
        return _view(tx, kind, session.worker_id), kind.test is not None and not handed_in

    context, begun = await state.executor.run(act)
    back = f"/qualifications/{type_id}" if begun else "/qualifications"
    return Page(name="qualification", context=context, location=back)
