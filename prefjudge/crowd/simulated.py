"""Simulated workers: they sign in, take HITs and judge over HTTP, and see only the pages that people see.

They know a truth that the study does not know, so that a requester can try a design, and see its error, cost
and re-issues, before people work.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from html.parser import HTMLParser
from math import exp, inf
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import numpy as np
import urllib3

from prefjudge.core.hits import Layout, in_order, layout_index
from prefjudge.errors import CrowdError

Truth = Mapping[tuple[str, str], float]
"""How well a passage answers a query, by their texts as a page shows them; others are off-topic."""


class Temper(StrEnum):
    """How a simulated worker works."""

    HONEST = "honest"
    """Chooses the better passage, with an error rate; seldom slips where one passage is off-topic."""
    CARELESS = "careless"
    """Chooses at random, at once."""
    LEFT = "left"
    """Always chooses the left passage."""
    FIRST = "first"
    """Always chooses the passage that comes first in the page's source."""
    HASTY = "hasty"
    """Chooses like an honest worker, faster than anyone reads."""
    GOLD_AWARE = "gold-aware"
    """Chooses at random, but never an off-topic passage: passes the gold pairs without working."""
    QUITTER = "quitter"
    """Judges honestly and stops after a few pairs."""
    GARBAGE = "garbage"
    """Submits fields that the page does not have."""
    TWICE = "twice"
    """Judges honestly and submits everything twice."""
    CLICKER = "clicker"
    """Chooses at random, as slowly as a reader."""
    LEXICAL = "lexical"
    """Chooses the passage that has more of the question's words, as slowly as a reader."""
    SCRIPT = "script"
    """Knows the answer to each pair that it meets again, as only gold pairs are; chooses others at random."""
    COLLUDERS = "colluders"
    """Like a script, but knows what any of them has met."""
    SLEEPER = "sleeper"
    """Judges honestly in ten HITs, and chooses at random from then on."""


LOOKERS = (Temper.HONEST, Temper.HASTY, Temper.QUITTER, Temper.TWICE)
"""Those who choose by what they read, in all that they do."""
_AT_ONCE = (Temper.CARELESS, Temper.HASTY, Temper.LEFT, Temper.FIRST)
SLEEPS = 10
"""The HITs that a sleeper judges honestly."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenSlot:
    """One comparison as the page's source holds it."""

    name: str
    query: str
    tokens: tuple[str, ...]
    passages: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Mind:
    """What a simulated worker knows, and how it chooses."""

    temper: Temper
    truth: Truth
    error: float
    """How often an honest choice of two is wrong: twice as often it is thrown by a die."""
    slip: float
    """The same where one of the passages is off-topic, as in a gold pair."""
    rng: np.random.Generator
    met: "set[SeenPair]" = field(default_factory=set)
    """The pairs that were met in earlier HITs; colluders share one set."""
    done: int = 0
    """How many HITs the worker has judged."""

    def choose(self, slot: SeenSlot, *, leftmost: int) -> int:
        """Return the place of a passage in the slot; of them the ``leftmost`` is shown first."""
        many = len(slot.passages)
        at_random = min(many - 1, int(many * (1.0 - self.rng.random())))
        match self.temper:
            case Temper.LEFT:
                return leftmost
            case Temper.FIRST:
                return 0
            case Temper.CARELESS | Temper.CLICKER:
                return at_random
            case Temper.SLEEPER if self.done >= SLEEPS:
                return at_random
            case Temper.LEXICAL:
                shared = [_shared_words(slot.query, passage) for passage in slot.passages]
                return at_random if shared.count(max(shared)) > 1 else shared.index(max(shared))
            case Temper.SCRIPT | Temper.COLLUDERS:
                return self._better(slot) if _pair_of(slot) in self.met else at_random
            case Temper.GOLD_AWARE:
                return self._better(slot) if self._is_easy(slot) else at_random
        wrong = 2.0 * (self.slip if self._is_easy(slot) else self.error) * (many - 1) / many
        if self.rng.random() >= wrong:
            return self._better(slot)
        return (self._better(slot) + 1 + int(self.rng.integers(many - 1))) % many

    def milliseconds(self, slot: SeenSlot) -> int:
        """Return how long the slot was visible: the time to read about four words a second, or hardly any."""
        if self.temper in _AT_ONCE:
            return int(self.rng.integers(300, 1200))
        words = sum(len(passage.split()) for passage in slot.passages)
        return int(1000 * (2 + words / 4) * exp(self.rng.normal(0, 0.25)))

    def remember(self, slots: tuple[SeenSlot, ...]) -> None:
        """Keep in mind what a HIT has shown."""
        self.met |= {_pair_of(slot) for slot in slots}
        self.done += 1

    def _values(self, slot: SeenSlot) -> list[float | None]:
        return [self.truth.get((slot.query, passage)) for passage in slot.passages]

    def _is_easy(self, slot: SeenSlot) -> bool:
        return None in self._values(slot)

    def _better(self, slot: SeenSlot) -> int:
        values = [float("-inf") if value is None else value for value in self._values(slot)]
        return values.index(max(values))


