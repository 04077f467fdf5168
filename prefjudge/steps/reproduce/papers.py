"""A paper as a file: its experiments, what each is made from, and its exhibits in the paper's order."""

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from glob import escape, has_magic
from os.path import normpath, relpath
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from prefjudge.core.pools import PoolDesign
from prefjudge.core.runs import Order
from prefjudge.errors import InputError
from prefjudge.reading.given import in_memory, is_address
from prefjudge.reading.remote import is_remote
from prefjudge.resources import resource_dir
from prefjudge.show.tables import COLUMN, TEXT

NEEDS = {
    "runs": "runs (--runs)",
    "qrels": "qrels (--qrels)",
    "judgments": "side-by-side judgments (--judgments or --study)",
    "leaderboard": "the leaderboard's CSV (--leaderboard)",
    "held-out": "held-out queries (held_out in the paper's file)",
    "texts": "the texts of queries and passages (a study that was pooled with --queries and --collection)",
}
"""What exhibits are made from, in the words of the command line."""


class _Told(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


_Names = tuple[Annotated[str, Field(min_length=1)], ...]


class Experiment(_Told):
    """What one experiment of a paper is made from; what it does not say is as the whole paper has it.

    ``design`` is which pairs were judged. ``judgments``, ``pool``, ``held_out`` and ``leaderboard`` are
    files; ``stage`` names phases of a study whose votes alone count; a ``model`` cast them, or people. Runs
    are called by their tags or the paper's names: ``pooled`` gave the pools, ``shown`` are drawn, ``tested``
    are pairs that are compared.
    """

    design: PoolDesign = PoolDesign.SHALLOW
    study: str | None = None
    runs: _Names = ()
    qrels: _Names = ()
    judgments: str | None = None
    stage: _Names = ()
    model: bool = False
    pool: str | None = None
    leaderboard: str | None = None
    until: str | None = None
    held_out: str | None = None
    against_qrel: str | None = None
    baseline: _Names = ()
    pooled: _Names = ()
    shown: _Names = ()
    tested: tuple[tuple[str, str], ...] = ()
    highlight: str = ""
    simulate: bool = False
    sample: Annotated[int, Field(ge=1)] = 500
    order: Order | None = None
    seed: Annotated[int, Field(ge=0)] | None = None

    @property
    def given(self) -> Sequence[str]:
        """The keys that are told, in their order."""
        told = ((key, getattr(self, key)) for key in Experiment.model_fields if key in self.model_fields_set)
        return [key for key, said in told if said is not None and said is not False and said != ()]


_FILES = ("study", "runs", "qrels", "judgments", "pool", "leaderboard", "held_out")
RUNS = ("against_qrel", "baseline", "pooled", "shown", "tested")
"""What of an experiment names runs, by their tags, their files or the paper's names."""


class Exhibit(_Told):
    """One table or figure of a paper, by the name that it has there: ``Table 2``, ``Figure 6 (top)``.

    ``shows`` says in a few words what it holds, and ``reading`` in one sentence how to read it. ``make``
    names what makes it of an experiment, the first one by default, and ``columns`` those that are printed.
    ``command`` makes it alone; ``impossible`` says why it cannot be made. ``own`` says what the paper's own
    values take, where that is other than for the rest of the paper.
    """

    name: str
    shows: str
    reading: str = ""
    experiment: str = ""
    needs: tuple[Literal["runs", "qrels", "judgments", "leaderboard", "held-out", "texts"], ...] = ()
    make: str = ""
    columns: _Names = ()
    command: str = ""
    impossible: str = ""
    own: str = ""

    @property
    def file(self) -> str:
        """The stem of its files: ``table-2``, ``figure-6-top``."""
        kept = "".join(character if character.isalnum() else " " for character in self.name.lower())
        return "-".join(kept.split())


class Paper(Experiment):
    """A paper: how it is cited, the names of its runs, its experiments, and its exhibits in its own order.

    ``own`` says what its own values take: the exhibits are made for the user's data. ``column`` and ``text``
    are the widths of its venue's page, in points.
    """

    name: str
    citation: str = ""
    lead: str = ""
    own: str = ""
    column: Annotated[float, Field(ge=100)] = COLUMN
    text: Annotated[float, Field(ge=100)] = TEXT
    names: Mapping[str, str] = {}
    experiments: Mapping[str, Experiment] = {}
    exhibits: tuple[Exhibit, ...]

    def with_options(self, given: Experiment) -> "Paper":
        """Return the paper with what is given in the place of what it tells of all its experiments."""
        return self.model_copy(update={key: getattr(given, key) for key in given.given})

    def passed_over(self, given: Experiment) -> list[str]:
        """Return what is given and not used where experiments have their own."""
        own = [(key, name) for name, one in self.experiments.items() for key in one.given]
        return [
            f"--{key} is not used for {name}, which has its own" for key, name in own if key in given.given
        ]

    def experiment(self, name: str) -> Experiment:
        """Return an experiment, the first one by default; its runs are called by their tags."""
        own = self.experiments[name] if name else next(iter(self.experiments.values()), Experiment())
        told = {key: getattr(self, key) for key in Experiment.model_fields}
        told |= {key: getattr(own, key) for key in own.model_fields_set}
        return Experiment.model_construct(**told | {key: self._tags(told[key]) for key in RUNS})

    def _tags(self, runs: Any) -> Any:
        return tuple(map(self._tags, runs)) if isinstance(runs, tuple) else self.names.get(runs, runs)


PAPERS = (
    "shallow-pooling",
    "significant-improvements",
    "significant-improvements-preprint",
    "benchmarking",
    "assessors",
    "trec-2020-deep-learning-guidelines",
)
"""What comes with prefjudge, and what the page of recipes holds: guidelines have no results to make again."""


def load_paper(paper: str | Path) -> Paper:
    """Return a paper by its name, or as a file of one's own tells it, its paths seen from its folder."""
    if str(paper) in PAPERS:
        return _read(_shipped(str(paper)), str(paper))
    if Path(paper).suffix != ".toml":
        known = ", ".join(PAPERS)
        raise InputError(
            f"there is no paper {str(paper)!r}", f"Choose one of: {known}; or give a .toml file."
        )
    try:
        text = Path(paper).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        way = "Write one to start from: prefjudge reproduce shallow-pooling --init"
        raise InputError(f"{paper} cannot be read: {error}", way) from None
    return _seen_from(_read(text, str(paper)), Path(paper).parent)


def _shipped(name: str) -> str:
    return (resource_dir("configs") / "papers" / f"{name}.toml").read_text(encoding="utf-8")


def _read(text: str, where: str) -> Paper:
    try:
        paper = Paper.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: {error}", "Mend the line.") from None
    except ValidationError as error:
        found = dict.fromkeys(map(_explained, error.errors(include_url=False)))
        raise InputError(f"{where} has keys that cannot be used", "Mend or delete them.", [*found]) from None
    tags = [*paper.names.values()]
    if twice := [tag for tag in tags if tags.count(tag) > 1]:
        raise InputError(f"{where} gives the run {twice[0]} two names", "Leave one of them out.")
    unknown = sorted({one.experiment for one in paper.exhibits} - {"", *paper.experiments})
    if unknown:
        raise InputError(f"{where} has no experiment {unknown[0]!r}", f"Add [experiments.{unknown[0]}].")
    return paper


def _explained(error: Any) -> str:
    """Say in plain words what is wrong with a key."""
    key = [one for one in error["loc"] if isinstance(one, str)]
    words = {
        "extra_forbidden": "there is no such key",
        "missing": "it is missing",
        "tuple_type": f'a list is wanted: {key[-1]} = ["…"]',
        "string_type": f'text in quotes is wanted: {key[-1]} = "…"',
    }
    if key[-1] == "tested":
        return f'{".".join(key)}: pairs of runs are wanted: tested = [["A", "B"]]'
    said = words.get(error["type"]) or error["msg"].replace("Input should be", "it must be")
    return f"{'.'.join(map(str, error['loc']))}: {said}"


def _seen_from(paper: Paper, folder: Path) -> Paper:
    """Return a paper with its paths, which are a folder's, as the working directory has them."""

    def placed(key: str, path: str) -> str:
        pattern = key == "runs" and has_magic(path) and not (folder / path).exists()
        return normpath(Path(escape(str(folder)) if pattern else folder) / path)

    def moved(told: Experiment) -> Experiment:
        paths = {key: getattr(told, key) for key in _FILES if key in told.model_fields_set}
        return told.model_copy(
            update={key: _each(key, said, partial(placed, key)) for key, said in paths.items()}
        )

    near = {name: moved(one) for name, one in paper.experiments.items()}
    return paper.with_options(moved(paper)).model_copy(update={"experiments": near})


def _each(key: str, said: Any, place: Callable[[str], str]) -> Any:
    """Return paths or patterns at another place; an address has only one. Label sets may have names."""
    if isinstance(said, tuple):
        return tuple(_each(key, one, place) for one in said)
    name, separator, path = str(said).partition("=")
    there = any(Path(one).exists() for one in (str(said), place(str(said))))
    if key != "qrels" or not separator or there or is_remote(str(said)):
        name, separator, path = "", "", str(said)
    here = Path(path).is_absolute() or is_address(path) or path.startswith(("irds:", "hf:"))
    return f"{name}{separator}{path if here else place(path)}"


def start_paper(name: str, given: Experiment, folder: Path) -> str:
    """Return a paper's own file for a folder, with what is given above the paper."""
    lines = ["# Relative to this file; an experiment may have its own."] if given.given else []
    for key in given.given:
        said = getattr(given, key)
        if any(map(in_memory, said if isinstance(said, tuple) else [str(said)])):
            raise InputError(f"{key} is in memory, and a paper's file names files", "Leave out init.")
        said = _each(key, said, lambda path: relpath(path, folder)) if key in _FILES else said
        lines.append(f"{key} = {json.dumps(said, ensure_ascii=False)}")
    return "\n".join([*lines, "", _shipped(name)])
