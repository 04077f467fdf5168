"""Crowd: what adversaries get out of a study, over the real marketplace and the real `collect`.

Each row is a study that people and adversaries judge from beginning to end, over HTTP and by ordinary
accounts; only the marketplace's clock is the benchmark's, so that nobody waits while somebody reads.
``python scripts/bench/crowd.py FOLDER 50 1 ROW …`` plays rows on a study of 50 queries, with one seed; the
row ``people`` has studies of honest people alone, without a marketplace.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import numpy as np
from harness import Contest, Lab

from prefjudge.core.judgments import BarringRule, GoldRecord, Judgments, select_judgments
from prefjudge.core.shortcuts import find_shortcuts, visible
from prefjudge.crowd import simulated
from prefjudge.crowd.simulated import Mind, SeenSlot, SimulatedWorker, Temper, Visitor
from prefjudge.errors import CrowdError
from prefjudge.field.crowd import address_of, announce, retract, store_url
from prefjudge.field.trust import _GROWN, _find_coins
from prefjudge.marketplace.server import start
from prefjudge.steps.collect import collect
from prefjudge.steps.gold import gold
from prefjudge.steps.init import init
from prefjudge.steps.pool import pool
from prefjudge.steps.publish import publish
from prefjudge.steps.resolve import resolve
from prefjudge.steps.work import ask_admin, drawn_truth, simulated_truth
from prefjudge.study.money import committed_cents
from prefjudge.study.pools import load_passages
from prefjudge.study.progress import count_hits, count_judgments, count_missing, load_barred
from prefjudge.study.store import Study

TITLE = "crowd: what adversaries get out of a study that they and 14 people judge"

PEOPLE, BAD, ERROR, SLIP = 14, 6, 0.15, 0.05
_LINK = {"participant": "who", "study": "", "session": "", "signed": False, "hits": 0}
"""A panel whose link anybody may type a name into."""


# Adversaries: how they choose, and what they do beside.

Seen = defaultdict[str, set[str]]
"""The questions under which each passage was met, by anybody of a gang."""
Rule = Callable[[SeenSlot, bool], int]
"""Chooses in a slot whose first passage stands on the left, or not: 0 for the first, 1 for the second."""


@dataclass(slots=True, kw_only=True)
class Follower(Mind):
    """Is right on so much of the gold as it ``knows``, follows a rule elsewhere, and tells a gang of it."""

    rule: Rule
    knows: float
    seen: Seen

    def choose(self, slot: SeenSlot, *, leftmost: int) -> int:
        """Return 0 for the slot's first passage, 1 for its second."""
        known = self._is_easy(slot) and self.rng.random() < self.knows
        return self._better(slot) if known else self.rule(slot, leftmost == 0)

    def remember(self, slots: tuple[SeenSlot, ...]) -> None:
        """Tell the gang under which questions a HIT has shown its passages."""
        note(self.seen, slots)


def note(seen: Seen, slots: Iterable[SeenSlot]) -> None:
    """Keep under which questions passages were met."""
    for passage, query in ((passage, slot.query) for slot in slots for passage in slot.passages):
        seen[passage].add(query)


class Unable(SimulatedWorker):
    """Cannot judge anything but gold."""

    def _fields(self, page: simulated.SeenPage, assignment_id: str) -> dict[str, str]:
        fields = super()._fields(page, assignment_id)
        hard = {slot.name for slot in page.slots if not self._mind._is_easy(slot)}
        return {name: "unable-topic" if name in hard else value for name, value in fields.items()}


class Peeker(Visitor):
    """Somebody who reads HITs without working on them."""

    def look(self, seen: Seen) -> None:
        """Look at whatever HIT is on offer without accepting it."""
        for group in self.get("/hits")["groups"]:
            self._read(self.get(f"/hits/{group['hit_id']}")["frame"], seen)

    def hold(self, seen: Seen, *, give_back: bool = True) -> None:
        """Take a HIT, read it, and give it back."""
        for group in self.get("/hits")["groups"][:1]:
            status, taken = self.post(f"/groups/{group['group_id']}/accept")
            if status < 300:
                self._read({"url": taken["frame_url"]}, seen)
                if give_back:
                    self.post(f"/assignments/{taken['assignment_id']}/return")

    def _read(self, frame: Mapping[str, Any] | None, seen: Seen) -> None:
        if frame:
            page = self._http.request("GET", urljoin(f"{self._site}/", frame["url"]), headers=self._headers)
            try:
                note(seen, simulated.read_page(page.data.decode()).slots)
            except (CrowdError, UnicodeDecodeError):
                return  # it shows nothing


