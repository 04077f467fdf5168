"""Confidence of resolutions: how probable it is that each is right, and how often all are."""

from dataclasses import dataclass
from math import isnan

import numpy as np

from prefjudge.chances import chance_text
from prefjudge.core.resolving.confidence import Confidence
from prefjudge.core.resolving.model_checks import ModelCheck
from prefjudge.core.resolving.resolutions import Resolutions
from prefjudge.counts import many


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceSummary:
    """How sure the winners are to be the best.

    Attributes
    ----------
    model : str
        What the probabilities rest on.
    scale : float
        How far apart candidates are, in logits, on average over what the votes leave possible.
    rests_on : str
        ``votes`` where they tell how often votes are wrong; ``prior`` where they do not, and all
        probabilities rest on how often crowds usually are.
    error, error_low, error_high : float or None
        The share of wrong votes on a random pair, and the bounds between which it lies with a probability of
        0.9; none where the votes do not tell it.
    lapses : float or None
        The share of the wrong votes that any pair would have got, 0 where only close candidates are confused;
        none where the votes do not tell how many are wrong.
    trust : float or None
        How much a vote is worth on average by what is known of its worker, beside those of the most reliable
        workers (1); none where workers cannot be told apart.
    doubted : int or None
        The workers whose votes are worth less than half as much.
    mean : float
        The expected share of the resolved queries whose winner is the best; a random pick of several.
    at_80, at_95 : int
        Queries whose winner is the best with at least that probability.
    alone : int
        Those of them that are alone in their pool, so that nothing was judged.
    outdone : int
        Queries where another candidate is more probable to be the best than each that the rule names, by two
        digits: rules count wins, and the probability also weighs what is not known.
    fits : bool or None
        Whether the votes look like those of the model; none where nothing can be checked.
    checks : tuple of ModelCheck
        What was checked.
    """

    model: str
    scale: float
    rests_on: str
    error: float | None
    error_low: float | None
    error_high: float | None
    lapses: float | None
    trust: float | None
    doubted: int | None
    mean: float
    at_80: int
    at_95: int
    alone: int
    outdone: int
    fits: bool | None
    checks: tuple[ModelCheck, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """How sure the winners are, what that rests on, and where the votes do not fit the model."""
        if isnan(self.mean):
            return ("no query has a winner yet",)
        words = [
            f"a winner is the best with a probability of {chance_text(self.mean)} on average, "
            f"{self.at_80:,} with 0.8 or more{self._words_on_lone()}; {self._words_on_error()}"
        ]
        if self.outdone:
            words.append(
                f"in {many(self.outdone, 'query')} another candidate is more likely to be the best than the "
                "winner that the rule names, as P(best) shows"
            )
        if self.doubted:
            words.append(
                "votes count by how reliable their workers are: those of "
                f"{many(self.doubted, 'worker')} less than half as much as those of the best"
            )
        if self.fits is None:
            words.append(
                "whether these probabilities fit cannot be checked from these votes: it takes two or more on "
                "every pair of a query of three; if taste goes in circles they are too high"
            )
        unfit = [one for one in self.checks if not one.fits]
        if unfit:
            ways = sorted({"too high" if one.too_much_noise else "too low" for one in unfit})
            words.append(
                "the votes do not fit the model of these probabilities: "
                f"{'; '.join(one.words for one in unfit)}; the probabilities may be {' or '.join(ways)}"
            )
        return tuple(words)

    def _words_on_lone(self) -> str:
        if not self.alone:
            return ""
        return f", of which {self.alone:,} {'is' if self.alone == 1 else 'are'} alone in the pool"

    def _words_on_error(self) -> str:
        if self.error is None:
            return (
                "how many votes are wrong cannot be told from these votes, so that this rests on what crowds "
                "usually show"
            )
        return (
            f"the judgments suggest that {self.error:.0%} of votes on a random pair are wrong "
            f"({self.error_low:.0%} to {self.error_high:.0%})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedQuery:
    """One query's resolution, and the probability that each candidate is the best."""

    query_id: str
    status: str
    winners: tuple[str, ...]
    margin: float
    cycle: tuple[str, ...]
    pool_size: int
    votes: int
    missing: int
    p_best: dict[str, float]


def summarise_confidence(
    resolutions: Resolutions, confidence: Confidence, checks: tuple[ModelCheck, ...] = ()
) -> ConfidenceSummary:
    """Return how sure the winners are; all arguments come from the same judgments and pools."""
    rows = np.flatnonzero(resolutions.winner)
    query = resolutions.query[rows]
    count = np.bincount(query, minlength=len(resolutions))
    total = np.bincount(query, weights=confidence.chance[rows], minlength=len(resolutions))
    each = total[count > 0] / count[count > 0]
    scales = confidence.scales
    likeliest = np.maximum.reduceat(confidence.chance, resolutions.start[:-1])
    named = np.zeros(len(resolutions))
    np.maximum.at(named, query, confidence.chance[rows])
    outdone = (count > 0) & (np.round(likeliest, 2) > np.round(named, 2))
    low, high = scales.interval(0.9)
    return ConfidenceSummary(
        model=confidence.model,
        scale=scales.mean,
        rests_on="votes" if scales.told else "prior",
        error=scales.error if scales.told else None,
        error_low=low if scales.told else None,
        error_high=high if scales.told else None,
        lapses=scales.lapsing if scales.told else None,
        trust=None if confidence.trust is None else confidence.trust.mean,
        doubted=None if confidence.trust is None else confidence.trust.doubted,
        mean=float(each.mean()) if each.size else float("nan"),
        at_80=int((each >= 0.8).sum()),
        at_95=int((each >= 0.95).sum()),
        alone=int(((count > 0) & (np.diff(resolutions.start) == 1)).sum()),
        outdone=int(outdone.sum()),
        fits=all(check.fits for check in checks) if checks else None,
        checks=checks,
    )


def resolved_queries(resolutions: Resolutions, confidence: Confidence | None) -> tuple[ResolvedQuery, ...]:
    """Return the resolution of each query, with the probabilities where they are known."""
    listed = []
    for place, one in enumerate(resolutions):
        rows = range(int(resolutions.start[place]), int(resolutions.start[place + 1]))
        p_best = {
            resolutions.docs[resolutions.doc[row]]: round(float(confidence.chance[row]), 4)
            for row in rows
            if confidence is not None
        }
        listed.append(
            ResolvedQuery(
                query_id=one.query_id,
                status=one.status.value,
                winners=one.winners,
                margin=one.margin,
                cycle=one.cycle,
                pool_size=one.pool_size,
                votes=one.votes,
                missing=one.missing,
                p_best=dict(sorted(p_best.items())),
            )
        )
    return tuple(listed)
