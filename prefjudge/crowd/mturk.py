"""A crowd behind the Mechanical Turk API, through boto3: the embedded marketplace, or any that speaks it."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

from prefjudge.crowd.protocol import (
    FetchedAssignment,
    FetchedHit,
    HitRequest,
    ListedHit,
    PaidBonus,
    RefusedError,
)
from prefjudge.errors import CrowdError

REGION = "us-east-1"
_ATTEMPTS = 5
_NO_KEY = ("MissingAuthenticationTokenException", "UnrecognizedClientException")
_ASK_FOR_A_KEY = (
    "Ask its admin for a key (prefjudge serve --new-key NAME) and set AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY."
)
SIMULATED = "00000000000000000SIM"
"""The qualification by which our marketplace tells its requesters which accounts were made for simulation.

Mechanical Turk's API has no field for it, but says of system qualifications who has them; a marketplace that
does not know this one answers that it does not exist.
"""


class MTurkCrowd:
    """Implements :class:`~prefjudge.crowd.protocol.Crowd` with boto3's ``mturk`` client.

    Parameters
    ----------
    endpoint : str
        The marketplace's address. It is always given to the client, so that no environment variable or
        profile can lead the calls elsewhere.
    signed : bool, optional
        Sign the calls with the credentials that boto3 finds; None: where it finds any. Calls that are not
        signed are accepted only by a marketplace on this machine that has issued no key.
    key : tuple of str, optional
        The access key and the secret to sign with instead; no others are read.

    Notes
    -----
    Every creating or spending call carries its ``UniqueRequestToken``, so the client may retry it.
    """

    def __init__(
        self, endpoint: str, *, signed: bool | None = False, key: tuple[str, str] | None = None
    ) -> None:
        self._endpoint = endpoint
        self._client = _client(endpoint, _finds_key() if signed is None else signed, key)
        self._qualifications: dict[str, str] | None = None
        self._simulated: dict[str, bool] | None = {}

    @property
    def endpoint(self) -> str:
        """The address that the calls go to."""
        return self._endpoint

    def balance(self) -> Decimal:
        """Return what there is to spend."""
        return Decimal(str(self._call("get_account_balance")["AvailableBalance"]))

    def publish(self, hit: HitRequest) -> str:
        """Publish a HIT and return its id; the same id for a repeat."""
        try:
            created = self._call(
                "create_hit",
                UniqueRequestToken=hit.token,
                RequesterAnnotation=hit.annotation,
                Question=hit.question,
                Title=hit.title,
                Description=hit.description,
                Keywords=hit.keywords,
                Reward=str(hit.reward),
                MaxAssignments=hit.assignments,
                AssignmentDurationInSeconds=hit.duration_seconds,
                LifetimeInSeconds=hit.lifetime_seconds,
                AutoApprovalDelayInSeconds=hit.auto_approval_seconds,
                QualificationRequirements=[
                    {
                        "QualificationTypeId": need.qualification_type_id,
                        "Comparator": need.comparator,
                        **({"IntegerValues": list(need.integers)} if need.integers else {}),
                        **(
                            {"LocaleValues": [_locale(code) for code in need.locales]} if need.locales else {}
                        ),
                        "ActionsGuarded": "DiscoverPreviewAndAccept",
                    }
                    for need in hit.requirements
                ],
            )
        except _AlreadyDoneError:
            found = self.find([hit.annotation])
            if hit.annotation not in found:
                raise CrowdError(
                    f"{self._endpoint} says that the HIT {hit.annotation} exists, but does not list it",
                    "Repeat the verb in a minute.",
                ) from None
            return found[hit.annotation]
        return str(created["HIT"]["HITId"])

    def find(self, annotations: Sequence[str]) -> dict[str, str]:
        """Return the ids of this requester's HITs that carry one of the annotations."""
        wanted = set(annotations)
        return {
            hit["RequesterAnnotation"]: hit["HITId"]
            for hit in self._pages("list_hits", "HITs")
            if hit.get("RequesterAnnotation") in wanted
        }

    def listed(self) -> Iterator[ListedHit]:
        """Give this requester's HITs, the newest first, but for those that were deleted."""
        for hit in self._each("list_hits", "HITs"):
            yield _listed(hit)

    def look(self, hit_id: str) -> ListedHit:
        """Return a HIT, one that was deleted too."""
        return _listed(self._call("get_hit", HITId=hit_id)["HIT"])

    def bonuses(self, hit_id: str) -> Sequence[PaidBonus]:
        """Return the bonuses that were paid for a HIT's assignments."""
        return tuple(
            PaidBonus(
                assignment_id=paid["AssignmentId"],
                amount=Decimal(paid["BonusAmount"]),
                reason=paid["Reason"],
            )
            for paid in self._each("list_bonus_payments", "BonusPayments", HITId=hit_id)
        )

    def extend(self, hit_id: str, assignments: int, *, token: str) -> None:
        """Ask for more assignments of a HIT, from workers who have not had it."""
        try:
            self._call(
                "create_additional_assignments_for_hit",
                HITId=hit_id,
                NumberOfAdditionalAssignments=assignments,
                UniqueRequestToken=token,
            )
        except _AlreadyDoneError:
            return

    def fetch(self, hit_id: str) -> FetchedHit:
        """Return a HIT's state and all its submitted assignments."""
        hit = self._call("get_hit", HITId=hit_id)["HIT"]
        listed = self._pages("list_assignments_for_hit", "Assignments", HITId=hit_id)
        simulated = self._tell_simulated({found["WorkerId"] for found in listed})
        assignments = tuple(
            FetchedAssignment(
                assignment_id=found["AssignmentId"],
                worker_id=found["WorkerId"],
                status=found["AssignmentStatus"],
                accepted=_epoch(found.get("AcceptTime")),
                submitted=_epoch(found.get("SubmitTime")),
                answer=found.get("Answer", ""),
                simulated=None if simulated is None else simulated[found["WorkerId"]],
                feedback=found.get("RequesterFeedback", ""),
            )
            for found in listed
        )
        return FetchedHit(
            hit_id=hit_id,
            open=hit["HITStatus"] in ("Assignable", "Unassignable"),
            held=hit["HITStatus"] == "Unassignable",
            expired=hit["Expiration"] <= datetime.now(UTC),
            maximum=int(hit["MaxAssignments"]),
            assignments=assignments,
        )

    def _tell_simulated(self, workers: set[str]) -> dict[str, bool] | None:
        """Return which workers' accounts were made for simulation; None where nobody can tell.

        An account is made before its work is submitted, so that a list which is fetched after the work knows
        of it.
        """
        if self._simulated is not None and not workers <= self._simulated.keys():
            try:
                grants = self._pages(
                    "list_workers_with_qualification_type",
                    "Qualifications",
                    QualificationTypeId=SIMULATED,
                    Status="Granted",
                )
            except RefusedError:
                self._simulated = None
            else:
                known = {str(grant["WorkerId"]) for grant in grants}
                self._simulated |= {worker: worker in known for worker in workers}
        return self._simulated

    def review(self, assignment_id: str, *, approve: bool, feedback: str = "") -> None:
        """Approve or reject an assignment; a repeat is harmless."""
        wanted = "Approved" if approve else "Rejected"
        message = {"RequesterFeedback": feedback} if feedback else {}
        try:
            self._call(
                "approve_assignment" if approve else "reject_assignment",
                AssignmentId=assignment_id,
                **message,
            )
        except _WrongStateError as error:
            found = self.decision(assignment_id)
            if found != wanted.lower():
                raise RefusedError(
                    f"assignment {assignment_id} is {found or 'not submitted'}, so it cannot become {wanted}"
                ) from error

    def decision(self, assignment_id: str) -> str | None:
        """Return what was decided on an assignment, ``approved`` or ``rejected``; None where nothing was."""
        found = self._call("get_assignment", AssignmentId=assignment_id)["Assignment"]["AssignmentStatus"]
        return None if found == "Submitted" else str(found).lower()

    def bonus(self, worker_id: str, assignment_id: str, amount: Decimal, reason: str, *, token: str) -> None:
        """Pay a worker a bonus."""
        try:
            self._call(
                "send_bonus",
                WorkerId=worker_id,
                AssignmentId=assignment_id,
                BonusAmount=str(amount),
                Reason=reason,
                UniqueRequestToken=token,
            )
        except _AlreadyDoneError:
            return

    def has_bonus(self, assignment_id: str, reason: str) -> bool:
        """Return whether a bonus was paid for an assignment with this reason."""
        paid = self._pages("list_bonus_payments", "BonusPayments", AssignmentId=assignment_id)
        return any(bonus["Reason"] == reason for bonus in paid)

    def qualification(self, name: str, description: str) -> str:
        """Return the id of the requester's qualification of this name, made where there is none."""
        if self._qualifications is None:
            kinds = self._pages(
                "list_qualification_types",
                "QualificationTypes",
                MustBeRequestable=False,
                MustBeOwnedByCaller=True,
            )
            self._qualifications = {kind["Name"]: str(kind["QualificationTypeId"]) for kind in kinds}
        if name not in self._qualifications:
            made = self._call(
                "create_qualification_type",
                Name=name,
                Description=description,
                QualificationTypeStatus="Active",
            )
            self._qualifications[name] = str(made["QualificationType"]["QualificationTypeId"])
        return self._qualifications[name]

    def exclude(self, worker_id: str, qualification_type_id: str) -> None:
        """Mark a worker, without a message, so that the HITs that forbid the mark are not offered."""
        self._call(
            "associate_qualification_with_worker",
            QualificationTypeId=qualification_type_id,
            WorkerId=worker_id,
            IntegerValue=1,
            SendNotification=False,
        )

    def close(self, hit_id: str) -> None:
        """Let a HIT expire now; assignments that are held may still be submitted."""
        self._call("update_expiration_for_hit", HITId=hit_id, ExpireAt=datetime(2015, 1, 1, tzinfo=UTC))

    def delete(self, hit_id: str) -> None:
        """Give back what a closed HIT still holds, for answers that never came; a repeat is harmless."""
        try:
            self._call("delete_hit", HITId=hit_id)
        except _WrongStateError:
            if self._call("get_hit", HITId=hit_id)["HIT"]["HITStatus"] != "Disposed":
                raise

    def _pages(self, operation: str, key: str, **parameters: Any) -> list[dict[str, Any]]:
        """Read every page of a list."""
        return list(self._each(operation, key, **parameters))

    def _each(self, operation: str, key: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Read a list page by page, as far as somebody asks."""
        page = self._call(operation, MaxResults=100, **parameters)
        while True:
            yield from page.get(key, [])
            if not page.get("NextToken"):
                return
            page = self._call(operation, MaxResults=100, NextToken=page["NextToken"], **parameters)

    def _call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

        try:
            return getattr(self._client, operation)(**parameters)  # type: ignore[no-any-return]
        except ClientError as error:
            raise _explained(self._endpoint, operation, error.response) from error
        except NoCredentialsError as error:
            raise CrowdError(
                f"{self._endpoint} wants signed calls, and there is no key", _ASK_FOR_A_KEY
            ) from error
        except BotoCoreError as error:
            raise CrowdError(
                f"{self._endpoint} did not answer {operation}: {error}",
                "Is the marketplace running? Repeat the verb: what was done is not done twice.",
            ) from error


class _AlreadyDoneError(RefusedError):
    """The marketplace has seen this request token."""


class _WrongStateError(RefusedError):
    """The thing is not in the state that the call needs, perhaps because the call was made before."""


def _explained(endpoint: str, operation: str, response: dict[str, Any]) -> CrowdError:
    code = str(response.get("TurkErrorCode") or response.get("Error", {}).get("Code", ""))
    message = str(response.get("Message") or response.get("Error", {}).get("Message", ""))
    refused = response.get("Error", {}).get("Code") in ("RequestError", "ParameterValidationError")
    kind: type[CrowdError] = RefusedError if refused else CrowdError
    if re.search(r"(?i)HITAlreadyExists|RequestAlreadyMade|DuplicateRequest|IdempotentRequest", code):
        kind = _AlreadyDoneError
    elif re.search(r"InvalidAssignmentState|InvalidHITState", code):
        kind = _WrongStateError
    hint = _ASK_FOR_A_KEY if code in _NO_KEY else ""
    return kind(f"{endpoint} refused {operation}: {message} [{code}]", hint)


def _client(endpoint: str, signed: bool, key: tuple[str, str] | None) -> Any:
    """Return a client pinned to ``endpoint``."""
    from botocore import UNSIGNED
    from botocore.config import Config

    config = Config(
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        connect_timeout=10,
        read_timeout=60,
        **({} if signed or key else {"signature_version": UNSIGNED}),
    )
    session = _kept_session() if key or not signed else _session()  # one that is kept keeps old credentials
    given = {"aws_access_key_id": key[0], "aws_secret_access_key": key[1]} if key else {}
    return session.client("mturk", endpoint_url=endpoint, config=config, **given)


def _finds_key() -> bool:
    """Tell whether boto3 finds a key on this machine; a cloud's services that hand out keys are not asked."""
    from botocore.session import get_session

    found = get_session().get_component("credential_provider")
    for elsewhere in ("container-role", "iam-role"):
        found.remove(elsewhere)
    return found.load_credentials() is not None


@cache
def _kept_session() -> Any:
    """Return a session that has read the API's description once for all its clients."""
    return _session()


def _session() -> Any:
    import boto3
    from botocore.session import get_session

    session = get_session()
    if "mturk" not in session.get_available_services():
        loader = session.get_component("data_loader")
        loader.search_paths.append(str(files("prefjudge") / "marketplace" / "api" / "service"))
    return boto3.Session(botocore_session=session, region_name=REGION)


def _listed(hit: dict[str, Any]) -> ListedHit:
    return ListedHit(
        hit_id=hit["HITId"],
        annotation=hit.get("RequesterAnnotation") or "",
        question=hit.get("Question", ""),
        created=hit["CreationTime"].timestamp(),
        reward=Decimal(hit["Reward"]),
        deleted=hit["HITStatus"] == "Disposed",
    )


def _epoch(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None


def _locale(code: str) -> dict[str, str]:
    country, _, subdivision = code.partition("-")
    return {"Country": country, **({"Subdivision": subdivision} if subdivision else {})}
