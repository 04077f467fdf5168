"""The crowd in memory keeps to the contract, so that a study which goes through it proves something."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from prefjudge.testing import CrowdContract
from tests.crowd.memory import MemoryCrowd, Person, Platform


class MemoryStage:
    """A platform of a test's own."""

    def __init__(self) -> None:
        self.platform = Platform("memory:contract")
        self.crowd = MemoryCrowd(self.platform)

    def open_again(self) -> MemoryCrowd:
        return MemoryCrowd(self.platform)

    def join(self, *, locale: str = "US", approved: int = 1000, simulated: bool = False) -> str:
        return self.platform.join(Person(locale=locale, approved=approved, simulated=simulated))

    def offers(self, worker_id: str, task_id: str) -> bool:
        return self.platform.offers(worker_id, task_id)

    def take(self, worker_id: str, task_id: str) -> str:
        return self.platform.take(worker_id, task_id)

    def submit(self, worker_id: str, submission_id: str, fields: Mapping[str, str]) -> None:
        self.platform.submit(submission_id, fields)

    def pass_time(self, seconds: float) -> None:
        self.platform.ahead += seconds

    @contextmanager
    def lose_replies(self) -> Iterator[None]:
        self.platform.lose_replies = True
        try:
            yield
        finally:
            self.platform.lose_replies = False


class TestMemoryCrowd(CrowdContract):
    @pytest.fixture
    def stage(self) -> MemoryStage:
        return MemoryStage()
