"""Somebody who tries to tell gold pairs from the others by everything in a served page but its meaning."""

import json
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from math import erfc, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]
_SLOT = re.compile(rb'<dt id="([^"]*)">(.*?)<dd id="([^"]*)">(.*?)<dd id="([^"]*)">(.*)', re.DOTALL)
_BUCKETS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedPage:
    """A page as bytes, when each arrived (in seconds), and which names are gold and which tokens right."""

    source: bytes
    arrived: Floats
    gold: frozenset[str]
    right: frozenset[str] = frozenset()

    def edited(self, source: bytes) -> "ServedPage":
        return replace(self, source=source, arrived=np.resize(self.arrived, len(source)))

    @property
    def chunks(self) -> list[bytes]:
        """The source of each slot."""
        return [b"<dt" + part for part in self._list().split(b"<dt")[1:]]

    @property
    def layouts(self) -> list[tuple[list[int], list[int]]]:
        return json.loads(self._rules())["layouts"]  # type: ignore[no-any-return]

    def with_chunks(self, chunks: Sequence[bytes]) -> "ServedPage":
        before = self._list().split(b"<dt")[0]
        return self.edited(self.source.replace(self._list(), before + b"".join(chunks)))

    def with_layouts(self, layouts: object) -> "ServedPage":
        rules = json.dumps({**json.loads(self._rules()), "layouts": layouts}).encode()
        return self.edited(self.source.replace(self._rules(), rules))

    def _list(self) -> bytes:
        return self.source.split(b"<dl", 1)[1].split(b"</dl>", 1)[0]

    def _rules(self) -> bytes:
        return self.source.split(b'id="rules">', 1)[1].split(b"</script>", 1)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """What is seen of each thing, whether it is of the kind sought, and among which others it is compared."""

    seen: Floats
    sought: NDArray[np.bool_]
    group: NDArray[np.int64]
    half: NDArray[np.bool_]


def name_of(chunk: bytes) -> str:
    found = _SLOT.match(chunk)
    assert found, chunk[:200]
    return found[1].decode()


def with_texts(chunk: bytes, *texts: str) -> bytes:
    """Return the source of a slot with other texts: of the query and both passages."""
    found = _SLOT.match(chunk)
    assert found
    query, first, second = (escape(text).encode() for text in texts)
    return b'<dt id="%s">%s<dd id="%s">%s<dd id="%s">%s\n' % (
        found[1],
        query,
        found[3],
        first,
        found[5],
        second,
    )


def slots_by_form(pages: Sequence[ServedPage]) -> Examples:
    """Every slot by names, markup, places, sides, arrival, and others of its query; sought is gold."""
    seen, sought, group = [], [], []
    for number, page in enumerate(pages):
        chunks, layouts = page.chunks, page.layouts
        turned = np.array([sides for _, sides in layouts])
        turned = np.abs(turned - turned[0])
        odd = turned != np.round(turned.mean(axis=1, keepdims=True))
        asked = Counter(map(_query, chunks))
        for place, chunk in enumerate(chunks):
            at = [order.index(place) for order, _ in layouts]
            seen.append(
                np.concatenate(
                    [
                        _grams(_skeleton(chunk)),
                        _one_of(place, len(chunks)),
                        *(_one_of(where, len(chunks)) for where in at),
                        [np.mean(at) / len(chunks), np.std(at) / len(chunks), place / len(chunks)],
                        [sides[place] for _, sides in layouts],
                        odd[:, place],
                        [asked[_query(chunk)], asked[_query(chunk)] > 1],
                        [page.arrived[page.source.index(chunk)] - page.arrived[0]],
                    ]
                )
            )
            sought.append(name_of(chunk) in page.gold)
            group.append(number)
    return _examples(seen, sought, group, [number % 2 for number in group])


def slots_by_text(pages: Sequence[ServedPage]) -> Examples:
    """Every slot once, by sizes and punctuation of its texts; sought is gold, among all slots."""
    seen, sought, half = [], [], []
    known: set[tuple[bytes, ...]] = set()
    for page in pages:
        for chunk in page.chunks:
            found = _SLOT.match(chunk)
            assert found
            texts = (found[2], *sorted((found[4], found[6]), key=len))
            if texts in known:
                continue
            known.add(texts)
            sizes = np.log([len(text) + 1 for text in texts])
            marks = [_marks(text) for text in texts]
            seen.append(np.concatenate([sizes, [sizes[2] - sizes[1]], sizes**2, *marks]))
            sought.append(name_of(chunk) in page.gold)
            half.append(zlib.crc32(found[2]) % 2)  # pairs of a query stay together
    return _examples(seen, sought, half, half)


