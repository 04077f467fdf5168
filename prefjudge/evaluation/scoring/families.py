"""The families of measures: what a measure's name stands for, its parameters, and its bounds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, log
from typing import Literal

from prefjudge.evaluation.scoring.compatibility import compatibility
from prefjudge.evaluation.scoring.diversity import GREEDY, alpha_ndcg
from prefjudge.evaluation.scoring.parameters import Choice as Choice
from prefjudge.evaluation.scoring.parameters import Flag, GainTable, Parameter, Takes
from prefjudge.evaluation.scoring.parameters import Number as Number
from prefjudge.evaluation.scoring.placings import Floats, Placings
from prefjudge.evaluation.scoring.rank_measures import (
    LEAST_AP,
    average_precision,
    binary_preference,
    cumulative_gain,
    discounted_gain,
    inferred_average_precision,
    interpolated_precision,
    judged_share,
    log_average_precision,
    precision,
    r_precision,
    recall,
    reciprocal_rank,
    search_length,
    success,
)
from prefjudge.evaluation.scoring.set_measures import (
    number_relevant,
    number_retrieved,
    set_f,
    set_precision,
    set_recall,
)
from prefjudge.evaluation.scoring.user_measures import (
    expected_reciprocal_rank,
    graded_rank_biased_precision,
    inst,
)
from prefjudge.registers import Register

Scorer = Callable[[Placings, Placings, int | None, Mapping[str, Parameter]], Floats]


def compatibility_score(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """See :func:`prefjudge.evaluation.scoring.compatibility.compatibility`."""
    return compatibility(run, ideal, persistence=float(parameters["p"]))


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
    least, greatest : float
        The least and the greatest score that there can be, infinite where there is none: intervals rest on
        them. Where lower is better the scores are positions, from 1 to the cut-off and one more.
    at : str
        The parameter that stands behind ``@`` instead of a cut-off, such as IPrec's ``recall``.
    logarithms : bool
        Whether scores are logarithms, so that a leaderboard shows the geometric mean of what they are of.
    """

    name: str
    scorer: Scorer
    cutoff: Literal["required", "optional", "refused"] = "optional"
    default_cutoff: int | None = None
    parameters: Mapping[str, Takes] = field(default_factory=dict)
    shown: tuple[str, ...] = ()
    spellings: tuple[str, ...] = ()
    lower_is_better: bool = False
    least: float = 0.0
    greatest: float = 1.0
    at: str = ""
    logarithms: bool = False


_REL: Mapping[str, Takes] = {"rel": Number(default=1.0)}
_JUDGED: Mapping[str, Takes] = {"judged_only": Flag()}
"""Condensed lists: what has no label is taken out of the ranking first (Sakai, SIGIR 2007)."""
_RANKED: Mapping[str, Takes] = {**_REL, **_JUDGED}
_GAINS: Mapping[str, Takes] = {"gains": GainTable(), **_JUDGED}
_SCALE: Mapping[str, Takes] = {"min_rel": Number(default=0.0), "max_rel": Number(default=0.0, required=True)}

_OURS = {
    family.name: family
    for family in (
        Family(
            name="RR",
            scorer=reciprocal_rank,
            parameters=_RANKED,
            spellings=("mrr", "reciprank", "reciprankcut", "reciprocalrank", "meanreciprocalrank"),
        ),
        Family(
            name="nDCG",
            scorer=discounted_gain,
            parameters={"dcg": Choice(default="log2", words=("log2", "exp-log2")), **_GAINS},
            spellings=("ndcgcut", "normalizeddiscountedcumulativegain"),
        ),
        Family(
            name="alpha_nDCG",
            scorer=alpha_ndcg,
            parameters={"alpha": Number(default=0.5, low=0.0, high=1.0), **_JUDGED},
            spellings=("alphandcg", "andcg"),
            greatest=GREEDY,
        ),
        Family(
            name="AP",
            scorer=average_precision,
            parameters=_RANKED,
            spellings=("map", "mapcut", "averageprecision", "meanaverageprecision"),
        ),
        Family(
            name="P", scorer=precision, cutoff="required", parameters=_RANKED, spellings=("precision", "prec")
        ),
        Family(name="R", scorer=recall, cutoff="required", parameters=_RANKED, spellings=("recall",)),
        Family(
            name="Success",
            scorer=success,
            cutoff="required",
            parameters=_RANKED,
            spellings=("hit", "hits", "hitrate"),
        ),
        Family(
            name="NCG",
            scorer=cumulative_gain,
            cutoff="required",
            parameters=_GAINS,
            spellings=("normalizedcumulativegain",),
        ),
        Family(name="Judged", scorer=judged_share, spellings=("judgedrate", "judgmentrate")),
        Family(
            name="ERR",
            scorer=expected_reciprocal_rank,
            parameters={"max": Number(default=4.0, low=0.0, open=True), **_JUDGED},
            spellings=("expectedreciprocalrank",),
        ),
        Family(
            name="RBP",
            scorer=graded_rank_biased_precision,
            parameters={
                "p": Number(default=0.8, low=0.0, high=1.0, open=True),
                "max_rel": Number(default=0.0, low=0.0),
                **_RANKED,
            },
            shown=("p",),
            spellings=("rankbiasedprecision",),
        ),
        Family(
            name="ESL",
            scorer=search_length,
            default_cutoff=100,
            parameters=_RANKED,
            spellings=("expectedsearchlength", "searchlength"),
            lower_is_better=True,
        ),
        Family(
            name="Rprec", scorer=r_precision, cutoff="refused", parameters=_RANKED, spellings=("rprecision",)
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
        Family(
            name="GMAP",
            scorer=log_average_precision,
            parameters=_RANKED,
            spellings=("gmmap", "geometricmap", "geometricmeanaverageprecision"),
            least=log(LEAST_AP),
            greatest=0.0,
            logarithms=True,
        ),
        Family(
            name="infAP",
            scorer=inferred_average_precision,
            cutoff="refused",
            parameters=_REL,
            spellings=("inferredap", "inferredaverageprecision"),
        ),
        Family(
            name="IPrec",
            scorer=interpolated_precision,
            parameters={"recall": Number(default=0.0, low=0.0, high=1.0, required=True), **_RANKED},
            spellings=("iprecatrecall", "interpolatedprecision"),
            at="recall",
        ),
        Family(
            name="INST",
            scorer=inst,
            cutoff="refused",
            parameters={"T": Number(default=1.0, low=0.0, open=True), **_SCALE},
        ),
        Family(
            name="NumRet",
            scorer=number_retrieved,
            cutoff="refused",
            parameters={"rel": Number(default=-inf)},
            greatest=inf,
        ),
        Family(
            name="NumRel",
            scorer=number_relevant,
            cutoff="refused",
            parameters=_REL,
            greatest=inf,
        ),
        Family(
            name="SetP",
            scorer=set_precision,
            cutoff="refused",
            parameters={"relative": Flag(), **_RANKED},
            spellings=("setprecision",),
        ),
        Family(name="SetR", scorer=set_recall, cutoff="refused", parameters=_REL, spellings=("setrecall",)),
        Family(
            name="SetF",
            scorer=set_f,
            cutoff="refused",
            parameters={"beta": Number(default=1.0, low=0.0, open=True), **_RANKED},
        ),
    )
}

FAMILIES = Register("measure", Family, _OURS)
"""The measures that are computed from qrels, by their canonical names."""
