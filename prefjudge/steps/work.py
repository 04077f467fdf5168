"""Lets simulated workers judge at a study's sandbox, over HTTP as people would."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import numpy as np
import urllib3
from annotated_types import Ge, Interval

from prefjudge.core.hits import CENT
from prefjudge.core.judgments import SLIP
from prefjudge.crowd.crowds import stand_in
from prefjudge.crowd.simulated import Mind, SeenPair, SimulatedWorker, Temper, Truth, seen
from prefjudge.errors import CrowdError, InputError, PrefjudgeError, StudyError, quoted
from prefjudge.field.crowd import Address, find_running, keep_marketplace_open, open_marketplace
from prefjudge.reading.given import as_path
from prefjudge.reading.lines import read_text
from prefjudge.show.cells import Column, Table
from prefjudge.show.results import Shown
from prefjudge.steps.collect import collect
from prefjudge.steps.pay import pay
from prefjudge.steps.publish import publish
from prefjudge.steps.reject import reject
from prefjudge.study.answers import load_newcomers
from prefjudge.study.assignments import load_decisions, load_gold_records
from prefjudge.study.money import committed_cents
from prefjudge.study.pools import load_gold, load_inputs, load_passages, load_pools, load_queries
from prefjudge.study.progress import Stage, count_hits, count_missing, lacking
from prefjudge.study.store import (
    CONFIG_FILE,
    LIVE,
    SANDBOX,
    STORE_FILE,
    Study,
    count_up,
    current_target,
    drop_setting,
    find_target,
    keep_setting,
    open_study,
)

_AT_ONCE = 8
_US_REGULAR = {"locale": "US", "approved": 20_000, "approval_rate": 99}
_FOR_SIMULATION = {"simulated": True}
_TIMEOUT = 30.0
"""Seconds for an answer of the marketplace: much may run beside it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WorkResult(Shown):
    """What the simulated workers did: HITs submitted by each worker, and how each was told to work.

    ``errors`` is how often each chooses the worse passage of a pair; 0.5 for those who do not look. Of a
    rehearsal with a panel, ``ledgers`` says what each got here and there, and ``notices`` what happened.
    """

    workers: int
    submitted: int
    by_worker: dict[str, int]
    tempers: dict[str, str]
    errors: dict[str, float]
    ledgers: dict[str, tuple[str, str]] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    def tables(self) -> tuple[Table, ...]:
        """Return both ledgers of a rehearsal, side by side."""
        columns = (Column(name="participant", priority=0), Column(name="here"), Column(name="there"))
        rows = tuple((who, *both) for who, both in self.ledgers.items())
        return (Table(title="Both ledgers", columns=columns, rows=rows),)


