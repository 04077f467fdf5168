"""The crowd of a study: opened, always the same one, and watched for work."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prefjudge.crowd.crowds import MARKETPLACE, connect, prices_of
from prefjudge.crowd.protocol import Crowd, CrowdSettings, Prices, RefusedError
from prefjudge.errors import CrowdError, StudyError, quoted
from prefjudge.study.store import (
    BEING_REBUILT,
    CONFIG_FILE,
    LIVE,
    MARKETPLACE_FILE,
    RECOVERING,
    SANDBOX,
    STORE_FILE,
    Study,
    command,
    keep_setting,
    save_setting,
)

if TYPE_CHECKING:
    from prefjudge.study.config import StudyConfig, TargetConfig

_RUNNING_FILE = f"{MARKETPLACE_FILE}.serving"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a marketplace answers; ``local`` is for the study's verbs on the same machine.

    ``public_url`` is where people find it, empty where it is not served for them; ``sign_in`` a link that
    signs the admin in, once.
    """

    endpoint: str
    local: str
    admin_token: str
    public_url: str = ""
    token_file: str = ""
    sign_in: str = ""

    @property
    def worker_site(self) -> str:
        """Where workers sign in."""
        return self.endpoint

    @property
    def admin(self) -> str:
        """Where the admin does."""
        return f"{self.endpoint}/admin"


@contextmanager
def open_own(study: Study, target: str, clock: Callable[[], float] = time.time) -> Iterator[Address]:
    """Yield the address of a study's own marketplace, started for the block where nobody serves it."""
    from prefjudge.marketplace.server import start

    running = find_running(study.folder)
    if running is not None:
        yield running
        return
    if is_lost(study, target):
        folder = quoted(study.folder)
        raise StudyError(
            f"the study's marketplace {study.folder / MARKETPLACE_FILE} is missing or empty, and it alone "
            "knows the study's HITs and who is owed for them",
            "Restore a backup of it (docs/backup.md). Without one, run: "
            f"{command('store recover', study.folder, target)} --give-up; it keeps what was collected. If "
            f"{folder} was never published, start over: delete {STORE_FILE} and {STORE_FILE}.lock in it.",
        )
    market = start(store_url(study.folder), host="127.0.0.1", port=0, clock=clock)
    try:
        yield address_of(market)
    finally:
        market.stop()


def local_key(address: Address) -> tuple[str, str]:
    """Return the key of the marketplace's local requester, which the study is."""
    from prefjudge.marketplace.operator import LOCAL_KEY

    return LOCAL_KEY, address.admin_token


def is_lost(study: Study, target: str) -> bool:
    """Return whether a study has published to a marketplace in its folder that is no longer there."""
    configured = study.config.target(target)
    if configured is None or not configured.is_own_marketplace:
        return False
    if find_running(study.folder) is not None:
        return False
    path = study.folder / MARKETPLACE_FILE
    published = study.setting(f"marketplace:{target}") or study.setting(RECOVERING) == BEING_REBUILT
    return bool(published) and not (path.is_file() and path.stat().st_size)


def store_url(folder: Path) -> str:
    """Return the URL of the store of a folder's marketplace."""
    return f"sqlite:///{folder / MARKETPLACE_FILE}"


def address_of(market: Any, url: str = "") -> Address:
    """Return the addresses of a marketplace that was just started."""
    path = f"{url.removeprefix('sqlite:///')}.admin-token" if url.startswith("sqlite:///") else ""
    token = market.admin_token
    return Address(endpoint=market.endpoint, local=market.local, admin_token=token, token_file=path)


def find_running(folder: Path) -> Address | None:
    """Return the address of the `prefjudge serve STUDY` that is running, if one answers."""
    left = _left_in(folder)
    endpoint, token = left.get("endpoint", ""), left.get("admin_token", "")
    if not (endpoint and token and _answers(endpoint)):
        return None
    return Address(
        endpoint=endpoint, local=endpoint, admin_token=token, public_url=left.get("public_url", "")
    )


