"""Writes a study's judgments and answers into a folder to publish, or verifies such a folder."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from prefjudge.core.hits import Passage
from prefjudge.core.judgments import select_judgments
from prefjudge.core.resolving.confidence import resolved_queries
from prefjudge.errors import InputError, StudyError
from prefjudge.findings.answers import BestAnswers, what_is_open
from prefjudge.findings.outputs import own_file, stamp_of, write_stamp, write_table
from prefjudge.findings.sureness import assess_best
from prefjudge.pages.release.cards import CATALOGUE, catalogue_pages, license_named, release_notes
from prefjudge.reading.files import write_text
from prefjudge.reading.given import as_folder, as_path
from prefjudge.reading.labels import ENDING
from prefjudge.reading.pools import write_copies, write_gold, write_pool
from prefjudge.reading.unpacking import digest
from prefjudge.reading.votes.exports import EXPORTS, Exported
from prefjudge.steps.release.contents import (
    ANSWERS,
    ASKED,
    BOARD,
    COPIES,
    FOLDER,
    FORMAT,
    HOLDS,
    LIKELY,
    LOG,
    PAGE,
    POOL,
    PREFS,
    RECORD,
    RUNS,
    SUMS,
    TOURNAMENTS,
    WORK,
    Derived,
    PrivateRows,
    ReleasedFile,
    board,
    likely_rows,
    measures_of,
    model_vote,
    run_tops,
    sums_text,
)
from prefjudge.steps.release.leaks import Private, find_leaks
from prefjudge.steps.release.verify import (
    NOT_RELEASED,
    Record,
    RecordedAbout,
    RecordedImport,
    RecordedInput,
    RecordedNumbers,
    ReleaseResult,
    verify_release,
    write_asked,
)
from prefjudge.study.hits import asked_design, rewards_paid
from prefjudge.study.imports import load_imports, load_votes
from prefjudge.study.judgments import load_assignment_log, load_judgment_log, load_private
from prefjudge.study.pools import is_published, load_gold, load_inputs, load_queries, load_shown
from prefjudge.study.progress import load_remarks
from prefjudge.study.store import Study, open_study
from prefjudge.version import __version__
from prefjudge.words import json_text

# Writes the files of a release, and its record last: without it a folder is not a whole release.


class Bundle:
    """The files of a release, as they are written."""

    def __init__(
        self,
        study: Study,
        folder: Path,
        *,
        texts: bool,
        gold: bool,
        runs: bool,
        public: Sequence[str],
    ) -> None:
        self.study, self.folder, self.public = study, folder, public
        self.with_texts, self.with_gold, self.with_runs = texts, gold, runs
        self.files: list[ReleasedFile] = []
        self.pages: dict[str, str] = {}
        self.license = license_named(study.config.release.license)
        _check_folder(folder)
        with study.reading():
            self.best, to_come = BestAnswers(study, verb="release"), what_is_open(study)
            self.model = study.setting("strategy model") or None
            with study.transaction(write=False) as db:
                self.log, self.assignments = load_judgment_log(db), load_assignment_log(db)
                self.models, self.remarks = load_votes(db), load_remarks(db)
                self.inputs, self.gold = load_inputs(db), load_gold(db)
                self.imports = load_imports(db)
                self.asked = is_published(db) or not self.imports
                self.queries, self.passages = load_queries(db), load_shown(db)
                self.private = load_private(db)
        self._check_wishes()
        self.rows = PrivateRows(study.opaque, self.assignments)
        self.rehearsal = self.best.votes.rehearsal
        self.notices = (*([f"the study is under way: {to_come}"] if to_come else []), *self.best.notices)
        if self.remarks:
            self.notices += ("comments.jsonl holds what workers wrote: read it before you publish it",)
        if not self.license:
            self.notices += (
                "no licence is given, so nobody may use it: name one under [release] in study.toml, "
                'such as license = "CC-BY-4.0"',
            )

    def _check_wishes(self) -> None:
        """Refuse what cannot be had before an earlier release is touched."""
        measures = measures_of(self.study.config.measures) if self.with_runs else ()
        self.tops = list(run_tops(self.study, self.best.qrels, measures)) if measures else []
        self.measures = measures

    def write(self) -> None:
        """Write the files, search them for what is private, and finish with the record."""
        self.take_back()  # so that a repeat recognizes an unfinished release as its own
        self._write_files()
        record = self._record().as_json()
        text = json_text(record) + "\n"
        self.pages = {PAGE: release_notes(record), **catalogue_pages(record)}
        for name, page in self.pages.items():
            write_text(self.folder / name, page)
        self._remove_stale()
        self._refuse_leaks(text)
        sums = {name: _digest(self.folder / name) for name in self._written()}
        sums[RECORD] = sha256(text.encode()).hexdigest()
        write_text(self.folder / SUMS, sums_text(sums))
        write_text(self.folder / RECORD, text)

    def take_back(self) -> None:
        """Say that the folder is not a whole release."""
        write_text(self.folder / RECORD, '{"prefjudge": null}\n')

    def _write_files(self) -> None:
        votes = self.best.votes
        assert votes.pools is not None
        derived = Derived(
            log=votes.log,
            resolutions=self.best.resolutions,
            answers=self.best.qrels,
            rehearsal=self.rehearsal,
        )
        for name, rows, write in derived.files():
            if name in (ANSWERS, PREFS, TOURNAMENTS):  # which have no room for it
                write_stamp(self.folder / name, stamp_of(self.rehearsal))
            self._add(name, rows, write)
        chances, _ = assess_best(self.study, self.best)
        if chances is not None:
            write_stamp(self.folder / LIKELY, stamp_of(self.rehearsal))
            self._add_lines(LIKELY, likely_rows(resolved_queries(self.best.resolutions, chances)))
        self._add_lines(LOG, map(self.rows.judgment, self.log))
        self._add_lines(WORK, map(self.rows.assignment, self.assignments))
        self._add(POOL, int(votes.pools.query.size), partial(write_pool, pools=votes.pools))
        if votes.copies:
            rows = sum(map(len, votes.copies.groups))
            self._add(COPIES, rows, partial(write_copies, copies=votes.copies))
        if votes.asked is not None:
            self._add(ASKED, len(votes.asked), partial(write_asked, asked=votes.asked))
        if self.models:
            self._add_lines("models.jsonl", map(model_vote, *zip(*self.models, strict=True)))
        if self.remarks:
            self._add_lines("comments.jsonl", map(self.rows.remark, self.remarks))
        if self.with_texts:
            self._add_texts()
        if self.with_gold:
            pairs = list(self.gold.values())
            self._add("gold.tsv", len(pairs), partial(write_gold, pairs=pairs))
        if self.with_runs:
            self._add_runs()

    def _add(self, name: str, rows: int, write: Callable[[Path], object], holds: str = "") -> None:
        path = self.folder / name
        write(path)
        holds = holds or HOLDS[name]
        self.files.append(ReleasedFile(name=name, holds=holds, rows=rows, sha256=_digest(path)))

    def _add_lines(self, name: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Add a file of JSON objects."""
        rows = list(records)
        text = "".join(json_text(row, indent=None) + "\n" for row in rows)
        self._add(name, len(rows), partial(write_text, text=text))

    def _add_texts(self) -> None:
        asked = {vote.query_id: self.queries.get(vote.query_id, "") for vote in self.log}
        docs = (doc for vote in self.log for doc in (vote.left, vote.right))
        seen = {doc: self.passages.get(doc, Passage("")) for doc in docs}
        plain = {doc: one.text for doc, one in seen.items()}
        for name, texts in (("queries.tsv", asked), ("passages.tsv", plain)):
            self._add(name, len(texts), partial(_write_texts, texts=texts))
        if below := dict.fromkeys(name for one in seen.values() for name, _ in one.shown):
            rows = ({"id": doc, "text": one.text, **below, **dict(one.shown)} for doc, one in seen.items())
            self._add_lines("passages.jsonl", rows)
        shown = {doc: str(one) for doc, one in seen.items()}
        log = self.best.votes.log
        query, doc = (
            np.array([bool(texts.get(one)) for one in ids], bool)
            for ids, texts in ((log.queries, asked), (log.docs, shown))
        )
        whole = (log.choice != 0) & query[log.query] & doc[log.left] & doc[log.right]
        exported = Exported(log=select_judgments(log, whole), queries=asked, passages=shown)
        self._add_lines("chosen.jsonl", EXPORTS["chosen"].rows(exported))

    def _add_runs(self) -> None:
        for run in self.tops:
            self._add(*run)
        paths = [self.folder / one.name for one in self.files if one.name.startswith(f"{RUNS}/")]
        table, odd = board(paths, self.best.qrels, self.measures)
        self.notices += tuple(map(str, odd))
        stamped = partial(write_table, table=table, stamp=stamp_of(self.rehearsal))
        self._add(BOARD, len(table.rows), stamped)

    def _refuse_leaks(self, record: str) -> None:
        """Search every byte for what is private; the files are removed where there is any."""
        votes = self.best.votes
        assert votes.pools is not None
        public = {*self.public, *votes.pools.sources, *votes.pools.queries, *votes.pools.docs}
        public |= {doc for group in votes.copies.groups for doc in group}
        private = Private.of([*self.private, self.study.secret.hex()], public=public)
        written = self._written()
        found = find_leaks(self.folder, [*written, RECORD], record, private)
        if found:
            for name in written:  # the record stays: by it the folder is known as an unfinished release
                (self.folder / name).unlink()
            (self.folder / SUMS).unlink(missing_ok=True)
            shown = "\n".join(map(str, found[:10]))
            raise StudyError(
                f"nothing was released: it would contain private data\n{shown}",
                "Take it out of what the study was made from: names of runs and imports, reasons in "
                "study.toml. If anybody may see it, say so: --public WORD",
            )

    def _written(self) -> list[str]:
        """Return the files of the release but its record and its sums, with the stamps beside them."""
        names = [*(one.name for one in self.files), *self.pages]
        stamps = dict.fromkeys(f"{Path(name).stem}.{ENDING}" for name in names) if self.rehearsal else {}
        return [*names, *(name for name in stamps if (self.folder / name).is_file())]

    def _remove_stale(self) -> None:
        """Remove what an earlier release left, and what one that was killed had begun."""
        written = {*self._written(), RECORD, SUMS}
        for path in list(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            if path.is_file() and name not in written and (path.suffix == ".part" or _is_ours(name)):
                path.unlink()

    def _numbers(self) -> RecordedNumbers:
        return RecordedNumbers(
            queries=len(self.best.resolutions),
            judgments=len(self.best.votes.log),
            dropped=sum(1 for vote in self.log if vote.dropped),
            workers=len({vote.worker_id for vote in self.log if vote.worker_id}),
            answers=int(self.best.qrels.query.size),
        )

    def _record(self) -> Record:
        """Return the release's record for programs: numbers, design and files."""
        config, design = self.study.config, asked_design(self.study)
        about = config.release
        return Record(
            format=FORMAT,
            prefjudge=__version__,
            name=config.name,
            seed=config.seed,
            about=RecordedAbout(
                title=about.title,
                description=about.description,
                authors=about.authors,
                url=about.url,
                date=about.date,
                keywords=about.keywords,
            ),
            license=self.license,
            language=design.language,
            numbers=self._numbers(),
            rehearsal=self.rehearsal,
            rule=self.best.resolutions.rule,
            how=self.best.how,
            derived=self.best.derived,
            measures=self.measures,
            driven_by=self.best.votes.driven_by or None,
            model=self.model,
            version=self.best.version or None,
            pool=config.pool.model_dump(mode="json"),
            design=design.model_dump(mode="json", exclude=set(NOT_RELEASED)),
            screening=config.screening.model_dump(mode="json", exclude=set(NOT_RELEASED)),
            reward=rewards_paid(self.study),
            asked=self.asked,
            inputs=tuple(RecordedInput.model_validate(one, from_attributes=True) for one in self.inputs),
            imports=tuple(
                RecordedImport(
                    name=one.name,
                    form=one.form,
                    criterion=one.criterion or None,
                    digest=one.digest,
                    judge=one.judge,
                    phase=one.phase,
                    sides=bool(one.sides),
                    votes=one.votes,
                )
                for one in self.imports
            ),
            notices=self.notices,
            files=tuple(self.files),
        )


def _write_texts(path: Path, texts: Mapping[str, str]) -> None:
    write_text(path, "".join(f"{key}\t{' '.join(text.split())}\n" for key, text in texts.items()))


def _check_folder(folder: Path) -> None:
    """Refuse a folder that holds anything but a release, finished or not."""
    try:
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if isinstance(record, dict) and "prefjudge" in record:
            return
    except (OSError, ValueError):
        pass
    raise StudyError(f"{folder} is not a release", "Give an empty folder, or a new one: --out FOLDER")


def _is_ours(name: str) -> bool:
    """Return whether a release may have a file of this name; anything else in the folder is left alone."""
    stem = name.removesuffix(f".{ENDING}")
    known = {one.partition(".")[0] for one in HOLDS}
    return name in HOLDS or name in CATALOGUE or name.startswith(f"{RUNS}/") or stem in known


def _digest(path: Path) -> str:
    return digest(path).removeprefix("sha256:")


def release(
    study: str | Path | Study | None = None,
    *,
    out: str | Path | None = None,
    verify: str | Path | None = None,
    texts: bool = False,
    gold: bool = False,
    runs: bool = False,
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
        return verify_release(as_path(verify))
    opened = open_study(study)
    assert opened is not None
    folder = as_folder(out) or own_file(opened, FOLDER)
    if folder is None:
        raise InputError(f"{opened.folder} may only be read", "Write the release elsewhere: --out FOLDER")
    bundle = Bundle(opened, folder, texts=texts, gold=gold, runs=runs, public=public)
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
    return replace(found, study=str(opened.folder), notices=bundle.notices)
