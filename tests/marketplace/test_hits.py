"""The life of a HIT, as a requester sees it through boto3."""

import pytest

from tests.marketplace.people import offer, turk_error

DAY = 86400


def status(requester, hit):
    return requester.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"]


def test_a_hit_comes_back_as_it_was_offered(requester, clock):
    asked = [
        {
            "QualificationTypeId": "00000000000000000071",
            "Comparator": "In",
            "LocaleValues": [{"Country": "US"}],
        }
    ]
    hit = offer(requester, Keywords="a, b", RequesterAnnotation="batch 7", QualificationRequirements=asked)
    assert requester.get_hit(HITId=hit["HITId"])["HIT"] == hit
    assert hit["HITStatus"] == "Assignable"
    assert hit["Reward"] == "2.00"
    assert hit["RequesterAnnotation"] == "batch 7"
    assert hit["AutoApprovalDelayInSeconds"] == 30 * DAY
    assert hit["CreationTime"].timestamp() == clock.now
    assert hit["Expiration"].timestamp() == clock.now + 3600
    assert hit["QualificationRequirements"][0]["ActionsGuarded"] == "Accept"


def test_equal_properties_are_one_hit_type(requester):
    properties = {"Title": "t", "Description": "d", "Reward": "1", "AssignmentDurationInSeconds": 60}
    first = requester.create_hit_type(**properties)["HITTypeId"]
    assert requester.create_hit_type(**{**properties, "Reward": "1.00"})["HITTypeId"] == first
    assert requester.create_hit_type(**{**properties, "Reward": "1.01"})["HITTypeId"] != first


def test_a_hit_passes_through_its_states(requester, worker):
    hit = offer(requester)
    assignment = worker.accept(hit)
    assert status(requester, hit) == "Unassignable"
    worker.submit(assignment["assignment_id"])
    assert status(requester, hit) == "Reviewable"
    requester.update_hit_review_status(HITId=hit["HITId"])
    assert status(requester, hit) == "Reviewing"
    requester.update_hit_review_status(HITId=hit["HITId"], Revert=True)
    assert turk_error(requester.delete_hit, HITId=hit["HITId"]) == "InvalidHITState"
    requester.approve_assignment(AssignmentId=assignment["assignment_id"])
    requester.delete_hit(HITId=hit["HITId"])
    assert status(requester, hit) == "Disposed"
    assert requester.list_hits()["HITs"] == []
    assert turk_error(requester.delete_hit, HITId=hit["HITId"]) == "InvalidHITState"


def test_a_hit_expires_but_a_held_assignment_may_still_be_submitted(requester, worker, admin, clock):
    hit = offer(requester, MaxAssignments=2, AssignmentDurationInSeconds=7200)
    held = worker.accept(hit)
    clock.advance(3601)
    assert admin.worker().refused(hit) == "none_left"
    assert status(requester, hit) == "Unassignable"
    worker.submit(held["assignment_id"])
    assert status(requester, hit) == "Reviewable"
    later = clock.now + 600
    requester.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=later)
    assert status(requester, hit) == "Assignable"


def test_a_past_expiration_ends_a_hit_at_once(requester, worker):
    hit = offer(requester)
    requester.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=0)
    assert status(requester, hit) == "Reviewable"
    assert worker.groups() == []


def test_a_hit_is_disposed_of_after_120_days(requester, clock):
    hit = offer(requester)
    clock.advance(3600 + 119 * DAY)
    assert status(requester, hit) == "Reviewable"
    clock.advance(2 * DAY)
    assert status(requester, hit) == "Disposed"


def test_a_token_makes_a_hit_once_within_a_day(requester, clock):
    hit = offer(requester, UniqueRequestToken="one")
    with pytest.raises(requester.exceptions.RequestError) as caught:
        offer(requester, UniqueRequestToken="one")
    assert caught.value.response["TurkErrorCode"] == "AWS.MechanicalTurk.HitAlreadyExists"
    assert hit["HITId"] in str(caught.value)
    clock.advance(DAY + 1)
    assert offer(requester, UniqueRequestToken="one")["HITId"] != hit["HITId"]


def test_a_failed_call_leaves_its_token_free(requester):
    assert (
        turk_error(offer, requester, UniqueRequestToken="x", Question="<oops") == "ParameterValidationError"
    )
    offer(requester, UniqueRequestToken="x")