def _left_in(folder: Path) -> dict[str, str]:
    """Return what `announce` has left; nothing where that is not whole."""
    try:
        return dict(json.loads((folder / _RUNNING_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def _answers(endpoint: str) -> bool:
    """Return whether a marketplace of prefjudge answers; one that was killed has left its address."""
    import urllib3

    try:
        reply = urllib3.PoolManager(retries=2, timeout=10.0).request("GET", f"{endpoint}/healthz")
        return "marketplace" in reply.json()
    except (urllib3.exceptions.HTTPError, ValueError, TypeError):
        return False


def announce(folder: Path, address: Address) -> None:
    """Leave the address and the admin's token where only the study's other verbs find them."""
    path = folder / _RUNNING_FILE
    temporary = path.with_name(f".{path.name}.{os.urandom(6).hex()}.part")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        said = {"endpoint": address.local, "public_url": address.public_url}
        file.write(json.dumps(said | {"admin_token": address.admin_token}))
    temporary.replace(path)


def retract(folder: Path, address: Address) -> None:
    """Remove the address, unless another server has left its own since."""
    if _left_in(folder).get("endpoint") == address.local:
        (folder / _RUNNING_FILE).unlink(missing_ok=True)


# Opens the crowd of a study's target, and makes sure that it is always the same one.


@contextmanager
def open_crowd(study: Study, target: str = SANDBOX) -> Iterator[Crowd]:
    """Yield the crowd of a study's target; the study's own marketplace is started where nobody serves it."""
    # The crowd is pinned by its identity: a study that has published to one does not talk to another.
    configured = _find_target(study, target)
    if configured.is_own_marketplace:
        with open_own(study, target) as address:
            yield _pinned(study, target, configured, address)
    else:
        yield _pinned(study, target, configured)


def reach_crowd(study: Study, target: str) -> Crowd | None:
    """Return the crowd of a study's target; None for the study's own marketplace where nobody serves it."""
    configured = _find_target(study, target)
    if not configured.is_own_marketplace:
        return _pinned(study, target, configured)
    running = find_running(study.folder)
    return _pinned(study, target, configured, running) if running else None


@contextmanager
def open_marketplace(study: Study, target: str = SANDBOX) -> Iterator[Address]:
    """Yield the address of the marketplace of a study's target, for callers that use HTTP."""
    configured = _find_target(study, target)
    if configured.crowd != MARKETPLACE:
        raise StudyError(
            f"the target {target} is the crowd {configured.crowd!r}, which is not a marketplace of prefjudge",
            f"Delete `crowd` of [targets.{target}] in study.toml to use the study's own marketplace.",
        )
    if configured.url:
        _pinned(study, target, configured)
        url = configured.url
        yield Address(endpoint=url, local=url, admin_token="")
        return
    with open_own(study, target) as address:
        _pinned(study, target, configured, address)
        yield address


@contextmanager
def keep_marketplace_open(
    study: Study, target: str = SANDBOX, *, clock: Callable[[], float] = time.time
) -> Iterator[bool]:
    """Keep a study's own marketplace running, so that the verbs in the block share it."""
    # Nothing is started where it runs already, or the target is elsewhere; yields whether it was started.
    configured = _find_target(study, target)
    if not configured.is_own_marketplace or find_running(study.folder) is not None:
        with open_crowd(study, target):
            yield False
        return
    with open_own(study, target, clock) as address:
        _pinned(study, target, configured, address)
        announce(study.folder, address)
        try:
            yield True
        finally:
            retract(study.folder, address)


def read_prices(config: StudyConfig) -> Prices:
    """Return the prices of a study's live crowd, or of its sandbox where there is none."""
    from prefjudge.study.config import TargetConfig

    target = config.targets.get("live") or config.targets.get("sandbox") or TargetConfig()
    return prices_of(target.crowd, _settings(config, target))


def _find_target(study: Study, target: str) -> TargetConfig:
    configured = study.config.target(target)
    if configured is None:
        raise StudyError(
            f"the study's config has no target {target!r}",
            f"{'Add --live (real money), or ' if study.config.target(LIVE) else 'Add '}"
            f"[targets.{target}] with its url to study.toml.",
        )
    if target == LIVE and not configured.live:
        raise StudyError(
            "the live target is switched off: [targets.live] lacks live = true",
            f"Set live = true in {study.folder / CONFIG_FILE} to spend real money, or work in the sandbox.",
        )
    return configured


def _pinned(study: Study, target: str, configured: TargetConfig, address: Address | None = None) -> Crowd:
    """Open a crowd; refuse real money in a sandbox, and any other crowd than the study has published to."""
    settings = _settings(study.config, configured, address)
    told = replace(
        settings,
        study=quoted(study.folder),
        pseudonym=partial(study.opaque, "worker"),
        remember=partial(_remember, study, f"crowd:{target}"),
    )
    crowd = connect(configured.crowd, told)
    who = crowd.identity()
    if target == SANDBOX and who.play_money is False:
        raise StudyError(
            f"{crowd.endpoint} is a live marketplace: it spends real money",
            "Put its url into [targets.live] of study.toml, or point [targets.sandbox] at a sandbox.",
        )
    pinned = study.setting(f"marketplace:{target}")
    if pinned is None:  # a study that may only be read can be compared with its marketplace, too
        with study.transaction() as db:
            pinned = keep_setting(db, f"marketplace:{target}", who.name)
    if pinned != who.name:
        raise StudyError(
            f"the study has published to the marketplace {pinned}, but {who.name} answers now",
            f"Set url, or workspace, of [targets.{target}] in study.toml back to where the study's HITs are.",
        )
    return crowd


def _remember(study: Study, key: str, text: str) -> str:
    known = study.setting(key) or ""
    if text in ("", known):
        return known
    with study.transaction() as db:
        save_setting(db, key, text)
    return text


def _settings(config: StudyConfig, target: TargetConfig, address: Address | None = None) -> CrowdSettings:
    return CrowdSettings(
        url=address.local if address else target.url,
        live=target.live,
        rate=config.fees.rate,
        options=target.options,
        key=local_key(address) if address else None,
        public_url=address.public_url if address else "",
    )


# Watches a crowd: waits until something was submitted, and asks often, because asking is cheap.

EVERY = 60.0
"""Seconds between two looks at most, while nothing is submitted."""
_OFTEN = 0.5
"""Seconds between two questions; more where the answer takes long."""
_LONGEST = 60.0
"""The most seconds between two attempts to reach a crowd that is away; the first is after one second."""
_PATIENCE = 3600.0
"""Seconds for which a crowd may be away: longer than a server takes to be repaired or moved."""


class Watch:
    """Tells when something was submitted since the watch began, or since it last told so.

    Begin it before the first look: what is submitted during a look is told after it. A mark that comes late
    or twice costs a look that finds nothing, and one that is lost is made up for by the longest wait.
    """

    def __init__(self, study: Study, target: str) -> None:
        self._study = study
        self._target = target
        self._crowd: Crowd | None = None
        self._seen = self._pulse()
        self._away: float | None = None
        self._next = 1.0

    def found(self) -> None:
        """Note that the crowd has answered."""
        self._away, self._next = None, 1.0

    def bear(self, error: CrowdError) -> float:
        """Return how many seconds to wait for a crowd that is away."""
        now = time.monotonic()
        if self._away is None:
            self._away = now
        if isinstance(error, RefusedError) or now - self._away > _PATIENCE:
            raise error
        seconds, self._next = self._next, min(2 * self._next, _LONGEST)
        return seconds

    def wait(self, most: float | None = None) -> bool:
        """Wait until something new was submitted, ``most`` seconds at most; return whether it was."""
        until = time.monotonic() + (EVERY if most is None else most)
        while (left := until - time.monotonic()) > 0:
            began = time.monotonic()
            pulse = self._pulse()
            if pulse is not None and pulse != self._seen:
                self._seen = pulse
                return True
            time.sleep(min(left, max(_OFTEN, time.monotonic() - began)))
        return False

    def _pulse(self) -> str | None:
        """Return the crowd's mark; None where it does not answer, or is a marketplace that nobody serves."""
        try:
            if self._crowd is None:
                self._crowd = reach_crowd(self._study, self._target)
            return self._crowd.pulse() if self._crowd else None
        except CrowdError:
            self._crowd = None  # it may come back elsewhere
            return None
