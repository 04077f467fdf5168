"""Runs a marketplace until it is interrupted, or issues and revokes a requester's key."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Interval

from prefjudge.errors import InputError, PrefjudgeError
from prefjudge.field.crowd import Address, Watch, address_of, announce, retract, store_url
from prefjudge.study.store import LIVE, Study, find_target, open_study

_LOG = logging.getLogger("prefjudge.marketplace.study")


class Screener(threading.Thread):
    """Collects a study's work as it is submitted, for as long as its marketplace is served.

    It is killed with the process: `collect` may be killed at any time, and continues where it stopped.
    """

    _LONGEST, _PAUSE = 60.0, 5.0

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self._folder = folder
        self._over = threading.Event()
        self._said = ""

    def run(self) -> None:
        """Collect at once, then whenever something was submitted, and once a minute for what was not told."""
        looked, target, watch = float("-inf"), "", None
        study = Study(self._folder)
        while not self._over.is_set():
            try:
                if target != (now := find_target(study)):  # at first, and where it went live meanwhile
                    study = Study(self._folder)  # whose config may be another one now
                    watch = Watch(study, now) if _is_here(study, now) else None
                    target = now
                if watch is None:
                    self._over.wait(1.0)
                elif watch.wait(1.0) or time.monotonic() - looked >= self._LONGEST:
                    looked = time.monotonic()
                    self._look(study, target)
            except PrefjudgeError as error:  # such as a budget that is used up, or a token that is not set
                self._tell(error)

    def _look(self, study: Study, target: str) -> None:
        from prefjudge.steps.collect import (
            collect,
        )  # with numpy and more, which a marketplace alone needs not
        from prefjudge.study.progress import count_hits

        with study.transaction(write=False) as db:
            published = count_hits(db, target)
        if published:
            collect(study, live=target == LIVE)
        self._said = ""

    def _tell(self, error: PrefjudgeError) -> None:
        """Say once what is wrong; it is tried again."""
        if error.message != self._said:
            _LOG.warning("collecting: %s", error.message)
        self._said = error.message
        self._over.wait(self._PAUSE)

    def stop(self) -> None:
        """End after the look under way."""
        self._over.set()
        if self.is_alive():
            self.join(timeout=10)


def _is_here(study: Study, target: str) -> bool:
    """Return whether the people of a target work at the marketplace that is served."""
    configured = study.config.target(target)
    return configured is not None and configured.is_own_marketplace and (target != LIVE or configured.live)


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedKey:
    """A requester's key pair, as AWS clients take it; the secret is not shown again."""

    requester: str
    access_key: str
    secret_key: str

    @property
    def text(self) -> str:
        """The pair as a shell or a file of settings takes it."""
        return f"AWS_ACCESS_KEY_ID={self.access_key}\nAWS_SECRET_ACCESS_KEY={self.secret_key}"

    @property
    def note(self) -> str:
        """What to say beside it."""
        return f"{self.requester}: keep these; the secret is not shown again"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminToken:
    """What the admin of a marketplace signs in with."""

    admin_token: str
    note = ""

    @property
    def text(self) -> str:
        """The token alone."""
        return self.admin_token


