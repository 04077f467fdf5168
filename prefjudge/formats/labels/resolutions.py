"""Resolution files: everything that is known of each query's best answer, one JSON object a line."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prefjudge.core.resolving.confidence import Confidence
from prefjudge.core.resolving.resolutions import Resolution, Resolutions
from prefjudge.formats.lines.atomic import atomic_write
from prefjudge.render.text.plain_text import json_text


def write_resolutions(
    path: str | Path, rules: Iterable[Resolutions], confidence: Confidence | None = None
) -> None:
    """Write the resolution of every query, atomically.

    Parameters
    ----------
    path : str or Path
        The file.
    rules : iterable of Resolutions
        The outcome of each rule on the same judgments; the first one's candidates are written in full.
    confidence : Confidence, optional
        The probability of being the best, of the same candidates.
    """
    first, *others = rules
    with atomic_write(path) as file:
        for place, one in enumerate(first):
            line = {
                **describe_resolution(one),
                "candidates": _candidates(first, confidence, place),
                "rules": {other.rule: _outcome(other[place]) for other in others},
            }
            file.write(json_text(line, indent=None).encode() + b"\n")


def describe_resolution(one: Resolution) -> dict[str, object]:
    """Return a resolution as what JSON can say."""
    return {
        "query_id": one.query_id,
        "rule": one.rule,
        **_outcome(one),
        "margin": one.margin,
        "cycle": list(one.cycle),
        "pool_size": one.pool_size,
        "votes": one.votes,
        "missing": one.missing,
    }


def _outcome(one: Resolution) -> dict[str, object]:
    return {"status": one.status.value, "winners": list(one.winners)}


def _candidates(resolutions: Resolutions, confidence: Confidence | None, place: int) -> list[dict[str, Any]]:
    rows = range(int(resolutions.start[place]), int(resolutions.start[place + 1]))
    found = []
    for row in rows:
        candidate: dict[str, Any] = {
            "doc_id": resolutions.docs[resolutions.doc[row]],
            "winner": bool(resolutions.winner[row]),
            "wins": float(resolutions.wins[row]),
            "comparisons": int(resolutions.comparisons[row]),
            "score": float(resolutions.score[row]),
        }
        if confidence is not None:
            candidate["p_best"] = round(float(confidence.chance[row]), 4)
            candidate["strength"] = round(float(confidence.strength[row]), 4)
            candidate["deviation"] = round(float(confidence.deviation[row]), 4)
        found.append(candidate)
    return sorted(found, key=lambda candidate: candidate["doc_id"])
