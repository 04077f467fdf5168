"""Prolific: people are recruited there, and work at the study's own marketplace."""

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from prefjudge.crowd.mturk.crowd import Fees
from prefjudge.crowd.prolific.client import ADDRESS, Account, Client, read_filters
from prefjudge.crowd.prolific.crowd import ProlificCrowd as ProlificCrowd
from prefjudge.crowd.prolific.money import fees_of
from prefjudge.crowd.protocol import CrowdSettings
from prefjudge.errors import ConfigError

if TYPE_CHECKING:
    from prefjudge.crowd.protocol import Crowd

    _HAS_ALL: type[Crowd] = ProlificCrowd  # the type checker says what it lacks

_OPTIONS = ("workspace", "project", "hits", "secure", "filters")
_MOST_HITS = 25
"""As many HITs as a worker may hold at the marketplace."""


def open_crowd(settings: CrowdSettings) -> ProlificCrowd:
    """Return the crowd of a study's marketplace and a Prolific account.

    The token is read from ``PROLIFIC_TOKEN``, and the address from ``PROLIFIC_URL``.
    """
    account = _account(settings)
    client = Client(os.environ.get("PROLIFIC_TOKEN", ""), os.environ.get("PROLIFIC_URL") or ADDRESS)
    if settings.key is None:
        raise ConfigError(
            "Prolific's participants work at the study's own marketplace, and the target names another",
            "Delete url of the Prolific target from study.toml.",
        )
    public_url = settings.public_url or os.environ.get("PREFJUDGE_PUBLIC_URL", "")
    return ProlificCrowd(replace(settings, public_url=public_url), settings.key, client, account)


def read_prices(settings: CrowdSettings) -> Fees:
    """Return what Prolific would charge by ``rate`` of ``[fees]``: for plans, which ask nobody."""
    return fees_of(settings.rate)


def _account(settings: CrowdSettings) -> Account:
    options = settings.options
    if unknown := sorted(set(options) - set(_OPTIONS)):
        raise ConfigError(
            f"the Prolific target has no key {unknown[0]!r}", f"It may have {', '.join(_OPTIONS)}."
        )
    for name in ("workspace", "project"):
        if not options.get(name, "").isalnum():
            raise ConfigError(
                f"the Prolific target needs a {name}",
                f'Copy its id from the address of the {name} on Prolific into study.toml: {name} = "…".',
            )
    hits, secure = options.get("hits", "1"), options.get("secure", "false")
    if not (hits.isdecimal() and 1 <= int(hits) <= _MOST_HITS):
        raise ConfigError(
            f"hits of the Prolific target is {hits!r}", f"Write a whole number from 1 to {_MOST_HITS}."
        )
    if secure not in ("true", "false"):
        raise ConfigError(f"secure of the Prolific target is {secure!r}", "Write true or false.")
    return Account(
        workspace=options["workspace"],
        project=options["project"],
        hits=int(hits),
        secure=secure == "true",
        filters=read_filters(options.get("filters", "")),
    )
