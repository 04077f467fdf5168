"""Lists in pages, by keyset: a page starts after the last row of the one before, whatever was added since."""

from typing import Any

from prefjudge.marketplace.errors import invalid
from prefjudge.marketplace.store.marketplace import Record, Transaction

DEFAULT_SIZE = 10  # Mechanical Turk's


def page(
    tx: Transaction,
    list_name: str,
    params: dict[str, Any],
    columns: str,
    rest: str,
    *,
    seq: str = "seq",
    newest_first: bool = False,
    **named: Any,
) -> tuple[list[Record], dict[str, Any]]:
    """Select one page, and what the response says about it: NumResults, and NextToken where more remains.

    ``rest`` is the statement from ``FROM`` to the end of its ``WHERE``; ``seq`` is the column of its order,
    which must be the first of ``columns``.
    """
    size = params.get("MaxResults", DEFAULT_SIZE)
    token = params.get("NextToken")
    after = _read_token(tx, list_name, token) if token else None
    where = "" if after is None else f" AND {seq} {'<' if newest_first else '>'} :after"
    order = f" ORDER BY {seq}{' DESC' if newest_first else ''} LIMIT :size"
    if after is not None:
        named["after"] = after
    rows = tx.records(columns, rest + where + order, size=size + 1, **named)
    shown = rows[:size]
    more = len(rows) > size
    last = shown[-1][seq.rpartition(".")[2]] if shown else None
    token = f"{last}.{tx.marketplace.sign('page', list_name, str(last))[:16]}" if more else None
    return shown, {"NumResults": len(shown), "NextToken": token}


def _read_token(tx: Transaction, list_name: str, token: str) -> int:
    last, _, signature = token.partition(".")
    if not last.isdecimal() or signature != tx.marketplace.sign("page", list_name, last)[:16]:
        raise invalid("NextToken", "is not a token of this list")
    return int(last)