def passages_of_gold(pages: Sequence[ServedPage]) -> Examples:
    """Both passages of each gold slot by token, place, side and size; sought is the right one."""
    seen, sought, group, half = [], [], [], []
    for number, page in enumerate(pages):
        for place, chunk in enumerate(page.chunks):
            found = _SLOT.match(chunk)
            if found is None or found[1].decode() not in page.gold:
                continue
            for first, token, text in ((1, found[3], found[4]), (0, found[5], found[6])):
                sides = [swapped[place] ^ first for _, swapped in page.layouts]
                seen.append(np.concatenate([_grams(token), [first, np.log(len(text) + 1)], sides]))
                sought.append(token.decode() in page.right)
                group.append((len(seen) - 1) // 2)
                half.append(number % 2)
    return _examples(seen, sought, group, half)


def _examples(
    seen: Sequence[Floats], sought: Sequence[bool], group: Sequence[int], half: Sequence[int]
) -> Examples:
    return Examples(
        seen=np.array(seen, dtype=np.float64),
        sought=np.array(sought, dtype=bool),
        group=np.array(group, dtype=np.int64),
        half=np.array(half, dtype=bool),
    )


def _query(chunk: bytes) -> bytes:
    found = _SLOT.match(chunk)
    assert found
    return found[2]


def _skeleton(chunk: bytes) -> bytes:
    """Return a slot's source with its texts folded: names, tokens, markup, blanks and what ends each text."""
    found = _SLOT.match(chunk)
    assert found
    for text in (found[2], found[4], found[6]):
        ends = text[: len(text) - len(text.lstrip())] + b"~" + text[len(text.rstrip()) :]
        chunk = chunk.replace(b">" + text, b">" + ends, 1)
    return chunk


def _grams(text: bytes) -> Floats:
    """Return the hashed runs of one, two and three characters, and where the first of them are."""
    counts = np.zeros(_BUCKETS)
    for size in (1, 2, 3):
        for at in range(len(text) - size + 1):
            counts[zlib.crc32(text[at : at + size]) % _BUCKETS] += 1
    for at, byte in enumerate(text[:12]):
        counts[zlib.crc32(bytes([at, byte])) % _BUCKETS] += 1
    return np.append(counts, len(text))


def _marks(text: bytes) -> Floats:
    """Return how often kinds of punctuation stand in a text, by its length."""
    kinds = (b".", b",", b"&", b"-", b"(", b'"', b"?", b"0123456789", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    counts = [sum(byte in kind for byte in text) for kind in kinds]
    return np.array([*counts, len(re.findall(rb"\s\s", text)), text.count(b"\n")]) / (len(text) + 1)


def _one_of(index: int, count: int) -> Floats:
    return (np.arange(20) == min(index, 19)).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Success:
    """How well the guesser tells: the area under the ROC curve, and the chance of one as far from a half."""

    auc: float
    p_value: float


def success(examples: Examples) -> Success:
    """Learn from one half and guess on the other, both ways round.

    Either way, the chance is exact but for the normal approximation: if nothing tells what is sought, every
    choice of as many of a group is as likely, whatever was learnt from the other half. It is corrected for
    looking twice.
    """
    ways = [_learn_and_guess(examples, half) for half in (False, True)]
    right, compared = sum(way[0] for way in ways), sum(way[1] for way in ways)
    return Success(auc=right / compared, p_value=min(1.0, 2 * min(way[2] for way in ways)))


def _learn_and_guess(examples: Examples, half: bool) -> tuple[float, float, float]:
    learn, guess = examples.half == half, examples.half != half
    centre, spread = examples.seen[learn].mean(axis=0), examples.seen[learn].std(axis=0)
    scaled = (examples.seen - centre) / np.where(spread > 1e-12, spread, 1.0)
    score = scaled[guess] @ _fit_logistic(scaled[learn], examples.sought[learn])
    right = compared = expected = variance = 0.0
    for group in np.unique(examples.group[guess]):
        rows = examples.group[guess] == group
        sought = examples.sought[guess][rows]
        n, g = len(sought), int(sought.sum())
        if 0 < g < n:
            ranks = rankdata(score[rows])
            right += ranks[sought].sum() - g * (g + 1) / 2
            compared += g * (n - g)
            expected += g * (n - g) / 2
            variance += g * (n - g) / (n - 1) * ranks.var()
    return right, compared, erfc(abs(right - expected) / sqrt(2 * variance)) if variance else 1.0


def _fit_logistic(seen: Floats, sought: NDArray[np.bool_], ridge: float = 3.0) -> Floats:
    """Fit a penalised logistic regression by Newton's method; return the weights without the constant."""
    columns = np.column_stack([seen, np.ones(len(seen))])
    weights = np.zeros(columns.shape[1])
    penalty = np.full(columns.shape[1], ridge)
    penalty[-1] = 1e-6
    for _ in range(15):
        chance = 0.5 * (1 + np.tanh(0.5 * columns @ weights))
        slope = columns.T @ (sought - chance) - penalty * weights
        bend = (columns * (chance * (1 - chance))[:, None]).T @ columns + np.diag(penalty)
        weights = weights + np.linalg.solve(bend, slope)
    return weights[:-1]
