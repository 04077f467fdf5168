"""Finds ``hit_templates/`` and ``configs/`` in an installed wheel and in a checkout."""

from importlib.resources import files
from pathlib import Path


def resource_dir(name: str) -> Path:
    """Return the folder ``name`` that ships with prefjudge.

    Parameters
    ----------
    name : str
        ``"hit_templates"`` or ``"configs"``.

    Raises
    ------
    FileNotFoundError
        The installation is damaged: neither the wheel nor the checkout has the folder.
    """
    package = Path(str(files("prefjudge")))
    for folder in (package / "_resources" / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"{name}/ is missing from this installation of prefjudge")