def work(
    study: str | Path | Study,
    *,
    workers: Annotated[int, Ge(1)] = 20,
    error: float | tuple[float, float] = 0.2,
    temper: Sequence[
        Temper
        | Literal[
            "honest",
            "careless",
            "left",
            "first",
            "hasty",
            "gold-aware",
            "quitter",
            "garbage",
            "twice",
            "clicker",
            "lexical",
            "script",
            "colluders",
            "sleeper",
        ]
    ] = (),
    truth: str | Path | None = None,
    most: Annotated[int, Ge(1)] | None = None,
    slip: Annotated[float, Interval(ge=0, le=0.5)] | None = None,
    panel: str | None = None,
) -> WorkResult:
    """Let simulated workers judge every HIT that is open to them.

    The same workers come back at the next call. The truth that they judge by is drawn from the study's seed:
    a hidden utility for each candidate, pooled or added by a challenge, higher for those that the qrels
    name. A challenge does not change the utilities of earlier candidates.

    Parameters
    ----------
    study : Path
        The study, published to its sandbox.
    workers : int
        How many workers there are.
    error : float or tuple of float
        How often an honest worker chooses the worse passage. Two numbers spread the workers' errors evenly
        from the first to the second.
    temper : sequence of Temper
        How workers who replace honest ones work, one each: ``left``, ``hasty``, ``quitter``, ``lexical`` ….
    truth : Path, optional
        A file of utilities to use instead, tab-separated: query_id, doc_id, utility. A passage that is not
        in it is off-topic.
    most : int, optional
        The most HITs that one worker takes in this call.
    slip : float, optional
        How often an honest worker chooses wrong where one passage is off-topic, as in gold pairs; a quarter
        of the worker's error by default, as such pairs are easier than others.
    panel : str, optional
        Rehearse a copy of the study with a stand-in of ``prolific``, from publishing to paying. A colon
        begins what goes wrong, or is clicked there: ``prolific:bonus-lost,stopped``.

    Raises
    ------
    StudyError
        The numbers do not fit, or nothing has been published.
    CrowdError
        The marketplace cannot be reached.
    """
    truth = as_path(truth)
    tempers = _tempers(workers, temper)
    opened = open_study(study)
    if panel is not None:
        return _rehearse(opened, panel, truth)
    errors = _errors(opened, workers, error)
    with opened.transaction(write=False) as db:
        if current_target(db) == LIVE:
            raise StudyError(
                "the study is live, and its rehearsal in the sandbox is over", "Rehearse in another study."
            )
        published = count_hits(db, SANDBOX)
    if not published:
        raise lacking(opened, Stage.PUBLISHED, target=SANDBOX)
    utilities = simulated_truth(opened, truth)
    minds = _minds(tempers, errors, slip, utilities)
    with open_marketplace(opened) as address:
        staff = [_worker(opened, address, number, mind) for number, mind in enumerate(minds)]
        done = _work_in_turns([member for _, member in staff], most, opened.rng(f"turns/{_visits(opened)}"))
    names = [worker_id for worker_id, _ in staff]
    return WorkResult(
        workers=workers,
        submitted=sum(done),
        by_worker=dict(zip(names, done, strict=True)),
        tempers={name: kind.value for name, kind in zip(names, tempers, strict=True)},
        errors={name: member.true_error for name, member in staff},
    )


def _work_in_turns(staff: Sequence[SimulatedWorker], most: int | None, rng: np.random.Generator) -> list[int]:
    """Let everyone take one HIT after another, a round at a time, until nobody finds one."""
    done = [0] * len(staff)
    active = list(range(len(staff)))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        while active:
            active = [active[i] for i in rng.permutation(len(active))]  # nobody is always the first to come
            took = list(pool.map(lambda i: staff[i].take_hit(), active))
            active = [i for i, found in zip(active, took, strict=True) if found]
            for i in active:
                done[i] += 1
            active = [i for i in active if most is None or done[i] < most]
    return done


def _visits(study: Study) -> int:
    """Return how often the first of the workers has come: each visit has random numbers of its own."""
    return int(study.setting("visits:0") or 0)


def _tempers(workers: int, temper: Sequence[str]) -> list[Temper]:
    unknown = sorted(set(temper) - set(Temper))
    if unknown:
        raise StudyError(f"{unknown[0]!r} is not a temper", f"Choose one of: {', '.join(Temper)}.")
    if len(temper) > workers:
        raise StudyError(
            f"{len(temper)} tempered workers do not fit into {workers} workers",
            "Give more --workers, or fewer of the others.",
        )
    return [Temper.HONEST] * (workers - len(temper)) + [Temper(kind) for kind in temper]


def _errors(study: Study, workers: int, error: float | tuple[float, float]) -> list[float]:
    """Return each worker's error, the same at every call."""
    low, high = error if isinstance(error, tuple) else (error, error)
    if not 0 <= low <= high <= 0.5:
        raise StudyError(
            f"errors from {low:g} to {high:g}: they must be from 0 to 0.5, the smaller one first",
            "Give, for instance: --error 0.2, or --error 0.1:0.35",
        )
    step = (high - low) / max(workers - 1, 1)
    return [low + step * int(place) for place in study.rng("errors").permutation(workers)]


