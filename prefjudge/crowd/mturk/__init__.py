"""The Mechanical Turk API as a crowd: only this room knows its XML, qualifications, fees and errors."""

from prefjudge.crowd.mturk.client import refuse_closed
from prefjudge.crowd.mturk.crowd import Fees
from prefjudge.crowd.mturk.crowd import MTurkCrowd as MTurkCrowd
from prefjudge.crowd.protocol import CrowdSettings
from prefjudge.errors import ConfigError


def open_crowd(settings: CrowdSettings) -> MTurkCrowd:
    """Return the crowd behind a marketplace's address.

    Calls are signed with the key in the settings, else with the one that boto3 finds; real money is never
    spent without a key.
    """
    if settings.options:
        raise ConfigError(
            f"a marketplace has no option {min(settings.options)!r}", "Delete it from study.toml."
        )
    if not settings.url:
        raise ConfigError("a marketplace needs an address", "Give the target its url in study.toml.")
    refuse_closed(settings.url)
    signed = True if settings.live else None
    return MTurkCrowd(settings.url, signed=signed, key=settings.key, fees=read_prices(settings))


def read_prices(settings: CrowdSettings) -> Fees:
    """Return what a marketplace charges, by the config."""
    return Fees(rate=settings.rate)
