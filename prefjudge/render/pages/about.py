"""What a release is called, and what it is in a few words."""

from collections.abc import Mapping
from typing import Any

from prefjudge.core.judges.rehearsal import Rehearsal


def title_of(record: Mapping[str, Any]) -> str:
    """Return what a release is called."""
    return str(record.get("about", {}).get("title") or record["name"])


def description_of(record: Mapping[str, Any]) -> str:
    """Return what a release is, in the words of its study where it has any; a rehearsal always says so."""
    stamp = f"{stamp_words(record)}. " if record.get("rehearsal") else ""
    own = record.get("about", {}).get("description") or (
        f"{record['numbers']['judgments']:,} side-by-side preference judgments of search results for "
        f"{record['numbers']['queries']:,} queries, and the best answers that follow from them."
    )
    return stamp + own


def stamp_words(record: Mapping[str, Any]) -> str:
    """Return what a rehearsal says everywhere; empty where there is none."""
    return str(Rehearsal(**record["rehearsal"])) if record.get("rehearsal") else ""
