"""The crowds, by the names that a target's ``crowd`` in study.toml may have."""

from types import ModuleType
from typing import Protocol, cast

from prefjudge.crowd.protocol import Crowd, CrowdSettings, Prices
from prefjudge.errors import ConfigError
from prefjudge.registers import Register

MARKETPLACE = "mturk"
"""The default crowd of a target: a marketplace, in every study one of its own."""

CROWDS: Register[ModuleType] = Register(
    "crowd",
    ModuleType,
    {
        MARKETPLACE: "prefjudge.crowd.mturk",
    },
)
"""The module of each crowd: a new one is a file and a row."""


class CrowdModule(Protocol):
    """What a crowd's module has."""

    def open_crowd(self, settings: CrowdSettings) -> Crowd:
        """Return the crowd of a target's settings; nothing is sent yet."""
        ...

    def read_prices(self, settings: CrowdSettings) -> Prices:
        """Return what it charges, by the config only, for a plan."""
        ...


def find_crowd(name: str) -> CrowdModule:
    """Return the module of a crowd.

    Raises
    ------
    ConfigError
        There is no such crowd.
    PluginError
        The package that it comes from cannot be used.
    """
    if name not in CROWDS:
        raise ConfigError(f"there is no crowd {name!r}", f"Choose one of: {', '.join(CROWDS)}.")
    with CROWDS.using(name):
        found: CrowdModule = cast("CrowdModule", CROWDS[name])
        _ = found.open_crowd, found.read_prices
    return found
