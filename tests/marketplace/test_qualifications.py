"""Qualifications: types, grants, requests, tests; and the requirements of HITs."""

from dataclasses import replace

import pytest

from prefjudge.marketplace.people import qualifications
from prefjudge.marketplace.server import start
from tests.marketplace.people import Admin, offer, question_form, selection, turk_error

LOCALE, APPROVED, RATE = "00000000000000000071", "00000000000000000040", "000000000000000000L0"
SIMULATED = "00000000000000000SIM"
MASTERS = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"


def requirement(type_id, comparator, *integers, locales=(), guard="Accept"):
    asked = {"QualificationTypeId": type_id, "Comparator": comparator, "ActionsGuarded": guard}
    if integers:
        asked["IntegerValues"] = list(integers)
    if locales:
        asked["LocaleValues"] = [
            dict(zip(("Country", "Subdivision"), one.split("-"), strict=False)) for one in locales
        ]
    return asked


def make_type(requester, **changes):
    properties = {"Name": "careful", "Description": "reads with care", "QualificationTypeStatus": "Active"}
    made = requester.create_qualification_type(**{**properties, **changes})
    return made["QualificationType"]["QualificationTypeId"]


@pytest.mark.parametrize(
    ("asked", "known", "welcome"),
    [
        (requirement(LOCALE, "EqualTo", locales=["US"]), {"locale": "US"}, True),
        (requirement(LOCALE, "EqualTo", locales=["US"]), {"locale": "US-NY"}, True),
        (requirement(LOCALE, "EqualTo", locales=["US-NY"]), {"locale": "US-NY"}, True),
        (requirement(LOCALE, "EqualTo", locales=["US-NY"]), {"locale": "US"}, False),
        (requirement(LOCALE, "In", locales=["CA", "US-CA"]), {"locale": "US-NY"}, False),
        (requirement(LOCALE, "In", locales=["CA", "US-CA"]), {"locale": "CA"}, True),
        (requirement(LOCALE, "NotIn", locales=["DE", "FR"]), {"locale": "DE"}, False),
        (requirement(LOCALE, "NotEqualTo", locales=["DE"]), {"locale": "FR"}, True),
        (requirement(APPROVED, "GreaterThan", 500), {"approved": 500}, False),
        (requirement(APPROVED, "GreaterThanOrEqualTo", 500), {"approved": 500}, True),
        (requirement(APPROVED, "LessThan", 5), {"approved": 4}, True),
        (requirement(RATE, "GreaterThanOrEqualTo", 95), {"approved": 1000, "approval_rate": 95}, True),
        (requirement(RATE, "GreaterThanOrEqualTo", 95), {"approved": 1000, "approval_rate": 94}, False),
        (requirement(MASTERS, "DoesNotExist"), {}, True),
        (requirement(RATE, "EqualTo", 100), {"approved": 10, "approval_rate": 50}, True),
    ],
)
def test_system_qualifications(requester, admin, asked, known, welcome):
    hit = offer(requester, QualificationRequirements=[asked])
    worker = admin.worker(**known)
    (group,) = worker.groups()
    assert group["qualified"] is welcome
    assert len(group["missing"]) == (not welcome)
    assert not any(need["has_page"] for need in group["missing"]), "the system's own have none"
    if welcome:
        worker.do(hit)
    else:
        assert worker.refused(hit) == "not_qualified"


