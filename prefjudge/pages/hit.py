"""The page on which a worker judges: a HIT → HTML.

The page never learns which pair is gold: it is given slots that look alike, with opaque names.
"""

import base64
import hashlib
import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from prefjudge.core.hits import REASONS, Comparison, Layout, Passage, Side, in_order
from prefjudge.errors import InputError
from prefjudge.resources import resource_dir

if TYPE_CHECKING:
    from jinja2 import Template


_OPAQUE = re.compile(r"[a-z0-9]{12}")
_NOT_XML = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]")
_REWRITTEN = re.compile("[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd]")
"""What `printable` does not leave as it is: what XML does not take, carriage returns, four bytes of UTF-8."""
_PLAIN = bytes((*b"\t\n", *range(0x20, 0x7F)))
"""ASCII that `printable` leaves as it is, and does not search: most of a page is dropped faster."""
_SCRIPT_WORDS = (
    "place", "practice", "right", "wrong", "chosen", "passage", "tie", "first", "back", "due", "owed",
    "none", "offline", "unable",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A comparison whose answer is shown: of two passages the better and the worse, and the reason."""

    query: str
    better: str
    worse: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HitPage:
    """Everything that a judging page shows; an empty text is the page's own, or is not shown.

    ``reward`` is the whole HIT's, ``shares`` what is paid after 0, 1, 2, … comparisons. The assignment's id
    picks one of the ``layouts`` of the ``slots``. ``strengths`` are labels, weakest first. ``practice`` is
    asked first, and not submitted. ``unable`` allows one of :data:`REASONS` in place of a choice.
    ``keep_days`` after the study names are kept; None: not stated.
    """

    title: str
    question: str
    instructions: str
    consent: str
    reward: str
    shares: tuple[str, ...]
    slots: tuple[Comparison, ...]
    layouts: tuple[Layout, ...]
    allow_ties: bool = False
    strengths: tuple[str, ...] = ()
    language: str = "en"
    examples: tuple[Example, ...] = ()
    practice: tuple[Example, ...] = ()
    unable: bool = False
    comments: bool = False
    keep_days: int | None = None
    task: str = ""
    passage: str = ""

    @property
    def agreement(self) -> str:
        """What stands for all that a worker reads and agrees to before the first comparison."""
        told = (self.language, self.title, self.question, self.instructions, self.consent, self.keep_days)
        return hashlib.sha256(repr((told, self.examples, self.practice)).encode()).hexdigest()[:24]


def render_hit_page(page: HitPage) -> str:
    """Render the judging page as one HTML document that asks nothing of any other server."""
    # Control characters are dropped, and characters outside the basic plane become numeric references, so
    # that the page fits into XML and into an API that refuses four-byte UTF-8.
    problems = _problems(page)
    if problems:
        raise InputError("the HIT cannot be shown", "Pack it again.", problems)
    # All that the pages of a study share is rendered once; what differs is set in between.
    passages = max(len(slot.tokens) for slot in page.slots)
    before, between, after = _shell(replace(page, slots=(), layouts=()), len(page.slots), passages)
    slots = "".join(map(_written, page.slots))
    return printable(f"{before}{slots}{between}{_sides(page)}{after}")


@lru_cache(maxsize=4)
def _shell(page: HitPage, count: int, passages: int) -> tuple[str, str, str]:
    """Render a page without its slots and layouts; return what stands before, between and after them."""
    # No text of a requester can be taken for a cut: neither its `<` nor its quotes are written as they are.
    words = _words(page, count, passages)
    rules = {
        "words": {key: words[key] for key in _SCRIPT_WORDS},
        "layouts": None,
        "ties": page.allow_ties,
        "strengths": bool(page.strengths),
        "shares": page.shares,
        "practice": [[one.query, one.better, one.worse, one.reason] for one in page.practice],
        "agreement": page.agreement,
        "unable": [f"unable-{reason}" for reason in REASONS if page.unable],
    }
    shown = {"page": page, "count": count, "passages": passages, "words": words, "rules": rules}
    html = _template().render(**shown, unable=REASONS, **_parts(passages > 2))
    before, between, after = re.split('<slots>|(?<="layouts": )null', html)
    return before, between, after


def _written(slot: Comparison) -> str:
    """Write a slot with its passages in the order of their tokens."""
    # Tokens are random: whoever reads the source does not learn which passage the requester put first.
    passages = dict(zip(slot.tokens, slot.passages, strict=True))
    told = "".join(f'<dd id="{token}">{_passage(passages[token])}' for token in sorted(slot.tokens))
    return f'<dt id="{slot.name}">{_text(slot.query)}{told}</dd>\n'


def _passage(passage: Passage) -> str:
    """Write a passage. The page's script takes its text and what stands below as one text."""
    below = "".join(f"\n{_text(name)}: {_text(value)}" for name, value in passage.shown)
    return f"{_text(passage.text)}<small>\n{below}</small>" if below else _text(passage.text)


def _sides(page: HitPage) -> str:
    """Write the layouts: of each slot its passages, by their order in the source, as they are shown."""
    written = [[sorted(slot.tokens).index(token) for token in slot.tokens] for slot in page.slots]

    def shown(side: Side, places: Sequence[int]) -> int | list[int]:
        found = [places[place] for place in in_order(side, len(places))]
        return found if len(found) > 2 else found[0]  # of two the one on the left says all

    return json.dumps([[layout.order, [*map(shown, layout.swapped, written)]] for layout in page.layouts])


@lru_cache(maxsize=1)
def languages() -> dict[str, dict[str, str]]:
    """Return the page's own words in each of its languages."""
    with (resource_dir("hit_templates") / "words.toml").open("rb") as file:
        return tomllib.load(file)


def _problems(page: HitPage) -> list[str]:
    names = [slot.name for slot in page.slots] + [token for slot in page.slots for token in slot.tokens]
    found = [f"not 12 of a-z and 0-9: {name!r}" for name in names if not _OPAQUE.fullmatch(name)]
    if len(set(names)) < len(names):
        found.append("a name or token is used twice")
    if not page.slots or not page.layouts:
        found.append("there are no slots or no layouts")
    places = list(range(len(page.slots)))
    for number, layout in enumerate(page.layouts):
        sides = zip(layout.swapped, page.slots, strict=False)
        whole = all(sorted(in_order(side, n := len(slot.tokens))) == [*range(n)] for side, slot in sides)
        if sorted(layout.order) != places or len(layout.swapped) != len(places) or not whole:
            found.append(f"layout {number} does not show each of the {len(places)} slots once, and whole")
    if page.shares and len(page.shares) <= len(page.slots):
        found.append(f"there are {len(page.shares)} shares of the reward for {len(page.slots)} slots")
    if page.language not in languages():
        found.append(f"no words in {page.language!r}; there are {', '.join(languages())}")
    return found


def _words(page: HitPage, count: int, passages: int) -> dict[str, str]:
    words = dict(languages()[page.language])
    words["pay"] = words["pay"].replace("{reward}", page.reward)
    if not page.reward:
        words["pay"], words["owed"] = words["unpaid"], ""
    elif page.shares:
        half = max(1, count // 2)
        example = words["pay_share"].replace("{n}", str(half)).replace("{all}", str(count))
        words["pay"] += " " + example.replace("{share}", page.shares[half])
    else:
        words["owed"] = words["owed_plain"]
    if page.allow_ties:
        words["shortcuts"], words["how"] = words["shortcuts_tie"], words["how_tie"]
    if passages > 2:
        words |= {name: words[f"{name}_more"] for name in ("how", "shortcuts", "unable", "comment")}
        words["shortcuts"] = words["shortcuts"].replace("{most}", str(passages))
    words["how"] = words["how"].replace("{all}", str(count))
    words["kept"] = words["kept"].replace("{days}", str(page.keep_days))
    words |= {name: word for name in ("task", "passage") if (word := getattr(page, name))}
    for name in ("preview", "decline", "none"):
        words[name] = words[name].replace("{task}", words["task"])
    return words


def printable(text: str) -> str:
    """Drop what XML or HTML forbids; write what needs four bytes of UTF-8 as a numeric reference."""
    odd = text.encode(errors="surrogatepass").translate(None, _PLAIN)
    # as most texts, and all pages that were rendered already
    if not (odd and _REWRITTEN.search(odd.decode(errors="surrogatepass"))):
        return text
    text = _NOT_XML.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return re.sub("[\U00010000-\U0010ffff]", _reference, text)


def _reference(match: re.Match[str]) -> str:
    code = ord(match[0])
    return "" if code & 0xFFFE == 0xFFFE else f"&#{code};"


@lru_cache(maxsize=1)
def _template() -> "Template":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(resource_dir("hit_templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    return environment.get_template("hit.html")


def _text(text: str) -> str:
    """Escape what stands between tags, where quotes need none: passages are full of apostrophes."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@lru_cache(maxsize=2)
def _parts(several: bool) -> dict[str, str]:
    """Return the page's own style and script, with the hashes by which its policy lets no others run.

    Pages of pairs lack the lines for ``several`` passages, and those of several the lines for two: every byte
    is one that the passages of a HIT cannot have.
    """
    from markupsafe import Markup

    folder = resource_dir("hit_templates")
    parts: dict[str, str] = {}
    for part, name, marks in (("style", "hit.css", "{};,"), ("script", "hit.js", "-+{}();,:=<>?&|!*%^")):
        text = (folder / name).read_text(encoding="utf-8")
        text = text.replace("//more ", "") if several else text.replace(" //two\n", "\n")
        text = _squeeze(text, marks)
        if part == "script":
            text = _shorten(text)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        parts[part] = Markup(text)  # noqa: S704 - our own file, not input
        parts[f"{part}_hash"] = f"sha256-{digest}"
    return parts


_SHORT = {
    "const": "let", "state": "S", "slots": "A", "slot": "s", "event": "e", "rules": "R", "lessons": "L",
    "assignment": "I", "radios": "B", "radio": "r", "judging": "J", "finished": "F", "preview": "P",
    "complete": "C", "written": "W", "framed": "M", "cards": "K", "graded": "G", "sided": "D",
    "restore": "O", "submitTo": "U", "draftKey": "Y", "agreedKey": "Z", "warned": "V", "timed": "T",
    "named": "N", "away": "X", "words": "H", "asked": "E",
}  # fmt: skip
"""Names in our own script that no object in it has as a key, and what stands for each on the page."""


def _shorten(script: str) -> str:
    """Shorten names: every byte of the shell is one that the passages of a HIT cannot have."""
    parts = re.split(r'("[^"\n]*")', script)
    parts[::2] = [
        re.sub(r"(?<![.\w$])[A-Za-z]+\b", lambda name: _SHORT.get(name[0], name[0]), part)
        for part in parts[::2]
    ]
    return "".join(parts)


def _squeeze(text: str, marks: str) -> str:
    """Drop comment lines and the space around ``marks`` from our own style or script, but for strings."""
    # Lines stay apart unless one ends in an opening bracket, a comma or a semicolon.
    lines = (line.strip() for line in text.splitlines() if not line.endswith(" //two"))
    text = "\n".join(line for line in lines if line and not line.startswith("//"))
    parts = re.split(r'("[^"\n]*")', text)
    parts[::2] = [re.sub(rf" ?([{marks}]) ?", r"\1", part) for part in parts[::2]]
    return re.sub(r"(?<=[{(\[,;])\n", "", "".join(parts))
