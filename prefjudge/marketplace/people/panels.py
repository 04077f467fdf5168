"""Panels: companies that send workers here by a link, for visits, and get them back with a completion code.

A panel's workers get worker ids of this marketplace; the panel's own ids are stored apart, and only the admin
sees them, in the panel's list.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypedDict
from urllib.parse import quote, urlencode, urlsplit

from prefjudge.database import row_of
from prefjudge.marketplace.errors import (
    Params,
    Refusal,
    RequestError,
    View,
    from_cents,
    invalid,
    missing,
    to_cents,
)
from prefjudge.marketplace.people import requesters, workers
from prefjudge.marketplace.store.store import Transaction, iso

OUTCOMES = ("submitted", "returned", "none_left", "timed_out", "screened_out", "no_consent")
"""How a visit ends; each has its own way back to the panel."""
MOST_HITS = 1000
_PROLIFIC = ("PROLIFIC_PID", "SESSION_ID")
"""The names that Prolific fills in in a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A panel: the names of its link's parameters, and the ways back as JSON.

    ``hits`` is how many HITs one visit has (0: as many as there are), and ``reward`` what the panel itself
    pays for a visit that it approves, in cents. Where ``confirm`` is set, a visit counts only once the
    panel's own list has confirmed it; where ``keys`` is an address of keys (a JWKS), a link counts only with
    a token that one of them has signed. Where ``requester`` is a name, its participants see only the HITs of
    that requester.
    """

    panel: str
    participant: str = _PROLIFIC[0]
    study: str = "STUDY_ID"
    session: str = _PROLIFIC[1]
    locale: str = "US"
    completion: str = "{}"
    signed: int = 0
    hits: int = 1
    reward: int = 0
    confirm: int = 0
    keys: str = ""
    requester: str = ""
    closed: float | None = None
    created: float

    @property
    def vouched(self) -> bool:
        """Tell whether more than the link's own word says who comes; else each new name is a worker."""
        return bool(self.signed or self.confirm or self.keys)


class Way(TypedDict):
    """A way back: the code that the panel asks for, and an address that takes the participant there."""

    code: str
    url: str


_CHECKS = (
    "participant", "study", "session", "locale", "completion", "signed", "hits", "reward", "confirm", "keys",
    "requester",
)  # fmt: skip


def create(tx: Transaction, name: Any, wanted: Params) -> Panel:
    """Register a panel.

    ``wanted`` has the names of the link's parameters (``participant``, ``study``, ``session``), a ``locale``,
    and under ``completion``, for each outcome, a code, or a ``code`` and a ``url``; and ``hits``, ``reward``,
    ``confirm``, ``keys`` and ``requester`` as :class:`Panel` has them. Where ``signed`` is true, a link
    counts only with a ``signature``, the participant's HMAC-SHA256 by the panel's secret: so it is unless
    ``confirm`` or ``keys`` tell who comes, or ``signed`` is false. What has the wrong shape is found now, and
    not when work is submitted.
    """
    if not isinstance(name, str) or not name.isidentifier() or len(name) > 100:
        raise invalid("name", "a panel's name must be letters, digits and underscores")
    panel = _changed(tx, Panel(panel=name, created=tx.now), wanted, sure=True)
    if not tx.insert("panels", panel, "ON CONFLICT DO NOTHING RETURNING panel"):
        raise invalid("name", f"there is already a panel {name!r}")
    return panel


def save(tx: Transaction, name: str, wanted: Params) -> Panel:
    """Register a panel, or change what ``wanted`` names of one; a repeat changes nothing."""
    known = tx.get(Panel, "panels", lock=True, panel=name)
    if known is None:
        return create(tx, name, wanted)
    panel = _changed(tx, known, wanted, sure=known.vouched)
    tx.update("panels", {column: getattr(panel, column) for column in _CHECKS}, panel=name)
    return panel


def find(tx: Transaction, name: str) -> Panel:
    """Return a panel."""
    found = tx.get(Panel, "panels", panel=name)
    if found is None:
        raise missing("Panel", name)
    return found


def every(tx: Transaction) -> list[Panel]:
    """Return all panels, the newest first."""
    return tx.select(Panel, "FROM panels ORDER BY created DESC, panel")


def close(tx: Transaction, name: str, *, closed: bool) -> None:
    """Let no new visit in, or again; visits under way go on."""
    find(tx, name)
    tx.update("panels", {"closed": tx.now if closed else None}, panel=name)


