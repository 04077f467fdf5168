"""Where the pages of a site lie: addresses made of names that anybody may have chosen.

An address must work on every file system and web server. Some tell capitals apart and some do not, some
refuse a colon or a file called ``con``, and a name such as ``../x`` must lead nowhere. A plain name is its
own address; any other keeps the letters that can be read, and a digest tells it from all others.
"""

import re
from hashlib import sha256

_PLAIN = re.compile("[a-z0-9]([a-z0-9._-]{0,78}[a-z0-9])?")
"""No ``~``, which stands before a digest: so a plain name is never the address of another one."""
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
"""What Windows takes for a device, whatever the suffix."""
_KEPT = 40
_DIGITS = 26
"""104 bits of a digest: two names with the same ones cannot be made on purpose."""


def file_name(name: str) -> str:
    """Return the part of an address that stands for a name, without a suffix: two names never share one."""
    if _PLAIN.fullmatch(name) and not _DEVICE.fullmatch(name):
        return name
    readable = re.sub("[^a-z0-9]+", "-", name.lower())[:_KEPT].strip("-")
    return f"{readable}~{sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:_DIGITS]}"


def run_address(run: str) -> str:
    """Return where the page of a run lies, from the root of the site."""
    return f"run/{file_name(run)}.html"


def query_address(query: str) -> str:
    """Return where the page of a query lies, from the root of the site."""
    return f"query/{file_name(query)}.html"


def version_address(version: int) -> str:
    """Return where the board of a version of the answers lies, from the root of the site."""
    return f"board/v{version}.html"


def list_address(page: int) -> str:
    """Return where a page of the list of queries lies, from 1, from the root of the site."""
    return "queries.html" if page == 1 else f"queries-{page}.html"
