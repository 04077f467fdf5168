"""Measures: values that print, parse and hash, their families and their spellings."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import pairwise, product
from math import inf, log
from typing import Literal

import numpy as np

from prefjudge.core.runs import JudgedRanks, Order, Qrels, Scores
from prefjudge.errors import InputError
from prefjudge.evaluation.measures.formulas import (
    GREEDY,
    LEAST_AP,
    alpha_ndcg,
    average_precision,
    binary_preference,
    compatibility,
    cumulative_gain,
    discounted_gain,
    expected_reciprocal_rank,
    graded_rank_biased_precision,
    inferred_average_precision,
    inst,
    interpolated_precision,
    judged_share,
    log_average_precision,
    number_relevant,
    number_retrieved,
    precision,
    r_precision,
    recall,
    reciprocal_rank,
    search_length,
    set_f,
    set_precision,
    set_recall,
    success,
)
from prefjudge.evaluation.measures.placings import Choice as Choice
from prefjudge.evaluation.measures.placings import (
    Flag,
    Floats,
    GainTable,
    Parameter,
    Parameters,
    Placings,
    Takes,
    gains_of,
    ideal_placings,
    placings,
)
from prefjudge.evaluation.measures.placings import Number as Number
from prefjudge.evaluation.measures.preferences import is_share_of_preferences
from prefjudge.registers import Register
from prefjudge.words import many

Scorer = Callable[[Placings, Placings, int | None, Parameters], Floats]


def compatibility_score(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """See :func:`prefjudge.evaluation.measures.formulas.compatibility`."""
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


# The spellings of measures: ir_measures', trec_eval's, ranx's and the MS MARCO scripts'.

Parsed = tuple[str, int | None, tuple[tuple[str, Parameter], ...]]

_SHAPE = re.compile(
    r"""
    (?P<name>[a-z]+(?:[_\-\ ](?!l\d)[a-z]+)*)  # nDCG, ndcg_cut, R-prec, mean reciprocal rank
    (?:\((?P<inside>[^()]*)\))?              # (rel=2,p=0.8)
    (?:[@_.](?P<share>\d*\.\d+)             # IPrec@0.1, iprec_at_recall_0.10
      |(?:@|_)?(?P<cutoff>\d+)               # @10, _10, or 10 straight after the name
      |\.(?P<decimal>\d+)(?:@(?P<after>\d+))?  # ndcg_cut.10, or rbp.95@10
    )?
    (?:-l(?P<level>\d+))?                    # ranx: mrr@10-l2
    """,
    re.VERBOSE | re.IGNORECASE,
)

_OUR_SPELLINGS: Mapping[str, str] = {
    spelling: name
    for name, family in FAMILIES.ours.items()
    if isinstance(family, Family)
    for spelling in (name.lower(), *family.spellings)
}
_ONLY_WITH_CUTOFF = ("ndcgcut", "mapcut")
_PRESET: Mapping[str, tuple[str, dict[str, Parameter]]] = {
    "numrelret": ("NumRet", {"rel": 1.0}),
    "setrelp": ("SetP", {"relative": True}),
    "setrelativep": ("SetP", {"relative": True}),
}
"""Names that stand for a family with a parameter."""

_LIST = re.compile(r"(.*?[@_.])((?:\d*\.)?\d+(?:\s*,\s*(?:\d*\.)?\d+)+)(-l\d+)?")


def one_each(text: str) -> tuple[str, ...]:
    """Return a text for each cut-off of a list: ``P@10,20`` or ``ndcg_cut.5,10`` names two measures."""
    listed = _LIST.fullmatch(text.strip())
    if listed is None:
        return (text,)
    cutoffs = (cutoff.strip() for cutoff in listed[2].split(","))
    return tuple(f"{listed[1]}{'0' * cutoff.startswith('.')}{cutoff}{listed[3] or ''}" for cutoff in cutoffs)


_OF_SUBTOPICS = frozenset({"alphadcg", "erria", "strec", "srecall", "nrbp", "nerria", "apia"})
"""Measures of diversity, as ndeval and ir_measures call them."""


def parse_measure(text: str) -> Parsed:
    """Return the family's name, the cut-off and all parameters that ``text`` spells."""
    compact = re.sub(r"\s*([@(),.={}:])\s*", r"\1", text.strip())
    match = _SHAPE.fullmatch(compact)
    name = _squashed(match["name"]) if match else compact.lower()
    named, preset = _PRESET.get(name, (name, {}))
    family = _family_named(named.lower())
    if match is None or family is None:
        raise _unknown(text)
    parameters: dict[str, Parameter] = {key: one.default for key, one in family.parameters.items()} | preset
    cutoff = match["cutoff"] or match["after"]
    if match["decimal"] is not None:
        if "p" in parameters:
            parameters["p"] = _checked(text, family, "p", f"0.{match['decimal']}")
        elif match["after"] is None:
            cutoff = match["decimal"]
        else:
            raise _unknown(text)
    given = _read_parameters(text, match["inside"] or "", family)
    if family.at and (share := match["share"] or cutoff) is not None:
        given[family.at], cutoff = _checked(text, family, family.at, share), None
    elif match["share"] is not None:
        raise _unknown(text)
    _check_given(text, family, given)
    if match["level"] is not None:
        given["rel"] = _checked(text, family, "rel", match["level"])
    parameters.update(given)
    return family.name, _read_cutoff(text, cutoff, family, name), tuple(sorted(parameters.items()))


