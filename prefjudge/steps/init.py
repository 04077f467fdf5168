"""Makes a study."""

from dataclasses import dataclass
from pathlib import Path

from prefjudge.steps.inputs import as_path


@dataclass(frozen=True, slots=True, kw_only=True)
class InitResult:
    """What ``init`` did."""

    study: str
    config: str
    created: bool


def init(study: str | Path, *, config: str = "default", name: str | None = None) -> InitResult:
    """Make a study folder with a config to edit.

    Parameters
    ----------
    study : Path
        The folder to make.
    config : str
        The config to start from: ``default`` or ``paper2021``.
    name : str, optional
        The study's name; the folder's name by default.

    Raises
    ------
    StudyError
        The folder holds something else.
    """
    from prefjudge.study.config import load_config, template
    from prefjudge.study.study import CONFIG_FILE, create

    study = as_path(study)
    created = create(study, template(config), name=name or study.resolve().name)
    load_config(study / CONFIG_FILE)
    return InitResult(study=str(study), config=str(study / CONFIG_FILE), created=created)
