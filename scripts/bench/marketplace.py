"""Load on the marketplace: simulated workers do HITs of 13 pairs over HTTP, as people would.

    python scripts/bench/marketplace.py                      # short: 40 workers, 200 HITs
    python scripts/bench/marketplace.py --workers 200 --hits 2000
    python scripts/bench/marketplace.py --store postgresql://HOST/NAME --processes 4

Prints one JSON object: HITs per second, the time of a page, and what was lost or handed out twice (nothing).
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import boto3
import numpy as np
import urllib3
from botocore import UNSIGNED
from botocore.config import Config

from prefjudge.core.hits import Comparison, Layout, Passage
from prefjudge.crowd.mturk.questions import write_question
from prefjudge.crowd.tasks import Page
from prefjudge.pages.hit import HitPage, render_hit_page

PAIRS, WORDS = 13, 60
SERVER = """
import json, sys
from prefjudge.marketplace.server import Settings, serve
def say(server):
    print(json.dumps({"endpoint": server.endpoint, "token": server.admin_token}), flush=True)
serve(sys.argv[1], Settings(), ready=say)
"""


def question(rng: np.random.Generator) -> str:
    """Return a HIT of 13 pairs with passages of MS MARCO's length."""
    words = np.array(
        ["passage", "query", "answer", "seven", "about", "lake", "between", "orange", "the", "of"]
    )
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz0123456789"))

    def name() -> str:
        return "".join(rng.choice(letters, 12))

    def text(length: int) -> str:
        return " ".join(rng.choice(words, length))

    both = [(Passage(text(WORDS)), Passage(text(WORDS))) for _ in range(PAIRS)]
    slots = tuple(
        Comparison(name=name(), query=text(6), passages=one, tokens=(name(), name())) for one in both
    )
    layout = Layout(order=tuple(range(PAIRS)), swapped=(False,) * PAIRS)
    page = HitPage(
        title="Which passage is better?",
        question="Which passage best answers the question?",
        instructions=text(40),
        consent=text(40),
        reward="$2.00",
        shares=tuple(f"${done * 2 / PAIRS:.2f}" for done in range(PAIRS + 1)),
        slots=slots,
        layouts=(layout,),
    )
    return write_question(Page(html=render_hit_page(page)))