def _minds(
    tempers: Sequence[Temper], errors: Sequence[float], slip: float | None, truth: Truth
) -> list[Callable[..., Mind]]:
    """Return what makes each worker's mind, but for what is new at each visit; colluders know the same."""
    pooled: set[SeenPair] = set()
    return [
        partial(
            Mind,
            temper=kind,
            truth=truth,
            error=error,
            slip=SLIP * error if slip is None else slip,
            met=pooled if kind is Temper.COLLUDERS else set(),
        )
        for kind, error in zip(tempers, errors, strict=True)
    ]


def _worker(
    study: Study, address: Address, number: int, mind: Callable[..., Mind]
) -> tuple[str, SimulatedWorker]:
    """Return a worker's id and the worker, who is registered at the first call."""
    key = f"worker:{number}"
    known = study.setting(key)
    card = json.loads(known) if known else _register(address, f"simulated {number + 1}")
    with study.transaction() as db:
        keep_setting(db, key, json.dumps(card))
        visit = count_up(db, f"visits:{number}")
        earlier = load_gold_records(db, SANDBOX).get(card["worker_id"])
    made = mind(rng=study.rng(f"worker/{number}/{visit}"), done=len(earlier.hits) if earlier else 0)
    return card["worker_id"], SimulatedWorker(address.worker_site, card["invite"], made)


def _register(address: Address, name: str) -> dict[str, Any]:
    reply = ask_admin(address, "POST", "/workers", {"name": name, **_US_REGULAR, **_FOR_SIMULATION})
    card = reply.json() if reply.status == 201 else _invite_again(address, name)
    if card is None:
        raise CrowdError(f"the marketplace did not register a simulated worker: {reply.status}")
    if not card.get("simulated"):
        raise CrowdError(
            "the marketplace has no accounts for simulation: simulated work would count as people's work",
            "Upgrade the prefjudge that serves it.",
        )
    return {"worker_id": card["worker_id"], "invite": card["invite"]}


def _invite_again(address: Address, name: str) -> dict[str, Any] | None:
    """Return a new invitation of a worker whom the marketplace knows, but no longer the store."""
    for one in ask_admin(address, "GET", "/overview").json().get("workers", ()):
        if one["name"] == name:
            return {**one, **ask_admin(address, "POST", f"/workers/{one['worker_id']}/invite").json()}
    return None


def ask_admin(
    address: Address, method: str, path: str, body: dict[str, object] | None = None
) -> urllib3.BaseHTTPResponse:
    """Return the answer of a marketplace's admin pages, to whom its token is known."""
    headers = {"Authorization": f"Bearer {address.admin_token}", "Accept": "application/json"}
    try:
        return urllib3.request(method, f"{address.admin}{path}", headers=headers, json=body, timeout=_TIMEOUT)
    except urllib3.exceptions.HTTPError as error:
        raise CrowdError(
            f"the marketplace does not answer: {error}", "To go on, repeat the command."
        ) from error


def simulated_truth(study: Study, path: Path | None) -> Truth:
    """Return the utility of each passage that may be shown, by the texts that the pages show."""
    with study.transaction(write=False) as db:
        queries, passages, gold = load_queries(db), load_passages(db), load_gold(db)
    values = _read_truth(path) if path else drawn_truth(study)
    known: dict[tuple[str, str], float] = {}
    for (query, doc), value in values.items():
        if query in queries and doc in passages:  # of passages with the same text, the first counts
            known.setdefault((seen(queries[query]), seen(passages[doc])), value)
    for pair in gold.values():
        known.setdefault((seen(pair.query), seen(pair.good)), 0.0)
        known.pop((seen(pair.query), seen(pair.bad)), None)
    return known


