"""Makes votes that were collected elsewhere part of a study: with their workers, texts and kind."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from prefjudge.errors import InputError
from prefjudge.reading.files import Notice, is_text
from prefjudge.reading.inputs import (
    ForeignVotes,
    Source,
    Texts,
    as_folder,
    as_path,
    maybe,
    several,
    take_texts,
    take_votes,
)
from prefjudge.reading.labels import rehearsal_in
from prefjudge.reading.lines import digest_of_content
from prefjudge.reading.memory import Held
from prefjudge.reading.texts.collections import read_texts
from prefjudge.reading.texts.topics import read_queries
from prefjudge.reading.votes.tables import Row, Votes, digest_of_rows, parse_map
from prefjudge.reading.votes.votes import LOG, LOG_FORM, HowVotesAreRead, read_votes, with_log
from prefjudge.show.results import Shown
from prefjudge.steps.import_votes.repeats import Import
from prefjudge.steps.import_votes.storing import store_votes
from prefjudge.study.imports import CARRIED_KEYS
from prefjudge.study.people import Judge, load_rehearsal
from prefjudge.study.store import Study, new_study, open_study
from prefjudge.words import Rehearsal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImportResult(Shown):
    """What was imported: ``votes`` are new, ``dropped`` of them do not count, ``known`` were there.

    ``left_out`` are about documents outside the study's published pool. ``read_as`` says what the file was
    taken for.
    """

    study: str
    votes: int
    dropped: int
    known: int
    left_out: int
    queries: int
    documents: int
    workers: int
    read_as: str
    rehearsal: Rehearsal | None
    notices: tuple[str, ...]


def import_votes(
    study: str | Path | Study,
    votes: ForeignVotes,
    *,
    map: Sequence[str] = (),
    criterion: str | None = None,
    items: str | Path | None = None,
    judge: Judge | Literal["person", "simulated"] | None = None,
    phase: str | None = None,
    queries: Texts | None = None,
    collection: Texts | None = None,
) -> ImportResult:
    """Make existing votes part of a study: they count like votes that it collected, and nothing is paid.

    The file is a release or its judgments.jsonl; the log of a board, which makes the study again; lines of
    query, document, document, preferred; votes of an arena; prompts with the chosen and the rejected answer;
    CrowdRAG-25's ratings; batch results of Mechanical Turk; exports of Label Studio and Potato; or any CSV or
    JSON whose columns are known by their names or by ``map``. All votes are added, or none; the same file is
    not added twice. The documents that the votes are about are candidates, beside those of runs that are
    pooled before or after; once HITs are published, votes about other documents are left out. A folder that
    is not there becomes a study.

    Parameters
    ----------
    study : Path
        The study's folder; a new one becomes a study.
    votes : Path
        The file, or the folder of a release.
    map : sequence of str
        Which column holds what: PART=COLUMN, for instance winner=pref,left=a_id,right=b_id,query=q,worker=w.
        The parts are query, query_text, left, right, left_text, right_text, left_model, right_model, winner,
        worker, id, milliseconds and gold: the expected winner, where the answer is known. Such a comparison
        says how good its worker is, and is not a vote.
    criterion : str, optional
        Which question's votes to take, where the file has several.
    items : Path, optional
        The data file that the votes name by ids, as Potato's exports do.
    judge : Judge, optional
        Who made the votes: ``person``, the default, or ``simulated`` for programs and language models. A file
        that says ``simulated`` itself is believed.
    phase : str, optional
        What to call this work in the study's log; the file's name by default.
    queries : Path, optional
        The texts of the queries, where the file has none.
    collection : Path, optional
        The texts of the documents, where the file has none.

    Raises
    ------
    InputError
        The file cannot be read, with each problem and its line; nothing was written.
    StudyError
        The votes are about other documents than the study's, or contradict what was imported.
    """
    new = not isinstance(study, Study) and not Path(study).exists()
    opened, taken = None if new else open_study(study), take_votes(votes)
    path = taken if isinstance(taken, Held) else Path(taken)
    if str(path) == "-":
        raise InputError("votes are imported from a file, not from the standard input", "Give a file's name.")
    told = parse_map(several(map), str(path))
    how = HowVotesAreRead(told=told, criterion=criterion, items=as_path(items))
    notices: list[Notice] = []
    who = Judge(judge or Judge.PERSON)
    found = read_votes(path, how, notices)
    if found.form == LOG_FORM and isinstance(path, Path):
        found = with_log(found, path, CARRIED_KEYS)
    stamped = rehearsal_in(notices)
    if stamped is not None and not found.judges and who is Judge.PERSON:
        who = Judge.SIMULATED
        what = "the file says that votes are simulated, and not which: all are taken for simulated"
        notices.append(Notice(where=str(path), what=what))
    found = _with_texts(found, maybe(take_texts, queries), maybe(take_texts, collection), notices)
    name = path.name if isinstance(path, Held) else path.resolve().name
    made = Import(
        votes=found,
        name=name,
        criterion=found.criterion,
        digest=_digest(path),
        judge=who,
        phase=phase or name,
        mapped=",".join(f"{part}={column}" for part, column in sorted(told.items())),
        when=time.time(),
    )
    if opened is None:
        assert not isinstance(study, Study)
        new_study(as_folder(study))
        notices.append(Notice(where=str(study), what="a new study is made here"))
        opened = open_study(study)
    stored = store_votes(opened, made)
    notices += [Notice(where=str(path), what=what) for what in stored.notices]
    with opened.transaction(write=False) as db:
        rehearsal = load_rehearsal(db)
    return ImportResult(
        study=str(opened.folder),
        votes=stored.added,
        dropped=stored.dropped,
        known=stored.known,
        left_out=stored.left_out,
        queries=len(found.log.queries),
        documents=len(found.log.docs),
        workers=len(found.log.workers),
        read_as=found.form,
        rehearsal=rehearsal,
        notices=tuple(dict.fromkeys(str(one) for one in notices)),
    )


def _digest(path: Path | Held[Sequence[Row]]) -> str:
    if isinstance(path, Held):
        return digest_of_rows(path)
    return digest_of_content(path / LOG if path.is_dir() else path)


def _with_texts(
    votes: Votes, queries: Source | None, collection: Source | None, notices: list[Notice]
) -> Votes:
    """Return the votes with the texts of other files in the place of their own.

    What a log carries is judged later: its candidates need their texts, too.
    """
    asked, shown = dict(votes.queries), dict(votes.passages)
    query_ids = _named(votes.log.queries, votes, "query_id")
    doc_ids = _named(votes.log.docs, votes, "doc_id")
    if queries is not None:
        known = read_queries(queries, notices=notices)
        asked |= {query: known[query] for query in query_ids if query in known}
    if collection is not None:
        shown |= read_texts(collection, doc_ids, notices=notices)
    for path, what, names, texts in (
        (queries, "queries", query_ids, asked),
        (collection, "documents", doc_ids, shown),
    ):
        missing = [name for name in names if name not in texts]
        if path is not None and missing:
            found = (
                f"lacks {len(missing):,} of the {len(names):,} {what} that are named, such as {missing[0]!r}"
            )
            notices.append(Notice(where=str(path), what=found))
    return replace(votes, queries=asked, passages=shown)


def _named(names: Sequence[str], votes: Votes, column: str) -> list[str]:
    """Return the ids of votes, and those in a column of what a log carries beside them."""
    carried = (row.get(column) for _, row in votes.carried)
    return list(dict.fromkeys([*names, *(one for one in carried if isinstance(one, str) and is_text(one))]))
