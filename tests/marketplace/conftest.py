"""A marketplace on port 0, a clock that a test moves, requesters through boto3 and workers over HTTP."""

import threading

import pytest

from prefjudge.marketplace.people.requesters import LOCAL_KEY
from prefjudge.marketplace.server import Server, start
from tests.marketplace.faults import Faults
from tests.marketplace.people import Admin, Clock, Requester, new_requester
from tests.marketplace.postgres import Cluster, private_cluster


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def stopping():
    """Stop servers beside the next test: a graceful stop mostly waits."""
    threads: list[threading.Thread] = []
    yield threads
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive(), "a server did not stop"


@pytest.fixture
def market(tmp_path, clock, stopping):
    server = start(f"sqlite:///{tmp_path}/market.db", clock=clock)
    yield server
    stopping.append(threading.Thread(target=server.stop))
    stopping[-1].start()


@pytest.fixture
def requester(market: Server) -> Requester:
    return new_requester(market.endpoint, (LOCAL_KEY, market.admin_token))


@pytest.fixture
def admin(market: Server) -> Admin:
    return Admin(market)


@pytest.fixture
def faults(monkeypatch) -> Faults:
    return Faults(monkeypatch)


@pytest.fixture
def worker(admin: Admin):
    return admin.worker()


@pytest.fixture(scope="session")
def cluster():
    with private_cluster() as running:
        yield running


@pytest.fixture
def postgres_url(cluster: Cluster) -> str:
    return cluster.new_database()
