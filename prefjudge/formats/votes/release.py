"""prefjudge's own log of judgments: a release, or its ``judgments.jsonl`` alone."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from prefjudge.core.judges.models import ModelVote
from prefjudge.errors import InputError
from prefjudge.formats.labels.pools import read_pool
from prefjudge.formats.lines.problems import Notice
from prefjudge.formats.texts.queries import read_queries
from prefjudge.formats.texts.texts import read_texts
from prefjudge.formats.votes.form import Context, Rows, VoteForm
from prefjudge.formats.votes.rows import Row, read_rows
from prefjudge.formats.votes.votes import Votes, Work

RECORD, LOG = "release.json", "judgments.jsonl"
_MODELS = "models.jsonl"
_COLUMNS = frozenset({"query", "left", "right", "choice", "worker", "judge", "phase", "assignment"})
_PARTS = {"query": "query", "left": "left", "right": "right", "winner": "choice", "worker": "worker"}


def _fits(rows: Rows) -> bool:
    return rows[0].keys() >= _COLUMNS


def _flatten(rows: Iterable[Row], context: Context) -> Iterator[Row]:
    also = ("strength", "milliseconds", "judge", "phase", "assignment", "dropped")
    for line, row in rows:
        yield line, {**row, **{f"_{name}": row.get(name) for name in also}}


FORM = VoteForm(fits=_fits, flatten=_flatten, parts=lambda rows: dict(_PARTS))


def is_release(path: Path) -> bool:
    """Return whether a folder is a release."""
    return (path / RECORD).is_file() and (path / LOG).is_file()


def refuse_unfinished(path: Path) -> None:
    """Refuse a release that was not written to its end.

    Raises
    ------
    InputError
        Its record is missing what the last step writes.
    """
    try:
        record = json.loads((path / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        record = None
    if not isinstance(record, dict) or record.get("prefjudge") is None:
        raise InputError(f"{path} is not a whole release", "Write it again: prefjudge release STUDY")


def with_release(votes: Votes, folder: Path, notices: list[Notice]) -> Votes:
    """Return the votes with what a release keeps in other files: pool, work and, where given, texts."""
    pools = read_pool(folder / "pool.tsv", notices=notices)
    sources = zip(pools.source_row.tolist(), pools.source.tolist(), strict=True)
    names: dict[int, list[str]] = {}
    for row, source in sources:
        names.setdefault(row, []).append(pools.sources[source])
    pooled = [
        (pools.queries[query], pools.docs[doc], source)
        for row, (query, doc) in enumerate(zip(pools.query.tolist(), pools.doc.tolist(), strict=True))
        for source in names.get(row, [""])
    ]
    queries: dict[str, str] = {}
    passages: dict[str, str] = {}
    if (folder / "queries.tsv").is_file():
        queries = dict(read_queries(folder / "queries.tsv", notices=notices))
        passages = read_texts(folder / "passages.tsv", pools.docs, notices=notices)
    return replace(
        votes,
        log=replace(votes.log, sides=_sides_known(folder)),
        work=_work(folder, notices),
        models=_models(folder / _MODELS, notices),
        pooled=pooled,
        queries=queries,
        passages=passages,
    )


def _sides_known(folder: Path) -> bool:
    """Tell whether left and right are those of a screen, also in what the released study had imported."""
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    imports = record.get("imports")
    return not any(
        isinstance(one, dict) and one.get("sides") is False
        for one in (imports if isinstance(imports, list) else ())
    )


def _models(path: Path, notices: list[Notice]) -> list[tuple[str, ModelVote]]:
    """Return what language models said, as the release has it: which document in either order, or neither."""
    if not path.is_file() or not path.stat().st_size:
        return []
    found = []
    for line, row in read_rows(str(path), notices):
        try:
            a, b = str(row["a"]), str(row["b"])
            said = {a: 1, b: -1, None: 0}
            vote = ModelVote(
                pair=(str(row["query"]), a, b), a_first=said[row["a_first"]], b_first=said[row["b_first"]]
            )
            found.append((str(row["model"]), vote))
        except (KeyError, TypeError):
            raise InputError(f"{path}:{line}: not a model's vote", "Copy the release again.") from None
    return found


def _work(folder: Path, notices: list[Notice]) -> dict[str, Work]:
    path = folder / "assignments.jsonl"
    if not path.is_file() or not path.stat().st_size:
        return {}
    found = {}
    for line, row in read_rows(str(path), notices):
        try:
            found[str(row["assignment"])] = Work(
                **{name: int(row[name] or 0) for name in ("answered", "gold_right", "gold_missed")},
                seconds=float(row["seconds"] or 0),
                verdict=str(row["verdict"]),
            )
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{path}:{line}: not an assignment", "Copy the release again.") from None
    return found