def test_more_assignments_but_never_from_below_ten_to_ten(requester):
    small, large = offer(requester, MaxAssignments=8), offer(requester, MaxAssignments=10)
    more = requester.create_additional_assignments_for_hit
    more(HITId=small["HITId"], NumberOfAdditionalAssignments=1, UniqueRequestToken="t")
    assert requester.get_hit(HITId=small["HITId"])["HIT"]["NumberOfAssignmentsAvailable"] == 9
    again = {"HITId": small["HITId"], "NumberOfAdditionalAssignments": 1}
    assert turk_error(more, **again, UniqueRequestToken="t") == "DuplicateRequest"
    assert turk_error(more, **again) == "InvalidMaximumAssignmentsIncrease"
    more(HITId=large["HITId"], NumberOfAdditionalAssignments=90)
    assert requester.get_hit(HITId=large["HITId"])["HIT"]["MaxAssignments"] == 100


def test_lists_come_in_pages_and_no_page_is_empty(requester):
    made = [offer(requester, RequesterAnnotation=str(i))["HITId"] for i in range(7)]
    first = requester.list_hits(MaxResults=3)
    assert [hit["HITId"] for hit in first["HITs"]] == made[:3:-1]
    offer(requester)  # a HIT that is added in between moves nothing
    rest = requester.list_hits(MaxResults=4, NextToken=first["NextToken"])
    assert [hit["HITId"] for hit in rest["HITs"]] == made[3::-1]
    assert "NextToken" not in rest
    pages = requester.get_paginator("list_hits").paginate(PaginationConfig={"PageSize": 2})
    assert [len(page["HITs"]) for page in pages] == [2, 2, 2, 2]
    assert turk_error(requester.list_hits, NextToken="5.forged") == "InvalidParameterValue"
    assert turk_error(requester.list_worker_blocks, NextToken=first["NextToken"]) == "InvalidParameterValue"


def test_reviewable_hits_are_listed_by_type_and_status(requester, worker):
    done, undone = offer(requester), offer(requester, Title="other")
    worker.do(done)
    listed = requester.list_reviewable_hits
    assert [hit["HITId"] for hit in listed()["HITs"]] == [done["HITId"]]
    assert listed(HITTypeId=undone["HITTypeId"])["HITs"] == []
    assert listed(Status="Reviewing")["HITs"] == []
    requester.update_hit_review_status(HITId=done["HITId"])
    assert listed()["HITs"] == []
    assert listed(Status="Reviewing")["NumResults"] == 1


def test_a_hit_moves_to_another_type_with_its_money(requester, worker):
    hit = offer(requester, MaxAssignments=2)
    other = requester.create_hit_type(
        Title="t", Description="d", Reward="3.00", AssignmentDurationInSeconds=60
    )["HITTypeId"]
    requester.update_hit_type_of_hit(HITId=hit["HITId"], HITTypeId=other)
    moved = requester.get_hit(HITId=hit["HITId"])["HIT"]
    assert (moved["HITTypeId"], moved["Reward"]) == (other, "3.00")
    assert requester.get_account_balance()["OnHoldBalance"] == "7.20"
    worker.accept(hit)
    move = {"HITId": hit["HITId"], "HITTypeId": hit["HITTypeId"]}
    assert turk_error(requester.update_hit_type_of_hit, **move) == "InvalidHITState"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"Reward": "0.055"}, "InvalidParameterValue"),
        ({"Title": "x" * 129}, "InvalidParameterValue"),
        ({"Title": " "}, "InvalidParameterValue"),
        ({"LifetimeInSeconds": 29}, "InvalidParameterValue"),
        ({"AssignmentDurationInSeconds": 366 * DAY}, "InvalidParameterValue"),
        ({"AutoApprovalDelayInSeconds": 31 * DAY}, "InvalidParameterValue"),
        ({"MaxAssignments": 0}, "InvalidParameterValue"),
        ({"RequesterAnnotation": "x" * 256}, "InvalidParameterValue"),
        ({"HITLayoutId": "3ABC"}, "InvalidParameterValue"),
        ({"HITReviewPolicy": {"PolicyName": "SimplePlurality/2011-09-01"}}, "InvalidParameterValue"),
    ],
)
def test_what_cannot_be_is_refused(requester, change, code):
    assert turk_error(offer, requester, **change) == code


def test_requesters_see_only_their_own(requester, admin, worker, market):
    from tests.marketplace.people import new_requester

    hit = offer(requester)
    assignment = worker.do(hit)
    key = admin.call("POST", "/admin/requesters", {"name": "another"}, status=201)
    other = new_requester(market.endpoint, (key["access_key"], key["secret_key"]))
    assert other.list_hits()["HITs"] == []
    for call in (other.get_hit, other.delete_hit, other.list_assignments_for_hit):
        assert turk_error(call, HITId=hit["HITId"]) == "HITDoesNotExist"
    assert turk_error(other.approve_assignment, AssignmentId=assignment) == "AssignmentDoesNotExist"
    assert (
        turk_error(
            other.create_hit_with_hit_type, HITTypeId=hit["HITTypeId"], LifetimeInSeconds=60, Question="x"
        )
        == "HITTypeDoesNotExist"
    )
