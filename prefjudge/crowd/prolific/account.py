"""Whose account at Prolific recruits, and how."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a target's settings say of Prolific.

    Attributes
    ----------
    workspace, project : str
        Their ids.
    hits : int
        HITs of one participant, for one payment.
    secure : bool
        Whether the workspace has secured study links, which say who comes.
    filters : list
        Who may take part, in the form of Prolific's API.
    """

    workspace: str
    project: str
    hits: int
    secure: bool
    filters: list[Any]
