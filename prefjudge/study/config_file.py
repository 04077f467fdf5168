"""Reads study.toml and what the environment overrides, with errors in words; its templates and its schema."""

import json
import os
from collections.abc import Mapping
from copy import deepcopy
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.json_schema import GenerateJsonSchema

from prefjudge.errors import ConfigError
from prefjudge.renamed import KEYS
from prefjudge.resources import resource_dir
from prefjudge.study.config import StudyConfig
from prefjudge.study.values import parse_values, read_values

_SINGLE = frozenset({"PREFJUDGE_BUDGET", "PREFJUDGE_RULE", "PREFJUDGE_SEED"})
"""Variables that override a key above the first section."""


def load_config(path: Path) -> StudyConfig:
    """Read a study's config file; ``PREFJUDGE_HIT__REWARD=1.50`` overrides ``reward`` in ``[hit]``.

    So does ``PREFJUDGE_BUDGET=20`` ``budget``, which is in no section.

    Raises
    ------
    ConfigError
        The file is not TOML, or keys or values in it are wrong; all of them are named.
    """
    return check_config(read_values(path), path)


def parse_config(text: str, path: Path) -> StudyConfig:
    """Read the text of a config that is, or will be, at ``path``; as :func:`load_config`."""
    return check_config(parse_values(text, path), path)


def check_config(found: Mapping[str, Any], path: Path) -> StudyConfig:
    """Return the config of a file's values and the environment's; as :func:`load_config`."""
    values = deepcopy(dict(found))
    told = _override(values, os.environ)
    for key, (holds, _) in KEYS.items():
        section, name = key.split(".")
        inside = values.get(section)
        if isinstance(inside, dict) and _is_same(inside.get(name), holds):
            del inside[name]
    try:
        return StudyConfig.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{path}:\n{_explained(error, told)}", "Fix these keys.") from None


def schema_text() -> str:
    """Return the JSON Schema of study.toml, by which editors complete and check it."""
    schema = StudyConfig.model_json_schema()
    return json.dumps({"$schema": GenerateJsonSchema.schema_dialect, **schema}, indent=2, ensure_ascii=False)


def template(name: str) -> str:
    """Return the text of prefjudge's config ``name``, to start a study from.

    Raises
    ------
    ConfigError
        There is no such config.
    """
    known = {path.stem: path for path in sorted(resource_dir("configs").glob("*.toml"))}
    if name not in known:
        raise ConfigError(f"there is no config {name!r}", f"Choose one of: {', '.join(known)}.")
    return known[name].read_text(encoding="utf-8")


def _override(values: dict[str, Any], environ: Mapping[str, str]) -> dict[str, str]:
    """Apply the environment's settings; return the variable that each ``section.name`` is from."""
    told: dict[str, str] = {}
    for key, text in environ.items():
        section, separator, name = key.removeprefix("PREFJUDGE_").lower().partition("__")
        if key in _SINGLE:
            values[section], told[section] = text, key
            continue
        if not (key.startswith("PREFJUDGE_") and separator):
            continue
        if not isinstance(values.setdefault(section, {}), dict):
            raise ConfigError(f"{key}: {section} is not a section of study.toml", f"Unset {key}.")
        values[section][name] = text
        told |= dict.fromkeys((section, f"{section}.{name}"), key)
    return told


def _explained(error: ValidationError, told: Mapping[str, str]) -> str:
    lines = []
    for problem in error.errors(include_url=False):
        where = ".".join(str(part) for part in problem["loc"]) or "the file"
        if where in told:
            where = f"{where}, which {told[where]} sets"
        if (key := ".".join(map(str, problem["loc"]))) in KEYS:
            lines.append(f"  {where}: this key is gone, and {KEYS[key][1]}; delete this line")
        elif problem["type"] == "extra_forbidden":
            lines.append(f"  {where}: there is no such key{_guess(str(problem['loc'][-1]))}")
        else:
            lines.append(
                f"  {where}: {problem['msg'].removeprefix('Value error, ')} (got {problem['input']!r})"
            )
    return "\n".join(lines)


def _is_same(value: object, holds: str) -> bool:
    """Return whether a value of TOML or of the environment is the one that a text says."""
    try:
        return Decimal(str(value)) == Decimal(holds)
    except ArithmeticError:
        return str(value).lower() == holds


def _guess(key: str) -> str:
    """Suggest a key with a similar name, in any section."""
    keys: dict[str, str] = {}
    for name, field in StudyConfig.model_fields.items():
        inside = getattr(field.annotation, "model_fields", {})
        keys |= {part: f"{part} in [{name}]" for part in inside} or {name: f"{name}, above the first section"}
    close = get_close_matches(key, keys, n=1)
    return f"; did you mean {keys[close[0]]}?" if close else ""
