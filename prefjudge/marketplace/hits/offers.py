"""The HITs on offer, as a worker sees them: groups of one HIT type, and one HIT to look at."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from prefjudge.marketplace.errors import Refusal, from_cents
from prefjudge.marketplace.hits import hits
from prefjudge.marketplace.hits.hit_types import OF_TYPE, TERMS, Terms
from prefjudge.marketplace.hits.hits import Hit
from prefjudge.marketplace.people import qualifications, workers
from prefjudge.marketplace.people.workers import HAD
from prefjudge.marketplace.store.store import Transaction, iso

PER_PAGE = 20
_TAKEN = f"a.status IN {HAD}"
UNDONE = (
    "NOT EXISTS (SELECT 1 FROM assignments a WHERE a.hit_id = h.hit_id AND a.worker_id = :worker"
    f" AND {_TAKEN})"
)
_FIRST = (
    f"SELECT h.seq FROM hits h WHERE h.hit_type_id = t.hit_type_id AND {hits.OPEN} AND {UNDONE}"
    " ORDER BY h.seq LIMIT 1"
)
COUNTED = 1000  # a larger number of HITs is shown as this: counting them all would take long


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer(Terms):
    """The first HIT of a group that a worker has not done, and who offers it."""

    hit_id: str
    hit_type_id: str
    requester_id: str
    name: str
    expiration: float


class Group(TypedDict):
    """A group of HITs of one type, as a page and JSON show it; ``waits`` says why more come only later."""

    group_id: str
    hit_id: str
    title: str
    description: str
    keywords: str
    requester: str
    reward: str
    available: int
    duration: int
    expires: str | None
    qualified: bool
    missing: list[qualifications.Need]
    waits: str
    can_preview: bool


class GroupPage(TypedDict):
    """One page of groups."""

    groups: list[Group]
    page: int
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A group and a HIT of it to look at; ``reason`` says why it cannot be accepted."""

    group: Group
    hit: Hit
    reason: str


