"""Crowds: the marketplace of a study found, or started for the while, and the crowd behind it."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.crowd.protocol import Crowd
from prefjudge.errors import CrowdError, StudyError, quoted
from prefjudge.study.settings import BEING_REBUILT, RECOVERING, keep_setting
from prefjudge.study.study import CONFIG_FILE, MARKETPLACE_FILE, STORE_FILE, Study
from prefjudge.study.targets import LIVE, SANDBOX

_RUNNING_FILE = f"{MARKETPLACE_FILE}.serving"


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Where a marketplace answers; ``local`` is for the study's verbs on the same machine."""

    endpoint: str
    local: str
    worker_site: str
    admin: str
    admin_token: str
    token_file: str = ""


@contextmanager
def open_door(study: Study, target: str = SANDBOX) -> Iterator[Door]:
    """Give the address of a study's marketplace, started for the while where nobody serves it.

    The marketplace is pinned by its id: a study that has published to one does not talk to another.

    Raises
    ------
    StudyError
        The config has no such target, or it is switched off; or the marketplace is not the one that the study
        has published to.
    CrowdError
        Nothing answers there.
    """
    configured = study.config.targets.get(target)  # type: ignore[call-overload]
    if configured is None:
        raise StudyError(
            f"the study's config has no target {target!r}",
            f"Add [targets.{target}] with its url to study.toml.",
        )
    if target == LIVE and not configured.live:
        raise StudyError(
            "the live target is switched off: [targets.live] does not say live = true",
            f"Set live = true in {study.folder / CONFIG_FILE} to spend real money, or work in the sandbox.",
        )
    if configured.url:
        _refuse_closed(configured.url)
        _pin(study, target, configured.url)
        yield Door(
            endpoint=configured.url,
            local=configured.url,
            worker_site=configured.url,
            admin=f"{configured.url}/admin",
            admin_token="",
        )
        return
    running = _running(study.folder)
    if running is not None:
        _pin(study, target, running.endpoint)
        yield running
        return
    from prefjudge.marketplace.server import start

    _refuse_lost_marketplace(study, target)
    market = start(store_url(study.folder), host="127.0.0.1", port=0)
    try:
        _pin(study, target, market.endpoint)
        yield door_of(market)
    finally:
        market.stop()


@contextmanager
def keep_open(study: Path, target: str = SANDBOX) -> Iterator[bool]:
    """Keep a study's embedded marketplace answering, so that the verbs in the block share it.

    Where somebody serves it already, or the target is elsewhere, there is nothing to keep; says whether there
    was anything.
    """
    opened = Study(study)
    served = _running(opened.folder) is not None
    with open_door(opened, target) as door:
        if served or not door.admin_token:
            yield False
            return
        announce(opened.folder, door)
        try:
            yield True
        finally:
            retract(opened.folder, door)


@contextmanager
def open_crowd(study: Study, target: str = SANDBOX) -> Iterator["Crowd"]:
    """Give the crowd behind a study's marketplace."""
    from prefjudge.marketplace.keys import LOCAL_KEY

    with open_door(study, target) as door:
        if door.admin_token:  # the study's own marketplace, whose local requester the study is
            yield MTurkCrowd(door.local, key=(LOCAL_KEY, door.admin_token))
        else:
            yield MTurkCrowd(door.endpoint, signed=True if target == LIVE else None)


def _refuse_lost_marketplace(study: Study, target: str) -> None:
    """Refuse to begin a new marketplace where the one that the study has published to is to be asked."""
    path = study.folder / MARKETPLACE_FILE
    published = study.setting(f"marketplace:{target}") or study.setting(RECOVERING) == BEING_REBUILT
    if published and not (path.is_file() and path.stat().st_size):
        raise StudyError(
            f"the study's marketplace {path} is missing or empty, and it alone knows the study's HITs and "
            "who is owed for them",
            f"Restore a backup of it (docs/backup.md). Where {quoted(study.folder)} was never published, "
            f"begin anew: delete {STORE_FILE} and {STORE_FILE}.lock in it.",
        )