def remove(tx: Transaction, name: str) -> None:
    """Remove a panel that nobody has come from."""
    find(tx, name)
    # who did what for it must stay known
    if tx.pick("1", "visits", panel=name):
        raise RequestError(f"{name}: participants have come from this panel; close it instead.")
    tx.delete("panels", panel=name)


def view(tx: Transaction, panel: Panel) -> View:
    """Show a panel to the admin; ``path`` is its link's."""
    return {
        "panel": panel.panel,
        "participant": panel.participant,
        "study": panel.study,
        "session": panel.session,
        "locale": panel.locale,
        "completion": json.loads(panel.completion),
        "signed": bool(panel.signed),
        "hits": panel.hits,
        "reward": from_cents(panel.reward),
        "confirm": bool(panel.confirm),
        "keys": panel.keys,
        "requester": panel.requester,
        "closed": panel.closed is not None,
        "created": iso(panel.created),
        "path": f"/panel/{panel.panel}/{link_key(tx, panel.panel, panel.created)}",
    }


def way_back(panel: Panel, outcome: str, **known: str) -> Way:
    """Return the code and the address that lead a participant back; both are empty where the panel has none.

    ``known`` are the participant, the study and the session, for an address that names them.
    """
    way = json.loads(panel.completion).get(outcome, {})
    code, url = way.get("code", ""), way.get("url", "")
    for place, text in {"code": code, **known}.items():
        url = url.replace(f"{{{place}}}", quote(text, safe=""))
    return {"code": code, "url": url}


def secret(tx: Transaction, name: str) -> str:
    """Return what a panel signs its links with."""
    return tx.marketplace.sign("panel", name)


def signature_of(tx: Transaction, name: str, participant: str) -> str:
    """Return what a signed link of a panel must hold beside its participant."""
    return hmac.new(secret(tx, name).encode(), participant.encode(), hashlib.sha256).hexdigest()


def signed_query(tx: Transaction, panel: Panel, participant: str) -> str:
    """Return what a participant's link holds behind its ``?``."""
    return urlencode(
        {panel.participant: participant, "signature": signature_of(tx, panel.panel, participant)}
    )


def link_key(tx: Transaction, name: str, created: float) -> str:
    """Return the key in a panel's link, which follows from the store's secret."""
    return tx.marketplace.sign("panel link", name, repr(created))


def _changed(tx: Transaction, panel: Panel, wanted: Params, *, sure: bool) -> Panel:
    """Return the panel with what is wanted, checked.

    Where it was ``sure`` who comes, it stays so unless links without a signature are wanted in so many words.
    """
    unknown = set(wanted) - set(_CHECKS)
    if unknown:
        raise invalid(min(unknown), "is not a property of a panel")
    participant = _text(wanted, "participant", panel.participant)
    if not participant:
        raise invalid("participant", "must name the parameter of the link that says who comes")
    requester = _text(wanted, "requester", panel.requester)
    known = requester in ("", requesters.LOCAL) or requesters.find(tx, requester)  # LOCAL comes when it calls
    if not known:
        raise invalid("requester", f"{requester[:32]!r} is not the name of a requester")
    completion, reward = panel.completion, panel.reward
    if "completion" in wanted:
        completion = json.dumps(_ways_back({} if wanted["completion"] is None else wanted["completion"]))
    if "reward" in wanted:
        reward = to_cents(_text(wanted, "reward", ""), "reward")
    changed = replace(
        panel,
        participant=participant,
        study=_text(wanted, "study", panel.study),
        session=_text(wanted, "session", panel.session),
        locale=workers.locale(_text(wanted, "locale", panel.locale)),
        completion=completion,
        signed=_flag(wanted, "signed", panel.signed),
        hits=_count(wanted, "hits", panel.hits),
        reward=reward,
        confirm=_flag(wanted, "confirm", panel.confirm),
        keys=_address(_text(wanted, "keys", panel.keys), "keys"),
        requester=requester,
    )
    unsure = sure and wanted.get("signed") is None and not changed.vouched
    return replace(changed, signed=1) if unsure else changed


def _text(wanted: Params, name: str, default: str) -> str:
    text = wanted.get(name, default)
    if not isinstance(text, str) or "\0" in text or len(text) > 2000:
        raise invalid(name, "must be a text")
    return text.strip()


def _flag(wanted: Params, name: str, default: int) -> int:
    flag = wanted.get(name)
    if flag not in (None, False, True):
        raise invalid(name, "must be true or false")
    return default if flag is None else int(flag)


