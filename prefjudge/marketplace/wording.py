"""The words for what workers do here and for whom: a marketplace of colleagues need not speak of HITs."""

import re
from dataclasses import dataclass
from functools import cached_property

_WORD = re.compile(r"\b(HITs?|[Rr]equesters?)\b")
_PARTS = re.compile(r"({[{%#].*?[}%#]}|<[^>]*>)", re.DOTALL)
_LISTED = re.compile(r'"(HITs?)"')
"""A word as the name of a page, in a list inside a template."""


@dataclass(frozen=True)
class Wording:
    """What stands for "HIT" and "requester" on the worker site, one and several."""

    task: str = "HIT"
    tasks: str = "HITs"
    requester: str = "requester"
    requesters: str = "requesters"

    @cached_property
    def _own(self) -> dict[str, str]:
        words = {
            "hit": self.task,
            "hits": self.tasks,
            "requester": self.requester,
            "requesters": self.requesters,
        }
        return {} if self == Wording() else words

    def say(self, text: str, *, begins: bool = True) -> str:
        """Return one of the site's own sentences in these words; ``begins`` says that a sentence does.

        What people wrote, such as a title, is never given to this.
        """
        if not self._own:
            return text

        def word(found: re.Match[str]) -> str:
            before = text[: found.start()].rstrip()
            first = found[1][0] == "R" or (not before and begins) or before.endswith((".", "!", "?"))
            own = self._own[found[1].lower()]
            return own[:1].upper() + own[1:] if first else own

        return _WORD.sub(word, text)

    def template(self, source: str) -> str:
        """Return a page's template in these words; what it shows of people stays as it is."""
        if not self._own:
            return source
        parts = _PARTS.split(source)
        for place, part in enumerate(parts):
            if part.startswith("{%"):
                parts[place] = _LISTED.sub(lambda found: f'"{self.say(found[1])}"', part)
            elif part.startswith("<"):
                parts[place] = self.say(part, begins=False)
            elif not part.startswith("{"):
                # after a value the sentence goes on
                parts[place] = self.say(part, begins=not place or not parts[place - 1].startswith("{{"))
        return "".join(parts)
