"""The settings of a marketplace that is served: addresses, the admin's token, and the words of its site."""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit

from prefjudge.errors import ConfigError

# The words of the worker site: in which language, and what it calls what workers do here.

ENGLISH = "en"
_FOLDER = Path(__file__).parent / "site" / "languages"
_WORD = re.compile(r"\bHITs?\b")
_MARKUP = re.compile(r"({[%#].*?[%#]}|<[^>]*>)", re.DOTALL)
"""What parts the texts of a template: its statements and comments, and the tags of HTML."""
_VALUE = re.compile(r"{{.*?}}", re.DOTALL)
_SPOKEN = re.compile(r'\b(aria-label|alt|title)="([^"]*)"')
"""Attributes that are read to people."""
_PLACE = re.compile(r"\\{(\d)\\}")
_LITERAL = re.compile(r'"([^"\n]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The site's own words in one language, as a file of site/languages has them."""

    name: str
    """What the language calls itself."""
    thousands: str = ","
    """What stands between the thousands of a number."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What the language calls a HIT, one and several."""
    counts: Mapping[str, list[str]] = field(default_factory=dict)
    """By an English noun: how one is counted, and several, or the one form for all."""
    pages: Mapping[str, str] = field(default_factory=dict)
    """The templates' texts by the English one, as those of the next two; ``{1}`` stands for a value."""
    script: Mapping[str, str] = field(default_factory=dict)
    said: Mapping[str, str] = field(default_factory=dict)


@lru_cache(maxsize=1)
def catalogues() -> dict[str, Catalogue]:
    """Return the words of each language that the site speaks; the English ones stand in its templates."""
    read = {path.stem: path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("*.toml"))}
    return {ENGLISH: Catalogue(name="English")} | {
        code: Catalogue(**tomllib.loads(text)) for code, text in read.items()
    }


@dataclass(frozen=True)
class Wording:
    """What stands for "HIT" on the worker site, and the site's language; empty: the language's own word."""

    task: str = ""
    language: str = ENGLISH

    def speaking(self, language: str) -> "Wording":
        """Return the same words in another language; a study's own word wins in each."""
        return _speaking(self, language)

    @cached_property
    def catalogue(self) -> Catalogue:
        """The site's words in this language."""
        return catalogues()[self.language]

    @cached_property
    def _own(self) -> dict[str, str]:
        if not self.task:
            return {"task": "HIT", "tasks": "HITs", **self.catalogue.words}
        # nobody knows how another language writes several of them
        return {"task": self.task, "tasks": f"{self.task}s" if self.language == ENGLISH else self.task}

    def say(self, text: str, *, begins: bool = True) -> str:
        """Return one of the site's own sentences in these words; ``begins`` says that a sentence does.

        What people wrote, such as a title, is never given to this.
        """
        if self.language == ENGLISH:
            return self._in_english(text, begins=begins)
        found = self.catalogue.pages.get(text) or self.catalogue.said.get(text)
        if found is not None:
            return self._filled(found)
        for pattern, translated in self._patterns:
            if match := pattern.fullmatch(text):
                return _placed(self._filled(translated), match.groups())
        return self._in_english(text, begins=begins)

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        said = self.catalogue.said.items()
        return [
            (re.compile(_PLACE.sub("(.+?)", re.escape(text)), re.DOTALL), other)
            for text, other in said
            if "{1}" in text
        ]

    def _in_english(self, text: str, *, begins: bool) -> str:
        def word(found: re.Match[str]) -> str:
            before = text[: found.start()].rstrip()
            first = (not before and begins) or before.endswith((".", "!", "?"))
            own = self._own["task" if found[0] == "HIT" else "tasks"]
            return own[:1].upper() + own[1:] if first else own

        return _WORD.sub(word, text)

    def _filled(self, text: str) -> str:
        """Put the words for a HIT into a translation; a line begins with a capital."""
        for name, word in self._own.items():
            if text.startswith(f"{{{name}}}"):
                text = word[:1].upper() + word[1:] + text[len(name) + 2 :]
            text = text.replace(f"{{{name}}}", word)
        return text

    def count(self, number: int, noun: str) -> str:
        """Write a number with its noun: ``1 HIT``, ``2 HITs``."""
        written = f"{number:,}".replace(",", self.catalogue.thousands)
        forms = self.catalogue.counts.get(noun)
        if forms is None:
            return self._in_english(f"{written} {noun}{'' if number == 1 else 's'}", begins=False)
        return self._filled(forms[0 if number == 1 else -1]).replace("{n}", written)

    def template(self, source: str) -> str:
        """Return a page's template in these words; what it shows of people stays as it is."""
        return in_texts(source, self._translated)

    def _translated(self, text: str) -> str:
        # after a value the sentence goes on
        return self.say(text, begins=not text.startswith("{1}"))

    def script(self, source: str) -> str:
        """Return a page's script in these words."""
        if self.language == ENGLISH:
            return self._in_english(source, begins=False)

        def literal(found: re.Match[str]) -> str:
            text = self.catalogue.script.get(found[1])
            return found[0] if text is None else json.dumps(self._filled(text), ensure_ascii=False)

        return _LITERAL.sub(literal, source)


