"""Walks the whole road on a small collection that ships with prefjudge."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from shutil import copytree, ignore_patterns

from prefjudge.errors import StudyError, quoted
from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.reading.files import write_text
from prefjudge.reading.given import as_folder
from prefjudge.show.results import Shown
from prefjudge.steps.collect import collect
from prefjudge.steps.gold import gold
from prefjudge.steps.init import init
from prefjudge.steps.pool import PoolResult, pool
from prefjudge.steps.publish import publish
from prefjudge.steps.report.report import report
from prefjudge.steps.resolve import resolve
from prefjudge.steps.score import ScoreResult, score
from prefjudge.steps.work import work
from prefjudge.study.store import Study
from prefjudge.words import many

FOLDER, BY_HAND = "prefjudge-demo", "by-hand.txt"
WORKERS, ERROR, CARELESS = 7, 0.1, 2
_ROUNDS = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DemoResult(Shown):
    """Where the demo left its files, and the commands that would have done the same."""

    folder: str
    pool: PoolResult
    score: ScoreResult
    report: str
    commands: tuple[str, ...]


def demo(
    folder: str | Path | None = None,
    *,
    tell: Callable[[str], None] | None = None,
) -> DemoResult:
    """Pool, publish, judge with simulated workers, collect, resolve, score and report: a small collection.

    Parameters
    ----------
    folder : Path, optional
        A new folder for everything; ``prefjudge-demo``, numbered if need be, by default.
    tell : callable, optional
        Told each step in a line.

    Raises
    ------
    StudyError
        The folder exists and is not empty.
    """
    folder = as_folder(folder)
    tell = tell or (lambda _: None)
    home = new_folder(folder, FOLDER)
    study, files = home / "study", home / "collection"
    copy_collection(files)
    tell(f"{home}: 15 questions, 80 passages and 6 runs are in {files.name}/, the study in {study.name}/.")
    init(study, config="demo", name="demo")
    opened = Study(study)
    pooled = pool(
        opened,
        runs=[str(files / "runs" / "*.txt")],
        qrels=files / "qrels.txt",
        queries=files / "queries.tsv",
        collection=files / "collection.tsv",
    )
    tell(
        f"Pooled the top passage of each run with the qrels: {many(pooled.documents, 'candidate')} for "
        f"{many(pooled.queries, 'question')}, {many(pooled.pairs, 'pair')}."
    )
    golden = gold(opened, accept=True, file=files / "gold.tsv")
    tell(f"Accepted {many(golden.gold, 'gold pair')}: a known answer against an off-topic passage.")
    with keep_marketplace_open(opened):
        offer = publish(opened, sandbox=True, yes=True)
        tell(
            f"Published {many(offer.published, 'HIT')} of ten pairs and three hidden gold pairs to the "
            f"embedded marketplace, for ${offer.total} of play money."
        )
        submitted = dropped = 0
        for _ in range(_ROUNDS):
            done = work(
                opened,
                workers=WORKERS,
                error=ERROR,
                temper=["careless"] * CARELESS,
                truth=files / "truth.tsv",
            )
            state = collect(opened)
            submitted, dropped = submitted + done.submitted, dropped + state.dropped
            if state.finished:
                break
        tell(
            f"{WORKERS} simulated workers submitted {many(submitted, 'assignment')} over HTTP, of which "
            f"{dropped} missed a gold pair and were asked for again."
        )
    barred = ", ".join(state.barred) or "nobody"
    tell(f"Every pair is judged by a worker who passed the gold pairs of that HIT; barred: {barred}.")
    found = resolve(opened)
    decided = ", ".join(f"{count} {status}" for status, count in found.statuses.items() if count)
    tell(f"Resolved the judgments into {many(found.qrels, 'preference qrel')} ({decided}).")
    scored, page = score(opened), report(opened).out
    commands = _commands(study, files)
    write_text(home / BY_HAND, "".join(f"{command}\n" for command in commands))
    return DemoResult(folder=str(home), pool=pooled, score=scored, report=page, commands=commands)


def new_folder(folder: Path | None, name: str) -> Path:
    """Return a folder that is new or empty: the one given, else one of this name, numbered if need be."""
    if folder is not None:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise StudyError(f"{folder} exists and is not empty", "Name a new folder.")
        return folder
    for number in count(1):
        home = Path(name if number == 1 else f"{name}-{number}")
        with suppress(FileExistsError):  # another may take the same name at the same moment
            home.mkdir()
            return home
    raise AssertionError("numbers do not end")


def copy_collection(target: Path) -> None:
    """Copy the collection that ships with prefjudge."""
    from importlib.resources import as_file, files

    try:
        with as_file(files("prefjudge") / "demo") as source:
            copytree(source, target, ignore=ignore_patterns("*.py", "__pycache__"))
    except OSError as error:
        why = error.strerror or "not every file could be copied"
        raise StudyError(f"cannot write {target}: {why}", "Name another folder.") from error


def _commands(study: Path, files: Path) -> tuple[str, ...]:
    return (
        f"prefjudge init {quoted(study)} --config demo",
        f"prefjudge pool {quoted(study)} --runs {quoted(files / 'runs/*.txt')} "
        f"--qrels {quoted(files / 'qrels.txt')} --queries {quoted(files / 'queries.tsv')} "
        f"--collection {quoted(files / 'collection.tsv')}",
        f"prefjudge gold {quoted(study)} --accept --file {quoted(files / 'gold.tsv')}",
        f"prefjudge publish {quoted(study)} --sandbox --yes",
        f"prefjudge work {quoted(study)} --workers {WORKERS} --error {ERROR}"
        f"{' --temper careless' * CARELESS} --truth {quoted(files / 'truth.tsv')}",
        f"prefjudge collect {quoted(study)}    # exit code 3: work and collect again",
        f"prefjudge resolve {quoted(study)}",
        f"prefjudge score {quoted(study)}",
        f"prefjudge report {quoted(study)}",
    )
