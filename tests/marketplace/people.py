"""The people of a marketplace, as tests play them: admin, requester, worker; all over HTTP."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
import urllib3
from botocore import UNSIGNED
from botocore.config import Config
from urllib3.util import Retry

from prefjudge.crowd.mturk import client
from prefjudge.errors import CrowdError
from prefjudge.marketplace.server import Server

Requester = Any
HTTP = urllib3.PoolManager(retries=False)
JSON = {"Accept": "application/json"}
HTML = "<!DOCTYPE html><html><head><title>t</title></head><body><form></form></body></html>"
_SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
_SESSION = boto3.session.Session()


def html_question(html: str = HTML, height: int = 0) -> str:
    return (
        f'<HTMLQuestion xmlns="{_SCHEMAS}/2011-11-11/HTMLQuestion.xsd"><HTMLContent><![CDATA[{html}]]>'
        f"</HTMLContent><FrameHeight>{height}</FrameHeight></HTMLQuestion>"
    )


def external_question(url: str = "https://example.org/study?a=1") -> str:
    return (
        f'<ExternalQuestion xmlns="{_SCHEMAS}/2006-07-14/ExternalQuestion.xsd">'
        f"<ExternalURL>{url}</ExternalURL><FrameHeight>600</FrameHeight></ExternalQuestion>"
    )


def question_form(questions: str = "", overview: str = "") -> str:
    questions = questions or selection("colour", "red", "blue")
    return (
        f'<QuestionForm xmlns="{_SCHEMAS}/2017-11-06/QuestionForm.xsd">{overview}{questions}</QuestionForm>'
    )


def selection(name: str, *options: str, style: str = "radiobutton") -> str:
    shown = "".join(
        f"<Selection><SelectionIdentifier>{one}</SelectionIdentifier><Text>{one}</Text></Selection>"
        for one in options
    )
    return (
        f"<Question><QuestionIdentifier>{name}</QuestionIdentifier><IsRequired>true</IsRequired>"
        f"<QuestionContent><Text>Which {name}?</Text></QuestionContent><AnswerSpecification>"
        f"<SelectionAnswer><StyleSuggestion>{style}</StyleSuggestion><Selections>{shown}</Selections>"
        "</SelectionAnswer></AnswerSpecification></Question>"
    )


def post(url: str, headers: Any = None, /, **fields: Any) -> urllib3.BaseHTTPResponse:
    """Send a form as a browser does, and follow nothing."""
    return HTTP.request("POST", url, fields=fields, encode_multipart=False, headers=headers, redirect=False)


class Clock:
    """Tells the time that the test wants."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


def new_requester(
    endpoint: str, keys: tuple[str, str] | None = None, attempts: int = 1, **more: Any
) -> Requester:
    config: dict[str, Any] = {"retries": {"total_max_attempts": attempts}}
    if keys is None:
        config["signature_version"] = UNSIGNED
    else:
        more |= {"aws_access_key_id": keys[0], "aws_secret_access_key": keys[1]}
    return _SESSION.client(
        "mturk", region_name="us-east-1", endpoint_url=endpoint, config=Config(**config), **more
    )


def offer(requester: Requester, **changes: Any) -> dict[str, Any]:
    """Offer a HIT and return it."""
    properties = {
        "Title": "Which passage is better?",
        "Description": "Compare passages.",
        "Reward": "2.00",
        "AssignmentDurationInSeconds": 600,
        "LifetimeInSeconds": 3600,
        "MaxAssignments": 1,
        "Question": html_question(),
    }
    return requester.create_hit(**{**properties, **changes})["HIT"]


def turk_error(call, *args: Any, **params: Any) -> str:
    """Make a call that must fail, and return its TurkErrorCode without the prefix, or its error code."""
    from botocore.exceptions import ClientError

    try:
        call(*args, **params)
    except ClientError as error:
        code = error.response.get("TurkErrorCode") or error.response["Error"]["Code"]
        return code.rpartition(".")[2]
    raise AssertionError("the call went well")


class Admin:
    """Holds the admin token."""

    def __init__(self, server: Server) -> None:
        self.endpoint, self.http = server.endpoint, urllib3.PoolManager(retries=Retry(0))
        self.headers = {"Authorization": f"Bearer {server.admin_token}", "Accept": "application/json"}
        self._workers = 0

    def call(self, verb: str, path: str, body: Any = None, status: int = 200) -> Any:
        answer = self.http.request(verb, self.endpoint + path, json=body, headers=self.headers)
        assert answer.status == status, answer.data
        return answer.json()

    def worker(self, **known: Any) -> "Worker":
        self._workers += 1
        known = {
            "name": f"worker{self._workers}",
            "locale": "US",
            "approved": 1000,
            "approval_rate": 99,
            **known,
        }
        joined = self.call("POST", "/admin/workers", known, status=201)
        return Worker(self.endpoint, self.http, joined["invite"])


class Worker:
    """Signed in by invitation."""

    def __init__(self, endpoint: str, http: urllib3.PoolManager, invite: str) -> None:
        self.endpoint, self.http = endpoint, http
        self.headers = {"Accept": "application/json"}
        answer = self.post("/signin", {"invite": invite})
        self.worker_id = answer["worker_id"]
        self.headers |= {"Cookie": self.cookie, "X-CSRF-Token": answer["csrf"]}

    def request(self, verb: str, path: str, fields: Any = None) -> urllib3.BaseHTTPResponse:
        url = path if path.startswith("http") else self.endpoint + path
        more: dict[str, Any] = {}
        if verb == "POST":
            more = {"fields": fields or {}, "encode_multipart": False}
        return self.http.request(verb, url, headers=self.headers, redirect=False, **more)

    def get(self, path: str, status: int = 200) -> Any:
        answer = self.request("GET", path)
        assert answer.status == status, answer.data
        return answer.json()

    def post(self, path: str, fields: Any = None, status: int = 200) -> Any:
        answer = self.request("POST", path, fields)
        assert answer.status == status, answer.data
        if "set-cookie" in answer.headers:
            self.cookie = answer.headers["set-cookie"].split(";")[0]
        return answer.json()

    def groups(self) -> list[dict[str, Any]]:
        return self.get("/hits")["groups"]

    def accept(self, hit: dict[str, Any]) -> dict[str, Any]:
        return self.post(f"/hits/{hit['HITId']}/accept", status=201)

    def refused(self, hit: dict[str, Any]) -> str:
        answer = self.request("POST", f"/hits/{hit['HITId']}/accept")
        assert answer.status >= 400
        return answer.json()["code"]

    def submit(self, assignment_id: str, fields: dict[str, str] | None = None, status: int = 200) -> Any:
        given = {"assignmentId": assignment_id, **(fields or {"choice": "a"})}
        return self.post("/mturk/externalSubmit", given, status=status)

    def do(self, hit: dict[str, Any], fields: dict[str, str] | None = None) -> str:
        """Accept and submit; return the assignment's id."""
        ident = self.accept(hit)["assignment_id"]
        self.submit(ident, fields)
        return ident


SPENDS = ("create_hit", "create_additional_assignments_for_hit", "send_bonus")


@contextmanager
def losing_replies(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Carry out what is asked for, and lose the reply to each call that creates or spends."""
    made = client.Client.call

    def lost(self: client.Client, operation: str, **parameters: Any) -> dict[str, Any]:
        reply = made(self, operation, **parameters)
        if operation in SPENDS:
            raise CrowdError("the line is dead")
        return reply

    with patch.context() as patched:
        patched.setattr(client.Client, "call", lost)
        yield