def _squashed(name: str) -> str:
    return re.sub(r"[_\- ]", "", name).lower()


def _theirs() -> Mapping[str, str]:
    return {_squashed(name): name for name in FAMILIES.theirs}


def _family_named(spelling: str) -> Family | None:
    ours, theirs = _OUR_SPELLINGS.get(spelling), _theirs().get(spelling)
    if ours is not None and theirs is not None:
        raise FAMILIES.clash(ours, theirs)
    name = ours or theirs
    return None if name is None else FAMILIES[name]


def _unknown(text: str) -> InputError:
    wanted = re.split(r"[@(.]", text.strip().lower())[0]
    known = {**_theirs(), **_OUR_SPELLINGS}
    if _squashed(wanted) in _OF_SUBTOPICS:
        raise InputError(
            f"{text} needs judgments of subtopics; prefjudge has only alpha_nDCG for these",
            "Compute it with ir_measures and pyndeval, from the runs and those qrels.",
        )
    close = get_close_matches(_squashed(wanted), list(known), n=4, cutoff=0.5)
    names = list(dict.fromkeys(known[name] for name in close))
    hint = f"Did you mean {' or '.join(names)}? " if names else ""
    return InputError(
        f"unknown measure {text!r}",
        f"{hint}Measures: {', '.join(FAMILIES)}; written like RR@10 or AP(rel=2)@100.",
    )


def _read_cutoff(text: str, digits: str | None, family: Family, name: str) -> int | None:
    if digits is None:
        if family.cutoff == "required" or name in _ONLY_WITH_CUTOFF:
            raise InputError(f"measure {text!r} needs a cut-off", f"Write for instance {family.name}@10.")
        return family.default_cutoff
    if family.cutoff == "refused":
        raise InputError(f"measure {text!r} takes no cut-off", f"Write {family.name}.")
    if int(digits) == 0:
        raise InputError(f"measure {text!r} cuts the ranking off before its first document", "Start at 1.")
    return int(digits)


def _check_given(text: str, family: Family, given: Parameters) -> None:
    for key, takes in family.parameters.items():
        if isinstance(takes, Number) and takes.required and key not in given:
            example = f"{family.name}@0.1" if key == family.at else f"{family.name}({key}=3)"
            raise InputError(f"measure {text!r} needs {key}", f"Write for instance {example}.")


_COMMA = re.compile(r",(?![^{]*\})")
"""A comma between parameters, not one inside ``gains={1:3,2:7}``."""


def _read_parameters(text: str, inside: str, family: Family) -> dict[str, Parameter]:
    given: dict[str, Parameter] = {}
    for part in filter(None, (part.strip() for part in _COMMA.split(inside))):
        key, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"measure {text!r}: {part!r} is not written name=value")
        given[key.strip()] = _checked(text, family, key.strip(), value.strip())
    return given


