"""Four programs that name Amazon's host in their code do a whole cycle here, unchanged.

They are looked for in the folder that ``PREFJUDGE_PROGRAMS`` names: ``amti`` and ``simple-amt`` are clones of
their repositories; ``dallinger`` and ``psiturk`` are virtual environments that have them.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from prefjudge.marketplace.server import Server, start
from prefjudge.marketplace.settings import Settings
from prefjudge.marketplace.stand_in import StandInSettings
from tests.marketplace.people import Admin, Worker, external_question

pytest.importorskip("cryptography", reason="no cryptography, which the stand-in needs")

DALLINGER = """
import json, sys
from dallinger.mturk import (
    DuplicateQualificationNameError, MTurkQualificationRequirements as Ask, MTurkService,
    RevokedQualification, WorkerLacksQualification,
)

def raises(error, act, *arguments):
    try:
        act(*arguments)
    except error as raised:
        return type(raised) is error
    return False

service = MTurkService(sys.argv[1], sys.argv[2], "us-east-1")

def first():
    assert service.check_credentials()
    kind = service.create_qualification_type("seen", "has taken part")
    assert service.get_qualification_type_by_name("seen")["id"] == kind["id"]
    assert raises(DuplicateQualificationNameError, service.create_qualification_type, "seen", "again")
    hit = service.create_hit(
        experiment_id="e", title="t", description="d", keywords=["k"], reward=0.5, duration_hours=1,
        lifetime_days=1, question=sys.argv[4], max_assignments=2, annotation="mine", do_subscribe=False,
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

print(json.dumps(first() if sys.argv[3] == "first" else second(*sys.argv[4:])))
"""


PSITURK = """
import configparser, datetime, json, sys
from psiturk.amt_services import MTurkServices

config = configparser.ConfigParser()
config["AWS Access"] = {"aws_access_key_id": sys.argv[1], "aws_secret_access_key": sys.argv[2]}
service = MTurkServices(config, "sandbox")

def data(response):
    assert response.success, response.exception
    return response.data

def first(url):
    hit = data(service.create_hit({
        "title": "t", "description": "d", "keywords": "k", "reward": 0.5, "max_assignments": 2,
        "duration": datetime.timedelta(hours=1), "lifetime": datetime.timedelta(days=1), "ad_location": url,
        "approve_requirement": 95, "number_hits_approved": 0, "us_only": True,
        "require_master_workers": False,
        "require_qualification_ids": [], "block_qualification_ids": [],
        "advanced_qualifications": [],
    }))
    assert [one.options["hitid"] for one in data(service.get_all_hits())] == [hit["HITId"]]
    return {"hit": hit["HITId"], "balance": data(service.check_balance())}

def second(hit, good, bad):
    found = {one["assignmentId"]: one["status"] for one in data(service.get_assignments("Submitted", hit))}
    assert found == {good: "Submitted", bad: "Submitted"}
    assert data(service.approve_assignment(good))
    assert data(service.bonus_assignment(good, "", 0.25, "thanks"))
    assert data(service.reject_assignment(bad))  # without a word
    assert data(service.unreject_assignment(bad))
    assert data(service.extend_hit(hit, 1, 60))
    assert data(service.expire_hit(hit))
    assert data(service.delete_hit(hit))
    return {"balance": data(service.check_balance()), "hits": len(data(service.get_all_hits()))}

print(json.dumps(first(*sys.argv[4:]) if sys.argv[3] == "first" else second(*sys.argv[4:])))
"""

Run = Callable[..., str]


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory):
    """A marketplace that stands in for Amazon's sandbox."""
    folder = tmp_path_factory.mktemp("stand-in")
    settings = Settings(stand_in=StandInSettings(folder=folder))
    with start(f"sqlite:///{folder}/market.db", settings=settings) as server:
        yield server


@pytest.fixture(scope="module")
def admin(market: Server) -> Admin:
    return Admin(market)


@pytest.fixture
def run(market: Server, admin: Admin, tmp_path: Path, request: pytest.FixtureRequest) -> Run:
    """Run a Python program of a requester of its own, who is led here and pays in play money."""
    key = admin.call("POST", "/admin/requesters", {"name": request.node.name}, status=201)
    assert market.stand_in is not None
    environment = os.environ | {
        "HTTPS_PROXY": market.stand_in.address,
        "AWS_CA_BUNDLE": str(market.stand_in.certificate_file),
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": key["access_key"],
        "AWS_SECRET_ACCESS_KEY": key["secret_key"],
    }

    def done(*command: object, python: Path = Path(sys.executable), said: str = "", **more: str) -> str:
        ended = subprocess.run(
            [python, *map(str, command)],
            input=said,
            env=environment | more,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def keyed(program: str, python: Path) -> Callable[..., dict[str, object]]:
        keys = (key["access_key"], key["secret_key"])
        return lambda *given: json.loads(done("-c", program, *keys, *given, python=python).splitlines()[-1])

    done.keyed = keyed  # type: ignore[attr-defined]
    return done


def find_program(name: str) -> Path:
    folder = os.environ.get("PREFJUDGE_PROGRAMS")
    if not folder or not (Path(folder) / name).exists():
        pytest.skip(f"no {name}: PREFJUDGE_PROGRAMS names no folder that has it")
    return Path(folder) / name


def test_dallinger_recruits_and_pays(market: Server, run: Run, worker: Worker) -> None:
    dallinger = run.keyed(DALLINGER, find_program("dallinger") / "bin" / "python")
    offered = dallinger("first", external_question())
    assert offered["balance"] == 9998.8
    ident = worker.do({"HITId": offered["hit"]})
    done = dallinger("second", offered["hit"], ident, worker.worker_id, offered["kind"])
    assert done == {"balance": 9999.1, "hits": 0}
    assert worker.get("/history")["earnings"]["balance"] == "0.75"


HEARS = """
import json, sys, threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer
from dallinger.mturk import MTurkService

service = MTurkService(sys.argv[1], sys.argv[2], "us-east-1")
heard = []

class Listener(BaseHTTPRequestHandler):  # what dallinger.recruiters does at /mturk-sns-listener
    def do_POST(self):
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if content["Type"] == "SubscriptionConfirmation":
            service.confirm_subscription(token=content["Token"], topic=content["TopicArn"])
        else:
            heard.append(json.loads(content["Message"])["Events"][0]["EventType"])
        self.send_response(200)
        self.end_headers()

server = HTTPServer(("127.0.0.1", 0), Listener)
threading.Thread(target=server.serve_forever, daemon=True).start()
hit = service.create_hit(
    experiment_id="heard", title="t", description="d", keywords=["k"], reward=0.5, duration_hours=1,
    lifetime_days=1, question=sys.argv[3], max_assignments=1, annotation="mine",
    notification_url=f"http://127.0.0.1:{server.server_port}/mturk-sns-listener",
)
service.expire_hit(hit["id"])
service.get_hit(hit["id"])
while len(heard) < 2:
    time.sleep(0.1)
print(json.dumps({"heard": heard, "cancelled": service.sns.cancel_subscription("heard")}))
"""


def test_dallinger_hears_of_its_work_by_a_topic(run: Run) -> None:
    dallinger = run.keyed(HEARS, find_program("dallinger") / "bin" / "python")
    assert dallinger(external_question()) == {"heard": ["HITExpired", "HITReviewable"], "cancelled": True}


def test_psiturk_pays_rejects_and_takes_it_back(run: Run, admin: Admin) -> None:
    psiturk = run.keyed(PSITURK, find_program("psiturk") / "bin" / "python")
    offered = psiturk("first", "https://example.org/study")
    assert offered["balance"] == "9998.80"
    people = [admin.worker(country="US") for _ in range(2)]
    submitted = [worker.do({"HITId": offered["hit"]}) for worker in people]
    assert psiturk("second", offered["hit"], *submitted) == {"balance": "9998.50", "hits": 0}
    assert [worker.get("/history")["earnings"]["balance"] for worker in people] == ["0.75", "0.50"]


def test_simple_amt_launches_reads_approves_and_deletes(run: Run, admin: Admin, tmp_path: Path) -> None:
    shutil.copytree(find_program("simple-amt"), tmp_path, dirs_exist_ok=True)
    (tmp_path / "config.json").write_text("{}")
    properties = tmp_path / "hit_properties" / "simple.json"
    properties.write_text(json.dumps(json.loads(properties.read_text()) | {"LifetimeInSeconds": 600}))
    (tmp_path / "input.txt").write_text('["dogs"]\n["cats"]\n')
    ids = "--hit_ids_file=ids.txt"
    template = "--html_template=hit_templates/simple.html"
    run("launch_hits.py", template, f"--hit_properties_file={properties}", "--input_json_file=input.txt", ids)
    worker = admin.worker()
    for hit in (tmp_path / "ids.txt").read_text().split():
        worker.do({"HITId": hit}, {"output": json.dumps({"example": "poodle"})})
    assert "1 / 1: 2" in run("show_hit_progress.py", ids)
    found = [json.loads(line) for line in run("get_results.py", ids).splitlines()]
    assert [one["output"] for one in found] == [{"example": "poodle"}] * 2
    assert "approve 2 assignments" in run("approve_hits.py", ids, said="y\n")
    assert run("show_account_balance.py").strip() == "9999.88"
    assert "disabling: 2 / 2" in run("delete_hits.py", ids, said="y\n")
    assert worker.get("/history")["earnings"]["balance"] == "0.10"


def test_amti_keeps_a_batch_from_its_creation_to_its_table(run: Run, admin: Admin, tmp_path: Path) -> None:
    source = find_program("amti")
    example, batches = source / "examples" / "html-question", tmp_path / "batches"
    batches.mkdir()

    def amti(*command: object, said: str = "") -> str:
        return run(source / "scripts" / "amti", *command, said=said, PYTHONPATH=str(source))

    amti("create-batch", example / "definition", example / "data.jsonl", batches, said="y\n")
    (batch,) = batches.iterdir()
    assert "Assignable: 2" in amti("status-batch", batch)
    hits = json.loads((batch / "_INCOMPLETE").read_text())["hit_ids"]
    worker = admin.worker()
    for hit in hits:
        worker.do({"HITId": hit}, {"answer": "a poodle"})
    amti("review-batch", "--approve-all", batch)
    amti("save-batch", batch)
    amti("extract", "tabular", batch, tmp_path / "table.jsonl")
    assert (tmp_path / "table.jsonl").read_text().count("a poodle") == 2
    amti("delete-batch", batch, said="y\n")
    assert worker.get("/history")["earnings"]["balance"] == "0.50"
