"""Numerals: columns of numbers read out of tokens, all at once and exactly.

A score becomes the float64 nearest to what is written, as Python's ``float`` gives it. The last characters of
all tokens are a row, those before them another, and so on: few operations on each row make whole numbers of
the digits, which a power of ten divides. What has more than 18 digits or an exponent, and ``inf``, is read
one by one.
"""

import re
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.tokens import FRONT, Places, Tokens

_FLOAT = re.compile(rb"[+-]?(\d++\.?\d*+|\.\d++)([eE][+-]?\d++)?|[+-]?inf(inity)?", re.IGNORECASE)
"""It looks at each digit once: a number may be as long as the file."""
_POWERS = np.array([float(10**n) for n in range(23)])  # exact up to 10**22
_EXACT = 2**53
_DIGITS = 18
_ZERO = np.uint8(48)
_POINT = np.uint8(254)
"""A point, from which 48 is taken."""

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Digits = list[NDArray[np.uint8]]
"""Rows of digits, the last of each number first."""


def floats(tokens: Tokens) -> tuple[Floats, Flags]:
    """Read decimals; the second array is False where a token is not one (``nan`` is not, ``inf`` is)."""
    sizes, negative = _sizes(tokens)
    digits, decimals, pointed = _without_points(_digits(tokens, sizes), sizes.size)
    mantissa, fine = _whole(digits, sizes - pointed)
    # Up to 15 digits the mantissa is below 2**53 and the power at most
    # 10**18: both are exact, and one division rounds once (Clinger, 1990).
    values = mantissa / _POWERS[decimals]
    if len(digits) > 15:
        large = np.flatnonzero(fine & (mantissa >= _EXACT))
        values[large], fine[large] = _quotient(mantissa[large], decimals[large].astype(np.int64))
    if negative.any():
        np.negative(values, out=values, where=negative)
    if not fine.all():
        rest = np.flatnonzero(~fine)
        raws = tokens.take(rest).to_bytes()
        read = np.array([float(raw) if _FLOAT.fullmatch(raw) else np.nan for raw in raws])
        values[rest], fine[rest] = read, ~np.isnan(read)
    return values, fine


def integers(tokens: Tokens) -> tuple[NDArray[np.int64], Flags]:
    """Read whole numbers; the second array is False where a token is not one, or has more than 18 digits."""
    sizes, negative = _sizes(tokens)
    values, fine = _whole(_digits(tokens, sizes), sizes)
    if negative.any():
        np.negative(values, out=values, where=negative)
    return values, fine


def _sizes(tokens: Tokens) -> tuple[Places, Flags]:
    """Return how many characters each number has without its sign, and which sign that is."""
    first = np.frombuffer(tokens.text, np.uint8)[tokens.starts]
    negative = first == 45
    return tokens.ends - tokens.starts - (negative | (first == 43)), negative


def _digits(tokens: Tokens, sizes: Places) -> Digits:
    """Return the characters of numbers less "0", the last of each first; 0 before the first of one."""
    symbols = np.frombuffer(tokens.text, np.uint8)
    least, most = int(sizes.min(initial=_DIGITS)), min(int(sizes.max(initial=0)), _DIGITS + 1)
    firsts = tokens.ends - most
    rows = []
    for place in range(most):
        row = symbols[most - 1 - place :][firsts]
        row -= _ZERO
        if place >= least:
            row *= sizes > place
        rows.append(row)
    return rows


def _without_points(digits: Digits, count: int) -> tuple[Digits, NDArray[np.integer[Any]], Flags]:
    """Take the last point out of each number; return how many digits follow it, and which have one."""
    for place, row in enumerate(digits):
        if row[0] == _POINT and (row == _POINT).all():  # most files give each score as many decimals
            return digits[:place] + digits[place + 1 :], np.full(count, place), np.ones(count, bool)
    decimals, pointed = np.zeros(count, np.uint8), np.zeros(count, bool)
    for row, before in pairwise([*digits, np.zeros(count, np.uint8)]):
        pointed |= row == _POINT
        decimals += ~pointed
        row ^= (row ^ before) * pointed  # what stands before a point moves up over it
    decimals *= pointed
    return digits, decimals, pointed


def _whole(digits: Digits, sizes: Places) -> tuple[NDArray[np.int64], Flags]:
    """Return the numbers that digits make; the second array is False where some are none, or too many."""
    fine = (sizes > 0) & (sizes <= _DIGITS)
    for row in digits:
        fine &= row <= 9
    if len(digits) % 2:
        digits = [*digits, np.zeros(sizes.size, np.uint8)]
    values = np.zeros(sizes.size, np.int64)
    for ten, one in zip(digits[::-2], digits[-2::-2], strict=True):
        values *= 100
        values += 10 * ten + one  # below 100, so that a byte holds it
    return values, fine


def _quotient(mantissa: NDArray[np.int64], decimals: Places) -> tuple[Floats, Flags]:
    """Return ``mantissa / 10**decimals`` rounded once; the second array is False where that is not sure.

    The quotient is corrected by the remainder, which is computed exactly (Dekker's product), so the pair
    carries about 100 bits. Only a pair this close to the middle between two floats could round wrongly.
    """
    # 18 digits do not fit into 53 bits: high + low is the mantissa, exactly.
    high = mantissa.astype(np.float64)
    low = (mantissa - high.astype(np.int64)).astype(np.float64)
    divisor = _POWERS[decimals]
    first = high / divisor
    product, error = _product(first, divisor)
    # What the first quotient leaves, divided again. 10**18 is an exact float64 (exact up to 10**22).
    second = (((high - product) - error) + low) / divisor
    value = first + second
    left = second - (value - first)
    half = np.spacing(np.maximum(value, np.finfo(np.float64).tiny)) / 2
    certain = (np.abs(np.abs(left) - half) > half * 1e-6) | (mantissa < _EXACT)
    return np.where(mantissa < _EXACT, first, value), certain


def _product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the product of two floats and its rounding error."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _halves(a: Floats) -> tuple[Floats, Floats]:
    """Split a float into two of 26 bits."""
    # Veltkamp's split with 2**27 + 1.
    scaled = a * 134217729.0
    high = scaled - (scaled - a)
    return high, a - high


assert FRONT > _DIGITS, "characters are looked at before a block's first token"
