"""HITs: ten pairs and three hidden gold pairs, what they cost, and what a worker's fields say of them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
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
    """A pair as a HIT holds it: a query and two passages, under opaque names of 12 of ``[a-z0-9]`` each.

    ``name`` is the form field's, and ``tokens`` are the values that choosing either passage submits.
    """

    name: str
    query: str
    passages: tuple[Passage, Passage]
    tokens: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One way to show a HIT."""

    order: tuple[int, ...]
    """The slots' indices in the order in which they are shown."""
    swapped: tuple[bool, ...]
    """For each slot (by its index, not its place), whether its first passage is shown on the right."""


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


def pack_pairs(count: int, per_hit: int, *, rng: "Generator") -> list[tuple[int, ...]]:
    """Deal ``count`` pairs to HITs at random, each to one; the last HIT may hold fewer."""
    shuffled = rng.permutation(count).tolist()
    return [tuple(shuffled[at : at + per_hit]) for at in range(0, count, per_hit)]


def plan_hit(pairs: Sequence[int], gold: Sequence[int], *, layouts: int = 1, rng: "Generator") -> HitPlan:
    """Shuffle the pairs and the gold pairs of a HIT into slots and draw its layouts."""
    # The first passage of a gold slot is the good one, so a gold pair that is not swapped is right on the
    # left. Each layout has gold pairs right on either side, where there are at least two: someone who always
    # chooses one side fails. The layouts differ in their order, and show the sides as they were drawn or all
    # of them mirrored. Were the sides drawn again for each layout, the few slots that in no layout are all on
    # one side would give the gold pairs away.
    count = len(pairs) + len(gold)
    slots = tuple(rng.permutation(count).tolist())
    swapped = _draw_sides([k >= len(pairs) for k in slots], rng)
    return HitPlan(
        pairs=tuple(pairs),
        gold=tuple(gold),
        slots=slots,
        layouts=tuple(
            Layout(
                order=tuple(rng.permutation(count).tolist()),
                swapped=tuple(side != mirrored for side in swapped),
            )
            for mirrored in _take_turns(layouts, rng)
        ),
    )


def _draw_sides(is_gold: Sequence[bool], rng: "Generator") -> list[bool]:
    swapped: list[bool] = (rng.random(len(is_gold)) < 0.5).tolist()
    golden = [place for place, gold in enumerate(is_gold) if gold]
    if len(golden) >= 2 and len({swapped[place] for place in golden}) == 1:
        flip = int(rng.choice(golden))
        swapped[flip] = not swapped[flip]
    return swapped


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
    first_on_left: bool
    """Whether the slot's first passage was shown on the left."""
    choice: int
    """1 where the left passage was chosen, -1 where the right was, 0 for a tie."""
    strength: int
    """How strongly, from 1."""
    milliseconds: int
    """How long the slot was visible."""

    @property
    def chose_first(self) -> bool:
        """Whether the slot's first passage was chosen."""
        return self.choice == (1 if self.first_on_left else -1)


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
    tokens: Sequence[tuple[str, str]],
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
    for slot, (name, pair) in enumerate(zip(names, tokens, strict=True)):
        if name not in fields:
            continue
        if allow_unable and fields[name] in _UNABLE:
            unable[slot] = _UNABLE[fields[name]]
            continue
        first_on_left = not layouts[index].swapped[slot]
        choices.append(
            Choice(
                slot=slot,
                first_on_left=first_on_left,
                choice=_choice(fields[name], pair, first_on_left, allow_ties),
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


def _choice(value: str, pair: tuple[str, str], first_on_left: bool, allow_ties: bool) -> int:
    if value == TIE and allow_ties:
        return 0
    if value not in pair:
        raise BadAnswerError(f"{value[:20]!r} is not one of the choices")
    return 1 if (value == pair[0]) == first_on_left else -1


def _strength(value: str, strengths: int) -> int:
    if not strengths:
        return 1
    if value not in {str(degree) for degree in range(1, strengths + 1)}:
        raise BadAnswerError(f"{value[:20]!r} is not a strength of preference")
    return int(value)


def _milliseconds(value: str) -> int:
    """Return the visible time; one that is missing or impossible counts as none, and condemns nobody."""
    return min(int(value), _LONGEST_MS) if value.isascii() and value.isdigit() and len(value) < 12 else 0
