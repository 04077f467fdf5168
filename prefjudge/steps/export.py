"""Writes a study's judgments, or the answers found in them, for other programs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Annotated

from prefjudge.core.judgments import select_judgments
from prefjudge.core.runs import Qrels
from prefjudge.errors import InputError, StudyError, quoted
from prefjudge.findings.answers import load_best_answers
from prefjudge.findings.judgments import gather_judgments
from prefjudge.findings.outputs import check_outputs, stamp_of, write_stamp, write_table
from prefjudge.reading.files import write_text
from prefjudge.reading.given import as_path
from prefjudge.reading.labels import second_column
from prefjudge.reading.votes.exports import EXPORTS, Exported, ExportForm, ExportRow
from prefjudge.show.cells import Column, Table
from prefjudge.show.results import Shown
from prefjudge.show.tables import check_table_form
from prefjudge.study.assignments import load_judgments
from prefjudge.study.pools import load_queries, load_shown
from prefjudge.study.store import Study, open_study
from prefjudge.words import Rehearsal, many

ExportName = Annotated[str, EXPORTS]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ExportResult(Shown):
    """What was written: ``rows`` of a form, made of ``judgments``; ``ties`` were left out."""

    study: str
    to: str
    out: str
    rows: int
    judgments: int
    ties: int
    workers: int
    rehearsal: Rehearsal | None
    notices: tuple[str, ...]


def export(
    study: str | Path | Study, out: str | Path, *, to: ExportName, worker_ids: bool = False
) -> ExportResult:
    """Write the judgments that count, or the best answers, as other programs read them.

    The suffix of the file says how: ``.json``, ``.jsonl``, ``.csv``, ``.parquet`` or another form of tables,
    for answers also ``.txt`` and ``.qrels`` (TREC).

    Parameters
    ----------
    study : Path
        The study's folder.
    out : Path
        The file to write.
    to : str
        For which program.
    worker_ids : bool
        Write the workers' ids. By default there are pseudonyms, which only the study's secret links to them.

    Raises
    ------
    StudyError
        The study has no judgments, no answers, or no texts for a form that shows them.
    InputError
        The form or the suffix is not known, or the file is one of the study's own.
    """
    opened, path = open_study(study), as_path(out)
    if to not in EXPORTS:
        raise InputError(f"nothing is exported to {to!r}", f"Choose one of: {', '.join(EXPORTS)}.")
    check_outputs(path, study=opened)
    with EXPORTS.using(to):
        form = EXPORTS[to]
        if not _has_own_form(path, form):
            check_table_form(path)
        found, ties, rehearsal = _exported(opened, form, worker_ids=worker_ids)
        rows = list(form.rows(found))
    _write(path, to, form, rows, rehearsal)
    notices = []
    if ties:
        notices.append(f"{to} has no ties: {many(ties, 'judgment is', 'judgments are')} left out")
    if not found.log.sides and not form.of_answers:
        notices.append(
            "left and right may not be the sides on the screen: some votes were imported without sides"
        )
    return ExportResult(
        study=str(opened.folder),
        to=to,
        out=str(path),
        rows=len(rows),
        judgments=len(found.log),
        ties=ties,
        workers=len(found.log.workers),
        rehearsal=rehearsal,
        notices=tuple(notices),
    )


def _exported(study: Study, form: ExportForm, *, worker_ids: bool) -> tuple[Exported, int, Rehearsal | None]:
    """Return what there is to export, and how many ties the form has no word for."""
    with study.reading():
        votes = gather_judgments(study, None, verb="export")
        answers: Qrels | None = load_best_answers(study)[0] if form.of_answers else None
        with study.transaction(write=False) as db:
            queries, passages = load_queries(db), {doc: str(one) for doc, one in load_shown(db).items()}
            named = load_judgments(db) if worker_ids else votes.log
    ties = 0 if form.ties or form.of_answers else int((named.choice == 0).sum())
    log = select_judgments(named, named.choice != 0) if ties else named
    if form.texts:
        for kind, plural, ids, texts in (
            ("query", "queries", log.queries, queries),
            ("document", "documents", log.docs, passages),
        ):
            if missing := [name for name in ids if name not in texts]:
                raise StudyError(
                    f"{many(len(missing), f'{kind} has', f'{plural} have')} no text in the study, "
                    f"such as {missing[0]!r}",
                    f"Import or pool again with the texts: prefjudge import {quoted(study.folder)} VOTES "
                    "--queries FILE --collection FILE",
                )
    return Exported(log=log, queries=queries, passages=passages, answers=answers), ties, votes.rehearsal


def _has_own_form(path: Path, form: ExportForm) -> bool:
    suffix = path.suffix.lower()
    return suffix in (".json", ".jsonl") or (suffix in (".txt", ".qrels") and form.line is not None)


def _write(
    path: Path, to: str, form: ExportForm, rows: Sequence[ExportRow], rehearsal: Rehearsal | None
) -> None:
    second = second_column(rehearsal).decode()
    match PurePath(path).suffix.lower():
        case ".json":
            write_text(path, json.dumps(form.document(rows), ensure_ascii=False, indent=1) + "\n")
        case ".jsonl":
            write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        case ".txt" | ".qrels" if form.line is not None:
            write_text(path, "".join(form.line(row, second) + "\n" for row in rows))
        case _ if any(isinstance(value, dict | list) for row in rows[:1] for value in row.values()):
            raise InputError(f"{path}: {to} is written as JSON", "Give a name that ends in .json or .jsonl.")
        case _:
            columns = tuple(Column(name=name) for name in (rows[0] if rows else ()))
            write_table(
                path, Table(title="", columns=columns, rows=tuple(tuple(row.values()) for row in rows))
            )
    write_stamp(path, stamp_of(rehearsal))
