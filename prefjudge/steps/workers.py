"""Says how reliable each worker is, by what the others chose, by a model of them all, and by side."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.steps.votes import gather_votes

if TYPE_CHECKING:
    import numpy as np

    from prefjudge.core.judgments import Judgments


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
    """One worker; NaN where the judgments do not tell.

    ``agreement`` is the share of judgments that agree with the majority of the others on the same pair, of
    ``compared`` such judgments. ``accuracy`` is Dawid and Skene's chance to be right. ``reliability`` and
    ``left_when_guessing`` are those of a noisy Bradley-Terry model: how often the worker looks, and where a
    guess goes. ``left_rate`` is the share of judgments for the left, ``left_p`` how surprising it is.
    """

    worker: str
    judgments: int
    compared: int
    agreement: float
    accuracy: float
    reliability: float
    left_when_guessing: float
    left_rate: float
    left_p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkersResult:
    """All workers, from the least to the most reliable, and what they share.

    ``alpha`` is Krippendorff's, over the ``repeated`` pairs with more than one judgment. ``unnamed``
    judgments have no worker.
    """

    workers: tuple[WorkerRow, ...]
    judgments: int
    unnamed: int
    pairs: int
    repeated: int
    alpha: float
    left_rate: float
    left_p: float
    notices: tuple[str, ...]


def workers(
    study: Path | None = None, *, judgments: Path | None = None, golds: Path | None = None
) -> WorkersResult:
    """Estimate how reliable each worker is.

    Parameters
    ----------
    study : Path, optional
        The study whose judgments are looked at; those of excluded work are not among them.
    judgments : Path, optional
        A file of judgments instead: query, document, document, the preferred of the two, the worker. The
        first document counts as the one on the left.
    golds : Path, optional
        Pairs whose answer is known, in the same form: they stay fixed in the model of Dawid and Skene.

    Raises
    ------
    InputError
        A file cannot be read, or neither a study nor a file is given.
    StudyError
        The study has no judgments.
    """
    import numpy as np

    from prefjudge.core.reliability import krippendorff_alpha, side_bias
    from prefjudge.core.verdicts import gather_verdicts

    votes = gather_votes(study, judgments, verb="workers")
    verdicts = gather_verdicts(votes.log)
    sides = side_bias(votes.log)
    return WorkersResult(
        workers=_rows(votes.log, golds),
        judgments=len(votes.log),
        unnamed=int(np.count_nonzero(votes.log.worker < 0)),
        pairs=verdicts.n_pairs,
        repeated=int((np.bincount(verdicts.pair, minlength=verdicts.n_pairs) > 1).sum()),
        alpha=krippendorff_alpha(votes.log),
        left_rate=float(sides.left_rate[-1]),
        left_p=float(sides.p_value[-1]),
        notices=tuple(map(str, votes.notices)),
    )


def _rows(log: "Judgments", golds: Path | None) -> tuple[WorkerRow, ...]:
    import numpy as np

    from prefjudge.core.dawid_skene import fit_dawid_skene
    from prefjudge.core.noisy_bradley_terry import fit_noisy_bradley_terry
    from prefjudge.core.reliability import majority_agreement, side_bias
    from prefjudge.formats.judgments import read_judgments

    named = log.worker[log.worker >= 0]
    if not named.size:
        return ()
    counts = np.bincount(named, minlength=len(log.workers))
    known = read_judgments(golds) if golds is not None else None
    agreement, sides = majority_agreement(log), side_bias(log)
    skilled, noisy = fit_dawid_skene(log, golds=known), fit_noisy_bradley_terry(log)

    def row(code: int) -> WorkerRow:
        return WorkerRow(
            worker=log.workers[code],
            judgments=int(counts[code]),
            compared=int(agreement.compared[code]),
            agreement=_at(agreement.rate, code),
            accuracy=_at(skilled.accuracy, code),
            reliability=_at(noisy.reliability, code),
            left_when_guessing=_at(noisy.left_when_guessing, code),
            left_rate=_at(sides.left_rate, code),
            left_p=_at(sides.p_value, code),
        )

    rows = [row(code) for code in np.flatnonzero(counts).tolist()]
    return tuple(sorted(rows, key=lambda one: (one.reliability, one.worker)))


def _at(column: "np.ndarray", code: int) -> float:
    return round(float(column[code]), 4)
