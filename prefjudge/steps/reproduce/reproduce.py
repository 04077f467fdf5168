"""Makes the tables and figures of a paper for the user's own data, in one folder."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeVar, Unpack

from annotated_types import Ge

from prefjudge.core.runs import OrderLike
from prefjudge.errors import InputError, PrefjudgeError
from prefjudge.findings.outputs import stamp_of, write_figure, write_table
from prefjudge.pages.page import FirstScreen, Picture, Section, report_page
from prefjudge.reading.files import write_text
from prefjudge.reading.given import as_path, expand, in_memory, several
from prefjudge.reading.inputs import (
    LabelSets,
    Pooled,
    Runs,
    Votes,
    maybe,
    take_judgments,
    take_pool,
    take_qrels,
    take_runs,
)
from prefjudge.reading.labels import ENDING, file_stamps, rehearsal_in
from prefjudge.reading.options import ReadOptions
from prefjudge.show.results import Screen, Shown, first_few
from prefjudge.steps.reproduce.exhibits import (
    JUDGMENTS_FILE,
    MAKERS,
    POOLED_FILE,
    SIMULATION,
    STAMP,
    Made,
    rehearsal_table,
    rehearse,
)
from prefjudge.steps.reproduce.material import Material, file_of
from prefjudge.steps.reproduce.papers import PAPERS, Exhibit, Paper, PaperName
from prefjudge.study.people import load_rehearsal
from prefjudge.study.store import Study, open_study
from prefjudge.words import json_text

# The folder that is written: a file for each table and figure, and a page that shows them all.

T = TypeVar("T")

INDEX_FILE = "index.html"
_TABLES, _FIGURES = ("csv", "tex", "md"), ("svg", "png")
_FOLD = "Tables and figures"
LIST_FILE = "reproduce.json"
"""Names what an earlier run wrote, so that a later one deletes these files and no others."""


def open_folder(folder: Path) -> Path:
    """Return a folder that is new, empty, or of an earlier run, whose files are removed."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file", "Give a new folder: --out DIR")
    if folder.is_dir() and any(folder.iterdir()):
        for name in _earlier_files(folder):
            (folder / name).unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _earlier_files(folder: Path) -> list[str]:
    try:
        named = json.loads((folder / LIST_FILE).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{folder} is not empty, and prefjudge reproduce did not write it", "Give a new folder: --out DIR"
        ) from None
    return [name for name in named if isinstance(name, str) and Path(name).name == name]


class Folder:
    """Writes files; each name is listed before its file, so that a killed run can be repeated."""

    def __init__(self, path: Path, stamp: str) -> None:
        self.path, self.stamp = open_folder(path), stamp
        self._names: list[str] = []

    def claim(self, *names: str) -> None:
        """List files that are about to be written, with what goes beside them."""
        self._names += names
        write_text(self.path / LIST_FILE, json_text({"files": self._names}) + "\n")

    def write(self, exhibit: Exhibit, made: Made) -> tuple[str, ...]:
        """Write the tables of an exhibit as CSV, TeX and Markdown, its figures as SVG and PNG."""
        tables = [
            (f"{stem}.{form}", table) for stem, table in _named(exhibit.file, made.tables) for form in _TABLES
        ]
        drawn = [(stem, draw()) for stem, draw in _named(exhibit.file, made.figures)]
        figures = [(f"{stem}.{form}", one) for stem, one in drawn for form in _FIGURES]
        names = [*(name for name, _ in tables), *(name for name, _ in figures)]
        beside = [f"{Path(name).stem}.{ENDING}" for name in names if self.stamp and name.endswith(".csv")]
        self.claim(*names, *beside)
        for name, table in tables:
            write_table(self.path / name, table, stamp=self.stamp)
        for name, figure in figures:
            write_figure(self.path / name, figure, self.stamp)
        return tuple(names)


def _named(stem: str, things: Sequence[T]) -> Iterator[tuple[str, T]]:
    """Name one thing after the exhibit, and further ones with a number."""
    for number, thing in enumerate(things, 1):
        yield (stem if number == 1 else f"{stem}-{number}"), thing


def section_of(
    exhibit: Exhibit, made: Made | None, files: Sequence[str], missing: str, folder: Folder
) -> Section:
    """Return the part of the page that shows an exhibit from its files, or says what it needs."""
    shows = exhibit.shows[:1].upper() + exhibit.shows[1:]
    if made is None:
        return Section(heading=exhibit.name, fold=_FOLD, finding=f"{shows}. Not made: {missing}")
    return Section(
        heading=exhibit.name,
        fold=_FOLD,
        finding=f"{shows}.",
        words=(exhibit.reading, *made.words),
        pictures=tuple(
            Picture(words=f"{exhibit.name}: {exhibit.shows}", svg=(folder.path / name).read_bytes())
            for name in files
            if name.endswith(".svg")
        ),
        tables=tuple(table.stamped(folder.stamp) for table in made.tables),
        files=tuple(files),
        command=exhibit.command,
    )


