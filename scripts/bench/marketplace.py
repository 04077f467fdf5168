"""The worker site under an open loop: HITs are begun at a fixed rate, whether earlier ones are done or not.

    python scripts/bench/marketplace.py                                    # 5 HITs a second for 10 seconds
    python scripts/bench/marketplace.py --rate 30 --seconds 60 --hits 2000 --workers 200
    python scripts/bench/marketplace.py --store postgresql://HOST/NAME --processes 4

The time of a HIT's first page counts from the moment at which it should have been asked for, so that a
server that falls behind does not hide it by slowing its clients down. Prints one JSON object: the time of a
page, the processor time of a request, and what was lost or handed out twice (nothing).
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import boto3
import numpy as np
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


_TICK = os.sysconf("SC_CLK_TCK")
_THREADS = 120
"""Clients at work at once: more than ever wait for a server that keeps up."""


_IDLE = 4.0
"""Seconds after which a client opens a new connection."""


class Site:
    """The servers under load, and how long each page took."""

    def __init__(self, store: str, processes: int) -> None:
        self.running = [
            subprocess.Popen(
                [sys.executable, "-c", SERVER, store], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            for _ in range(processes)
        ]
        about = [json.loads(one.stdout.readline()) for one in self.running if one.stdout]
        self.hosts = [urlsplit(one["endpoint"]).netloc for one in about]
        self.token = about[0]["token"]
        self.times: dict[str, list[float]] = {}
        self.errors: Counter[str] = Counter()
        self._local, self._lock = threading.local(), threading.Lock()

    def close(self) -> None:
        """Stop the servers."""
        for one in self.running:
            one.terminate()
        for one in self.running:
            one.wait(timeout=60)

    def cpu(self) -> float:
        """Return the processor seconds of the servers so far."""
        fields = [
            Path(f"/proc/{one.pid}/stat").read_text().rpartition(")")[2].split() for one in self.running
        ]
        return sum(int(one[11]) + int(one[12]) for one in fields) / _TICK

    def ask(
        self,
        page: str,
        host: str,
        verb: str,
        path: str,
        headers: Mapping[str, str],
        fields: Mapping[str, str] | None = None,
        due: float | None = None,
    ) -> tuple[int, Any, Mapping[str, str]]:
        """Ask for a page over a kept connection, and note how long it took, since ``due`` if given."""
        began = due or time.perf_counter()
        known: dict[str, http.client.HTTPConnection] = self._local.__dict__.setdefault("known", {})
        link = known.setdefault(host, http.client.HTTPConnection(host, timeout=60))
        form = {"Content-Type": "application/x-www-form-urlencoded"} if fields is not None else {}
        used: dict[str, float] = self._local.__dict__.setdefault("used", {})
        if time.monotonic() - used.get(host, 0.0) > _IDLE:
            link.close()  # the server has closed it, too
        link.request(verb, path, urlencode(fields) if fields is not None else None, {**headers, **form})
        answer = link.getresponse()
        used[host] = time.monotonic()
        body = answer.read()
        with self._lock:
            self.times.setdefault(page, []).append(time.perf_counter() - began)
            if answer.status >= 400:
                self.errors[f"{page} {answer.status}"] += 1
        found = json.loads(body) if body[:1] in (b"{", b"[") else None
        return answer.status, found, dict(answer.getheaders())

    def sign_in(self, number: int) -> tuple[str, dict[str, str]]:
        """Invite a worker and sign in; return the worker's server and headers."""
        host = self.hosts[number % len(self.hosts)]
        admin = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        invite = self.ask("invite", host, "POST", "/admin/workers", admin, {})[1]["invite"]
        headers = {"Accept": "application/json"}
        _, said, got = self.ask("sign in", host, "POST", "/signin", headers, {"invite": invite})
        cookie = got["set-cookie"].partition(";")[0]
        return host, {**headers, "Cookie": cookie, "X-CSRF-Token": said["csrf"]}

    def waits(self) -> dict[str, dict[str, float]]:
        """Return how long pages took, in milliseconds."""
        return {
            page: {f"p{part}": round(float(np.percentile(times, part)) * 1000, 1) for part in (50, 95, 99)}
            for page, times in sorted(self.times.items())
        }

    def publish(self, hits: int) -> str:
        """Publish HITs of one group, and return the group."""
        config = Config(signature_version=UNSIGNED, retries={"total_max_attempts": 1})
        client = boto3.client(
            "mturk", endpoint_url=f"http://{self.hosts[0]}", region_name="us-east-1", config=config
        )
        terms = {"Title": "t", "Description": "d", "Reward": "0.50", "AssignmentDurationInSeconds": 3600}
        group: str = client.create_hit_type(**terms)["HITTypeId"]
        xml = question(np.random.default_rng(0))
        for _ in range(hits):
            client.create_hit_with_hit_type(HITTypeId=group, LifetimeInSeconds=86400, Question=xml)
        return group


