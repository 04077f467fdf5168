"""Exports: judgments, and the answers found in them, as the rows that other programs read."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from prefjudge.core.judgments import Judgments
from prefjudge.core.runs import Qrels
from prefjudge.reading.votes.tables import NO_SIDES, SIDES
from prefjudge.registers import Register

ExportRow: TypeAlias = dict[str, Any]
_WORDS = {1: "left", -1: "right", 0: "tie"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What there is to export: judgments and texts by id, and for forms ``of_answers`` the best answers."""

    log: Judgments
    queries: Mapping[str, str]
    passages: Mapping[str, str]
    answers: Qrels | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportForm:
    """A form of export.

    Attributes
    ----------
    rows : callable
        Makes the rows; all have the same columns.
    of_answers : bool
        Whether the rows are of the best answers, and not of judgments.
    ties : bool
        Whether it has a word for ties; otherwise they are left out, before ``rows`` sees them.
    texts : bool
        Whether it shows the texts, so that each query and document needs one.
    document : callable
        Makes what a ``.json`` file holds of the rows; a list of them by default.
    line : callable, optional
        Makes a line of a ``.txt`` or ``.qrels`` file of a row, and of the word in TREC's second column.
    """

    rows: Callable[[Exported], Iterable[ExportRow]]
    of_answers: bool = False
    ties: bool = True
    texts: bool = False
    document: Callable[[Iterable[ExportRow]], Any] = list
    line: Callable[[ExportRow, str], str] | None = None


def judged(of: Exported) -> Iterator[tuple[str, str, str, int, str]]:
    """Yield each judgment: query, left, right, choice, and the worker or nothing."""
    log = of.log
    columns = (log.query, log.left, log.right, log.choice, log.worker)
    for query, left, right, choice, worker in zip(*(column.tolist() for column in columns), strict=True):
        name = log.workers[worker] if worker >= 0 else ""
        yield log.queries[query], log.docs[left], log.docs[right], choice, name


def _with_sides(rows: Callable[[Exported], Iterable[ExportRow]]) -> Callable[[Exported], Iterator[ExportRow]]:
    """Make rows say where left and right are not those of a screen, so that nothing is drawn from them."""

    def said(of: Exported) -> Iterator[ExportRow]:
        for row in rows(of):
            yield row if of.log.sides else {**row, SIDES: NO_SIDES}

    return said


def _label_studio(of: Exported) -> Iterator[ExportRow]:
    """Tasks of the template for pairs, a task for each pair as it was shown, with what was chosen."""
    tasks: dict[tuple[str, str, str], list[ExportRow]] = {}
    for query, left, right, choice, worker in judged(of):
        result = {
            "type": "pairwise",
            "from_name": "preference",
            "to_name": "answer1,answer2",
            "value": {"selected": _WORDS[choice]},
            "meta": {"worker": worker},
        }
        tasks.setdefault((query, left, right), []).append({"result": [result]})
    for (query, left, right), annotations in tasks.items():
        shown = {"prompt": of.queries[query], "answer1": of.passages[left], "answer2": of.passages[right]}
        ids = {"query_id": query, "left_id": left, "right_id": right}
        ids |= {} if of.log.sides else {SIDES: NO_SIDES}
        yield {"data": shown | ids, "annotations": annotations}


def _chosen(of: Exported) -> Iterator[ExportRow]:
    """What reward models are trained on."""
    for query, left, right, choice, worker in judged(of):
        won, lost = (left, right) if choice > 0 else (right, left)
        yield {
            "prompt": of.queries[query],
            "chosen": of.passages[won],
            "rejected": of.passages[lost],
            "query_id": query,
            "chosen_id": won,
            "rejected_id": lost,
            "worker": worker,
        }


def _choix(of: Exported) -> Iterator[ExportRow]:
    """Winner and loser, also as the numbers of a query's documents, which choix takes."""
    numbers: dict[str, dict[str, int]] = {}
    for query, left, right, choice, worker in judged(of):
        won, lost = (left, right) if choice > 0 else (right, left)
        items = numbers.setdefault(query, {})
        winner_item, loser_item = (items.setdefault(doc, len(items)) for doc in (won, lost))
        yield {
            "query": query,
            "winner": won,
            "loser": lost,
            "winner_item": winner_item,
            "loser_item": loser_item,
            "worker": worker,
        }


def _crowd_kit(of: Exported) -> Iterator[ExportRow]:
    for query, left, right, choice, worker in judged(of):
        label = left if choice > 0 else right
        yield {"query": query, "worker": worker, "left": left, "right": right, "label": label}


def _evalica(of: Exported) -> Iterator[ExportRow]:
    for query, left, right, choice, worker in judged(of):
        yield {"query": query, "left": left, "right": right, "winner": _WORDS[choice], "worker": worker}


def _answered(names: tuple[str, str, str]) -> Callable[[Exported], Iterator[ExportRow]]:
    def rows(of: Exported) -> Iterator[ExportRow]:
        assert of.answers is not None
        found = of.answers
        columns = (found.query.tolist(), found.doc.tolist(), found.grade.tolist())
        for query, doc, grade in zip(*columns, strict=True):
            yield dict(zip(names, (found.queries[query], found.docs[doc], int(grade)), strict=True))

    return rows


def _nested(rows: Iterable[ExportRow]) -> dict[str, dict[str, int]]:
    """Grades by document, by query: what ranx and pytrec_eval read from JSON."""
    found: dict[str, dict[str, int]] = {}
    for query, doc, grade in (row.values() for row in rows):
        found.setdefault(query, {})[doc] = grade
    return found


def _trec(row: ExportRow, second: str) -> str:
    query, doc, grade = row.values()
    return f"{query} {second} {doc} {grade}"


EXPORTS: Register[ExportForm] = Register(
    "export",
    ExportForm,
    {
        "label-studio": ExportForm(rows=_label_studio, ties=False, texts=True),
        "chosen": ExportForm(rows=_chosen, ties=False, texts=True),
        "choix": ExportForm(rows=_choix, ties=False),
        "crowd-kit": ExportForm(rows=_with_sides(_crowd_kit), ties=False),
        "evalica": ExportForm(rows=_with_sides(_evalica)),
        "ranx": ExportForm(
            rows=_answered(("q_id", "doc_id", "score")), of_answers=True, document=_nested, line=_trec
        ),
        "ir-measures": ExportForm(
            rows=_answered(("query_id", "doc_id", "relevance")), of_answers=True, document=_nested, line=_trec
        ),
    },
)
"""The forms of export, ours and other packages'."""
