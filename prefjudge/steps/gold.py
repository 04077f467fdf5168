"""Suggests gold pairs for review, and accepts the reviewed ones."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from annotated_types import Ge

from prefjudge.core.copies import copies_in, folded
from prefjudge.core.gold import (
    GoldPair,
    gold_pair,
    lexical_success,
    likely_answers,
    suggest_decoys,
    suggest_gold,
)
from prefjudge.core.hits import ask_together
from prefjudge.core.pools import Pools, candidates_of
from prefjudge.core.runs import Qrels
from prefjudge.database import Connection
from prefjudge.errors import InputError, StudyError
from prefjudge.findings.answers import load_best_answers
from prefjudge.findings.outputs import check_outputs
from prefjudge.reading.given import in_memory, paths_of
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.pools import read_gold, write_gold
from prefjudge.reading.texts.collections import every_text, sample_texts
from prefjudge.show.results import Shown
from prefjudge.study.assignments import load_choices
from prefjudge.study.pools import (
    REVIEW_FILE,
    load_active_gold,
    load_copies,
    load_gold_sets,
    load_inputs,
    load_pairs,
    load_pairs_by_number,
    load_passages,
    load_pools,
    load_queries,
    load_unmarked,
    other_gold,
    refuse_marked,
    save_gold,
)
from prefjudge.study.progress import Stage, lacking
from prefjudge.study.store import Study, open_study
from prefjudge.words import many


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GoldResult(Shown):
    """How many pairs ``gold`` wrote for review, accepted and withdrew, and how many the study has.

    ``hits`` is how many HITs the study's pairs fill. A worker who takes one HIT after another meets a gold
    pair again after ``hits_before_repeat`` of them (None where HITs hide none): what repeats is known.

    ``lexical`` is the share of the suggestions, or else of the study's gold pairs, that a choice by the words
    in common with the question gets right; 0.5 tells nothing. ``agreed`` of the suggestions are pairs on
    which many have agreed. ``notices`` says why fewer were suggested than asked for.
    """

    suggested: int
    agreed: int
    accepted: int
    withdrawn: int
    gold: int
    hits: int
    hits_before_repeat: int | None
    lexical: float | None
    file: str
    notices: tuple[str, ...] = ()

    @property
    def advice(self) -> str:
        """How far the gold pairs last; empty where none needs to repeat."""
        if self.hits_before_repeat is None or self.hits <= self.hits_before_repeat:
            return ""
        return (
            f"a worker may do {self.hits_before_repeat:,} of the study's {many(self.hits, 'HIT')}, "
            "and then waits until half of the workers have done as many: to let people do more, add gold "
            "pairs, or set most_hits in [workers]"
        )


_ISSUED = 5
"""Quarters of the study's HITs that gold pairs are suggested for: some are dropped and issued again."""


