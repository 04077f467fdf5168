"""Writes judgments, or the answers found in them, for other programs, or for another collection."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePath
from typing import Annotated, Unpack

from prefjudge.core.copies import Carried, Carrier, carry_labels, carry_votes, contradicting
from prefjudge.core.judgments import Judgments, select_judgments
from prefjudge.core.runs import Qrels
from prefjudge.errors import InputError, StudyError, quoted
from prefjudge.findings.answers import load_best_answers
from prefjudge.findings.judgments import gather_judgments
from prefjudge.findings.outputs import beside, check_outputs, stamp_of, write_stamp, write_table
from prefjudge.reading.datasets import is_dataset
from prefjudge.reading.files import Notice, write_text
from prefjudge.reading.given import as_path, given_file
from prefjudge.reading.inputs import Texts, maybe, take_texts
from prefjudge.reading.labels import (
    read_judgments,
    read_qrels,
    rehearsal_in,
    second_column,
    write_judgments,
    write_qrels,
)
from prefjudge.reading.options import TextOptions, text_fields
from prefjudge.reading.sniffing import sniff
from prefjudge.reading.texts.collections import every_text, read_texts
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
    """What was written: ``rows`` of a form, made of ``judgments``; ``ties`` were left out.

    ``carried`` counts the passages by how they were found in another collection; ``files`` say which.
    """

    study: str
    to: str
    out: str
    rows: int
    judgments: int
    ties: int
    workers: int
    rehearsal: Rehearsal | None
    notices: tuple[str, ...]
    carried: dict[str, int] = field(default_factory=dict)
    files: tuple[str, ...] = ()


def export(
    study: str | Path | Study,
    out: str | Path,
    *,
    to: ExportName | None = None,
    ids: bool = False,
    collection: Texts | None = None,
    onto: Texts | None = None,
    **how: Unpack[TextOptions],
) -> ExportResult:
    """Write the judgments that count, or the best answers, as other programs read them.

    The suffix of the file says how: ``.json``, ``.jsonl``, ``.csv``, ``.parquet`` or another form of tables,
    for answers also ``.txt`` and ``.qrels`` (TREC). With ``onto`` passages have the ids of another
    collection, such as MS MARCO's second version: where one text there is the same, has the same words or, of
    eight words or more, holds them. Copies of that text share a label. What several texts fit is not guessed:
    a file lists it.

    Parameters
    ----------
    study : Path
        The study's folder; with ``onto`` also a file of qrels or judgments.
    out : Path
        The file to write.
    to : str, optional
        For which program; a file stays what it is.
    ids : bool
        Write the workers' ids. By default there are pseudonyms, which only the study's secret links to them.
    collection : Path, optional
        The texts that a file's ids stand for; a study has its own.
    onto : Path, optional
        The collection whose ids are written. It is read once, from end to end.
    **how
        How both collections are read: the words of `TextOptions`.

    Raises
    ------
    StudyError
        The study has no judgments, no answers, or no texts for a form that shows them.
    InputError
        The form or the suffix is not known, or the file is one of the study's own.
    """
    path, fields, told = as_path(out), text_fields(how), list[Notice]()
    collection = given_file(maybe(take_texts, collection), "collection")
    onto = given_file(maybe(take_texts, onto), "collection")
    texts_there = every_text(onto, fields=fields, notices=told) if onto else None
    if isinstance(study, str | Path) and (is_dataset(study) or Path(study).is_file()):
        check_outputs(path, inputs=(study, collection, onto))
        if collection is None or texts_there is None:
            raise InputError(
                f"{study} is a file: its ids are changed, and nothing else",
                f"Say from which texts to which: prefjudge export {quoted(study)} {quoted(path)} "
                "--collection OLD --onto NEW. Votes become a study's by `prefjudge import`.",
            )
        labels = given_file(study, "qrels")
        return _file_carried(labels, path, partial(read_texts, collection, fields=fields), texts_there, told)
    opened = open_study(study)
    to = to or ("ir-measures" if path.suffix == ".qrels" else "")
    if to not in EXPORTS:
        what = f"nothing is exported to {to!r}" if to else "it is not said for which program this is"
        raise InputError(what, f"Choose one of: --to {', '.join(EXPORTS)}.")
    check_outputs(path, inputs=(collection, onto), study=opened)
    moved = None
    with EXPORTS.using(to):
        form = EXPORTS[to]
        if not _has_own_form(path, form):
            check_table_form(path)
        found, ties, rehearsal = _exported(opened, form, worker_ids=ids)
        if texts_there is not None:
            docs = {*found.log.docs, *(found.answers.docs if found.answers else ())}
            texts = read_texts(collection, docs, fields=fields) if collection else found.passages
            moved = _Moved({doc: texts[doc] for doc in docs if doc in texts}, docs, texts_there)
            found = moved.exported(found)
        rows, click = list(form.rows(found)), found.log.click
        numbered = click is not None and len(rows) == len(found.log) and not form.of_answers
        if click is not None and numbered:
            rows = [{**row, "choice": of} for row, of in zip(rows, click.tolist(), strict=True)]
    _write(path, to, form, rows, rehearsal)
    notices = []
    if ties:
        notices.append(f"{to} has no ties: {many(ties, 'judgment is', 'judgments are')} left out")
    if click is not None and not form.of_answers:
        notices += [
            "rows with the same number in `choice` are the wins of one choice out of several passages, which "
            "are no independent votes; -1 stands where two were compared"
            if numbered
            else "the wins of one choice out of several passages stand as votes, and are not independent",
            "prefjudge import takes each of them for a vote; prefjudge release keeps choices whole",
        ]
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
        notices=(*notices, *map(str, told), *(moved.notices if moved else ())),
        carried=moved.counts if moved else {},
        files=moved.write(path) if moved else (),
    )


class _Moved:
    """Where passages stand in another collection, which is read once."""

    def __init__(
        self, texts: Mapping[str, str], docs: Iterable[str], there: Iterable[tuple[str, str]]
    ) -> None:
        carrier, self.notices, doc = Carrier(texts), list[str](), None
        for doc, text in there:
            carrier.look(doc, text)
        if doc is None:
            raise InputError("the collection of --onto holds no text", "Name a file, or a folder of files.")
        self.found = {doc: carrier.found(doc) for doc in sorted(docs)}
        if missing := [doc for doc in self.found if doc not in texts]:
            what = many(len(missing), "passage has", "passages have")
            self.notices.append(f"{what} no text to look for, such as {missing[0]!r}")

    @property
    def counts(self) -> dict[str, int]:
        """How many passages were found in each way."""
        counted = Counter(how for how, _ in self.found.values())
        return {how.value: counted[how] for how in Carried}

    def places(self, *, several: bool = False) -> dict[str, tuple[str, ...]]:
        """Return the ids of the passages that were found for sure, or of those that were in several texts."""
        return {doc: docs for doc, (how, docs) in self.found.items() if (how is Carried.SEVERAL) is several}

    def exported(self, found: Exported) -> Exported:
        """Return what there is to export under the new ids."""
        places, answers = self.places(), found.answers
        return replace(
            found,
            log=carry_votes(found.log, places),
            passages={new: found.passages[doc] for doc, news in places.items() for new in news},
            answers=None if answers is None else carry_labels(answers, places),
        )

    def write(self, out: Path) -> tuple[str, ...]:
        """Write where each passage was found."""
        path = beside(out, "carried.tsv")
        lines = (f"{doc}\t{how}\t{' '.join(docs)}\n" for doc, (how, docs) in self.found.items())
        write_text(Path(path), f"doc_id\thow\tfound\n{''.join(lines)}")
        return (str(path),)


def _file_carried(
    labels: str | Path,
    out: Path,
    here: Callable[[Iterable[str]], Mapping[str, str]],
    there: Iterable[tuple[str, str]],
    told: list[Notice],
) -> ExportResult:
    """Write the labels or judgments of a file with the ids of another collection."""
    kind = sniff(labels).kind
    if kind not in ("qrels", "judgments"):
        raise InputError(f"{labels} holds neither qrels nor judgments", "Give a study, or a file of these.")
    held: Qrels | Judgments = (
        read_qrels(labels, fractions=True, notices=told)
        if kind == "qrels"
        else read_judgments(labels, notices=told)
    )
    if isinstance(held, Qrels) and held.subtopics is not None:
        raise InputError(f"{labels} has labels of subtopics, which stay where they are", "Give plain qrels.")
    moved = _Moved(here(held.docs), held.docs, there)
    rehearsal, files = rehearsal_in(told), moved.write(out)
    write_stamp(out, stamp_of(rehearsal))
    if isinstance(held, Judgments):
        log = carry_votes(held, moved.places())
        write_judgments(out, log)
        rows, before = len(log), len(held)
    else:
        found = carry_labels(held, moved.places())
        if differ := contradicting(held, moved.places()):
            what = many(len(differ), "passage has labels that differ", "passages have labels that differ")
            query, doc = differ[0]
            moved.notices.append(f"{what}, such as {doc!r} for query {query!r}: the higher one counts")
        write_qrels(out, found, fractions=True, rehearsal=rehearsal)
        rows, before = found.grade.size, held.grade.size
        if (unsure := carry_labels(held, moved.places(several=True))).grade.size:
            path = Path(beside(out, f"several{out.suffix}"))
            write_qrels(path, unsure, fractions=True, rehearsal=rehearsal)
            files = (*files, str(path))
    return ExportResult(
        study="",
        to=kind,
        out=str(out),
        rows=rows,
        judgments=before if kind == "judgments" else 0,
        ties=0,
        workers=len(held.workers) if isinstance(held, Judgments) else 0,
        rehearsal=rehearsal,
        notices=(*map(str, dict.fromkeys(told)), *moved.notices),
        carried=moved.counts,
        files=files,
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
