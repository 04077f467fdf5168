"""``POST /``: the requester API, as boto3 and the AWS command line speak it."""

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Callable
from functools import partial

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from prefjudge.errors import PrefjudgeError
from prefjudge.marketplace.api import signing, wire
from prefjudge.marketplace.api.description import mturk
from prefjudge.marketplace.api.faults import Fault
from prefjudge.marketplace.api.operations import OPERATIONS
from prefjudge.marketplace.errors import (
    AccessDenied,
    ApiError,
    Refusal,
    RequestError,
    ServiceFault,
    Throttled,
    UnknownOperation,
)
from prefjudge.marketplace.hits.hits import count_submissions
from prefjudge.marketplace.people import requesters
from prefjudge.marketplace.settings import LOOPBACK
from prefjudge.marketplace.store.store import Transaction
from prefjudge.marketplace.web.connections import drop_connection
from prefjudge.marketplace.web.state import AppState, read_body

MEDIA_TYPE = "application/x-amz-json-1.1"
PULSE = "x-prefjudge-submissions"
"""A header of the reply to GetAccountBalance: how many assignments were submitted to the requester so far.
One small call tells whether there is anything to fetch."""
_PASSED_ON = ("x-forwarded-", "forwarded", "x-real-ip", "via")
"""Prefixes of the headers that a web server adds to a call that it forwards."""
_LOG = logging.getLogger("prefjudge.marketplace.api")


async def requester_api(state: AppState, request: Request) -> Response:
    """Answer one call of the requester API."""
    request_id = secrets.token_hex(16)
    operation = request.headers.get("x-amz-target", "").removeprefix(mturk().target_prefix + ".")
    request.state.operation = operation if operation in OPERATIONS else "unknown"
    request.state.invocation = request.headers.get("amz-sdk-invocation-id", "")
    fault = state.faults.next(operation)
    try:
        await _before(fault)
        body, pulse = await _answer(state, request, operation)
    except ApiError as error:
        return _failed(error, request_id)
    except ClientDisconnect:
        raise
    except PrefjudgeError as error:  # of its store: not a bug, so no traceback in the log
        _LOG.error("request %s of %s failed: %s", request_id, request.state.operation, error.message)
        return _failed(ServiceFault(f"The marketplace's store failed: {error.__cause__}."), request_id)
    except Exception:
        _LOG.exception("request %s of %s failed", request_id, request.state.operation)
        return _failed(ServiceFault("The marketplace failed. Try again."), request_id)
    if fault and fault.kind == "drop":
        return drop_connection(request)
    headers = {"x-amzn-RequestId": request_id, **({PULSE: str(pulse)} if pulse is not None else {})}
    return Response(body, media_type=MEDIA_TYPE, headers=headers)


async def _before(fault: Fault | None) -> None:
    if fault is None:
        return
    if fault.seconds:
        await asyncio.sleep(fault.seconds)
    if fault.kind == "throttle":
        raise Throttled
    if fault.kind == "error":
        raise ServiceFault("A fault that the admin asked for.")


async def _answer(state: AppState, request: Request, operation: str) -> tuple[bytes, int | None]:
    """Return the response, and with the balance the requester's count of submissions: see ``PULSE``."""
    act = OPERATIONS.get(operation)
    if act is None:
        raise UnknownOperation(f"There is no operation {operation[:64]!r}.")
    try:
        body = await read_body(request)
    except Refusal as refusal:
        raise RequestError(refusal.message, "AWS.MalformedInput") from refusal
    headers = dict(request.headers)
    now = time.time()  # signatures follow real clocks, and the marketplace's may be a test's

    def answer(tx: Transaction) -> tuple[bytes, int | None]:
        requester_id = caller(tx, headers, body, partial(may_be_unsigned, state, request), now)
        pulse = count_submissions(tx, requester_id) if operation == "GetAccountBalance" else None
        return wire.serialize(operation, act(tx, requester_id, wire.parse(operation, body))), pulse

    return await state.executor.run(answer)


def is_for_topics(request: Request) -> bool:
    """Tell whether a call is for Amazon's notification service (SNS): a form without a target."""
    form = request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    return form and "x-amz-target" not in request.headers and "authorization" in request.headers


def refuse_topics() -> Response:
    """Answer such a call in that service's words, so that its clients can read it."""
    said = (
        "<ErrorResponse><Error><Type>Sender</Type><Code>InvalidAction</Code><Message>This marketplace has no"
        " topics: poll instead, by ListReviewableHITs or ListAssignmentsForHIT.</Message></Error>"
        "</ErrorResponse>"
    )
    return Response(said, status_code=400, media_type="text/xml")


def may_be_unsigned(state: AppState, request: Request) -> bool:
    """Tell whether only this machine can call, and no web server forwarded the call.

    Otherwise anybody who makes a web server on this machine call here would be the requester.
    """
    client = request.client.host if request.client else ""
    forwarded = any(name.startswith(_PASSED_ON) for name in request.headers)
    return (
        state.settings.is_private
        and client in LOOPBACK
        and request.url.hostname in LOOPBACK
        and not forwarded
    )


def caller(
    tx: Transaction,
    headers: dict[str, str],
    body: bytes,
    unsigned: Callable[[], bool],
    now: float,
) -> str:
    """Return the requester who calls.

    On this machine a call may be unsigned, or signed with any key, until there is a requester with a key.
    """

    def is_open() -> bool:
        return unsigned() and not requesters.keys_issued(tx)

    authorization = headers.get("authorization")
    if authorization is None:
        if is_open():
            return requesters.ensure(tx, requesters.LOCAL)
        raise AccessDenied("The request is not signed.", "MissingAuthenticationTokenException")
    claim = signing.read_claim(authorization)
    owner = requesters.key_owner(tx, claim.access_key)
    if owner is None:
        if is_open():
            return requesters.ensure(tx, requesters.LOCAL)
        raise AccessDenied("The access key is not one of this marketplace.", "UnrecognizedClientException")
    secret, requester_id = owner
    signing.check(claim, secret, mturk().signing_name, headers, body, now)
    return requester_id


def _failed(error: ApiError, request_id: str) -> Response:
    said = {"__type": error.type, "Message": f"{error.message} ({request_id})", "TurkErrorCode": error.code}
    body = json.dumps({key: value for key, value in said.items() if value})
    headers = {"x-amzn-RequestId": request_id}
    return Response(body, status_code=error.status, media_type=MEDIA_TYPE, headers=headers)