SeenPair = tuple[str, frozenset[str]]
"""A question and its passages, whatever their sides."""


def _pair_of(slot: SeenSlot) -> SeenPair:
    return slot.query, frozenset(slot.passages)


def _shared_words(query: str, passage: str) -> int:
    words = set(_WORD.findall(query.lower()))
    return len(words & set(_WORD.findall(passage.lower())))


# How they take HITs over HTTP.

_CONTROL = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPage:
    """A judging page as a worker sees it."""

    question: str
    slots: tuple[SeenSlot, ...]
    layouts: tuple[Layout, ...]


_SIGNED_IN: dict[tuple[str, str], tuple[float, dict[str, str]]] = {}
"""When a worker signed in at a site, and as whom: a site takes ten sign-ins a minute, a study many rounds."""


class Visitor:
    """Somebody signed in at a worker site over HTTP, by an invitation or by the path of a panel's link."""

    def __init__(self, site: str, invite: str) -> None:
        self._site = site.rstrip("/")
        self._http = urllib3.PoolManager(
            retries=urllib3.Retry(3, backoff_factor=0.1), timeout=30.0, maxsize=2
        )
        self._headers = {"Accept": "application/json"}
        self._sign_in(invite)

    def _sign_in(self, invite: str) -> None:
        by_link = invite.startswith("/panel/")
        when, known = _SIGNED_IN.get((self._site, invite), (-inf, {}))
        if not by_link and monotonic() - when < 60.0:
            self._headers = known
            return
        reply = self._http.request(
            "POST",
            f"{self._site}{invite if by_link else '/signin'}",
            headers=self._headers,
            fields={} if by_link else {"invite": invite},
            encode_multipart=False,
        )
        if reply.status != 200:
            raise CrowdError(f"the worker site did not sign a worker in: {reply.status}")
        cookies = [cookie.partition(";")[0] for cookie in reply.headers.getlist("set-cookie")]
        self._headers = {
            **self._headers,
            "Cookie": "; ".join(cookies),
            "X-CSRF-Token": str(reply.json()["csrf"]),
            "Origin": self._site,
        }
        _SIGNED_IN[self._site, invite] = monotonic(), self._headers

    def get(self, path: str) -> dict[str, Any]:
        """Return what the site answers to a look."""
        reply = self._http.request("GET", f"{self._site}{path}", headers=self._headers)
        if reply.status != 200:
            raise CrowdError(f"the worker site answered {reply.status} to GET {path}")
        return reply.json()  # type: ignore[no-any-return]

    def post(self, path: str, fields: Mapping[str, str] | None = None) -> tuple[int, dict[str, Any]]:
        """Return the status and the answer to what is sent."""
        reply = self._http.request(
            "POST", f"{self._site}{path}", headers=self._headers, fields=fields or {}, encode_multipart=False
        )
        if reply.status >= 500:
            raise CrowdError(f"the worker site answered {reply.status} to POST {path}")
        return reply.status, reply.json()


