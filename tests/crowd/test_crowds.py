"""Another package's crowd that fails is named, before anything is published where that can be told."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from inspect import getattr_static

import pytest

from prefjudge.crowd.crowds import CROWDS, connect, prices_of
from prefjudge.crowd.protocol import CrowdSettings, Disputing, Recruiting, RefusedError
from prefjudge.crowd.tasks import Dispute
from prefjudge.errors import PluginError
from prefjudge.testing import task
from tests.crowd import memory

HERE = CrowdSettings(url="memory:crowds")


class Odd(memory.MemoryCrowd):
    """Fails in each way that code can."""

    def balance(self) -> None:  # type: ignore[override]
        raise KeyError("balance")

    def tasks(self) -> Iterator[None]:  # type: ignore[override]
        yield None
        raise ValueError("cut off")


class Disputed(memory.MemoryCrowd):
    """Has more than every crowd has."""

    def disputes(self) -> tuple[Dispute, ...]:
        raise KeyError("dispute")

    def uphold(self, submission_id: str, answer: str) -> None: ...

    def overturn(self, submission_id: str, answer: str) -> None: ...


class Old:
    """Was written before the protocol had all its methods."""

    endpoint, prices = "memory:old", None


def odd(settings: CrowdSettings) -> Odd:
    return Odd(memory.PLATFORMS[settings.url])


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    theirs = EntryPoint(name="odd", value="tests.crowd.memory", group=CROWDS.group)
    monkeypatch.setattr(CROWDS, "theirs", {"odd": (theirs,)})
    monkeypatch.setitem(memory.PLATFORMS, HERE.url, memory.Platform(HERE.url))
    yield monkeypatch
    CROWDS._loaded.pop("odd", None)


def test_another_packages_crowd_works_as_ours_do(module: pytest.MonkeyPatch) -> None:
    crowd = connect("odd", HERE)
    assert (crowd.endpoint, crowd.prices) == (HERE.url, prices_of("odd", HERE))
    task_id = crowd.publish(task())
    assert [found.task_id for found in crowd.tasks()] == [task_id]
    with pytest.raises(RefusedError):
        crowd.fetch("3NOSUCHTHING")


def test_what_it_has_besides_is_found(module: pytest.MonkeyPatch) -> None:
    module.setattr(memory, "open_crowd", lambda settings: Disputed(memory.PLATFORMS[settings.url]))
    crowd = connect("odd", HERE)
    assert isinstance(crowd, Disputing)
    assert getattr_static(crowd, "disputes"), "all that Python 3.12 and later look at"
    with pytest.raises(PluginError, match="KeyError: 'dispute'"):
        crowd.disputes()
    assert not isinstance(crowd, Recruiting)


def test_its_failures_are_said_to_be_its_own(module: pytest.MonkeyPatch) -> None:
    module.setattr(memory, "open_crowd", odd)
    crowd = connect("odd", HERE)
    listed = crowd.tasks()
    next(listed)
    for call, what in ((crowd.balance, "KeyError: 'balance'"), (lambda: next(listed), "ValueError: cut off")):
        with pytest.raises(PluginError, match=rf"the crowd odd of .*memory\) failed: {what}") as failed:
            call()
        assert failed.value.hint.startswith("Tell the author of")


def test_what_it_lacks_is_said_when_it_is_opened(module: pytest.MonkeyPatch) -> None:
    module.setattr(memory, "open_crowd", lambda settings: Old())
    with pytest.raises(PluginError, match=r"failed: TypeError: it has no identity, balance, .*fetch_each, "):
        connect("odd", HERE)
    module.delattr(memory, "open_crowd")
    with pytest.raises(PluginError, match=r"failed: AttributeError: .* no attribute 'open_crowd'"):
        connect("odd", HERE)