def write_page(
    paper: Paper, sections: Iterable[Section], folder: Path, *, notices: Iterable[str], stamp: str = ""
) -> Path:
    """Write the page that shows all exhibits in the paper's order."""
    after = f"After: {paper.citation}"
    first = FirstScreen(result=paper.lead, also=f"{stamp}. {after}" if stamp else after)
    title = f"{paper.name}, from your own data"
    path = folder / INDEX_FILE
    write_text(path, report_page(title, first, tuple(sections), tuple(notices)))
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduced:
    """One table or figure: the files that hold it, or why it could not be made."""

    name: str
    shows: str
    files: tuple[str, ...]
    missing: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReproduceResult(Shown):
    """What was made of a paper; ``index`` is the page that shows it all in the paper's order."""

    paper: str
    folder: str
    index: str
    exhibits: tuple[Reproduced, ...]
    simulated: bool
    notices: tuple[str, ...]

    def screen(self) -> Screen:
        """Return how much was made, and why the rest was not, by its cause."""
        missing: dict[str, list[str]] = {}
        for one in self.exhibits:
            if not one.files:
                missing.setdefault(one.missing, []).append(one.name)
        made = sum(bool(one.files) for one in self.exhibits)
        found = f"made {made:,} of the {len(self.exhibits):,} tables and figures of {self.paper}"
        causes = [f"  not made: {', '.join(names)}: {why}" for why, names in missing.items()]
        return Screen(found=(found, *first_few(causes, 8)))


def reproduce(
    paper: PaperName | Literal["shallow-pooling", "significant-improvements", "benchmarking"],
    *,
    out: str | Path,
    study: str | Path | Study | None = None,
    runs: Runs = (),
    qrels: LabelSets = (),
    judgments: Votes | None = None,
    pool: Pooled | None = None,
    leaderboard: str | Path | None = None,
    held_out: str | Path | None = None,
    against_qrel: str | Path | None = None,
    baseline: str | Path | Sequence[str | Path] = (),
    draw: str | Path | Sequence[str | Path] = (),
    highlight: str = "",
    simulate: bool = False,
    sample: Annotated[int, Ge(1)] = 500,
    order: OrderLike | None = None,
    seed: Annotated[int, Ge(0)] | None = None,
    **how: Unpack[ReadOptions],
) -> ReproduceResult:
    """Write every table and figure of a paper for your own data, and a page that shows them.

    Parameters
    ----------
    paper : PaperName
        ``shallow-pooling``, ``significant-improvements`` or ``benchmarking``.
    out : Path
        The folder for the tables, the figures and ``index.html``. Tables are written as CSV, TeX and
        Markdown, figures as SVG and PNG, under the paper's names (``table-2.tex``, ``figure-6-top.svg``), and
        the page shows them.
    study : Path, optional
        A study: its runs, qrels, judgments and texts.
    runs : sequence of paths or patterns
        The run files, or folders of them.
    qrels : sequence of str
        The original qrels; ``benchmarking`` takes several label sets, each a file or ``NAME=FILE``.
    judgments : Path, optional
        Side-by-side judgments: query, document, document, preferred.
    pool : Path, optional
        The pool that was judged, as ``pool --out`` writes it.
    leaderboard : Path, optional
        The leaderboard's CSV.
    held_out : Path, optional
        The queries of the private leaderboard, as ``stability`` takes them.
    against_qrel : str or Path, optional
        The representative run of shallow pooling; by default the best pooled run under the original qrels.
    baseline : sequence of str
        The runs that the others are compared with; all pairs by default.
    draw : sequence of str
        The runs of benchmarking's Figure 4; the first, middle and last by default.
    highlight : str
        A word in the descriptions of submissions that are drawn in a second colour.
    simulate : bool
        Do shallow pooling with simulated workers at the paper's rates: what would this study cost, find and
        show? Takes no judgments.
    sample : int
        How many queries shallow pooling draws for its second experiment.
    order : Order, optional
        What ranks a document higher.
    seed : int, optional
        The seed of what is drawn; a study has its own.
    **how
        How the runs are read: the words of `ReadOptions`.

    Raises
    ------
    InputError
        The paper is unknown, the folder holds other files, or nothing could be made.
    """
    chosen = PAPERS[PaperName(paper)]
    if simulate and (
        chosen.name != PaperName.SHALLOW_POOLING or judgments or study or pool or not (runs and qrels)
    ):
        raise InputError(
            "--simulate is for shallow-pooling, and takes runs and qrels only",
            "Run: prefjudge reproduce shallow-pooling --simulate --runs 'runs/*' --qrels FILE --out DIR",
        )
    if study is None and not runs and leaderboard is None:
        raise InputError(
            "reproduce needs a study, or runs and qrels, or a leaderboard's CSV",
            _EXAMPLE,
        )
    votes = maybe(take_judgments, judgments)
    material = Material(
        folder=Path(out),
        study=open_study(study),
        runs=take_runs(runs),
        qrels=take_qrels(qrels),
        judgments=votes,
        pooled_judgments=votes,
        pool=maybe(take_pool, pool),
        leaderboard=as_path(leaderboard),
        held_out=as_path(held_out),
        against_qrel=against_qrel,
        baseline=several(baseline),
        draw=several(draw),
        highlight=highlight,
        order=order,
        sample=sample,
        seed=seed,
        how=how,
    )
    _keep_inputs(material)
    material.check_files()
    with material.study.reading() if material.study else nullcontext():  # one state of it in all exhibits
        return _reproduce(chosen, material, simulate=simulate)