class Crowd:
    """Workers, each on a thread of its own, who work until nothing is left."""

    def __init__(self, endpoints: list[str]) -> None:
        self.endpoints = endpoints
        self.times: dict[str, list[float]] = {}
        self.done: list[str] = []
        self.errors: Counter[str] = Counter()
        self._lock = threading.Lock()

    def run(self, invites: list[str], group: str) -> None:
        """Let everybody who is invited work, until nothing of the group is left."""
        threads = [
            threading.Thread(target=self.work, args=(number, invite, group))
            for number, invite in enumerate(invites)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def waits(self) -> dict[str, dict[str, float]]:
        """Return how long pages took, in milliseconds."""
        every = [one for times in self.times.values() for one in times]
        return {
            "page_ms": {f"p{percent}": _percentile(every, percent) for percent in (50, 95, 99)},
            "p95_ms_by_page": {page: _percentile(times, 95) for page, times in sorted(self.times.items())},
        }

    def work(self, number: int, invite: str, group: str) -> None:
        """Sign in and do HITs."""
        endpoint = self.endpoints[number % len(self.endpoints)]
        http = urllib3.PoolManager(retries=False, timeout=120)
        headers = {"Accept": "application/json"}

        def call(page: str, verb: str, url: str, fields: dict[str, str] | None = None) -> Any:
            began = time.perf_counter()
            if verb == "POST":
                answer = http.request_encode_body(verb, url, fields or {}, headers, encode_multipart=False)
            else:
                answer = http.request(verb, url, headers=headers)
            with self._lock:
                self.times.setdefault(page, []).append(time.perf_counter() - began)
                if answer.status >= 400 and b'"none_left"' not in answer.data:
                    self.errors[f"{page} {answer.status}"] += 1
            return answer

        signed_in = call("sign in", "POST", f"{endpoint}/signin", {"invite": invite})
        headers["Cookie"] = signed_in.headers["set-cookie"].split(";")[0]
        headers["X-CSRF-Token"] = signed_in.json()["csrf"]
        call("list", "GET", f"{endpoint}/hits")
        while True:
            taken = call("accept", "POST", f"{endpoint}/groups/{group}/accept")
            if taken.status != 201:
                return
            held = taken.json()
            call("frame", "GET", held["frame_url"])
            answers = {"assignmentId": held["assignment_id"], "consent": "yes", "layout": "0"}
            answers |= {f"slot{i:02d}": "token" for i in range(PAIRS)}
            answers |= {f"slot{i:02d}.ms": "9000" for i in range(PAIRS)}
            if call("submit", "POST", f"{endpoint}/mturk/externalSubmit", answers).status == 200:
                with self._lock:
                    self.done.append(held["assignment_id"])


def _percentile(seconds: list[float], percent: int) -> float:
    return round(float(np.percentile(seconds, percent)) * 1000, 1)


def measure(store: str, processes: int, workers: int, hits: int) -> dict[str, Any]:
    """Run the load and return what it showed."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", SERVER, store], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        for _ in range(processes)
    ]
    try:
        about = [json.loads(one.stdout.readline()) for one in running if one.stdout]
        return _load([one["endpoint"] for one in about], about[0]["token"], workers, hits)
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.wait(timeout=60)


def _load(endpoints: list[str], token: str, workers: int, hits: int) -> dict[str, Any]:
    xml = question(np.random.default_rng(0))
    group, published = _publish(endpoints[0], xml, hits)
    admin = urllib3.PoolManager(
        headers={"Authorization": f"Bearer {token}", "Accept": "application/json"}, timeout=120
    )
    invites = [
        admin.request("POST", f"{endpoints[0]}/admin/workers", json={}).json()["invite"]
        for _ in range(workers)
    ]
    crowd = Crowd(endpoints)
    began = time.perf_counter()
    crowd.run(invites, group)
    worked = time.perf_counter() - began
    overview = admin.request("GET", f"{endpoints[0]}/admin/overview").json()
    submitted = overview["counts"]["assignments"].get("Submitted", 0)
    return {
        "workers": workers,
        "hits": hits,
        "question_bytes": len(xml.encode()),
        "processes": len(endpoints),
        "created_per_second": round(hits / published, 1),
        "hits_per_second": round(len(crowd.done) / worked, 1),
        **crowd.waits(),
        "lost": len(set(crowd.done)) - submitted,
        "handed_out_twice": len(crowd.done) - len(set(crowd.done)),
        "errors": dict(crowd.errors),
        "ledger_imbalance": overview["ledger_imbalance"],
    }


def _publish(endpoint: str, xml: str, hits: int) -> tuple[str, float]:
    """Publish HITs through boto3, and return their HIT type and the seconds that they took."""
    config = Config(signature_version=UNSIGNED, retries={"total_max_attempts": 1})
    client = boto3.client("mturk", endpoint_url=endpoint, region_name="us-east-1", config=config)
    made = client.create_hit_type(Title="t", Description="d", Reward="2.00", AssignmentDurationInSeconds=3600)
    hit_type: str = made["HITTypeId"]
    began = time.perf_counter()
    for i in range(hits):
        client.create_hit_with_hit_type(
            HITTypeId=hit_type, LifetimeInSeconds=86400, Question=xml, UniqueRequestToken=f"load {i}"
        )
    return hit_type, time.perf_counter() - began


def main() -> None:
    """Read the options and print the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workers", type=int, default=40)
    parser.add_argument("--hits", type=int, default=200)
    parser.add_argument("--store", help="a SQLite file of its own by default")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or f"sqlite:///{Path(folder) / 'market.db'}"
        print(json.dumps(measure(store, options.processes, options.workers, options.hits), indent=1))


if __name__ == "__main__":
    main()
