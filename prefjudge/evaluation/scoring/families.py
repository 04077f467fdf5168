"""The measures' definitions: one function a family, from positions of judged documents to a score a query.

Each function takes the run's placings, the ideal placings (the qrels in their best order), a cut-off and the
family's parameters, and returns an array of shape (queries,). All of them follow trec_eval where it has the
measure: an unjudged document is not relevant, a query without relevant documents scores 0, and P@k divides by
k however few documents were retrieved.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal

import numpy as np

from prefjudge.errors import InputError
from prefjudge.evaluation.scoring.compatibility import compatibility
from prefjudge.evaluation.scoring.placings import Floats, Placings, ratio
from prefjudge.registers import Register

Parameter = float | str
Scorer = Callable[[Placings, Placings, int | None, Mapping[str, Parameter]], Floats]


def _threshold(parameters: Mapping[str, Parameter]) -> float:
    return float(parameters["rel"])


def _relevant(run: Placings, parameters: Mapping[str, Parameter]) -> Placings:
    return run.where(run.grade >= _threshold(parameters))


def _relevant_total(ideal: Placings, parameters: Mapping[str, Parameter]) -> Floats:
    return ideal.total((ideal.grade >= _threshold(parameters)).astype(np.float64))


def _first_relevant(run: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]) -> Floats:
    """Return the position of the first relevant document, infinity where there is none."""
    found = _relevant(run.up_to(cutoff), parameters)
    first = np.full(run.queries, np.inf)
    np.minimum.at(first, found.query, found.position)
    return first


def reciprocal_rank(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """1 / the position of the first relevant document."""
    return 1.0 / _first_relevant(run, cutoff, parameters)


def search_length(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """How many documents are read up to the first relevant one (Cooper 1968; Lin et al. 2021, section 4).

    Lower is better. Where the first ``cutoff`` documents hold no relevant one the value is ``cutoff + 1``:
    worse than finding it last. Lin et al. leave such queries out, as does the outcome breakdown.
    """
    assert cutoff is not None
    return np.minimum(_first_relevant(run, cutoff, parameters), cutoff + 1.0)


def success(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """1 where a relevant document was found, otherwise 0."""
    return np.isfinite(_first_relevant(run, cutoff, parameters)).astype(np.float64)


def precision(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """The share of the first ``cutoff`` documents that is relevant."""
    assert cutoff is not None
    found = _relevant(run.up_to(cutoff), parameters)
    return found.total(np.ones(found.query.size)) / cutoff


def recall(run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]) -> Floats:
    """The share of the relevant documents that was found."""
    found = _relevant(run.up_to(cutoff), parameters)
    return ratio(found.total(np.ones(found.query.size)), _relevant_total(ideal, parameters))


def r_precision(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """Precision at R, the number of relevant documents of the query."""
    total = _relevant_total(ideal, parameters)
    found = _relevant(run, parameters)
    return ratio(found.total((found.position <= total[found.query]).astype(np.float64)), total)


def average_precision(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """The mean, over all relevant documents, of the precision at each one that was found."""
    found = _relevant(run.up_to(cutoff), parameters)
    return ratio(found.total(found.number() / found.position), _relevant_total(ideal, parameters))


def binary_preference(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """How seldom judged non-relevant documents stand above relevant ones (Buckley & Voorhees 2004)."""
    level = _threshold(parameters)
    total = _relevant_total(ideal, parameters)
    # trec_eval takes a negative grade for "not judged".
    refused = ideal.total(((ideal.grade < level) & (ideal.grade >= 0)).astype(np.float64))
    above = run.before(((run.grade < level) & (run.grade >= 0)).astype(np.float64))
    is_found = run.grade >= level
    found = run.where(is_found)
    # min(R, N) as in trec_eval, where the paper divides by R: with few
    # judged non-relevant documents no run could otherwise reach 0.
    bound = np.minimum(total, refused)[found.query]
    penalty = ratio(np.minimum(above[is_found], total[found.query]), bound)
    return ratio(found.total(1.0 - penalty), total)


def _gains(grades: Floats, parameters: Mapping[str, Parameter]) -> Floats:
    gains = np.maximum(grades, 0.0)
    return np.exp2(gains) - 1.0 if parameters.get("dcg") == "exp-log2" else gains


def _discounted(run: Placings, parameters: Mapping[str, Parameter]) -> Floats:
    return run.total(_gains(run.grade, parameters) / np.log2(run.position + 1.0))


def discounted_gain(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """nDCG: gain discounted by log2(position + 1), divided by that of the ideal ranking.

    ``dcg='log2'`` takes the grade as the gain (trec_eval), ``dcg='exp-log2'`` takes 2^grade - 1.
    """
    return ratio(_discounted(run.up_to(cutoff), parameters), _discounted(ideal.up_to(cutoff), parameters))


def cumulative_gain(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """NCG: the sum of grades found, divided by the greatest that ``cutoff`` documents could hold."""
    found, best = run.up_to(cutoff), ideal.up_to(cutoff)
    return ratio(found.total(_gains(found.grade, parameters)), best.total(_gains(best.grade, parameters)))


def judged_share(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """The share of the documents returned, to the cut-off, that has a label of any grade."""
    seen = run.retrieved if cutoff is None else np.minimum(run.retrieved, cutoff)
    return ratio(run.up_to(cutoff).total(np.ones(run.up_to(cutoff).query.size)), seen)


def expected_reciprocal_rank(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """ERR: the expected 1/position where a user stops (Chapelle et al. 2009).

    A document satisfies with probability (2^grade - 1) / 2^max, where ``max`` is the highest grade of
    the scale: by default 4, as in gdeval and ir_measures, whichever grades the qrels hold.

    Raises
    ------
    InputError
        A grade is above the scale.
    """
    top, highest = float(parameters["max"]), float(np.max(ideal.grade, initial=0.0))
    if highest > top:
        raise InputError(
            f"a grade is {highest:g}, above ERR's scale of 0 to {top:g}",
            f"Name the highest grade of the scale: ERR(max={np.ceil(highest):g}), with the cut-off behind.",
        )
    found = run.up_to(cutoff)
    satisfied = (np.exp2(np.maximum(found.grade, 0.0)) - 1.0) / np.exp2(top)
    # A product of (1 - satisfied) over the documents before, as
    # a sum of logarithms. satisfied is below 1 by definition.
    unsatisfied_before = np.exp(found.before(np.log1p(-satisfied)))
    return found.total(satisfied * unsatisfied_before / found.position)


def rank_biased_precision(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """RBP: the gain per document of a user who reads on with probability ``p`` (Moffat & Zobel 2008)."""
    persistence = float(parameters["p"])
    found = _relevant(run.up_to(cutoff), parameters)
    return (1.0 - persistence) * found.total(np.power(persistence, found.position - 1.0, dtype=np.float64))


def compatibility_score(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """See :func:`prefjudge.evaluation.scoring.compatibility.compatibility`."""
    return compatibility(run, ideal, persistence=float(parameters["p"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A parameter that is a number: what it is where it is not given, and its bounds.

    Attributes
    ----------
    default : float
    low, high : float
        The bounds; infinite where there is none.
    open : bool
        Whether the bounds themselves are excluded.
    """

    default: float
    low: float = -inf
    high: float = inf
    open: bool = False

    def takes(self, number: float) -> bool:
        """Return whether a number is within the bounds."""
        if self.open:
            return self.low < number < self.high
        return self.low <= number <= self.high and abs(number) < inf

    def __str__(self) -> str:
        """Say what the parameter takes."""
        both = ", both excluded" if self.open else ""
        if self.low == -inf and self.high == inf:
            return "a number"
        if self.high == inf:
            return f"a number above {self.low:g}" if self.open else f"a number of {self.low:g} or more"
        return f"a number between {self.low:g} and {self.high:g}{both}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A parameter that is one of a few words."""

    default: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        """Say what the parameter takes."""
        return " or ".join(f"'{word}'" for word in self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What a measure's name stands for.

    Attributes
    ----------
    name : str
        The canonical name, ir_measures' where it has one.
    scorer : callable
        The definition.
    cutoff : str
        Whether ``@k`` is ``required``, ``optional`` or ``refused``.
    default_cutoff : int or None
        The cut-off where none was given.
    parameters : mapping
        The parameters, each with its default and its bounds.
    shown : tuple of str
        Parameters that are printed even at their default.
    spellings : tuple of str
        Other names, in lower case without separators.
    lower_is_better : bool
        Whether a smaller score is the better one.
    greatest : float
        The greatest score that there can be, infinity where there is none: intervals rest on it. The least is
        0; of a measure of which lower is better the scores are positions, from 1 to the cut-off and one more.
    """

    name: str
    scorer: Scorer
    cutoff: Literal["required", "optional", "refused"] = "optional"
    default_cutoff: int | None = None
    parameters: Mapping[str, Number | Choice] = field(default_factory=dict)
    shown: tuple[str, ...] = ()
    spellings: tuple[str, ...] = ()
    lower_is_better: bool = False
    greatest: float = 1.0


_REL: Mapping[str, Number | Choice] = {"rel": Number(default=1.0)}

_OURS = {
    family.name: family
    for family in (
        Family(
            name="RR",
            scorer=reciprocal_rank,
            parameters=_REL,
            spellings=("mrr", "reciprank", "reciprankcut", "reciprocalrank", "meanreciprocalrank"),
        ),
        Family(
            name="nDCG",
            scorer=discounted_gain,
            parameters={"dcg": Choice(default="log2", words=("log2", "exp-log2"))},
            spellings=("ndcgcut", "normalizeddiscountedcumulativegain"),
        ),
        Family(
            name="AP",
            scorer=average_precision,
            parameters=_REL,
            spellings=("map", "mapcut", "averageprecision", "meanaverageprecision"),
        ),
        Family(
            name="P", scorer=precision, cutoff="required", parameters=_REL, spellings=("precision", "prec")
        ),
        Family(name="R", scorer=recall, cutoff="required", parameters=_REL, spellings=("recall",)),
        Family(
            name="Success",
            scorer=success,
            cutoff="required",
            parameters=_REL,
            spellings=("hit", "hits", "hitrate"),
        ),
        Family(
            name="NCG", scorer=cumulative_gain, cutoff="required", spellings=("normalizedcumulativegain",)
        ),
        Family(name="Judged", scorer=judged_share, spellings=("judgedrate", "judgmentrate")),
        Family(
            name="ERR",
            scorer=expected_reciprocal_rank,
            parameters={"max": Number(default=4.0, low=0.0, open=True)},
            spellings=("expectedreciprocalrank",),
        ),
        Family(
            name="RBP",
            scorer=rank_biased_precision,
            parameters={"p": Number(default=0.8, low=0.0, high=1.0, open=True), **_REL},
            shown=("p",),
            spellings=("rankbiasedprecision",),
        ),
        Family(
            name="ESL",
            scorer=search_length,
            default_cutoff=100,
            parameters=_REL,
            spellings=("expectedsearchlength", "searchlength"),
            lower_is_better=True,
        ),
        Family(
            name="Rprec", scorer=r_precision, cutoff="refused", parameters=_REL, spellings=("rprecision",)
        ),
        Family(
            name="Bpref",
            scorer=binary_preference,
            cutoff="refused",
            parameters=_REL,
            spellings=("binarypreference",),
        ),
        Family(
            name="Compat",
            scorer=compatibility_score,
            cutoff="refused",
            parameters={"p": Number(default=0.95, low=0.0, high=1.0, open=True)},
            shown=("p",),
            spellings=("compatibility",),
        ),
    )
}

FAMILIES = Register("measure", Family, _OURS)
"""The measures that are computed from qrels, by their canonical names."""
