"""Makes the tables and figures of a paper for the user's own data, in one folder."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Unpack

from annotated_types import Ge

from prefjudge.core.runs import OrderLike
from prefjudge.errors import InputError, PrefjudgeError
from prefjudge.findings.outputs import stamp_of
from prefjudge.pages.page import Section
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
from prefjudge.reading.labels import file_stamps, rehearsal_in
from prefjudge.reading.options import ReadOptions
from prefjudge.show.results import Screen, Shown, first_few
from prefjudge.steps.reproduce.exhibits import Exhibit, Made, Paper
from prefjudge.steps.reproduce.given import Given, check_files, file_of
from prefjudge.steps.reproduce.library import find_paper
from prefjudge.steps.reproduce.material import Material
from prefjudge.steps.reproduce.pages import INDEX_FILE, Folder, section_of, write_page
from prefjudge.steps.reproduce.rehearsal import (
    JUDGMENTS_FILE,
    POOLED_FILE,
    SIMULATION,
    STAMP,
    rehearsal_table,
    rehearse,
)
from prefjudge.study.people import load_rehearsal
from prefjudge.study.store import Study, open_study


class PaperName(StrEnum):
    """The papers that can be reproduced."""

    SHALLOW_POOLING = "shallow-pooling"
    SIGNIFICANT_IMPROVEMENTS = "significant-improvements"
    BENCHMARKING = "benchmarking"


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
    chosen = find_paper(PaperName(paper))
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
    given = Given(
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
    _keep_inputs(Path(out), given)
    check_files(given)
    with given.study.reading() if given.study else nullcontext():  # one state of it in all exhibits
        return _reproduce(chosen, given, Path(out), simulate=simulate)


def _reproduce(chosen: Paper, given: Given, out: Path, *, simulate: bool) -> ReproduceResult:
    """Make the exhibits of a paper, and the page that shows them."""
    notices: list[str] = []
    material = Material(given=given, folder=out, notices=notices)
    if given.runs or given.study is not None:
        _ = material.heads  # an unreadable run is reported here, once
    folder = Folder(out, STAMP if simulate else _stamp(given))
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
        notices=notices,
        stamp=folder.stamp,
    )
    return ReproduceResult(
        paper=chosen.name,
        folder=str(folder.path),
        index=str(index),
        exhibits=tuple(found for found, _ in made),
        simulated=simulate,
        notices=tuple(notices),
    )


_EXAMPLE = "Run, for instance: prefjudge reproduce shallow-pooling --runs 'runs/*' --qrels FILE --out DIR"


def _keep_inputs(folder: Path, given: Given) -> None:
    """Refuse an output folder that holds an input: its files are replaced."""
    study = given.study.folder if given.study else None
    files = (given.judgments, given.pool, given.leaderboard, given.held_out, study)
    for path in (*(expand(given.runs) if given.runs else ()), *map(file_of, given.qrels), *files):
        if path is not None and not in_memory(path) and Path(path).resolve().is_relative_to(folder.resolve()):
            raise InputError(
                f"the input {path} is in the output folder {folder}", "Give another folder: --out DIR"
            )


def _stamp(given: Given) -> str:
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
    elif exhibit.make is not None:
        try:
            made = exhibit.make(material)
            files = folder.write(exhibit, made)
        except PrefjudgeError as error:
            missing = f"{error.message}. {error.hint}" if error.hint else error.message
            made = None
    found = Reproduced(name=exhibit.name, shows=exhibit.shows, files=files, missing=missing)
    return found, section_of(exhibit, made, files, missing, folder)
