"""Numerals: columns of numbers read out of tokens, all at once and exactly.

A score becomes the float64 nearest to what is written, as Python's ``float`` gives it. Plain decimals of up
to 15 digits are computed with integer arithmetic and one exact division; the others are read one by one.
"""

import re

import numpy as np
from numpy.typing import NDArray

from prefjudge.formats.fields import FRONT, Places, Tokens, Words

_FLOAT = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
_INTEGER = re.compile(rb"[+-]?\d+")
_POWERS = np.array([10**n for n in range(16)], dtype=np.int64)
_FLOAT_POWERS = _POWERS.astype(np.float64)
_ZEROS = np.uint64(0x3030303030303030)
_DROP = np.array([8 * (8 - n) for n in range(9)], dtype=np.uint64)


def floats(tokens: Tokens) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read decimals; the second array is False where a token is none (``nan`` is none, ``inf`` is one)."""
    starts, negative = _unsigned(tokens)
    ends = tokens.ends
    dots = _dots(tokens.text, starts, ends)
    whole_size = dots - starts
    decimals = np.maximum(ends - dots - 1, 0)
    whole, fine = _digits(tokens.text, dots, whole_size)
    fine &= (whole_size + decimals > 0) & (whole_size + decimals <= 15) & (whole_size <= 8) & (decimals <= 8)
    part, good = _digits(tokens.text, ends, decimals)
    fine &= good
    power = np.minimum(decimals, 8)
    values = (whole * _POWERS[power] + part) / _FLOAT_POWERS[power]
    values = np.where(negative, -values, values)
    return _mended(tokens, values, fine)


def integers(tokens: Tokens) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Read whole numbers; the second array is False where a token is none or is beyond 18 digits."""
    starts, negative = _unsigned(tokens)
    size = tokens.ends - starts
    values, fine = _digits(tokens.text, tokens.ends, size)
    fine &= (size > 0) & (size <= 8)
    values = np.where(negative, -values, values)
    for row in np.flatnonzero(~fine).tolist():
        raw = tokens.raw(row)
        if _INTEGER.fullmatch(raw) and len(raw) <= 18:
            values[row], fine[row] = int(raw), True
    return values, fine


def _unsigned(tokens: Tokens) -> tuple[Places, NDArray[np.bool_]]:
    first = np.frombuffer(tokens.text, np.uint8)[tokens.starts]
    negative = first == 45
    return tokens.starts + (negative | (first == 43)), negative


def _dots(text: bytes, starts: Places, ends: Places) -> Places:
    """Return where the decimal point of each token is, its end where it has none."""
    marks = np.flatnonzero(np.frombuffer(text, np.uint8) == 46)
    if not marks.size:
        return ends
    found = marks[np.minimum(np.searchsorted(marks, starts), marks.size - 1)]
    return np.where((found >= starts) & (found < ends), found, ends)


def _digits(text: bytes, ends: Places, sizes: Places) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Read the last ``sizes`` bytes before ``ends`` as digits; sizes beyond 8 are the caller's to reject."""
    words: Words = np.ndarray((len(text) - 7,), "<u8", text, 0, (1,))[ends - 8]
    drop = _DROP[np.clip(sizes, 0, 8)]
    kept = np.uint64(64) - drop
    # shifting the unwanted bytes out and zeros ("0") in keeps the digits in the high bytes
    words = ((words >> drop) << drop) | _low(_ZEROS, drop)
    words = np.where(kept == 0, _ZEROS, words)
    words = words ^ _ZEROS
    good = ((words + np.uint64(0x7676767676767676)) | words) & np.uint64(0x8080808080808080) == 0
    words = (words * np.uint64(10) + (words >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    words = (words * np.uint64(100) + (words >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    words = (words * np.uint64(10000) + (words >> np.uint64(32))) & np.uint64(0x00000000FFFFFFFF)
    return words.astype(np.int64), good


def _low(word: np.uint64, bits: Words) -> Words:
    return word & ((np.uint64(1) << bits) - np.uint64(1))


def _mended(
    tokens: Tokens, values: NDArray[np.float64], fine: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read the tokens that were not plain decimals with Python's own reader."""
    rows = np.flatnonzero(~fine)
    if rows.size:
        raws = tokens.take(rows).to_bytes()
        read = [float(raw) if _FLOAT.fullmatch(raw) else np.nan for raw in raws]
        values[rows] = read
        fine[rows] = ~np.isnan(read)
    return values, fine


assert FRONT >= 8
