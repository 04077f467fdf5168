"""The routes of the marketplace, what guards them all, and ``POST /``: the requester API."""

import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prefjudge.errors import PrefjudgeError
from prefjudge.marketplace.api import wire
from prefjudge.marketplace.api.operations import OPERATIONS
from prefjudge.marketplace.api.operations import Call as ApiCall
from prefjudge.marketplace.api.wire import mturk
from prefjudge.marketplace.errors import (
    AccessDenied,
    ApiError,
    Refusal,
    RequestError,
    ServiceFault,
)
from prefjudge.marketplace.hits.hits import count_submissions
from prefjudge.marketplace.people import requesters
from prefjudge.marketplace.people.qualifications import TAKEN
from prefjudge.marketplace.settings import ENGLISH, LOOPBACK, catalogues
from prefjudge.marketplace.site import admin, pages, panels, signin, work
from prefjudge.marketplace.site.pages import Call, Page
from prefjudge.marketplace.site.signin import endpoint, for_admins, for_everybody, for_workers
from prefjudge.marketplace.site.state import AppState
from prefjudge.marketplace.store.store import Transaction
from prefjudge.version import __version__

Routes = tuple[tuple[str, str, signin.Route], ...]
WORKER_ROUTES: Routes = (
    ("POST", "/signout", signin.sign_out),
    ("GET", "/hits", work.list_groups),
    ("GET", "/hits/{hit_id}", work.preview),
    ("POST", "/hits/{hit_id}/accept", work.accept),
    ("GET", "/groups/{group_id}", work.preview),
    ("POST", "/groups/{group_id}/accept", work.accept),
    ("GET", "/assignments/{assignment_id}", work.show_assignment),
    ("POST", "/assignments/{assignment_id}/return", work.give_back),
    ("GET", "/assignments/{assignment_id}/draft", work.show_draft),
    ("POST", "/assignments/{assignment_id}/draft", work.save_draft),
    ("POST", "/assignments/{assignment_id}/agreed", work.agree),
    ("GET", "/assignments/{assignment_id}/done", work.show_done),
    ("POST", "/assignments/{assignment_id}/dispute", work.dispute),
    ("POST", "/visit/end", panels.leave),
    ("GET", "/history", work.history),
    ("GET", "/inbox", work.inbox),
    ("GET", "/qualifications", work.list_types),
    ("GET", "/qualifications/{type_id}", work.show_type),
    ("POST", "/qualifications/{type_id}", work.request_type),
)
PUBLIC_ROUTES: Routes = (
    ("GET", "/signin", signin.show_sign_in),
    ("POST", "/signin", signin.sign_in),
    ("POST", "/language", signin.choose_language),
    ("GET", "/admin/signin", signin.show_admin_sign_in),
    ("POST", "/admin/signin", signin.admin_sign_in),
    ("GET", "/panel/{panel}/{key}", panels.show_arrival),
    ("POST", "/panel/{panel}/{key}", panels.arrive),
)
ADMIN_ROUTES: Routes = (
    ("GET", "/admin", admin.show),
    ("GET", "/admin/overview", admin.show),
    ("POST", "/admin/signout", signin.admin_sign_out),
    ("POST", "/admin/workers", admin.add_worker),
    ("GET", "/admin/workers/{worker_id}", admin.show_worker),
    ("GET", "/admin/workers/{worker_id}/export.json", admin.export_worker),
    ("POST", "/admin/workers/{worker_id}/forget", admin.forget_worker),
    ("POST", "/admin/workers/{worker_id}/invite", admin.invite_again),
    ("POST", "/admin/workers/{worker_id}/revoke", admin.revoke_invitation),
    ("POST", "/admin/workers/{worker_id}/master", admin.make_master),
    ("POST", "/admin/requesters", admin.add_requester),
    ("POST", "/admin/disputes/{assignment_id}", admin.answer_dispute),
    ("DELETE", "/admin/keys/{access_key}", admin.revoke_key),
    ("POST", "/admin/funds", admin.add_funds),
    ("GET", "/admin/payouts", admin.list_payouts),
    ("POST", "/admin/payouts", admin.add_payout),
    ("GET", "/admin/panels", panels.list_panels),
    ("POST", "/admin/panels", panels.add_panel),
    ("GET", "/admin/panels/{panel}", panels.show_panel),
    ("PUT", "/admin/panels/{panel}", panels.put_panel),
    ("POST", "/admin/panels/{panel}", panels.edit_panel),
    ("DELETE", "/admin/panels/{panel}", panels.remove_panel),
    ("POST", "/admin/panels/{panel}/remove", panels.remove_panel),
    ("POST", "/admin/panels/{panel}/links", panels.make_links),
    ("POST", "/admin/panels/{panel}/close", panels.close_panel),
    ("POST", "/admin/panels/{panel}/open", partial(panels.close_panel, closed=False)),
    ("POST", "/admin/panels/{panel}/submissions", panels.report_submissions),
    ("POST", "/admin/panels/{panel}/sessions/{session}/end", panels.end_session),
    ("POST", "/admin/panels/{panel}/paid", panels.record_paid),
    ("GET", "/admin/panels/{panel}/{file}", panels.download),
    ("GET", "/admin/log", signin.show_log),
)


