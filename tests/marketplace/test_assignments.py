"""The life of an assignment: workers over HTTP, the requester through boto3."""

from tests.marketplace.people import offer, turk_error

DAY = 86400


def counts(requester, hit):
    shown = requester.get_hit(HITId=hit["HITId"])["HIT"]
    return tuple(shown[f"NumberOfAssignments{name}"] for name in ("Available", "Pending", "Completed"))


def test_an_assignment_comes_back_with_its_answers_and_times(requester, worker, clock):
    hit = offer(requester, AutoApprovalDelayInSeconds=DAY)
    ident = worker.accept(hit)["assignment_id"]
    accepted = clock.now
    clock.advance(60)
    worker.submit(ident, {"q1": "é <b>&", "hitId": "forged", "q2": ""})
    (found,) = requester.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
    assert found["AssignmentId"] == ident
    assert found["WorkerId"] == worker.worker_id
    assert found["AcceptTime"].timestamp() == accepted
    assert found["SubmitTime"].timestamp() == accepted + 60
    assert found["Deadline"].timestamp() == accepted + 600
    assert found["AutoApprovalTime"].timestamp() == accepted + 60 + DAY
    assert "<FreeText>&#233; &lt;b&gt;&amp;</FreeText>" in found["Answer"]
    assert "forged" not in found["Answer"]
    assert requester.get_assignment(AssignmentId=ident)["Assignment"] == found
    assert requester.get_assignment(AssignmentId=ident)["HIT"]["HITId"] == hit["HITId"]


def test_one_assignment_a_worker_and_hit(requester, worker, admin):
    hit = offer(requester, MaxAssignments=3)
    worker.do(hit)
    assert worker.refused(hit) == "done_before"
    assert worker.groups() == []
    admin.worker().do(hit)
    assert requester.list_assignments_for_hit(HITId=hit["HITId"])["NumResults"] == 2


def test_a_group_counts_the_open_hits_that_the_worker_has_not_done(requester, worker, admin):
    """Own work counts only where its HIT is still open to others; returned work counts as if it never was."""
    other = admin.worker()
    twice, once = offer(requester, MaxAssignments=2), offer(requester, MaxAssignments=1)
    offer(requester, MaxAssignments=1)

    def left():
        return tuple(group["available"] for who in (worker, other) for group in who.groups())

    assert left() == (3, 3)
    worker.do(twice)  # one more place is open in it, for others
    assert left() == (2, 3)
    ident = worker.accept(once)["assignment_id"]  # its only place
    assert left() == (1, 2)
    worker.post(f"/assignments/{ident}/return")
    assert left() == (2, 3)
    other.do(twice)
    assert left() == (2, 2)


def test_a_returned_hit_opens_again_and_leaves_no_record(requester, worker):
    hit = offer(requester)
    ident = worker.accept(hit)["assignment_id"]
    assert counts(requester, hit) == (0, 1, 0)
    worker.post(f"/assignments/{ident}/return")
    assert counts(requester, hit) == (1, 0, 0)
    worker.submit(ident, status=410)
    assert turk_error(requester.get_assignment, AssignmentId=ident) == "InvalidAssignmentState"
    assert requester.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"] == []
    worker.do(hit)  # who returned it may take it again


def test_an_assignment_is_abandoned_at_its_deadline(requester, worker, admin, clock):
    hit = offer(requester)
    ident = worker.accept(hit)["assignment_id"]
    clock.advance(599.9)
    assert admin.worker().refused(hit) == "none_left"
    clock.advance(0.1)  # less than the sweep's interval: the deadline itself decides
    assert worker.submit(ident, status=410)["code"] == "too_late"
    clock.advance(1)
    other = admin.worker()
    clock.advance(1)
    assert [group["available"] for group in other.groups()] == [1]
    assert counts(requester, hit) == (1, 0, 0)
    other.do(hit)


def test_a_repeated_submission_is_acknowledged_and_changes_nothing(requester, worker):
    hit = offer(requester)
    ident = worker.do(hit, {"choice": "first"})
    worker.submit(ident, {"choice": "second"})
    (found,) = requester.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
    assert "first" in found["Answer"]
    assert "second" not in found["Answer"]


def test_an_assignment_belongs_to_one_worker(requester, worker, admin):
    ident = worker.accept(offer(requester))["assignment_id"]
    other = admin.worker()
    assert other.submit(ident, status=403)["code"] == "not_yours"
    other.get(f"/assignments/{ident}", status=404)
    other.post(f"/assignments/{ident}/return", status=403)
    assert worker.submit("ASSIGNMENT_ID_NOT_AVAILABLE", status=400)["code"] == "no_assignment"


