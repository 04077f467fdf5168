"""The winners of votes: a report asks several times for those of the same votes."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.pairs import Pairs
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.resolving.counting import TieWorth
from prefjudge.core.resolving.preferences import resolve
from prefjudge.core.resolving.resolutions import Resolutions
from prefjudge.gather.once import is_asking_once, once


def find_winners(
    judgments: Judgments,
    *,
    rule: str,
    pools: Pools | None,
    asked: Pairs | None,
    ties: TieWorth = TieWorth.IGNORE,
    strengths: bool = False,
) -> Resolutions:
    """Return what `resolve` does; in a report, of the same votes once."""
    ask = partial(resolve, judgments, rule=rule, pools=pools, asked=asked, ties=ties, strengths=strengths)
    if not is_asking_once():
        return ask()
    log = judgments
    columns: list[NDArray[np.integer[Any]]] = [
        log.query,
        log.left,
        log.right,
        log.choice,
        log.strength,
        log.worker,
    ]
    names = [log.queries, log.docs, log.workers]
    if pools is not None:
        columns += [pools.query, pools.doc]
        names += [pools.queries, pools.docs]
    if asked is not None:
        columns += [asked.query, asked.doc_a, asked.doc_b]
        names += [asked.queries, asked.docs]
    key = ("winners", rule, ties, strengths, *names, *(column.tobytes() for column in columns))
    return once(key, ask)
