"""Untrusted XML: parsed without document types, its elements named without namespaces."""

from typing import Any

from prefjudge.marketplace.errors import refused
from prefjudge.untrusted_xml import UnreadableXmlError, read_xml

MAX_BYTES = 65_535


def parse_xml(xml: str, where: str) -> Any:
    """Parse XML of at most 65,535 bytes, refusing document types and entities.

    Raises
    ------
    RequestError
        It is too long or not well-formed.
    """
    size = len(xml.encode())
    if size > MAX_BYTES:
        raise refused(
            "InvalidParameterValue", f"{where}: {size} bytes are more than the maximum of {MAX_BYTES}."
        )
    try:
        return read_xml(xml)
    except UnreadableXmlError as error:
        raise refused("XMLParseError", f"{where}: not well-formed XML: {error}") from error


def local(tag: str) -> str:
    """Return an element's name without its namespace."""
    return tag.rpartition("}")[2]


def children(element: Any) -> dict[str, str]:
    """Return the text of each child by its name."""
    return {local(child.tag): child.text or "" for child in element}
