"""Cycles: names the cycle of preferences that keeps a query from having one best answer."""

from typing import TYPE_CHECKING

import numpy as np

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.runs import encode
from prefjudge.core.resolving.resolutions import Resolutions

if TYPE_CHECKING:
    import networkx as nx


def name_cycles(judgments: Judgments, resolutions: Resolutions) -> dict[str, tuple[str, ...]]:
    """Put the winners of every cyclic query into an order in which each is preferred to the next.

    The last is preferred to the first, which is the first by doc_id. Only where pairs are even may some of
    the winners be missing.

    Parameters
    ----------
    judgments : Judgments
        The votes that were resolved.
    resolutions : Resolutions
        Their resolution.

    Returns
    -------
    dict of str to tuple of str
        The cycle of each cyclic query, by query_id.
    """
    rows = np.flatnonzero(resolutions.cycle)
    if not rows.size:
        return {}
    members: dict[str, set[str]] = {}
    for query, doc in zip(resolutions.query[rows].tolist(), resolutions.doc[rows].tolist(), strict=True):
        members.setdefault(resolutions.queries[query], set()).add(resolutions.docs[doc])
    leads = _leads(judgments, members)
    return {query: _circle(docs, leads.get(query, {})) for query, docs in members.items()}


def _leads(judgments: Judgments, members: dict[str, set[str]]) -> dict[str, dict[tuple[str, str], int]]:
    """Return the votes for each ordered pair of members less those against it, by query."""
    wanted = encode(tuple(members), judgments.queries)
    rows = np.flatnonzero(np.isin(judgments.query, wanted) & (judgments.choice != 0))
    leads: dict[str, dict[tuple[str, str], int]] = {}
    columns = (judgments.query[rows], judgments.winner[rows], judgments.loser[rows])
    for q, w, o in zip(*(column.tolist() for column in columns), strict=True):
        query, winner, loser = judgments.queries[q], judgments.docs[w], judgments.docs[o]
        if winner in members[query] and loser in members[query]:
            lead = leads.setdefault(query, {})
            lead[winner, loser] = lead.get((winner, loser), 0) + 1
            lead[loser, winner] = lead.get((loser, winner), 0) - 1
    return leads


def _circle(docs: set[str], leads: dict[tuple[str, str], int]) -> tuple[str, ...]:
    """Return a cycle through as many of the documents as single and double insertions reach."""
    import networkx as nx

    graph = nx.DiGraph()
    # Sorted, so that the cycle found does not depend on the order of a set.
    graph.add_nodes_from(sorted(docs))
    graph.add_edges_from(sorted(pair for pair, lead in leads.items() if lead > 0))
    try:
        cycle = [edge[0] for edge in nx.find_cycle(graph)]
    except nx.NetworkXNoCycle:
        return tuple(sorted(docs))
    while _insert(graph, cycle):
        pass
    first = cycle.index(min(cycle))
    return (*cycle[first:], *cycle[:first])


def _insert(graph: "nx.DiGraph", cycle: list[str]) -> bool:
    """Put one more document, or a pair of them, into the cycle; in a tournament one of both always goes."""
    outside = [doc for doc in graph if doc not in cycle]
    for place, before in enumerate(cycle):
        after = cycle[(place + 1) % len(cycle)]
        for doc in outside:
            if graph.has_edge(before, doc) and graph.has_edge(doc, after):
                cycle.insert(place + 1, doc)
                return True
    for place, before in enumerate(cycle):
        after = cycle[(place + 1) % len(cycle)]
        for x in outside:
            for y in outside:
                if graph.has_edge(before, x) and graph.has_edge(x, y) and graph.has_edge(y, after):
                    cycle[place + 1 : place + 1] = [x, y]
                    return True
    return False