def groups(tx: Transaction, worker_id: str, number: int = 1) -> GroupPage:
    """Return one page of the groups with HITs that the worker has not done, best paid first."""
    worker = qualifications.standing(tx, worker_id)
    found = _open_to(tx, worker_id, worker)
    pages = max(1, -(-len(found) // PER_PAGE))
    number = min(max(number, 1), pages)
    shown = found[(number - 1) * PER_PAGE : number * PER_PAGE]
    rows = _offers(tx, {f"seq{place}": seq for place, seq in enumerate(shown)})
    return {
        "groups": [_view(tx, row, worker, _count(tx, worker_id, row)) for row in rows],
        "page": number,
        "pages": pages,
    }


def group(tx: Transaction, worker_id: str, group_id: str) -> Group | None:
    """Return one group as this worker sees it, or None where nothing is left in it."""
    worker = qualifications.standing(tx, worker_id)
    found = _open_to(tx, worker_id, worker, group_id)
    rows = _offers(tx, {"seq0": found[0]} if found else {})
    return _view(tx, rows[0], worker, _count(tx, worker_id, rows[0])) if rows else None


def _count(tx: Transaction, worker_id: str, row: Offer) -> int:
    return count_open(tx, worker_id, row.hit_type_id)


def count_open(tx: Transaction, worker_id: str, group_id: str) -> int:
    """Return how many HITs of a group are open and the worker has not done, up to :data:`COUNTED`.

    A worker has done few of the HITs that are open, so those are counted and taken off: to look for each
    open HIT among the worker's would be a thousand searches for every page. SQLite keeps to the order of a
    CROSS JOIN; of another it would take all open HITs first.
    """
    (done,) = tx.rows(
        "SELECT count(*) FROM assignments a CROSS JOIN hits h WHERE h.hit_id = a.hit_id"
        f" AND a.worker_id = :worker AND {_TAKEN} AND h.hit_type_id = :type AND {hits.OPEN}",
        type=group_id,
        worker=worker_id,
        now=tx.now,
    )[0]
    (number,) = tx.rows(
        f"SELECT count(*) FROM (SELECT 1 FROM hits h WHERE h.hit_type_id = :type AND {hits.OPEN}"
        f" LIMIT {COUNTED + int(done)}) AS counted",
        type=group_id,
        now=tx.now,
    )[0]
    return int(number) - int(done)


def _open_to(
    tx: Transaction, worker_id: str, worker: qualifications.Standing, group_id: str = ""
) -> list[int]:
    """Return the first HIT, by its number, of each group that the worker may see, best paid first.

    A marketplace has thousands of groups, and few ways to require something: each is looked at once, and no
    more is read of a group than its place in the list needs.
    """
    only = " WHERE hit_type_id = :group" if group_id else ""
    rows = tx.rows(
        f"SELECT o.first_seq, o.requirements FROM (SELECT t.reward, t.requirements, ({_FIRST}) AS first_seq"
        f" FROM (SELECT hit_type_id, requester_id, reward, requirements FROM hit_types{only}) t"
        f" WHERE NOT {workers.HIDDEN} AND NOT {workers.BLOCKED}"
        ") o WHERE o.first_seq IS NOT NULL ORDER BY o.reward DESC, o.first_seq",
        worker=worker_id,
        now=tx.now,
        **({"group": group_id} if group_id else {}),
    )
    hidden = {
        asked: bool(qualifications.unmet(asked, worker, "discover")) for asked in {asked for _, asked in rows}
    }
    return [int(seq) for seq, asked in rows if not hidden[asked]]


def _offers(tx: Transaction, numbers: Mapping[str, int]) -> list[Offer]:
    """Return the HITs with these numbers as offers, best paid first."""
    if not numbers:
        return []
    return tx.select(
        Offer,
        f"FROM hits h JOIN {OF_TYPE} USING (hit_type_id)"
        " JOIN (SELECT requester_id, name FROM requesters) r USING (requester_id)"
        f" WHERE h.seq IN ({', '.join(f':{name}' for name in numbers)}) ORDER BY t.reward DESC, h.seq",
        **numbers,
    )


def _view(tx: Transaction, row: Offer, worker: qualifications.Standing, available: int) -> Group:
    asked = row.requirements
    missing = qualifications.unmet(asked, worker)
    return {
        "group_id": row.hit_type_id,
        "hit_id": row.hit_id,
        "title": row.title,
        "description": row.description,
        "keywords": row.keywords or "",
        "requester": row.name,
        "reward": from_cents(row.reward),
        "available": available,
        "duration": row.duration,
        "expires": iso(row.expiration),
        "qualified": not missing,
        "missing": [qualifications.describe(tx, one, worker) for one in missing],
        "waits": qualifications.waits(missing, worker),
        "can_preview": not qualifications.unmet(asked, worker, "preview"),
    }


def preview(
    tx: Transaction, worker_id: str, *, hit_id: str | None = None, group_id: str | None = None
) -> Preview:
    """Return a group and one HIT of it to look at before accepting.

    Raises
    ------
    Refusal
        ``no_hit``: there is none, or the worker may not see it.
    """
    if hit_id is None:
        seen = group(tx, worker_id, group_id or "")
        hit_id = seen["hit_id"] if seen else ""
    hit = hits.get(tx, hit_id)
    if hit is None or workers.offers_nothing(tx, hit.requester_id, worker_id):
        raise Refusal("no_hit", "There is no such HIT, or none is left for you.", 404)
    asked = hit.requirements
    worker = qualifications.standing(tx, worker_id)
    if qualifications.unmet(asked, worker, "discover"):
        raise Refusal("no_hit", "There is no such HIT, or none is left for you.", 404)
    offer = group(tx, worker_id, hit.hit_type_id) or _closed(tx, hit, worker)
    is_open = hits.status(hit, tx.now) == "Assignable"
    reason = "" if offer["qualified"] else offer["waits"] or "You do not meet the requirements."
    if not is_open or not offer["available"]:
        reason = "This HIT is no longer open to you."
    return Preview(group=offer, hit=hit, reason=reason)


def _closed(tx: Transaction, hit: Hit, worker: qualifications.Standing) -> Group:
    (name,) = tx.rows("SELECT name FROM requesters WHERE requester_id = :id", id=hit.requester_id)[0]
    offer = Offer(
        **{term: getattr(hit, term) for term in TERMS},
        hit_id=hit.hit_id,
        hit_type_id=hit.hit_type_id,
        requester_id=hit.requester_id,
        name=str(name),
        expiration=hit.expiration,
    )
    return _view(tx, offer, worker, 0)
