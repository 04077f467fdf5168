"""The files that come with the package, in a wheel and in a checkout; and XML that strangers wrote."""

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
