"""How votes err in a plan: the share that is given, or estimated from votes and gold pairs, or usual."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from prefjudge.core.judgments import Judgments, gather_verdicts
from prefjudge.core.planning.plans import LikelyStudy
from prefjudge.core.resolving.scales import Scales, estimate_scales, prior_scales
from prefjudge.core.strategies import (
    USUAL_ERROR,
    BradleyTerryNoise,
    ConstantNoise,
    MixedNoise,
    Noise,
    error_of_scale,
    log_weight_of_golds,
    scale_of_error,
)
from prefjudge.errors import InputError
from prefjudge.findings.inputs import generator
from prefjudge.reading.files import Notice
from prefjudge.reading.labels import read_judgments
from prefjudge.steps.plan.study import PlannedStudy
from prefjudge.words import many


class NoiseModel(StrEnum):
    """How votes err."""

    BRADLEY_TERRY = "bradley-terry"
    """Close pairs are harder, as in reality."""
    CONSTANT = "constant"
    """All pairs are equally hard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongVotes:
    """The share of wrong votes on a random pair, and where it is from; ``scales`` is how well it is known."""

    share: float
    source: str
    scales: Scales | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        """The least and the greatest share of nine crowds of ten; None where it was given."""
        return None if self.scales is None else self.scales.interval()

    def of_studies(self, count: int) -> list[float]:
        """Return the share of so many studies, evenly spread over what is probable."""
        if self.scales is None:
            return [self.share] * count
        found: list[float] = self.scales.errors_at((np.arange(count) + 0.5) / count).tolist()
        return found


def find_wrong_votes(
    error: float | None,
    opened: PlannedStudy,
    judgments: str | Path | None,
    notices: list[Notice],
    bad_workers: float,
) -> WrongVotes:
    """Return the share of wrong votes, of the workers who are not bad.

    ``notices`` receives what is odd about the judgments, such as that they are simulated.

    Raises
    ------
    InputError
        A share is not one, the judgments cannot be read, or bad workers come on top of votes.
    """
    if not 0.0 <= bad_workers < 1.0:
        raise InputError(
            f"--bad-workers {bad_workers}: not a share", "Give a share from 0 to below 1, such as 0.3."
        )
    if error is not None:
        if not 0.0 < error < 0.5:
            raise InputError(
                f"--error {error}: not a share of wrong votes",
                "Give a share between 0 and 0.5; 0.33 is usual.",
            )
        return WrongVotes(share=error, source="given")
    votes = opened.judgments if judgments is None else read_judgments(judgments, notices=notices)
    if votes is None or not len(votes):
        source = "assumed: usual for crowds on the best passages of a query"
        return WrongVotes(share=USUAL_ERROR, source=source, scales=prior_scales())
    if bad_workers:
        raise InputError(
            "--bad-workers is for --error: the votes so far are of all workers, bad ones among them",
            "Leave it out, or give --error: how often the other workers err.",
        )
    return _estimated(votes, opened, own=judgments is None)


def likely_studies(
    kind: NoiseModel,
    wrong: WrongVotes,
    bad_workers: float,
    count: int,
    reissued: Callable[[float], float],
) -> list[LikelyStudy]:
    """Return so many studies, each with a crowd of its own."""
    found = []
    for error in wrong.of_studies(count):
        noise: Noise = BradleyTerryNoise(scale=scale_of_error(float(np.clip(error, 1e-3, 0.499))))
        if kind is NoiseModel.CONSTANT:
            noise = ConstantNoise(error=error)
        if bad_workers:
            noise = MixedNoise(honest=noise, bad=bad_workers)
        found.append(LikelyStudy(noise=noise, error=error, reissued=reissued(error)))
    return found


def _estimated(votes: Judgments, opened: PlannedStudy, *, own: bool) -> WrongVotes:
    """Return the share of wrong votes that the votes and gold pairs suggest."""
    right, missed = (opened.golds.right, opened.golds.missed) if own else (0, 0)

    def log_weight(scale: float) -> float:
        return log_weight_of_golds(error_of_scale(scale), right=right, missed=missed)

    rng = generator(opened.study, "plan")
    scales = estimate_scales(votes, rng=rng, log_weight=log_weight)
    repeats = len(votes) - gather_verdicts(votes).n_pairs
    golds = (
        f" and {many(right + missed, 'answer')} to gold pairs, {missed:,} of them wrong"
        if right + missed
        else ""
    )
    words = f"estimated from {many(len(votes), 'judgment')}, {repeats:,} of them repeats,{golds}".rstrip(",")
    if not scales.told:
        words += ", which tell little: it rests on what crowds usually show"
    return WrongVotes(share=scales.error, source=words, scales=scales)