async def _home(call: Call) -> Response:
    if call.method == "POST":
        return refuse_topics() if is_for_topics(call) else await requester_api(call)
    location = "/hits" if await call.find_session() else "/signin"
    return call.respond(Page(name="hits", location=location))


async def _group_by_old_address(call: Call) -> Response:
    group_id = call.query_params.get("groupId", "")
    location = f"/groups/{group_id}" if group_id.isalnum() else "/hits"
    return call.respond(Page(name="preview", location=location))


async def _health(call: Call) -> Response:
    await call.look(lambda tx: tx.execute("SELECT 1"))
    market = call.running.marketplace
    kind = {"marketplace": market.ident, "sandbox": market.sandbox}
    return JSONResponse({**kind, "status": "ok", "version": __version__, "comparators": [TAKEN]})


async def _asset(call: Call) -> Response:
    language = call.query_params.get("language", ENGLISH)
    wording = call.running.settings.wording.speaking(language if language in catalogues() else ENGLISH)
    found = pages.asset(call.path_params["name"], wording)
    if found is None:
        return Response(status_code=404)
    content, media_type = found
    return Response(content, media_type=media_type, headers={"Cache-Control": "max-age=300"})


OPEN_ROUTES: tuple[tuple[list[str], str, Callable[[Call], Awaitable[Response]]], ...] = (
    (["GET", "POST"], "/", _home),
    (["GET"], "/healthz", _health),
    (["GET"], "/mturk/preview", _group_by_old_address),
    (["GET", "POST"], "/mturk/externalSubmit", work.external_submit),
    (["GET"], "/frames/{hit_id}", work.show_frame),
    (["GET"], "/assets/{name}", _asset),
)
"""What nobody need be signed in for, and no refusal is caught of."""


