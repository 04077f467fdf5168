"""What the config decides on workers, over the policy: whose work counts all the same, and whose does not."""

from collections.abc import Mapping
from dataclasses import dataclass

from prefjudge.errors import ConfigError, quoted
from prefjudge.study.people import load_workers
from prefjudge.study.study import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """Whose work counts all the same, and whose does not, by worker id, each with the reason."""

    keep: Mapping[str, str]
    drop: Mapping[str, str]


def load_decisions(study: Study) -> Decisions:
    """Return what the config decides on workers, whom it names by pseudonyms as everything does.

    Raises
    ------
    ConfigError
        It names somebody of whom the study knows nothing.
    """
    screening = study.config.screening
    if not (screening.keep or screening.drop):
        return Decisions(keep={}, drop={})
    with study.transaction(write=False) as db:
        workers = load_workers(db)
    ids = {study.opaque("worker", worker): worker for worker in workers}
    unknown = [name for name in (*screening.keep, *screening.drop) if name not in ids]
    if unknown:
        raise ConfigError(
            f"[screening] of study.toml decides on {unknown[0]}, and the study has no worker of this name",
            f"`prefjudge workers {quoted(study.folder)}` names them.",
        )
    return Decisions(
        keep={ids[name]: why for name, why in screening.keep.items()},
        drop={ids[name]: why for name, why in screening.drop.items()},
    )
