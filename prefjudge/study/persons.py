"""What a study's store holds of one worker: for that person to read, and to forget.

Judgments stay, under the worker id, which the marketplace drew at random. What the worker wrote goes.
"""

import logging
import re
from collections.abc import Mapping

from prefjudge.database import Connection, Value
from prefjudge.errors import PrefjudgeError
from prefjudge.study.study import Study

_LOG = logging.getLogger("prefjudge")

_COMMENT = re.compile(
    r"<Answer>\s*<QuestionIdentifier>(?:[^<]*\.)?comment</QuestionIdentifier>.*?</Answer>", re.DOTALL
)
"""A comment in the XML that a crowd sent, by the names that the study's pages give comments."""

_KNOWN = {
    "assignments": (
        ("assignment_id", "accepted", "submitted", "collected", "seconds", "verdict", "decision"),
        "FROM assignments WHERE worker_id = :worker ORDER BY collected, assignment_id",
    ),
    "judgments": (
        ("query_id", "left_id", "right_id", "choice", "strength", "milliseconds", "judge", "assignment_id"),
        "FROM judgments WHERE worker_id = :worker ORDER BY judgment_id",
    ),
    "remarks": (
        ("assignment_id", "slot", "unable", "comment"),
        "FROM remarks WHERE assignment_id IN"
        " (SELECT assignment_id FROM assignments WHERE worker_id = :worker) ORDER BY assignment_id, slot",
    ),
    "barred": (("target", "reason", "barred"), "FROM barred WHERE worker_id = :worker"),
    "allowances": (("target", "hits"), "FROM allowances WHERE worker_id = :worker"),
}
"""By what it is called in the export: the columns, and where they are."""


def known(db: Connection, worker_id: str) -> dict[str, list[Mapping[str, Value]]]:
    """Return what is stored of a worker, by kind, as rows of names and values."""
    return {
        kind: [
            dict(zip(columns, row, strict=True))
            for row in db.execute(f"SELECT {', '.join(columns)} {rest}", worker=worker_id)
        ]
        for kind, (columns, rest) in _KNOWN.items()
    }


def forget(db: Connection, worker_id: str) -> dict[str, int]:
    """Erase what a worker wrote in words; return how many comments there were. A repeat finds none."""
    theirs = "assignment_id IN (SELECT assignment_id FROM assignments WHERE worker_id = :worker)"
    erased = db.execute(
        f"UPDATE remarks SET comment = '' WHERE comment <> '' AND {theirs} RETURNING slot", worker=worker_id
    )
    db.execute(f"DELETE FROM remarks WHERE comment = '' AND unable = '' AND {theirs}", worker=worker_id)
    for ident, answer in db.execute(
        "SELECT assignment_id, answer FROM assignments WHERE worker_id = :worker", worker=worker_id
    ):
        without = _COMMENT.sub("", str(answer))
        if without != answer:
            db.execute(
                "UPDATE assignments SET answer = :answer WHERE assignment_id = :id", answer=without, id=ident
            )
    return {"comments in the study": len(erased)} if erased else {}


def forget_old(study: Study, now: float) -> int:
    """Erase the comments of workers whose last work is longer ago than ``keep_days``; return how many.

    ``now`` is the time in epoch seconds. The marketplace forgets by itself who they were.
    """
    days = study.config.workers.keep_days
    if days is None:
        return 0
    with study.transaction(write=False) as db:
        old = db.execute(
            "SELECT worker_id FROM assignments WHERE worker_id IN (SELECT a.worker_id FROM assignments a"
            " JOIN remarks r USING (assignment_id) WHERE r.comment <> '') GROUP BY worker_id"
            " HAVING max(coalesce(submitted, collected)) <= :before ORDER BY worker_id",
            before=now - days * 86_400,
        )
    if not old:
        return 0
    with study.transaction() as db:
        for (worker_id,) in old:
            forget(db, worker_id)
    try:
        study.database.scrub()
    except PrefjudgeError as error:  # the comments are gone; only the file may still hold their bytes
        _LOG.warning("%s", error.message)
    return len(old)
