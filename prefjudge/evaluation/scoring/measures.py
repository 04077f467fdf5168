"""Measures: values that print, parse and hash, and score a run from the positions of its judged documents."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from prefjudge.core.pooling.qrels import JudgedRanks, Qrels, Scores
from prefjudge.errors import InputError
from prefjudge.evaluation.scoring.families import FAMILIES, Family
from prefjudge.evaluation.scoring.parameters import Parameter, gains_of
from prefjudge.evaluation.scoring.placings import Floats, Placings, ideal_placings, placings
from prefjudge.evaluation.scoring.preference_measures import is_share_of_preferences
from prefjudge.evaluation.scoring.spellings import parse_measure, written


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with its cut-off and parameters, for instance ``AP(rel=2)@100``.

    Equal measures are equal and hash alike, however they were spelled.

    Attributes
    ----------
    family : str
        The canonical name of the family: a key of :data:`prefjudge.evaluation.scoring.families.FAMILIES`.
    cutoff : int or None
        How many documents count; None for all of them.
    parameters : tuple of (str, float, str or bool)
        Every parameter of the family with its value, by name.
    """

    family: str
    cutoff: int | None
    parameters: tuple[tuple[str, Parameter], ...]

    @classmethod
    def parse(cls, text: str) -> "Measure":
        """Read a measure in any of the usual spellings.

        ``RR@10``, ``mrr@10``, ``MRR @10``, ``recip_rank``; ``nDCG@10``, ``ndcg_cut.10``, ``ndcg_cut_10``;
        ``AP(rel=2)@100``, ``map@100-l2``; ``rbp.95`` and so on.

        Raises
        ------
        InputError
            Where the text names no measure (with the closest names), or gives a cut-off or parameter that the
            measure does not take.
        """
        family, cutoff, parameters = parse_measure(text)
        return cls(family, cutoff, parameters)

    def __str__(self) -> str:
        family = FAMILIES[self.family]
        shown = [
            f"{name}={written(value)}"
            for name, value in self.parameters
            if name != family.at and (name in family.shown or value != family.parameters[name].default)
        ]
        inside = f"({','.join(shown)})" if shown else ""
        at = written(dict(self.parameters)[family.at]) if family.at else self.cutoff
        return f"{self.family}{inside}" + (f"@{at}" if at is not None else "")

    @property
    def lower_is_better(self) -> bool:
        """Whether a smaller score is the better one."""
        return FAMILIES[self.family].lower_is_better

    def condensed(self) -> "Measure":
        """Return the measure of the ranking without the documents that have no label (Sakai 2007).

        Raises
        ------
        InputError
            The family does not look at what is not judged, or at nothing else.
        """
        if "judged_only" not in FAMILIES[self.family].parameters:
            raise InputError(
                f"{self} has no form for judged documents only", "Leave the measure out, or judged_only."
            )
        parameters = {**dict(self.parameters), "judged_only": True}
        return replace(self, parameters=tuple((name, parameters[name]) for name, _ in self.parameters))

    def score(self, ranks: JudgedRanks, qrels: Qrels) -> Floats:
        """Score one run.

        Parameters
        ----------
        ranks : JudgedRanks
            Where the run placed the documents of ``qrels``.
        qrels : Qrels
            The labels.

        Returns
        -------
        ndarray of float64, shape (len(qrels.queries),)
            The score of each judged query; a query that the run missed has found nothing.
        """
        return self.score_against(ideal_placings(qrels), ranks, qrels)

    def score_against(self, ideal: Placings, ranks: JudgedRanks, qrels: Qrels) -> Floats:
        """Score one run where the qrels' best order is known already: many runs share it."""
        scorer, parameters = FAMILIES[self.family].scorer, dict(self.parameters)
        run = placings(ranks, qrels)
        if parameters.get("gains", "{}") != "{}":
            run = run.graded(gains_of(run.grade, parameters))
            ideal = ideal.graded(gains_of(ideal.grade, parameters)).best_first()
        if parameters.get("judged_only"):
            run = run.condensed()
        with FAMILIES.using(self.family):
            scores = scorer(run, ideal, self.cutoff, parameters)
            if np.shape(scores) != (len(qrels.queries),):
                raise ValueError(f"scores of shape {np.shape(scores)} for {len(qrels.queries)} queries")
        return scores


def lower_is_better(name: str) -> bool:
    """Return whether smaller scores are better under the measure of this canonical name.

    Names of preference measures (``ppref@10``) are welcome too: all of those rise with quality.
    """
    family = _family(name)
    return family is not None and family.lower_is_better


def direction(name: str) -> float:
    """Return 1 where greater scores are better under the measure of this canonical name, and -1 otherwise."""
    return -1.0 if lower_is_better(name) else 1.0


def in_logarithms(name: str) -> bool:
    """Return whether scores under the measure of this name are logarithms, whose mean is a geometric one."""
    family = _family(name)
    return family is not None and family.logarithms


def bounds(name: str) -> tuple[float, float]:
    """Return the least and the greatest score under the measure of this canonical name.

    Infinite for ``wpref``, which adds up whatever is ordered correctly, and for measures that are not known.
    """
    family = _family(name)
    if family is None:
        return (0.0, 1.0) if is_share_of_preferences(name) else (-inf, inf)
    if not family.lower_is_better:
        return family.least, family.greatest
    cutoff = Measure.parse(name).cutoff  # a position
    return 1.0, inf if cutoff is None else cutoff + 1.0


def _family(name: str) -> Family | None:
    return FAMILIES.get(name.partition("@")[0].partition("(")[0])


def score_matrix(ranks: Sequence[JudgedRanks], qrels: Qrels, measure: Measure) -> Scores:
    """Score many runs with one measure.

    Parameters
    ----------
    ranks : sequence of JudgedRanks
        One per run, all ranked by the same order.
    qrels : Qrels
        The labels; their queries are the rows of the matrix.
    measure : Measure
        What to compute.

    Returns
    -------
    Scores
        The query x run matrix, columns in the order of ``ranks``.

    Raises
    ------
    InputError
        Where there is no run or no judged query, two runs share a tag, or the runs were ranked by different
        orders.
    """
    if not ranks:
        raise InputError("there is no run to score", "Give at least one run file.")
    if not qrels.queries:
        raise InputError(
            f"the qrels {qrels.name!r} hold no judged query", "Give qrels with at least one row."
        )
    tags = [placed.run for placed in ranks]
    shared = sorted({tag for tag in tags if tags.count(tag) > 1})
    if shared:
        raise InputError(
            f"two runs share a tag: {', '.join(shared)}",
            "Rename one, so that a row of the result is one run.",
        )
    orders = {placed.order for placed in ranks}
    if len(orders) > 1:
        raise InputError(
            f"the runs were ranked by different orders: {', '.join(sorted(orders))}",
            "Read all of them by one order.",
        )
    ideal = ideal_placings(qrels)
    return Scores(
        measure=str(measure),
        qrels=qrels.name,
        queries=qrels.queries,
        runs=tuple(tags),
        values=np.column_stack([measure.score_against(ideal, placed, qrels) for placed in ranks]),
        order=ranks[0].order,
    )
