"""Dallinger's recruiting code, as PyPI has it, does its work here; only its host is another.

Dallinger brings some hundred packages, so it may live in an environment of its own:
``python -m venv d && d/bin/pip install dallinger``, then ``DALLINGER_PYTHON=d/bin/python pytest …``.
"""

import importlib.util
import json
import os
import subprocess
import sys

import pytest

from tests.marketplace.people import external_question

PROGRAM = """
import json, sys
from dallinger.mturk import (
    DuplicateQualificationNameError, MTurkQualificationRequirements as Ask, MTurkService,
    RevokedQualification, WorkerLacksQualification,
)

class Here(MTurkService):
    host = sys.argv[1]

def raises(error, act, *arguments):
    try:
        act(*arguments)
    except error as raised:
        return type(raised) is error
    return False

service = Here(sys.argv[2], sys.argv[3], "us-east-1")

def first():
    assert service.check_credentials()
    kind = service.create_qualification_type("seen", "has taken part")
    assert service.get_qualification_type_by_name("seen")["id"] == kind["id"]
    assert raises(DuplicateQualificationNameError, service.create_qualification_type, "seen", "again")
    hit = service.create_hit(
        experiment_id="e", title="t", description="d", keywords=["k"], reward=0.5, duration_hours=1,
        lifetime_days=1, question=sys.argv[5], max_assignments=2, annotation="mine", do_subscribe=False,
        qualifications=[
            Ask.min_approval(95), Ask.restrict_to_countries(["US"]), Ask.must_not_have(kind["id"])
        ],
    )
    assert [one["id"] for one in service.get_hits()] == [hit["id"]]
    return {"hit": hit["id"], "kind": kind["id"], "balance": service.account_balance()}

def second(hit, assignment, worker, kind):
    found = service.get_assignment(assignment)
    assert (found["status"], found["worker_id"], found["hit_id"]) == ("Approved", worker, hit)
    assert service.grant_bonus(assignment, 0.25, "thanks")
    assert raises(WorkerLacksQualification, service.current_qualification_score, kind, worker)
    service.assign_named_qualification("seen", worker, 3)
    assert service.increment_qualification_score(kind, worker)["score"] == 4
    assert [one["id"] for one in service.get_workers_with_qualification(kind)] == [worker]
    assert service.revoke_qualification(kind, worker)
    assert raises(RevokedQualification, service.current_qualification_score, kind, worker)
    assert service.extend_hit(hit, 1, 2)["max_assignments"] == 3
    assert service.expire_hit(hit)
    assert service.mturk.delete_hit(HITId=hit)
    assert service.dispose_qualification_type(kind)
    return {"balance": service.account_balance(), "hits": len(list(service.get_hits()))}

print(json.dumps(first() if sys.argv[4] == "first" else second(*sys.argv[5:])))
"""


@pytest.fixture
def dallinger(market, admin):
    python = os.environ.get("DALLINGER_PYTHON") or (
        sys.executable if importlib.util.find_spec("dallinger") else None
    )
    if python is None:
        pytest.skip("no dallinger: install it, or give DALLINGER_PYTHON")
    key = admin.call("POST", "/admin/requesters", {"name": "dallinger"}, status=201)

    def run(*arguments):
        command = [python, "-c", PROGRAM, market.endpoint, key["access_key"], key["secret_key"], *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_an_experiment_recruits_and_pays(dallinger, worker, clock):
    offered = dallinger("first", external_question())
    assert offered["balance"] == 9998.8
    ident = worker.do({"HITId": offered["hit"]})
    clock.advance(1)  # dallinger asks for approval without delay
    done = dallinger("second", offered["hit"], ident, worker.worker_id, offered["kind"])
    assert done == {"balance": 9999.1, "hits": 0}
    assert worker.get("/history")["earnings"]["balance"] == "0.75"
