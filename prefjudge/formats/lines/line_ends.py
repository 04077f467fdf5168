"""Line ends: LF and CRLF end a line; a CR alone does so in files of columns, and in files that have no LF.

Programs of the old Macintosh wrote CR alone, and files that were put together may hold a few. In a passage a
CR may be text, so files of texts keep it, unless it is all that can end their lines.
"""

import re

_ALONE = re.compile(rb"(?<!\r)\r++(?!\n)")
"""CRs that no LF follows. It looks at each byte once: such a run may be as long as the file."""

ALONE = "lines end in a CR alone, which is read as the end of a line"
"""What a reader says of it."""


def has_lone_cr(data: bytes) -> bool:
    """Tell whether a CR stands without an LF behind it."""
    if b"\r" not in data:  # memchr; bytes.count walks byte by byte, and costs a verified run 5 % of its time
        return False
    return data.count(b"\r") != data.count(b"\r\n") and _ALONE.search(data) is not None


def with_newlines(data: bytes) -> bytes:
    """Return the same text with an LF for each lone CR."""
    return _ALONE.sub(lambda found: b"\n" * len(found[0]), data)
