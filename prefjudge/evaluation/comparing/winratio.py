"""Win ratios: runs compared directly by which top passage people prefer."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.pools import chosen_qrels
from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.pooling.runs import Heads, encode
from prefjudge.errors import InputError
from prefjudge.evaluation.comparing.pair_votes import VoteTables, count_votes
from prefjudge.evaluation.scoring.placings import Floats, Integers
from prefjudge.evaluation.testing.sign_flips import VARIANT, sign_flip_p

Count = Literal["majority", "votes"]

PERFECT = "perfect ranking"
BINOMIAL = "two-sided binomial test, exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class WinRatio:
    """Two runs compared on the queries where their top passages differ and were judged.

    Attributes
    ----------
    a, b : str
        The runs.
    wins_a, wins_b, ties : int
        On how many queries the top passage of a run was preferred, and how many were undecided. With raw
        votes, how many votes.
    same, unjudged : int
        On how many queries both have the same top passage, and how many could not be compared because the
        pair was never judged or a run has no top passage.
    p : float
        The test that `WinRatios` names, two-sided; ties do not count. 1 where there is no win.
    p_bonferroni : float
        ``p`` times the number of pairs of runs, at most 1.
    """

    a: str
    b: str
    wins_a: int
    wins_b: int
    ties: int
    same: int
    unjudged: int
    p: float
    p_bonferroni: float

    @property
    def ratio(self) -> float:
        """The share of the wins that went to ``a``; NaN where there is none."""
        decided = self.wins_a + self.wins_b
        return self.wins_a / decided if decided else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class WinRatios:
    """All pairs of runs compared by their top passages.

    Attributes
    ----------
    runs : tuple of str
        The runs in the order given, the perfect ranking first where there is one.
    pairs : tuple of WinRatio
        Each pair once, ``a`` before ``b`` in ``runs``.
    wins : dict of str to int
        How many other runs each run beats: it wins more than it loses.
    count : str
        ``majority``: one outcome a query, the majority of all votes on the two passages. ``votes``: every
        vote by itself.
    queries : int
        How many queries were looked at.
    test : str
        What ``p`` is: of majorities the binomial test; of votes the sign-flip test of each query's balance,
        since the votes of a query depend on each other.
    """

    runs: tuple[str, ...]
    pairs: tuple[WinRatio, ...]
    wins: dict[str, int]
    count: Count
    queries: int
    test: str = BINOMIAL

    def matrix(self, alpha: float = 0.05) -> "WinMatrix":
        """Return the ratios as the paper's Table 4 has them: the column beats the row.

        Every table, file and plot takes its cells from here, so that none can be the transpose of another.

        Parameters
        ----------
        alpha : float
            The level at which a pair is significant, after Bonferroni's correction.
        """
        place = {run: number for number, run in enumerate(self.runs)}
        ratio = np.full((len(self.runs), len(self.runs)), np.nan)
        significant = np.zeros(ratio.shape, dtype=bool)
        for pair in self.pairs:
            a, b = place[pair.a], place[pair.b]
            ratio[b, a], ratio[a, b] = pair.ratio, 1 - pair.ratio
            significant[b, a] = significant[a, b] = pair.p_bonferroni <= alpha
        return WinMatrix(runs=self.runs, ratio=ratio, significant=significant)


@dataclass(frozen=True, slots=True, kw_only=True)
class WinMatrix:
    """Win ratios as a square matrix: the column beats the row.

    Attributes
    ----------
    runs : tuple of str
        The rows and the columns.
    ratio : ndarray of float64, shape (len(runs), len(runs))
        How often the top passage of the column was preferred to that of the row; NaN on the diagonal, and
        where nothing was decided.
    significant : ndarray of bool, shape (len(runs), len(runs))
        Whether the two runs differ significantly.
    """

    runs: tuple[str, ...]
    ratio: Floats
    significant: NDArray[np.bool_]


RUNS_SHOWN = 12
"""So many columns of a matrix fit a page."""


def best_runs(result: WinRatios, number: int) -> tuple[str, ...]:
    """Return the runs that beat most others, in their order, and the perfect ranking where there is one.

    Parameters
    ----------
    result : WinRatios
    number : int
        How many runs at most, without the perfect ranking.
    """
    rivals = [run for run in result.runs if run != PERFECT]
    best = {*sorted(rivals, key=lambda run: -result.wins[run])[:number], PERFECT}
    return tuple(run for run in result.runs if run in best)


def named_runs(result: WinRatios, names: Sequence[str]) -> tuple[str, ...]:
    """Return the runs of these names, as they are ordered there.

    Raises
    ------
    InputError
        One of them is not among the runs.
    """
    for name in names:
        if name not in result.runs:
            raise InputError(f"there is no run {name!r} to show", f"Choose one of: {', '.join(result.runs)}.")
    return tuple(dict.fromkeys(names))


def runs_to_show(ratios: WinRatios, chosen: int | str | Sequence[str]) -> tuple[str, ...]:
    """Return the runs to show: a number, also as text, means the best ones.

    Raises
    ------
    InputError
        A name is not a run's, or no run would be shown.
    """
    names = [str(chosen)] if isinstance(chosen, int | str) else list(chosen)
    if len(names) == 1 and names[0].lstrip("-").isdecimal() and names[0] not in ratios.runs:
        if int(names[0]) < 1:
            raise InputError(f"--runs-shown {names[0]}: no run would be shown", "Give 1 or more.")
        return best_runs(ratios, int(names[0]))
    return named_runs(ratios, names)


def named_count(text: str) -> Count:
    """Return the way of counting of this name.

    Raises
    ------
    InputError
        Where there is none.
    """
    choices: dict[str, Count] = {"majority": "majority", "votes": "votes"}
    if text not in choices:
        raise InputError(f"there is no way to count {text!r}", "Choose majority or votes.")
    return choices[text]


def binomial_p(wins: Integers, losses: Integers) -> NDArray[np.float64]:
    """Return the two-sided binomial test of wins against losses at one half.

    Parameters
    ----------
    wins, losses : ndarray of int64, shape (n,)
        The counts.

    Returns
    -------
    ndarray of float64, shape (n,)
        The p-values, 1 where there is neither win nor loss.
    """
    fewer = np.minimum(wins, losses).astype(np.float64)
    both: NDArray[np.float64] = np.minimum(1.0, 2.0 * scipy.special.bdtr(fewer, wins + losses, 0.5))
    return both


def win_ratios(
    judgments: Judgments,
    heads: Heads,
    qrels: Qrels | None = None,
    *,
    queries: Collection[str] | None = None,
    count: Count = "majority",
) -> WinRatios:
    """Compare all pairs of runs by their top passages.

    Parameters
    ----------
    judgments : Judgments
        The votes.
    heads : Heads
        The top passage of each run; rows below the first place are ignored.
    qrels : Qrels, optional
        Adds the perfect ranking, whose top passage is the qrel: of the highest grade, and the first in the
        file among equals, as in section 3.1.
    queries : collection of str, optional
        Look at these queries only; by default at those with a judgment.
    count : {'majority', 'votes'}
        One outcome a query, or every vote by itself.

    Returns
    -------
    WinRatios
        One record for each pair, with wins, ties, p-values and Bonferroni's correction over all pairs.

    Notes
    -----
    Arabzadeh et al., "Shallow pooling for sparse labels" (2021), section 4.2 and Table 4. Ties in the table's
    sense (the same top passage) do not enter the ratio.
    """
    asked = (
        {judgments.queries[query] for query in np.unique(judgments.query)}
        if queries is None
        else set(queries)
    )
    names, docs, tops, runs = top_documents(heads, qrels, asked)
    if len(runs) < 2:
        raise InputError(
            "win ratios compare runs, and there is only one",
            "Give at least two runs that were pooled, or one and qrels.",
        )
    tops = np.ascontiguousarray(tops.T)
    votes = VoteTables(count_votes(judgments, names, docs), tops)
    tables, tests = [], []
    for number in range(len(runs) - 1):
        outcomes = _against_later(votes, tops, number, count)
        tables.append(np.stack([part.sum(axis=1) for part in outcomes], axis=1))
        tests.append(
            sign_flip_p((outcomes[0] - outcomes[1]).astype(np.int64))
            if count == "votes"
            else binomial_p(tables[-1][:, 0], tables[-1][:, 1])
        )
    # The pairs in the order of the tables: each run with every later one.
    first = np.repeat(np.arange(len(runs)), np.arange(len(runs))[::-1])
    second = np.concatenate([np.arange(number + 1, len(runs)) for number in range(len(runs) - 1)])
    table, p = np.concatenate(tables), np.concatenate(tests)
    corrected = np.minimum(1.0, p * p.size)
    pairs = tuple(
        WinRatio(
            a=runs[first[row]],
            b=runs[second[row]],
            wins_a=int(table[row, 0]),
            wins_b=int(table[row, 1]),
            ties=int(table[row, 2]),
            same=int(table[row, 3]),
            unjudged=int(table[row, 4]),
            p=float(p[row]),
            p_bonferroni=float(corrected[row]),
        )
        for row in range(len(table))
    )
    wins = np.bincount(first[table[:, 0] > table[:, 1]], minlength=len(runs)) + np.bincount(
        second[table[:, 1] > table[:, 0]], minlength=len(runs)
    )
    return WinRatios(
        runs=runs,
        pairs=pairs,
        wins={run: int(number) for run, number in zip(runs, wins, strict=True)},
        count=count,
        queries=len(names),
        test=VARIANT if count == "votes" else BINOMIAL,
    )


def top_documents(
    heads: Heads, qrels: Qrels | None, asked: set[str]
) -> tuple[tuple[str, ...], tuple[str, ...], Integers, tuple[str, ...]]:
    """Return the queries, the documents, the top document of each query and run (-1: none), and the runs."""
    names = [*heads.queries, *(qrels.queries if qrels else ())]
    chosen = tuple(name for name in dict.fromkeys(names) if name in asked)
    docs = tuple(dict.fromkeys([*heads.docs, *(qrels.docs if qrels else ())]))
    columns = []
    if qrels is not None:
        best = chosen_qrels(qrels)
        column = np.full(len(chosen), -1, dtype=np.int64)
        row = encode(qrels.queries, chosen)[qrels.query[best]]
        column[row[row >= 0]] = encode(qrels.docs, docs)[qrels.doc[best]][row >= 0]
        columns.append(column)
    tops = np.full((len(chosen), len(heads.runs)), -1, dtype=np.int64)
    row = encode(heads.queries, chosen)[heads.query]
    keep = (heads.position == 1) & (row >= 0)
    tops[row[keep], heads.run[keep]] = encode(heads.docs, docs)[heads.doc[keep]]
    runs = ((PERFECT,) if qrels else ()) + heads.runs
    return chosen, docs, np.column_stack([*columns, tops]), runs


def _against_later(
    votes: VoteTables, tops: Integers, number: int, count: Count
) -> Sequence[NDArray[np.int32] | NDArray[np.bool_]]:
    """Compare one run with every later one, query by query.

    Returns
    -------
    sequence of ndarray, each of shape (later runs, queries)
        Wins, losses, ties, whether the top passage is the same, and whether the pair is unjudged.
    """
    found = votes.against_later(number)
    for_a, for_b, neither = found
    judged = (for_a > 0) | (for_b > 0) | (neither > 0)
    same = (tops[number] == tops[number + 1 :]) & (tops[number] >= 0)
    if count == "votes":
        return *found, same, ~judged & ~same
    return for_a > for_b, for_a < for_b, judged & (for_a == for_b), same, ~judged & ~same