class SimulatedWorker(Visitor):
    """One worker at one marketplace; ``pause`` waits for so many seconds before a HIT is submitted."""

    def __init__(
        self, site: str, invite: str, mind: Mind, *, pause: Callable[[float], None] | None = None
    ) -> None:
        super().__init__(site, invite)
        self._mind = mind
        self._pause = pause
        self._begun: set[str] = set()
        self._tried: set[str] = set()

    @property
    def true_error(self) -> float:
        """How often the worker chooses the worse passage of a pair."""
        return self._mind.error if self._mind.temper in LOOKERS else 0.5

    def take_hit(self) -> bool:
        """Judge a HIT and submit it: one that an earlier, stopped call left, or the first on offer."""
        # Returns whether there was one.
        offered = self.get("/hits")
        if self._take_tests(offered["groups"]):
            offered = self.get("/hits")
        for held in offered["open"]:
            if held["assignment_id"] not in self._begun:
                self._judge(self.get(f"/assignments/{held['assignment_id']}")["assignment"])
                return True
        for group in offered["groups"]:
            if group["qualified"] and group["available"]:
                status, accepted = self.post(f"/groups/{group['group_id']}/accept")
                if status < 300:
                    self._judge(accepted)
                    return True
        return False

    def _take_tests(self, groups: Sequence[Mapping[str, Any]]) -> bool:
        """Take each test that HITs require and that was not tried yet; return whether there was one."""
        needs = {
            need["qualification_type_id"] for one in groups for need in one["missing"] if need["has_page"]
        }
        new = sorted(needs - self._tried)
        self._tried |= needs
        for path in (f"/qualifications/{type_id}" for type_id in new):
            self.post(path)  # refused while it is too early for another try
            if form := self.get(path)["form"]:
                self.post(path, {"hand_in": "1", **dict(map(self._answer, form["questions"]))})
        return bool(new)

    def _answer(self, question: Mapping[str, Any]) -> tuple[str, str]:
        """Choose in a test as in a HIT: a question of two texts is a pair."""
        first, second = question["answer"]["options"]
        slot = SeenSlot(
            name=question["identifier"],
            query=seen(question["content"][0]["text"]),
            tokens=(first["identifier"], second["identifier"]),
            passages=(seen(first["content"]["text"]), seen(second["content"]["text"])),
        )
        return slot.name, slot.tokens[self._mind.choose(slot, leftmost=0)]

    def _judge(self, accepted: Mapping[str, Any]) -> None:
        assignment_id = str(accepted["assignment_id"])
        self._begun.add(assignment_id)
        frame = urljoin(f"{self._site}/", str(accepted["frame_url"]))
        page = read_page(self._http.request("GET", frame, headers=self._headers).data.decode())
        site = parse_qs(urlsplit(frame).query)["turkSubmitTo"][0]
        fields = {"assignmentId": assignment_id, **self._fields(page, assignment_id)}
        self._mind.remember(page.slots)
        if self._pause:
            spent = sum(int(value) for name, value in fields.items() if name.endswith(".ms"))
            self._pause(spent / 1000)
        for _ in range(2 if self._mind.temper is Temper.TWICE else 1):
            self._http.request("POST", f"{site}/mturk/externalSubmit", fields=fields, encode_multipart=False)

    def _fields(self, page: SeenPage, assignment_id: str) -> dict[str, str]:
        if self._mind.temper is Temper.GARBAGE:
            return {
                "consent": "yes",
                "answer": "<!DOCTYPE x>]]>&\x0b" + "!" * int(self._mind.rng.integers(1, 200)),
            }
        index = layout_index(assignment_id, len(page.layouts))
        layout = page.layouts[index]
        shown = layout.order
        fields = {"consent": "yes", "layout": str(index)}
        if self._mind.temper is Temper.QUITTER:
            shown = shown[: int(self._mind.rng.integers(1, len(shown)))]
            fields["stopped"] = "1"
        for place in shown:
            slot = page.slots[place]
            leftmost = in_order(layout.swapped[place], len(slot.tokens))[0]
            fields[slot.name] = slot.tokens[self._mind.choose(slot, leftmost=leftmost)]
            fields[f"{slot.name}.ms"] = str(self._mind.milliseconds(slot))
        return fields


def read_page(html: str) -> SeenPage:
    """Read a judging page as a browser would."""
    reader = _PageReader()
    reader.feed(html)
    reader.close()
    try:
        rules = json.loads(reader.rules)
        layouts = tuple(
            Layout(
                order=tuple(order),
                swapped=tuple(tuple(side) if isinstance(side, list) else bool(side) for side in swapped),
            )
            for order, swapped in rules["layouts"]
        )
        slots = tuple(
            SeenSlot(
                name=name,
                query=seen(texts[0]),
                tokens=tuple(ids),
                passages=tuple(map(seen, texts[1:])),
            )
            for name, ids, texts in reader.slots
        )
    except (ValueError, KeyError, IndexError) as error:
        raise CrowdError("the frame of the assignment is not a judging page of prefjudge") from error
    return SeenPage(question=reader.question.strip(), slots=slots, layouts=layouts)


def seen(text: str) -> str:
    """Return a text as the page shows it: with all blanks, without control characters."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", lines).strip()


class _PageReader(HTMLParser):
    """Collects the ``<dt>`` and ``<dd>`` of the slots, the question above them, and the rules."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rules = self.question = ""
        self.slots: list[tuple[str, list[str], list[str]]] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        identity = dict(attrs).get("id") or ""
        if tag == "dt":
            self.slots.append((identity, [], [""]))
        elif tag == "dd" and self.slots:
            self.slots[-1][1].append(identity)
            self.slots[-1][2].append("")
        elif identity in ("ask", "rules"):
            tag = identity
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in ("dt", "dd"):
            self.slots[-1][2][-1] += data
        elif self._inside == "rules":
            self.rules += data
        elif self._inside == "ask":
            self.question += data
