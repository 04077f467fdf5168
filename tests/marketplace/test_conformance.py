"""Every operation of the service model: valid, missing, unknown, too long and wrong-typed parameters."""

import json
import re
from typing import Any

import botocore.session
import pytest

from prefjudge.marketplace.api.operations import OPERATIONS
from prefjudge.marketplace.api.wire import SERVICE_FOLDER, mturk
from prefjudge.marketplace.server import start
from tests.marketplace.people import HTTP, Admin, Clock, html_question, new_requester, offer, question_form

SESSION = botocore.session.get_session()
SESSION.get_component("data_loader").search_paths.append(str(SERVICE_FOLDER))  # should botocore have lost it
MODEL = SESSION.get_service_model("mturk")
NOTIFICATION = {
    "Destination": "https://example.org/hook",
    "Transport": "SNS",
    "Version": "2006-05-05",
    "EventTypes": ["HITReviewable"],
}
TYPE = {"Title": "t", "Description": "d", "Reward": "1.00", "AssignmentDurationInSeconds": 60}
HIT = {"LifetimeInSeconds": 60, "Question": html_question()}
KIND = {"Description": "d", "QualificationTypeStatus": "Active"}


class World:
    """A marketplace with one of everything, made as it is asked for."""

    def __init__(self, server) -> None:
        self.requester, self.admin = new_requester(server.endpoint), Admin(server)
        self.worker = self.admin.worker(name=None)
        self.made = 0

    def hit(self, **changes: Any) -> str:
        return offer(self.requester, **changes)["HITId"]

    def submitted(self) -> str:
        return self.worker.do({"HITId": self.hit()})

    def approved(self) -> str:
        ident = self.submitted()
        self.requester.approve_assignment(AssignmentId=ident)
        return ident

    def reviewable(self) -> str:
        hit = self.hit()
        self.requester.update_expiration_for_hit(HITId=hit, ExpireAt=0)
        return hit

    def hit_type(self) -> str:
        return self.requester.create_hit_type(**TYPE)["HITTypeId"]

    def kind(self) -> str:
        self.made += 1
        made = self.requester.create_qualification_type(Name=f"kind {self.made}", **KIND)
        return made["QualificationType"]["QualificationTypeId"]

    def granted(self) -> dict[str, str]:
        both = {"QualificationTypeId": self.kind(), "WorkerId": self.worker.worker_id}
        self.requester.associate_qualification_with_worker(**both)
        return both

    def request(self) -> str:
        kind = self.kind()
        self.worker.post(f"/qualifications/{kind}")
        (made,) = self.requester.list_qualification_requests(QualificationTypeId=kind)[
            "QualificationRequests"
        ]
        return made["QualificationRequestId"]

    def bonus(self) -> dict[str, str]:
        return {
            "WorkerId": self.worker.worker_id,
            "AssignmentId": self.submitted(),
            "BonusAmount": "0.10",
            "Reason": "well done",
        }


