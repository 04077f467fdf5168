"""Workers' requests for qualifications: granted at once, by a test's score, or by the requester."""

from dataclasses import dataclass, replace

from prefjudge.marketplace.errors import Refusal, missing, refused
from prefjudge.marketplace.people import qualifications
from prefjudge.marketplace.people.qualifications import QualificationType
from prefjudge.marketplace.questions.answers import Fields
from prefjudge.marketplace.store.ids import new_id
from prefjudge.marketplace.store.marketplace import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class QualificationRequest:
    """A worker's request for a qualification."""

    request_id: str
    qualification_type_id: str
    requester_id: str
    worker_id: str
    status: str
    answer: str | None = None
    started: float
    submitted_at: float | None = None
    reason: str | None = None


def latest(tx: Transaction, kind: QualificationType, worker_id: str) -> QualificationRequest | None:
    """Return the worker's last request of this type; it is Rejected if the time for its test ran out."""
    last = tx.find(
        QualificationRequest,
        "FROM qualification_requests WHERE qualification_type_id = :type AND worker_id = :worker"
        " ORDER BY seq DESC LIMIT 1",
        type=kind.qualification_type_id,
        worker=worker_id,
    )
    tested = last is not None and last.status == "Open" and kind.test is not None
    if last and tested and last.started + (kind.test_duration or 0) <= tx.now:
        return replace(last, status="Rejected")
    return last


def begin(tx: Transaction, type_id: str, worker_id: str) -> None:
    """Request a qualification; if it has a test, the worker's time for it starts now.

    Raises
    ------
    Refusal
        ``closed``, ``pending``, or ``retry_later`` (``never`` where the type allows no second request).
    """
    kind = _requestable(tx, type_id)
    last = latest(tx, kind, worker_id)
    if last and last.status == "Open" and kind.test is not None:
        return
    if last and last.status == "Submitted":
        raise Refusal("pending", "Your request is waiting for the requester.")
    if last and last.status in ("Granted", "Rejected"):
        _refuse_retry(tx, kind, last)
    request = QualificationRequest(
        request_id=new_id(),
        qualification_type_id=type_id,
        requester_id=kind.requester_id,
        worker_id=worker_id,
        status="Open",
        started=tx.now,
    )
    tx.insert("qualification_requests", request)
    if kind.test is None:
        finish(tx, type_id, worker_id, [])


def _requestable(tx: Transaction, type_id: str) -> QualificationType:
    kind = tx.find(
        QualificationType,
        "FROM qualification_types WHERE qualification_type_id = :id AND deleted = 0 AND status = 'Active'",
        id=type_id,
    )
    if kind is None:
        raise _closed()
    return kind


def _closed() -> Refusal:
    return Refusal("closed", "This qualification cannot be requested.", 404)


def _refuse_retry(tx: Transaction, kind: QualificationType, last: QualificationRequest) -> None:
    if kind.retry_delay is None:
        raise Refusal("never", "This qualification can be requested only once.")
    if (last.submitted_at or last.started) + kind.retry_delay > tx.now:
        raise Refusal("retry_later", "You can request it again later.")


def finish(tx: Transaction, type_id: str, worker_id: str, fields: Fields) -> None:
    """Submit a request, with the answers to its test, and grant it if no person has to decide.

    Who has begun a test may hand it in, even if it can be requested no more.

    Raises
    ------
    Refusal
        ``closed``, ``no_request``, ``too_late``, or ``incomplete`` answers.
    """
    kind = qualifications.get_type(tx, type_id)
    if kind is None:
        raise _closed()
    request = latest(tx, kind, worker_id)
    if request and request.status == "Rejected" and request.submitted_at is None:
        raise Refusal("too_late", "The time for the test is over.", 410)
    if request is None or request.status != "Open":
        raise _no_request()
    fields = list(fields)
    # Of two that hand in at once, in processes that do not see each other, one does.
    handed_in = tx.rows(
        "UPDATE qualification_requests SET status = 'Submitted', submitted_at = :now, answer = :answer"
        " WHERE request_id = :id AND status = 'Open' RETURNING seq",
        now=tx.now,
        answer=_answer(kind.test, fields),
        id=request.request_id,
    )
    if not handed_in:
        raise _no_request()
    if kind.auto_granted:
        accept(tx, request, kind.auto_value)
    elif kind.answer_key is not None:
        from prefjudge.marketplace.questions.answer_keys import read_answer_key

        accept(tx, request, read_answer_key(kind.answer_key).score(fields))


def _no_request() -> Refusal:
    return Refusal("no_request", "You have no open request for this qualification.")


def _answer(test: str | None, fields: Fields) -> str | None:
    if test is None:
        return None
    from prefjudge.marketplace.questions.form_answers import write_answers_to

    return write_answers_to(test, "Test", fields)


def find(tx: Transaction, requester_id: str, request_id: str) -> QualificationRequest:
    """Return a request that waits for its requester.

    Raises
    ------
    RequestError
        ``QualificationRequestDoesNotExist``, or it is decided.
    """
    found = tx.find(
        QualificationRequest,
        f"FROM qualification_requests WHERE request_id = :id AND requester_id = :requester{tx.locked}",
        id=request_id,
        requester=requester_id,
    )
    if found is None or found.status == "Open":
        raise missing("QualificationRequest", request_id)
    if found.status != "Submitted":
        raise refused("InvalidQualificationState", f"The request {request_id} is {found.status}.")
    return found


def accept(tx: Transaction, request: QualificationRequest, value: int) -> None:
    """Grant a request."""
    qualifications.grant(tx, request.qualification_type_id, request.worker_id, value)
    _close(tx, request, "Granted", None)


def reject(tx: Transaction, request: QualificationRequest, reason: str | None) -> None:
    """Reject a request."""
    _close(tx, request, "Rejected", reason)


def _close(tx: Transaction, request: QualificationRequest, status: str, reason: str | None) -> None:
    tx.run(
        "UPDATE qualification_requests SET status = :status, reason = :reason WHERE request_id = :id",
        status=status,
        reason=reason,
        id=request.request_id,
    )
