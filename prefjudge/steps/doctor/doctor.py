"""Examines a study or a store: is anything damaged, missing, paid twice or readable by others?"""

from dataclasses import dataclass
from pathlib import Path

from prefjudge.database import redacted
from prefjudge.errors import PrefjudgeError
from prefjudge.gather.stores import Store, need_one, open_own, open_store
from prefjudge.render.shown import Shown
from prefjudge.steps.doctor.checks import Check, State, check_store, check_versions, failed
from prefjudge.steps.doctor.hits import compare_hits
from prefjudge.study.study import MARKETPLACE_FILE, Study, open_study
from prefjudge.study.targets import LIVE, SANDBOX, load_published_targets


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DoctorResult(Shown):
    """What was examined, and whether all of it is ``well``; ``checks`` says what was found, one by one."""

    examined: str
    well: bool
    checks: tuple[Check, ...]


def doctor(study: str | Path | Study | None = None, *, store: str | None = None) -> DoctorResult:
    """Examine a study with its marketplaces, or one store; nothing in them is changed.

    It checks each store's integrity, schema, ledger, file modes, disk space and clock, and the versions of
    the software. A study is compared with each of its marketplaces: are HITs or assignments unknown to
    either, and was any payment made twice?

    Parameters
    ----------
    study : Path, optional
        The study's folder.
    store : str, optional
        The URL of a store to examine instead, of a study or a marketplace.

    Raises
    ------
    InputError
        Not exactly one of the two is given.
    StudyError
        There is no study or store.
    """
    need_one("doctor", study, store)
    opened = open_study(study)
    if opened is None:
        found = open_store(str(store))
        checks = [*check_store(found, ""), check_versions()]
        return _result(redacted(found.database.url), checks)
    checks = [_check_config(opened)]
    try:
        own = open_own(opened)
    except PrefjudgeError as error:
        return _result(str(opened.folder), [*checks, failed("store", error), check_versions()])
    checks += check_store(own, "")
    embedded = opened.folder / MARKETPLACE_FILE
    if embedded.is_file():
        checks += _check_embedded(embedded)
    sound = all(check.state != State.WRONG for check in checks if check.name in ("config", "store"))
    checks += _check_targets(opened, own) if sound else []
    return _result(str(opened.folder), [*checks, check_versions()])


def _result(examined: str, checks: list[Check]) -> DoctorResult:
    well = all(check.state != State.WRONG for check in checks)
    return DoctorResult(examined=examined, well=well, checks=tuple(checks))


def _check_config(study: Study) -> Check:
    try:
        study.config  # noqa: B018 - read once, and checked
    except PrefjudgeError as error:
        return failed("config", error)
    return Check(name="config", state=State.WELL, found="every key is known and in its bounds")


def _check_embedded(path: Path) -> list[Check]:
    try:
        return check_store(open_store(f"sqlite:///{path}"), "marketplace ")
    except PrefjudgeError as error:
        return [failed("marketplace store", error)]


def _check_targets(study: Study, own: Store) -> list[Check]:
    """Compare the study with each marketplace that it published to."""
    with own.database.transaction(write=False) as db:
        published = load_published_targets(db)
    checks = []
    for target in (SANDBOX, LIVE):
        configured = study.config.target(target)
        elsewhere = configured is not None and bool(configured.url)
        if (
            target in published
            or elsewhere
            or (target == SANDBOX and (study.folder / MARKETPLACE_FILE).is_file())
        ):
            checks.append(compare_hits(study, target))
    return checks
