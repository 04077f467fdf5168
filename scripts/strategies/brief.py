"""Brief: a line for each cell, which says what a family of strategies needs beside those of today."""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from trials import Beside, Trials, compare, front, measure

from prefjudge.core.asking.strategies import Strategy
from prefjudge.core.judges.noise import BradleyTerryNoise, ConstantNoise, Noise, scale_of_error
from prefjudge.core.planning.plan import STRATEGIES
from prefjudge.core.planning.sure import Sure
from prefjudge.core.resolving.orders import LARGEST

LEVELS = (0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999)
PATIENCE = (10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240, 20480, 40960, 163840, 655360)
FAMILIES: dict[str, tuple[Strategy, ...]] = {
    "sure": tuple(Sure(level) for level in LEVELS),
    "patient": tuple(Sure(0.9999, patience=most) for most in PATIENCE),
}
NOISES = ["bradley-terry", "constant"]
TODAY = tuple(one for one in STRATEGIES if not isinstance(one, Sure))
MORE = 10
"""How many times as many pools the strategies of today are simulated on: they fit no model."""
BEYOND = 2
"""A family ends with so many strategies that are right as often as the best of today: others cost more."""
_FORM = "{:>4} {:>5} {:<13} {:<7} {:<26} {:<19} {}"

Place = tuple[int, float, str]
"""The size of the pools, the share of wrong votes, and the kind of noise."""


def table(
    places: Sequence[Place], trials: int | None, seed: int, families: Sequence[str], processes: int
) -> Iterator[str]:
    """Yield the lines of these cells."""
    yield _FORM.format("pool", "wrong", "noise", "family", "best of today, votes, right", "needs", "hardest")
    work = partial(_lines, trials=trials, seed=seed, families=families)
    if processes == 1:
        yield from map(work, places)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield from pool.map(work, places)


def _brief(noise: Noise, size: int, trials: int, seed: int, families: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the columns of a cell's lines, one for each family."""
    today = front([measure(one, noise, size, MORE * trials, seed) for one in TODAY])
    best = max(today, key=lambda one: one.share)
    rows = []
    for name in families:
        family = _until(FAMILIES[name], best.share, lambda one: measure(one, noise, size, trials, seed))
        beside = [compare(family, one, seed) for one in today]
        hardest = min(beside, key=lambda one: one.by_chance)
        found = f"{best.name}, {best.cost:.0f}, {100 * best.share:.1f} %"
        rows.append((name, found, _ratio(beside[today.index(best)]), _hardest(hardest)))
    return rows


def _until(family: Sequence[Strategy], right: float, play: Callable[[Strategy], Trials]) -> list[Trials]:
    """Return the trials of a family, up to where enough of it are right so often."""
    found: list[Trials] = []
    for one in family:
        found.append(play(one))
        if sum(other.share >= right for other in found) == BEYOND:
            break
    return found


def _ratio(beside: Beside) -> str:
    low, high = ("-" if math.isinf(one) else f"{one:.2f}" for one in (beside.low, beside.high))
    if math.isinf(beside.ratio):
        return f"{100 * beside.reached:.1f} % for {beside.spent:.2f}"
    return f"{beside.ratio:.2f} ({low} to {high})"


def _hardest(beside: Beside) -> str:
    gain = f"{100 * beside.gain:+.1f} +- {100 * beside.error:.1f}"
    return f"{gain} {beside.other}, {_ratio(beside)}"


def _lines(place: Place, trials: int | None, seed: int, families: Sequence[str]) -> str:
    """Return the lines of a cell."""
    size, error, kind = place
    rows = _brief(noise_of(kind, error), size, trials or usual_trials(size), seed, families)
    return "\n".join(_FORM.format(size, f"{error:.0%}", kind, *columns) for columns in rows)


def noise_of(kind: str, error: float) -> Noise:
    """Return how votes err."""
    return (
        ConstantNoise(error=error) if kind == "constant" else BradleyTerryNoise(scale=scale_of_error(error))
    )


def usual_trials(size: int) -> int:
    """Return on how many pools a cell is simulated: larger ones take longer, most where orders are drawn."""
    return 8000 // size if size <= LARGEST else 3000 // size
