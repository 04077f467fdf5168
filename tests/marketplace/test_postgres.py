"""Several processes, one marketplace: nothing is handed out twice."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from prefjudge.marketplace.server import start
from tests.marketplace.crowd import Swarm
from tests.marketplace.people import Admin, new_requester, offer
from tests.marketplace.processes import serving
from tests.marketplace.test_limits import limited, score


def test_three_processes_hand_out_every_assignment_once(postgres_url):
    """80 workers take 90 assignments of 60 HITs from three servers, and leave none."""
    with start(postgres_url) as first, serving(postgres_url, 2) as others:
        endpoints = [first.endpoint, *others]
        idents = {
            Admin(first).http.request("GET", f"{one}/healthz").json()["marketplace"] for one in endpoints
        }
        assert len(idents) == 1
        requester = new_requester(first.endpoint)
        hits = [offer(requester, MaxAssignments=1) for _ in range(30)]
        hits += [offer(requester, MaxAssignments=2) for _ in range(30)]
        group = hits[0]["HITTypeId"]
        admin = Admin(first)
        swarm = Swarm(
            endpoints, [admin.call("POST", "/admin/workers", {}, status=201)["invite"] for _ in range(80)]
        )
        done = swarm.work(group)
        assert len(done) == len(set(done)) == 90
        listed = []
        for hit in hits:
            found = requester.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
            assert len(found) == hit["MaxAssignments"]
            assert len({one["WorkerId"] for one in found}) == len(found)
            listed += [one["AssignmentId"] for one in found]
        assert Counter(listed) == Counter(done)
        assert admin.call("GET", "/admin/overview")["ledger_imbalance"] == []


def test_servers_share_time_money_and_tokens(postgres_url):
    with start(postgres_url) as one, start(postgres_url) as other:
        left, right = new_requester(one.endpoint), new_requester(other.endpoint)
        outcomes = []

        def race(requester):
            try:
                outcomes.append(offer(requester, UniqueRequestToken="race")["HITId"])
            except requester.exceptions.RequestError as error:
                outcomes.append(error.response["TurkErrorCode"])

        threads = [threading.Thread(target=race, args=(who,)) for who in (left, right) * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert outcomes.count("AWS.MechanicalTurk.HitAlreadyExists") == 7
        assert left.list_hits()["NumResults"] == right.list_hits()["NumResults"] == 1
        assert left.get_account_balance()["OnHoldBalance"] == "2.40"
        assert one.admin_token == other.admin_token


def test_two_clicks_at_once_give_two_different_hits(postgres_url):
    with start(postgres_url) as one, start(postgres_url) as other:
        requester, admin = new_requester(one.endpoint), Admin(one)
        hits = [offer(requester) for _ in range(40)]
        group = hits[0]["HITTypeId"]
        for _ in range(10):
            worker = admin.worker(name=None)
            answers = []

            def click(endpoint, worker=worker, answers=answers):
                answers.append(worker.request("POST", f"{endpoint}/groups/{group}/accept"))

            threads = [threading.Thread(target=click, args=(server.endpoint,)) for server in (one, other)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert [answer.status for answer in answers] == [201, 201]
            assert len({answer.json()["hit_id"] for answer in answers}) == 2


def test_who_gives_a_hit_back_gets_it_again_from_any_server(postgres_url):
    with start(postgres_url) as one, start(postgres_url) as other:
        requester, admin = new_requester(one.endpoint), Admin(one)
        _, needs = limited(requester, "again")
        hits = [offer(requester, QualificationRequirements=needs) for _ in range(8)]
        worker, group = admin.worker(), hits[0]["HITTypeId"]
        held, seen = worker.accept(hits[3]), {hits[3]["HITId"]}

        def click(at):
            server = (one, other)[at % 2]
            door = f"hits/{hits[at]['HITId']}" if at > 3 else f"groups/{group}"
            path = f"assignments/{held['assignment_id']}/return" if at == 0 else f"{door}/accept"
            return worker.request("POST", f"{server.endpoint}/{path}").json()

        for _ in range(10):  # while it is given back, others are asked for
            with ThreadPoolExecutor(8) as pool:
                said = list(pool.map(click, range(8)))
            taken = [one for one in said[1:] if "assignment_id" in one]
            held = (taken or [worker.post(f"/groups/{group}/accept", status=201)])[0]
            seen |= {one["hit_id"] for one in [*taken, held]}
        assert seen == {hits[3]["HITId"]}


def test_limits_agreements_and_disputes_hold_in_two_servers(postgres_url):
    with start(postgres_url) as one, start(postgres_url) as other:
        requester, admin = new_requester(one.endpoint), Admin(one)
        kind, needs = limited(requester, "two servers", first=2)
        hits = [offer(requester, QualificationRequirements=needs, MaxAssignments=1) for _ in range(8)]
        worker = admin.worker()

        def take(at):
            server = (one, other)[at % 2]
            return worker.request("POST", f"{server.endpoint}/hits/{hits[at]['HITId']}/accept")

        with ThreadPoolExecutor(8) as pool:  # each waits for the worker's row in the others' transactions
            taken = [answer for answer in pool.map(take, range(8)) if answer.status == 201]
        assert len(taken) == 2
        first, second = (answer.json()["assignment_id"] for answer in taken)
        score(requester, worker, kind, 3)
        with ThreadPoolExecutor(8) as pool:
            again = sorted(answer.status for answer in pool.map(take, range(8)))
        assert again.count(201) == 1

        for _ in range(2):
            agreed = {"page": "0a1b2c3d4e"}
            url = f"{worker.endpoint}/assignments/{first}/agreed"
            assert worker.http.request("POST", url, json=agreed, headers=worker.headers).status == 200
        assert worker.get(f"/assignments/{second}")["agreed"] == ["0a1b2c3d4e"]
        worker.submit(first)
        requester.reject_assignment(AssignmentId=first, RequesterFeedback="Too fast.")
        worker.post(f"/assignments/{first}/dispute", {"text": "I read it all."})
        assert (
            worker.post(f"/assignments/{first}/dispute", {"text": "Again."}, status=409)["code"] == "disputed"
        )
        (found,) = Admin(other).call("GET", "/admin/overview")["disputes"]
        assert (found["assignment_id"], found["text"]) == (first, "I read it all.")
        Admin(other).call("POST", f"/admin/disputes/{first}", {"text": "You are right."})
        answered = next(one for one in worker.get("/history")["assignments"] if one["assignment_id"] == first)
        assert answered["dispute_answer"] == "You are right."


def test_a_server_outlives_its_databases_restart(postgres_url):
    import psycopg

    with start(postgres_url) as server:
        requester = new_requester(server.endpoint)
        hit = offer(requester)
        with psycopg.connect(postgres_url, autocommit=True) as db:
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        patient = new_requester(server.endpoint, attempts=10)
        found = patient.get_hit(HITId=hit["HITId"])
        assert found["HIT"]["HITId"] == hit["HITId"]
