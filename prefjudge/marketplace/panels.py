"""Panels: companies that send workers here, by a link, and want them back with a completion code.

A panel's workers get worker ids of this marketplace; the panel's own ids are kept apart and shown to nobody.
"""

import hashlib
import json
from typing import Any

from prefjudge.marketplace import workers
from prefjudge.marketplace.ids import new_secret
from prefjudge.marketplace.market import Record, Turn
from prefjudge.marketplace.refusals import Refusal
from prefjudge.marketplace.turk_errors import invalid

OUTCOMES = ("submitted", "returned", "none_left")


def create(turn: Turn, wanted: dict[str, Any]) -> str:
    """Register a panel, and return the key that its study's link carries.

    ``wanted`` has a ``name``, the names of the link's parameters (``participant``, ``study``, ``session``),
    a ``locale``, and under ``completion`` a ``code`` and a ``url`` for each outcome.
    """
    name = str(wanted.get("name", ""))
    if not name.isidentifier():
        raise invalid("name", "a panel's name is letters, digits and underscores")
    completion = wanted.get("completion") or {}
    if not isinstance(completion, dict) or set(completion) - set(OUTCOMES):
        raise invalid("completion", f"has only {', '.join(OUTCOMES)}")
    key = new_secret()
    record: Record = {
        "panel": name,
        "key_hash": _hash(key),
        "participant": str(wanted.get("participant", "PROLIFIC_PID")),
        "study": str(wanted.get("study", "STUDY_ID")),
        "session": str(wanted.get("session", "SESSION_ID")),
        "locale": str(wanted.get("locale", "US")),
        "completion": json.dumps(completion),
        "created": turn.now,
    }
    if not turn.insert("panels", record, "ON CONFLICT DO NOTHING RETURNING panel"):
        raise invalid("name", f"there is a panel {name!r} already")
    return key


def arrive(turn: Turn, name: str, key: str, query: dict[str, str]) -> str:
    """Return the worker whom a panel's link brings, who joins if new.

    Raises
    ------
    Refusal
        ``bad_link``.
    """
    panel = turn.record(
        "panel, key_hash, participant, study, session, locale", "FROM panels WHERE panel = :n", n=name
    )
    participant = query.get(panel["participant"], "") if panel else ""
    if panel is None or panel["key_hash"] != _hash(key) or not 1 <= len(participant) <= 200:
        raise Refusal("bad_link", "This link is not valid. Ask who gave it to you.", 404)
    known = turn.rows(
        "SELECT worker_id FROM panel_workers WHERE panel = :panel AND participant = :participant",
        panel=name,
        participant=participant,
    )
    visit = {
        "panel": name,
        "participant": participant,
        "study": query.get(panel["study"], "")[:200],
        "session": query.get(panel["session"], "")[:200],
    }
    if known:
        turn.run(
            "UPDATE panel_workers SET study = :study, session = :session"
            " WHERE panel = :panel AND participant = :participant",
            visit,
        )
        return str(known[0][0])
    worker_id = workers.create(turn, workers.Newcomer(locale=panel["locale"]))
    turn.insert("panel_workers", {**visit, "worker_id": worker_id})
    return worker_id


def completion(turn: Turn, worker_id: str, outcome: str) -> dict[str, str] | None:
    """Return the code and the address with which a panel's worker goes back; None for other workers."""
    rows = turn.rows(
        "SELECT p.completion FROM panel_workers w JOIN panels p ON p.panel = w.panel"
        " WHERE w.worker_id = :worker",
        worker=worker_id,
    )
    found = json.loads(str(rows[0][0])).get(outcome) if rows else None
    return {"code": found.get("code", ""), "url": found.get("url", "")} if found else None


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
