"""Markup in texts that people are shown: a judging page shows every text as it is, tags and all."""

import re
from collections.abc import Mapping
from pathlib import Path

from prefjudge.counts import many
from prefjudge.formats.lines.problems import Notice

_MARKUP = re.compile(
    r"</?(?:[abiup]|br|em|strong|code|pre|div|span|h[1-6]|[uod]l|li|d[dt]|table|t[drh]|su[bp]|img|font|html|body)"
    r"(?:\s[^<>]*)?/?>|&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,7}|#x[0-9a-f]{1,6});",
    re.IGNORECASE,
)


def markup_in(texts: Mapping[str, str], path: str | Path) -> list[Notice]:
    """Return a notice where texts hold tags or entities of HTML; else none."""
    marked = {name: found for name, text in texts.items() if (found := _MARKUP.search(text))}
    if not marked:
        return []
    name, found = next(iter(marked.items()))
    hold = "holds" if len(marked) == 1 else "hold"
    what = f"{many(len(marked), 'text')} of {len(texts):,} {hold} HTML, such as {found[0][:40]!r} in {name!r}"
    return [Notice(where=str(path), what=f"{what}: people are shown it as it stands")]
