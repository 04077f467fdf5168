"""Makes a study."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prefjudge.reading.given import as_folder
from prefjudge.show.results import Shown
from prefjudge.study.store import CONFIG_FILE, new_study


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class InitResult(Shown):
    """What ``init`` did."""

    study: str
    config: str
    created: bool


def init(
    study: str | Path, *, config: Literal["default", "paper2021", "demo"] = "default", name: str | None = None
) -> InitResult:
    """Make a study folder with a config to edit.

    Parameters
    ----------
    study : Path
        The folder to make.
    config : str
        The config to start from: ``paper2021`` has the paper's values, ``demo`` what a small rehearsal needs.
    name : str, optional
        The study's name; the folder's name by default.

    Raises
    ------
    StudyError
        The folder holds something else, or cannot be made.
    ConfigError
        The name is too long, or the config that is there is wrong.
    """
    study = as_folder(study)
    created = new_study(study, config=config, name=name)
    return InitResult(study=str(study), config=str(study / CONFIG_FILE), created=created)