def drawn_truth(study: Study) -> dict[tuple[str, str], float]:
    """Draw a normal utility for each candidate, one higher for those that the qrels contributed."""
    # The pools and each challenge have random streams of their own: with one stream, a newcomer would change
    # the utilities of all judged passages that sort after it.
    with study.transaction(write=False) as db:
        named = {found.name for found in load_inputs(db) if found.kind == "qrels"}
        pools, brought = load_pools(db), load_newcomers(db)
    from_qrels = {
        int(row)
        for row, source in zip(pools.source_row, pools.source, strict=True)
        if pools.sources[source] in named
    }
    drawn = study.rng("truth").normal(size=pools.query.size)
    values = {
        (pools.queries[query], pools.docs[doc]): float(drawn[row]) + (row in from_qrels)
        for row, (query, doc) in enumerate(zip(pools.query.tolist(), pools.doc.tolist(), strict=True))
    }
    for number, newcomers in brought.items():
        drawn = study.rng(f"truth/challenge/{number}").normal(size=len(newcomers))
        for newcomer, utility in zip(newcomers, drawn.tolist(), strict=True):
            values.setdefault(newcomer, utility)
    return values


def _read_truth(path: Path) -> dict[tuple[str, str], float]:
    """Read utilities below a heading line: query_id, doc_id, utility."""
    found = {}
    for number, line in enumerate(read_text(path).splitlines()[1:], start=2):
        try:
            query, doc, value = line.split("\t")
            found[query, doc] = float(value)
        except ValueError:
            raise InputError(
                f"{path}:{number}: not a query_id, a doc_id and a utility: {line[:80]!r}",
                "Separate the three by tabs; the first line is a heading.",
            ) from None
    return found


# A rehearsal of a study whose people come from a panel: a copy of it, walked with a stand-in.

_SCRIPT = (
    ("stops early", Temper.QUITTER, 0.0),
    ("misses gold", Temper.HONEST, 1.0),
    ("sends nonsense and disputes", Temper.GARBAGE, 0.0),
)
"""Who comes: what each does, how, and how often each choice is wrong."""
_CLICKS = {
    "approved": "APPROVED", "approved-in-part": "PARTIALLY APPROVED", "rejected": "REJECTED",
    "returned": "RETURNED", "timed-out": "TIMED-OUT",
    "stopped": "STOP", "paused": "PAUSE", "more-places": "", "bonus-by-hand": "",
}  # fmt: skip
"""What a person clicks there once the first participant is back, or the participant does."""
_DECIDED = ("(approved)", "(partially approved)", "(rejected)", "(awaiting review)")
_TO_COME = "for people to come"
_ACCOUNTS = ("partly", "pounds")
"""What the account may be: one that approves in part, or has another currency."""


def _rehearse(study: Study, panel: str, truth: Path | None) -> WorkResult:
    """Walk a copy of a study from publishing to paying, at a stand-in of the panel."""
    name, _, given = panel.partition(":")
    standin = stand_in(name)
    switches = [one.strip() for one in given.split(",") if one.strip()]
    known = (*standin.FAULTS, *_CLICKS, *_ACCOUNTS)
    if not set(switches) <= set(known):
        raise InputError(
            f"--panel {panel}: not all of that can happen there",
            f"Write {name}, or {name}: and some of these with commas between: {', '.join(known)}.",
        )
    if find_target(study) == LIVE:
        raise StudyError(
            f"{study.folder} is live, so a copy would not begin at its start",
            "Rehearse before the first `publish --live`, or with another study.",
        )
    with TemporaryDirectory() as folder, standin.served() as (platform, url):
        platform.partly = "partly" in switches
        platform.currency = "GBP" if "pounds" in switches else "USD"
        for fault in set(switches) & set(standin.FAULTS):
            platform.break_once(fault)
        told = {"PROLIFIC_TOKEN": standin.TOKEN, "PROLIFIC_URL": url}
        before = {word: os.environ.get(word) for word in (*told, _PUBLIC)}
        os.environ |= told
        try:
            copy = _copied(study, Path(folder), standin)
            done = _Rehearsal(copy, platform, simulated_truth(study, truth)).walk(switches)
            # what is to be typed names the study, and not its copy, which is gone
            said = [one.replace(folder, quoted(study.folder)) for one in done.notices]
            return replace(done, notices=(*said, _equality(done.ledgers)))
        finally:
            for word, value in before.items():
                os.environ.pop(word, "") if value is None else os.environ.update({word: value})