def test_an_account_for_simulation_says_so_to_every_requester_and_for_good(requester, admin):
    person, simulated = admin.worker(), admin.worker(simulated=True)
    kind = {"QualificationTypeId": SIMULATED}
    (grant,) = requester.list_workers_with_qualification_type(**kind)["Qualifications"]
    assert (grant["WorkerId"], grant["IntegerValue"]) == (simulated.worker_id, 1)
    score = requester.get_qualification_score
    assert score(**kind, WorkerId=simulated.worker_id)["Qualification"]["Status"] == "Granted"
    assert turk_error(score, **kind, WorkerId=person.worker_id) == "QualificationDoesNotExist"
    for call, worker in (
        (requester.associate_qualification_with_worker, person),
        (requester.disassociate_qualification_from_worker, simulated),
    ):
        assert turk_error(call, **kind, WorkerId=worker.worker_id) == "PermissionDeniedException"
    (found,) = requester.list_workers_with_qualification_type(**kind)["Qualifications"]
    assert found == grant
    for_people = offer(requester, QualificationRequirements=[requirement(SIMULATED, "DoesNotExist")])
    assert simulated.refused(for_people) == "not_qualified"
    person.do(for_people)
    assert simulated.get("/qualifications")
    listed = {one["worker_id"]: one["simulated"] for one in admin.call("GET", "/admin/overview")["workers"]}
    assert listed == {person.worker_id: False, simulated.worker_id: True}


def test_nobody_simulated_works_where_money_is_real(tmp_path):
    with start(f"sqlite:///{tmp_path}/m.db", sandbox=False) as server:
        refusal = Admin(server).call("POST", "/admin/workers", {"simulated": True}, status=409)
        assert "Simulated workers are for sandboxes" in str(refusal)
        assert Admin(server).call("GET", "/admin/overview")["workers"] == []


def test_what_is_asked_of_another_system_qualification_is_refused(requester):
    listed = requester.list_workers_with_qualification_type
    assert turk_error(listed, QualificationTypeId=APPROVED) == "PermissionDeniedException"


def test_a_requesters_own_qualification_lets_in_and_shuts_out(requester, worker):
    kind = make_type(requester)
    wanted = offer(requester, QualificationRequirements=[requirement(kind, "GreaterThan", 7)])
    barred = offer(requester, Title="b", QualificationRequirements=[requirement(kind, "DoesNotExist")])
    assert worker.refused(wanted) == "not_qualified"
    worker.do(barred)
    both = {"QualificationTypeId": kind, "WorkerId": worker.worker_id}
    requester.associate_qualification_with_worker(**both, IntegerValue=8)
    assert requester.get_qualification_score(**both)["Qualification"]["IntegerValue"] == 8
    worker.do(wanted)
    assert "careful" in worker.get("/inbox")["messages"][0]["text"]
    requester.disassociate_qualification_from_worker(**both, Reason="enough")
    assert turk_error(requester.get_qualification_score, **both) == "InvalidQualificationState"
    listed = requester.list_workers_with_qualification_type
    assert listed(QualificationTypeId=kind)["Qualifications"] == []
    assert listed(QualificationTypeId=kind, Status="Revoked")["NumResults"] == 1
    assert (
        worker.refused(offer(requester, QualificationRequirements=[requirement(kind, "In", 8)]))
        == "not_qualified"
    )


@pytest.mark.parametrize(
    ("guard", "listed", "seen"),
    [("Accept", 1, True), ("PreviewAndAccept", 1, False), ("DiscoverPreviewAndAccept", 0, None)],
)
def test_guarded_actions(requester, worker, guard, listed, seen):
    asked = requirement(make_type(requester), "Exists", guard=guard)
    hit = offer(requester, QualificationRequirements=[asked])
    assert len(worker.groups()) == listed
    if seen is None:
        worker.get(f"/hits/{hit['HITId']}", status=404)
    else:
        assert worker.get(f"/hits/{hit['HITId']}")["group"]["can_preview"] is seen
    assert worker.refused(hit) == "not_qualified"


@pytest.mark.parametrize(
    "asked",
    [
        requirement("3NOSUCHTYPE", "Exists"),
        requirement(APPROVED, "Exists", 3),
        requirement(APPROVED, "GreaterThan"),
        requirement(APPROVED, "GreaterThan", 1, 2),
        requirement(APPROVED, "In", *range(16)),
        requirement(LOCALE, "EqualTo", 3),
        requirement(LOCALE, "GreaterThan", locales=["US"]),
        requirement(LOCALE, "In", locales=["US"] * 31),
        {**requirement(APPROVED, "LessThan", 1), "RequiredToPreview": True},
        requirement(MASTERS, "Exists"),
    ],
)
def test_requirements_that_cannot_be(requester, asked):
    code = turk_error(offer, requester, QualificationRequirements=[asked])
    assert code in ("InvalidParameterValue", "QualificationTypeDoesNotExist")


