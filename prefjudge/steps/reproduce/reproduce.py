"""Makes the tables and figures of a paper for the user's own data, in one folder."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar, Unpack

from annotated_types import Ge

from prefjudge.core.pools import PoolDesign
from prefjudge.core.runs import Order, OrderLike
from prefjudge.errors import InputError, PrefjudgeError, quoted
from prefjudge.findings.outputs import stamp_of, write_figure, write_table
from prefjudge.pages.page import FirstScreen, Picture, Section, report_page
from prefjudge.reading.files import write_text
from prefjudge.reading.given import as_path, in_memory
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
from prefjudge.reading.labels import ENDING, write_qrels
from prefjudge.reading.leaderboards import read_leaderboard
from prefjudge.reading.lines import read_text
from prefjudge.reading.options import ReadOptions
from prefjudge.show.cells import Table
from prefjudge.show.results import Screen, Shown, first_few
from prefjudge.show.tables import to_latex
from prefjudge.steps.reproduce.exhibits import MAKERS, OF_ALL, SIMULATION, STAMP, Part, rehearse
from prefjudge.steps.reproduce.material import Material
from prefjudge.steps.reproduce.papers import NEEDS, Exhibit, Experiment, Paper, load_paper, start_paper
from prefjudge.study.store import Study, open_study
from prefjudge.words import json_text

T = TypeVar("T")

INDEX_FILE, LIST_FILE = "index.html", "reproduce.json"
"""The page; what an earlier run wrote, so that a later one deletes no other file."""
PREFERENCE_FILE, LABELLED_FILE = "preference.qrels", "labelled.tsv"
"""What the commands of exhibits take: answers made on the way, and the labelled queries."""
_TABLES, _FIGURES = ("csv", "tex", "md"), ("svg", "png")


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
    exhibits: tuple[Reproduced, ...] = ()
    simulated: bool = False
    notices: tuple[str, ...] = ()

    @property
    def out(self) -> str:
        """What was written that shows the rest."""
        return self.index

    def screen(self) -> Screen:
        """Return how much was made, and why the rest was not, by its cause."""
        if not self.exhibits:
            say = f"say in {self.index} what was judged, then: prefjudge reproduce {quoted(self.index)}"
            return Screen(found=(say,))
        missing: dict[str, list[str]] = {}
        for one in self.exhibits:
            if not one.files:
                missing.setdefault(one.missing, []).append(one.name)
        made = sum(bool(one.files) for one in self.exhibits)
        found = f"made {made:,} of the {len(self.exhibits):,} tables and figures of {self.paper}"
        causes = [f"  not made: {', '.join(names)}: {why}" for why, names in missing.items()]
        return Screen(found=(found, *first_few(causes, 8)))


def reproduce(
    paper: str | Path,
    *,
    out: str | Path | None = None,
    init: bool = False,
    study: str | Path | Study | None = None,
    runs: Runs = (),
    qrels: LabelSets = (),
    judgments: Votes | None = None,
    pool: Pooled | None = None,
    leaderboard: str | Path | None = None,
    simulate: bool = False,
    order: OrderLike | None = None,
    seed: Annotated[int, Ge(0)] | None = None,
    **how: Unpack[ReadOptions],
) -> ReproduceResult:
    """Write every table and figure of a paper for your own data, and a page that shows them.

    Parameters
    ----------
    paper : str or Path
        ``shallow-pooling``, ``significant-improvements`` or ``benchmarking``; ``assessors``, which
        sets people, models and label sets side by side; or a file that tells a paper's experiments, each with
        its own runs and votes, and its exhibits: ``paper.toml``.
    out : Path, optional
        The folder for the tables, the figures and ``index.html``; by default named after the paper. Tables
        are written as CSV, TeX and Markdown, figures as SVG and PNG, under the paper's names
        (``table-2.tex``, ``figure-6-top.svg``), and the page shows them.
    init : bool
        Write the paper's own file to start from, with what is given; ``paper.toml`` by default.
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
    simulate : bool
        Do shallow pooling with simulated workers at the paper's rates: what would this study cost, find and
        show? Takes no judgments.
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
    given = Experiment.model_construct(
        study=study,
        runs=take_runs(runs),
        qrels=take_qrels(qrels),
        judgments=maybe(take_judgments, judgments),
        pool=maybe(take_pool, pool),
        leaderboard=as_path(leaderboard),
        simulate=simulate,
        order=order and Order(order),
        seed=seed,
    )
    told = load_paper(paper)
    if makes := [one.make for one in told.exhibits if one.make and one.make not in MAKERS]:
        raise InputError(f"{paper}: nothing makes {makes[0]!r}", f"Choose one of: {', '.join(MAKERS)}.")
    if init:
        path = Path(out or "paper.toml")
        if path.exists():
            raise InputError(f"{path} is there already", "Give another name: --out FILE.toml")
        write_text(path, start_paper(str(paper), given, path.parent))
        return ReproduceResult(paper=told.name, folder=str(path.parent), index=str(path))
    with ExitStack() as opened:
        folder, example = Path(out or Path(paper).stem), _EXAMPLE.format(quoted(paper))
        making = _Reproduction(told.with_options(given), example, folder, how, opened)
        return making.made(told.passed_over(given))


