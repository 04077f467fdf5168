"""The boards of a site: of the labels, of the best-known answers, and of each version of these before."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from prefjudge.core.pooling.qrels import JudgedRanks, Qrels
from prefjudge.evaluation.leaderboards.boards import Board, label_board
from prefjudge.evaluation.scoring.judged_pairs import relabel, union_documents
from prefjudge.evaluation.scoring.measures import Measure
from prefjudge.gather.readers import Reader
from prefjudge.gather.score_inputs import ScoreInputs, official_qrels
from prefjudge.steps.status.history import History
from prefjudge.study.history import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionBoards:
    """The boards under a version of the answers, one for each measure, of the runs that were there then.

    ``version`` is 0 and ``made`` None where ``resolve`` keeps one version of the answers only.
    """

    version: int
    made: str | None
    boards: tuple[Board, ...]

    @property
    def first(self) -> Board:
        """The board by the study's first measure, which runs are followed by."""
        return self.boards[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllBoards:
    """The boards under the labels that were pooled, and under each version of the answers, the last one last.

    A version of whose runs none is shown has no board.

    ``top`` and ``top_ten`` say how many runs have a best-known answer to a query first, or among their first
    ten; ``runs`` how many were looked at.
    """

    labels: tuple[Board, ...]
    versions: tuple[VersionBoards, ...]
    top: Mapping[str, int]
    top_ten: Mapping[str, int]
    runs: tuple[str, ...]

    @property
    def current(self) -> VersionBoards:
        """The boards under the answers as they are."""
        return self.versions[-1]


def make_boards(
    found: ScoreInputs,
    answers: Mapping[int, Qrels],
    made: Mapping[int, str | None],
    joined: Mapping[str, int],
    reader: Reader,
) -> AllBoards:
    """Make all boards from one reading of the runs, each as ``score`` makes it.

    Parameters
    ----------
    found : ScoreInputs
        The runs and the label sets: those that were pooled, and the best-known answers last.
    answers : mapping of int to Qrels
        The versions of the answers; the last one is among the label sets of ``found``.
    made : mapping of int to str or None
        When each version was made.
    joined : mapping of str to int
        The first version at which each run was there.
    reader : Reader
        Of the runs of ``found``.
    """
    measures = [Measure.parse(text) for text in found.measures(())]
    labels, official = found.qrels[:-1], official_qrels(found)
    pooled = official if labels and official and official.name == labels[0].name else None
    sets = [*labels, *answers.values()]
    documents = union_documents(sets)
    ranks = reader.judged(documents)

    def boards(one: Qrels, placed: Sequence[JudgedRanks], *, first: bool) -> Iterator[Board]:
        top = None if first or not labels else labels[0]
        for measure in measures:
            yield label_board(placed, one, measure, top=top, pooled=pooled)

    of_labels = tuple(
        board
        for number, one in enumerate(labels)
        for board in boards(one, relabel(ranks, documents, one), first=not number)
    )
    versions = []
    latest = max(answers)
    for version, one in answers.items():
        there = [run for run in ranks if joined.get(run.run, 0) <= version]
        if not there:
            continue  # the runs of its day are not shown
        fresh = boards(one, relabel(there, documents, one), first=not labels)
        versions.append(
            VersionBoards(
                version=version,
                made=made.get(version),
                boards=tuple(fresh if version == latest else map(_without_scores, fresh)),
            )
        )
    last = answers[latest]
    top, ten = _placed(relabel(ranks, documents, last), last)
    return AllBoards(
        labels=of_labels,
        versions=tuple(versions),
        top=top,
        top_ten=ten,
        runs=tuple(one.run for one in ranks),
    )


def _without_scores(board: Board) -> Board:
    """Return a past board without its queries' scores: those of dozens of boards would fill the memory."""
    nothing = np.zeros(len(board.scores.queries), dtype=np.bool_)
    return replace(board, scores=board.scores.where(nothing), perfect=None)


def _placed(ranks: Sequence[JudgedRanks], answers: Qrels) -> tuple[dict[str, int], dict[str, int]]:
    """Count the runs that have a best answer to each query first, and among the first ten."""
    counts = np.zeros((2, len(answers.queries)), dtype=np.int64)
    for one in ranks:
        for row, depth in enumerate((1, 10)):
            counts[row, np.unique(one.query[one.position <= depth])] += 1
    first, ten = (dict(zip(answers.queries, row, strict=True)) for row in counts.tolist())
    return first, ten


def first_versions(findings: Mapping[tuple[str, str], Finding], past: History) -> dict[str, int]:
    """Return the version of the answers at which each run was first there.

    A run of the pools was there from the beginning, one of a challenge from the version that this made. Of a
    run that brought nothing new to any of them nobody knows when it came: it is there from the beginning.
    """
    of_challenge = {one.challenge or 0: one.version for one in past.versions}
    found: dict[str, int] = {}
    for one in findings.values():
        version = of_challenge.get(one.challenge, one.challenge and len(past.versions) + 1)
        for source in one.sources:
            found[source] = min(found.get(source, version), version)
    return found
