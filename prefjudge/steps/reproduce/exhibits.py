"""Exhibits: the tables and figures of a paper, each with what it needs and how it is made."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prefjudge.show.tables import Table
from prefjudge.steps.reproduce.material import Material
from prefjudge.steps.reproduce.needs import Need

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What an exhibit consists of: tables, figures still to be drawn, and sentences about them."""

    tables: tuple[Table, ...] = ()
    figures: tuple[Callable[[], "Figure"], ...] = ()
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """One table or figure of a paper.

    Attributes
    ----------
    name : str
        What the paper calls it: ``Table 2``, ``Figure 6 (top)``.
    shows : str
        What it holds, in a few words.
    reading : str
        How to read it, in one sentence.
    needs : tuple of Need
        What it is made from.
    command : str
        The command that makes it alone; empty where there is none.
    make : callable, optional
        Makes it; None where it cannot be made from users' data, or not by ``reproduce``.
    impossible : str
        Why it cannot be made, and what it would need.
    own : str
        What the paper's own values take, where that is other than for the rest of the paper.
    """

    name: str
    shows: str
    reading: str
    needs: tuple[Need, ...] = ()
    command: str = ""
    make: Callable[[Material], Made] | None = field(default=None, compare=False)
    impossible: str = ""
    own: str = ""

    def __post_init__(self) -> None:
        assert (self.make is None) or not self.impossible

    @property
    def file(self) -> str:
        """The stem of its files: ``table-2``, ``figure-6-top``."""
        kept = "".join(character if character.isalnum() else " " for character in self.name.lower())
        return "-".join(kept.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper: its name in ``reproduce``, how it is cited, and its exhibits in its own order.

    ``own`` says what its own values take: the exhibits are made for the user's data.
    """

    name: str
    citation: str
    lead: str
    own: str
    exhibits: tuple[Exhibit, ...]
