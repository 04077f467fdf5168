"""Pool and preference files that other programs read."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from prefjudge.core.judgments import Judgments
from prefjudge.errors import InputError
from prefjudge.formats.atomic import atomic_write
from prefjudge.formats.problems import column, encode


def write_pool(path: str | Path, rows: Iterable[tuple[str, str, Sequence[str]]]) -> None:
    """Write a pool atomically: ``query<tab>doc<tab>contributors`` joined by commas, under a heading line."""
    with atomic_write(path) as file:
        file.write(b"# query\tdoc\tcontributors\n")
        for query, doc, contributors in rows:
            file.write(b"\t".join([column(query), column(doc), encode(",".join(contributors))]) + b"\n")


def write_prefs(path: str | Path, judgments: Judgments) -> None:
    """Write judgments in trec_eval's ``prefs`` format, atomically.

    Each pair is two lines, ``query group subgroup doc level``, the winner with the higher level. A worker's
    judgments of a query are one judgment group, since the program calls contradictions inside one an error;
    every pair is a subgroup of its own. Ties have equal levels.
    """
    queries, docs = ([column(name) for name in names] for names in (judgments.queries, judgments.docs))
    columns = (judgments.query, judgments.left, judgments.right, judgments.choice, judgments.worker)
    with atomic_write(path) as file:
        for number, (query, left, right, choice, worker) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True), 1
        ):
            for doc, level in ((left, 1 + choice), (right, 1 - choice)):
                file.write(b"%b w%d p%d %b %d\n" % (queries[query], worker + 1, number, docs[doc], level))


def write_pref_qrels(path: str | Path, rows: Iterable[tuple[str, str, float]]) -> None:
    """Write float-valued preference qrels (``query Q0 doc value``), which compatibility scripts read."""
    with atomic_write(path) as file:
        for query, doc, value in rows:
            if value != value:
                raise InputError(
                    f"{path}: document {doc!r} of query {query!r} has no value", "resolve it first"
                )
            file.write(b"%b Q0 %b %b\n" % (column(query), column(doc), repr(float(value)).encode()))
