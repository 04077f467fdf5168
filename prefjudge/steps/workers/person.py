"""Gives a worker what is stored about them, or forgets the person and keeps the work."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from prefjudge.database import Value, file_of, redacted
from prefjudge.errors import InputError, StudyError
from prefjudge.field.crowd import store_url
from prefjudge.marketplace import operator as market
from prefjudge.show.results import Shown
from prefjudge.study import people
from prefjudge.study.store import Study, open_study

Rows = list[Mapping[str, Value]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PersonResult(Shown):
    """A receipt of what was forgotten, or everything that is stored.

    ``erased`` counts rows by what they held, ``assignments`` says how many stay under the worker id, and
    ``owed`` what the ledger owes, in dollars. ``stored`` has the rows, by kind, of the ``marketplace`` and of
    the ``study``.
    """

    action: str
    worker_id: str
    stores: tuple[str, ...]
    forgotten: str = ""
    erased: dict[str, int] = field(default_factory=dict)
    assignments: int = 0
    owed: str = "0.00"
    stored: dict[str, dict[str, Rows]] = field(default_factory=dict)


def export_person(
    worker_id: str, study: str | Path | Study | None = None, *, store: str | None = None
) -> PersonResult:
    """Return all that a study, its own marketplace or the store at a URL holds about a worker."""
    opened, url, places = _places(worker_id, study, store)
    stored = _stored(url, opened, worker_id)
    return PersonResult(action="export", worker_id=worker_id, stores=places, stored=stored)


def forget_person(
    worker_id: str, study: str | Path | Study | None = None, *, store: str | None = None, unpaid: bool = False
) -> PersonResult:
    """Forget in the marketplace, which refuses where money is owed, and then in the study."""
    opened, url, places = _places(worker_id, study, store)
    receipt = market.forget_person(url, worker_id, unpaid=unpaid) if url else None
    erased = dict(receipt["erased"]) if receipt else {}
    assignments = receipt["kept"]["assignments"] if receipt else 0
    if opened is not None:
        with opened.transaction() as db:
            mine = people.known(db, worker_id)["assignments"]
            if not (mine or receipt):
                raise _unknown(worker_id)
            erased |= people.forget(db, worker_id)
        opened.database.scrub()
        assignments = max(assignments, len(mine))
    return PersonResult(
        action="forget",
        worker_id=worker_id,
        stores=places,
        forgotten=(receipt["forgotten"] or "") if receipt else "",
        erased=erased,
        assignments=assignments,
        owed=receipt["ledger"] if receipt else "0.00",
    )


def _places(
    worker_id: str, study: str | Path | Study | None, store: str | None
) -> tuple[Study | None, str, tuple[str, ...]]:
    """Return the study, the URL of the marketplace's store, empty where it is elsewhere, and both by name."""
    opened = open_study(study or None)
    url = store or store_url(opened.folder if opened else Path())
    path = file_of(url)
    if path is not None and not path.exists():
        if opened is None or store:
            raise StudyError(
                f"there is no marketplace at {redacted(url)}",
                "Give a study, or --store with the URL of a store.",
            )
        url = ""  # the study's workers are at a marketplace elsewhere
    if not worker_id.strip():
        raise InputError("the worker id is empty", "See the ids: prefjudge workers STUDY --ids")
    return opened, url, tuple(redacted(one) for one in (url, opened.store_url if opened else "") if one)


def _stored(url: str, study: Study | None, worker_id: str) -> dict[str, dict[str, Rows]]:
    stored = {"marketplace": market.known_of(url, worker_id)} if url else {}
    if study is not None:
        with study.transaction(write=False) as db:
            stored["study"] = people.known(db, worker_id)
    if not any(rows for kinds in stored.values() for rows in kinds.values()):
        raise _unknown(worker_id)
    return stored


def _unknown(worker_id: str) -> InputError:
    return InputError(f"nothing is stored about {worker_id}", "See the ids: prefjudge workers STUDY --ids")