def build_app(state: AppState) -> Starlette:
    """Put the routes together."""

    def called(act: Callable[[Call], Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
        async def answer(request: Request, _: Exception | None = None) -> Response:
            return await act(Call(state, request))

        return answer

    guarded = ((for_everybody, PUBLIC_ROUTES), (for_workers, WORKER_ROUTES), (for_admins, ADMIN_ROUTES))
    return Starlette(
        routes=[
            *(Route(path, called(act), methods=verbs) for verbs, path, act in OPEN_ROUTES),
            *(
                Route(path, endpoint(state, guard, act), methods=[verb])
                for guard, routes in guarded
                for verb, path, act in routes
            ),
        ],
        middleware=[Middleware(SecurityMiddleware, state=state)],
        exception_handlers={404: called(_lost), 500: called(_broken)},
    )


async def _lost(call: Call) -> Response:
    said = {"status": 404, "title": "Page not found", "text": "There is no page at this address."}
    return call.respond(Page(name="error", context=said, status=404))


async def _broken(call: Call) -> Response:
    said = {"status": 500, "title": "Something broke", "text": "This is not your fault. Try again."}
    return call.respond(Page(name="error", context=said, status=500))


# Refuses what no honest client sends, adds security headers to every answer, and logs without secrets.

_REQUESTS = logging.getLogger("prefjudge.marketplace.requests")
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
_FROM_ANYWHERE = ("/mturk/externalSubmit",)
"""Posted by the pages of HITs, from an opaque origin or the requester's own."""
_WATCHED = ("/healthz", "GetAccountBalance")
"""Asked day and night: a study that is collected as it comes asks for its balance twice a second."""
_GONE = 499
"""How web servers log a request when the client did not wait; nothing is sent."""


class SecurityMiddleware:
    """Checks Host and Origin around the application."""

    def __init__(self, app: ASGIApp, state: AppState) -> None:
        self.app = app
        self.state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one call."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope.setdefault("state", {})
        began, status = time.perf_counter(), 500
        connection = scope["state"].get("connection")
        if connection is not None:
            connection.begin_request()

        async def stamped(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        try:
            request = Request(scope)
            try:
                problem = self._problem(request)
            except ValueError:  # of urlsplit
                problem = "The address is malformed."
            app = PlainTextResponse(problem, 403) if problem else self.app
            await app(scope, receive, stamped)
        except ClientDisconnect:  # the client has gone; nothing is broken
            status = _GONE
        finally:
            if connection is not None:
                connection.end_request()
            self._log(scope, status, time.perf_counter() - began)

    def _problem(self, request: Request) -> str:
        if "\0" in request.url.path or b"%00" in request.scope["query_string"]:
            return "The address is malformed."
        if not self.state.settings.knows_host(request.url.hostname or ""):
            return "This marketplace does not have that host name."
        origin = request.headers.get("origin")
        if request.method in ("GET", "HEAD") or origin is None:
            return ""
        there = urlsplit(origin)
        known = {urlsplit(self.state.origin(request)).netloc, request.headers.get("host", "")}
        strange = there.netloc not in known and request.url.path not in _FROM_ANYWHERE
        if request.headers.get("x-amz-target") or strange:
            return "Requests from other sites are refused."
        return ""

    def _log(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "-")  # the pattern: paths and queries carry secrets
        noted = scope["state"]
        operation = noted.get("operation", "")
        watched = status == 200 and (route in _WATCHED or operation in _WATCHED)
        _REQUESTS.log(
            logging.DEBUG if watched else logging.INFO,
            "request",
            extra={
                "fields": {
                    "method": scope["method"],
                    "route": route,
                    "operation": operation,
                    "invocation": noted.get("invocation", ""),
                    "status": status,
                    "ms": round(seconds * 1000, 1),
                }
            },
        )


# ``POST /``: the requester API, as boto3 and the AWS command line speak it.

MEDIA_TYPE = "application/x-amz-json-1.1"
PULSE = "x-prefjudge-submissions"
"""A header of the reply to GetAccountBalance: how many assignments were submitted to the requester so far.
One small call tells whether there is anything to fetch."""
_PASSED_ON = ("x-forwarded-", "forwarded", "x-real-ip", "via")
"""Prefixes of the headers that a web server adds to a call that it forwards."""
_CALLS = logging.getLogger("prefjudge.marketplace.api")


async def requester_api(call: Call) -> Response:
    """Answer one call of the requester API."""
    request_id = secrets.token_hex(16)
    operation = call.headers.get("x-amz-target", "").removeprefix(mturk().target_prefix + ".")
    call.state.operation = operation if operation in OPERATIONS else "unknown"
    call.state.invocation = call.headers.get("amz-sdk-invocation-id", "")
    try:
        body, pulse = await _answer(call, operation)
    except ApiError as error:
        return _failed(error, request_id)
    except ClientDisconnect:
        raise
    except PrefjudgeError as error:  # of its store: not a bug, so no traceback in the log
        _CALLS.error("request %s of %s failed: %s", request_id, call.state.operation, error.message)
        return _failed(ServiceFault(f"The marketplace's store failed: {error.__cause__}."), request_id)
    except Exception:
        _CALLS.exception("request %s of %s failed", request_id, call.state.operation)
        return _failed(ServiceFault("The marketplace failed. Try again."), request_id)
    headers = {"x-amzn-RequestId": request_id, **({PULSE: str(pulse)} if pulse is not None else {})}
    return Response(body, media_type=MEDIA_TYPE, headers=headers)


async def _answer(call: Call, operation: str) -> tuple[bytes, int | None]:
    """Return the response, and with the balance the requester's count of submissions: see ``PULSE``."""
    act = OPERATIONS.get(operation)
    if act is None:
        raise ApiError(f"There is no operation {operation[:64]!r}.", type="UnknownOperationException")
    try:
        body = await call.body()
    except Refusal as refusal:
        raise RequestError(refusal.message, "AWS.MalformedInput") from refusal
    headers, unsigned = dict(call.headers), may_be_unsigned(call)
    now = time.time()  # signatures follow real clocks, and the marketplace's may be a test's

    def answer(tx: Transaction) -> tuple[bytes, int | None]:
        requester_id = caller(tx, headers, body, unsigned, now)
        pulse = count_submissions(tx, requester_id) if operation == "GetAccountBalance" else None
        result = act(ApiCall(tx, requester_id, wire.parse(operation, body))) or {}
        return wire.serialize(operation, result), pulse

    return await call.run(answer)


def is_for_topics(call: Call) -> bool:
    """Tell whether a call is for Amazon's notification service (SNS): a form without a target."""
    form = call.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    return form and "x-amz-target" not in call.headers and "authorization" in call.headers


def refuse_topics() -> Response:
    """Answer such a call in that service's words, so that its clients can read it."""
    said = (
        "<ErrorResponse><Error><Type>Sender</Type><Code>InvalidAction</Code><Message>This marketplace has no"
        " topics: poll instead, by ListReviewableHITs or ListAssignmentsForHIT.</Message></Error>"
        "</ErrorResponse>"
    )
    return Response(said, status_code=400, media_type="text/xml")


def may_be_unsigned(call: Call) -> bool:
    """Tell whether only this machine can call, and no web server forwarded the call.

    Otherwise anybody who makes a web server on this machine call here would be the requester.
    """
    client = call.client.host if call.client else ""
    forwarded = any(name.startswith(_PASSED_ON) for name in call.headers)
    return (
        call.running.settings.is_private
        and client in LOOPBACK
        and call.url.hostname in LOOPBACK
        and not forwarded
    )


def caller(tx: Transaction, headers: Mapping[str, str], body: bytes, unsigned: bool, now: float) -> str:
    """Return the requester who calls.

    On this machine a call may be unsigned, or signed with any key, until there is a requester with a key.
    """
    authorization = headers.get("authorization")
    claim = None if authorization is None else wire.read_claim(authorization)
    owner = claim and requesters.key_owner(tx, claim.access_key)
    if claim and owner:
        secret, requester_id = owner
        wire.check_signature(claim, secret, mturk().signing_name, headers, body, now)
        return requester_id
    if unsigned and not requesters.keys_issued(tx):
        return requesters.ensure(tx, requesters.LOCAL)
    if claim is None:
        raise AccessDenied("The request is not signed.", "MissingAuthenticationTokenException")
    raise AccessDenied("The access key is not one of this marketplace.", "UnrecognizedClientException")


def _failed(error: ApiError, request_id: str) -> Response:
    said = {"__type": error.type, "Message": f"{error.message} ({request_id})", "TurkErrorCode": error.code}
    body = json.dumps({key: value for key, value in said.items() if value})
    headers = {"x-amzn-RequestId": request_id}
    return Response(body, status_code=error.status, media_type=MEDIA_TYPE, headers=headers)
