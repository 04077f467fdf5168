"""Lets simulated workers judge at a study's sandbox, over HTTP as people would."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import urllib3
from annotated_types import Ge, Interval

from prefjudge.core.judgments import SLIP
from prefjudge.crowd.simulated import Mind, SeenPair, SimulatedWorker, Temper, Truth, seen
from prefjudge.errors import CrowdError, InputError, StudyError
from prefjudge.field.crowd import Address, open_marketplace
from prefjudge.reading.given import as_path
from prefjudge.reading.lines import read_text
from prefjudge.show.results import Shown
from prefjudge.study.answers import load_newcomers
from prefjudge.study.assignments import load_gold_records
from prefjudge.study.pools import load_gold, load_inputs, load_passages, load_pools, load_queries
from prefjudge.study.progress import Stage, count_hits, lacking
from prefjudge.study.store import SANDBOX, Study, count_up, keep_setting, open_study, refuse_other_target

_AT_ONCE = 8
_US_REGULAR = {"locale": "US", "approved": 20_000, "approval_rate": 99}
_FOR_SIMULATION = {"simulated": True}
_TIMEOUT = 30.0
"""Seconds for an answer of the marketplace: much may run beside it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WorkResult(Shown):
    """What the simulated workers did: HITs submitted by each worker, and how each was told to work.

    ``errors`` is how often each chooses the worse passage of a pair; 0.5 for those who do not look.
    """

    workers: int
    submitted: int
    by_worker: dict[str, int]
    tempers: dict[str, str]
    errors: dict[str, float]


def work(
    study: str | Path | Study,
    *,
    workers: Annotated[int, Ge(1)] = 20,
    error: float | tuple[float, float] = 0.2,
    careless: Annotated[int, Ge(0)] = 0,
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
    careless : int
        How many of the workers choose at random.
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

    Raises
    ------
    StudyError
        The numbers do not fit, or nothing has been published.
    CrowdError
        The marketplace cannot be reached.
    """
    truth = as_path(truth)
    tempers = _tempers(workers, careless, temper)
    opened = open_study(study)
    errors = _errors(opened, workers, error)
    with opened.transaction(write=False) as db:
        refuse_other_target(db, SANDBOX)
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


def _tempers(workers: int, careless: int, temper: Sequence[str]) -> list[Temper]:
    unknown = sorted(set(temper) - set(Temper))
    if unknown:
        raise StudyError(f"{unknown[0]!r} is not a temper", f"Choose one of: {', '.join(Temper)}.")
    if careless + len(temper) > workers:
        raise StudyError(
            f"{careless + len(temper)} careless and tempered workers do not fit into {workers} workers",
            "Give more --workers, or fewer of the others.",
        )
    honest = workers - careless - len(temper)
    return [Temper.HONEST] * honest + [Temper.CARELESS] * careless + [Temper(kind) for kind in temper]


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
    for one in ask_admin(address, "GET", "/workers").json().get("workers", ()):
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
    """Draw a normal utility for each candidate, one higher for those that the qrels contributed.

    The pools and each challenge have random streams of their own: with one stream, a newcomer would change
    the utilities of all judged passages that sort after it.
    """
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
