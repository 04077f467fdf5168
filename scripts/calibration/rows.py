"""The rows of the calibration table: what is stated of a cell's answers, and whether that meets the goals.

A row is of one error, or of all errors of a design together.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from zlib import crc32

import numpy as np
from cells import Answers, Design, join, simulate

GOAL, WORST, LEAST = 0.05, 0.08, 30
"""The greatest weighted error, and the greatest error of a bin that has so many answers: what those who know
the crowd say of them tells as much as whether 200 answers are right."""
HEAD = (
    *("pool", "queries", "strategy", "noise", "error", "n", "told"),
    *("stated", "right", "off", "wrong", "chance", "worst", "goal"),
)
FORM = "{:>4} {:>7} {:<14} {:<14} {:>5} {:>6} {:>5} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}  {}"


@dataclass(frozen=True, kw_only=True)
class Row:
    """The answers of one error, or of all errors of a design together (``error`` is None then).

    ``judged`` rows have to meet the goals.
    """

    design: Design
    error: float | None
    answers: Answers
    judged: bool

    @property
    def missed(self) -> bool:
        """Whether the row has to meet the goals and does not."""
        bins = self.answers.bins()
        return self.judged and bool(bins.error() > GOAL or bins.worst(least=LEAST) > WORST)

    def __str__(self) -> str:
        """Return the line of the table."""
        cell, bins = self.answers, self.answers.bins()
        stated, right, worst = cell.stated.mean(), cell.known.mean(), bins.worst(least=LEAST)
        figures = (cell.told, stated, right, stated - right, bins.error(), bins.chance())
        return FORM.format(
            self.design.pool,
            self.design.queries,
            self.design.strategy,
            self.design.noise,
            "all" if self.error is None else f"{self.error:g}",
            cell.stated.size,
            *(f"{value:.3f}" for value in figures),
            "-" if np.isnan(worst) else f"{worst:.3f}",
            "" if not self.judged else "missed" if self.missed else "met",
        ).rstrip()

    @property
    def figure(self) -> str:
        """The weighted error in few signs: a dot where no goal holds, a star where it is missed."""
        if not self.judged:
            return "·"
        return (
            ("all " if self.error is None else "")
            + f"{self.answers.bins().error():.3f}"[1:]
            + "*" * self.missed
        )


def rows_of(
    designs: Sequence[Design], errors: Sequence[float], answers: int, seed: int, processes: int
) -> Iterator[Row]:
    """Yield the rows of each design: one for each error, and one for all of them."""
    work = partial(_of_design, errors=errors, answers=answers, seed=seed)
    if processes == 1:
        for design in designs:
            yield from work(design)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for rows in pool.map(work, designs):
            yield from rows


def _of_design(design: Design, *, errors: Sequence[float], answers: int, seed: int) -> list[Row]:
    cells = []
    for error in errors:
        # Each cell draws by its own seed, so that a cell alone gives the line that it has in the grid.
        name = crc32(f"{design.strategy} {design.noise}".encode())
        rng = np.random.default_rng([seed, name, design.pool, design.queries, round(1000 * error)])
        cells.append(simulate(design, error, answers, rng))
    return _judged(design, errors, cells)


def _judged(design: Design, errors: Sequence[float], cells: Sequence[Answers]) -> list[Row]:
    apart = [cell.told >= 0.5 for cell in cells]
    rows = [
        Row(design=design, error=error, answers=cell, judged=alone)
        for error, cell, alone in zip(errors, cells, apart, strict=True)
    ]
    return [*rows, Row(design=design, error=None, answers=join(cells), judged=not all(apart))]


def brief(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each pool and number of queries, the strategies taken together.

    A noise has a column: the weighted error of each error, or of all together where the votes do not tell
    them. The last two count the figures of the single strategies that have to meet the goals, and do.
    """
    noises = list(dict.fromkeys(row.design.noise for row in rows))
    form = "{:>4} {:>7}" + " {:>21}" * len(noises) + " {:>7} {:>3}"
    yield form.format("pool", "queries", *noises, "figures", "met")
    for size in dict.fromkeys((row.design.pool, row.design.queries) for row in rows):
        some = [row for row in rows if (row.design.pool, row.design.queries) == size]
        columns = [" ".join(row.figure for row in _of_noise(some, noise)) for noise in noises]
        judged = [row for row in some if row.judged]
        met = sum(not row.missed for row in judged)
        yield form.format(*size, *columns, len(judged), met)


def _of_noise(rows: Sequence[Row], noise: str) -> list[Row]:
    """Return the rows of one noise with all strategies together."""
    of = [row for row in rows if row.design.noise == noise]
    errors = [error for error in dict.fromkeys(row.error for row in of) if error is not None]
    cells = [join([row.answers for row in of if row.error == error]) for error in errors]
    *apart, every = _judged(of[0].design, errors, cells)
    return [*apart, every] if every.judged else apart
