"""Slot answers: what a worker's fields say about the slots of a HIT, none of it trusted."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from prefjudge.core.asking.hits import Layout, layout_index
from prefjudge.counts import many

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
    """What was chosen in one slot.

    Attributes
    ----------
    slot : int
        The slot's index.
    first_on_left : bool
        Whether the slot's first passage was shown on the left.
    choice : int
        1 where the left passage was chosen, -1 where the right was, 0 for a tie.
    strength : int
        How strongly, from 1.
    milliseconds : int
        How long the slot was visible.
    """

    slot: int
    first_on_left: bool
    choice: int
    strength: int
    milliseconds: int

    @property
    def chose_first(self) -> bool:
        """Whether the slot's first passage was chosen."""
        return self.choice == (1 if self.first_on_left else -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A worker's checked answer to a HIT.

    Attributes
    ----------
    layout : int
        Which layout the page showed.
    stopped : bool
        Whether the worker stopped early.
    choices : tuple of Choice
        The slots with a vote, in slot order.
    unable : mapping of int to str
        The slots that the worker could not judge, and the reason of each, one of :data:`REASONS`.
    comments : mapping of int to str
        What the worker wrote about single slots.
    remark : str
        What the worker wrote about the whole HIT.
    """

    layout: int
    stopped: bool
    choices: tuple[Choice, ...]
    unable: Mapping[int, str] = field(default_factory=dict)
    comments: Mapping[int, str] = field(default_factory=dict)
    remark: str = ""

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
    """Check the submitted fields against the page that was served.

    Parameters
    ----------
    fields : mapping of str to str
        What was submitted; every value is the worker's to choose.
    names, tokens : sequence
        The slots' field names, and the tokens that stand for their first and second passage.
    layouts : sequence of Layout
        The layouts of the page. The one shown follows from the assignment id, and not from the fields.
    assignment_id : str
        The assignment.
    allow_ties : bool
        Whether a tie may be chosen.
    strengths : int
        How many degrees of strength are asked, 0 for none.
    allow_unable : bool
        Whether a worker may say that a pair cannot be judged; it is then answered, and without a vote.

    Raises
    ------
    BadAnswerError
        Consent is missing, a value is not one that the page offers, a slot is not answered though the worker
        did not stop, or nothing is answered.
    """
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