def _count(wanted: Params, name: str, default: int) -> int:
    number = wanted.get(name, default)
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= MOST_HITS:
        raise invalid(name, f"must be a whole number from 0 to {MOST_HITS}")
    return number


def _address(url: str, name: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:  # a bracket is open
        parts = urlsplit("")
    if url and (parts.scheme not in ("https", "http") or not parts.hostname):
        raise invalid(name, "is not a web address")
    return url


def _ways_back(completion: Any) -> dict[str, Way]:
    """Return the code and the address of each outcome; a text alone is the code."""
    if not isinstance(completion, Mapping) or set(completion) - set(OUTCOMES):
        raise invalid("completion", f"may have only {', '.join(OUTCOMES)}")
    ways: dict[str, Way] = {}
    for outcome, way in completion.items():
        given = {"code": way} if isinstance(way, str) else way
        if not isinstance(given, Mapping) or set(given) - {"code", "url"}:
            raise invalid(f"completion.{outcome}", "must be a code, or have a code and a url")
        code, url = _text(given, "code", ""), _text(given, "url", "")
        ways[outcome] = {"code": code, "url": _address(url, f"completion.{outcome}.url")}
    return ways


# Visits: a panel's participant comes for some HITs and one payment, and goes back with one code.

_LONGEST = 200
"""Characters of what a link says."""
LAST = 2**62
"""Above every visit's number."""
SPAN = "(SELECT visit FROM visits WHERE panel = :panel AND visit BETWEEN :first AND :last)"
"""The visits of a panel between two numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Somebody who follows a panel's link; ``confirmed`` where it is certain that the panel has sent them."""

    panel: str
    participant: str
    study: str
    session: str
    confirmed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit(Arrival):
    """One visit; ``outcome`` is set once it has ended for good, and ``paid`` once that was recorded."""

    visit: int
    worker_id: str
    arrived: float
    outcome: str | None
    ended: float | None
    paid: float | None


def look(tx: Transaction, name: str, key: str, query: Mapping[str, str]) -> Arrival:
    """Return who follows a panel's link, as far as the link itself tells."""
    panel = open_panel(tx, name, key)
    if panel.keys:  # only a token says who comes
        raise bad_link()
    participant, session = query.get(panel.participant, ""), query.get(panel.session, "")
    if panel.signed and not _is_signed(tx, name, participant, query.get("signature", "")):
        raise bad_link()
    if panel.confirm and (panel.participant, panel.session) == _PROLIFIC:
        _refuse_incomplete(participant, session)
    return arrival(panel, participant, query.get(panel.study, ""), session, confirmed=not panel.confirm)


def _refuse_incomplete(*ids: str) -> None:
    """Refuse a link whose ids Prolific has not filled in, as its list will never confirm such a visit."""
    if not all(map(str.isalnum, ids)):
        raise Refusal("bad_link", "Open the study again from Prolific's page.", 404)


def arrival(panel: Panel, participant: str, study: str, session: str, *, confirmed: bool) -> Arrival:
    """Return an arrival from what a link says; no id may be two lines of the panel's files."""
    ids = (participant, study, session)
    if not participant or max(map(len, ids)) > _LONGEST or not all(map(str.isprintable, ids)):
        raise bad_link()
    return Arrival(
        panel=panel.panel, participant=participant, study=study, session=session, confirmed=int(confirmed)
    )


def open_panel(tx: Transaction, name: str, key: str) -> Panel:
    """Return the panel that a link's key opens."""
    panel = tx.get(Panel, "panels", panel=name)
    if panel is None or not hmac.compare_digest(link_key(tx, name, panel.created).encode(), key.encode()):
        raise bad_link()
    return panel


def bad_link() -> Refusal:
    """Return the refusal of a link, which does not say what is wrong with it."""
    return Refusal("bad_link", "This link is not valid. Ask the person who gave it to you.", 404)


def arrive(tx: Transaction, who: Arrival) -> Visit:
    """Return the visit that begins or goes on; its worker is registered if new."""
    known = tx.get(Visit, "visits", panel=who.panel, participant=who.participant, session=who.session)
    panel = find(tx, who.panel)
    if known is None and _was_forgotten(tx, who):
        raise Refusal("forgotten", "This visit is over, and all that was known about you is erased.", 410)
    if known is None and panel.closed is not None:
        raise Refusal("closed", "This study is closed. Thank you for your interest.", 410)
    rows = tx.insert(  # where one participant arrives twice at once, the second changes the first's visit
        "visits",
        {**row_of(who), "worker_id": _worker(tx, who, panel.locale), "arrived": tx.now},
        "ON CONFLICT (panel, participant, session) DO UPDATE SET study = excluded.study RETURNING visit",
    )
    return find_visit(tx, int(rows[0][0]))


def _worker(tx: Transaction, who: Arrival, locale: str) -> str:
    """Return the worker whom a participant is, registered if new."""
    known = worker_of(tx, who)
    if known is not None:
        return known
    kept = tx.insert(  # if one participant arrives twice at once, both visits get the first one's worker
        "panel_workers",
        {
            "panel": who.panel,
            "participant": who.participant,
            "worker_id": workers.create(tx, country=locale),
        },
        "ON CONFLICT (panel, participant) DO UPDATE SET panel = excluded.panel RETURNING worker_id",
    )
    return str(kept[0][0])


def worker_of(tx: Transaction, who: Arrival) -> str | None:
    """Return the worker whom a participant is, or None the first time."""
    known: str | None = tx.pick("worker_id", "panel_workers", panel=who.panel, participant=who.participant)
    return known


def find_visit(tx: Transaction, number: int, *, lock: bool = False) -> Visit:
    """Return a visit by its number, locked until the transaction ends where ``lock`` is set."""
    found = tx.get(Visit, "visits", lock=lock, visit=number)
    assert found is not None, "visits are not deleted one by one"
    return found


def forget_visits(tx: Transaction, worker_id: str) -> int:
    """Erase whose visits a worker's are, and return of how many; marks stay of the panel's sessions."""
    known = tx.select(
        Visit,
        "FROM visits WHERE worker_id = :worker AND (participant <> '' OR study <> '')",
        worker=worker_id,
    )
    for visit in known:
        mark = _mark(tx, visit) or f"forgotten {visit.visit}"
        tx.update("visits", {"participant": "", "study": "", "session": mark}, visit=visit.visit)
    return len(known)


def _mark(tx: Transaction, who: Arrival) -> str:
    """Return what stays of a session in the place of it; nothing where the panel has none.

    A session is work for one payment: by its mark the same link does not open it again for a new worker, to
    be paid twice. Who does not have the store's secret and the session learns nothing from it. A link
    without a session may be the one that somebody has for good, so that they may come back as a new person.
    """
    if not who.session:
        return ""
    return f"forgotten {tx.marketplace.sign('forgotten session', who.panel, who.participant, who.session)}"


def _was_forgotten(tx: Transaction, who: Arrival) -> bool:
    mark = _mark(tx, who)
    return bool(mark) and bool(tx.pick("1", "visits", panel=who.panel, participant="", session=mark))


def count_outcomes(tx: Transaction, name: str) -> dict[str, int]:
    """Count a panel's visits by their outcomes, as far as these are final."""
    return tx.tally(
        "SELECT coalesce(outcome, 'working'), count(*) FROM visits WHERE panel = :panel GROUP BY 1",
        panel=name,
    )


def visits_of(
    tx: Transaction, name: str, first: int = 0, last: int = LAST, most: int | None = None, *,
    lock: bool = False,
) -> list[Visit]:  # fmt: skip
    """Return a panel's visits, the last one first.

    Where given, only those numbered from ``first`` to ``last``, and of these at most ``most``; with ``lock``
    they are locked until the transaction ends.
    """
    limit = "" if most is None else f" LIMIT {int(most)}"
    return tx.select(
        Visit,
        f"FROM visits WHERE visit IN {SPAN} ORDER BY visit DESC{limit}{tx.locked if lock else ''}",
        panel=name,
        first=first,
        last=last,
    )


def record_outcome(tx: Transaction, number: int, outcome: str, *, overrule: bool = False) -> None:
    """Keep how a visit has ended. The first outcome stands, as its code was shown, unless overruled."""
    known = "" if overrule else " AND outcome IS NULL"
    tx.execute(
        f"UPDATE visits SET outcome = :outcome, ended = :now WHERE visit = :visit{known}",
        outcome=outcome,
        now=tx.now,
        visit=number,
    )


def _is_signed(tx: Transaction, panel: str, participant: str, signature: str) -> bool:
    expected = signature_of(tx, panel, participant)
    return hmac.compare_digest(expected.encode(), signature.lower().encode())
