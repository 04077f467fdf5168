"""The winners of votes: a report asks several times for those of the same votes."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.pairs import Pairs
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.resolving.preferences import HowResolved, resolved
from prefjudge.core.resolving.resolutions import Resolutions
from prefjudge.gather.once import is_asking_once, once


def find_winners(
    judgments: Judgments, how: HowResolved, *, pools: Pools | None, asked: Pairs | None
) -> Resolutions:
    """Return what `resolved` does; in a report, of the same votes once."""
    ask = partial(resolved, judgments, how, pools=pools, asked=asked)
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
    key = ("winners", how, *names, *(column.tobytes() for column in columns))
    return once(key, ask)
