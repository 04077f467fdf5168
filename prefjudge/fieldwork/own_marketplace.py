"""A study's own marketplace: found where `serve` runs it, or else started while the verb runs."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prefjudge.errors import StudyError, quoted
from prefjudge.study.settings import BEING_REBUILT, RECOVERING
from prefjudge.study.study import MARKETPLACE_FILE, STORE_FILE, Study
from prefjudge.study.targets import command

_RUNNING_FILE = f"{MARKETPLACE_FILE}.serving"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a marketplace answers; ``local`` is for the study's verbs on the same machine.

    ``public_url`` is where people find it, empty where it is not served for them.
    """

    endpoint: str
    local: str
    worker_site: str
    admin: str
    admin_token: str
    public_url: str = ""
    token_file: str = ""


@contextmanager
def open_own(study: Study, target: str) -> Iterator[Address]:
    """Yield the address of a study's own marketplace, started for the block where nobody serves it.

    Raises
    ------
    StudyError
        The marketplace that the study has published to is lost.
    """
    from prefjudge.marketplace.server import start

    running = find_running(study.folder)
    if running is not None:
        yield running
        return
    _refuse_lost_marketplace(study, target)
    market = start(store_url(study.folder), host="127.0.0.1", port=0)
    try:
        yield address_of(market)
    finally:
        market.stop()


def local_key(address: Address) -> tuple[str, str]:
    """Return the key of the marketplace's local requester, which the study is."""
    from prefjudge.marketplace.operator import LOCAL_KEY

    return LOCAL_KEY, address.admin_token


def _refuse_lost_marketplace(study: Study, target: str) -> None:
    """Refuse to start a new marketplace in place of the lost one that the study has published to."""
    if is_lost(study, target):
        folder = quoted(study.folder)
        raise StudyError(
            f"the study's marketplace {study.folder / MARKETPLACE_FILE} is missing or empty, and it alone "
            "knows the study's HITs and who is owed for them",
            "Restore a backup of it (docs/backup.md). Without one, run: "
            f"{command('store recover', study.folder, target)} --give-up; it keeps what was collected. If "
            f"{folder} was never published, start over: delete {STORE_FILE} and {STORE_FILE}.lock in it.",
        )


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
    return Address(
        endpoint=market.endpoint,
        local=market.local,
        worker_site=market.worker_site,
        admin=market.admin,
        admin_token=market.admin_token,
        token_file=path,
    )


def find_running(folder: Path) -> Address | None:
    """Return the address of the `prefjudge serve STUDY` that is running, if one answers."""
    path = folder / _RUNNING_FILE
    if not path.is_file():
        return None
    try:
        running = json.loads(path.read_text(encoding="utf-8"))
        endpoint, token = str(running["endpoint"]), str(running["admin_token"])
        public_url = str(running.get("public_url", ""))
    except (OSError, ValueError, KeyError):
        return None
    if not _answers(endpoint):
        return None
    return Address(
        endpoint=endpoint,
        local=endpoint,
        worker_site=endpoint,
        admin=f"{endpoint}/admin",
        admin_token=token,
        public_url=public_url,
    )


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
    path = folder / _RUNNING_FILE
    try:
        ours = json.loads(path.read_text(encoding="utf-8"))["endpoint"] == address.local
    except (OSError, ValueError, KeyError):
        return
    if ours:
        path.unlink(missing_ok=True)
