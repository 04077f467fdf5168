"""Material: what exhibits are made from. Each verb is asked once, whoever needs its answer first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from prefjudge.steps.papers.exhibits import CannotMakeError, Need

if TYPE_CHECKING:
    from prefjudge.core.runs import Order
    from prefjudge.evaluation.boards import Board
    from prefjudge.steps.agreement import AgreementResult
    from prefjudge.steps.audit import AuditResult
    from prefjudge.steps.compare import CompareResult
    from prefjudge.steps.pool import PoolResult
    from prefjudge.steps.score import ScoreResult
    from prefjudge.steps.score_official import RunOrder
    from prefjudge.steps.stability import StabilityResult
    from prefjudge.steps.winratio import WinRatioResult

ORIGINAL = "original"
PREFERENCE_FILE = "preference.qrels"


class Noticing(Protocol):
    """A result of a verb, which says what was odd."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What was odd."""


R = TypeVar("R", bound=Noticing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the user gave: files, a study, and how runs are read.

    ``pooled_judgments`` are those of the pools, which preference qrels are made of: all, unless simulated.
    """

    study: Path | None
    runs: tuple[str | Path, ...]
    qrels: tuple[str | Path, ...]
    judgments: Path | None
    pooled_judgments: Path | None
    pool: Path | None
    leaderboard: Path | None
    held_out: Path | None
    against_qrel: str | Path | None
    baseline: tuple[str | Path, ...]
    draw: tuple[str | Path, ...]
    highlight: str
    order: "Order | None"
    sample: int
    seed: int | None
    how: Mapping[str, Any]


@dataclass(kw_only=True)
class Material:
    """What was given, and what the verbs made of it. ``folder`` takes what has to be written on the way."""

    given: Given
    folder: Path
    notices: list[str] = field(default_factory=list)

    @property
    def own_files(self) -> tuple[str, ...]:
        """The files that are written on the way."""
        return (PREFERENCE_FILE,) if self.given.judgments else ()

    def has(self, need: Need) -> bool:
        """Return whether something is there to make an exhibit from."""
        given = self.given
        match need:
            case Need.RUNS:
                return bool(given.runs) or given.study is not None
            case Need.QRELS:
                return bool(given.qrels) or given.study is not None
            case Need.JUDGMENTS:
                return given.judgments is not None or given.study is not None
            case Need.LEADERBOARD:
                return given.leaderboard is not None
            case Need.HELD_OUT:
                return given.held_out is not None
            case Need.TEXTS:
                return given.study is not None

    @cached_property
    def selected(self) -> "PoolResult":
        """The sizes of the pools of the sampled queries, which have two passages and more."""
        eligible = sum(count for size, count in self.pooled_all.sizes.items() if size >= 2)
        if not eligible:
            raise CannotMakeError("no query has two passages to compare", "Give more runs.")
        return self._pooled(sample=min(self.given.sample, eligible), min_size=2)

    @cached_property
    def pooled_all(self) -> "PoolResult":
        """The sizes of the pools of all queries."""
        return self._pooled()

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The qrels, named: of one set, ``original=FILE``."""
        named = [str(one) for one in self.given.qrels]
        bare = len(named) == 1 and ("=" not in named[0] or Path(named[0]).exists())
        return (f"{ORIGINAL}={named[0]}",) if bare else tuple(named)

    @cached_property
    def preference(self) -> tuple[str, ...]:
        """The preference qrels of a file of judgments, resolved as the paper does; a study has its own."""
        from prefjudge.steps.resolve import resolve

        if self.given.pooled_judgments is None:
            return ()
        path = self.folder / PREFERENCE_FILE
        self._note(resolve(judgments=self.given.pooled_judgments, rule=["shallow-pooling"], out=path))
        return (f"preference={path}",)

    @cached_property
    def scored(self) -> "ScoreResult":
        """The boards by RR@10 over the queries that all label sets judge."""
        return self._score(common=True, leave_one_out=True)

    @cached_property
    def official(self) -> "ScoreResult":
        """The boards by RR@10, each over all of its queries, beside the leaderboard's CSV."""
        return self._score(leaderboard=self.given.leaderboard)

    @property
    def official_order(self) -> "RunOrder":
        """The runs in the leaderboard's order where its CSV is there, else by the original qrels."""
        from prefjudge.steps.score_official import run_order

        boards = self.scored.boards
        return run_order(self.given.leaderboard or boards[0].leaderboard.qrels, boards)

    def _score(self, **options: Any) -> "ScoreResult":
        from prefjudge.steps.score import score

        given = self.given
        return self._note(
            score(
                given.study,
                runs=given.runs,
                qrels=(*self.labels, *self.preference),
                measure=["RR@10"],
                judgments=given.pooled_judgments,
                pool=given.pool,
                order=given.order,
                seed=given.seed,
                write=False,
                **options,
                **given.how,
            )
        )

    def board(self, qrels: str | None = None) -> "Board":
        """Return the board under the label set of this name; the original one by default."""
        boards = self.scored.boards
        found = [one for one in boards if qrels is None or one.leaderboard.qrels == qrels]
        if not found:
            raise CannotMakeError(f"there is no board under {qrels} qrels", "Give --judgments or --study.")
        return found[0]

    @property
    def two_boards(self) -> tuple["Board", "Board"]:
        """The boards under the original and under the preference qrels, over their common queries."""
        return self.board(), self.board("preference")

    @cached_property
    def best(self) -> tuple[str, ...]:
        """The runs, best first by RR@10 under the original qrels."""
        return tuple(row.run for row in self.board().leaderboard.ranked)

    @cached_property
    def won(self) -> "WinRatioResult":
        """The win ratios of all runs, and one run's top passages against the qrels."""
        from prefjudge.steps.winratio import winratio

        given = self.given
        return self._note(
            winratio(
                given.study,
                runs=given.runs,
                judgments=given.judgments,
                qrels=file_of(self.labels[0]) if self.labels else None,
                against_qrel=given.against_qrel or self.best[0],
                examples=3 if given.study else 0,
                pool=given.pool,
                order=given.order,
                seed=given.seed,
                **given.how,
            )
        )

    def _pooled(self, **options: Any) -> "PoolResult":
        from prefjudge.steps.pool import pool

        given = self.given
        runs, qrels = self._files()
        return pool(runs=runs, qrels=qrels, order=given.order, depth=1, **options, **given.how)

    def _files(self) -> tuple[Sequence[str | Path], Path]:
        """Return the run files and the original qrels, of the study where there is one."""
        from prefjudge.steps.inputs import paths_of
        from prefjudge.study.pooling import load_inputs
        from prefjudge.study.study import Study

        if self.given.study is None:
            return self.given.runs, Path(file_of(self.labels[0]))
        opened = Study(self.given.study)
        with opened.transaction(write=False) as db:
            inputs = load_inputs(db)
        own = paths_of(inputs, "qrels", opened.folder)
        if not own and not self.labels:
            raise CannotMakeError("the study has no qrels", "Give --qrels FILE.")
        return (*paths_of(inputs, "run", opened.folder), *self.given.runs), (
            *own,
            *map(file_of, self.labels),
        )[0]

    @cached_property
    def compared(self) -> "CompareResult":
        """The runs compared with the baselines by RR@100, over the original qrels."""
        from prefjudge.steps.compare import compare

        given = self.given
        runs, qrels = self._files()
        return self._note(
            compare(
                runs=runs,
                qrels=[f"{ORIGINAL}={qrels}"],
                baseline=given.baseline,
                measure=["RR@100"],
                correction="bonferroni",
                order=given.order,
                seed=given.seed,
                **given.how,
            )
        )

    @cached_property
    def stable(self) -> "StabilityResult":
        """The ranks under bootstrapping by RR and nDCG@10, under each label set, public and held out."""
        from prefjudge.steps.stability import stability

        given = self.given
        return self._note(
            stability(
                given.study,
                runs=given.runs,
                qrels=self.labels,
                measure=["RR@100", "nDCG@10"],
                held_out=given.held_out,
                draw=given.draw,
                order=given.order,
                seed=given.seed,
                **given.how,
            )
        )

    @cached_property
    def agreed(self) -> "AgreementResult":
        """The agreement of random halves of the queries, by RR and nDCG."""
        from prefjudge.steps.agreement import agreement

        given = self.given
        return self._note(
            agreement(
                given.study,
                runs=given.runs,
                qrels=self.labels,
                measure=["RR@100", "nDCG@10"],
                order=given.order,
                seed=given.seed,
                **given.how,
            )
        )

    @cached_property
    def audited(self) -> "AuditResult":
        """The leaderboard's submissions, held against its rules."""
        from prefjudge.steps.audit import audit

        assert self.given.leaderboard is not None
        return self._note(audit(self.given.leaderboard))

    def _note(self, result: R) -> R:
        """Keep what a verb noticed, once."""
        self.notices += [one for one in result.notices if one not in self.notices]
        return result


def file_of(named: str | Path) -> Path:
    """Return the file of ``NAME=FILE``, or of a bare name."""
    text = str(named)
    return Path(text if "=" not in text or Path(text).exists() else text.partition("=")[2])
