"""Reading runs: one way of doing it for all that a step wants to know of them."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.core.runs import Order
from prefjudge.errors import InputError

if TYPE_CHECKING:
    from prefjudge.core.qrels import JudgedRanks, Qrels
    from prefjudge.core.runs import Heads
    from prefjudge.formats.problems import Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Runs, and how they are read: by which order, how strictly, by how many processes, with which copies."""

    runs: tuple[Path, ...]
    order: Order
    trust: bool
    on_duplicate: str
    cache: Path | None
    executor: Executor | None
    notices: "list[Notice]"

    def top(self, depth: int) -> "Heads":
        """Return the first documents of each query of each run."""
        from prefjudge.engines.files import top

        return top(
            self.runs,
            k=depth,
            order=self.order,
            trust=self.trust,
            on_duplicate=self.on_duplicate,
            cache=self.cache,
            executor=self.executor,
            notices=self.notices,
        )

    def judged(self, qrels: "Qrels") -> "list[JudgedRanks]":
        """Return where each run placed the documents of the qrels."""
        from prefjudge.engines.files import judged

        return judged(
            self.runs,
            qrels,
            order=self.order,
            trust=self.trust,
            on_duplicate=self.on_duplicate,
            cache=self.cache,
            executor=self.executor,
            notices=self.notices,
        )

    def judged_all(self, sets: "Sequence[Qrels]") -> "list[list[JudgedRanks]]":
        """Return the same for several label sets, from one reading of the runs."""
        from prefjudge.evaluation.compared import relabel, union_documents

        if len(sets) < 2:
            return [self.judged(labels) for labels in sets]
        documents = union_documents(sets)
        ranks = self.judged(documents)
        found = [relabel(ranks, documents, labels) for labels in sets]
        # where a run has nothing of a set, the engine knows whether that is a mistake, and which
        return [
            placed if all(one.judged.size for one in placed) else self.judged(labels)
            for placed, labels in zip(found, sets, strict=True)
        ]


@contextmanager
def reading(
    runs: tuple[Path, ...],
    order: Order,
    *,
    trust: bool = False,
    on_duplicate: str = "error",
    workers: int = 1,
    cache: Path | None = None,
    notices: "list[Notice]",
) -> Iterator[Reader]:
    """Yield a reader of the runs; more than one worker is a pool of processes, and changes no result.

    Raises
    ------
    InputError
        ``on_duplicate`` is none of the choices.
    """
    from prefjudge.formats.runs import OnDuplicate

    if on_duplicate not in set(OnDuplicate):
        raise InputError(
            f"there is no choice {on_duplicate!r} for a document listed twice",
            f"Choose one of: {', '.join(OnDuplicate)}.",
        )

    def reader(executor: Executor | None) -> Reader:
        return Reader(
            runs=runs,
            order=order,
            trust=trust,
            on_duplicate=on_duplicate,
            cache=cache,
            executor=executor,
            notices=notices,
        )

    if min(workers, len(runs)) < 2:
        yield reader(None)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(min(workers, len(runs)), mp_context=get_context("spawn")) as pool:
        yield reader(pool)
