"""The given runs and original qrels, and what follows from them without judgments."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from prefjudge.core.pools import Pools, build_pools, chosen_qrels, sample_queries, select_queries
from prefjudge.core.runs import Heads, Order, Qrels
from prefjudge.evaluation.measures.measures import Measure, score_matrix
from prefjudge.evaluation.stability import judged_pools
from prefjudge.evaluation.submissions import find_entry, official_order
from prefjudge.findings.boards import RunOrder
from prefjudge.reading.given import expand, paths_of
from prefjudge.reading.held import Held
from prefjudge.reading.labels import read_judgments, read_qrels
from prefjudge.reading.leaderboards import read_leaderboard
from prefjudge.reading.opened import Reader, reading
from prefjudge.reading.pools import read_pool
from prefjudge.steps.reproduce.given import ORIGINAL, Given, file_of
from prefjudge.steps.reproduce.needs import CannotMakeError
from prefjudge.study.pools import load_inputs, load_pools
from prefjudge.study.store import generator

LEADERBOARD = "the leaderboard"


@dataclass(kw_only=True)
class RunsAndQrels:
    """Runs and original qrels, from files or from a study."""

    given: Given

    @property
    def runs(self) -> tuple[str | Path, ...]:
        """The run files, those of the study first."""
        return (*self._of_study("run"), *self.given.runs)

    @property
    def qrels(self) -> str | Path:
        """The original qrels: the study's, if it has any."""
        found = (*self._of_study("qrels"), *map(file_of, self.labels))
        if not found:
            raise CannotMakeError("the study has no qrels", "Give --qrels FILE.")
        return found[0]

    def _of_study(self, kind: str) -> tuple[str | Path, ...]:
        study = self.given.study
        if study is None:
            return ()
        with study.transaction(write=False) as db:
            return tuple(paths_of(load_inputs(db), kind, study.folder))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The qrels as ``NAME=FILE``; a single file without a name is ``original``."""
        named = [one if isinstance(one, Held) else str(one) for one in self.given.qrels]
        if len(named) == 1 and isinstance(named[0], Held):
            return (Held(ORIGINAL, named[0].content),)
        bare = len(named) == 1 and ("=" not in named[0] or Path(named[0]).exists())
        return (f"{ORIGINAL}={named[0]}",) if bare else tuple(named)

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Open the runs."""
        with reading(
            expand(self.runs), Order(self.given.order or Order.SCORE), [], **self.given.how
        ) as reader:
            yield reader

    @cached_property
    def heads(self) -> Heads:
        """The first two passages of each query of each run."""
        with self.reading() as reader:
            return reader.top(2)

    @cached_property
    def original(self) -> Qrels:
        """The original qrels."""
        return read_qrels(self.qrels, name=ORIGINAL)

    @cached_property
    def pools(self) -> Pools:
        """The first passage of each run and the qrel, of each query that has a qrel (section 4.1)."""
        labels = self.original
        known = {labels.queries[code] for code in labels.query[chosen_qrels(labels)].tolist()}
        return select_queries(build_pools(self.heads, labels, depth=1), tuple(known))

    @property
    def judged(self) -> Pools | None:
        """The pools that were judged, as the study or a file has them, else the judged documents."""
        given = self.given
        if given.study is not None:
            with given.study.transaction(write=False) as db:
                return load_pools(db)
        if given.pool is not None:
            return read_pool(given.pool)
        return judged_pools(read_judgments(votes), self.heads) if (votes := given.pooled_judgments) else None

    @cached_property
    def selected(self) -> Pools:
        """The judged pools, or those of a sample of queries where none was judged (section 4.1)."""
        judged = self.judged
        if judged is not None:
            return judged
        eligible = int((self.pools.sizes >= 2).sum())
        if not eligible:
            raise CannotMakeError("no query has two passages to compare", "Give more runs, or other qrels.")
        rng = generator(None, "sample", self.given.seed)
        return sample_queries(self.pools, min(self.given.sample, eligible), rng=rng)

    @cached_property
    def ranking(self) -> tuple[str, ...]:
        """The runs, best first by RR@10 under the original qrels of all queries."""
        with self.reading() as reader:
            scores = score_matrix(reader.judged(self.original), self.original, Measure.parse("RR@10"))
        means = dict(zip(scores.runs, scores.values.mean(axis=0).tolist(), strict=True))
        return tuple(sorted(scores.runs, key=lambda run: -means[run]))

    @cached_property
    def official_order(self) -> RunOrder:
        """The runs in the order of the leaderboard's CSV if it lists any, else by the original qrels."""
        entries = read_leaderboard(self.given.leaderboard) if self.given.leaderboard else ()
        if any(find_entry(run, entries) for run in self.ranking):
            return RunOrder(name=LEADERBOARD, runs=official_order(self.ranking, entries))
        return RunOrder(name="the original qrels of all queries", runs=self.ranking)