def test_the_admin_makes_and_unmakes_masters(requester, admin):
    first, second = admin.worker(), admin.worker()
    path = f"/admin/workers/{first.worker_id}/master"
    assert admin.call("POST", path, {"master": "yes"}) == {"worker_id": first.worker_id, "master": True}
    for masters in (MASTERS, "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"):
        offer(requester, QualificationRequirements=[requirement(masters, "Exists")])
    assert [group["qualified"] for group in first.groups()] == [True, True]
    assert [group["qualified"] for group in second.groups()] == [False, False]
    assert {one["name"]: one["master"] for one in admin.call("GET", "/admin/overview")["workers"]} == {
        "worker1": True,
        "worker2": False,
    }
    worker = first.worker_id
    revoke = {"QualificationTypeId": MASTERS, "WorkerId": worker}
    assert turk_error(requester.disassociate_qualification_from_worker, **revoke)
    admin.call("POST", path, {"master": "no"})
    assert [group["qualified"] for group in first.groups()] == [False, False]
    admin.call("POST", "/admin/workers/A0/master", {"master": "yes"}, status=400)


def test_types_are_listed_updated_and_deleted(requester, admin, market):
    kind = make_type(requester, Keywords="a")
    assert turk_error(make_type, requester) == "QualificationTypeAlreadyExists"
    make_type(requester, Name="100% sure", Description="x")
    found = requester.list_qualification_types
    assert found(MustBeRequestable=True, Query="CARE")["NumResults"] == 1
    assert found(MustBeRequestable=True, Query="0%")["NumResults"] == 1
    assert found(MustBeRequestable=True, Query="_")["NumResults"] == 0
    changed = requester.update_qualification_type(
        QualificationTypeId=kind, QualificationTypeStatus="Inactive"
    )
    assert changed["QualificationType"]["IsRequestable"] is False
    assert found(MustBeRequestable=True)["NumResults"] == 1
    assert found(MustBeRequestable=False)["NumResults"] == 2
    requester.delete_qualification_type(QualificationTypeId=kind)
    assert (
        turk_error(requester.get_qualification_type, QualificationTypeId=kind)
        == "QualificationTypeDoesNotExist"
    )
    make_type(requester)  # its name is free again
    assert (
        turk_error(requester.delete_qualification_type, QualificationTypeId=LOCALE)
        == "PermissionDeniedException"
    )


def test_hits_are_listed_by_their_qualification(requester):
    kind = make_type(requester)
    hit = offer(requester, QualificationRequirements=[requirement(kind, "Exists")])
    offer(requester)
    listed = requester.list_hits_for_qualification_type(QualificationTypeId=kind)["HITs"]
    assert [one["HITId"] for one in listed] == [hit["HITId"]]


def test_a_request_waits_for_its_requester(requester, worker, admin):
    kind = make_type(requester)
    worker.post(f"/qualifications/{kind}")
    assert worker.post(f"/qualifications/{kind}", status=409)["code"] == "pending"
    (asked,) = requester.list_qualification_requests(QualificationTypeId=kind)["QualificationRequests"]
    assert asked["WorkerId"] == worker.worker_id
    requester.accept_qualification_request(
        QualificationRequestId=asked["QualificationRequestId"], IntegerValue=9
    )
    assert worker.get("/qualifications")["types"][0]["value"] == 9
    assert (
        turk_error(
            requester.reject_qualification_request, QualificationRequestId=asked["QualificationRequestId"]
        )
        == "InvalidQualificationState"
    )
    assert worker.post(f"/qualifications/{kind}", status=409)["code"] == "never"
    other = admin.worker()
    other.post(f"/qualifications/{kind}")
    (asked,) = requester.list_qualification_requests()["QualificationRequests"]
    requester.reject_qualification_request(
        QualificationRequestId=asked["QualificationRequestId"], Reason="no"
    )
    assert other.get(f"/qualifications/{kind}")["type"]["status"] == "rejected"


