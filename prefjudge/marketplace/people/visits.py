"""Visits: a panel's participant comes for some HITs and one payment, and goes back with one code."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.people import panels, workers
from prefjudge.marketplace.people.panels import Panel
from prefjudge.marketplace.store.marketplace import Transaction

LONGEST = 200
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
class Visit:
    """One visit; ``outcome`` is set once it has ended for good, and ``paid`` once that was recorded."""

    visit: int
    panel: str
    participant: str
    study: str
    session: str
    worker_id: str
    arrived: float
    confirmed: int
    outcome: str | None
    ended: float | None
    paid: float | None


def look(tx: Transaction, name: str, key: str, query: Mapping[str, str]) -> Arrival:
    """Return who follows a panel's link, as far as the link itself tells.

    Raises
    ------
    Refusal
        ``bad_link``.
    """
    panel = open_panel(tx, name, key)
    if panel.keys:  # only a token says who comes
        raise bad_link()
    participant = query.get(panel.participant, "")
    if panel.signed and not _is_signed(tx, name, participant, query.get("signature", "")):
        raise bad_link()
    return arrival(
        panel,
        participant,
        query.get(panel.study, ""),
        query.get(panel.session, ""),
        confirmed=not panel.confirm,
    )


def arrival(panel: Panel, participant: str, study: str, session: str, *, confirmed: bool) -> Arrival:
    """Return an arrival from what a link says.

    Raises
    ------
    Refusal
        ``bad_link``: it does not say who comes, or too much, or what would be two lines of the panel's files.
    """
    ids = (participant, study, session)
    if not participant or max(map(len, ids)) > LONGEST or not all(map(str.isprintable, ids)):
        raise bad_link()
    return Arrival(
        panel=panel.panel, participant=participant, study=study, session=session, confirmed=int(confirmed)
    )


def open_panel(tx: Transaction, name: str, key: str) -> Panel:
    """Return the panel that a link's key opens.

    Raises
    ------
    Refusal
        ``bad_link``.
    """
    panel = tx.find(Panel, "FROM panels WHERE panel = :name", name=name)
    if panel is None or not panels.opens(panel, key):
        raise bad_link()
    return panel


def bad_link() -> Refusal:
    """Return the refusal of a link, which does not say what is wrong with it."""
    return Refusal("bad_link", "This link is not valid. Ask the person who gave it to you.", 404)


def arrive(tx: Transaction, who: Arrival) -> Visit:
    """Return the visit that begins or goes on; its worker is registered if new.

    Raises
    ------
    Refusal
        ``closed``: the panel takes no new visits; ``forgotten``: this visit's person was forgotten.
    """
    known = tx.find(
        Visit,
        "FROM visits WHERE panel = :panel AND participant = :participant AND session = :session",
        panel=who.panel,
        participant=who.participant,
        session=who.session,
    )
    panel = panels.find(tx, who.panel)
    if known is None and _was_forgotten(tx, who):
        raise Refusal("forgotten", "This visit was erased with all that was known of you. It is over.", 410)
    if known is None and panel.closed is not None:
        raise Refusal("closed", "This study is closed. Thank you for your interest.", 410)
    rows = tx.insert(  # where one participant arrives twice at once, the second changes the first's visit
        "visits",
        {
            "panel": who.panel,
            "participant": who.participant,
            "study": who.study,
            "session": who.session,
            "worker_id": _worker(tx, who, panel.locale),
            "arrived": tx.now,
            "confirmed": who.confirmed,
        },
        "ON CONFLICT (panel, participant, session) DO UPDATE SET study = excluded.study RETURNING visit",
    )
    return find(tx, int(rows[0][0]))


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
            "worker_id": workers.create(tx, workers.NewWorker(locale=locale)),
        },
        "ON CONFLICT (panel, participant) DO UPDATE SET panel = excluded.panel RETURNING worker_id",
    )
    return str(kept[0][0])


def worker_of(tx: Transaction, who: Arrival) -> str | None:
    """Return the worker whom a participant is, or None the first time."""
    rows = tx.rows(
        "SELECT worker_id FROM panel_workers WHERE panel = :panel AND participant = :participant",
        panel=who.panel,
        participant=who.participant,
    )
    return str(rows[0][0]) if rows else None


def find(tx: Transaction, number: int, *, lock: bool = False) -> Visit:
    """Return a visit by its number, locked until the transaction ends where ``lock`` is set."""
    found = tx.find(Visit, f"FROM visits WHERE visit = :visit{tx.locked if lock else ''}", visit=number)
    assert found is not None, "visits are not deleted one by one"
    return found


def forget(tx: Transaction, worker_id: str) -> int:
    """Erase whose visits a worker's are, and return of how many; marks stay of the panel's sessions."""
    known = tx.select(
        Visit,
        "FROM visits WHERE worker_id = :worker AND (participant <> '' OR study <> '')",
        worker=worker_id,
    )
    for visit in known:
        tx.run(
            "UPDATE visits SET participant = '', study = '', session = :mark WHERE visit = :visit",
            mark=_mark(tx, visit) or f"forgotten {visit.visit}",
            visit=visit.visit,
        )
    return len(known)


def _mark(tx: Transaction, who: Arrival | Visit) -> str:
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
    return bool(mark) and bool(
        tx.rows(
            "SELECT 1 FROM visits WHERE panel = :panel AND participant = '' AND session = :mark",
            panel=who.panel,
            mark=mark,
        )
    )


def count_outcomes(tx: Transaction, name: str) -> dict[str, int]:
    """Count a panel's visits by their outcomes, as far as these are final."""
    return tx.tally(
        "SELECT coalesce(outcome, 'working'), count(*) FROM visits WHERE panel = :panel GROUP BY 1",
        panel=name,
    )


def of_panel(
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
    tx.run(
        f"UPDATE visits SET outcome = :outcome, ended = :now WHERE visit = :visit{known}",
        outcome=outcome,
        now=tx.now,
        visit=number,
    )


def _is_signed(tx: Transaction, panel: str, participant: str, signature: str) -> bool:
    expected = panels.signature(tx, panel, participant)
    return hmac.compare_digest(expected.encode(), signature.lower().encode())
