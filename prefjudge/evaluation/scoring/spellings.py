"""The spellings of measures: ir_measures', trec_eval's, ranx's and the MS MARCO scripts'."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from math import isfinite, nan

from prefjudge.errors import InputError
from prefjudge.evaluation.scoring.families import FAMILIES, Family, Parameter

Parsed = tuple[str, int | None, tuple[tuple[str, Parameter], ...]]

_SHAPE = re.compile(
    r"""
    (?P<name>[a-z]+(?:[_\-\ ](?!l\d)[a-z]+)*)  # nDCG, ndcg_cut, R-prec, mean reciprocal rank
    (?:\((?P<inside>[^()]*)\))?              # (rel=2,p=0.8)
    (?:(?:@|_)?(?P<cutoff>\d+)               # @10, _10, or 10 straight after the name
      |\.(?P<decimal>\d+)(?:@(?P<after>\d+))?  # ndcg_cut.10, or rbp.95@10
    )?
    (?:-l(?P<level>\d+))?                    # ranx: mrr@10-l2
    """,
    re.VERBOSE | re.IGNORECASE,
)

_NAMES: Mapping[str, Family] = {
    name: family for family in FAMILIES.values() for name in (family.name.lower(), *family.spellings)
}
_ONLY_WITH_CUTOFF = ("ndcgcut", "mapcut")


def parse_measure(text: str) -> Parsed:
    """Return the family's name, the cut-off and all parameters that ``text`` spells.

    Raises
    ------
    InputError
        Where it names no measure, or asks for something that the measure does not have.
    """
    compact = re.sub(r"\s*([@(),.=])\s*", r"\1", text.strip())
    match = _SHAPE.fullmatch(compact)
    name = re.sub(r"[_\- ]", "", match["name"]).lower() if match else compact.lower()
    family = _NAMES.get(name)
    if match is None or family is None:
        raise _unknown(text)
    parameters = dict(family.parameters)
    cutoff = match["cutoff"] or match["after"]
    if match["decimal"] is not None:
        if "p" in parameters:
            parameters["p"] = _persistence(text, f"0.{match['decimal']}")
        elif match["after"] is None:
            cutoff = match["decimal"]
        else:
            raise _unknown(text)
    given = _read_parameters(text, match["inside"] or "", family)
    if match["level"] is not None:
        given["rel"] = _checked(text, family, "rel", match["level"])
    parameters.update(given)
    return family.name, _read_cutoff(text, cutoff, family, name), tuple(sorted(parameters.items()))


def _unknown(text: str) -> InputError:
    wanted = re.split(r"[@(.]", text.strip().lower())[0]
    close = get_close_matches(re.sub(r"[_\- ]", "", wanted), list(_NAMES), n=4, cutoff=0.5)
    names = list(dict.fromkeys(_NAMES[name].name for name in close))
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


def _read_parameters(text: str, inside: str, family: Family) -> dict[str, Parameter]:
    given: dict[str, Parameter] = {}
    for part in filter(None, (part.strip() for part in inside.split(","))):
        key, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"measure {text!r}: {part!r} is not written name=value")
        given[key.strip()] = _checked(text, family, key.strip(), value.strip())
    return given


def _checked(text: str, family: Family, key: str, value: str) -> Parameter:
    """Return a parameter's value, or say why it cannot be."""
    if key not in family.parameters:
        takes = ", ".join(family.parameters) or "no parameters"
        raise InputError(f"measure {text!r} has no parameter {key!r}", f"{family.name} takes {takes}.")
    if key == "dcg":
        bare = value.strip("'\"")
        if bare not in ("log2", "exp-log2"):
            raise InputError(f"measure {text!r}: dcg cannot be {value}", "Choose 'log2' or 'exp-log2'.")
        return bare
    if key == "p":
        return _persistence(text, value)
    try:
        number = float(value)
    except ValueError:
        number = nan
    if not isfinite(number) or (key == "max" and number <= 0):
        what = "a number above 0" if key == "max" else "a number"
        raise InputError(f"measure {text!r}: {key} must be {what}, not {value!r}")
    return number


def _persistence(text: str, value: str) -> float:
    try:
        persistence = float(value)
    except ValueError:
        raise InputError(f"measure {text!r}: p must be a number, not {value!r}") from None
    if not 0 < persistence < 1:
        raise InputError(f"measure {text!r}: p must lie between 0 and 1, both excluded")
    return persistence
