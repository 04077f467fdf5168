"""A marketplace on port 0, a clock that a test moves, requesters through boto3 and workers over HTTP."""

import pytest

from prefjudge.marketplace.server import Server, start
from tests.marketplace.people import Admin, Clock, Requester, new_requester
from tests.marketplace.postgres import Cluster, private_cluster


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def market(tmp_path, clock):
    with start(f"sqlite:///{tmp_path}/market.db", clock=clock) as server:
        yield server


@pytest.fixture
def requester(market: Server) -> Requester:
    return new_requester(market.endpoint)


@pytest.fixture
def admin(market: Server) -> Admin:
    return Admin(market)


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
