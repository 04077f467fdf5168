"""Writes a study's judgments and answers into a folder to publish, or verifies such a folder."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prefjudge.errors import InputError, StudyError
from prefjudge.findings.outputs import own_file
from prefjudge.reading.given import as_folder, as_path
from prefjudge.show.results import Shown
from prefjudge.steps.release.bundle import Bundle
from prefjudge.steps.release.contents import FOLDER, Contents, ReleasedFile
from prefjudge.steps.release.verify import Verified, verify_release
from prefjudge.study.store import Study, open_study
from prefjudge.words import Rehearsal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleaseResult(Shown):
    """A release in numbers: ``judgments`` count, ``dropped`` do not; ``answers`` are preference qrels.

    ``derived`` are the files that were made again from the judgments in the release alone, and are as they
    should be; ``problems`` is what is wrong with a release that was verified.
    """

    study: str
    out: str
    queries: int
    judgments: int
    dropped: int
    workers: int
    answers: int
    rule: str
    license: str
    rehearsal: Rehearsal | None
    files: tuple[ReleasedFile, ...]
    derived: tuple[str, ...]
    problems: tuple[str, ...]
    notices: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with the release."""
        return not self.problems


def release(
    study: str | Path | Study | None = None,
    *,
    out: str | Path | None = None,
    verify: str | Path | None = None,
    texts: bool = False,
    gold: bool = False,
    runs: bool = False,
    parquet: bool = False,
    license: str | None = None,
    public: Sequence[str] = (),
    rehearsal: bool = False,
) -> ReleaseResult:
    """Write a study's judgments and answers into a folder for others, with no worker's id or secret in it.

    People are pseudonyms, which only the study's secret links to their ids; times are whole seconds, and
    neither times of day nor addresses are written. Every byte is searched for what is private. Then the
    answers are made again from the folder alone, so that what is published can be verified. The same study
    gives the same bytes.

    Parameters
    ----------
    study : Path, optional
        The study's folder.
    out : Path, optional
        The folder; ``release`` in the study by default. What an earlier release wrote there is replaced.
    verify : Path, optional
        Verify this release instead: every byte by its digest, and the answers, tournaments and boards by
        making them again from its judgments.
    texts : bool
        Add the texts of the queries and passages that were judged, where their licence allows it, and the
        preferences as models are trained on them.
    gold : bool
        Add the gold pairs. Once they are public they cannot screen workers any more.
    runs : bool
        Add the top of each run, as deep as the study's measures look, and the leaderboard that it makes.
    parquet : bool
        Write the tables as Parquet, too; this takes the extra ``parquet``.
    license : str, optional
        The licence of the judgments by its SPDX name, such as CC-BY-4.0; else that of ``[release]`` in
        study.toml.
    public : sequence of str
        Words that may be in it though they look private, such as an address in a run's tag.
    rehearsal : bool
        Release simulated judgments, too: the release's page and every judgment in it say so.

    Raises
    ------
    InputError
        Neither a study nor a release is given, or both.
    StudyError
        The study has no judgments, some are simulated, the folder holds something else, or what was to be
        released holds something private.
    """
    if (study is None) == (verify is None):
        raise InputError(
            "release takes a study to release, or a release to verify",
            "Run: prefjudge release STUDY, or: prefjudge release --verify FOLDER",
        )
    if verify is not None:
        return _verified(as_path(verify))
    opened = open_study(study)
    assert opened is not None
    folder = as_folder(out) or own_file(opened, FOLDER)
    if folder is None:
        raise InputError(f"{opened.folder} may only be read", "Write the release elsewhere: --out FOLDER")
    contents = Contents(texts=texts, gold=gold, runs=runs, parquet=parquet, license=license, public=public)
    bundle = Bundle(opened, folder, contents)
    if bundle.rehearsal and not rehearsal:
        raise StudyError(
            f"{bundle.rehearsal}: they are not people's preferences",
            "Have people judge, or add --rehearsal: then the release says what it is.",
        )
    bundle.write()
    found = verify_release(folder)
    if found.problems:
        bundle.take_back()
        raise StudyError(
            f"{folder} cannot be verified: {found.problems[0]}",
            "This is a fault of prefjudge: please report it. Nothing counts as released.",
        )
    return replace(_result(found), study=str(opened.folder), notices=bundle.notices)


def _verified(folder: Path) -> ReleaseResult:
    """Return what verifying a release found."""
    return _result(verify_release(folder))


def _result(found: Verified) -> ReleaseResult:
    record = found.record
    numbers = record.numbers
    return ReleaseResult(
        study=record.name,
        out=str(found.folder),
        queries=numbers.queries,
        judgments=numbers.judgments,
        dropped=numbers.dropped,
        workers=numbers.workers,
        answers=numbers.answers,
        rule=record.rule,
        license=record.license,
        rehearsal=record.rehearsal,
        files=record.files,
        derived=found.derived,
        problems=found.problems,
        notices=found.notices,
    )
