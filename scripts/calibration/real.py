"""Real votes: independent sets of votes on the same pairs, each against all of them together."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from prefjudge.core.resolving.confidence import Confidence, assess_confidence
from prefjudge.formats.labels.judgments import read_judgments

HEAD = ("votes of", "queries", "told", "stated", "by all", "off", "+-")
FORM = "{:<28} {:>7} {:>5} {:>6} {:>6} {:>6} {:>5}"


def compare_files(paths: Sequence[Path], rng: np.random.Generator) -> str:
    """Return a line for each file.

    Nobody knows who is truly the best. But if P(best) is true, more votes raise it as often as they lower it:
    what a file states of its answers equals, on average, what all files together state of the same answers.
    """
    with tempfile.TemporaryDirectory() as folder:
        joined = Path(folder) / "all.txt"
        joined.write_text("\n".join(path.read_text(encoding="utf-8") for path in paths), encoding="utf-8")
        every = assess_confidence(read_judgments(joined), rng=rng)
    lines = [FORM.format(*HEAD)]
    for path in paths:
        one = assess_confidence(read_judgments(path), rng=rng)
        stated, by_all = _of_leaders(one, every)
        off = stated - by_all
        lines.append(
            FORM.format(
                path.name,
                stated.size,
                "yes" if one.scales.told else "no",
                f"{stated.mean():.3f}",
                f"{by_all.mean():.3f}",
                f"{off.mean():.3f}",
                f"{off.std(ddof=1) / np.sqrt(off.size):.3f}",
            )
        )
    return "\n".join(lines)


def _of_leaders(one: Confidence, every: Confidence) -> tuple[np.ndarray, np.ndarray]:
    """Return P(best) of each query's likeliest candidate by one file, and the same candidate's by all."""
    stated, by_all = [], []
    for query in one.queries:
        chances = one.of(query)
        leader = max(chances, key=chances.__getitem__)
        stated.append(chances[leader])
        by_all.append(every.of(query)[leader])
    return np.array(stated), np.array(by_all)