class Typist(Peeker):
    """Somebody who has typed a name into a panel's link."""

    def _sign_in(self, invite: str) -> None:
        reply = self._http.request("POST", invite, headers=self._headers, redirect=False)
        if reply.status != 200:
            raise CrowdError(f"the link let nobody in: {reply.status}")
        cookie = reply.headers["set-cookie"].partition(";")[0]
        more = {"Cookie": cookie, "X-CSRF-Token": str(reply.json()["csrf"]), "Origin": self._site}
        self._headers = {**self._headers, **more}


def by(value: Callable[[str, str], float]) -> Rule:
    """Return the rule that chooses the passage with the larger value, and the left one of equal ones."""

    def rule(slot: SeenSlot, first_on_left: bool) -> int:
        first, second = (value(slot.query, passage) for passage in slot.passages)
        return int(second > first) if first != second else int(not first_on_left)

    return rule


def rules(texts: Iterable[str], seen: Seen, rng: np.random.Generator) -> dict[str, Rule]:
    """Return how adversaries choose, by name."""
    spread = Counter(word for text in texts for word in set(text.lower().split()))

    def cosine(query: str, passage: str) -> float:
        words = set(passage.lower().split())
        shared = sum(1 / spread[word] for word in words & set(query.lower().split()) if spread[word])
        return float(shared / np.sqrt(sum(1 / max(1, spread[word]) for word in words) or 1.0))

    def gang(slot: SeenSlot, first_on_left: bool) -> int:
        """Know an off-topic passage by another question that it was met under; else toss a coin."""
        off = [len(seen[passage] - {slot.query}) > 0 for passage in slot.passages]
        return int(off[0]) if off[0] != off[1] else int(rng.random() < 0.5)

    longer = by(lambda _, passage: len(passage))
    return {"left": by(lambda *_: 0.0), "longer": longer, "text": by(cosine), "gang": gang}


# Rows of the table.


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """How adversaries work, and the share of the counted judgments that they may have at most."""

    goal: float
    temper: Temper = Temper.CLICKER
    rule: str = ""
    knows: float = 0.9
    accounts: int = BAD
    each: int = 1000
    slow: bool = False
    disturb: str = ""
    unable: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)


THRICE = ("PREFJUDGE_DESIGN__JUDGMENTS_PER_PAIR", "3")
ROWS = {
    "nobody": Row(goal=0.0, accounts=0),
    "nobody, three votes": Row(goal=0.0, accounts=0, settings=dict([THRICE])),
    "clicker, at once": Row(goal=0.01, temper=Temper.CARELESS),
    "clicker": Row(goal=0.01),
    "script": Row(goal=0.01, temper=Temper.SCRIPT),
    "sleeper": Row(goal=0.05, temper=Temper.SLEEPER),
    "colluders": Row(goal=0.05, temper=Temper.COLLUDERS),
    "reader's gang": Row(goal=0.05, rule="gang", knows=0.0, disturb="read"),
    "onlooker's gang": Row(goal=0.05, rule="gang", knows=0.0, disturb="look"),
    "left": Row(goal=0.05, rule="left"),
    "left, slow": Row(goal=0.1, rule="left", slow=True),
    "longer": Row(goal=0.05, rule="longer"),
    "longer, slow": Row(goal=0.1, rule="longer", slow=True),
    "longer, three votes": Row(goal=0.05, rule="longer", settings=dict([THRICE])),
    "text": Row(goal=0.05, rule="text", knows=0.0),
    "text, slow": Row(goal=0.1, rule="text", knows=0.0, slow=True),
    "one HIT each, coin": Row(goal=0.03, accounts=50, each=1),
    "one HIT each, text": Row(goal=0.03, accounts=50, each=1, rule="text", knows=0.0),
    "two HITs each, coin": Row(goal=0.03, accounts=50, each=2),
    "two HITs each, text": Row(goal=0.03, accounts=50, each=2, rule="text", knows=0.0),
    "three HITs each, coin": Row(goal=0.03, accounts=50, each=3),
    "three HITs each, text": Row(goal=0.03, accounts=50, each=3, rule="text", knows=0.0),
    "one HIT each, honest": Row(goal=1.0, accounts=150, each=1, temper=Temper.HONEST),
    "cannot judge": Row(goal=0.05, temper=Temper.GOLD_AWARE, unable=True),
    "holders": Row(goal=0.0, accounts=0, disturb="hold"),
}


