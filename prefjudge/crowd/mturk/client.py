"""Calls of the Mechanical Turk API through boto3, what its errors mean, and who answers at an address."""

import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from prefjudge.crowd.protocol import Identity, RefusedError, UnknownError
from prefjudge.errors import CrowdError
from prefjudge.version import __version__

REGION = "us-east-1"
MOST_LISTED = 100
"""The most that one page of a list may have."""
_ATTEMPTS = 5
_TIMEOUT = 10.0, 60.0
"""Seconds to wait for a connection, and for an answer."""
_AGENT = f"prefjudge/{__version__}"  # boto3's own takes a fifth of a call to put together
_NO_KEY = ("MissingAuthenticationTokenException", "UnrecognizedClientException")
_ASK_FOR_A_KEY = (
    "Ask its admin for a key (prefjudge serve --new-key NAME) and set AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY."
)
_DONE_BEFORE = re.compile(r"(?i)AlreadyExists|RequestAlreadyMade|DuplicateRequest|IdempotentRequest")
_WRONG_STATE = re.compile(r"InvalidAssignmentState|InvalidHITState")
_NOTHING_DONE = (
    *("RequestError", "ParameterValidationError"),
    *("UnknownOperationException", "InvalidAction", "NotImplemented", "404", "405", "501"),
)
"""Codes that mean that nothing was done; those of the second line are of servers without the operation."""


class AlreadyDoneError(RefusedError):
    """The marketplace has seen this request token, or has a thing of this name."""


class WrongStateError(RefusedError):
    """The HIT or assignment is not in the state that the call needs, perhaps because of an earlier call."""


class Client:
    """Calls a marketplace by the names of the API's operations.

    Its address is always given to boto3, so that no environment variable or profile leads the calls
    elsewhere. They are signed by the access key and the secret of ``key``; without it by the credentials that
    boto3 finds, if ``signed``, or if it is None and there are any. A call may be unsigned only to a
    marketplace on this machine that has issued no key.
    """

    def __init__(self, endpoint: str, *, signed: bool | None, key: tuple[str, str] | None) -> None:
        self.endpoint = endpoint
        self._signed = signed
        self._key = key

    @cached_property
    def _boto(self) -> Any:
        """boto3's client, loaded at the first call."""
        signed = self._key is None and (_finds_key() if self._signed is None else self._signed)
        return _boto_client(self.endpoint, signed, self._key)

    def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Make one call."""
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

        try:
            return getattr(self._boto, operation)(**parameters)  # type: ignore[no-any-return]
        except ClientError as error:
            raise _explained(self.endpoint, operation, error.response) from error
        except NoCredentialsError as error:
            raise CrowdError(
                f"{self.endpoint} needs signed calls, and there is no key", _ASK_FOR_A_KEY
            ) from error
        except BotoCoreError as error:
            raise CrowdError(
                f"{self.endpoint} did not answer {operation}: {error}",
                "Check that the marketplace is running. Repeat the verb: nothing is done twice.",
            ) from error

    def each(self, operation: str, key: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Yield a list's items, fetching pages only as needed."""
        for page in self.pages(operation, **parameters):
            yield from page.get(key, [])

    def pages(self, operation: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Yield a list's pages, fetching each only as needed."""
        page = self.call(operation, MaxResults=MOST_LISTED, **parameters)
        yield page
        while page.get("NextToken"):
            page = self.call(operation, MaxResults=MOST_LISTED, NextToken=page["NextToken"], **parameters)
            yield page


def _explained(endpoint: str, operation: str, response: dict[str, Any]) -> CrowdError:
    error = response.get("Error", {})
    code = str(response.get("TurkErrorCode") or error.get("Code", ""))
    message = str(response.get("Message") or error.get("Message", ""))
    kind: type[CrowdError] = RefusedError if error.get("Code") in _NOTHING_DONE else CrowdError
    if _DONE_BEFORE.search(code):
        kind = AlreadyDoneError
    elif _WRONG_STATE.search(code):
        kind = WrongStateError
    elif code.endswith("WorkerDoesNotExist"):
        kind = UnknownError
    hint = _ASK_FOR_A_KEY if code in _NO_KEY else ""
    return kind(f"{endpoint} refused {operation}: {message} [{code}]", hint)


def _boto_client(endpoint: str, signed: bool, key: tuple[str, str] | None) -> Any:
    """Return a client pinned to ``endpoint``."""
    from botocore import UNSIGNED
    from botocore.config import Config

    config = Config(
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        connect_timeout=_TIMEOUT[0],
        read_timeout=_TIMEOUT[1],
        user_agent=_AGENT,
        **({} if signed or key else {"signature_version": UNSIGNED}),
    )
    session = _kept_session() if key or not signed else _session()  # a kept session keeps old credentials
    given = {"aws_access_key_id": key[0], "aws_secret_access_key": key[1]} if key else {}
    return session.client("mturk", endpoint_url=endpoint, config=config, **given)


def _finds_key() -> bool:
    """Tell whether boto3 finds a key on this machine, without asking a cloud's services for one."""
    from botocore.session import get_session

    found = get_session().get_component("credential_provider")
    for elsewhere in ("container-role", "iam-role"):
        found.remove(elsewhere)
    return found.load_credentials() is not None


@cache
def _kept_session() -> Any:
    """Return one session for all clients, so that the API's description is read once."""
    return _session()


def _session() -> Any:
    import boto3
    from botocore.session import get_session

    session = get_session()
    if "mturk" not in session.get_available_services():
        loader = session.get_component("data_loader")
        loader.search_paths.append(str(files("prefjudge") / "marketplace" / "api" / "service"))
    return boto3.Session(botocore_session=session, region_name=REGION)


# Who answers at a marketplace's address: prefjudge's gives its id, any other is known by its address.


def ask_identity(endpoint: str) -> Identity:
    """Return the id of prefjudge's marketplace and whether it is a sandbox; or another one's address."""
    # The API itself has no call for either.
    said = _ask(endpoint)
    try:
        return Identity(name=str(said["marketplace"]), play_money=bool(said["sandbox"]))
    except KeyError:
        parts = urlsplit(endpoint)
        return Identity(name=f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/"), play_money=None)


def knows_comparator(endpoint: str, name: str) -> bool:
    """Return whether a marketplace says that it has a comparator of qualifications that the API lacks."""
    known = _ask(endpoint).get("comparators")
    return isinstance(known, list) and name in known


def _ask(endpoint: str) -> Mapping[str, object]:
    """Return what prefjudge's marketplace says of itself; nothing where another server answers."""
    import urllib3

    url = f"{endpoint.rstrip('/')}/healthz"
    try:
        reply = urllib3.PoolManager(retries=2, timeout=10.0).request("GET", url)
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        raise _silent(endpoint) from error
    if reply.status >= 500:  # a web server without its marketplace must not count as another marketplace
        raise _silent(endpoint)
    try:
        said = reply.json()
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def refuse_closed(endpoint: str) -> None:
    """Refuse an address of Amazon Mechanical Turk, which has closed."""
    if (urlsplit(endpoint).hostname or "").endswith(".amazonaws.com"):
        raise CrowdError(
            f"{endpoint} is Amazon Mechanical Turk, which AWS announced to close for good on "
            "30 September 2026",
            "Run a marketplace of your own with the same API (prefjudge serve), and give the target its url.",
        )


def _silent(endpoint: str) -> CrowdError:
    return CrowdError(
        f"no marketplace answers at {endpoint}",
        "Check that `prefjudge serve` is running there, and the address in study.toml.",
    )