def arrivals(site: Site, *, rate: float, seconds: float, hits: int, workers: int) -> dict[str, Any]:
    """Begin HITs at a fixed rate; each is listed, accepted, shown, submitted and thanked for."""
    group = site.publish(hits)
    signed = [site.sign_in(number) for number in range(workers)]
    site.times.clear()
    done: list[str] = []

    def one_hit(number: int, due: float) -> None:
        host, headers = signed[number % workers]
        site.ask("list", host, "GET", "/hits", headers, due=due)
        status, held, _ = site.ask("accept", host, "POST", f"/groups/{group}/accept", headers, {})
        if status != 201:
            return
        ident = held["assignment_id"]
        site.ask("frame", host, "GET", "/frames/" + held["frame_url"].partition("/frames/")[2], headers)
        answers = {"assignmentId": ident, "consent": "yes", "layout": "0"}
        answers |= {f"slot{i:02d}": "token" for i in range(PAIRS)}
        answers |= {f"slot{i:02d}.ms": "9000" for i in range(PAIRS)}
        if site.ask("submit", host, "POST", "/mturk/externalSubmit", headers, answers)[0] == 200:
            done.append(ident)
        site.ask("done", host, "GET", f"/assignments/{ident}/done", headers)

    before = site.cpu()
    wall = _at_a_rate(one_hit, rate, seconds)
    spent, requests = site.cpu() - before, sum(map(len, site.times.values()))
    admin = {"Authorization": f"Bearer {site.token}", "Accept": "application/json"}
    _, overview, _ = site.ask("overview", site.hosts[0], "GET", "/admin/overview", admin)
    del site.times["overview"]
    return {
        "rate": rate,
        "hits_per_second": round(len(done) / wall, 1),
        "open_hits": hits,
        "workers": workers,
        "page_ms": site.waits(),
        "server_cpu_ms_per_request": round(1000 * spent / requests, 2),
        "requests": requests,
        "lost": len(set(done)) - overview["counts"]["assignments"].get("Submitted", 0),
        "handed_out_twice": len(done) - len(set(done)),
    }


def _at_a_rate(act: Callable[[int, float], None], rate: float, seconds: float) -> float:
    """Begin ``act`` so many times a second, and return the seconds until the last one ended."""
    start, begun = time.perf_counter(), []
    with ThreadPoolExecutor(_THREADS) as pool:
        for number in range(int(rate * seconds)):
            due = start + number / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            begun.append(pool.submit(act, number, due))
    for one in begun:
        one.result()
    return time.perf_counter() - start


def main() -> None:
    """Read the options and print the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rate", type=float, default=5.0, help="HITs begun in a second")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--hits", type=int, default=200, help="open HITs")
    parser.add_argument("--workers", type=int, default=50)
    parser.add_argument("--store", help="a SQLite file of its own by default")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        site = Site(options.store or f"sqlite:///{Path(folder) / 'market.db'}", options.processes)
        try:
            found = arrivals(
                site, rate=options.rate, seconds=options.seconds, hits=options.hits, workers=options.workers
            )
        finally:
            site.close()
    print(json.dumps({**found, "processes": options.processes, "errors": dict(site.errors)}, indent=1))


if __name__ == "__main__":
    main()
