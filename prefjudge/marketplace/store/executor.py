"""Runs transactions on threads of its own, for requests that are served on the event loop."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from prefjudge.marketplace.store.marketplace import Marketplace, Transaction

T = TypeVar("T")
Act = Callable[[Transaction], T]

_RETRIED = ("40001", "40P01")  # SQLSTATE of a serialisation failure and of a deadlock
_TRIES = 5
_THREADS = {"sqlite": 2, "postgresql": 8}
_TOGETHER = 64


class Executor:
    """Runs transactions on threads of its own.

    SQLite has one writer at a time, so one thread writes, and runs what is waiting in one transaction.
    PostgreSQL handles concurrent writers itself, and gets several threads.
    """

    def __init__(self, marketplace: Marketplace) -> None:
        self.marketplace = marketplace
        self._pool = ThreadPoolExecutor(_THREADS[marketplace.database.dialect], thread_name_prefix="store")
        self._writer = _Writer(marketplace) if marketplace.database.dialect == "sqlite" else None

    async def run(self, act: Act[T], *, write: bool = True) -> T:
        """Call ``act`` in a transaction; its result is durable when this returns."""
        return await asyncio.wrap_future(self._submit(act, write))

    def call(self, act: Act[T], *, write: bool = True) -> T:
        """Call ``act`` in a transaction, for a caller that is not a coroutine."""
        return self._submit(act, write).result()

    def _submit(self, act: Act[T], write: bool) -> Future[T]:
        # a sweep writes, so a read that would begin with one also goes to the writer
        if self._writer is not None and (write or self.marketplace.sweep_is_due()):
            return self._writer.submit(act)
        return self._pool.submit(self._carry_out, act, write)

    def _carry_out(self, act: Act[T], write: bool) -> T:
        """Run one transaction; try again if the database breaks it off in a deadlock."""
        for _ in range(_TRIES - 1):
            try:
                with self.marketplace.transaction(write=write) as tx:
                    return act(tx)
            except Exception as error:
                if getattr(error, "sqlstate", None) not in _RETRIED:
                    raise
        with self.marketplace.transaction(write=write) as tx:
            return act(tx)

    def close(self) -> None:
        """Wait for the transactions under way, and end the threads."""
        if self._writer is not None:
            self._writer.close()
        self._pool.shutdown(wait=True)


class _Writer:
    """One thread that runs all waiting acts in one transaction, so that they share one write to disk."""

    def __init__(self, marketplace: Marketplace) -> None:
        self._marketplace = marketplace
        self._waiting: SimpleQueue[tuple[Act[Any], Future[Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="writer", daemon=True)
        self._thread.start()

    def submit(self, act: Act[T]) -> Future[T]:
        future: Future[T] = Future()
        self._waiting.put((act, future))
        return future

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join()

    def _serve(self) -> None:
        first = self._waiting.get()
        while first is not None:
            batch = [first]
            last = None
            while len(batch) < _TOGETHER:
                try:
                    last = self._waiting.get_nowait()
                except Empty:
                    break
                if last is None:
                    self._waiting.put(None)  # the end, once this batch is done
                    break
                batch.append(last)
            self._carry_out([one for one in batch if one[1].set_running_or_notify_cancel()])
            first = self._waiting.get()

    def _carry_out(self, batch: list[tuple[Act[Any], Future[Any]]]) -> None:
        outcomes: list[tuple[Any, Exception | None]] = []
        try:
            with self._marketplace.transaction() as tx:
                for act, _ in batch:
                    outcomes.append(_apart(tx, act))
        except Exception as error:  # the transaction itself failed: nothing was done for anybody
            outcomes = [(None, error)] * len(batch)
        for (_, future), (result, problem) in zip(batch, outcomes, strict=True):
            if problem is None:
                future.set_result(result)
            else:
                future.set_exception(problem)


def _apart(tx: Transaction, act: Act[T]) -> tuple[T | None, Exception | None]:
    """Carry out one act among others: if it raises, only its own changes are undone."""
    tx.run("SAVEPOINT act")
    outcome: tuple[T | None, Exception | None]
    try:
        outcome = act(tx), None
    except Exception as error:
        if tx.db.ended:  # a full disk, for instance: the other acts are undone, too
            raise
        tx.run("ROLLBACK TO act")
        outcome = None, error
    tx.run("RELEASE act")
    return outcome
