"""Plain text: ids and names of any bytes, for eyes and for programs.

Bytes that are not UTF-8 are lone surrogates in a string (PEP 383), which neither a terminal, a font nor JSON
takes as they are.
"""

import json
import re

_SURROGATES = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Return what a reader can be shown: odd bytes as ``\xe9``, and blanks for what drives a terminal."""
    return "".join(character if character.isprintable() else _shown(character) for character in text)


def _shown(character: str) -> str:
    return f"\\x{ord(character) - 0xDC00:02x}" if "\udc80" <= character <= "\udcff" else " "


def json_text(value: object, *, indent: int | None = 2) -> str:
    """Return a value as JSON in UTF-8; a lone surrogate is escaped, and Python reads it back as it was."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
