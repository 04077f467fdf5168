"""Lists in pages, by keyset: a page starts after the last row of the one before, even if rows were added."""

from typing import Any, TypedDict

from prefjudge.database import columns_of
from prefjudge.database.records import T
from prefjudge.marketplace.errors import Params, invalid
from prefjudge.marketplace.store.store import Transaction

DEFAULT_SIZE = 10  # Mechanical Turk's


class About(TypedDict):
    """What a response says about its page."""

    NumResults: int
    NextToken: str | None


def page(
    tx: Transaction,
    kind: type[T],
    list_name: str,
    params: Params,
    rest: str,
    *,
    newest_first: bool = False,
    **named: Any,
) -> tuple[list[T], About]:
    """Select one page, and what the response says about it: NumResults, and NextToken where more remains.

    ``rest`` is the statement from ``FROM`` to the end of its ``WHERE``; ``seq`` is the column of its order.
    Values that the statement does not name are ignored.
    """
    size = params.get("MaxResults", DEFAULT_SIZE)
    token = params.get("NextToken")
    after = _read_token(tx, list_name, token) if token else None
    where = "" if after is None else f" AND seq {'<' if newest_first else '>'} :after"
    order = f" ORDER BY seq{' DESC' if newest_first else ''} LIMIT :size"
    if after is not None:
        named["after"] = after
    # one more than is shown, to know whether more remain
    rows = tx.rows(f"SELECT seq, {', '.join(columns_of(kind))} {rest}{where}{order}", named, size=size + 1)
    shown = rows[:size]
    last = str(shown[-1][0]) if shown else ""
    more = len(rows) > size
    token = f"{last}.{tx.marketplace.sign('page', list_name, last)[:16]}" if more else None
    records = [kind(**dict(zip(columns_of(kind), row[1:], strict=True))) for row in shown]
    return records, {"NumResults": len(shown), "NextToken": token}


def _read_token(tx: Transaction, list_name: str, token: str) -> int:
    last, _, signature = token.partition(".")
    if not last.isdecimal() or signature != tx.marketplace.sign("page", list_name, last)[:16]:
        raise invalid("NextToken", "is not a token of this list")
    return int(last)
