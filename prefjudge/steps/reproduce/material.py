"""What a paper's exhibits are made from: what was given, and what the verbs made of it, each asked once."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from prefjudge.core.pools import Pools, build_pools, chosen_qrels, sample_queries, select_queries
from prefjudge.core.runs import Heads, Order, OrderLike, Qrels
from prefjudge.evaluation.boards import Board
from prefjudge.evaluation.measures.measures import Measure, score_matrix
from prefjudge.evaluation.stability import judged_pools
from prefjudge.evaluation.submissions import find_entry, official_order
from prefjudge.evaluation.tests import Correction
from prefjudge.findings.boards import RunOrder
from prefjudge.reading.given import expand, paths_of
from prefjudge.reading.held import Held
from prefjudge.reading.labels import ENDING, read_judgments, read_qrels
from prefjudge.reading.leaderboards import read_leaderboard
from prefjudge.reading.lines import read_text
from prefjudge.reading.opened import reading
from prefjudge.reading.options import ReadOptions
from prefjudge.reading.pools import read_pool
from prefjudge.reading.runs.heads import Reader
from prefjudge.steps.agreement import AgreementResult, agreement
from prefjudge.steps.audit import AuditResult, audit
from prefjudge.steps.compare import CompareResult, compare
from prefjudge.steps.reproduce.papers import CannotMakeError, Need
from prefjudge.steps.resolve.resolve import resolve
from prefjudge.steps.score.score import ScoreResult, score
from prefjudge.steps.stability import StabilityResult, stability
from prefjudge.steps.winratio import WinRatioResult, winratio
from prefjudge.study.pools import load_inputs, load_pools
from prefjudge.study.store import Study, generator

ORIGINAL = "original"
LEADERBOARD = "the leaderboard"
PREFERENCE_FILE = "preference.qrels"


def file_of(named: str | Path) -> str | Path:
    """Return the file of ``NAME=FILE``, or of a bare name; what is in memory stays."""
    if isinstance(named, Held):
        return named
    text = str(named)
    return Path(text if "=" not in text or Path(text).exists() else text.partition("=")[2])


class Noticing(Protocol):
    """A verb's result that has notices."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What was odd."""


R = TypeVar("R", bound=Noticing)


