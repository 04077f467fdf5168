"""The errors of the API, as its clients know them."""

from prefjudge.errors import PrefjudgeError


class ApiError(PrefjudgeError):
    """A refusal that travels to the client as JSON."""

    status = 400
    type = "RequestError"

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class RequestError(ApiError):
    """The request cannot be granted; ``code`` is its TurkErrorCode."""


class ServiceFault(ApiError):  # noqa: N818 - the protocol's word
    """The marketplace failed; a client may try again."""

    status = 500
    type = "ServiceFault"


class Throttled(ApiError):  # noqa: N818
    """Too many requests; a client waits and tries again."""

    type = "ThrottlingException"

    def __init__(self) -> None:
        super().__init__("Rate exceeded")


class UnknownOperation(ApiError):  # noqa: N818
    """There is no such operation."""

    type = "UnknownOperationException"


class AccessDenied(ApiError):  # noqa: N818
    """The signature is missing or wrong; ``type`` says which."""

    status = 403

    def __init__(self, message: str, type: str) -> None:
        super().__init__(message)
        self.type = type


TURK = "AWS.MechanicalTurk."


def refused(code: str, message: str) -> RequestError:
    """Return a RequestError with the TurkErrorCode ``AWS.MechanicalTurk.<code>``."""
    return RequestError(message, TURK + code)


def invalid(where: str, problem: str) -> RequestError:
    """Return the error of a parameter whose value cannot be."""
    return refused("InvalidParameterValue", f"{where}: {problem}")


def missing(kind: str, ident: str) -> RequestError:
    """Return the error of an id that names nothing the requester may see."""
    return refused(f"{kind}DoesNotExist", f"{kind} {ident} does not exist.")
