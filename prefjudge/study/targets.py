"""Which of the study's work counts: the sandbox's, until HITs are published live; then only the live work.

From then on the work in the sandbox is a rehearsal: its judgments, gold records, barred workers and play
money stay in the store but no longer count, and the answers found there are deleted.
"""

from typing import TYPE_CHECKING

from prefjudge.database import Connection
from prefjudge.errors import ConfigError, StudyError, quoted

if TYPE_CHECKING:
    from pathlib import Path

    from prefjudge.study.study import Study

SANDBOX = "sandbox"
LIVE = "live"
IMPORTED = "imported"
"""Where votes that were collected elsewhere stand: at no marketplace, and they count whatever the target."""
COUNTED = f"h.target IN (:target, '{IMPORTED}')"
"""The condition on the HITs of the work that counts, at a target."""
JUDGES = "count(DISTINCT CASE WHEN j.worker_id = '' THEN j.assignment_id ELSE j.worker_id END)"
"""How many judges a pair has: where an imported file names no worker, each vote is another's."""


def choose_target(*, sandbox: bool, live: bool) -> str:
    """Return the target that a verb was told to use; ``live`` has precedence over ``sandbox``.

    Raises
    ------
    ConfigError
        Neither was asked for.
    """
    if not (sandbox or live):
        raise ConfigError("say where to publish", "Add --sandbox (play money) or --live (real money).")
    return LIVE if live else SANDBOX


def current_target(db: Connection) -> str:
    """Return the target whose work is the study's."""
    return LIVE if db.execute("SELECT 1 FROM hits WHERE target = :live LIMIT 1", live=LIVE) else SANDBOX


def find_target(study: "Study") -> str:
    """Return the target whose work is the study's, in a transaction of its own."""
    with study.transaction(write=False) as db:
        return current_target(db)


def advised(study: "Study", verb: str) -> str:
    """Return the command of a verb for a study, at the target whose work is the study's."""
    return command(verb, study.folder, find_target(study))


def command(verb: str, folder: "str | Path", target: str) -> str:
    """Return the command of a verb that takes ``--live``, as a shell takes it."""
    return f"prefjudge {verb} {quoted(folder)}{' --live' if target == LIVE else ''}"


def load_published_targets(db: Connection) -> frozenset[str]:
    """Return the targets at which the study has HITs."""
    rows = db.execute("SELECT DISTINCT target FROM hits WHERE target <> :imported", imported=IMPORTED)
    return frozenset(str(target) for (target,) in rows)


def refuse_other_target(db: Connection, target: str) -> None:
    """Refuse to go back to the sandbox, and to challenge live the answers that were found there.

    Raises
    ------
    StudyError
        The study is live and ``target`` is the sandbox, or newcomers would meet the sandbox's answers.
    """
    if not _leaves(db, target):
        return
    if target == SANDBOX:
        raise StudyError(
            "the study is live, and its rehearsal in the sandbox is over",
            "Add --live, or rehearse in another study.",
        )
    if db.execute("SELECT 1 FROM challenges LIMIT 1"):
        raise StudyError(
            "the study's challenge compares newcomers with answers that were found in the sandbox",
            "Continue without --live, or make a new study to judge live from the start.",
        )


def forget_rounds(db: Connection, target: str) -> None:
    """Let `run` start over at a new target, without the votes that its rounds asked for elsewhere."""
    if target != current_target(db):
        db.execute("UPDATE pairs SET votes = 0")


def forget_answers(db: Connection, target: str) -> None:
    """Delete the answers that were found at another target, when the first HIT is published at this one."""
    # Call this before the HIT is saved: from then on the current target is the new one.
    if _leaves(db, target):
        db.execute("DELETE FROM answers")


def _leaves(db: Connection, target: str) -> bool:
    """Return whether work at a target would leave other work behind, as a rehearsal."""
    current = current_target(db)
    return target != current and current in load_published_targets(db)


def live_since(db: Connection) -> float:
    """Return when the first HIT was published at the live target; 0 where none is."""
    return float(db.execute("SELECT min(published) FROM hits WHERE target = :live", live=LIVE)[0][0] or 0)