@dataclass(kw_only=True)
class Material:
    """Files or a study, how runs are read, and what the verbs make of them when it is first needed.

    ``folder`` is for files that are made on the way. ``pooled_judgments`` are those of the pools, from which
    preference qrels are made: all judgments, unless they are simulated.
    """

    folder: Path
    study: Study | None
    runs: tuple[str | Path, ...]
    qrels: tuple[str | Path, ...]
    judgments: str | Path | None
    pooled_judgments: str | Path | None
    pool: str | Path | None
    leaderboard: Path | None
    held_out: Path | None
    against_qrel: str | Path | None
    baseline: tuple[str | Path, ...]
    draw: tuple[str | Path, ...]
    highlight: str
    order: OrderLike | None
    sample: int
    seed: int | None
    how: ReadOptions
    notices: list[str] = field(default_factory=list)

    def check_files(self) -> None:
        """Read the given files, so that a wrong one is reported once, before anything is made."""
        for labels in self.qrels:
            read_qrels(file_of(labels))
        if self.judgments is not None:
            read_judgments(self.judgments)
        if self.pool is not None:
            read_pool(self.pool)
        if self.leaderboard is not None:
            read_leaderboard(self.leaderboard)
        if self.held_out is not None:
            read_text(self.held_out)

    @property
    def all_runs(self) -> tuple[str | Path, ...]:
        """The run files, those of the study first."""
        return (*self._of_study("run"), *self.runs)

    @property
    def original_file(self) -> str | Path:
        """The original qrels: the study's, if it has any."""
        found = (*self._of_study("qrels"), *map(file_of, self.labels))
        if not found:
            raise CannotMakeError("the study has no qrels", "Give --qrels FILE.")
        return found[0]

    def _of_study(self, kind: str) -> tuple[str | Path, ...]:
        study = self.study
        if study is None:
            return ()
        with study.transaction(write=False) as db:
            return tuple(paths_of(load_inputs(db), kind, study.folder))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The qrels as ``NAME=FILE``; a single file without a name is ``original``."""
        named = [one if isinstance(one, Held) else str(one) for one in self.qrels]
        if len(named) == 1 and isinstance(named[0], Held):
            return (Held(ORIGINAL, named[0].content),)
        bare = len(named) == 1 and ("=" not in named[0] or Path(named[0]).exists())
        return (f"{ORIGINAL}={named[0]}",) if bare else tuple(named)

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Open the runs."""
        with reading(expand(self.all_runs), Order(self.order or Order.SCORE), [], **self.how) as reader:
            yield reader

    @cached_property
    def heads(self) -> Heads:
        """The first two passages of each query of each run."""
        with self.reading() as reader:
            return reader.top(2)

    @cached_property
    def original(self) -> Qrels:
        """The original qrels."""
        return read_qrels(self.original_file, name=ORIGINAL)

    @cached_property
    def pools(self) -> Pools:
        """The first passage of each run and the qrel, of each query that has a qrel (section 4.1)."""
        labels = self.original
        known = {labels.queries[code] for code in labels.query[chosen_qrels(labels)].tolist()}
        return select_queries(build_pools(self.heads, labels, depth=1), tuple(known))

    @property
    def judged(self) -> Pools | None:
        """The pools that were judged, as the study or a file has them, else the judged documents."""
        if self.study is not None:
            with self.study.transaction(write=False) as db:
                return load_pools(db)
        if self.pool is not None:
            return read_pool(self.pool)
        return judged_pools(read_judgments(votes), self.heads) if (votes := self.pooled_judgments) else None

    @cached_property
    def selected(self) -> Pools:
        """The judged pools, or those of a sample of queries where none was judged (section 4.1)."""
        judged = self.judged
        if judged is not None:
            return judged
        eligible = int((self.pools.sizes >= 2).sum())
        if not eligible:
            raise CannotMakeError("no query has two passages to compare", "Give more runs, or other qrels.")
        rng = generator(None, "sample", self.seed)
        return sample_queries(self.pools, min(self.sample, eligible), rng=rng)

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
        entries = read_leaderboard(self.leaderboard) if self.leaderboard else ()
        if any(find_entry(run, entries) for run in self.ranking):
            return RunOrder(name=LEADERBOARD, runs=official_order(self.ranking, entries))
        return RunOrder(name="the original qrels of all queries", runs=self.ranking)

    @property
    def own_files(self) -> tuple[str, ...]:
        """The files that are made on the way."""
        return (PREFERENCE_FILE, f"{Path(PREFERENCE_FILE).stem}.{ENDING}") if self.judgments else ()

    def has(self, need: Need) -> bool:
        """Return whether something that an exhibit needs was self."""
        match need:
            case Need.LEADERBOARD:
                return self.leaderboard is not None
            case Need.HELD_OUT:
                return self.held_out is not None
        given = {Need.RUNS: self.runs, Need.QRELS: self.qrels, Need.JUDGMENTS: self.judgments}
        return self.study is not None or bool(given.get(need))

    @cached_property
    def preference(self) -> tuple[str, ...]:
        """The preference qrels of a file of judgments, resolved as the paper does; a study has its own."""
        if self.pooled_judgments is None:
            return ()
        path = self.folder / PREFERENCE_FILE
        self._note(
            resolve(judgments=self.pooled_judgments, rule=["shallow-pooling"], sparse_rule="none", out=path)
        )
        return (f"preference={path}",)

    @cached_property
    def common(self) -> ScoreResult:
        """The boards by RR@10 over the queries that all label sets judge."""
        return self._score(common=True)

    @cached_property
    def scored(self) -> ScoreResult:
        """The boards by RR@10, each over all of its queries, beside the leaderboard if it lists a run."""
        listed = self.official_order.name == LEADERBOARD
        return self._score(leaderboard=self.leaderboard if listed else None)

    @cached_property
    def left_out(self) -> ScoreResult:
        """The boards by RR@10, and each run's scores without the passages that it alone contributed."""
        return self._score(leave_one_out=True)

    def _score(self, **options: Any) -> ScoreResult:
        return self._note(
            score(
                self.study,
                runs=self.runs,
                qrels=(*self.labels, *self.preference),
                measure=["RR@10"],
                judgments=self.pooled_judgments,
                pool=self.pool,
                order=self.order,
                seed=self.seed,
                write=False,
                **options,
                **self.how,
            )
        )

    def board(self, qrels: str | None = None) -> Board:
        """Return the board under the label set of this name; the original one by default."""
        boards = self.common.boards
        found = [one for one in boards if qrels is None or one.leaderboard.qrels == qrels]
        if not found:
            raise CannotMakeError(f"there is no board under {qrels} qrels", "Give --judgments or --study.")
        return found[0]

    @property
    def two_boards(self) -> tuple[Board, Board]:
        """The boards under the original and under the preference qrels, over their common queries."""
        return self.board(), self.board("preference")

    @cached_property
    def won(self) -> WinRatioResult:
        """The win ratios of all runs, and one run's top passages against the qrels."""
        return self._note(
            winratio(
                self.study,
                runs=self.runs,
                judgments=self.judgments,
                qrels=file_of(self.labels[0]) if self.labels else None,
                against_qrel=self.against_qrel or self._best_pooled(),
                examples=3 if self.study else 0,
                pool=self.pool,
                order=self.order,
                seed=self.seed,
                **self.how,
            )
        )

    def _best_pooled(self) -> str:
        """Return the best run that was pooled: of another one few top passages were judged."""
        pools = self.judged
        pooled = [run for run in self.ranking if pools and run in pools.sources]
        return next(iter(pooled or self.ranking))

    @cached_property
    def compared(self) -> CompareResult:
        """The runs compared with the baselines by RR@100, over the original qrels."""
        return self._note(
            compare(
                runs=self.all_runs,
                qrels=[f"{ORIGINAL}={self.original_file}"],
                baseline=self.baseline,
                measure=["RR@100"],
                correction=Correction.BONFERRONI,
                order=self.order,
                seed=self.seed,
                **self.how,
            )
        )

    @cached_property
    def stable(self) -> StabilityResult:
        """The ranks under bootstrapping by RR and nDCG@10, under each label set, public and held out."""
        return self._note(
            stability(
                self.study,
                runs=self.runs,
                qrels=self.labels,
                measure=["RR@100", "nDCG@10"],
                held_out=self.held_out,
                draw=self.draw,
                order=self.order,
                seed=self.seed,
                **self.how,
            )
        )

    @cached_property
    def agreed(self) -> AgreementResult:
        """The agreement of random halves of the queries, by RR and nDCG."""
        return self._note(
            agreement(
                self.study,
                runs=self.runs,
                qrels=self.labels,
                measure=["RR@100", "nDCG@10"],
                order=self.order,
                seed=self.seed,
                **self.how,
            )
        )

    @cached_property
    def audited(self) -> AuditResult:
        """The leaderboard's submissions, checked against its rules."""
        assert self.leaderboard is not None
        return self._note(audit(self.leaderboard))

    def _note(self, result: R) -> R:
        """Keep a verb's notices, each once."""
        self.notices += [one for one in result.notices if one not in self.notices]
        return result