def serve(
    study: str | Path | Study | None = None,
    *,
    host: str = "127.0.0.1",
    port: Annotated[int, Interval(ge=0, le=65535)] = 7266,
    store: str | None = None,
    live: bool = False,
    public_url: str | None = None,
    plain_http: bool = False,
    proxy: str = "127.0.0.1",
    new_key: str | None = None,
    revoke_key: str | None = None,
    admin_token_file: str | Path | None = None,
    print_admin_token: bool = False,
    admin_header: str = "",
    ready: Callable[[Address], None] | None = None,
) -> IssuedKey | AdminToken | None:
    """Run a marketplace until it is interrupted, or issue or revoke a requester's key.

    A study's work is collected as it is submitted, as ``collect`` does: screened, paid and re-issued.

    Options that are not typed are read from the environment: ``--store`` from
    ``PREFJUDGE_STORE``, ``--public-url`` from ``PREFJUDGE_PUBLIC_URL``, and so on.

    Parameters
    ----------
    study : Path, optional
        Serve the study's own marketplace; its other verbs then use it.
    host : str
        The address to listen at.
    port : int
        The port to listen at; 0 takes a free one.
    store : str, optional
        The marketplace's store by URL, ``sqlite:///PATH`` or ``postgresql://HOST/NAME``; ``marketplace.db``
        in the study or the current folder by default.
    live : bool
        Rewards are real: requesters spend what the admin has credited to them, not play money.
    public_url : str, optional
        The address of the web server in front that adds TLS.
    plain_http : bool
        Allow an address that other machines reach without TLS in front.
    proxy : str
        The addresses or networks of the web server in front: what it says about the caller is
        believed.
    new_key : str, optional
        Issue a key to the requester of this name, and return it instead of serving.
    revoke_key : str, optional
        Take the access key back instead of serving; a marketplace that is running knows at once.
    admin_token_file : Path, optional
        A file with a token of your own for the admin, 32 characters or more; by default one is made from the
        store's secret.
    print_admin_token : bool
        Return the admin's token instead of serving; the marketplace may be running.
    admin_header : str
        The header in which a sign-in proxy in front of ``/admin`` says who administers: the name in the log.
        Believed only where it is named here.
    ready : callable, optional
        Called once it answers.
    """
    from prefjudge.marketplace import operator
    from prefjudge.marketplace.server import Settings, Wording
    from prefjudge.marketplace.server import serve as run

    opened = open_study(study or None)
    folder = opened.folder if opened else Path()
    url = store or store_url(folder)
    if opened and live:
        _refuse_real_money(opened)
    token = None if admin_token_file is None else operator.read_token(Path(admin_token_file))
    if print_admin_token:
        return AdminToken(admin_token=token or operator.admin_token(url))
    if new_key is not None:
        key = operator.issue_key(url, new_key, sandbox=False if live else None)
        return IssuedKey(requester=new_key, access_key=key.access_key, secret_key=key.secret_key)

    if revoke_key is not None:
        operator.revoke_key(url, revoke_key)
        return None

    announced: list[Address] = []
    screener = Screener(folder) if opened and not live else None

    def told(market: Any) -> None:
        address = address_of(market, url)
        address = replace(address, public_url=address.worker_site, sign_in=market.sign_in_link())
        if opened:
            announce(folder, address)
            announced.append(address)
        if ready:
            ready(address)
        if screener:
            screener.start()

    try:
        settings = Settings(
            host=host,
            port=port,
            public_url=public_url,
            plain_http=plain_http,
            proxy=proxy,
            admin_token=token,
            admin_header=admin_header,
            wording=Wording(task=opened.config.words.task if opened else ""),
            language=opened.config.design.language if opened else "",
            pairs=partial(_judged, opened) if opened else None,
        )
        run(
            url,
            settings,
            sandbox=not live,
            keep_days=opened.config.workers.keep_days if opened else None,
            ready=told,
        )
    finally:
        if screener:
            screener.stop()
        for address in announced:
            retract(folder, address)
    return None


def _judged(study: Study) -> tuple[int, int]:
    """Return how many of the study's pairs have a vote that counts, and how many there are."""
    from prefjudge.study.progress import count_judged_pairs, count_rows

    with study.transaction(write=False) as db:
        return count_judged_pairs(db), count_rows(db, "pairs")


def _refuse_real_money(study: Study) -> None:
    target = study.config.target(LIVE)
    if target is not None and target.is_own_marketplace:
        raise InputError(
            f"{target.crowd} pays the study's workers; the study's own marketplace only lets them work",
            "Serve it without --live: what the marketplace itself counts is play money.",
        )