def _copied(study: Study, folder: Path, standin: Any) -> Study:
    """Return a copy of a study whose live target is the stand-in, and which pays without waiting for gold."""
    from prefjudge.study.config import TargetConfig

    study.database.copy_to(folder / STORE_FILE)
    (folder / CONFIG_FILE).write_bytes((study.folder / CONFIG_FILE).read_bytes())
    copy, config = Study(folder), study.config
    with copy.transaction() as db:
        drop_setting(db, f"marketplace:{LIVE}")
    live = config.target(LIVE)
    own = live.options if live and live.crowd == "prolific" else {}
    account = {"workspace": standin.WORKSPACE, "project": standin.PROJECT, "secure": "false"}
    target = TargetConfig(crowd="prolific", live=True, options={**own, **account})
    copy.__dict__["config"] = config.model_copy(
        update={
            "targets": {**config.targets, LIVE: target},
            "pay": config.pay.model_copy(update={"doubt_days": 0}),
        }
    )
    return copy


def _equality(ledgers: Mapping[str, tuple[str, str]]) -> str:
    """Say whether both ledgers of a rehearsal are equal, and else where they differ, and why.

    What is kept for people to come is not paid: there it may be for more places, or for none.
    """
    differ, kept = [], ""
    for name, (here, there) in ledgers.items():
        (mine, _, _), (theirs, _, status) = here.partition(" "), there.partition(" ")
        if mine != theirs and name == _TO_COME:
            kept = (
                f"; beyond that, {mine} is kept here for people to come, and {theirs} there, where the "
                "study has places that no HIT needs, or was stopped: nothing of it is paid"
            )
        elif mine != theirs:
            bonus = "paid more by hand" if Decimal(theirs) > Decimal(mine) else "a bonus is missing"
            why = status.strip("()") if status in _DECIDED else bonus
            if name == "so far":
                why = "by such visits, with fees, or by work that is under way"
            differ.append(f"{name}, {mine} here and {theirs} there ({why})")
    said = f"the ledgers differ: {'; '.join(differ)}" if differ else "both ledgers are equal"
    return f"{said}{kept}"


