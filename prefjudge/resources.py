"""The files that come with the package, in a wheel and in a checkout; and XML and hosts of strangers."""

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address
    from xml.etree.ElementTree import Element


def resource_dir(name: str) -> Path:
    """Return the folder ``name`` that ships with prefjudge.

    Parameters
    ----------
    name : str
        ``"hit_templates"`` or ``"configs"``.

    Raises
    ------
    FileNotFoundError
        The installation is damaged: neither the wheel nor the checkout has the folder.
    """
    package = Path(str(files("prefjudge")))
    for folder in (package / "_resources" / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"{name}/ is missing from this installation of prefjudge")


# Untrusted XML, read without document types: it declares no entities and names no files.


class UnreadableXmlError(ValueError):
    """A text is not well-formed XML, or has a document type."""


def read_xml(text: str) -> "Element":
    """Return the root element of an XML document.

    Raises
    ------
    UnreadableXmlError
        It is not well-formed, or has a document type.
    """
    from xml.etree.ElementTree import ParseError, fromstring

    try:
        # Only a document type declares entities, and begins with these capitals. They may stand in a comment
        # or a CDATA section, too: then a parser decides that looks closer, and takes longer.
        if "<!DOCTYPE" in text:
            return _defused(text)
        return fromstring(text)  # noqa: S314 - it has no document type
    except (ParseError, ValueError) as error:
        raise UnreadableXmlError(str(error)) from error


def _defused(text: str) -> "Element":
    from defusedxml.ElementTree import fromstring

    root: Element = fromstring(text, forbid_dtd=True)  # its errors are ValueErrors
    return root


# Hosts that are inside: this machine, and its network.

_WITH_IPV4 = ("::/96", "::ffff:0:0/96", "64:ff9b::/96")
"""IPv6 networks whose last four bytes are an IPv4 address: compatible, mapped, and NAT64's."""


def is_inside(host: str) -> bool:
    """Tell whether a host is this machine or in its network, by its number in whatever form.

    Systems read ``0x7f.1`` and ``2130706433`` as 127.0.0.1. Other names than localhost are not looked up.
    """
    import socket
    from ipaddress import ip_address

    name = host.rstrip(".").lower()
    try:
        found = socket.getaddrinfo(name, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return name == "localhost" or name.endswith(".localhost")
    return not all(_is_public(ip_address(str(place[0]).partition("%")[0])) for *_, place in found)


def _is_public(address: "IPv4Address | IPv6Address") -> bool:
    from ipaddress import IPv4Address, IPv6Address, IPv6Network

    if isinstance(address, IPv6Address):
        if address.sixtofour:
            return _is_public(address.sixtofour)
        if any(address in IPv6Network(network) for network in _WITH_IPV4):
            return _is_public(IPv4Address(address.packed[-4:]))
    # older Pythons call a network's own NAT64 (RFC 8215) global
    return address.is_global and not (address.is_multicast or address in IPv6Network("64:ff9b:1::/48"))
