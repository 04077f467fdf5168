"""Panels: companies that send workers here by a link, and get them back with a completion code.

A panel's workers get worker ids of this marketplace; the panel's own ids are stored apart and never shown.
"""

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any

from prefjudge.marketplace.errors import Refusal, invalid
from prefjudge.marketplace.params import Params
from prefjudge.marketplace.people import workers
from prefjudge.marketplace.store.ids import new_secret
from prefjudge.marketplace.store.marketplace import Transaction

OUTCOMES = ("submitted", "returned", "none_left")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What a new panel needs: the key in its study's link, and the secret to sign links with."""

    key: str
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A panel: the names of its link's parameters, and the ways back as JSON."""

    panel: str
    key_hash: str
    participant: str
    study: str
    session: str
    locale: str
    completion: str
    signed: int
    created: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A participant who follows a panel's link; ``worker_id`` is None the first time."""

    panel: str
    participant: str
    study: str
    session: str
    locale: str
    worker_id: str | None


def create(tx: Transaction, wanted: Params) -> Link:
    """Register a panel.

    ``wanted`` has a ``name``, the names of the link's parameters (``participant``, ``study``, ``session``),
    a ``locale``, and under ``completion``, for each outcome, a code, or a ``code`` and a ``url``. Where
    ``signed`` is true, a link counts only with a ``signature``, the participant's HMAC-SHA256 by the secret.

    Raises
    ------
    RequestError
        Something is missing or has the wrong shape; found now, not when work is submitted.
    """
    unknown = set(wanted) - {"name", "participant", "study", "session", "locale", "completion", "signed"}
    if unknown:
        raise invalid(sorted(unknown)[0], "is not a property of a panel")
    name = _text(wanted, "name", "")
    if not name.isidentifier():
        raise invalid("name", "a panel's name must be letters, digits and underscores")
    if wanted.get("signed") not in (None, False, True):
        raise invalid("signed", "must be true or false")
    key = new_secret()
    panel = Panel(
        panel=name,
        key_hash=_hash(key),
        participant=_text(wanted, "participant", "PROLIFIC_PID"),
        study=_text(wanted, "study", "STUDY_ID"),
        session=_text(wanted, "session", "SESSION_ID"),
        locale=workers.locale(_text(wanted, "locale", "US")),
        completion=json.dumps(_ways_back(wanted.get("completion") or {})),
        signed=int(bool(wanted.get("signed"))),
        created=tx.now,
    )
    if not tx.insert("panels", panel, "ON CONFLICT DO NOTHING RETURNING panel"):
        raise invalid("name", f"there is already a panel {name!r}")
    return Link(key=key, secret=_secret(tx, name))


def _text(wanted: Params, name: str, default: str) -> str:
    text = wanted.get(name, default)
    if not isinstance(text, str) or "\0" in text:
        raise invalid(name, "must be a text")
    return text


def _ways_back(completion: Any) -> dict[str, dict[str, str]]:
    """Return the code and the address of each outcome; a text alone is the code."""
    if not isinstance(completion, dict) or set(completion) - set(OUTCOMES):
        raise invalid("completion", f"may have only {', '.join(OUTCOMES)}")
    ways = {}
    for outcome, way in completion.items():
        given = {"code": way} if isinstance(way, str) else way
        if not isinstance(given, dict) or set(given) - {"code", "url"}:
            raise invalid(f"completion.{outcome}", "must be a code, or have a code and a url")
        code, url = _text(given, "code", ""), _text(given, "url", "")
        if url and not url.startswith(("https://", "http://")):
            raise invalid(f"completion.{outcome}.url", "is not a web address")
        ways[outcome] = {"code": code, "url": url}
    return ways


def look(tx: Transaction, name: str, key: str, query: dict[str, str]) -> Visit:
    """Return the visit that follows a panel's link.

    Raises
    ------
    Refusal
        ``bad_link``.
    """
    panel = tx.find(Panel, "FROM panels WHERE panel = :name", name=name)
    participant = query.get(panel.participant, "") if panel else ""
    if (
        panel is None
        or panel.key_hash != _hash(key)
        or not 1 <= len(participant) <= 200
        or (panel.signed and not _is_signed(tx, name, participant, query.get("signature", "")))
    ):
        raise Refusal("bad_link", "This link is not valid. Ask the person who gave it to you.", 404)
    known = tx.rows(
        "SELECT worker_id FROM panel_workers WHERE panel = :panel AND participant = :participant",
        panel=name,
        participant=participant,
    )
    return Visit(
        panel=name,
        participant=participant,
        study=query.get(panel.study, "")[:200],
        session=query.get(panel.session, "")[:200],
        locale=panel.locale,
        worker_id=str(known[0][0]) if known else None,
    )


def arrive(tx: Transaction, visit: Visit) -> str:
    """Return the worker who followed a panel's link, registered if new."""
    worker_id = visit.worker_id or workers.create(tx, workers.NewWorker(locale=visit.locale))
    kept = tx.insert(  # if one participant arrives twice at once, both visits get the first one's worker
        "panel_workers",
        {
            "panel": visit.panel,
            "participant": visit.participant,
            "worker_id": worker_id,
            "study": visit.study,
            "session": visit.session,
        },
        "ON CONFLICT (panel, participant) DO UPDATE SET study = excluded.study, session = excluded.session"
        " RETURNING worker_id",
    )
    return str(kept[0][0])


def completion(tx: Transaction, worker_id: str, outcome: str) -> dict[str, str] | None:
    """Return the code and the address that lead a panel's worker back; None for other workers."""
    rows = tx.rows(
        "SELECT p.completion FROM panel_workers w JOIN panels p ON p.panel = w.panel"
        " WHERE w.worker_id = :worker",
        worker=worker_id,
    )
    found = json.loads(str(rows[0][0])).get(outcome) if rows else None
    return {"code": found.get("code", ""), "url": found.get("url", "")} if found else None


def _secret(tx: Transaction, panel: str) -> str:
    return tx.marketplace.sign("panel", panel)


def _is_signed(tx: Transaction, panel: str, participant: str, signature: str) -> bool:
    expected = hmac.new(_secret(tx, panel).encode(), participant.encode(), hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.lower().encode())


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
