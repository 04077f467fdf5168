"""Addresses and the feed of a site, whatever runs and queries are called."""

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.pages.page import file_name, is_web_address, query_address, run_address
from prefjudge.steps.report.site.board_pages import Entry, Feed, atom_feed

names = st.text(st.characters(min_codepoint=1, max_codepoint=0x2FFF), min_size=1, max_size=120)


@given(names, names)
def test_two_names_never_share_a_file_even_where_capitals_are_not_told_apart(one: str, other: str) -> None:
    assert (file_name(one).lower() == file_name(other).lower()) == (one == other)


@given(names)
def test_an_address_needs_no_escape_and_stays_in_its_folder(name: str) -> None:
    made = file_name(name)
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyz0123456789~._-")
    assert made[0] not in ".-_"
    assert len(f"{made}.html") <= 100


@pytest.mark.parametrize(
    "name", ["CON", "con", "aux.txt", "A", "a/b", "..", ".", "q1.", "x~1", "é", "\udcff", "a" * 99]
)
def test_what_is_not_plain_gets_a_digest(name: str) -> None:
    assert "~" in file_name(name)


def test_plain_names_are_their_own_addresses() -> None:
    assert (run_address("20260101-bm25.v2_b"), query_address("1048585")) == (
        "run/20260101-bm25.v2_b.html",
        "query/1048585.html",
    )


def test_only_addresses_of_the_web_are_linked_to() -> None:
    assert is_web_address("https://arxiv.org/abs/2007.10434")
    for text in (
        "javascript:alert(1)",
        "data:text/html,x",
        "//x.org",
        "https:// x",
        'https://x"onclick=',
        "http://",
        "",
    ):
        assert not is_web_address(text), text


def test_a_feed_holds_what_xml_cannot() -> None:
    entry = Entry(
        address="board/v1.html", title="a\x0b<b>\udcff", words=("]]>&",), when="2026-11-22T00:00:00+00:00"
    )
    feed = Feed(title="\x00<t>", mark="abc", url="", authors=("A & B",), entries=(entry,))
    (read,) = ET.fromstring(atom_feed(feed)).findall("{http://www.w3.org/2005/Atom}entry")
    assert read.findtext("{http://www.w3.org/2005/Atom}summary") == "]]>&"
    moved = Feed(title="new", mark="abc", url="https://x.org/", authors=(), entries=(entry,))
    assert (moved.identity("board/v1.html"), moved.place("board/v1.html")) == (
        feed.identity("board/v1.html"),
        "https://x.org/board/v1.html",
    )
