"""A study in a notebook: its votes and queries as DataFrames, and the verbs that make answers of them."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from prefjudge.findings.arguments import checked
from prefjudge.findings.judgments import gather_judgments
from prefjudge.show.cells import Column, Table
from prefjudge.show.tables import to_frame
from prefjudge.study import store
from prefjudge.study.pools import load_pools, load_queries

if TYPE_CHECKING:
    from pandas import DataFrame

    from prefjudge.steps.resolve import ResolveResult
    from prefjudge.steps.score import ScoreResult


class Study(store.Study):
    """An open study, by its folder, as every verb takes it."""

    def votes(self) -> "DataFrame":
        """Return the judgments that count, in the order of the log, workers by pseudonyms.

        Columns: ``query_id``, ``left``, ``right``, ``preferred`` (missing for a tie), and ``worker`` (missing
        where not known).
        """
        log = gather_judgments(self, None, verb="votes").log
        names = (*log.workers, None)  # the code of nobody is -1
        rows = tuple(
            (
                log.queries[query],
                log.docs[left],
                log.docs[right],
                {1: log.docs[left], -1: log.docs[right]}.get(choice),
                names[worker],
            )
            for query, left, right, choice, worker in zip(
                *(one.tolist() for one in (log.query, log.left, log.right, log.choice, log.worker)),
                strict=True,
            )
        )
        columns = ("query_id", "left", "right", "preferred", "worker")
        return to_frame(Table(title="Votes", columns=tuple(Column(name=name) for name in columns), rows=rows))

    def queries(self) -> "DataFrame":
        """Return each pooled query: ``query_id``, ``text`` and how many ``candidates`` it has."""
        with self.transaction(write=False) as db:
            pools, texts = load_pools(db, newcomers=True), load_queries(db)
        sizes = Counter(pools.query.tolist())
        rows = tuple((name, texts.get(name), sizes[code]) for code, name in enumerate(pools.queries))
        columns = (Column(name="query_id"), Column(name="text"), Column(name="candidates", kind="integer"))
        return to_frame(Table(title="Queries", columns=columns, rows=rows))

    def resolve(self, **options: Any) -> "ResolveResult":
        """Resolve the judgments into preference qrels: `prefjudge.resolve` of this study."""
        from prefjudge.steps.resolve import resolve

        return checked(resolve)(self, **options)

    def score(self, **options: Any) -> "ScoreResult":
        """Score the runs under the study's labels: `prefjudge.score` of this study."""
        from prefjudge.steps.score import score

        return checked(score)(self, **options)