_EXAMPLE = "Run, for instance: prefjudge reproduce {} --runs 'runs/*' --qrels FILE --out DIR"


class _Reproduction:
    """A paper's experiments, each opened once, and the folder that its exhibits are written to.

    Each name is listed before its file is written, so that a killed run can be repeated. What an earlier run
    wrote stays until this one has made its own.
    """

    def __init__(self, paper: Paper, example: str, folder: Path, how: ReadOptions, opened: ExitStack) -> None:
        self.paper, self.example, self.folder = paper, example, folder
        self._names, self._earlier = list[str](), list[str]()
        told = {name: paper.experiment(name) for name in paper.experiments or ("",)}
        self.told = [*told.values()]
        self._refuse_too_little()
        self.studies = {one.study: open_study(one.study) for one in self.told}
        for study in filter(None, self.studies.values()):
            opened.enter_context(study.reading())  # one state of it in all exhibits
        tags = {tag: name for name, tag in paper.names.items()}
        self.experiments = {
            name: Material(one, self.studies[one.study], tags, how, opened) for name, one in told.items()
        }
        for one in self.experiments.values():
            one.beside = self.experiments

    def made(self, odd: Sequence[str]) -> ReproduceResult:
        """Make the exhibits, and the page that shows them and what was odd."""
        paper, experiments = self.paper, [*self.experiments.values()]
        for one in experiments:  # what cannot be read is reported here, once
            for read, path in ((read_leaderboard, one.told.leaderboard), (read_text, one.told.held_out)):
                _ = path and read(path)
            self._keep(one)
        reading = [one for one in experiments if one.reads_runs]
        known = {tag for one in reading for tag in one.heads.runs}
        for one in reading:
            one.name_runs(known)
        tags = [*paper.names.values()]
        if taken := [name for name in paper.names if name in known and name not in tags]:
            what = f"names: {taken[0]} is also the tag of another run"
            raise InputError(what, "Give one of the two another name.")
        gone = [f"{name} = {tag!r}" for name, tag in paper.names.items() if known and tag not in known]
        simulated = any(one.simulate for one in self.told)
        stamps = {name: self._stamp(one) for name, one in self.experiments.items()}
        said = {stamp: [name for name, own in stamps.items() if own == stamp] for stamp in stamps.values()}
        self._open()
        sections = [self._simulate()] if simulated else []
        made = [self._make(one) for one in paper.exhibits if one.make or one.impossible]
        if not any(found.files for found, _ in made):
            cause = made[0][0].missing if made else "its exhibits are made by commands"
            why = f"nothing of {paper.name} can be made: {cause}"
            raise InputError(why, self.example)
        for one in experiments:
            if (answers := vars(one).get("preference")) is not None:
                (file,) = self._claim(self._beside(one, PREFERENCE_FILE).name)
                write_qrels(file, answers, rehearsal=one.found.rehearsal)
        wrong = [f"names: there is no run of {', '.join(gone)}"] * bool(gone)
        made_of = {one.experiment or next(iter(self.experiments)) for one in paper.exhibits if one.make}
        if OF_ALL.isdisjoint(one.make for one in paper.exhibits):
            wrong += [
                f"no exhibit is made of the experiment {one}"
                for one in self.experiments
                if one not in made_of
            ]
        notices = tuple(dict.fromkeys([*odd, *wrong, *(said for one in experiments for said in one.noticed)]))
        of = {stamp: f" ({', '.join(names)})" if len(said) > 1 else "" for stamp, names in said.items()}
        also = "".join(f"{stamp}{of[stamp]}. " for stamp in said if stamp) + (
            paper.citation and f"After: {paper.citation}"
        )
        first = FirstScreen(result=paper.lead, also=also)
        sections += [section for _, section in made]
        (index,) = self._claim(INDEX_FILE)
        write_text(index, report_page(f"{paper.name}, from your own data", first, sections, notices))
        for name in {*self._earlier}.difference(self._names):
            (self.folder / name).unlink(missing_ok=True)
        self._earlier.clear()
        self._claim()
        return ReproduceResult(
            paper=paper.name,
            folder=str(self.folder),
            index=str(index),
            exhibits=tuple(found for found, _ in made),
            simulated=simulated,
            notices=notices,
        )

    def _beside(self, of: Material, name: str) -> Path:
        """Return a file of what an experiment makes on the way."""
        several = [
            name
            for name, one in self.experiments.items()
            if one.told.design is not PoolDesign.TOP_AGAINST_QREL
        ]
        own = [f"{one}." for one in several if len(several) > 1 and self.experiments[one] is of]
        return self.folder / "".join([*own, name])

    def _refuse_too_little(self) -> None:
        duels = any(one.design is PoolDesign.TOP_AGAINST_QREL for one in self.told)
        for one in self.told:
            more = one.judgments or one.study or one.pool or not (one.runs and one.qrels)
            if one.simulate and (more or not duels):
                raise InputError(
                    "--simulate is for shallow-pooling, and takes runs and qrels only",
                    "Run: prefjudge reproduce shallow-pooling --simulate --runs 'runs/*' --qrels FILE",
                )
        if not any(one.study or one.runs or one.leaderboard for one in self.told):
            what = "reproduce needs a study, or runs and qrels, or a leaderboard's CSV"
            raise InputError(what, self.example)

    def _keep(self, one: Material) -> None:
        """Refuse an output folder that holds an input: its files are replaced."""
        read = one.found.paths if one.reads_runs else ()
        own = one.study.folder if one.study else None
        for path in (*read, one.told.leaderboard, one.told.held_out, own):
            there = path is not None and not in_memory(path) and Path(path).resolve()
            if there and there.is_relative_to(self.folder.resolve()):
                what = f"the input {path} is in the output folder {self.folder}"
                raise InputError(what, "Give another folder: --out DIR")

    def _stamp(self, one: Material) -> str:
        """Return the stamp of an experiment that rests on simulated judgments: of a study or files."""
        return STAMP if one.told.simulate else stamp_of(one.found.rehearsal if one.reads_runs else None)

    def _open(self) -> None:
        """Open a folder that is new, empty, or of an earlier run, whose files are replaced."""
        folder = self.folder
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file", "Give a new folder: --out DIR")
        if folder.is_dir() and any(folder.iterdir()):
            try:
                names = json.loads((folder / LIST_FILE).read_text(encoding="utf-8"))["files"]
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                what = f"{folder} is not empty, and prefjudge reproduce did not write it"
                raise InputError(what, "Give a new folder: --out DIR") from None
            self._earlier += [name for name in names if isinstance(name, str) and Path(name).name == name]
        folder.mkdir(parents=True, exist_ok=True)

    def _claim(self, *names: str) -> list[Path]:
        """List files that are about to be written, and return them."""
        self._names += names
        write_text(self.folder / LIST_FILE, json_text({"files": [*self._earlier, *self._names]}) + "\n")
        return [self.folder / name for name in names]

    def _simulate(self) -> Section:
        """Simulate judgments for the experiments that ask for it, and show what such a study would find."""
        designs = {one.told.design: one for one in self.experiments.values()}
        top = designs[PoolDesign.TOP_AGAINST_QREL]
        pooled = designs.get(PoolDesign.SHALLOW, top)
        names = {pooled: "simulated-judgments-of-pools.txt", top: "simulated-judgments.txt"}
        asked = [one for one in names if one.told.simulate]
        files = dict(zip(asked, self._claim(*(names[one] for one in asked)), strict=True))
        made, run = rehearse(top, pooled, files)
        for one, path in files.items():
            one.take(path, run)
        return self._section(SIMULATION, [made], self._write(SIMULATION, [made], STAMP), STAMP)

    def _make(self, exhibit: Exhibit) -> tuple[Reproduced, Section]:
        """Make one exhibit, or say what it needs."""
        material = self.experiments[exhibit.experiment or next(iter(self.experiments))]
        missing, made, files, stamp, command = exhibit.impossible, list[Part](), list[str](), "", ""
        if needs := [NEEDS[need] for need in exhibit.needs if not material.has(need)]:
            missing = f"it needs {', '.join(needs)}"
        elif exhibit.make:
            try:
                made += MAKERS[exhibit.make](material)
                files = self._write(exhibit, made, stamp := self._stamp(material))
                beside = [self._beside(material, file) for file in (PREFERENCE_FILE, LABELLED_FILE)]
                if (command := material.command(exhibit, *beside)) and "--queries" in command:
                    (file,) = self._claim(beside[1].name)
                    write_text(file, "".join(f"{query}\t-\n" for query in material.original.queries))
            except PrefjudgeError as error:
                missing = f"{error.message}. {error.hint}" if error.hint else error.message
        found = Reproduced(name=exhibit.name, shows=exhibit.shows, files=tuple(files), missing=missing)
        return found, self._section(exhibit, made, files, stamp, missing, command)

    def _write(self, exhibit: Exhibit, made: Sequence[Part], stamp: str) -> list[str]:
        """Write an exhibit's tables as CSV, Markdown and TeX that fits, its figures as SVG and PNG."""
        found = [one for one in made if isinstance(one, Table)]
        known = list(dict.fromkeys(column.name for table in found for column in table.columns))
        if other := [name for name in exhibit.columns if name not in known]:
            raise InputError(f"it has no column {other[0]!r}", f"Choose among: {', '.join(known)}.")
        tables = {f"{stem}.{form}": one for stem, one in _named(exhibit.file, found) for form in _TABLES}
        drawn = [*_named(exhibit.file, [one() for one in made if callable(one)])]
        figures = {f"{stem}.{form}": figure for stem, figure in drawn for form in _FIGURES}
        names = [*tables, *figures]
        if twice := [name for name in names if name in self._names]:
            hint = "Tell the names of the two apart by a letter or a digit."
            raise InputError(f"{twice[0]} is a file of another exhibit", hint)
        beside = [name.replace(".csv", f".{ENDING}") for name in names if stamp and name.endswith(".csv")]
        self._claim(*names, *beside)
        for name, table in tables.items():
            if name.endswith(".tex"):
                printed = to_latex(_printed(exhibit, table, stamp), self.paper.column, self.paper.text)
                write_text(self.folder / name, printed)
            else:
                write_table(self.folder / name, table, stamp=stamp)
        for name, figure in figures.items():
            write_figure(self.folder / name, figure, stamp)
        return names

    def _section(
        self,
        exhibit: Exhibit,
        made: Sequence[Part],
        files: Sequence[str],
        stamp: str,
        missing: str = "",
        command: str = "",
    ) -> Section:
        """Return the part of the page that shows an exhibit from its files, or says why there are none."""
        shows = exhibit.shows[:1].upper() + exhibit.shows[1:]
        if missing:
            return Section(heading=exhibit.name, fold=_FOLD, finding=f"{shows}. Not made: {missing}")
        words = f"{exhibit.name}: {exhibit.shows}"
        svgs = [(self.folder / name).read_bytes() for name in files if name.endswith(".svg")]
        return Section(
            heading=exhibit.name,
            fold=_FOLD,
            finding=f"{shows}.",
            words=(exhibit.reading, *(one for one in made if isinstance(one, str))),
            pictures=tuple(Picture(words=words, svg=svg) for svg in svgs),
            tables=tuple(_printed(exhibit, one, stamp) for one in made if isinstance(one, Table)),
            files=tuple(files),
            command=command,
        )


_FOLD = "Tables and figures"


def _printed(exhibit: Exhibit, table: Table, stamp: str) -> Table:
    """Return a table as paper and page show it; the others of its columns are in its CSV."""
    return (table.only(exhibit.columns) if exhibit.columns else table).stamped(stamp)


def _named(stem: str, things: Sequence[T]) -> Iterator[tuple[str, T]]:
    """Name one thing after the exhibit, and further ones with a number."""
    for number, thing in enumerate(things, 1):
        yield (stem if number == 1 else f"{stem}-{number}"), thing
