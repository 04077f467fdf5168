"""The spellings of measures: ir_measures', trec_eval's, ranx's and the MS MARCO scripts'."""

import re
from collections.abc import Mapping
from difflib import get_close_matches

from prefjudge.errors import InputError
from prefjudge.evaluation.scoring.families import FAMILIES, Family
from prefjudge.evaluation.scoring.parameters import Choice, Flag, GainTable, Number, Parameter

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

_OURS: Mapping[str, str] = {
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
    """Return the family's name, the cut-off and all parameters that ``text`` spells.

    Raises
    ------
    InputError
        Where it names no measure, or asks for something that the measure does not have.
    """
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
    ours, theirs = _OURS.get(spelling), _theirs().get(spelling)
    if ours is not None and theirs is not None:
        raise FAMILIES.clash(ours, theirs)
    name = ours or theirs
    return None if name is None else FAMILIES[name]


def _unknown(text: str) -> InputError:
    wanted = re.split(r"[@(.]", text.strip().lower())[0]
    known = {**_theirs(), **_OURS}
    if _squashed(wanted) in _OF_SUBTOPICS:
        raise InputError(
            f"{text} is scored by judgments of subtopics, of which there is only alpha_nDCG here",
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


def _check_given(text: str, family: Family, given: Mapping[str, Parameter]) -> None:
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