VALID = {
    "AcceptQualificationRequest": lambda w: {"QualificationRequestId": w.request(), "IntegerValue": 3},
    "ApproveAssignment": lambda w: {
        "AssignmentId": w.submitted(),
        "RequesterFeedback": "ok",
        "OverrideRejection": False,
    },
    "AssociateQualificationWithWorker": lambda w: {
        "QualificationTypeId": w.kind(),
        "WorkerId": w.worker.worker_id,
        "IntegerValue": 1,
        "SendNotification": False,
    },
    "CreateAdditionalAssignmentsForHIT": lambda w: {"HITId": w.hit(), "NumberOfAdditionalAssignments": 1},
    "CreateHIT": lambda w: {
        **TYPE,
        **HIT,
        "MaxAssignments": 2,
        "AutoApprovalDelayInSeconds": 5,
        "Keywords": "k",
        "RequesterAnnotation": "a",
        "QualificationRequirements": [
            {"QualificationTypeId": w.kind(), "Comparator": "GreaterThan", "IntegerValues": [3]}
        ],
    },
    "CreateHITType": lambda w: {**TYPE, "Keywords": "k", "AutoApprovalDelayInSeconds": 5},
    "CreateHITWithHITType": lambda w: {**HIT, "HITTypeId": w.hit_type(), "MaxAssignments": 1},
    "CreateQualificationType": lambda w: {
        **KIND,
        "Name": f"with a test {w.kind()}",
        "Keywords": "k",
        "Test": question_form(),
        "TestDurationInSeconds": 60,
        "RetryDelayInSeconds": 0,
    },
    "CreateWorkerBlock": lambda w: {"WorkerId": w.admin.worker(name=None).worker_id, "Reason": "r"},
    "DeleteHIT": lambda w: {"HITId": w.reviewable()},
    "DeleteQualificationType": lambda w: {"QualificationTypeId": w.kind()},
    "DeleteWorkerBlock": lambda w: {"WorkerId": w.worker.worker_id, "Reason": "r"},
    "DisassociateQualificationFromWorker": lambda w: {**w.granted(), "Reason": "r"},
    "GetAccountBalance": lambda w: {},
    "GetAssignment": lambda w: {"AssignmentId": w.submitted()},
    "GetHIT": lambda w: {"HITId": w.hit()},
    "GetQualificationScore": lambda w: w.granted(),
    "GetQualificationType": lambda w: {"QualificationTypeId": w.kind()},
    "ListAssignmentsForHIT": lambda w: {
        "HITId": w.requester.get_assignment(AssignmentId=w.submitted())["HIT"]["HITId"],
        "MaxResults": 1,
        "AssignmentStatuses": ["Submitted"],
    },
    "ListBonusPayments": lambda w: {"AssignmentId": w.submitted(), "MaxResults": 5},
    "ListHITs": lambda w: {"MaxResults": 2 + 0 * len(w.hit())},
    "ListHITsForQualificationType": lambda w: {"QualificationTypeId": w.kind(), "MaxResults": 5},
    "ListQualificationRequests": lambda w: {"MaxResults": 5 + 0 * len(w.request())},
    "ListQualificationTypes": lambda w: {
        "MustBeRequestable": True,
        "MustBeOwnedByCaller": True,
        "Query": "kind",
        "MaxResults": 1,
    },
    "ListReviewPolicyResultsForHIT": lambda w: {
        "HITId": w.hit(),
        "PolicyLevels": ["HIT"],
        "RetrieveActions": True,
        "RetrieveResults": True,
    },
    "ListReviewableHITs": lambda w: {"MaxResults": 1 + 0 * len(w.reviewable()), "Status": "Reviewable"},
    "ListWorkerBlocks": lambda w: {"MaxResults": 3},
    "ListWorkersWithQualificationType": lambda w: {
        "QualificationTypeId": w.granted()["QualificationTypeId"],
        "Status": "Granted",
    },
    "NotifyWorkers": lambda w: {
        "Subject": "s",
        "MessageText": f"of {w.approved()}",
        "WorkerIds": [w.worker.worker_id, "ANOBODY"],
    },
    "RejectAssignment": lambda w: {"AssignmentId": w.submitted(), "RequesterFeedback": "no"},
    "RejectQualificationRequest": lambda w: {"QualificationRequestId": w.request(), "Reason": "r"},
    "SendBonus": lambda w: {**w.bonus(), "UniqueRequestToken": w.kind()},
    "UpdateExpirationForHIT": lambda w: {"HITId": w.hit(), "ExpireAt": 0},
    "UpdateHITReviewStatus": lambda w: {"HITId": w.reviewable(), "Revert": False},
    "UpdateHITTypeOfHIT": lambda w: {"HITId": w.hit(), "HITTypeId": w.hit_type()},
    "UpdateQualificationType": lambda w: {
        "QualificationTypeId": w.kind(),
        "Description": "e",
        "QualificationTypeStatus": "Inactive",
        "AutoGranted": True,
        "AutoGrantedValue": 7,
    },
}
UNAVAILABLE = {
    "GetFileUploadURL": lambda w: {"AssignmentId": w.submitted(), "QuestionIdentifier": "q"},
    "SendTestEventNotification": lambda w: {"Notification": NOTIFICATION, "TestEventType": "Ping"},
    "UpdateNotificationSettings": lambda w: {
        "HITTypeId": w.hit_type(),
        "Notification": NOTIFICATION,
        "Active": True,
    },
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with start(f"sqlite:///{tmp_path_factory.mktemp('m')}/m.db", clock=Clock()) as running:
        yield running


@pytest.fixture(scope="module")
def world(server) -> World:
    return World(server)


def call(server, operation: str, params: Any) -> tuple[int, dict[str, Any]]:
    target = f"MTurkRequesterServiceV20170117.{operation}"
    headers = {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.1"}
    answer = HTTP.request("POST", server.endpoint, body=json.dumps(params), headers=headers)
    assert answer.headers["x-amzn-RequestId"]
    return answer.status, answer.json()


def faults_of(shape, value: Any, where: str) -> list[str]:
    """Return how a value breaks botocore's own description of it."""
    kind = shape.type_name
    if kind == "structure":
        unknown = [f"{where}.{name} is unknown" for name in value if name not in shape.members]
        absent = [f"{where}.{name} is missing" for name in shape.required_members if name not in value]
        inside = [
            problem
            for name, item in value.items()
            if name in shape.members
            for problem in faults_of(shape.members[name], item, f"{where}.{name}")
        ]
        return unknown + absent + inside
    if kind == "list":
        return [problem for item in value for problem in faults_of(shape.member, item, where)]
    types = {
        "string": str,
        "integer": int,
        "long": int,
        "boolean": bool,
        "timestamp": (int, float),
    }[kind]
    problems = [] if isinstance(value, types) else [f"{where} is {value!r}"]
    if value not in getattr(shape, "enum", []) and getattr(shape, "enum", []):
        problems.append(f"{where} is {value!r}")
    pattern = shape.metadata.get("pattern")
    if pattern and not re.fullmatch(pattern, value):
        problems.append(f"{where} is {value!r}")
    return problems


def assert_refused(server, operation: str, params: Any) -> None:
    status, said = call(server, operation, params)
    assert (status, said.get("__type")) == (400, "RequestError"), (operation, params, said)
    assert said["TurkErrorCode"].startswith("AWS.")
    assert said["Message"]


def test_every_operation_is_served():
    assert set(OPERATIONS) == set(mturk().operations) == set(VALID) | set(UNAVAILABLE)


@pytest.mark.parametrize("operation", sorted(VALID))
def test_valid(server, world, operation):
    params = VALID[operation](world)
    status, said = call(server, operation, params)
    assert status == 200, said
    assert faults_of(MODEL.operation_model(operation).output_shape, said, operation) == []


@pytest.mark.parametrize("operation", sorted(UNAVAILABLE))
def test_what_cannot_mean_anything_says_so(server, world, operation):
    status, said = call(server, operation, UNAVAILABLE[operation](world))
    assert (status, said["__type"]) == (400, "RequestError")
    assert "marketplace" in said["Message"]


@pytest.fixture(scope="module")
def valid_params(world) -> dict[str, dict[str, Any]]:
    return {name: make(world) for name, make in {**VALID, **UNAVAILABLE}.items()}


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_missing(server, valid_params, operation):
    params = valid_params[operation]
    for name in mturk().input_of(operation).get("required", []):
        assert_refused(server, operation, {key: value for key, value in params.items() if key != name})
        assert_refused(server, operation, {**params, name: None})


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_unknown(server, valid_params, operation):
    assert_refused(server, operation, {**valid_params[operation], "Nonsense": 1})
    assert_refused(server, operation, [])


WRONG = {
    "string": 7,
    "integer": "7",
    "long": 7.5,
    "boolean": "true",
    "timestamp": "yesterday",
    "list": {"a": 1},
    "structure": ["a"],
}


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_wrong_type(server, valid_params, operation):
    description = mturk()
    for name, member in description.input_of(operation)["members"].items():
        kind = description.shapes[member["shape"]]["type"]
        assert_refused(server, operation, {**valid_params[operation], name: WRONG[kind]})


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_too_long_too_large_too_odd(server, valid_params, operation):
    description = mturk()
    for name, member in description.input_of(operation)["members"].items():
        shape = description.shapes[member["shape"]]
        bad: list[Any] = []
        if "max" in shape:
            many = shape["max"] + 1
            bad.append({"string": "A" * many, "list": ["A1"] * many}.get(shape["type"], many))
        if shape["type"] in ("integer", "long"):
            bad.append(2 ** (31 if shape["type"] == "integer" else 63))
        if "pattern" in shape:
            bad += ["not!", "A1\n"]
        if "enum" in shape:
            bad.append("Nonsense")
        for value in bad:
            assert_refused(server, operation, {**valid_params[operation], name: value})


def test_no_refused_call_changed_anything(server, world, valid_params):
    """The parameters that were refused above in some form are still good."""
    for operation in ("GetHIT", "ApproveAssignment", "SendBonus", "DeleteHIT"):
        status, said = call(server, operation, valid_params[operation])
        assert status == 200, said


def test_what_is_no_call_is_refused_by_its_type(server):
    status, said = call(server, "MakeCoffee", {})
    assert (status, said["__type"]) == (400, "UnknownOperationException")
    headers = {"X-Amz-Target": "MTurkRequesterServiceV20170117.GetHIT"}
    for body in (b"{", b"\xff", b'"x"', b"[1]"):
        answer = HTTP.request("POST", server.endpoint, body=body, headers=headers)
        assert (answer.status, answer.json()["__type"]) == (400, "RequestError")
    large = HTTP.request("POST", server.endpoint, body=b" " * 1_100_000, headers=headers)
    assert large.status == 400
