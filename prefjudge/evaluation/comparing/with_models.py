"""With models: what a model's votes are worth beside people's, on one set of pairs."""

from dataclasses import dataclass, replace

import numpy as np

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.pooling.runs import Heads, encode
from prefjudge.core.resolving.preferences import resolve, to_qrels
from prefjudge.evaluation.comparing.pair_votes import PairVotes, count_votes, pair_key
from prefjudge.evaluation.comparing.winratio import runs_to_show, top_documents, win_ratios
from prefjudge.evaluation.scoring.placings import Floats, Integers
from prefjudge.evaluation.testing.alternative_annotator import (
    ModelGate,
    SharedVotes,
    alternative_annotator,
    repeated_people,
)
from prefjudge.evaluation.testing.prediction_powered import PoweredMean, prediction_powered_mean

NEW_BEST = "queries with a new best answer"
_SHOWN = 4
"""Runs that are compared: those that people prefer to most others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoweredShare:
    """A share of queries by people alone, and by people and a model.

    Attributes
    ----------
    model, what : str
        The model, and what is counted: `NEW_BEST`, or the queries on which a run's top passage is preferred
        to another's; a tie counts half.
    mean : PoweredMean
        The estimates.
    """

    model: str
    what: str
    mean: PoweredMean


def gate_model(people: Judgments, model: str, votes: Judgments) -> ModelGate:
    """Test whether a model may stand in for a person, on the pairs that it and at least two people judged.

    Both logs have the same vocabularies.
    """
    left, right = people.left.astype(np.int64), people.right.astype(np.int64)
    a, b, query = np.minimum(left, right), np.maximum(left, right), people.query.astype(np.int64)
    pair = np.unique(pair_key(query, a, b, len(people.docs)), return_inverse=True)[1]
    # Votes whose maker is not known are each somebody's own.
    person = np.where(people.worker >= 0, people.worker, len(people.workers) + np.arange(len(people)))
    # One vote for each person and pair: the balance of several.
    _, first, vote = np.unique(
        np.column_stack([pair, person]), axis=0, return_index=True, return_inverse=True
    )
    balance = np.bincount(vote.ravel(), weights=np.where(left < right, people.choice, -people.choice))
    by_model = count_votes(votes, votes.queries, votes.docs)
    for_a, for_b, neither = by_model.on(query[first], a[first], b[first])
    both = for_a + for_b + neither > 0
    shared = SharedVotes(
        query=query[first][both],
        pair=pair[first][both],
        person=person[first][both],
        choice=np.sign(balance).astype(np.int64)[both],
        model=np.sign(for_a - for_b)[both],
    )
    gate = alternative_annotator(model, shared)
    named = (code for code in repeated_people(shared) if code < len(people.workers))
    return replace(gate, repeats=tuple(people.workers[code] for code in named))


def estimate_preferences(
    people: Judgments,
    model: str,
    votes: Judgments,
    heads: Heads,
) -> tuple[PoweredShare, ...]:
    """Estimate on how many queries the first one's top passage is preferred, for pairs of the best runs.

    Queries with the same passage on top of both are left out. Both logs have the same vocabularies.
    """
    queries, docs, tops, runs = top_documents(heads, None, set(votes.queries))
    ratios = win_ratios(people, heads)
    names = runs_to_show(ratios, _SHOWN)
    counted = [count_votes(log, queries, docs) for log in (people, votes)]
    column = {run: number for number, run in enumerate(runs)}
    found = []
    for place, a in enumerate(names):
        for b in names[place + 1 :]:
            by_people, by_model = (_shares(one, tops[:, column[a]], tops[:, column[b]]) for one in counted)
            mean = _both(by_people, by_model)
            if mean is not None:
                found.append(PoweredShare(model=model, what=f"{a} preferred to {b}", mean=mean))
    return tuple(found)


def estimate_new_best(
    people: Judgments,
    model: str,
    votes: Judgments,
    qrels: Qrels,
    *,
    rule: str = "shallow-pooling",
    pools: Pools | None = None,
) -> PoweredShare | None:
    """Estimate the share of queries whose best answer is not one of the qrels; None where people judged none.

    Both logs have the same vocabularies; queries that are sparse in one are left out there.
    """
    voted_on = set(votes.queries)
    queries = tuple(query for query in qrels.queries if query in voted_on)
    by_people, by_model = (_new_best(log, qrels, queries, rule, pools) for log in (people, votes))
    mean = _both(by_people, by_model)
    return None if mean is None else PoweredShare(model=model, what=NEW_BEST, mean=mean)


def _shares(votes: PairVotes, a: Integers, b: Integers) -> Floats:
    """Return 1 where ``a`` is preferred, 0 where ``b`` is, 0.5 for a tie; NaN where nobody judged."""
    for_a, for_b, neither = votes.on(np.arange(a.size), a, b)
    judged = for_a + for_b + neither > 0
    return np.where(judged, (1 + np.sign(for_a - for_b)) / 2, np.nan)


def _new_best(
    log: Judgments, qrels: Qrels, queries: tuple[str, ...], rule: str, pools: Pools | None
) -> Floats:
    """Return 1 for a query whose best answers are all new, else 0; NaN where it is not resolved."""
    found = resolve(log, rule=rule, pools=pools)
    best = to_qrels(found)
    known = qrels.grade > 0
    old = set(
        zip(
            qrels.query[known].tolist(), encode(qrels.docs, best.docs)[qrels.doc[known]].tolist(), strict=True
        )
    )
    number = encode(best.queries, qrels.queries)[best.query].tolist()
    out = np.full(len(queries), np.nan)
    row = encode(qrels.queries, queries)
    for query, doc in zip(number, best.doc.tolist(), strict=True):
        place = row[query] if query >= 0 else -1
        if place >= 0:
            is_new = (query, doc) not in old
            out[place] = is_new if np.isnan(out[place]) else min(out[place], is_new)
    return out


def _both(people: Floats, model: Floats) -> PoweredMean | None:
    """Estimate the mean of the queries of which people's are a sample; None where they judged none."""
    by_people = ~np.isnan(people)
    elsewhere = ~np.isnan(model) & ~by_people
    if not by_people.any():
        return None
    return prediction_powered_mean(people[by_people], model[by_people], model[elsewhere])
