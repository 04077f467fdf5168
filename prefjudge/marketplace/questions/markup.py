"""FormattedContent: untrusted markup, reduced to what is harmless."""

import html
import re
from typing import Any

from prefjudge.marketplace.errors import refused
from prefjudge.marketplace.questions.elements import local
from prefjudge.untrusted_xml import UnreadableXmlError, read_xml

_HARMLESS = """a b big blockquote br center cite code col colgroup dd del dl dt em font h1 h2 h3 h4 h5 h6 hr i
    img ins li ol p pre q small strong sub sup table tbody td tfoot th thead tr u ul"""
_KEPT_TAGS = frozenset(_HARMLESS.split())
_KEPT_ATTRIBUTES = frozenset({"href", "src", "alt", "title", "colspan", "rowspan"})


def sanitised(markup: str, where: str) -> str:
    """Return the markup with only harmless elements and attributes.

    Raises
    ------
    RequestError
        ``XHTMLParseError``: it is not well-formed.
    """
    try:
        root = read_xml(f"<div>{markup}</div>")
    except UnreadableXmlError as error:
        raise refused("XHTMLParseError", f"{where}: FormattedContent is not well-formed: {error}") from error
    return _inside(root)


def _inside(root: Any) -> str:
    """Return what an element holds; not recursive, because a stranger chooses its depth."""
    pieces = [html.escape(root.text or "", quote=False)]
    waiting: list[tuple[Any, str] | str] = _children(root)
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            pieces.append(one)
            continue
        child, tail = one
        tag = local(child.tag).lower() if isinstance(child.tag, str) else ""
        waiting.append(tail)
        if tag in ("br", "hr", "img"):
            pieces.append(f"<{tag}{_attributes(child)}>")
        elif tag not in ("script", "style"):
            if tag in _KEPT_TAGS:
                pieces.append(f"<{tag}{_attributes(child)}>")
                waiting.append(f"</{tag}>")
            pieces.append(html.escape(child.text or "", quote=False))
            waiting += _children(child)
    return "".join(pieces)


def _children(element: Any) -> list[tuple[Any, str] | str]:
    """Return the elements inside, the last first, each with the text after it."""
    return [(child, html.escape(child.tail or "", quote=False)) for child in reversed(element)]


def _attributes(element: Any) -> str:
    return "".join(
        f' {name}="{html.escape(value)}"'
        for name, value in element.attrib.items()
        if name in _KEPT_ATTRIBUTES and (name not in ("href", "src") or re.match(r"https?://", value))
    )
