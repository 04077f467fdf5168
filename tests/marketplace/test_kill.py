"""Kill -9 under load, start again: every acknowledged submission is there, every ledger balances."""

import random
import signal
import threading

import pytest
import urllib3

from prefjudge.marketplace.server import start
from tests.marketplace.people import Admin, new_requester, offer
from tests.marketplace.processes import launch

KILLS = 3


class Acknowledged:
    """What a server said was done before it died."""

    def __init__(self) -> None:
        self.submitted: list[str] = []
        self.created: list[str] = []
        self.approved: list[str] = []


def labour(endpoint: str, invite: str, group: str, done: Acknowledged) -> None:
    """Work until the server is gone."""
    http = urllib3.PoolManager(retries=False)

    def post(path, headers, **fields):
        url = endpoint + path
        return http.request("POST", url, fields=fields, encode_multipart=False, headers=headers, timeout=10)

    try:
        answer = post("/signin", {"Accept": "application/json"}, invite=invite)
        cookie = answer.headers["set-cookie"].split(";")[0]
        headers = {"Accept": "application/json", "Cookie": cookie, "X-CSRF-Token": answer.json()["csrf"]}
        while True:
            taken = post(f"/groups/{group}/accept", headers)
            if taken.status == 409:
                continue
            ident = taken.json()["assignment_id"]
            if post("/mturk/externalSubmit", headers, assignmentId=ident, q="a").status == 200:
                done.submitted.append(ident)
    except urllib3.exceptions.HTTPError:
        return


def requesting(endpoint: str, done: Acknowledged) -> None:
    """Offer HITs and approve work until the server is gone."""
    from botocore.exceptions import BotoCoreError, ClientError

    requester = new_requester(endpoint)
    try:
        while True:
            done.created.append(offer(requester, MaxAssignments=2)["HITId"])
            for ident in done.submitted[-3:]:
                try:
                    requester.approve_assignment(AssignmentId=ident)
                except ClientError:
                    continue
                done.approved.append(ident)
    except BotoCoreError:  # refused, reset, timed out: it is gone
        return


@pytest.mark.parametrize("seed", [11])
def test_nothing_acknowledged_is_lost(tmp_path, seed):
    url, rng, done = f"sqlite:///{tmp_path}/m.db", random.Random(seed), Acknowledged()
    with start(url) as server:
        admin = Admin(server)
        invites = [admin.call("POST", "/admin/workers", {}, status=201)["invite"] for _ in range(6)]
        group = offer(new_requester(server.endpoint), MaxAssignments=2)["HITTypeId"]
    for _ in range(KILLS):
        process, about = launch(url)
        endpoint = about["endpoint"]
        threads = [threading.Thread(target=labour, args=(endpoint, one, group, done)) for one in invites]
        threads.append(threading.Thread(target=requesting, args=(endpoint, done)))
        for thread in threads:
            thread.start()
        enough = len(done.submitted) + 5
        for _ in range(1000):  # a slow machine takes longer until there is something to lose
            if len(done.submitted) >= enough:
                break
            threading.Event().wait(0.02)
        threading.Event().wait(rng.uniform(0.0, 0.6))
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
        process.stdout.close()
        for thread in threads:
            thread.join(timeout=30)
    assert len(done.submitted) > 10
    with start(url) as server:
        with server.marketplace.transaction() as tx:
            status = dict(tx.execute("SELECT assignment_id, status FROM assignments"))
            known = {row[0] for row in tx.execute("SELECT hit_id FROM hits")}
            wrong = tx.execute(
                "SELECT hit_id FROM hits WHERE available + pending + submitted + completed <> max_assignments"
            )
            doubled = tx.execute(
                "SELECT hit_id, worker_id FROM assignments WHERE status NOT IN ('Returned', 'Abandoned')"
                " GROUP BY hit_id, worker_id HAVING count(*) > 1"
            )
        assert {
            ident for ident in done.submitted if status.get(ident) not in ("Submitted", "Approved")
        } == set()
        assert {ident for ident in done.approved if status[ident] != "Approved"} == set()
        assert set(done.created) <= known
        assert (wrong, doubled) == ([], [])
        assert Admin(server).call("GET", "/admin/overview")["ledger_imbalance"] == []
