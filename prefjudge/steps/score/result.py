"""What scoring runs comes to."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prefjudge.evaluation.boards import Board, Leaderboard, NotJudged
from prefjudge.evaluation.correlation import RankCorrelation, SampleAgreement, TwoVotings
from prefjudge.evaluation.measures.preferences import PairAgreement, Pairings
from prefjudge.evaluation.stability import LeftOut
from prefjudge.evaluation.submissions import OfficialBoard
from prefjudge.evaluation.winratios import WinRatios
from prefjudge.findings.inputs import InputDigest
from prefjudge.reading.runs.health import RunHealth
from prefjudge.show.boards import left_out_tau, official_table, score_tables, scores_table, to_frame
from prefjudge.show.cells import Table
from prefjudge.show.results import Shown
from prefjudge.words import Rehearsal

if TYPE_CHECKING:
    from prefjudge.show.boards import DataFrame


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreResult(Shown):
    """Leaderboards and what was asked for beside them.

    ``boards`` has one entry for each measure and label set: the leaderboard with tiers, rank intervals, tie
    sensitivity and the scores of every query. ``tau`` compares each two boards of one measure, as printed and
    over the queries that both label sets judge. ``not_judged`` are runs that no board ranks yet, as their
    challenge is under way; ``judged_tops`` says how many of the top passages of the others people compared.
    ``left_out_votings`` is how far the orders of runs agree that other votes like these give, beside the
    ranks of ``left_out``. What needs judgments or was not asked for is None or empty.
    """

    boards: tuple[Board, ...]
    tau: tuple[RankCorrelation, ...]
    winratio: WinRatios | None
    pair_agreement: tuple[PairAgreement, ...]
    left_out: tuple[LeftOut, ...]
    samples: tuple[SampleAgreement, ...]
    health: tuple[RunHealth, ...]
    provenance: dict[str, str]
    inputs: tuple[InputDigest, ...]
    out: tuple[str, ...]
    rehearsal: Rehearsal | None
    notices: tuple[str, ...]
    official: OfficialBoard | None = None
    pairings: tuple[Pairings, ...] = ()
    cycles: int | None = None
    not_judged: tuple[NotJudged, ...] = ()
    judged_tops: tuple[NotJudged, ...] = ()
    left_out_votings: TwoVotings | None = None

    @property
    def left_out_tau(self) -> float:
        """Kendall's tau between the runs' scores and those without their own passages; NaN without either."""
        return left_out_tau(self.left_out)

    @property
    def leaderboards(self) -> tuple[Leaderboard, ...]:
        """The leaderboards alone."""
        return tuple(board.leaderboard for board in self.boards)

    def to_frame(self) -> "DataFrame":
        """Return every row of every board as a pandas DataFrame."""
        return to_frame(scores_table(self.leaderboards, provenance=self.provenance))

    def tables(self) -> tuple[Table, ...]:
        """Return the boards, and what was asked for beside them."""
        found = score_tables(
            self.boards,
            tau=self.tau,
            winratio=self.winratio,
            pair_agreement=self.pair_agreement,
            pairings=self.pairings,
            cycles=self.cycles,
            not_judged=self.not_judged,
            left_out=self.left_out,
            left_out_votings=self.left_out_votings,
            samples=self.samples,
            provenance=self.provenance,
        )
        return (*found, official_table(self.official)) if self.official else tuple(found)