def _checked(text: str, family: Family, key: str, value: str) -> Parameter:
    """Return a parameter's value, or say why it cannot be."""
    if key not in family.parameters:
        known = ", ".join(family.parameters) or "no parameters"
        raise InputError(f"measure {text!r} has no parameter {key!r}", f"{family.name} takes {known}.")
    takes = family.parameters[key]
    no_default = isinstance(takes, Number) and takes.required
    fault = InputError(
        f"measure {text!r}: {key} must be {takes}, not {value!r}",
        "" if no_default else f"By default it is {family.name}({key}={written(takes.default)}).",
    )
    if isinstance(takes, Choice):
        bare = value.strip("'\"")
        if bare not in takes.words:
            raise fault
        return bare
    if isinstance(takes, Flag):
        if value not in ("True", "False"):
            raise fault
        return value == "True"
    if isinstance(takes, GainTable):
        table = takes.read(value)
        if table is None:
            raise fault
        return table
    try:
        number = float(value)
    except ValueError:
        raise fault from None
    if not takes.takes(number):
        raise fault
    return number


def written(value: Parameter) -> str:
    """Return a value as a measure's name shows it."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return value if value.startswith("{") else f"'{value}'"
    return f"{value:g}"


# Measures: values that print, parse and hash, and score a run from the positions of its judged documents.


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with its cut-off and parameters, for instance ``AP(rel=2)@100``.

    Equal measures are equal and hash alike, however they were spelled.

    Attributes
    ----------
    family : str
        The canonical name of the family: a key of :data:`prefjudge.evaluation.measures.measures.FAMILIES`.
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
        """Return the measure of the ranking without the documents that have no label (Sakai 2007)."""
        if "judged_only" not in FAMILIES[self.family].parameters:
            raise InputError(
                f"{self} has no form for judged documents only", "Leave the measure out, or judged_only."
            )
        parameters = {**dict(self.parameters), "judged_only": True}
        return replace(self, parameters=tuple((name, parameters[name]) for name, _ in self.parameters))

    def score(self, ranks: JudgedRanks, qrels: Qrels) -> Floats:
        """Score one run on each judged query; one that it missed has found nothing."""
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
    """Score many runs with one measure."""
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


# Result lists: every list of a few relevant and non-relevant documents, and what a measure gives it.
#
# Craswell et al. (SIGIR 2021, section 4.2, Table 3) list them to show why reciprocal rank is not an
# interval scale over result lists: its values are not equally far apart, so some differences exist at one
# place only.

_MOST = 12
"""Documents in a list: there are 4,096 such lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultLists:
    """All result lists of one length, and their scores.

    Attributes
    ----------
    measure : str
    lists : tuple of tuple of int
        1 for a relevant document, 0 for another, from the first place on; those that begin best come first.
    scores : tuple of float
        The score of each.
    """

    measure: str
    lists: tuple[tuple[int, ...], ...]
    scores: tuple[float, ...]

    @property
    def steps(self) -> tuple[float, ...]:
        """How far neighbouring values are apart, from the highest down."""
        values = sorted(set(self.scores), reverse=True)
        return tuple(high - low for high, low in pairwise(values))

    @property
    def equally_spaced(self) -> bool:
        """Whether all steps are the same: over these lists the measure is an interval scale."""
        return not self.steps or bool(np.allclose(self.steps, self.steps[0], rtol=0, atol=1e-12))


def score_lists(measure: str = "RR@10", *, depth: int = 3) -> ResultLists:
    """Score every result list of ``depth`` documents, each relevant or not."""
    if not 1 <= depth <= _MOST:
        raise InputError(
            f"lists of {many(depth, 'document')}", f"Ask for 1 to {_MOST}: there are 2 to that power."
        )
    parsed = Measure.parse(measure)
    lists = tuple(product((1, 0), repeat=depth))
    rows = len(lists) * depth
    query = np.repeat(np.arange(len(lists), dtype=np.int32), depth)
    position = np.tile(np.arange(1, depth + 1, dtype=np.int32), len(lists))
    grade = np.array(lists, dtype=np.float64).ravel()
    qrels = Qrels(
        name="every list",
        queries=tuple(map(str, range(len(lists)))),
        docs=tuple(map(str, range(depth))),
        query=query,
        doc=position - 1,
        grade=grade,
    )
    ranks = JudgedRanks(
        run="every list",
        query=query,
        judged=np.arange(rows, dtype=np.int32),
        position=position,
        best=position,
        worst=position,
        grade=grade,
        retrieved=np.full(len(lists), depth, dtype=np.int32),
        order=Order.RANK,
    )
    scores = parsed.score(ranks, qrels)
    return ResultLists(measure=str(parsed), lists=lists, scores=tuple(scores.tolist()))