def gold(
    study: str | Path | Study,
    *,
    suggest: Annotated[int, Ge(0)] | None = None,
    decoys: str | Path | None = None,
    accept: bool = False,
    file: str | Path | None = None,
) -> GoldResult:
    """Suggest gold pairs, or accept those in a file.

    Parameters
    ----------
    study : Path
        The study's folder.
    suggest : int, optional
        Write this many suggestions to ``file``, to be read by a person: first pairs on which at least five
        have voted, all for the same passage; then a known relevant passage against an off-topic one, so that
        the words in common with the question tell as little as the texts allow. Without qrels: a likely
        answer to a question against a likely answer to another. 0 suggests as many as let none repeat in the
        study's HITs, as far as its texts yield them.
    decoys : Path, optional
        Suggest other pairs, from a collection, which needs no qrels: whole pools get a passage of it that is
        in no pool, compared with all candidates. Read them well: any candidate may be as far off the topic.
    accept : bool
        Make the gold pairs in ``file`` the study's. Others that it had are withdrawn: no new HIT hides them,
        and in HITs that are out whoever misses one has missed nothing from now on.
    file : Path, optional
        Where suggestions go and accepted pairs come from; ``gold.tsv`` in the study by default.

    Raises
    ------
    StudyError
        There is nothing to suggest from.
    InputError
        The file is not a table of gold pairs.
    """
    opened = open_study(study)
    path = file or opened.folder / REVIEW_FILE
    design, passages = opened.config.design, opened.config.hit.passages
    with opened.transaction(write=False) as db:
        known = {pair: number for number, pair in load_pairs_by_number(db).items()}
        wanted = [row for row in load_pairs(db) if row[4]]
        hits = -(-sum(votes for votes, _ in ask_together(wanted, known, passages)) // design.pairs_per_hit)
    if decoys and passages > 2:
        raise InputError(
            f"decoys stand in pairs, and these HITs show up to {passages} passages",
            "Leave out --decoys, or set passages = 2 in [hit] of study.toml.",
        )
    if decoys and suggest is None:
        raise InputError("--decoys says how to suggest gold pairs", "Add --suggest 0, or a number.")
    suggestions: Sequence[GoldPair] = ()
    agreed: Sequence[GoldPair] = ()
    fewer: tuple[str, ...] = ()
    if suggest is not None:
        count = suggest or max(1, -(-_ISSUED * hits * design.gold_per_hit // 4))
        agreed = () if decoys or passages > 2 else _agreed(opened)[:count]
        others = _decoys(opened, count, decoys) if decoys else None
        suggestions = others or (*agreed, *_suggest(opened, count - len(agreed), needed=not agreed))
        if len(suggestions) < suggest * (passages - 1):
            fewer = (_why_fewer(opened, suggest, len(suggestions) // (passages - 1), path),)
        elif decoys and len(suggestions) > suggest > 0:
            whole = f"{len(suggestions):,} gold pairs, and not {suggest:,}"
            fewer = (f"{whole}: a decoy is compared with all candidates of its pool",)
    if accept and file is None and not suggestions and not Path(path).is_file():
        raise lacking(opened, Stage.GOLD, what=f"there is no {path}")
    check_outputs(path if suggestions else None, study=opened)
    if suggestions:
        write_gold(path, suggestions)
    with opened.transaction() as db:
        reviewed = _as_stored(db, read_gold(path)) if accept else ()
        accepted, withdrawn = save_gold(db, reviewed, time.time()) if accept else (0, 0)
        active, texts = load_active_gold(db), load_passages(db)
        count = len(load_gold_sets(db, passages))
    return GoldResult(
        suggested=len(suggestions),
        agreed=len(agreed),
        accepted=accepted,
        withdrawn=withdrawn,
        gold=count,
        hits=hits,
        hits_before_repeat=count // design.gold_per_hit if design.gold_per_hit else None,
        lexical=lexical_success(suggestions or tuple(active.values()), texts),
        file=str(path),
        notices=fewer,
    )


def _why_fewer(study: Study, asked: int, found: int, file: str | Path) -> str:
    """Say what suggestions are made of, of which the study has too little."""
    with study.transaction(write=False) as db:
        queries, passages, pools = load_queries(db), load_passages(db), load_pools(db)
    texts = many(sum(query in queries for query in pools.queries), "query", "queries")
    return (
        f"{found:,} of {asked:,} gold pairs can be suggested from the texts of {texts} and "
        f"{many(len(passages), 'passage')}: write more into {file}, pool more queries, or hide fewer in a "
        "HIT (gold_per_hit in [design])"
    )


_MANY = 5
"""Votes that all have to agree before a pair may be gold: five throws of a coin do so in 6 % of cases."""


def _agreed(study: Study) -> list[GoldPair]:
    """Return the pairs on which many have voted, all for the same passage: no text tells them from others."""
    with study.transaction(write=False) as db:
        queries, passages, votes = load_queries(db), load_unmarked(db), load_choices(db)
    found = []
    for (query, doc_a, doc_b), choices in votes.items():
        shown = query in queries and doc_a in passages and doc_b in passages
        if len(choices) < _MANY or abs(sum(choices)) < len(choices) or not shown:
            continue
        good, bad = (doc_a, doc_b) if choices[0] > 0 else (doc_b, doc_a)
        found.append(gold_pair(query, good, bad, queries, passages))
    order = study.hidden_rng("agreed").permutation(len(found))
    return [found[row] for row in order.tolist()]


_LOOKED_THROUGH = 20_000
"""Passages of a collection, drawn at random, among which decoys are sought."""


def _decoys(study: Study, count: int, collection: str | Path) -> Sequence[GoldPair]:
    """Return pairs of a pool's candidates and a passage of the collection that is in no pool."""
    rng = study.hidden_rng("decoys")
    with study.transaction(write=False) as db:
        queries, passages, pools = load_queries(db), load_passages(db), load_pools(db)
    if not (queries and passages):
        raise lacking(study, Stage.GOLD, what="decoys are like texts, and the study has none")
    elsewhere = sample_texts(every_text(collection), _LOOKED_THROUGH, rng)
    long, usual = ([*map(len, texts.values())] for texts in (elsewhere, passages))
    if long and np.quantile(long, 0.9) < np.quantile(usual, 0.1):
        what = f"the texts of {collection} are much shorter than the study's passages, as questions are"
        raise InputError(what, "Give a collection of passages.")
    same = copies_in({**elsewhere, **passages})
    known = {copy for doc in passages for copy in same.of(doc)}
    elsewhere = {doc: text for doc, text in elsewhere.items() if doc not in known and doc not in passages}
    avoid: dict[str, set[str]] = {}
    for query, doc in candidates_of(qrels) if (qrels := _known_qrels(study)) else ():
        avoid.setdefault(query, set()).update(same.of(doc))
    found = suggest_decoys(pools, queries, passages, elsewhere, count, rng=rng, avoid=avoid)
    if not found:
        raise StudyError(
            f"no decoy is in {collection}: it has no passage that no pool has",
            "Give the collection that the study was pooled from, or a larger one.",
        )
    with study.transaction(write=False) as db:
        refuse_marked(db, found)
    return found


def _suggest(study: Study, count: int, *, needed: bool) -> Sequence[GoldPair]:
    """Return pairs of an answer and an off-topic passage; none is an error only where some are ``needed``."""
    if not count:
        return ()
    with study.transaction(write=False) as db:
        queries, passages, pools = load_queries(db), load_passages(db), load_pools(db)
        pairs, copies, unmarked = load_pairs(db), load_copies(db), load_unmarked(db)
    if not (queries and passages):
        if not needed:
            return ()
        raise lacking(study, Stage.GOLD, what="gold pairs are suggested from texts, and the study has none")
    if judged := _known_qrels(study):
        qrels, shown = judged, unmarked
    else:
        qrels = _best_known(study, pools)
        # an answer to this question against a good answer to another
        shown = {doc: unmarked[doc] for doc in qrels.docs if doc in unmarked}
    same = copies | copies_in(passages)  # a copy of an answer is none that is off-topic
    avoid: dict[str, set[str]] = {}
    for known in (pools, qrels):
        for query, doc in candidates_of(known):
            avoid.setdefault(query, set()).update(same.of(doc))
    found = suggest_gold(
        qrels,
        queries,
        shown,
        count,
        rng=study.hidden_rng("gold"),
        lengths=[
            (len(queries[query]), len(passages[a]), len(passages[b]))
            for _, query, a, b, _ in pairs
            if query in queries and a in passages and b in passages
        ],
        avoid={query: frozenset(docs) for query, docs in avoid.items()},
        passages_each=study.config.hit.passages,
    )
    if not found and needed:
        raise StudyError(
            "no gold pair can be suggested: no passage of the study belongs to another question alone",
            f"Pool more queries, or {other_gold(study)}.",
        )
    return found


def _known_qrels(study: Study) -> Qrels | None:
    with study.transaction(write=False) as db:
        judged = [found for found in load_inputs(db) if found.kind == "qrels" and not in_memory(found.path)]
    path = paths_of(judged, "qrels", study.folder)[0] if judged else None
    return read_qrels(path, name=judged[0].name) if path else None


def _best_known(study: Study, pools: Pools) -> Qrels:
    """Return the study's answers so far, or else what most runs have on top."""
    try:
        return load_best_answers(study)[0]
    except StudyError:
        return likely_answers(pools)


def _as_stored(db: Connection, pairs: Sequence[GoldPair]) -> tuple[GoldPair, ...]:
    """Give texts back the blanks and line breaks that the file folds: they would tell gold apart."""
    queries = {folded(text): text for text in load_queries(db).values()}
    passages = {folded(text): text for text in load_passages(db).values()}
    return tuple(
        replace(
            pair,
            query=queries.get(folded(pair.query), pair.query),
            good=passages.get(folded(pair.good), pair.good),
            bad=passages.get(folded(pair.bad), pair.bad),
        )
        for pair in pairs
    )
