"""Material: what exhibits are made from. Each verb runs once, when its result is first needed."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from prefjudge.evaluation.boards import Board
from prefjudge.evaluation.tests import Correction
from prefjudge.reading.labels import ENDING
from prefjudge.steps.agreement import AgreementResult, agreement
from prefjudge.steps.audit import AuditResult, audit
from prefjudge.steps.compare import CompareResult, compare
from prefjudge.steps.reproduce.given import ORIGINAL, file_of
from prefjudge.steps.reproduce.needs import CannotMakeError, Need
from prefjudge.steps.reproduce.runs_and_qrels import LEADERBOARD, RunsAndQrels
from prefjudge.steps.resolve.resolve import resolve
from prefjudge.steps.score.score import ScoreResult, score
from prefjudge.steps.stability import StabilityResult, stability
from prefjudge.steps.winratio import WinRatioResult, winratio

PREFERENCE_FILE = "preference.qrels"


class Noticing(Protocol):
    """A verb's result that has notices."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What was odd."""


R = TypeVar("R", bound=Noticing)


@dataclass(kw_only=True)
class Material(RunsAndQrels):
    """What was given, and what the verbs made of it; ``folder`` is for files that are made on the way."""

    folder: Path
    notices: list[str] = field(default_factory=list)

    @property
    def own_files(self) -> tuple[str, ...]:
        """The files that are made on the way."""
        return (PREFERENCE_FILE, f"{Path(PREFERENCE_FILE).stem}.{ENDING}") if self.given.judgments else ()

    def has(self, need: Need) -> bool:
        """Return whether something that an exhibit needs was given."""
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
    def preference(self) -> tuple[str, ...]:
        """The preference qrels of a file of judgments, resolved as the paper does; a study has its own."""
        if self.given.pooled_judgments is None:
            return ()
        path = self.folder / PREFERENCE_FILE
        self._note(
            resolve(
                judgments=self.given.pooled_judgments, rule=["shallow-pooling"], sparse_rule="none", out=path
            )
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
        return self._score(leaderboard=self.given.leaderboard if listed else None)

    @cached_property
    def left_out(self) -> ScoreResult:
        """The boards by RR@10, and each run's scores without the passages that it alone contributed."""
        return self._score(leave_one_out=True)

    def _score(self, **options: Any) -> ScoreResult:
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
        given = self.given
        return self._note(
            winratio(
                given.study,
                runs=given.runs,
                judgments=given.judgments,
                qrels=file_of(self.labels[0]) if self.labels else None,
                against_qrel=given.against_qrel or self._best_pooled(),
                examples=3 if given.study else 0,
                pool=given.pool,
                order=given.order,
                seed=given.seed,
                **given.how,
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
        given = self.given
        return self._note(
            compare(
                runs=self.runs,
                qrels=[f"{ORIGINAL}={self.qrels}"],
                baseline=given.baseline,
                measure=["RR@100"],
                correction=Correction.BONFERRONI,
                order=given.order,
                seed=given.seed,
                **given.how,
            )
        )

    @cached_property
    def stable(self) -> StabilityResult:
        """The ranks under bootstrapping by RR and nDCG@10, under each label set, public and held out."""
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
    def agreed(self) -> AgreementResult:
        """The agreement of random halves of the queries, by RR and nDCG."""
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
    def audited(self) -> AuditResult:
        """The leaderboard's submissions, checked against its rules."""
        assert self.given.leaderboard is not None
        return self._note(audit(self.given.leaderboard))

    def _note(self, result: R) -> R:
        """Keep a verb's notices, each once."""
        self.notices += [one for one in result.notices if one not in self.notices]
        return result