def store_url(folder: Path) -> str:
    """Return where a study keeps a marketplace of its own."""
    return f"sqlite:///{folder / MARKETPLACE_FILE}"


def door_of(market: Any, url: str = "") -> Door:
    """Return where a marketplace that was started answers."""
    path = f"{url.removeprefix('sqlite:///')}.admin-token" if url.startswith("sqlite:///") else ""
    return Door(
        endpoint=market.endpoint,
        local=market.local,
        worker_site=market.worker_site,
        admin=market.admin,
        admin_token=market.admin_token,
        token_file=path,
    )


def _running(folder: Path) -> Door | None:
    """Return the door of the `prefjudge serve STUDY` that is running, if one answers."""
    path = folder / _RUNNING_FILE
    if not path.is_file():
        return None
    try:
        running = json.loads(path.read_text(encoding="utf-8"))
        endpoint, token = str(running["endpoint"]), str(running["admin_token"])
        _ask_who(endpoint)
    except (OSError, ValueError, KeyError, CrowdError):
        return None
    return Door(
        endpoint=endpoint,
        local=endpoint,
        worker_site=endpoint,
        admin=f"{endpoint}/admin",
        admin_token=token,
    )


def _ask_who(endpoint: str) -> tuple[str, bool]:
    """Ask who answers at an endpoint; return its id, and whether it is a sandbox."""
    import urllib3

    try:
        reply = urllib3.PoolManager(retries=2, timeout=10.0).request("GET", f"{endpoint.rstrip('/')}/healthz")
        said = reply.json()
        return str(said["marketplace"]), bool(said["sandbox"])
    except (urllib3.exceptions.HTTPError, ValueError, KeyError) as error:
        raise CrowdError(
            f"no prefjudge marketplace answers at {endpoint}",
            "Is `prefjudge serve` running there, and is the address in study.toml right?",
        ) from error


def _refuse_closed(url: str) -> None:
    """Say plainly that Amazon Mechanical Turk is no more."""
    if (urlsplit(url).hostname or "").endswith(".amazonaws.com"):
        raise CrowdError(
            f"{url} is Amazon Mechanical Turk, which AWS announced to close for good on 30 September 2026",
            "Run a marketplace of your own (prefjudge serve), and point the target at it: same API.",
        )


def _pin(study: Study, target: str, endpoint: str) -> None:
    """Hold a study to the marketplace that it has published to, and play money to sandboxes."""
    identity, sandbox = _ask_who(endpoint)
    if target == SANDBOX and not sandbox:
        raise StudyError(
            f"{endpoint} is a live marketplace: what it holds is real money",
            "Put its url into [targets.live] of study.toml, or point [targets.sandbox] at a sandbox.",
        )
    with study.transaction() as db:
        pinned = keep_setting(db, f"marketplace:{target}", identity)
    if pinned != identity:
        raise StudyError(
            f"the study has published to the marketplace {pinned}, and {identity} answers now",
            "Point the target in study.toml at the marketplace that holds the study's HITs.",
        )


def announce(folder: Path, door: Door) -> None:
    """Leave the address and the admin's token where the study's other verbs find them, and nobody else."""
    path = folder / _RUNNING_FILE
    temporary = path.with_name(f".{path.name}.{os.urandom(6).hex()}.part")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(json.dumps({"endpoint": door.local, "admin_token": door.admin_token}))
    temporary.replace(path)


def retract(folder: Path, door: Door) -> None:
    """Take the address back, unless another server has left its own since."""
    path = folder / _RUNNING_FILE
    try:
        ours = json.loads(path.read_text(encoding="utf-8"))["endpoint"] == door.local
    except (OSError, ValueError, KeyError):
        return
    if ours:
        path.unlink(missing_ok=True)
