"""The pairs that a study asked for, where that is not all of a pool: query, tab, the two documents."""

from pathlib import Path

from prefjudge.core.pools import Pairs, Pools
from prefjudge.core.runs import encode
from prefjudge.errors import InputError
from prefjudge.reading.files import write_text


def write_asked(path: Path, asked: Pairs) -> None:
    """Write the pairs."""
    rows = zip(asked.query.tolist(), asked.doc_a.tolist(), asked.doc_b.tolist(), strict=True)
    # what is in no pool cannot be judged among its candidates
    known = [(asked.queries[q], asked.docs[a], asked.docs[b]) for q, a, b in rows if min(q, a, b) >= 0]
    write_text(path, "".join("\t".join(row) + "\n" for row in known))


def read_asked(path: Path, pools: Pools) -> Pairs | None:
    """Read the pairs; None where a release has no such file, and all were asked for.

    Raises
    ------
    InputError
        A line does not hold a pair.
    """
    if not path.is_file():
        return None
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    if any(len(row) != 3 for row in rows):
        raise InputError(f"{path} does not hold pairs", "Copy the release again.")
    query = encode([row[0] for row in rows], pools.queries)
    a, b = (encode([row[side] for row in rows], pools.docs) for side in (1, 2))
    return Pairs(queries=pools.queries, docs=pools.docs, query=query, doc_a=a, doc_b=b)
