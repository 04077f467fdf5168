"""Stores a pool in a study; a pool with published HITs is not replaced."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from prefjudge.core.copies import NO_COPIES, Copies
from prefjudge.core.pools import Pairs, Pools
from prefjudge.database import Connection
from prefjudge.errors import StudyError
from prefjudge.reading.files import write_alike
from prefjudge.reading.given import InputFile
from prefjudge.study.answers import last_version
from prefjudge.study.imports import join_pool, load_imports, pooled_by
from prefjudge.study.pools import (
    is_published,
    load_contributions,
    load_copies,
    load_pool_pairs,
    save_copies,
    save_inputs,
    save_pools,
    save_texts,
    save_votes_wanted,
)
from prefjudge.study.progress import count_rows
from prefjudge.study.store import Study, load_setting
from prefjudge.words import many


def store_pool(
    study: Study,
    pools: Pools,
    pairs: Pairs,
    inputs: Sequence[InputFile],
    queries: Mapping[str, str],
    passages: Mapping[str, str],
    copies: Copies,
) -> bool:
    """Store the pool with its texts and copies, and where its files are; return whether it is a new pool.

    What imported votes are about stays in it.
    """
    pooled = {pools.queries[code] for code in np.unique(pools.query)}
    documents = {pools.docs[code] for code in np.unique(pools.doc)}
    shown = {key: text for key, text in passages.items() if key in documents}
    # One transaction for the check and the writes: no HIT is recorded for the old pool in between.
    with study.transaction() as db:
        published, imported = is_published(db) or last_version(db) > 0, bool(load_imports(db))
        same = _is_stored(db, pools, pairs, joined=imported)
        if not same and published:
            raise StudyError(
                "the study has HITs or answers for another pool, which cannot be replaced",
                "Make a new study for the new pool.",
            )
        if not same and imported:
            _join(db, _contributions(pools), _compared(pairs))
        elif not same:
            save_pools(db, pools, pairs)
        save_copies(db, (load_copies(db) if published else NO_COPIES) | copies.about(documents))
        save_texts(db, {key: text for key, text in queries.items() if key in pooled}, shown)
        save_inputs(db, _with_texts(inputs, shown))
        if not published:  # pairs of published HITs keep the number of votes that they were published with
            _ask_by_design(study, db, published=False)
    return not same


def follow_design(study: Study, target: str) -> None:
    """Ask for as many judgments of each pair as the design in study.toml says now."""
    with study.transaction() as db:
        _ask_by_design(study, db, published=is_published(db, target))


def asked_by_run(db: Connection) -> bool:
    """Tell whether ``run`` decides which votes are asked for, and not the design in study.toml."""
    return bool(load_setting(db, "strategy") or count_rows(db, "challenges"))


def _ask_by_design(study: Study, db: Connection, *, published: bool) -> None:
    if asked_by_run(db):
        return
    stored = load_pool_pairs(db)
    wanted = _votes(study, len(stored))
    if wanted == [row[4] for row in stored]:
        return
    if published:
        raise StudyError(
            f"study.toml asks for {many(sum(wanted), 'judgment')} of {many(len(stored), 'pair')}, "
            f"but the published HITs were made for {sum(row[4] for row in stored):,}",
            "Restore judgments_per_pair, overlap and overlap_judgments in [design], or make a new study.",
        )
    save_votes_wanted(db, {row[0]: votes for row, votes in zip(stored, wanted, strict=True)})


def _is_stored(db: Connection, pools: Pools, pairs: Pairs, *, joined: bool) -> bool:
    """Tell whether the study has this pool; with ``joined``, beside that of its imported votes."""
    stored, given = load_contributions(db), _contributions(pools)
    compared, known = _compared(pairs), [row[1:4] for row in load_pool_pairs(db)]
    if joined:
        names = pooled_by(db)
        return given == {one for one in stored if one[2] in names} and {*compared} <= {*known}
    return given == stored and compared == known


def _join(db: Connection, given: set[tuple[str, str, str]], pairs: list[tuple[str, str, str]]) -> None:
    """Store a pool beside what imported votes are about."""
    theirs = {query for query, _, _ in load_contributions(db)}
    ours = {query for query, _, _ in given}
    if not theirs & ours:
        raise StudyError(
            f"no query of this pool, such as {min(given)[0]!r}, is one of those with imported votes, such as "
            f"{min(theirs)!r}",
            f"{write_alike('query_id', ours, theirs, 'votes and runs')} Or make a new study for the runs.",
        )
    join_pool(db, given, pairs)


def _contributions(pools: Pools) -> set[tuple[str, str, str]]:
    return {
        (pools.queries[pools.query[row]], pools.docs[pools.doc[row]], pools.sources[source])
        for row, source in zip(pools.source_row.tolist(), pools.source.tolist(), strict=True)
    }


def _compared(pairs: Pairs) -> list[tuple[str, str, str]]:
    columns = (pairs.query.tolist(), pairs.doc_a.tolist(), pairs.doc_b.tolist())
    return [(pairs.queries[q], pairs.docs[a], pairs.docs[b]) for q, a, b in zip(*columns, strict=True)]


def _with_texts(inputs: Iterable[InputFile], shown: Mapping[str, str]) -> list[InputFile]:
    """Digest the texts taken from the collection, which as a whole may be large."""
    state = hashlib.sha256()
    for key in sorted(shown):
        state.update(f"{key}\t{shown[key]}\n".encode())
    texts = f"texts-sha256:{state.hexdigest()}"
    return [replace(found, digest=texts) if found.kind == "collection" else found for found in inputs]


def _votes(study: Study, count: int) -> list[int]:
    """Return how often each pair is judged: a random share of them more often, to measure agreement."""
    design = study.config.design
    votes = np.full(count, design.judgments_per_pair)
    more = study.rng("overlap").permutation(count)[: round(design.overlap * count)]
    votes[more] = np.maximum(votes[more], design.overlap_judgments)
    return [int(n) for n in votes]
