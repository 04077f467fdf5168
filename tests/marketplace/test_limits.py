"""How many HITs a worker may take: the marketplace's own comparator, spoken through boto3 unchanged."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from prefjudge.marketplace.server import start
from tests.marketplace.people import Admin, new_requester, offer, turk_error


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    server = start(f"sqlite:///{tmp_path_factory.mktemp('limits')}/market.db")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def requester(market):
    return new_requester(market.endpoint)


@pytest.fixture(scope="module")
def admin(market):
    return Admin(market)


def limited(requester, name, first=1):
    made = requester.create_qualification_type(Name=name, Description="d", QualificationTypeStatus="Active")
    kind = made["QualificationType"]["QualificationTypeId"]
    needs = {"QualificationTypeId": kind, "Comparator": "GreaterThanTaken", "IntegerValues": [first]}
    return kind, [{**needs, "ActionsGuarded": "PreviewAndAccept"}]


def score(requester, worker, kind, value):
    requester.associate_qualification_with_worker(
        QualificationTypeId=kind, WorkerId=worker.worker_id, IntegerValue=value, SendNotification=False
    )


def test_a_worker_takes_as_many_hits_as_the_score_allows(requester, admin):
    kind, needs = limited(requester, "first")
    hits = [offer(requester, QualificationRequirements=needs, Title="limited") for _ in range(5)]
    free = offer(requester, Title="free")
    worker, other = admin.worker(), admin.worker()

    def shown(who):
        return next(one for one in who.groups() if one["title"] == "limited")

    assert shown(worker)["qualified"]
    first = worker.accept(hits[0])["assignment_id"]
    # The second is not offered, in any door: list, preview and acceptance say the same, and why.
    assert not shown(worker)["qualified"]
    assert "is being checked" in shown(worker)["waits"]
    assert not shown(worker)["can_preview"]
    page = worker.request("GET", f"/hits/{hits[1]['HITId']}").json()
    assert page["frame"] is None
    assert "is being checked" in page["reason"]
    assert worker.refused(hits[1]) == "being_checked"
    worker.submit(first)
    assert worker.refused(hits[1]) == "being_checked"
    assert shown(other)["qualified"]  # each has a room of their own
    worker.accept(free)  # what does not require the score does not count

    score(requester, worker, kind, 3)
    second = worker.accept(hits[1])["assignment_id"]
    worker.accept(hits[2])
    assert worker.refused(hits[3]) == "being_checked"
    worker.post(f"/assignments/{second}/return")
    assert worker.accept(hits[1])["assignment_id"]  # a returned HIT was not taken
    assert worker.refused(hits[4]) == "being_checked"
    score(requester, worker, kind, 0)  # a score below what was taken changes nothing of that
    assert worker.refused(hits[4]) == "being_checked"
    assert kind not in {one["qualification_type_id"] for one in worker.get("/qualifications")["types"]}


def test_who_gets_no_more_hits_reads_so_once_all_is_decided(requester, admin):
    _, needs = limited(requester, "stopped")
    hits = [offer(requester, QualificationRequirements=needs, Title="stopped") for _ in range(2)]
    worker = admin.worker()
    ident = worker.do(hits[0])

    def shown():
        return next(one for one in worker.groups() if one["title"] == "stopped")

    assert "is being checked" in shown()["waits"]
    requester.approve_assignment(AssignmentId=ident)
    assert "has been checked, and no more" in shown()["waits"]
    assert shown()["missing"][0]["requirement"] == "does not lead to more HITs"
    assert worker.refused(hits[1]) == "no_more"


def test_hits_taken_at_the_same_moment_are_counted(requester, admin):
    _, needs = limited(requester, "moment", first=2)
    hits = [offer(requester, QualificationRequirements=needs) for _ in range(8)]
    worker = admin.worker()
    with ThreadPoolExecutor(8) as pool:  # as from eight browsers
        taken = list(
            pool.map(lambda hit: worker.request("POST", f"/hits/{hit['HITId']}/accept").status, hits)
        )
    assert sorted(taken) == [201] * 2 + [403] * 6


def test_a_limit_needs_one_value_and_a_score_of_a_requester(requester):
    kind, _ = limited(requester, "checked")
    for wrong in (
        {"QualificationTypeId": kind, "Comparator": "GreaterThanTaken"},
        {"QualificationTypeId": kind, "Comparator": "GreaterThanTaken", "IntegerValues": [1, 2]},
        {
            "QualificationTypeId": "00000000000000000040",
            "Comparator": "GreaterThanTaken",
            "IntegerValues": [1],
        },
        {"QualificationTypeId": kind, "Comparator": "GreaterThanEver", "IntegerValues": [1]},
    ):
        assert turk_error(offer, requester, QualificationRequirements=[wrong]) == "InvalidParameterValue"


def test_the_balance_comes_with_a_count_of_what_was_submitted(requester, admin):
    def count():
        said = requester.get_account_balance()["ResponseMetadata"]["HTTPHeaders"]
        return int(said["x-prefjudge-submissions"])

    hit, worker, before = offer(requester), admin.worker(), count()
    held = worker.accept(hit)["assignment_id"]
    assert count() == before
    worker.submit(held)
    worker.submit(held)  # a repeat is the same submission
    assert count() == before + 1
