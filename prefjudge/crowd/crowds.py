"""The crowds, by the names that a target's ``crowd`` in study.toml may have."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol, cast

from prefjudge.crowd.protocol import Crowd, CrowdSettings, Disputing, Prices, Recruiting, Testing
from prefjudge.errors import ConfigError
from prefjudge.registers import Register

MARKETPLACE = "mturk"
"""The default crowd of a target: a marketplace, in every study one of its own."""

CROWDS: Register[ModuleType] = Register(
    "crowd",
    ModuleType,
    {
        MARKETPLACE: "prefjudge.crowd.mturk",
        "prolific": "prefjudge.crowd.prolific",
    },
)
"""The module of each crowd: a new one is a file and a row."""

AT_THE_MARKETPLACE = (MARKETPLACE, "prolific")
"""The crowds whose people work at the study's own marketplace, where the target names no other address."""


_STAND_INS = {"prolific": "prefjudge.crowd.prolific.standin"}
"""What answers in the place of a platform that sends people, for rehearsals."""


class CrowdModule(Protocol):
    """What a crowd's module has."""

    def open_crowd(self, settings: CrowdSettings) -> Crowd:
        """Return the crowd of a target's settings; nothing is sent yet."""
        ...

    def read_prices(self, settings: CrowdSettings) -> Prices:
        """Return what it charges, by the config only, for a plan."""
        ...


def connect(name: str, settings: CrowdSettings) -> Crowd:
    """Return the crowd of this name; another package's is named in the errors that it fails with."""
    with CROWDS.using(name):
        crowd = _module(name).open_crowd(settings)
    return crowd if name in CROWDS.ours else cast("Crowd", _Theirs(name, crowd))


def prices_of(name: str, settings: CrowdSettings) -> Prices:
    """Return what the crowd of this name charges; raises as `connect`."""
    with CROWDS.using(name):
        return _module(name).read_prices(settings)


def stand_in(name: str) -> Any:
    """Return the module of a stand-in of the platform that a crowd recruits at, for rehearsals."""
    if name not in _STAND_INS:
        raise ConfigError(f"there is no stand-in of {name!r}", f"Choose one of: {', '.join(_STAND_INS)}.")
    return import_module(_STAND_INS[name])


class _Theirs:
    """Another package's crowd: what it raises beside the protocol's errors is said to be its fault."""

    def __init__(self, name: str, crowd: Crowd) -> None:
        self._name, self._crowd = name, crowd
        with CROWDS.using(name):
            missing = [word for word in vars(Crowd) if word[0] != "_" and not hasattr(crowd, word)]
            if missing:
                raise TypeError(f"it has no {', '.join(missing)}")
        for protocol in (Recruiting, Testing, Disputing):
            if isinstance(crowd, protocol):  # as attributes: from Python 3.12 on, protocols see no others
                for word in (word for word in vars(protocol) if word[0] != "_"):
                    setattr(self, word, partial(self._call, getattr(crowd, word)))

    def __getattr__(self, word: str) -> Any:
        if word not in vars(Crowd):
            raise AttributeError(word)
        with CROWDS.using(self._name):
            found = getattr(self._crowd, word)
        return partial(self._call, found) if callable(found) else found

    def _call(self, method: Callable[..., Any], *given: object, **words: object) -> Any:
        with CROWDS.using(self._name):
            found = method(*given, **words)
        return self._each(found) if isinstance(found, Iterator) else found

    def _each(self, found: Iterator[Any]) -> Iterator[Any]:
        with CROWDS.using(self._name):
            yield from found


def _module(name: str) -> CrowdModule:
    if name not in CROWDS:
        raise ConfigError(f"there is no crowd {name!r}", f"Choose one of: {', '.join(CROWDS)}.")
    return cast("CrowdModule", CROWDS[name])
