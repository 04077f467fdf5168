"""Judgments as the store's rows give them: the texts of a row are codes before the next rows are read."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.runs import Names, encode

COLUMNS = "j.query_id, j.left_id, j.right_id, j.choice, j.strength, j.worker_id"
"""What `LogColumns.add` takes, of the judgments ``j``."""


class LogColumns:
    """Judgments whose columns come in parts."""

    def __init__(self) -> None:
        self._queries, self._docs, self._workers = Names(), Names(), Names()
        self._parts = [np.zeros((6, 0), dtype=np.int32)]

    def add(
        self, query: Sequence[str], left: Sequence[str], right: Sequence[str], *others: Sequence[Any]
    ) -> None:
        """Add some rows; the other columns are the choices, the strengths and the workers."""
        choice, strength, worker = others
        self._parts.append(
            np.stack(
                [
                    self._queries.encode(query),
                    self._docs.encode(left),
                    self._docs.encode(right),
                    np.array(choice, dtype=np.int32),
                    np.array(strength, dtype=np.int32),
                    self._workers.encode(worker),
                ]
            )
        )

    def judgments(self, *, sides: bool, workers: tuple[str, ...] | None = None) -> Judgments:
        """Return all of them, in the order in which they came.

        Parameters
        ----------
        sides : bool
            Whether left and right are those of a screen.
        workers : tuple of str, optional
            The vocabulary of workers; by default those who judged.
        """
        query, left, right, choice, strength, worker = np.concatenate(self._parts, axis=1)
        (queries, of_query), (docs, of_doc) = self._queries.sorted(), self._docs.sorted()
        names, of_worker = self._workers.sorted()
        if workers is not None:
            names, of_worker = workers, encode(tuple(self._workers), workers)
        return Judgments(
            queries=queries,
            docs=docs,
            workers=names,
            query=of_query[query],
            left=of_doc[left],
            right=of_doc[right],
            choice=choice.astype(np.int8),
            strength=strength.astype(np.int8),
            worker=of_worker[worker],
            sides=sides,
        )
