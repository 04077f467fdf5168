"""HITs: ten pairs and three hidden gold pairs, what they cost, and what a worker's fields say of them."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

from prefjudge.words import many

if TYPE_CHECKING:  # a marketplace, which shows comparisons, needs no numbers
    from numpy.random import Generator

Shown: TypeAlias = tuple[tuple[str, str], ...]
"""Fields that stand below a passage, such as its date: their names and what they say."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as people see it."""

    text: str
    shown: Shown = ()

    def __str__(self) -> str:
        return "\n".join([self.text, *(f"{name}: {value}" for name, value in self.shown)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A question of a HIT: a query and two passages, or more, under opaque names of 12 of ``[a-z0-9]`` each.

    ``name`` is the form field's, and ``tokens`` are the values that choosing each passage submits.
    """

    name: str
    query: str
    passages: tuple[Passage, ...]
    tokens: tuple[str, ...]


Side: TypeAlias = "bool | tuple[int, ...]"
"""Whether the first of two passages is shown on the right; of more, all of them in the order shown."""


def in_order(side: Side, passages: int) -> tuple[int, ...]:
    """Return the passages of a slot, by their places in it, as they are shown."""
    if isinstance(side, tuple):
        return side
    return (1, 0) if side else tuple(range(passages))


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One way to show a HIT."""

    order: tuple[int, ...]
    """The slots' indices in the order in which they are shown."""
    swapped: tuple[Side, ...]
    """For each slot (by its index, not its place), on which sides its passages are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HitPlan:
    """What one HIT asks."""

    pairs: tuple[int, ...]
    """The pairs to judge, as positions in the caller's list."""
    gold: tuple[int, ...]
    """The hidden gold pairs, as positions in the caller's list."""
    slots: tuple[int, ...]
    """The slots in their stored order: ``k < len(pairs)`` stands for ``pairs[k]``, a larger one for ``gold[k
    - len(pairs)]``. The order is random, so that a place tells nothing."""
    layouts: tuple[Layout, ...]
    """The ways to show it. In each, the gold pairs are right on both sides at least once. From one to another
    either every slot is swapped or none is."""


def layout_index(assignment_id: str, layouts: int) -> int:
    """Return which layout an assignment is shown: the FNV-1a hash of its id, modulo the number of layouts."""
    # The page computes the same number in JavaScript.
    value = 0x811C9DC5
    for byte in assignment_id.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value % layouts


Question: TypeAlias = tuple[int, ...]
"""The numbers of the pairs that a question shows: one, or all pairs of more than two passages."""


def ask_together(
    wanted: Iterable[tuple[int, str, str, str, int]],
    known: Mapping[tuple[str, str, str], int],
    passages: int,
) -> list[tuple[int, Question]]:
    """Return questions of up to so many passages that show the wanted pairs, each with how often to ask it.

    All pairs that are shown together are ``known``. Wanted are the number, the query, both documents and how
    many votes.
    """
    if passages == 2:
        return [(votes, (number,)) for number, *_, votes in wanted]
    by_query: dict[str, list[tuple[str, str, int]]] = {}
    for _, query, a, b, votes in wanted:
        by_query.setdefault(query, []).append((a, b, votes))
    found: list[tuple[int, Question]] = []
    for query, pairs in by_query.items():
        docs = sorted({doc for a, b, _ in pairs for doc in (a, b)})
        places = combinations(range(len(docs)), 2)
        there = {(a, b) for a, b in places if (query, docs[a], docs[b]) in known}
        lacking = {(docs.index(a), docs.index(b)): votes for a, b, votes in pairs}
        for votes, shown in show_together(lacking, passages, there):
            found.append((votes, tuple(known[query, docs[a], docs[b]] for a, b in combinations(shown, 2))))
    return found


def show_together(
    lacking: Mapping[tuple[int, int], int], passages: int, known: Container[tuple[int, int]] | None = None
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield candidates of a query to show together, in order, and how often, until no pair lacks votes.

    The pair that lacks most comes first, with the candidates whose pairs with it lack most. Only pairs that
    are ``known`` are shown.
    """
    candidates = sorted({one for pair in lacking for one in pair})
    while lacking:
        shown = sorted(max(lacking.items(), key=lambda one: one[1])[0])
        while len(shown) < passages:
            gain = {}
            for one in candidates:
                pairs = [(min(one, other), max(one, other)) for other in shown]
                if one not in shown and (known is None or all(pair in known for pair in pairs)):
                    gain[one] = sum(lacking.get(pair, 0) for pair in pairs)
            best = max(gain, key=gain.__getitem__, default=None)
            if best is None or not gain[best]:
                break
            shown = sorted([*shown, best])
        together = [pair for pair in combinations(shown, 2) if pair in lacking]
        votes = min(lacking[pair] for pair in together)
        left = {**lacking, **{pair: lacking[pair] - votes for pair in together}}
        lacking = {pair: count for pair, count in left.items() if count}
        yield votes, tuple(shown)


def pack_questions(questions: Sequence[Question], per_hit: int, *, rng: "Generator") -> list[list[Question]]:
    """Deal questions to HITs at random, each to one that has none of its pairs; HITs may hold fewer."""
    packed: list[list[Question]] = []
    room: list[list[Question]] = []
    for place in rng.permutation(len(questions)).tolist():
        new = questions[place]
        hit = next((hit for hit in room if all(set(new).isdisjoint(one) for one in hit)), None)
        if hit is None:
            room.append(hit := [])
            packed.append(hit)
        hit.append(new)
        if len(hit) == per_hit:
            room.remove(hit)
    return packed


def plan_hit(
    pairs: Sequence[int],
    gold: Sequence[int],
    *,
    layouts: int = 1,
    passages: Sequence[int] = (),
    rng: "Generator",
) -> HitPlan:
    """Shuffle the pairs and the gold pairs of a HIT into slots and draw its layouts.

    Where questions have more than two ``passages``, it says how many each has, first the pairs' and then the
    gold pairs'.
    """
    # The first passage of a gold slot is the good one, so a gold pair that is not swapped is right on the
    # left. Each layout has gold pairs right on either side, where there are at least two: someone who always
    # chooses one side fails. The layouts differ in their order, and show the sides as they were drawn or all
    # of them mirrored. Were the sides drawn again for each layout, the few slots that in no layout are all on
    # one side would give the gold pairs away.
    count = len(pairs) + len(gold)
    slots = tuple(rng.permutation(count).tolist())
    sizes = [passages[k] if passages else 2 for k in slots]
    sides = _draw_sides([k >= len(pairs) for k in slots], sizes, rng)
    several = max(sizes, default=2) > 2  # the first layout is as drawn: gold is right at more than one place
    turns = [bool(number % 2) for number in range(layouts)] if several else _take_turns(layouts, rng)
    return HitPlan(
        pairs=tuple(pairs),
        gold=tuple(gold),
        slots=slots,
        layouts=tuple(
            Layout(
                order=tuple(rng.permutation(count).tolist()),
                swapped=tuple(
                    _rotated(side, number) if isinstance(side, tuple) else side != mirrored for side in sides
                ),
            )
            for number, mirrored in enumerate(turns)
        ),
    )


def _draw_sides(is_gold: Sequence[bool], passages: Sequence[int], rng: "Generator") -> list[Side]:
    sides: list[Side] = (rng.random(len(is_gold)) < 0.5).tolist()
    for place, size in enumerate(passages):
        if size > 2:
            sides[place] = tuple(rng.permutation(size).tolist())
    golden = [place for place, gold in enumerate(is_gold) if gold]
    if len(golden) >= 2 and len({in_order(sides[place], 2).index(0) for place in golden}) == 1:
        flip = int(rng.choice(golden))
        side = sides[flip]
        sides[flip] = _rotated(side, 1) if isinstance(side, tuple) else not side
    return sides


def _rotated(side: tuple[int, ...], by: int) -> tuple[int, ...]:
    return (*side[by % len(side) :], *side[: by % len(side)])


def _take_turns(layouts: int, rng: "Generator") -> list[bool]:
    """Mirror every other layout, so that each pair is shown both ways about equally often."""
    first = bool(rng.random() < 0.5)
    return [first != bool(number % 2) for number in range(layouts)]


# Costs: rewards, what a crowd takes on top, and what an hour pays. Money is Decimal, to the cent.

CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a batch of HITs will cost."""

    pairs: int
    hits: int
    assignments: int
    rewards: Decimal
    fees: Decimal
    """The sums over all assignments."""
    hourly: Decimal | None
    """The pay of an hour at the expected seconds a pair; None where those are not known."""
    hours: float
    """The time of all assignments at these seconds; 0 where they are not known."""

    @property
    def total(self) -> Decimal:
        """Rewards and fees."""
        return self.rewards + self.fees


def estimate(
    *,
    pairs: int,
    hits: int,
    assignments_per_hit: int,
    slots_per_hit: int,
    reward: Decimal,
    price: Decimal,
    seconds_per_pair: float | None = None,
) -> Estimate:
    """Return the cost of ``hits`` HITs of ``assignments_per_hit`` assignments each."""
    assignments = hits * assignments_per_hit
    return Estimate(
        pairs=pairs,
        hits=hits,
        assignments=assignments,
        rewards=reward * assignments,
        fees=(price - reward) * assignments,
        hourly=hourly_pay(reward, slots_per_hit, seconds_per_pair) if seconds_per_pair else None,
        hours=assignments * slots_per_hit * (seconds_per_pair or 0.0) / 3600,
    )


def hourly_pay(reward: Decimal, slots: int, seconds_per_pair: float) -> Decimal:
    """Return what an hour pays when each of a HIT's ``slots`` comparisons takes ``seconds_per_pair``."""
    return (reward * 3600 / Decimal(str(slots * seconds_per_pair))).quantize(CENT, rounding=ROUND_HALF_UP)


def prorated(reward: Decimal, done: int, slots: int) -> Decimal:
    """Return the share of a reward for ``done`` of ``slots`` comparisons, rounded up to the cent.

    References
    ----------
    Shallow pooling for sparse labels, section 3.1: "Workers exiting before completing the task were paid a
    prorated amount."
    """
    share = reward * done / slots
    rounded = share.quantize(CENT, rounding=ROUND_HALF_UP)
    return rounded if rounded >= share else rounded + CENT


# Slot answers: what a worker's fields say about the slots of a HIT, none of it trusted.

TIE = "tie"
REASONS = ("text", "topic", "other")
"""Why a worker cannot judge a pair: a text is broken or foreign; the topic is not known; another reason."""
_UNABLE = {f"unable-{reason}": reason for reason in REASONS}
LONGEST_COMMENT = 500
LONGEST_REMARK = 2000
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What a comment never shows: controls, marks that turn the direction of other text, lone surrogates."""
_LONGEST_MS = 24 * 3600 * 1000


class BadAnswerError(ValueError):
    """The fields cannot come from the page as it was served; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What was chosen in one slot."""

    slot: int
    """The slot's index."""
    shown: tuple[int, ...]
    """The slot's passages, by their places in it, as they were shown."""
    chosen: int | None
    """The place of the one that was chosen; None for a tie."""
    strength: int
    """How strongly, from 1."""
    milliseconds: int
    """How long the slot was visible."""

    @property
    def first_on_left(self) -> bool:
        """Whether the slot's first passage was shown on the left."""
        return self.shown[0] == 0

    @property
    def choice(self) -> int:
        """1 where the left passage of two was chosen, -1 where the right was, 0 for a tie."""
        return 0 if self.chosen is None else 1 if self.chosen == self.shown[0] else -1

    @property
    def chose_first(self) -> bool:
        """Whether the slot's first passage was chosen."""
        return self.chosen == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A worker's checked answer to a HIT."""

    layout: int
    """Which layout the page showed."""
    stopped: bool
    """Whether the worker stopped early."""
    choices: tuple[Choice, ...]
    """The slots with a vote, in slot order."""
    unable: Mapping[int, str] = field(default_factory=dict)
    """The slots that the worker could not judge, and the reason of each, one of :data:`REASONS`."""
    comments: Mapping[int, str] = field(default_factory=dict)
    """What the worker wrote about single slots."""
    remark: str = ""
    """What the worker wrote about the whole HIT."""

    @property
    def seconds(self) -> float:
        """How long the slots were visible in all."""
        return sum(choice.milliseconds for choice in self.choices) / 1000


def check_answer(
    fields: Mapping[str, str],
    names: Sequence[str],
    tokens: Sequence[tuple[str, ...]],
    layouts: Sequence[Layout],
    assignment_id: str,
    *,
    allow_ties: bool = False,
    strengths: int = 0,
    allow_unable: bool = False,
) -> Answer:
    """Check the submitted fields against the page that was served."""
    if fields.get("consent") != "yes":
        raise BadAnswerError("consent was not given")
    stopped = fields.get("stopped") == "1"
    index = layout_index(assignment_id, len(layouts))
    choices, unable = [], {}
    for slot, (name, passages) in enumerate(zip(names, tokens, strict=True)):
        if name not in fields:
            continue
        if allow_unable and fields[name] in _UNABLE:
            unable[slot] = _UNABLE[fields[name]]
            continue
        choices.append(
            Choice(
                slot=slot,
                shown=in_order(layouts[index].swapped[slot], len(passages)),
                chosen=_chosen(fields[name], passages, allow_ties),
                strength=_strength(fields.get(f"{name}.strength", ""), strengths),
                milliseconds=_milliseconds(fields.get(f"{name}.ms", "")),
            )
        )
    if not choices:
        raise BadAnswerError("nothing is answered")
    missing = len(names) - len(choices) - len(unable)
    if missing and not stopped:
        raise BadAnswerError(f"{missing} of {many(len(names), 'comparison')} are not answered")
    written = {
        slot: clean_comment(fields.get(f"{name}.comment", ""), LONGEST_COMMENT)
        for slot, name in enumerate(names)
    }
    return Answer(
        layout=index,
        stopped=stopped,
        choices=tuple(choices),
        unable=unable,
        comments={slot: text for slot, text in written.items() if text},
        remark=clean_comment(fields.get("comment", ""), LONGEST_REMARK),
    )


def clean_comment(text: str, longest: int) -> str:
    """Return a worker's words without what cannot be seen, and no more of them than the page takes."""
    # Cut first: what was sent may be far longer, and every character of it costs a look.
    return _UNSEEN.sub("", text[: 2 * longest])[:longest].strip()


def _chosen(value: str, passages: tuple[str, ...], allow_ties: bool) -> int | None:
    if value == TIE and allow_ties:
        return None
    if value not in passages:
        raise BadAnswerError(f"{value[:20]!r} is not one of the choices")
    return passages.index(value)


def _strength(value: str, strengths: int) -> int:
    if not strengths:
        return 1
    if value not in {str(degree) for degree in range(1, strengths + 1)}:
        raise BadAnswerError(f"{value[:20]!r} is not a strength of preference")
    return int(value)


def _milliseconds(value: str) -> int:
    """Return the visible time; one that is missing or impossible counts as none, and condemns nobody."""
    return min(int(value), _LONGEST_MS) if value.isascii() and value.isdigit() and len(value) < 12 else 0