def test_granted_at_once(requester, worker):
    kind = make_type(requester, AutoGranted=True, AutoGrantedValue=3)
    assert worker.post(f"/qualifications/{kind}")["value"] == 3


KEY = """<AnswerKey xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/AnswerKey.xsd">
<Question><QuestionIdentifier>colour</QuestionIdentifier>
<AnswerOption><SelectionIdentifier>red</SelectionIdentifier><AnswerScore>10</AnswerScore></AnswerOption></Question>
<Question><QuestionIdentifier>shape</QuestionIdentifier>
<AnswerOption><SelectionIdentifier>disc</SelectionIdentifier><SelectionIdentifier>ring</SelectionIdentifier>
<AnswerScore>5</AnswerScore></AnswerOption><DefaultScore>1</DefaultScore></Question>{mapping}</AnswerKey>"""


def test_a_test_is_timed_scored_and_may_be_retaken(requester, worker, clock):
    two = "<SelectionAnswer><MaxSelectionCount>2</MaxSelectionCount>"
    shapes = selection("shape", "disc", "ring", "cube").replace("<SelectionAnswer>", two)
    form = question_form(selection("colour", "red", "blue") + shapes)
    key = KEY.format(
        mapping="<QualificationValueMapping><PercentageMapping><MaximumSummedScore>15</MaximumSummedScore>"
        "</PercentageMapping></QualificationValueMapping>"
    )
    kind = make_type(requester, Test=form, AnswerKey=key, TestDurationInSeconds=100, RetryDelayInSeconds=50)
    worker.post(f"/qualifications/{kind}")
    shown = worker.get(f"/qualifications/{kind}")
    assert [question["identifier"] for question in shown["form"]["questions"]] == ["colour", "shape"]
    clock.advance(101)
    assert worker.post(f"/qualifications/{kind}", {"colour": "red"}, status=410)["code"] == "too_late"
    worker.post(f"/qualifications/{kind}")
    assert worker.post(f"/qualifications/{kind}", {"colour": "red", "shape": "cube"})["value"] == 73
    assert worker.post(f"/qualifications/{kind}", status=409)["code"] == "retry_later"
    clock.advance(51)
    worker.post(f"/qualifications/{kind}")
    both = [("colour", "red"), ("shape", "ring"), ("shape", "disc")]
    assert worker.post(f"/qualifications/{kind}", both)["value"] == 100


def test_a_test_whose_time_ran_out_can_be_begun_again_when_the_type_says_so(requester, worker, clock):
    kind = make_type(requester, Test=question_form(), TestDurationInSeconds=60, RetryDelayInSeconds=100)
    path = f"/qualifications/{kind}"
    worker.post(path)
    clock.advance(61)
    shown = worker.get(path)
    assert (shown["form"], shown["type"]["status"], shown["type"]["final"]) == (None, "rejected", False)
    assert shown["type"]["retry_after"] is not None
    assert worker.post(path, {"hand_in": "1", "colour": "red"}, status=410)["code"] == "too_late"
    assert worker.post(path, status=409)["code"] == "retry_later"
    clock.advance(40)
    worker.post(path)
    assert worker.post(path, {"hand_in": "1", "colour": "red"})["status"] == "pending"
    (asked,) = requester.list_qualification_requests(QualificationTypeId=kind)["QualificationRequests"]
    assert "<SelectionIdentifier>red</SelectionIdentifier>" in asked["Answer"]


