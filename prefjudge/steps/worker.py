"""Gives a worker what is stored about them, or forgets the person and keeps the work."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

from prefjudge.database import Value, file_of, redacted
from prefjudge.errors import InputError, StudyError
from prefjudge.fieldwork.own_marketplace import store_url
from prefjudge.marketplace import persons as market
from prefjudge.render.shown import Shown
from prefjudge.study import persons
from prefjudge.study.study import Study, open_study

Rows = list[Mapping[str, Value]]


class WorkerAction(StrEnum):
    """What is done with what is stored about a worker."""

    FORGET = "forget"
    EXPORT = "export"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorkerResult(Shown):
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


def worker(
    action: WorkerAction | Literal["forget", "export"],
    worker_id: str,
    study: str | Path | Study | None = None,
    *,
    store: str | None = None,
    unpaid: bool = False,
) -> WorkerResult:
    """Forget the person behind a worker id, or export all that is stored about them.

    ``forget`` erases the name, the password, the locale, the panel's ids, messages, drafts and comments, also
    from the store's bytes. Judgments stay under the worker id, which says nothing by itself, and the ledger
    stays whole.

    Parameters
    ----------
    action : {'forget', 'export'}
        What to do.
    worker_id : str
        The worker's id, as ``workers --ids`` shows it.
    study : Path, optional
        A study: its own marketplace, and what the study itself keeps.
    store : str, optional
        The marketplace's store by URL; ``marketplace.db`` in the study or the current folder by default.
    unpaid : bool
        Forget although the worker is owed something: nobody can pay it afterwards.

    Raises
    ------
    InputError
        There is no such worker, or the worker is owed something.
    StudyError
        There is no store.
    """
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
    places = tuple(redacted(one) for one in (url, opened.store_url if opened else "") if one)
    if WorkerAction(action) is WorkerAction.EXPORT:
        stored = _stored(url, opened, worker_id)
        return WorkerResult(action="export", worker_id=worker_id, stores=places, stored=stored)
    return _forget(url, opened, worker_id, places, unpaid=unpaid)


def _stored(url: str, study: Study | None, worker_id: str) -> dict[str, dict[str, Rows]]:
    stored = {"marketplace": market.known(url, worker_id)} if url else {}
    if study is not None:
        with study.transaction(write=False) as db:
            stored["study"] = persons.known(db, worker_id)
    if not any(rows for kinds in stored.values() for rows in kinds.values()):
        raise _unknown(worker_id)
    return stored


def _unknown(worker_id: str) -> InputError:
    return InputError(f"nothing is stored about {worker_id}", "See the ids: prefjudge workers STUDY --ids")


def _forget(
    url: str, study: Study | None, worker_id: str, places: tuple[str, ...], *, unpaid: bool
) -> WorkerResult:
    """Forget in the marketplace, which refuses where money is owed, and then in the study."""
    receipt = market.forget(url, worker_id, unpaid=unpaid) if url else None
    erased = dict(receipt["erased"]) if receipt else {}
    assignments = receipt["kept"]["assignments"] if receipt else 0
    if study is not None:
        with study.transaction() as db:
            mine = persons.known(db, worker_id)["assignments"]
            if not (mine or receipt):
                raise _unknown(worker_id)
            erased |= persons.forget(db, worker_id)
        study.database.scrub()
        assignments = max(assignments, len(mine))
    return WorkerResult(
        action=WorkerAction.FORGET.value,
        worker_id=worker_id,
        stores=places,
        forgotten=(receipt["forgotten"] or "") if receipt else "",
        erased=erased,
        assignments=assignments,
        owed=receipt["ledger"] if receipt else "0.00",
    )
