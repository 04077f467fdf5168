"""``POST /`` of Amazon's Simple Notification Service: the actions that send notifications to a topic.

It speaks AWS's query protocol: a form as the request, XML as the answer.
"""

import logging
import secrets
import time
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import parse_qsl
from xml.etree.ElementTree import Element, SubElement, tostring

from starlette.requests import Request
from starlette.responses import Response

from prefjudge.errors import PrefjudgeError
from prefjudge.marketplace.errors import ApiError, Refusal, ServiceRefusal
from prefjudge.marketplace.notifications import topics
from prefjudge.marketplace.store.marketplace import Transaction
from prefjudge.marketplace.web.requester_api import caller, may_be_unsigned
from prefjudge.marketplace.web.state import AppState, read_body

_LOG = logging.getLogger("prefjudge.marketplace.api")
_NAMESPACE = "http://sns.amazonaws.com/doc/2010-03-31/"
_VERSION = "2010-03-31"
Answer = Mapping[str, str | list[str] | Mapping[str, str]]
"""Texts by name; a list of topics, and a subscription's attributes by name."""
Action = Callable[[Transaction, str, Mapping[str, str]], Answer]


def is_for_topics(request: Request) -> bool:
    """Tell whether a request is one of this service: the requester API's are JSON and name a target."""
    form = request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    return form and "x-amz-target" not in request.headers and "authorization" in request.headers


def _create(tx: Transaction, requester_id: str, given: Mapping[str, str]) -> Answer:
    return {"TopicArn": topics.create(tx, requester_id, _needed(given, "Name"))}


def _list(tx: Transaction, requester_id: str, given: Mapping[str, str]) -> Answer:
    found = topics.names(tx, requester_id, given.get("NextToken", ""))
    more = {"NextToken": found[-1]} if len(found) == topics.PAGE else {}
    return {"Topics": found, **more}


def _delete(tx: Transaction, requester_id: str, given: Mapping[str, str]) -> Answer:
    topics.delete(tx, requester_id, _needed(given, "TopicArn"))
    return {}


def _subscribe(tx: Transaction, requester_id: str, given: Mapping[str, str]) -> Answer:
    topic, protocol = _needed(given, "TopicArn"), _needed(given, "Protocol")
    made = topics.subscribe(tx, requester_id, topic, protocol, _needed(given, "Endpoint"))
    told = made.confirmed or given.get("ReturnSubscriptionArn") == "true"
    return {"SubscriptionArn": made.subscription_arn if told else "pending confirmation"}


def _confirm(tx: Transaction, requester_id: str, given: Mapping[str, str]) -> Answer:
    found = topics.confirm(tx, requester_id, _needed(given, "TopicArn"), _needed(given, "Token"))
    return {"SubscriptionArn": found.subscription_arn}


def _attributes(tx: Transaction, requester_id: str, given: Mapping[str, str]) -> Answer:
    found = topics.find(tx, requester_id, _needed(given, "SubscriptionArn"))
    return {
        "Attributes": {
            "SubscriptionArn": found.subscription_arn,
            "TopicArn": found.topic_arn,
            "Protocol": found.protocol,
            "Endpoint": found.endpoint,
            "Owner": topics.account(requester_id),
            "PendingConfirmation": "false" if found.confirmed else "true",
            "RawMessageDelivery": "false",
        }
    }


def _unsubscribe(tx: Transaction, requester_id: str, given: Mapping[str, str]) -> Answer:
    topics.unsubscribe(tx, requester_id, _needed(given, "SubscriptionArn"))
    return {}


ACTIONS: dict[str, Action] = {
    "ConfirmSubscription": _confirm,
    "CreateTopic": _create,
    "DeleteTopic": _delete,
    "GetSubscriptionAttributes": _attributes,
    "ListTopics": _list,
    "Subscribe": _subscribe,
    "Unsubscribe": _unsubscribe,
}
_EMPTY = frozenset({"DeleteTopic", "Unsubscribe"})
"""Actions whose answers have no result, by the service's model."""


def _needed(given: Mapping[str, str], name: str) -> str:
    if not given.get(name):
        raise ServiceRefusal("InvalidParameter", f"Invalid parameter: {name} is missing")
    return given[name]


async def topics_api(state: AppState, request: Request) -> Response:
    """Answer one call."""
    request_id = secrets.token_hex(16)
    request.state.operation = "sns unknown"
    try:
        return await _answer(state, request, request_id)
    except ServiceRefusal as refusal:
        return _failed(refusal.code, refusal.message, refusal.status, request_id)
    except Refusal as refusal:
        return _failed("InvalidParameter", refusal.message, refusal.status, request_id)
    except ApiError as error:  # of the signature
        return _failed(error.type.removesuffix("Exception"), error.message, error.status, request_id)
    except PrefjudgeError as error:  # of its store: not a bug, so no traceback in the log
        _LOG.error("request %s of %s failed: %s", request_id, request.state.operation, error.message)
    except Exception:
        _LOG.exception("request %s of %s failed", request_id, request.state.operation)
    return _failed("InternalError", "The marketplace failed. Try again.", 500, request_id)


async def _answer(state: AppState, request: Request, request_id: str) -> Response:
    body = await read_body(request)
    try:
        given = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=100))
    except ValueError as error:
        raise ServiceRefusal("InvalidParameter", "The request is not a form.") from error
    name = given.get("Action", "")
    act = ACTIONS.get(name)
    if act is None or given.get("Version") != _VERSION:
        raise ServiceRefusal("InvalidAction", f"The action is not one of {', '.join(ACTIONS)}.")
    if any("\0" in text for text in given.values()):
        raise ServiceRefusal("InvalidParameter", "A parameter has a NUL character, which is not text.")
    request.state.operation = f"sns {name}"
    headers, now = dict(request.headers), time.time()

    def answer(tx: Transaction) -> Answer:
        unsigned = partial(may_be_unsigned, state, request)
        return act(tx, caller(tx, headers, body, unsigned, now, service="sns"), given)

    return _succeeded(name, await state.executor.run(answer), request_id)


def _succeeded(name: str, answer: Answer, request_id: str) -> Response:
    root = Element(f"{name}Response", xmlns=_NAMESPACE)
    result = root if name in _EMPTY else SubElement(root, f"{name}Result")
    for key, value in answer.items():
        holder = SubElement(result, key)
        if isinstance(value, str):
            holder.text = value
        elif isinstance(value, list):
            for arn in value:
                SubElement(SubElement(holder, "member"), "TopicArn").text = arn
        else:
            for attribute, text in value.items():
                entry = SubElement(holder, "entry")
                SubElement(entry, "key").text, SubElement(entry, "value").text = attribute, text
    SubElement(SubElement(root, "ResponseMetadata"), "RequestId").text = request_id
    return Response(tostring(root), media_type="text/xml")


def _failed(code: str, message: str, status: int, request_id: str) -> Response:
    root = Element("ErrorResponse", xmlns=_NAMESPACE)
    error = SubElement(root, "Error")
    SubElement(error, "Type").text = "Sender" if status < 500 else "Receiver"
    SubElement(error, "Code").text, SubElement(error, "Message").text = code, message
    SubElement(root, "RequestId").text = request_id
    return Response(tostring(root), status_code=status, media_type="text/xml")
