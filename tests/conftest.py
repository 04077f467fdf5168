"""Fixtures that several rooms' tests share, and the seed of what is drawn in them."""

import os
import secrets
import signal
from collections import Counter
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import settings

from prefjudge.marketplace.store import store
from prefjudge.study import store as study

ROOT = Path(__file__).resolve().parents[1]
SEED = os.environ.get("PREFJUDGE_TEST_SEED", "")
"""With another seed simulated workers meet other HITs, and properties are tried on other examples."""

# no test is timed: the first example of a test may pay for an import, and machines are shared
settings.register_profile("untimed", deadline=None, derandomize=not SEED)
settings.load_profile("untimed")

# What a simulated worker does follows from the ids of a marketplace and the key of a study, which nobody can
# guess. In the tests' own process each test draws them from its name: a failure can be had again.
_drawn = Random()
store.secrets = SimpleNamespace(randbelow=_drawn.randrange, token_urlsafe=secrets.token_urlsafe)  # type: ignore[attr-defined]
study.new_key = lambda: _drawn.randbytes(32).hex()


# What a screen holds must not hang on the terminal that happens to run the tests.
for given in ("COLUMNS", "LINES", "FORCE_COLOR"):
    os.environ.pop(given, None)

# A shell lets jobs in its background ignore Ctrl-C, and so would every program that tests stop by it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    _drawn.seed(f"{SEED} {item.nodeid}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with files of few tests: they walk whole roads, and one that begins last is waited for alone."""
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: tests[item.path])


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The real collections, which are not part of the project."""
    folder = Path(os.environ.get("PREFJUDGE_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no real data: PREFJUDGE_DATA names no folder with cacm, dl21, cast19 and msmarco")
    return folder
