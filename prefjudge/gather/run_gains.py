"""What each run of a study would score on a query, for each candidate that may be its best answer."""

from collections.abc import Sequence

import numpy as np

from prefjudge.core.planning.neighbours import RunGains
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.pooling.qrels import Qrels, select_labels
from prefjudge.engines.files.files import RunFiles
from prefjudge.engines.files.reading import Reading
from prefjudge.errors import InputError
from prefjudge.evaluation.scoring.judged_pairs import place_candidates
from prefjudge.evaluation.scoring.measures import Measure, direction, score_matrix
from prefjudge.gather.rank_moves import unchanged_runs
from prefjudge.study.pooling import load_copies
from prefjudge.study.study import Study


def find_gains(study: Study, pools: Pools, between: Sequence[str], notices: list[str]) -> RunGains:
    """Score the study's runs by its first measure, with each candidate in turn as the only best answer.

    Where lower scores are better they are negative: the greater gain is always the better one.
    Runs that are gone or were changed are left out, with a notice.

    Raises
    ------
    InputError
        Fewer than two runs are left, or one of those named is not there.
    """
    runs = unchanged_runs(study, notices, ())
    documents = Qrels(
        name="candidates",
        queries=pools.queries,
        docs=pools.docs,
        query=pools.query,
        doc=pools.doc,
        grade=np.ones(pools.query.size),
    )
    with study.transaction(write=False) as db:
        copies = load_copies(db)
    placed = place_candidates(
        documents, copies, RunFiles(runs, Reading(order=study.config.pool.order)).judged
    )
    tags = tuple(one.run for one in placed.ranks)
    if len(tags) < 2:
        raise InputError(
            "there are no two runs to tell apart",
            "Pool two runs or more, and leave their files as they were where they were pooled from.",
        )
    for name in between:
        if name not in tags:
            raise InputError(f"--between {name}: the study has no such run", f"It has {', '.join(tags)}.")
    measure = Measure.parse(study.config.measures[0])
    gain = np.zeros((pools.query.size, len(tags)))
    number = np.arange(pools.query.size) - np.searchsorted(pools.query, pools.query)
    for place in range(int(pools.sizes.max(initial=0))):
        rows = number == place
        alone = select_labels(documents, rows)
        scores = score_matrix(placed.under(alone), placed.labels(alone), measure)
        gain[rows] = direction(scores.measure) * scores.values[pools.query[rows]]
    return RunGains(runs=tags, gain=gain)
