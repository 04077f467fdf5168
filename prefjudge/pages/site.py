"""The news of a site as feeds: Atom (RFC 4287) and JSON Feed 1.1."""

import json
from dataclasses import dataclass
from uuid import NAMESPACE_URL, uuid5
from xml.sax.saxutils import escape, quoteattr

from prefjudge.words import printable

_NEVER = "1970-01-01T00:00:00+00:00"
"""A date that Atom demands, where the study knows none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A piece of news: the page that it is about, and what is new in a line and in a few sentences.

    ``when`` is a time in UTC by ISO 8601; empty where it is not known.
    """

    address: str
    title: str
    words: tuple[str, ...]
    when: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """The news of a site, the latest first. ``url`` is where the site is on the web, empty where unknown."""

    title: str
    mark: str
    url: str
    authors: tuple[str, ...]
    entries: tuple[Entry, ...]

    def identity(self, address: str = "") -> str:
        """Return a name that stays, wherever the site moves to."""
        return f"urn:uuid:{uuid5(NAMESPACE_URL, f'prefjudge:{self.mark}/{address}')}"

    def place(self, address: str) -> str:
        """Return where a page is on the web; from the feed, where that is not known."""
        return f"{self.url.rstrip('/')}/{address}" if self.url else address

    @property
    def updated(self) -> str:
        """When the latest news was made."""
        return max((entry.when for entry in self.entries), default="") or _NEVER


def atom_feed(feed: Feed) -> str:
    """Return the feed as Atom."""
    authors = "".join(f"  <author><name>{_text(name)}</name></author>\n" for name in feed.authors)
    entries = "".join(
        f"  <entry>\n    <id>{feed.identity(one.address)}</id>\n    <title>{_text(one.title)}</title>\n"
        f"    <updated>{one.when or _NEVER}</updated>\n"
        f'    <link rel="alternate" href={quoteattr(feed.place(one.address))}/>\n'
        f"    <summary>{_text(' '.join(one.words))}</summary>\n  </entry>\n"
        for one in feed.entries
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"  <id>{feed.identity()}</id>\n  <title>{_text(feed.title)}</title>\n"
        f"  <updated>{feed.updated}</updated>\n"
        f"{authors}  <generator>prefjudge</generator>\n"
        f'  <link rel="self" href={quoteattr(feed.place("feed.xml"))}/>\n'
        f'  <link rel="alternate" href={quoteattr(feed.place("index.html"))}/>\n{entries}</feed>\n'
    )


def json_feed(feed: Feed) -> str:
    """Return the feed as JSON Feed; the site's own address stands there only where it is known."""
    whole: dict[str, object] = {"version": "https://jsonfeed.org/version/1.1", "title": printable(feed.title)}
    if feed.url:
        whole |= {"home_page_url": feed.place("index.html"), "feed_url": feed.place("feed.json")}
    whole["authors"] = [{"name": printable(name)} for name in feed.authors]
    whole["items"] = [
        {
            "id": feed.identity(one.address),
            "url": feed.place(one.address),
            "title": printable(one.title),
            "content_text": printable(" ".join(one.words)),
            "date_published": one.when or _NEVER,
        }
        for one in feed.entries
    ]
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def _text(words: str) -> str:
    """Return words as XML takes them, which has no place for control characters."""
    return escape(printable(words))
