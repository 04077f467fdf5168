"""Errors of the API, as its clients know them, and refusals that a worker reads; parameters and amounts."""

import re
from collections.abc import Mapping
from typing import Any

from prefjudge.errors import PrefjudgeError


class Refusal(PrefjudgeError):  # noqa: N818 - said to a worker, who did nothing wrong
    """A worker's request that cannot be granted; ``code`` is for programs, the message for people."""

    def __init__(self, code: str, message: str, status: int = 409) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class ApiError(PrefjudgeError):
    """A refusal that the client gets as JSON."""

    status = 400

    def __init__(self, message: str, code: str = "", *, type: str = "RequestError") -> None:
        super().__init__(message)
        self.code, self.type = code, type


class RequestError(ApiError):
    """The request cannot be granted; ``code`` is its TurkErrorCode."""


class ServiceFault(ApiError):  # noqa: N818 - the protocol's word
    """The marketplace failed; a client may try again."""

    status = 500

    def __init__(self, message: str) -> None:
        super().__init__(message, type="ServiceFault")


class AccessDenied(ApiError):  # noqa: N818
    """The signature is missing or wrong; ``type`` says which."""

    status = 403

    def __init__(self, message: str, type: str) -> None:
        super().__init__(message, type=type)


TURK = "AWS.MechanicalTurk."
TURK_SENTENCES = {
    "InsufficientFunds": "This Requester has insufficient funds in their account to complete this"
    " transaction.",
    "QualificationDoesNotExist": "You requested a Qualification that does not exist.",
    "QualificationTypeAlreadyExists": "You have already created a QualificationType with this name. A"
    " QualificationType's name must be unique among all of the QualificationTypes created by the same user.",
    "XHTMLParseError": "There was an error parsing the XHTML data in your request.",
    "XMLParseError": "There was an error parsing the XML question or answer data in your request. Please make"
    " sure the data is well-formed and validates against the appropriate schema. Details:",
}
"""What Mechanical Turk says with a code. Programs look for these words; our own message follows them."""


def refused(code: str, message: str) -> RequestError:
    """Return a refusal with the TurkErrorCode ``AWS.MechanicalTurk.<code>``, in Mechanical Turk's words."""
    # of XML that cannot be read; the service's model lacks this error, so boto3 shows its name
    unread = code in ("XMLParseError", "XHTMLParseError")
    said = f"{TURK_SENTENCES.get(code, '')} {message}".strip()
    return RequestError(said, TURK + code, type="ParameterValidationError" if unread else "RequestError")


def wrong_state(code: str, needed: str, message: str) -> RequestError:
    """Return the error of an operation that a state does not allow: programs look for the states it needs."""
    return refused(code, f"This operation can be called with a status of: {needed}. {message}".strip())


def invalid(where: str, problem: str) -> RequestError:
    """Return the error of a parameter with a value that is not allowed."""
    return refused("InvalidParameterValue", f"{where}: {problem}")


def missing(kind: str, ident: str) -> RequestError:
    """Return the error of an id of nothing that the requester may see."""
    return refused(f"{kind}DoesNotExist", f"{'Hit' if kind == 'HIT' else kind} {ident} does not exist.")


Params = Mapping[str, Any]
"""What an operation is asked, by Mechanical Turk's names: the wire has checked members, types and limits."""

View = dict[str, Any]
"""What a page and JSON show: a function names its values, and templates and programs read them."""

# Amounts of money: whole cents inside, decimal strings outside.

_AMOUNT = re.compile(r"([0-9]{1,9})(?:\.([0-9]{0,2}))?")


def to_cents(amount: str, where: str) -> int:
    """Read ``"2"``, ``"2."``, ``"2.4"`` or ``"2.40"``."""
    match = _AMOUNT.fullmatch(amount)
    if not match:
        raise invalid(where, f"{amount[:32]!r} is not an amount in whole cents")
    return int(match[1]) * 100 + int((match[2] or "").ljust(2, "0"))


def from_cents(cents: int) -> str:
    """Write ``240`` as ``"2.40"``."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"