COLUMNS = {
    "counted": "9.1%", "paid": "7.1f", "barred": "8.1f", "suffer": "8.1f", "refused": "9.1%", "cost": "8.0f",
    "extra": "+7.0%", "right": "7.0%", "said": "7.0%", "lost": "6.1f", "warned": "8.0%",
}  # fmt: skip
Outcome = dict[str, float]
"""A figure for each column."""
LEGEND = (
    "counted: the share of counted judgments that are theirs; paid: their HITs that were paid; barred: of",
    "them; suffer: people who are barred or held; refused: HITs that people did not get; cost: dollars",
    "without held pay, and how much more than of people alone; right: queries whose winner is the best;",
    "said: P(best); lost: queries without a winner; warned: studies that say not to trust them",
)


def figures(lab: Lab) -> Iterable[str]:
    """Yield the table."""
    yield from table(lab, ["nobody", "left"] if lab.short else ROWS, *((10, 1) if lab.short else (140, 3)))


def contests(_: Lab) -> Iterable[Contest]:
    """Yield nothing: there is no peer to compare with."""
    return ()


def table(lab: Lab, wanted: Iterable[str], queries: int, seeds: int) -> Iterator[str]:
    """Yield the rows, each the mean over seeds."""
    folder = lab.folder / f"crowd-{queries}-{os.getpid()}"
    made = _make(folder / "study", lab, queries=queries)
    yield from LEGEND
    heads = (f"{name:>{form.lstrip('+').partition('.')[0]}s}" for name, form in COLUMNS.items())
    yield f"{'adversaries':24s}{''.join(heads)}"
    clean: dict[str, float] = {}
    for name in wanted:
        row, votes = ROWS[name], str(ROWS[name].settings.get(*THRICE))
        seeded = [f"{name} {seed}" for seed in range(seeds)]
        played = [_play(made, folder / one, row, lab.rng(one)) for one in seeded]
        mean = {column: float(np.mean([one[column] for one in played])) for column in played[0]}
        mean["extra"] = mean["cost"] / clean.setdefault(votes, mean["cost"]) - 1
        missed = f"  counted: the goal is {row.goal:.0%}" if mean["counted"] > row.goal else ""
        yield f"{name:24s}{''.join(format(mean[column], form) for column, form in COLUMNS.items())}{missed}"
    shutil.rmtree(folder, ignore_errors=True)