def test_work_is_approved_by_itself_after_the_delay(requester, worker, clock):
    hit = offer(requester, AutoApprovalDelayInSeconds=DAY)
    ident = worker.do(hit)
    clock.advance(DAY - 1)
    assert requester.get_assignment(AssignmentId=ident)["Assignment"]["AssignmentStatus"] == "Submitted"
    clock.advance(2)
    assert requester.get_assignment(AssignmentId=ident)["Assignment"]["AssignmentStatus"] == "Approved"
    assert worker.get("/history")["earnings"]["approved"] == "2.00"


def test_work_is_approved_or_rejected_once(requester, worker):
    hit = offer(requester)
    ident = worker.do(hit)
    requester.reject_assignment(AssignmentId=ident, RequesterFeedback="Nonsense.")
    assert turk_error(requester.reject_assignment, AssignmentId=ident, RequesterFeedback="x") == (
        "InvalidAssignmentState"
    )
    assert turk_error(requester.approve_assignment, AssignmentId=ident) == "InvalidAssignmentState"
    assert counts(requester, hit) == (0, 0, 1)
    assert worker.get("/history")["assignments"][0]["feedback"] == "Nonsense."


def test_a_rejection_can_be_overturned_for_thirty_days(requester, worker, admin, clock):
    hit = offer(requester, MaxAssignments=2, LifetimeInSeconds=90 * DAY)
    first, second = worker.do(hit), admin.worker().do(hit)
    for ident in (first, second):
        requester.reject_assignment(AssignmentId=ident, RequesterFeedback="no")
    clock.advance(29 * DAY)
    requester.approve_assignment(AssignmentId=first, OverrideRejection=True)
    found = requester.get_assignment(AssignmentId=first)["Assignment"]
    assert found["AssignmentStatus"] == "Approved"
    assert worker.get("/history")["earnings"]["balance"] == "2.00"
    clock.advance(2 * DAY)
    assert turk_error(requester.approve_assignment, AssignmentId=second, OverrideRejection=True) == (
        "InvalidAssignmentState"
    )


def test_assignments_are_listed_by_status_in_pages(requester, admin):
    hit = offer(requester, MaxAssignments=9)
    idents = [admin.worker().do(hit) for _ in range(5)]
    requester.approve_assignment(AssignmentId=idents[0])
    requester.reject_assignment(AssignmentId=idents[1], RequesterFeedback="no")
    listed = requester.list_assignments_for_hit

    def of(*statuses):
        return [
            one["AssignmentId"]
            for one in listed(HITId=hit["HITId"], AssignmentStatuses=statuses)["Assignments"]
        ]

    assert of("Approved", "Rejected") == idents[:2]
    assert of("Submitted") == idents[2:]
    pages = requester.get_paginator("list_assignments_for_hit").paginate(
        HITId=hit["HITId"], PaginationConfig={"PageSize": 2}
    )
    assert [one["AssignmentId"] for page in pages for one in page["Assignments"]] == idents


def test_a_worker_holds_at_most_25(requester, worker):
    hits = [offer(requester) for _ in range(26)]
    taken = [worker.accept(hit) for hit in hits[:25]]
    assert worker.refused(hits[25]) == "too_many"
    worker.submit(taken[0]["assignment_id"])
    worker.accept(hits[25])


def test_a_draft_survives_until_the_work_is_submitted(requester, worker):
    ident = worker.accept(offer(requester))["assignment_id"]
    path = f"{worker.endpoint}/assignments/{ident}/draft"
    assert worker.get(path) == {"draft": None}
    saved = worker.http.request("POST", path, json={"draft": {"slot": "é"}}, headers=worker.headers)
    assert saved.json() == {"saved": True}
    assert worker.get(f"/assignments/{ident}")["draft"] == {"slot": "é"}
    large = worker.http.request("POST", path, json={"draft": "x" * 70_000}, headers=worker.headers)
    assert large.status == 413
    worker.submit(ident)
    assert worker.get(path) == {"draft": None}
    late = worker.http.request("POST", path, json={"draft": 1}, headers=worker.headers)
    assert late.status == 409


def test_files_are_refused_by_name(requester, worker):
    ident = worker.do(offer(requester))
    assert turk_error(requester.get_file_upload_url, AssignmentId=ident, QuestionIdentifier="q") == (
        "InvalidParameterValue"
    )
