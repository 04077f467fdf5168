"""Crowd: what adversaries get out of a study, over the real marketplace and the real `collect`.

Each row is a study that is judged from beginning to end by 20 workers, over HTTP and by ordinary accounts;
only the marketplace's clock is the benchmark's, so that nobody has to wait while a simulated person reads.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import urllib3
from sessions import auc_by_kind

from prefjudge.crowd.simulated import SLEEPS, Mind, SeenPair, SimulatedWorker, Temper, Truth
from prefjudge.errors import BudgetError
from prefjudge.field.crowd import Address, address_of, announce, retract, store_url
from prefjudge.marketplace.server import start
from prefjudge.steps.collect import collect
from prefjudge.steps.gold import gold
from prefjudge.steps.init import init
from prefjudge.steps.pool import pool
from prefjudge.steps.publish import publish
from prefjudge.steps.resolve.resolve import resolve
from prefjudge.steps.work import drawn_truth, simulated_truth
from prefjudge.study.money import committed_cents
from prefjudge.study.progress import count_judgments, load_barred
from prefjudge.study.store import Study

if TYPE_CHECKING:
    from harness import Contest, Lab

TITLE = "crowd: what adversaries get out of a study, by their share of 20 workers"

WORKERS = 20
ERROR, SLIP = 0.2, 0.05
SHARES = (0.1, 0.3, 0.6)
ADVERSARIES = (
    Temper.CARELESS,
    *(Temper.CLICKER, Temper.LEFT, Temper.SCRIPT, Temper.LEXICAL, Temper.SLEEPER, Temper.COLLUDERS),
)
GOALS = {
    **dict.fromkeys((Temper.CARELESS, Temper.CLICKER, Temper.LEFT, Temper.SCRIPT), 0.01),
    **dict.fromkeys((Temper.LEXICAL, Temper.SLEEPER), 0.05),
    Temper.COLLUDERS: 0.10,
}
"""The greatest share of the judgments that count, where 30 % of the workers are such."""
_MOST_PAID = 2
"""The most HITs that one of those who never read is paid, where 30 % of the workers are such."""
_CANDIDATES = 4
_MOST_TURNS = 200


class Clock:
    """The marketplace's clock: it goes on by itself, and jumps ahead where somebody reads."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return time.time() + self._ahead

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._ahead += seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a study ended."""

    counted: float
    paid_hits: float
    most_paid: int
    barred: int
    cost: float
    right: float
    kept: int

    def line(self, name: str, clean: Outcome | None) -> str:
        """Return a row of the table."""
        extra = f"{self.cost / clean.cost - 1:+8.0%}" if clean else f"{'':8s}"
        return (
            f"{name:28s}{self.counted:9.1%}{self.paid_hits:8.1f}{self.most_paid:6d}{self.barred:9d}"
            f"{self.cost:9.3f}{extra}{self.right:8.0%}{self.kept:7d}"
        )


HEADING = (
    f"{'adversaries':28s}{'counted':>9s}{'paid':>8s}{'most':>6s}{'barred':>9s}{'cost':>9s}{'extra':>8s}"
    f"{'right':>8s}{'kept':>7s}"
)
LEGEND = (
    "counted: the share of counted judgments that are theirs; paid, most: HITs paid to one of them, on",
    "average and at most; barred: honest workers; cost: dollars for a judgment that counts; extra: over that",
    "of a clean crowd; right: queries whose one winner is the best passage; kept: judgments that count",
)


def figures(lab: Lab) -> Iterable[str]:
    """Yield the table."""
    folder = lab.folder / f"crowd-{'short' if lab.short else 'long'}"
    shutil.rmtree(folder, ignore_errors=True)
    made = _make(folder / "study", lab, queries=10 if lab.short else 140)
    for hits in (1, 4) if lab.short else (1, 4, 16):
        told = auc_by_kind(Study(made), lab.rng(f"sessions {hits}"), hits, 6 if lab.short else 60)
        each = ", ".join(f"{kind} {auc:.2f}" for kind, auc in told.items())
        yield f"AUC of who looks for gold in {hits} HITs, by {each}"
    yield from LEGEND
    yield HEADING
    clean = _play(made, folder / "clean", lab, None, 0.0)
    yield clean.line("nobody", None)
    missed = []
    for temper in ADVERSARIES[:2] if lab.short else ADVERSARIES:
        for share in SHARES[1:2] if lab.short else SHARES:
            outcome = _play(made, folder / f"{temper}-{share}", lab, temper, share)
            name = "clicker, at once" if temper is Temper.CARELESS else str(temper)
            yield outcome.line(f"{name}, {share:.0%}", clean)
            if share == 0.3 and outcome.counted > GOALS[temper]:
                missed.append(f"{name} {outcome.counted:.1%} > {GOALS[temper]:.0%}")
            if share == 0.3 and GOALS[temper] == 0.01 and outcome.most_paid > _MOST_PAID:
                missed.append(f"{name} paid {outcome.most_paid} HITs > {_MOST_PAID}")
    if not lab.short:
        yield "goals for counted judgments and HITs paid at 30 %: " + (", ".join(missed) or "all met")


def contests(lab: Lab) -> Iterable[Contest]:
    """Yield nothing: there is no peer to compare with."""
    del lab
    return ()


def _make(study: Path, lab: Lab, *, queries: int) -> Path:
    """Make a study with the default config, of passages of drawn words.

    Words are as frequent as in a language (Zipf's law), so that a passage shares words with every question,
    as it does in real collections.
    """
    rng, files = lab.rng("crowd"), study.parent / "files"
    files.mkdir(parents=True)
    words = np.array([f"w{number}" for number in range(4000)])
    often = 1 / np.arange(3, 4003)
    often /= often.sum()
    texts, asked, runs, qrels = [], [], {name: [] for name in range(_CANDIDATES - 1)}, []
    for query in range(queries):
        topic = rng.choice(words, 30, replace=False)
        common = rng.choice(words, 6, replace=False, p=often)
        asked.append(f"q{query}\t{' '.join([*topic[:4], *common])}")
        for doc in range(_CANDIDATES):
            own = np.concatenate([rng.choice(topic, 12), rng.choice(words, 40, p=often)])
            texts.append(f"q{query}d{doc}\t{' '.join(rng.permutation(own))}")
            if doc:
                runs[doc - 1].append(f"q{query} Q0 q{query}d{doc} 1 1.0 run{doc}")
        qrels.append(f"q{query} 0 q{query}d0 1")
    for name, lines in {
        "queries.tsv": asked, "collection.tsv": texts, "qrels.txt": qrels,
        **{f"run{name}.txt": lines for name, lines in runs.items()},
    }.items():  # fmt: skip
        (files / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    init(study, config="default", name="crowd")
    pool(
        study, runs=[str(files / "run*.txt")], qrels=files / "qrels.txt", queries=files / "queries.tsv",
        collection=files / "collection.tsv",
    )  # fmt: skip
    gold(study, suggest=0)
    gold(study, accept=True)
    return study


@contextmanager
def _served(study: Path, clock: Clock) -> Iterator[Address]:
    market = start(store_url(study), host="127.0.0.1", port=0, clock=clock)
    address = address_of(market)
    announce(study, address)
    try:
        yield address
    finally:
        retract(study, address)
        market.stop()


def _play(made: Path, folder: Path, lab: Lab, temper: Temper | None, share: float) -> Outcome:
    """Let a crowd judge a copy of the study to its end."""
    shutil.copytree(made, folder)
    study, clock = Study(folder), Clock()
    bad = round(share * WORKERS)
    with _served(folder, clock) as address:
        publish(study, sandbox=True, yes=True)
        truth = simulated_truth(study, None)
        met: set[SeenPair] = set()
        kinds = [temper if temper and n < bad else Temper.HONEST for n in range(WORKERS)]
        staff = [
            _worker(address, clock, truth, kind, met, lab.rng(f"{temper} {share} {n}"))
            for n, kind in enumerate(kinds)
        ]
        _judge(study, staff, bad, lab.rng(f"turns {temper} {share}"))
        honest = SLEEPS if temper is Temper.SLEEPER else 0
        return _outcome(study, [worker_id for worker_id, _ in staff], bad, honest)


def _worker(
    address: Address, clock: Clock, truth: Truth, temper: Temper, met: set[SeenPair], rng: np.random.Generator
) -> tuple[str, SimulatedWorker]:
    card = urllib3.request(
        "POST",
        f"{address.admin}/workers",
        headers={"Authorization": f"Bearer {address.admin_token}", "Accept": "application/json"},
        json={"name": f"person {rng.integers(1 << 60)}", "locale": "US"},
    ).json()
    mind = Mind(
        temper=temper, truth=truth, error=ERROR, slip=SLIP, rng=rng,
        met=met if temper is Temper.COLLUDERS else set(),
    )  # fmt: skip
    return card["worker_id"], SimulatedWorker(address.worker_site, card["invite"], mind, pause=clock.advance)


def _judge(
    study: Study, staff: list[tuple[str, SimulatedWorker]], bad: int, rng: np.random.Generator
) -> None:
    """Let everybody come by turns; adversaries take all that they are offered. Screen it after each turn."""
    idle = 0
    for _ in range(_MOST_TURNS):
        took = 0
        for number in rng.permutation(len(staff)).tolist():
            while staff[number][1].take_hit():
                took += 1
                if number >= bad:
                    break
        try:
            if collect(study).finished:
                return
        except BudgetError:
            return
        idle = 0 if took else idle + 1
        if idle > 1:
            return


def _outcome(study: Study, workers: list[str], bad: int, honest: int) -> Outcome:
    theirs = set(workers[:bad])
    with study.transaction(write=False) as db:
        # What a sleeper judged honestly, in the first HITs, is not an adversary's.
        counted = db.execute(
            "SELECT worker_id, count(*) FROM judgments JOIN (SELECT assignment_id, row_number() OVER "
            "(PARTITION BY worker_id ORDER BY accepted) AS place FROM assignments) a USING (assignment_id) "
            "WHERE place > :honest AND judgment_id NOT IN (SELECT judgment_id FROM drops) GROUP BY worker_id",
            honest=honest,
        )
        paid = dict(
            db.execute(
                "SELECT worker_id, count(*) FROM assignments WHERE decision = 'approved' GROUP BY worker_id"
            )
        )
        kept, cents = count_judgments(db)[0], committed_cents(db)
        held = db.execute(
            "SELECT coalesce(sum(reward_cents), 0) FROM assignments JOIN hits USING (hit_key) "
            "WHERE decision IS NULL"
        )[0][0]
        barred = [worker for worker in load_barred(db) if worker not in theirs]
    best = _best(study)
    found = [line.split() for line in Path(resolve(study).out or "").read_text("utf-8").splitlines()]
    winners: dict[str, list[str]] = {}
    for query, _, doc, _ in found:
        winners.setdefault(query, []).append(doc)
    each = [paid.get(worker, 0) for worker in theirs]
    return Outcome(
        counted=sum(n for worker, n in counted if worker in theirs) / max(kept, 1),
        paid_hits=float(np.mean(each)) if each else 0.0,
        most_paid=max(each, default=0),
        barred=len(barred),
        cost=(cents - 1.2 * float(held)) / 100 / max(kept, 1),
        right=sum(winners.get(query) == [doc] for query, doc in best.items()) / len(best),
        kept=kept,
    )


def _best(study: Study) -> dict[str, str]:
    """Return the best passage of each query, by the truth that the workers judge by."""
    best: dict[str, tuple[float, str]] = {}
    for (query, doc), value in drawn_truth(study).items():
        best[query] = max(best.get(query, (float("-inf"), "")), (value, doc))
    return {query: doc for query, (_, doc) in best.items()}
