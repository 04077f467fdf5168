"""The papers: their exhibits as ``configs/papers`` describes them, and the page of recipes."""

import tomllib
from dataclasses import dataclass
from enum import StrEnum

from prefjudge.errors import InputError
from prefjudge.resources import resource_dir


class Need(StrEnum):
    """What an exhibit is made from, in the words of the command line."""

    RUNS = "runs (--runs)"
    QRELS = "qrels (--qrels)"
    JUDGMENTS = "side-by-side judgments (--judgments or --study)"
    LEADERBOARD = "the leaderboard's CSV (--leaderboard)"
    HELD_OUT = "held-out queries (--held-out)"
    TEXTS = "the texts of queries and passages (a study that was pooled with --queries and --collection)"


class CannotMakeError(InputError):
    """An exhibit cannot be made from what was given; the hint says what it needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """One table or figure of a paper, by the name that it has there: ``Table 2``, ``Figure 6 (top)``.

    ``shows`` says in a few words what it holds, and ``reading`` in one sentence how to read it. ``command``
    makes it alone, and ``make`` names what makes it here; empty where ``impossible`` says why it cannot be
    made. ``own`` says what the paper's own values take, where that is other than for the rest of the paper.
    """

    name: str
    shows: str
    reading: str = ""
    needs: tuple[Need, ...] = ()
    command: str = ""
    make: str = ""
    impossible: str = ""
    own: str = ""

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


def load_paper(name: str) -> Paper:
    """Return the paper that ``configs/papers`` describes under this name."""
    told = tomllib.loads((resource_dir("configs") / "papers" / f"{name}.toml").read_text(encoding="utf-8"))
    for one in (exhibits := told.pop("exhibits")):
        one["needs"] = tuple(Need[need.upper().replace("-", "_")] for need in one.get("needs", ()))
    return Paper(**told, exhibits=tuple(Exhibit(**one) for one in exhibits))


class PaperName(StrEnum):
    """The papers that can be reproduced."""

    SHALLOW_POOLING = "shallow-pooling"
    SIGNIFICANT_IMPROVEMENTS = "significant-improvements"
    BENCHMARKING = "benchmarking"


PAPERS = {name: load_paper(name) for name in PaperName}
GUIDED = (
    "shallow-pooling",
    "significant-improvements",
    "significant-improvements-preprint",
    "benchmarking",
    "trec-2020-deep-learning-guidelines",
)
"""What the page of recipes holds: both versions of a paper, and guidelines, which have no results."""
