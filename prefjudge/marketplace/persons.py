"""Persons from the command line, while a marketplace runs or not: what is stored, and forgetting it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from prefjudge.database import Value
from prefjudge.errors import InputError
from prefjudge.marketplace.errors import RequestError
from prefjudge.marketplace.existing import existing_marketplace
from prefjudge.marketplace.hits import overview
from prefjudge.marketplace.hits.overview import Receipt
from prefjudge.marketplace.store.store import Marketplace

Rows = list[Mapping[str, Value]]


def known(store_url: str, worker_id: str) -> dict[str, Rows]:
    """Return everything that a store holds about a worker, by kind.

    Raises
    ------
    PrefjudgeError
        There is no such store or worker.
    """
    with _opened(store_url) as marketplace, marketplace.transaction(write=False) as tx:
        return overview.known_of(tx, worker_id)


def forget(store_url: str, worker_id: str, *, unpaid: bool = False) -> Receipt:
    """Forget a person, also in the store's bytes.

    Raises
    ------
    PrefjudgeError
        There is no such store or worker, the person is owed something, or another process reads the store all
        the time.
    """
    with _opened(store_url) as marketplace:
        with marketplace.transaction() as tx:
            receipt = overview.forget_person(tx, worker_id, unpaid=unpaid)
        marketplace.database.scrub()
        return receipt


@contextmanager
def _opened(store_url: str) -> Iterator[Marketplace]:
    try:
        with existing_marketplace(store_url) as marketplace:
            yield marketplace
    except RequestError as error:
        owed = error.code.endswith("InvalidWorkerState")
        hint = (
            "Or add --unpaid, if nothing is to be paid."
            if owed
            else "See the ids: prefjudge workers STUDY --ids"
        )
        raise InputError(error.message, hint) from error