@lru_cache(maxsize=32)
def _speaking(wording: Wording, language: str) -> Wording:
    """Return one and the same wording for each request: it has prepared what it looks for."""
    return replace(wording, language=language)


def in_texts(source: str, change: Callable[[str], str]) -> str:
    """Return a template with each of its texts changed; its values are given as ``{1}``, ``{2}``, …"""

    def text(part: str) -> str:
        values = _VALUE.findall(part)
        numbers = iter(range(1, len(values) + 1))
        plain = _VALUE.sub(lambda _: f"{{{next(numbers)}}}", part)
        said = plain.strip()
        if not re.search(r"[A-Za-z]{2}", said):
            return part
        return plain.partition(said)[0] + _placed(change(said), values) + plain.rpartition(said)[2]

    parts = _MARKUP.split(source)
    for place, part in enumerate(parts):
        if part.startswith("<"):
            parts[place] = _SPOKEN.sub(lambda found: f'{found[1]}="{text(found[2])}"', part)
        elif not part.startswith(("{%", "{#")):
            parts[place] = text(part)
    return "".join(parts)


def _placed(text: str, values: "list[str] | tuple[str, ...]") -> str:
    return re.sub(r"{(\d)}", lambda found: values[int(found[1]) - 1], text)


# How it is served.

ON_THIS_MACHINE = "127.0.0.1"
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a marketplace is served."""

    host: str = "127.0.0.1"
    port: int = 0
    """Where to listen; 0 takes a free port."""
    public_url: str | None = None
    """The address by which workers and requesters reach it through a web server that adds TLS."""
    plain_http: bool = False
    """Allow a public address without TLS."""
    proxy: str = ON_THIS_MACHINE
    """The addresses and networks of web servers in front, which are believed about who calls."""
    admin_token: str | None = None
    """What the admin signs in with; by default it is made from the store's secret."""
    admin_header: str = ""
    """The header by which a web server in front says who administers; empty: none is believed."""
    wording: Wording = field(default_factory=Wording)
    """What stands for "HIT" on the worker site."""
    language: str = ""
    """The site's language until a worker chooses another; empty: the browser's."""
    pairs: Callable[[], tuple[int, int]] | None = None
    """Says how many pairs of a study are judged, and of how many; None: it serves no study."""

    def check(self) -> None:
        """Refuse to listen to the world in clear text, and a proxy that is not an address."""
        try:
            self.is_proxy("127.0.0.1")
        except ValueError as error:
            raise ConfigError(
                f"the proxy is not an address: {error}",
                "Give IP addresses or networks, such as 172.16.0.0/12.",
            ) from error
        if not (self.is_loopback or self.secure_cookies or self.plain_http):
            raise ConfigError(
                f"the marketplace would listen on {self.host} without TLS",
                "Put a web server with TLS in front (--public-url names its address), or allow --plain-http.",
            )

    @property
    def is_loopback(self) -> bool:
        """Tell whether only this machine can connect."""
        return self.host in LOOPBACK

    def is_proxy(self, address: str) -> bool:
        """Tell whether a web server in front has this address."""
        networks = [ip_network(one.strip()) for one in self.proxy.split(",")]
        try:
            return any(ip_address(address) in network for network in networks)
        except ValueError:
            return False

    @property
    def is_private(self) -> bool:
        """Tell whether only this machine can call, and no web server forwards calls."""
        return self.is_loopback and not self.public_url

    @property
    def secure_cookies(self) -> bool:
        """Tell whether cookies travel over TLS only."""
        return urlsplit(self.public_url or "").scheme == "https"

    def knows_host(self, name: str) -> bool:
        """Tell whether a request may call by this host name, without its port.

        Against DNS rebinding: a page elsewhere could let its own name resolve to this machine, and so reach
        a server that listens for this machine only. A public address may have names that nobody configured.
        """
        if name in LOOPBACK or name == self.host:
            return True
        if self.public_url:
            return name == urlsplit(self.public_url).hostname
        return not self.is_loopback
