"""Keeps stores safe: examines one, copies it while it is used, or rebuilds it from the marketplace."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Literal

from prefjudge.errors import InputError
from prefjudge.steps.store.backup import BackupResult, RecoverResult, backup, recover
from prefjudge.steps.store.check import StoreCheckResult, examine
from prefjudge.study.store import Study


class StoreAction(StrEnum):
    """What is done with a store."""

    CHECK = "check"
    BACKUP = "backup"
    RECOVER = "recover"


_TAKES = {
    StoreAction.CHECK: ("store",),
    StoreAction.BACKUP: ("file", "store"),
    StoreAction.RECOVER: ("live", "strategy", "give_up"),
}
"""What an action takes beside a study."""


def store(
    action: StoreAction | Literal["check", "backup", "recover"],
    study: str | Path | Study | None = None,
    file: str | Path | None = None,
    *,
    store: str | None = None,
    live: bool = False,
    strategy: str | None = None,
    give_up: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> StoreCheckResult | BackupResult | RecoverResult:
    """Keep a store safe: check it, copy it, or rebuild it from the marketplace.

    ``check`` examines a study with its marketplaces, or one store; nothing in them is changed. It looks at
    each store's integrity, schema, ledger, file modes, disk space and clock, and at the versions of the
    software. A study is compared with each of its marketplaces: are HITs or assignments unknown to either,
    and was any payment made twice?

    ``backup`` copies a store into one file, while servers and verbs use it. The copy is the store as it was
    at one moment. It is read back before it gets its name: its integrity, the rows of every table and the sum
    of its ledger are compared with the store's at that moment. Only its owner may read it. A study that is
    restored from it publishes and pays nothing before ``recover`` has asked the marketplace what happened
    since the backup.

    ``recover`` rebuilds a lost, empty or outdated store from the marketplace; nothing is spent. The
    marketplace knows the study's HITs, by the key that each one carries, and their assignments, decisions and
    payments. It does not know document ids or gold pairs: pool again with the same files, accept the gold
    pairs again, and repeat this until nothing remains to be done. Until then the study does not publish or
    pay. A repeat changes nothing. Where the texts of some HITs are lost for good, ``give_up`` closes these
    HITs. What they may cost still counts against the budget. Their work is paid whole and never rejected, but
    its judgments are lost: `publish` and `collect` ask for their pairs again. Where the study's own
    marketplace is lost without a backup, ``give_up`` closes its HITs, keeps what was collected, and lets a
    new one begin.

    Parameters
    ----------
    action : StoreAction
        What to do.
    study : Path, optional
        The study's folder.
    file : Path, optional
        With ``backup``: the file to write.
    store : str, optional
        With ``check`` and ``backup``: the URL of a store instead, of a study or a marketplace.
    live : bool
        With ``recover``: ask the live target.
    strategy : str, optional
        With ``recover``: the strategy by which ``run`` drove the study, if it did.
    give_up : bool
        With ``recover``: close the HITs that are lost for good, by their texts or with their marketplace;
        their pairs are asked for again.
    progress : callable, optional
        With ``recover``: called with how many HITs have been looked at, and how many there are.

    Returns
    -------
    StoreCheckResult, BackupResult or RecoverResult
        What the action found or made.

    Raises
    ------
    InputError
        The action does not take what is given, or lacks what it needs; or a file cannot be written.
    StudyError
        There is no study or store, it is in PostgreSQL, which copies itself, or the copy differs from the
        store; or HITs are to be given up before there is a pool to find their texts in.
    CrowdError
        The marketplace failed or cannot be reached.
    """
    action = StoreAction(action)
    given = {"file": file, "store": store, "live": live, "strategy": strategy}
    for name, value in {**given, "give_up": give_up}.items():
        if value and name not in _TAKES[action]:
            takes = ", ".join(map(_spelled, _TAKES[action]))
            raise InputError(
                f"store {action} does not take {_spelled(name)}", f"Beside a study it takes {takes}."
            )
    if action is StoreAction.CHECK:
        return examine(study, store=store)
    if action is StoreAction.BACKUP:
        return backup(study, file, store=store)
    if study is None:
        raise InputError("store recover takes a study", "Run, for instance: prefjudge store recover STUDY")
    return recover(study, live=live, strategy=strategy, give_up=give_up, progress=progress)


def _spelled(name: str) -> str:
    return "a file" if name == "file" else f"--{name.replace('_', '-')}"
