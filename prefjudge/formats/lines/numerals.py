"""Numerals: columns of numbers read out of tokens, all at once and exactly.

A score becomes the float64 nearest to what is written, as Python's ``float`` gives it. Three ways lead there:
decimals of up to 16 characters whose point stands in the last eight are eight-byte words, read with a few
operations on integers and one exact division; other decimals of up to 18 digits are divided with a remainder,
and rounded with it; the rest (exponents, ``inf``) is read one by one.
"""

import re

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.tokens import FRONT, Places, Text, Tokens, Words, loadable

_FLOAT = re.compile(rb"[+-]?(\d++\.?\d*+|\.\d++)([eE][+-]?\d++)?|[+-]?inf(inity)?", re.IGNORECASE)
"""It looks at each digit once: a number may be as long as the file."""
_INTEGER = re.compile(rb"[+-]?\d+")
_POWERS = np.array([10**n for n in range(19)], dtype=np.int64)
_FLOAT_POWERS = np.array([float(10**n) for n in range(23)])  # exact up to 10**22
_EXACT = 2**53
_DIGITS = 18
_LAST = np.array([2**64 - 2 ** (8 * (8 - n)) for n in range(9)], dtype=np.uint64)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def _bytes(value: int) -> np.uint64:
    """Return a word that holds ``value`` in each byte."""
    return np.uint64(value * 0x0101010101010101)


_PAIRINGS = [
    (np.uint64(8), np.uint64(10), np.uint64(0x00FF00FF00FF00FF)),
    (np.uint64(16), np.uint64(100), np.uint64(0x0000FFFF0000FFFF)),
    (np.uint64(32), np.uint64(10000), np.uint64(0x00000000FFFFFFFF)),
]
_ZEROS, _POINTS, _ONES, _HIGHS = _bytes(0x30), _bytes(0x2E), _bytes(0x01), _bytes(0x80)
_ONE = np.uint64(1)


def floats(tokens: Tokens) -> tuple[Floats, Flags]:
    """Read decimals; the second array is False where a token is not one (``nan`` is not, ``inf`` is)."""
    starts, negative = _unsigned(tokens)
    values, fine = _short_decimals(tokens.text, starts, tokens.ends)
    rest = np.flatnonzero(~fine)
    if rest.size:
        values[rest], fine[rest] = _long_decimals(tokens.text, starts[rest], tokens.ends[rest])
    if negative.any():
        np.negative(values, out=values, where=negative)
    rest = np.flatnonzero(~fine)
    if rest.size:
        raws = tokens.take(rest).to_bytes()
        read = np.array([float(raw) if _FLOAT.fullmatch(raw) else np.nan for raw in raws])
        values[rest], fine[rest] = read, ~np.isnan(read)
    return values, fine


def integers(tokens: Tokens) -> tuple[NDArray[np.int64], Flags]:
    """Read whole numbers; the second array is False where a token is not one, or has more than 18 digits."""
    starts, negative = _unsigned(tokens)
    size = tokens.ends - starts
    values, fine = _digits(_last_word(tokens.text, tokens.ends, size))
    fine &= (size > 0) & (size <= 8)
    if negative.any():
        np.negative(values, out=values, where=negative)
    # More than eight digits are rare in a column of ranks: the rest is read one by one.
    for row in np.flatnonzero(~fine).tolist():
        raw = tokens.raw(row)
        if _INTEGER.fullmatch(raw) and len(raw) <= _DIGITS:
            values[row], fine[row] = int(raw), True
    return values, fine


def _unsigned(tokens: Tokens) -> tuple[Places, Flags]:
    first = np.frombuffer(tokens.text, np.uint8)[tokens.starts]
    negative = first == 45
    signed = negative | (first == 43)
    return (tokens.starts + signed if signed.any() else tokens.starts), negative


def _last_word(text: Text, ends: Places, sizes: Places) -> Words:
    """Return the last ``sizes`` bytes before ``ends``, at most 8 of them, with zeros ("0") before them."""
    # XOR with "0" turns zeros into NULs, the mask clears what is before the token, and the second XOR makes
    # "0" of every NUL: leading zeros, which change no value.
    word = loadable(text)[ends - 8]
    word ^= _ZEROS
    word &= _LAST[np.clip(sizes, 0, 8)]
    word ^= _ZEROS
    return word


def _digits(word: Words) -> tuple[NDArray[np.int64], Flags]:
    """Read eight digits, the first in the lowest byte."""
    word = word ^ _ZEROS
    # A byte above 9 reaches 0x80 with 0x76 added, or has its high bit already. A sum that carries into the
    # next byte comes from a byte above 0x89, which is caught by its own high bit.
    high = word + _bytes(0x76)
    high |= word
    high &= _HIGHS
    good = high == 0
    # Two digits become a number in each 16 bits, then four in
    # 32, then eight: three multiplications for eight digits.
    for bits, power, mask in _PAIRINGS:
        np.right_shift(word, bits, out=high)
        word *= power
        word += high
        word &= mask
    return word.view(np.int64), good