def _reproduce(chosen: Paper, material: Material, *, simulate: bool) -> ReproduceResult:
    """Make the exhibits of a paper, and the page that shows them."""
    if material.runs or material.study is not None:
        _ = material.heads  # an unreadable run is reported here, once
    folder = Folder(material.folder, STAMP if simulate else _stamp(material))
    sections: list[Section] = []
    if simulate:
        sections.append(_simulated(material, folder))
    folder.claim(*material.own_files)
    made = [_make(exhibit, material, folder) for exhibit in chosen.exhibits]
    if not any(found.files for found, _ in made):
        raise InputError(
            f"nothing of {chosen.name} can be made: {made[0][0].missing}",
            _EXAMPLE.replace(PaperName.SHALLOW_POOLING, chosen.name),
        )
    folder.claim(INDEX_FILE)
    index = write_page(
        chosen,
        [*sections, *(section for _, section in made)],
        folder.path,
        notices=material.notices,
        stamp=folder.stamp,
    )
    return ReproduceResult(
        paper=chosen.name,
        folder=str(folder.path),
        index=str(index),
        exhibits=tuple(found for found, _ in made),
        simulated=simulate,
        notices=tuple(material.notices),
    )


_EXAMPLE = "Run, for instance: prefjudge reproduce shallow-pooling --runs 'runs/*' --qrels FILE --out DIR"


def _keep_inputs(given: Material) -> None:
    """Refuse an output folder that holds an input: its files are replaced."""
    folder, study = given.folder, given.study.folder if given.study else None
    files = (given.judgments, given.pool, given.leaderboard, given.held_out, study)
    for path in (*(expand(given.runs) if given.runs else ()), *map(file_of, given.qrels), *files):
        if path is not None and not in_memory(path) and Path(path).resolve().is_relative_to(folder.resolve()):
            raise InputError(
                f"the input {path} is in the output folder {folder}", "Give another folder: --out DIR"
            )


def _stamp(given: Material) -> str:
    """Return the rehearsal stamp of the study, or else of the files."""
    files = [*map(file_of, given.qrels), *([given.judgments] if given.judgments else [])]
    stamp = stamp_of(
        rehearsal_in(stamp for path in files if not in_memory(path) for stamp in file_stamps(path))
    )
    if given.study is None:
        return stamp
    with given.study.transaction(write=False) as db:
        return stamp_of(load_rehearsal(db)) or stamp


def _simulated(material: Material, folder: Folder) -> Section:
    """Simulate the judgments, and show what such a study would cost, find and show."""
    folder.claim(JUDGMENTS_FILE, POOLED_FILE)
    found, run = rehearse(material)
    made = Made(tables=(rehearsal_table(found, run),))
    return section_of(SIMULATION, made, folder.write(SIMULATION, made), "", folder)


def _make(exhibit: Exhibit, material: Material, folder: Folder) -> tuple[Reproduced, Section]:
    """Make one exhibit, or say what it needs."""
    missing, made = exhibit.impossible, None
    files: tuple[str, ...] = ()
    needs = [need for need in exhibit.needs if not material.has(need)]
    if needs:
        missing = f"it needs {', '.join(needs)}"
    elif exhibit.make:
        try:
            made = MAKERS[exhibit.make](material)
            files = folder.write(exhibit, made)
        except PrefjudgeError as error:
            missing = f"{error.message}. {error.hint}" if error.hint else error.message
            made = None
    found = Reproduced(name=exhibit.name, shows=exhibit.shows, files=files, missing=missing)
    return found, section_of(exhibit, made, files, missing, folder)