class _Rehearsal:
    """The verbs that a requester types, and the participants between them."""

    def __init__(self, study: Study, platform: Any, truth: Truth) -> None:
        self._study, self._platform, self._truth = study, platform, truth
        self._said: list[str] = []
        self._sessions: dict[str, str] = {}
        live = study.config.target(LIVE)
        self._hits = int(live.options.get("hits", "1")) if live else 1

    def walk(self, switches: Sequence[str]) -> WorkResult:
        """Publish, let them come, collect, reject, pay, overturn; then compare the ledgers."""
        study = self._study
        with keep_marketplace_open(study, LIVE, clock=lambda: time.time() + self._platform.ahead):
            address = find_running(study.folder)
            assert address is not None
            os.environ[_PUBLIC] = address.local
            self._type("publish", partial(publish, study, live=True, yes=True))
            for number, (who, temper, error) in enumerate(_SCRIPT):
                self._come(address, number, who, temper, error)
            for switch in switches:
                self._click(switch)
            self._type("collect", partial(collect, study, live=True))
            last = next(reversed(self._sessions.values()), "")
            held = [
                str(one["assignment_id"])
                for visit in self._visits(address)
                if visit["session"] == last
                for one in visit["assignments"]
            ]
            for assignment in held:
                self._type("reject", partial(reject, study, assignment, reason=_NONSENSE, live=True))
            self._type("pay", partial(pay, study, live=True))
            for assignment in held:
                over = partial(reject, study, assignment, reason=_SORRY, overturn=True, live=True)
                self._type("reject --overturn", over)
            for one in self._platform.submissions.values():
                if one.asked_back and one.status == "AWAITING REVIEW":
                    self._platform.turn_into(one.id, "RETURNED")  # as they were asked to
            self._type("collect", partial(collect, study, live=True))
            return self._compared(address)

    def _visits(self, address: Address) -> list[Any]:
        found = ask_admin(address, "GET", "/panels/prolific").json()
        return list(found.get("visits", ()))

    def _type(self, verb: str, call: Callable[[], Any]) -> None:
        """Carry out a verb, and again where it fails, as a person would; keep what it says."""
        for _ in range(2):
            try:
                done = call()
            except PrefjudgeError as error:
                self._said.append(f"{verb}: {error.message}")
                continue
            said = (*getattr(done, "warnings", ()), *getattr(done, "notices", ()))
            self._said += [f"{verb}: {one}" for one in said if f"{verb}: {one}" not in self._said]
            return

    def _come(self, address: Address, number: int, who: str, temper: Temper, error: float) -> None:
        """Let a participant take a place, work, and go back with the code that the site shows."""
        pid = f"5f{number:022x}"
        place = self._platform.arrive(pid) if self._platform.studies else None
        if place is None:
            self._said.append(f"the participant who {who} finds no place on Prolific")
            return
        link = str(self._platform.study.made["external_study_url"]).partition("?")[0]
        query = f"PROLIFIC_PID={pid}&STUDY_ID={place.study}&SESSION_ID={place.id}"
        mind = Mind(
            temper=temper,
            truth=self._truth,
            error=error,
            slip=error,
            rng=self._study.rng(f"rehearsal/{number}"),
        )
        come = f"{urlsplit(link).path}?{query}"
        worker = SimulatedWorker(address.worker_site, come, mind, pause=self._pass)
        self._sessions[who] = place.id
        while not (shown := worker.get("/hits").get("completion")) and worker.take_hit():
            pass
        self._said.append(
            f"the participant who {who} goes back with: {shown['outcome'] if shown else 'nothing'}"
        )
        if shown:
            self._platform.complete(place.id, shown["code"])

    def _pass(self, seconds: float) -> None:
        self._platform.ahead += seconds or 60.0

    def _click(self, switch: str) -> None:
        platform, first = self._platform, next(iter(self._sessions.values()), "")
        if switch not in _CLICKS or not first:
            return
        self._said.append(f"on Prolific's pages: {switch}")
        if switch == "more-places":
            platform.study.made["total_available_places"] += 5
        elif switch == "bonus-by-hand":
            platform.pay(first, 50)
        elif switch in ("stopped", "paused"):
            platform.move(_CLICKS[switch])
        else:
            platform.turn_into(first, _CLICKS[switch])

    def _compared(self, address: Address) -> WorkResult:
        """Return what each participant got here and there, and the sum of both ledgers."""
        platform = self._platform
        with self._study.transaction(write=False) as db:
            decided, committed, missing = load_decisions(db), committed_cents(db, LIVE), count_missing(db)
        visits = {one["session"]: one for one in self._visits(address)}
        ledgers = {}
        for who, session in self._sessions.items():
            one, visit = platform.submissions[session], visits[session]
            names = [one["assignment_id"] for one in visit["assignments"]]
            here = ", ".join(str(decided.get(name) or "undecided") for name in names) or "nothing done"
            there = (one.reward + sum(cents for paid, cents in platform.paid if paid == session)) * CENT
            ledgers[who] = (f"{visit['earned']} ({here})", f"{there:.2f} ({one.status.lower()})")
        place = platform.cost(platform.study.reward) if platform.studies else 0
        under_way = place * [one.status for one in platform.submissions.values()].count("AWAITING REVIEW")
        to_come = missing * place // self._hits
        held = platform.total - platform.available
        for name, cents, theirs in (
            ("so far", committed - to_come, platform.spent() + under_way),
            (_TO_COME, to_come, held - under_way),
        ):
            ledgers[name] = (f"{cents * CENT:.2f}", f"{theirs * CENT:.2f}")
        return WorkResult(
            workers=len(self._sessions), submitted=sum(one["done"] for one in visits.values()),
            by_worker={}, tempers={}, errors={}, ledgers=ledgers, notices=tuple(self._said),
        )  # fmt: skip


_PUBLIC = "PREFJUDGE_PUBLIC_URL"
_NONSENSE = "NO_DATA: nothing in it is an answer to the questions."
_SORRY = "You are right: the answers were there, and you are paid."
