"""Real votes: independent sets of votes on the same queries, each against all of them together."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from cells import Floats

from prefjudge.core.judgments import Judgments, select_judgments
from prefjudge.core.resolving.confidence import Confidence, assess_confidence
from prefjudge.core.resolving.scales import Scales
from prefjudge.core.strategies import LapseNoise, error_of_scale
from prefjudge.reading.labels import read_judgments

HEAD = ("votes of", "queries", "told", "stated", "by all", "off", "+-", "queries'", "z")
FORM = "{:<28} {:>7} {:>5} {:>6} {:>6} {:>6} {:>5} {:>8} {:>5}"


def compare_files(paths: Sequence[Path], rng: np.random.Generator, redraws: int) -> str:
    """Return a line for each file.

    Nobody knows who is truly the best. But if P(best) is true, more votes raise it as often as they lower it:
    what a file states of its answers equals, on average, what all files together state of the same answers.

    How far the two may be apart by chance is not told by their spread over queries alone (the column
    ``queries'``): one share of wrong votes goes into all queries of a file, and few votes tell it badly. So
    votes on the same pairs are drawn anew, for all files from one crowd that the real votes leave possible,
    and ``+-`` is the standard deviation of what is off then.
    """
    every = _read(paths)
    files = [select_judgments(every, every.worker == number) for number in range(len(paths))]
    whole = assess_confidence(every, rng=rng)
    found = [assess_confidence(one, rng=rng) for one in files]
    leaders = [_of_leaders(one, whole) for one in found]
    drawn = np.array([_off(_redrawn(every, whole.scales, rng), rng) for _ in range(redraws)])
    chance = drawn.std(axis=0, ddof=1)
    lines = [FORM.format(*HEAD)]
    for path, one, (stated, by_all), sd in zip(paths, found, leaders, chance.tolist(), strict=True):
        off = stated - by_all
        lines.append(
            FORM.format(
                path.name,
                stated.size,
                "yes" if one.scales.told else "no",
                f"{stated.mean():.3f}",
                f"{by_all.mean():.3f}",
                f"{off.mean():.3f}",
                f"{sd:.3f}",
                f"{off.std(ddof=1) / np.sqrt(off.size):.3f}",
                f"{off.mean() / sd:.1f}",
            )
        )
    return "\n".join(lines)


def _read(paths: Sequence[Path]) -> Judgments:
    """Return the votes of all files, each file as one worker: some crowds are more careful than others."""
    with tempfile.TemporaryDirectory() as folder:
        joined = Path(folder) / "all.txt"
        joined.write_text("\n".join(path.read_text(encoding="utf-8") for path in paths), encoding="utf-8")
        every = read_judgments(joined)
    worker = np.repeat(np.arange(len(paths)), [len(read_judgments(path)) for path in paths])
    return replace(every, workers=tuple(map(str, paths)), worker=worker.astype(np.int32))


def _off(every: Judgments, rng: np.random.Generator) -> list[float]:
    """Return by how much each file states more than all of them, on average over its queries."""
    whole = assess_confidence(every, rng=rng)
    off = []
    for number in range(len(every.workers)):
        one = assess_confidence(select_judgments(every, every.worker == number), rng=rng)
        stated, by_all = _of_leaders(one, whole)
        off.append(float((stated - by_all).mean()))
    return off


def _redrawn(every: Judgments, scales: Scales, rng: np.random.Generator) -> Judgments:
    """Draw the votes anew, from a crowd that they leave possible, of candidates that it has never seen."""
    model = rng.choice(scales.weight.size, p=scales.weight)
    noise = LapseNoise(error=error_of_scale(scales.scale[model]), lapses=float(scales.lapses[model]))
    # The candidates of a query by their place in it: any few of many drawn are such candidates, too.
    both = np.concatenate([every.query, every.query]), np.concatenate([every.left, every.right])
    held, row = np.unique(both[0].astype(np.int64) * len(every.docs) + both[1], return_inverse=True)
    query = held // len(every.docs)
    place = (np.arange(held.size) - np.searchsorted(query, query))[row]
    left, right = place[: len(every)], place[len(every) :]
    chances, _ = noise.draw_chances(len(every.queries), int(place.max()) + 1, rng)
    won = rng.random(len(every)) < chances[every.query, left, right]
    return replace(every, choice=np.where(won, 1, -1).astype(np.int8))


def _of_leaders(one: Confidence, every: Confidence) -> tuple[Floats, Floats]:
    """Return P(best) of each query's likeliest candidate by one file, and the same candidate's by all."""
    stated, by_all = [], []
    for query in one.queries:
        chances = one.of(query)
        if chances:
            leader = max(chances, key=chances.__getitem__)
            stated.append(chances[leader])
            by_all.append(every.of(query)[leader])
    return np.array(stated), np.array(by_all)
