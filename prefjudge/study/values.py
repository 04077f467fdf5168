"""The values of a study's config before it is checked as a whole: TOML, and amounts of money.

Nothing heavy is imported, so that verbs that only read a study start fast.
"""

import tomllib
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeAlias

from prefjudge.errors import ConfigError

Dollars: TypeAlias = Decimal | float | str
"""An amount of dollars as a program may give it: ``Decimal("1.50")``, ``1.5`` or ``"1.50"``."""


def read_values(path: Path) -> dict[str, Any]:
    """Return the values in a config file, unchecked."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: {error}", "Save it as UTF-8.") from error
    return parse_values(text, path)


def parse_values(text: str, path: Path) -> dict[str, Any]:
    """Return the values in the text of a config that is, or will be, at ``path``; as `read_values`."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a bare ValueError
        both = "Put the lines of both under the first header, and delete the second."
        mend = both if " twice " in str(error) else "Fix the line that the message names."
        raise ConfigError(f"{path} is not TOML: {error}", mend) from error


def parse_money(value: object) -> Decimal:
    """Return an amount of dollars: 0 or more, in whole cents."""
    try:
        amount = Decimal(-1 if isinstance(value, bool) else str(value))
    except InvalidOperation:
        amount = Decimal(-1)
    if not (amount.is_finite() and amount >= 0):
        raise ValueError("not an amount of dollars")
    if int(amount.normalize().as_tuple().exponent) < -2:
        raise ValueError("not an amount of dollars in whole cents")
    return amount
