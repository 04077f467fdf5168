"""Untrusted XML gives the tree that defusedxml gives, and is refused where defusedxml refuses it."""

from xml.etree.ElementTree import ParseError, tostring

import defusedxml.ElementTree
import pytest

from prefjudge.resources import UnreadableXmlError, read_xml

BOMB = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><a>&c;</a>'


@pytest.mark.parametrize(
    "text",
    [
        '<?xml version="1.0" encoding="UTF-8"?>\n<a x="1">é 😀 &lt;b&gt;<b/>&#233;</a>',
        '<?xml version="1.0" encoding="UTF-16"?><a>a text has no encoding</a>',
        '<?xml version="1.0" encoding="UTF-7"?><a>+ADwAIQ-DOCTYPE x+AD4-</a>',
        '<q xmlns="urn:q"><h><![CDATA[<!DOCTYPE html><p>&nbsp;]]></h></q>',
        "<a><!-- <!DOCTYPE x [<!ENTITY b 'c'>]> -->b</a>",
        "<a><![CDATA[<!doctype html>]]></a>",
    ],
)
def test_what_is_read(text: str) -> None:
    assert tostring(read_xml(text)) == tostring(defusedxml.ElementTree.fromstring(text, forbid_dtd=True))


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        f"\n<!-- -->{BOMB}",
        "<!DOCTYPE a><a/>",
        "<!DOCTYPE\ta SYSTEM 'file:///etc/passwd'><a/>",
        '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
        '<!DOCTYPE a [<!ENTITY % b SYSTEM "http://a.example/"> %b;]><a/>',
        '<!doctype a [<!ENTITY b "c">]><a>&b;</a>',
        '<!Doctype a [<!ENTITY b "c">]><a>&b;</a>',
        "<a>&b;</a>",
        "<a><!ENTITY b 'c'></a>",
        "<a>",
        "",
        "\0",
        "<a>\ud800</a>",
    ],
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises((ParseError, ValueError)):
        defusedxml.ElementTree.fromstring(text, forbid_dtd=True)
    with pytest.raises(UnreadableXmlError):
        read_xml(text)