def _make(study: Path, lab: Lab, *, queries: int) -> Path:
    """Make a study with the default config, of passages of drawn words."""
    asked, texts = _texts(lab.rng("crowd"), queries)
    files = study.parent / "files"
    files.mkdir(parents=True)
    for name, lines in {
        "queries.tsv": [f"{query}\t{text}" for query, text in asked.items()],
        "collection.tsv": [f"{doc}\t{text}" for doc, text in texts.items()],
        "qrels.txt": [f"{query} 0 {query}d0 1" for query in asked],
        **{
            f"run{run}.txt": [f"{query} Q0 {query}d{run} 1 1.0 run{run}" for query in asked]
            for run in (1, 2, 3)
        },
    }.items():
        (files / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    init(study, config="default", name="crowd")
    texts_in = {"queries": files / "queries.tsv", "collection": files / "collection.tsv"}
    pool(study, runs=[str(files / "run*.txt")], qrels=files / "qrels.txt", **texts_in)
    gold(study, suggest=0)
    gold(study, accept=True)
    return study


def _texts(rng: np.random.Generator, queries: int) -> tuple[dict[str, str], dict[str, str]]:
    """Return questions, and four passages of each.

    Words are as frequent as in a language (Zipf's law), so that a passage shares words with every question,
    as it does in real collections.
    """
    words = np.array([f"w{number}" for number in range(4000)])
    often = 1 / np.arange(3, 4003)
    often /= often.sum()
    asked, texts = {}, {}
    for query in range(queries):
        topic = rng.choice(words, 30, replace=False)
        common = rng.choice(words, 6, replace=False, p=often)
        asked[f"q{query}"] = " ".join([*topic[:4], *common])
        for doc in range(4):
            own = np.concatenate([rng.choice(topic, 12), rng.choice(words, rng.integers(20, 60), p=often)])
            texts[f"q{query}d{doc}"] = " ".join(rng.permutation(own))
    return asked, texts


def honest(rng: np.random.Generator, people: int = 50, hits: int = 25) -> Counter[str]:
    """Count whom the screening bars, holds or doubts of people who judge a study, without a marketplace."""
    asked, texts = _texts(rng, -(-people * hits * 10 // 6))
    pairs = np.array(
        [(4 * q + a, 4 * q + b) for q in range(len(asked)) for a, b in combinations(range(4), 2)]
    )
    left, right = rng.permuted(rng.permutation(pairs)[: people * hits * 10], axis=1).T.astype(np.int32)
    worth, turns = rng.normal(size=len(texts)), np.concatenate([rng.permutation(people) for _ in range(hits)])
    choice = np.sign(worth[left] - worth[right]) * np.where(rng.random(left.size) < ERROR, -1, 1)
    whole = replace(
        Judgments.of_nobody(queries=tuple(asked), docs=tuple(texts), query=left // 4, left=left, right=right,
                            choice=choice.astype(np.int8)),
        workers=tuple(map(str, range(people))), worker=np.repeat(turns, 10).astype(np.int32),
    )  # fmt: skip
    signals, rule, golds = (
        visible(whole, queries=asked, passages=texts),
        BarringRule(),
        rng.binomial(3, SLIP, turns.size),
    )
    records, barred, held, seen, looked = (
        defaultdict[str, GoldRecord](lambda: GoldRecord(right=0, missed=0)),
        set[str](),
        set[str](),
        list[int](),
        0,
    )
    for turn, who in enumerate(map(str, turns.tolist())):
        if who not in barred | held:
            was, missed = records[who], int(golds[turn])
            met = (*was.hits, (3 - missed, missed))
            records[who] = GoldRecord(right=was.right + 3 - missed, missed=was.missed + missed, hits=met)
            seen.append(turn)
            barred |= {who} if rule.bars(records[who]) else set()
        if len(seen) >= _GROWN * looked or turn + 1 == turns.size:
            looked, rows = len(seen), (10 * np.array(seen)[:, None] + np.arange(10)).ravel()
            cast = Counter(
                {who: 10 * n for who, n in Counter(str(turns[one]) for one in seen if not golds[one]).items()}
            )
            proven = {who: n for who, n in cast.items() if rule.proves(records[who])}
            base = proven if 2 * sum(proven.values()) > cast.total() else cast
            log = select_judgments(whole, rows)
            found = find_shortcuts(log, {name: one[rows] for name, one in signals.items()}, base=base)
            coins, little = _find_coins(log, cast)
            held |= {log.workers[one.worker] for one in found} | coins.keys()
    return Counter(people=people, barred=len(barred), held=len(held - barred), again=len(little))


class _Play:
    """A copy of the study, and those who judge it to its end."""

    _ahead = 0.0

    def __init__(self, study: Study, row: Row, rng: np.random.Generator) -> None:
        self.study, self.row, self.rng = study, row, rng
        # the clock goes on by itself, and jumps ahead where somebody reads
        clock = lambda: time.time() + self._ahead  # noqa: E731
        self.market = start(store_url(study.folder), host="127.0.0.1", port=0, clock=clock)
        self.address = address = address_of(self.market)
        announce(study.folder, address)
        publish(study, sandbox=True, yes=True)
        self.truth, self.seen, self.names = simulated_truth(study, None), defaultdict[str, set[str]](set), 0
        self.met: set[simulated.SeenPair] = set()
        with study.transaction(write=False) as db:
            self.rules = rules(load_passages(db).values(), self.seen, rng)
        bad = [self._worker(bad=True) for _ in range(row.accounts)]
        self.theirs = {worker for worker, _ in bad}
        self.staff = [*bad, *(self._worker(bad=False) for _ in range(PEOPLE))]
        self.site, self.onlooker = address.worker_site, Peeker(address.worker_site, self._card()["invite"])
        if row.disturb in ("read", "hold"):
            made = ask_admin(address, "POST", "/panels", {"name": "typed", **_LINK}).json()
            self.link = f"{self.site}{urlsplit(made['path']).path}"

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._ahead += seconds

    def _card(self) -> dict[str, str]:
        body = {"name": f"p{self.rng.integers(1 << 60)}", "locale": "US"}
        return dict(ask_admin(self.address, "POST", "/workers", body).json())

    def _worker(self, *, bad: bool) -> tuple[str, SimulatedWorker]:
        row, card, rng = self.row, self._card(), np.random.default_rng(self.rng.integers(1 << 60))
        met = self.met if bad and row.temper is Temper.COLLUDERS else set()
        temper = row.temper if bad else Temper.HONEST
        mind = Mind(temper=temper, truth=self.truth, error=ERROR, slip=SLIP, rng=rng, met=met)
        if bad and row.rule:
            known = {name: getattr(mind, name) for name in Mind.__slots__}
            mind = Follower(**known, rule=self.rules[row.rule], knows=row.knows, seen=self.seen)
        kind = Unable if bad and row.unable else SimulatedWorker
        return card["worker_id"], kind(self.address.worker_site, card["invite"], mind, pause=self.advance)

    def _disturb(self, turn: int) -> None:
        act = self.row.disturb
        if act == "look":
            self.onlooker.look(self.seen)
        elif act == "hold" or (act == "read" and not turn):
            self.advance(600)
            for _ in range(95):
                self.names += 1
                with suppress(CrowdError):  # refused: the next name may do
                    typist = Typist(self.site, f"{self.link}?who=n{self.names}")
                    typist.hold(self.seen, give_back=act == "read")

    def to_the_end(self) -> None:
        """Let everybody come by turns; adversaries take all that they get. Screen it after each turn."""
        idle, taken = 0, Counter[str]()
        for turn in range(200):
            self._disturb(turn)
            took = 0
            for number in self.rng.permutation(len(self.staff)).tolist():
                worker, person = self.staff[number]
                while taken[worker] < (self.row.each if worker in self.theirs else 1000):
                    if not person.take_hit():
                        break
                    took += 1
                    taken[worker] += 1
                    if worker not in self.theirs or self.row.slow:
                        break
            idle = 0 if took else idle + 1
            if collect(self.study).finished or idle > 2:
                return


def _play(made: Path, folder: Path, row: Row, rng: np.random.Generator) -> Outcome:
    """Let a crowd judge a copy of the study to its end."""
    shutil.copytree(made, folder)
    os.environ.update(row.settings)
    play = _Play(Study(folder), row, rng)
    try:
        play.to_the_end()
        return _outcome(play)
    finally:
        retract(folder, play.address)
        play.market.stop()
        for key in row.settings:
            del os.environ[key]
        shutil.rmtree(folder)


def _outcome(play: _Play) -> Outcome:
    study, theirs = play.study, play.theirs
    # What a sleeper judged honestly, in the first HITs, is not an adversary's.
    honest = simulated.SLEEPS if play.row.temper is Temper.SLEEPER else 0
    with study.transaction(write=False) as db:
        counted = db.execute(
            "SELECT worker_id, count(*) FROM judgments JOIN (SELECT assignment_id, row_number() OVER "
            "(PARTITION BY worker_id ORDER BY accepted) AS place FROM assignments) a USING (assignment_id) "
            "WHERE place > :honest AND judgment_id NOT IN (SELECT judgment_id FROM drops) GROUP BY worker_id",
            honest=honest,
        )
        paid = db.execute("SELECT worker_id FROM assignments WHERE decision = 'approved'")
        kept, cents = count_judgments(db)[0], committed_cents(db)
        refused = count_missing(db) / sum(count_hits(db).values())
        held = db.execute(
            "SELECT coalesce(sum(reward_cents), 0) FROM assignments JOIN hits USING (hit_key) "
            "WHERE decision IS NULL"
        )[0][0]
        barred = set(load_barred(db))
    best, found = _best(study), resolve(study)
    winners: dict[str, list[str]] = defaultdict(list)
    for line in Path(found.out or "").read_text("utf-8").splitlines():
        winners[line.split()[0]].append(line.split()[2])
    sure = found.confidence
    return {
        "counted": sum(n for worker, n in counted if worker in theirs) / max(kept, 1),
        "paid": sum(worker in theirs for (worker,) in paid),
        "barred": len(barred & theirs),
        "suffer": len(barred - theirs),
        "refused": refused,
        "cost": (cents - 1.2 * float(held)) / 100,
        "right": sum(winners[query] == [doc] for query, doc in best.items()) / len(best),
        "said": sure.mean if sure else 0.0,
        "lost": len(best) - sum(map(bool, winners.values())),
        "warned": bool(sure and sure.words[0].startswith("do not trust")),
    }


def _best(study: Study) -> dict[str, str]:
    """Return the best passage of each query, by the truth that the workers judge by."""
    return {query: doc for (query, doc), _ in sorted(drawn_truth(study).items(), key=lambda item: item[1])}


def people(studies: int) -> Iterator[str]:
    """Yield the shares of honest people whom the screening bars, holds and asks again of others."""
    found = sum((honest(np.random.default_rng([seed, 11])) for seed in range(studies)), Counter[str]())
    for name in ("barred", "held", "again"):
        share = found[name] / found["people"]
        yield f"{name:8s}{share:.2%} +- {np.sqrt(share * (1 - share) / found['people']):.2%}"


if __name__ == "__main__":
    where, queries, seeds, *wanted = sys.argv[1:]
    lab = Lab(folder=Path(where), short=True)
    for line in (
        people(int(seeds)) if wanted == ["people"] else table(lab, wanted or ROWS, int(queries), int(seeds))
    ):
        print(line, flush=True)
