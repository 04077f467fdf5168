"""How votes err in a plan: the share that is given, or estimated from votes and gold pairs, or usual."""

from enum import StrEnum
from pathlib import Path

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.judges.noise import (
    USUAL_ERROR,
    BradleyTerryNoise,
    ConstantNoise,
    MixedNoise,
    Noise,
    error_of_scale,
    log_weight_of_golds,
    scale_of_error,
)
from prefjudge.core.judges.verdicts import gather_verdicts
from prefjudge.core.resolving.scales import estimate_scales
from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.formats.labels.judgments import read_judgments
from prefjudge.formats.lines.problems import Notice
from prefjudge.gather.seeds import generator
from prefjudge.steps.plan.study import PlannedStudy


class NoiseModel(StrEnum):
    """How votes err."""

    BRADLEY_TERRY = "bradley-terry"
    """Close pairs are harder, as in reality."""
    CONSTANT = "constant"
    """All pairs are equally hard."""


def find_noise(
    kind: NoiseModel,
    error: float | None,
    opened: PlannedStudy,
    judgments: str | Path | None,
    notices: list[Notice],
    bad_workers: float,
) -> tuple[Noise, float, str]:
    """Return the model, its share of wrong votes on a random pair, and where that is from.

    That share is of the workers who are not bad. ``notices`` receives what is odd about the judgments, such
    as that they are simulated.

    Raises
    ------
    InputError
        A share is not one, the judgments cannot be read, or bad workers come on top of votes.
    """
    if not 0.0 <= bad_workers < 1.0:
        raise InputError(
            f"--bad-workers {bad_workers}: not a share", "Give a share from 0 to below 1, such as 0.3."
        )
    source = "given"
    if error is None:
        error, source = USUAL_ERROR, "assumed: usual for crowds on the best passages of a query"
        votes = opened.judgments if judgments is None else read_judgments(judgments, notices=notices)
        if votes is not None and len(votes):
            error, source = _estimated(votes, opened, own=judgments is None)
            if bad_workers:
                raise InputError(
                    "--bad-workers is for --error: the votes so far are of all workers, bad ones among them",
                    "Leave it out, or give --error: how often the other workers err.",
                )
    if not 0.0 < error < 0.5:
        raise InputError(
            f"--error {error}: not a share of wrong votes", "Give a share between 0 and 0.5; 0.33 is usual."
        )
    noise: Noise = BradleyTerryNoise(scale=scale_of_error(error))
    if kind is NoiseModel.CONSTANT:
        noise = ConstantNoise(error=error)
    return MixedNoise(honest=noise, bad=bad_workers) if bad_workers else noise, error, source


def _estimated(votes: Judgments, opened: PlannedStudy, *, own: bool) -> tuple[float, str]:
    """Return the share of wrong votes that the votes and gold pairs suggest, and where it is from."""
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
    return scales.error, words
