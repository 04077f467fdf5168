"""Opens the crowd of a study's target, and makes sure that it is always the same one."""

from collections.abc import Iterator
from contextlib import contextmanager

from prefjudge.crowd.crowds import MARKETPLACE, connect, prices_of
from prefjudge.crowd.protocol import Crowd, CrowdSettings, Prices
from prefjudge.errors import StudyError
from prefjudge.fieldwork.own_marketplace import Address, announce, find_running, local_key, open_own, retract
from prefjudge.study.config import StudyConfig, TargetConfig
from prefjudge.study.settings import keep_setting
from prefjudge.study.study import CONFIG_FILE, Study
from prefjudge.study.targets import LIVE, SANDBOX


@contextmanager
def open_crowd(study: Study, target: str = SANDBOX) -> Iterator[Crowd]:
    """Yield the crowd of a study's target; the study's own marketplace is started where nobody serves it.

    The crowd is pinned by its identity: a study that has published to one does not talk to another.

    Raises
    ------
    StudyError
        The config has no such target, or it is switched off; the crowd is not the one that the study has
        published to; or it pays real money in a sandbox.
    CrowdError
        Nothing answers there.
    """
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
    """Yield the address of the marketplace of a study's target, for callers that use HTTP.

    Raises
    ------
    StudyError
        The target is not a marketplace; or as :func:`open_crowd`.
    CrowdError
        Nothing answers there.
    """
    configured = _find_target(study, target)
    if configured.crowd != MARKETPLACE:
        raise StudyError(
            f"the target {target} is the crowd {configured.crowd!r}, which is not a marketplace of prefjudge",
            f"Delete `crowd` of [targets.{target}] in study.toml to use the study's own marketplace.",
        )
    if configured.url:
        _pinned(study, target, configured)
        url = configured.url
        yield Address(endpoint=url, local=url, worker_site=url, admin=f"{url}/admin", admin_token="")
        return
    with open_own(study, target) as address:
        _pinned(study, target, configured, address)
        yield address


@contextmanager
def keep_marketplace_open(study: Study, target: str = SANDBOX) -> Iterator[bool]:
    """Keep a study's own marketplace running, so that the verbs in the block share it.

    Nothing is started where it runs already, or the target is elsewhere; yields whether it was started.
    """
    configured = _find_target(study, target)
    if not configured.is_own_marketplace or find_running(study.folder) is not None:
        with open_crowd(study, target):
            yield False
        return
    with open_own(study, target) as address:
        _pinned(study, target, configured, address)
        announce(study.folder, address)
        try:
            yield True
        finally:
            retract(study.folder, address)


def read_prices(config: StudyConfig) -> Prices:
    """Return the prices of a study's live crowd, or of its sandbox where there is none."""
    target = config.targets.get("live") or config.targets.get("sandbox") or TargetConfig()
    return prices_of(target.crowd, _settings(config, target))


def _find_target(study: Study, target: str) -> TargetConfig:
    configured = study.config.target(target)
    if configured is None:
        raise StudyError(
            f"the study's config has no target {target!r}",
            f"Add [targets.{target}] with its url to study.toml.",
        )
    if target == LIVE and not configured.live:
        raise StudyError(
            "the live target is switched off: [targets.live] lacks live = true",
            f"Set live = true in {study.folder / CONFIG_FILE} to spend real money, or work in the sandbox.",
        )
    return configured


def _pinned(study: Study, target: str, configured: TargetConfig, address: Address | None = None) -> Crowd:
    """Open a crowd; refuse real money in a sandbox, and any other crowd than the study has published to."""
    crowd = connect(configured.crowd, _settings(study.config, configured, address))
    who = crowd.identity()
    if target == SANDBOX and who.play_money is False:
        raise StudyError(
            f"{crowd.endpoint} is a live marketplace: it spends real money",
            "Put its url into [targets.live] of study.toml, or point [targets.sandbox] at a sandbox.",
        )
    with study.transaction() as db:
        pinned = keep_setting(db, f"marketplace:{target}", who.name)
    if pinned != who.name:
        raise StudyError(
            f"the study has published to the marketplace {pinned}, but {who.name} answers now",
            "Set the target's url in study.toml to the marketplace that has the study's HITs.",
        )
    return crowd


def _settings(config: StudyConfig, target: TargetConfig, address: Address | None = None) -> CrowdSettings:
    return CrowdSettings(
        url=address.local if address else target.url,
        live=target.live,
        rate=config.fees.rate,
        options=target.options,
        key=local_key(address) if address else None,
        public_url=address.public_url if address else "",
    )
