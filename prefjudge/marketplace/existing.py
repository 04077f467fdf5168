"""A marketplace that is there already, opened by a verb of the command line beside whoever serves it."""

from collections.abc import Iterator
from contextlib import contextmanager

from prefjudge.database import Database, redacted
from prefjudge.errors import ConfigError
from prefjudge.marketplace.hits.overview import sweep
from prefjudge.marketplace.store.store import Marketplace


@contextmanager
def existing_marketplace(store_url: str) -> Iterator[Marketplace]:
    """Open the marketplace in a store.

    Raises
    ------
    ConfigError
        There is none: none is made.
    """
    database = Database(store_url)
    try:
        version = database.version()
    finally:
        database.close()
    if not version:
        raise ConfigError(
            f"{redacted(store_url)} holds no marketplace",
            "Give the study or the --store that is served, or serve it first.",
        )
    marketplace = Marketplace(store_url, sweep=sweep)
    try:
        yield marketplace
    finally:
        marketplace.close()
