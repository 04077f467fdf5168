"""The requests and answers of Prolific's API, as its OpenAPI document allows them, in our own words.

Only what the crowd uses stands here. Where PREFJUDGE_PROLIFIC_DOCUMENT names the document itself (YAML), a
test holds the exchanges of a whole study against it, too.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from prefjudge.crowd.prolific.standin import DeclinedError


class NotAllowedError(DeclinedError):
    """A request that the document does not allow."""

    def __init__(self, detail: str) -> None:
        super().__init__(400, detail)


@dataclass(frozen=True)
class Exchange:
    """A call and its answer."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    status: int
    said: Any


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Review(_Sent):
    action: Literal["MANUALLY_REVIEW", "AUTOMATICALLY_APPROVE"]


class RequestReturn(_Sent):
    action: Literal["REQUEST_RETURN"]
    return_reason: str


class DynamicPayment(_Sent):
    action: Literal["DYNAMIC_PAYMENT"]


class Code(_Sent):
    code: str | None
    code_type: Literal[
        "COMPLETED", "FAILED_ATTENTION_CHECK", "FOLLOW_UP_STUDY", "GIVE_BONUS", "INCOMPATIBLE_DEVICE",
        "NO_CONSENT", "OTHER", "FIXED_SCREENOUT", "SCREENED_IN", "SCREENED_OUT",
    ]  # fmt: skip
    actions: list[Review | RequestReturn | DynamicPayment]
    actor: Literal["participant", "researcher"] = "participant"


class Filter(_Sent):
    filter_id: str
    selected_values: list[str]


class Config(_Sent):
    max_submissions_per_participant: int | None = 1
    max_concurrent_submissions: int | None = -1


class Draft(_Sent):
    name: str
    internal_name: str | None = None
    description: str
    external_study_url: str
    prolific_id_option: Literal["question", "url_parameters", "not_required"]
    completion_codes: list[Code]
    total_available_places: int
    estimated_completion_time: int
    maximum_allowed_time: int = 0
    reward: int
    device_compatibility: list[Literal["desktop", "tablet", "mobile"]] = []
    filters: list[Filter] | None = None
    project: str = ""
    submissions_config: Config = Config()
    metadata: str | None = None
    is_external_study_url_secure: bool = False


class Change(_Sent):
    internal_name: str | None = None
    total_available_places: int = 0
    submissions_config: Config = Config()


class Move(_Sent):
    action: Literal["PUBLISH", "SCHEDULE_PUBLISH", "CANCEL_PUBLISH", "PAUSE", "START", "STOP"]


class Price(_Sent):
    reward: int
    total_available_places: int


class Share(_Sent):
    percentage_of_reward: float
    message_to_participant: str | None = None


class Decision(_Sent):
    action: Literal["APPROVE", "COMPLETE", "REJECT", "RETURN", "START", "SCREEN_OUT", "UNREJECT", "UNRETURN"]
    message: str | None = None
    rejection_category: Literal[
        "TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK",
        "LOW_EFFORT", "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER", None,
    ] = None  # fmt: skip
    completion_code: str | None = None
    completion_code_data: Share | None = None

    def model_post_init(self, _: Any) -> None:
        if self.action == "REJECT" and not (len(self.message or "") >= 100 and self.rejection_category):
            raise NotAllowedError("A rejection has a message of 100 characters and a category.")


class AskBack(_Sent):
    request_return_reasons: list[str]


class Bonuses(_Sent):
    study_id: str
    csv_bonuses: str


class NewGroup(_Sent):
    name: str
    workspace_id: str
    description: str = ""
    participant_ids: list[str] = []


class Members(_Sent):
    participant_ids: list[str]