def test_of_two_that_hand_in_at_once_one_counts(requester, worker, monkeypatch):
    """Processes on one PostgreSQL both read that the request is open."""
    key = KEY.format(mapping="")
    kind = make_type(requester, Test=question_form(), AnswerKey=key, TestDurationInSeconds=60)
    path = f"/qualifications/{kind}"
    worker.post(path)
    read = qualifications.latest_request
    monkeypatch.setattr(qualifications, "latest_request", lambda *asked: replace(read(*asked), status="Open"))
    first = worker.post(path, {"hand_in": "1", "colour": "blue"})
    assert worker.post(path, {"hand_in": "1", "colour": "red"}, status=409)["code"] == "no_request"
    monkeypatch.undo()
    assert worker.get(path)["type"]["value"] == first["value"]


def test_a_test_whose_time_ran_out_is_over_where_there_is_no_second_request(requester, worker, clock):
    kind = make_type(requester, Test=question_form(), TestDurationInSeconds=60)
    worker.post(f"/qualifications/{kind}")
    clock.advance(61)
    assert worker.get(f"/qualifications/{kind}")["type"]["final"] is True
    assert worker.post(f"/qualifications/{kind}", status=409)["code"] == "never"


def test_a_test_that_is_handed_in_empty_reaches_its_requester(requester, worker):
    optional = question_form(selection("colour", "red").replace("<IsRequired>true</IsRequired>", ""))
    kind = make_type(requester, Test=optional, TestDurationInSeconds=60)
    worker.post(f"/qualifications/{kind}")
    assert worker.post(f"/qualifications/{kind}", {"hand_in": "1"})["status"] == "pending"
    (asked,) = requester.list_qualification_requests()["QualificationRequests"]
    assert asked["Answer"].endswith("/>") or asked["Answer"].endswith("></QuestionFormAnswers>")


@pytest.mark.parametrize(
    ("mapping", "value"),
    [
        ("", 11),
        ("<ScaleMapping><SummedScoreMultiplier>3</SummedScoreMultiplier></ScaleMapping>", 33),
        (
            "<RangeMapping><SummedScoreRange><InclusiveLowerBound>10</InclusiveLowerBound><InclusiveUpperBound>12"
            "</InclusiveUpperBound><QualificationValue>7</QualificationValue></SummedScoreRange>"
            "<OutOfRangeQualificationValue>2</OutOfRangeQualificationValue></RangeMapping>",
            7,
        ),
    ],
)
def test_scores_become_values(mapping, value):
    from prefjudge.marketplace.questions import read_answer_key

    wrapped = f"<QualificationValueMapping>{mapping}</QualificationValueMapping>" if mapping else ""
    key = read_answer_key(KEY.format(mapping=wrapped))
    assert key.score([("colour", "red"), ("shape", "cube")]) == value
    assert key.score([]) in (1, 2, 3)


@pytest.mark.parametrize(
    "changes",
    [
        {"Test": question_form()},
        {"AnswerKey": KEY},
        {"Test": question_form(), "TestDurationInSeconds": 5, "AutoGranted": True},
        {"Test": "<QuestionForm/>", "TestDurationInSeconds": 5},
        {"Test": question_form(), "TestDurationInSeconds": 5, "AnswerKey": "<AnswerKey/>"},
        {"Name": " "},
        {"RetryDelayInSeconds": -1},
    ],
)
def test_types_that_cannot_be(requester, changes):
    code = turk_error(make_type, requester, **changes)
    assert code in ("InvalidParameterValue", "ParameterValidationError")


def test_marks_that_keep_workers_out_are_not_there_to_be_asked_for(requester, worker):
    mark = make_type(requester, Name="took part")
    open_to_all = make_type(requester, Name="newcomer", AutoGranted=True)
    make_type(requester)
    asked = [requirement(mark, "DoesNotExist"), requirement(open_to_all, "DoesNotExist")]
    offer(requester, QualificationRequirements=asked)
    assert [kind["name"] for kind in worker.get("/qualifications")["types"]] == ["careful", "newcomer"]
    requester.associate_qualification_with_worker(QualificationTypeId=mark, WorkerId=worker.worker_id)
    assert [kind["name"] for kind in worker.get("/qualifications")["types"]] == ["careful", "newcomer"]