def _short_decimals(text: Text, starts: Places, ends: Places) -> tuple[Floats, Flags]:
    """Read ``[digits][.digits]`` of up to 16 characters with at most 7 decimals."""
    size = ends - starts
    word = _last_word(text, ends, size)
    mark = _points(word[:1])
    # Most files give each score as many decimals: then one mark does for all, and another point before it
    # is refused as a digit.
    byte = (mark >> np.uint64(7)) * np.uint64(0xFF)
    if mark.any() and (word & byte == _POINTS & byte).all():
        pointed = mark != 0
    else:
        mark = _points(word)
        pointed = mark != 0
    if pointed.all():
        joined, decimals = _joined(word, mark), _decimals(mark)
    else:
        joined = np.where(pointed, _joined(word, mark), word)
        decimals = np.where(pointed, _decimals(mark), 0)
    tail, fine = _digits(joined)
    if size.max(initial=0) > 8:
        lead, good = _digits(_last_word(text, ends - 8, size - 8))
        # Without a point the last word holds eight digits, with it seven.
        tail += lead * (_POWERS[7] if pointed.all() else _POWERS[8 - pointed.astype(np.int64)])
        fine &= good
    fine &= size > pointed
    # Up to 15 digits the mantissa is below 2**53 and the power at most
    # 10**7: both are exact, and one division rounds once (Clinger, 1990).
    fine &= size <= 15 + pointed
    return tail / _FLOAT_POWERS[decimals], fine


def _points(word: Words) -> Words:
    """Return the high bit of the byte of the first point in each word; 0 where it has none."""
    point = word ^ _POINTS
    # Bytes that are 0 get their high bit. It is sure for the lowest of them only, since a borrow may flag
    # bytes above it; another point is then refused as a digit.
    mark: Words = (point - _ONES) & ~point
    mark &= _HIGHS
    mark &= -mark
    return mark


def _joined(word: Words, mark: Words) -> Words:
    """Return seven digits without the point between them, and a zero before them."""
    before = word & ((mark >> np.uint64(7)) - _ONE)  # the digits before the point move up over it
    before <<= np.uint64(8)
    # Digits behind the point stay where they are; a "0" fills the lowest byte, that of the highest digit.
    joined: Words = word & -(mark << _ONE)
    joined |= before
    joined |= np.uint64(0x30)
    return joined


def _decimals(mark: Words) -> Places:
    """Return how many digits follow the point."""
    decimals: Places = 7 - (np.bitwise_count(mark - _ONE) >> 3).astype(np.int64)
    return decimals


def _long_decimals(text: Text, starts: Places, ends: Places) -> tuple[Floats, Flags]:
    """Read decimals of up to 18 digits wherever their point is."""
    # The first point at or after each start; the end of the token where it has none.
    points = np.flatnonzero(np.frombuffer(text, np.uint8) == 46)
    found = np.append(points, len(text))[np.searchsorted(points, starts)]
    points = np.where(found < ends, found, ends)
    whole, decimals = points - starts, np.maximum(ends - points - 1, 0)
    fine = (whole + decimals > 0) & (whole + decimals <= _DIGITS)
    mantissa = np.zeros(starts.size, np.int64)
    for part_ends, sizes, shift in ((points, whole, decimals), (ends, decimals, np.zeros_like(decimals))):
        for piece in range(3):
            value, good = _digits(_last_word(text, part_ends - 8 * piece, sizes - 8 * piece))
            power = _POWERS[np.minimum(shift + 8 * piece, _DIGITS)]
            mantissa += np.where(sizes > 8 * piece, value * power, 0)
            fine &= good | (sizes <= 8 * piece)
    values, certain = _quotient(np.where(fine, mantissa, 0), np.minimum(decimals, _DIGITS))
    return values, fine & certain


def _quotient(mantissa: NDArray[np.int64], decimals: Places) -> tuple[Floats, Flags]:
    """Return ``mantissa / 10**decimals`` rounded once; the second array is False where that is not sure.

    The quotient is corrected by the remainder, which is computed exactly (Dekker's product), so the pair
    carries about 100 bits. Only a pair this close to the middle between two floats could round wrongly.
    """
    # 18 digits do not fit into 53 bits: high + low is the mantissa, exactly.
    high = mantissa.astype(np.float64)
    low = (mantissa - high.astype(np.int64)).astype(np.float64)
    divisor = _FLOAT_POWERS[decimals]
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


assert FRONT >= 24, "words are loaded that end before a block's first token"