class _Said(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class SaidStudy(_Said):
    id: str
    name: str
    internal_name: str | None
    status: Literal[
        "UNPUBLISHED", "SCHEDULED", "PUBLISHING", "ACTIVE", "AWAITING REVIEW", "PAUSED", "COMPLETED"
    ]
    reward: int
    total_available_places: int
    places_taken: int


Status = Literal[
    "RESERVED", "ACTIVE", "TIMED-OUT", "AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED", "RETURNED",
    "REJECTED", "SCREENED OUT", "UNKNOWN",
]  # fmt: skip


class SaidSubmission(_Said):
    id: str
    participant_id: str
    status: Status
    started_at: str
    completed_at: str | None
    has_siblings: bool
    study_code: str | None


class SaidDetail(_Said):
    id: str
    participant: str
    status: Status
    started_at: str
    study_id: str
    bonus_payments: list[int] = []


class SaidBulk(_Said):
    id: str
    total_amount: int


_ID = r"\w+"
REQUESTS: tuple[tuple[str, str, type[_Sent]], ...] = (
    ("POST", "/api/v1/studies/", Draft),
    ("PATCH", rf"/api/v1/studies/{_ID}/", Change),
    ("POST", rf"/api/v1/studies/{_ID}/transition/", Move),
    ("POST", "/api/v1/study-cost-calculator/", Price),
    ("POST", rf"/api/v1/submissions/{_ID}/transition/", Decision),
    ("POST", rf"/api/v1/submissions/{_ID}/request-return/", AskBack),
    ("POST", "/api/v1/submissions/bonus-payments/", Bonuses),
    ("POST", "/api/v1/participant-groups/", NewGroup),
    ("POST", rf"/api/v1/participant-groups/{_ID}/participants/", Members),
    ("DELETE", rf"/api/v1/participant-groups/{_ID}/participants/", Members),
)
QUERIES: tuple[tuple[str, frozenset[str], frozenset[str]], ...] = (  # path, must have, may have
    ("/api/v1/submissions/", frozenset({"study"}), frozenset({"page", "page_size", "ordering", "status"})),
    (rf"/api/v1/projects/{_ID}/studies/", frozenset(), frozenset({"page", "page_size", "ordering"})),
    ("/api/v1/participant-groups/", frozenset({"workspace_id"}), frozenset({"active"})),
)
ANSWERS: tuple[tuple[str, str, type[_Said]], ...] = (
    ("GET", rf"/api/v1/projects/{_ID}/studies/", SaidStudy),
    ("POST", "/api/v1/studies/", SaidStudy),
    ("GET", rf"/api/v1/studies/{_ID}/", SaidStudy),
    ("PATCH", rf"/api/v1/studies/{_ID}/", SaidStudy),
    ("POST", rf"/api/v1/studies/{_ID}/transition/", SaidStudy),
    ("GET", "/api/v1/submissions/", SaidSubmission),
    ("GET", rf"/api/v1/submissions/{_ID}/", SaidDetail),
    ("POST", rf"/api/v1/submissions/{_ID}/transition/", SaidDetail),
    ("POST", "/api/v1/submissions/bonus-payments/", SaidBulk),
)


class Words:
    """Holds each call of a stand-in, and its answer; ``exchanges`` are those that were carried out."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def __call__(
        self, method: str, path: str, query: dict[str, str], body: Any, status: int = 0, said: Any = None
    ) -> None:
        if not status:
            hold_request(method, path, query, body)
            return
        self.exchanges.append(Exchange(method, path, query, body, status, said))
        hold_answer(method, path, said)


def hold_request(method: str, path: str, query: dict[str, str], body: Any) -> None:
    """Refuse a request that the document does not allow."""
    for pattern, must, may in QUERIES:
        if method == "GET" and re.fullmatch(pattern, path) and not must <= set(query) <= must | may:
            raise NotAllowedError(f"{sorted(query)} are not the parameters of {path}")
    for verb, pattern, kind in REQUESTS:
        if verb == method and re.fullmatch(pattern, path):
            try:
                kind.model_validate(body)
            except ValidationError as error:
                raise NotAllowedError(str(error)) from None
            return
    if body is not None:
        raise NotAllowedError(f"{method} {path} takes no body")


def hold_answer(method: str, path: str, said: Any) -> None:
    """Fail where the stand-in answers what the document does not allow."""
    for verb, pattern, kind in ANSWERS:
        if verb == method and re.fullmatch(pattern, path):
            for one in said["results"] if isinstance(said, dict) and "results" in said else [said]:
                kind.model_validate(one)


def hold_against_document(exchanges: list[Exchange], path: str) -> int:
    """Hold calls and their answers against the OpenAPI document; return how many were held.

    Its choices (`oneOf`) overlap, so that one of them or several may fit.
    """
    import jsonschema
    import yaml

    text = Path(path).read_text(encoding="utf-8").replace("oneOf:", "anyOf:")
    document = yaml.load(text, Loader=yaml.CSafeLoader)
    paths = {
        re.sub(r"\\\{\w+\\\}", r"[^/]+", re.escape(one)): kinds for one, kinds in document["paths"].items()
    }
    # the most specific one: /submissions/bonus-payments/ before /submissions/{id}/
    ordered = sorted(paths.items(), key=lambda one: one[0].count("[^/]+"))

    def hold(value: Any, schema: dict[str, Any]) -> None:
        jsonschema.Draft202012Validator({**schema, "components": document["components"]}).validate(value)

    for one in exchanges:
        kinds = next(kinds for pattern, kinds in ordered if re.fullmatch(pattern, one.path))
        called = kinds[one.method.lower()]
        if one.body is not None:
            hold(one.body, called["requestBody"]["content"]["application/json"]["schema"])
        hold(one.said, called["responses"][str(one.status)]["content"]["application/json"]["schema"])
        known = {parameter["name"] for parameter in called["parameters"]} | {"workspace_id"}
        assert set(one.query) <= known, f"{one.path} has no parameter {set(one.query) - known}"
    return len(exchanges)
