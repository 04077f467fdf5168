"""UniqueRequestTokens: a call that is repeated with one within a day does nothing again."""

from prefjudge.marketplace.store.store import Transaction


def earlier_result(tx: Transaction, requester_id: str, kind: str, token: str | None) -> str | None:
    """Return what a call with this token made, if it was made within the token's life."""
    if token is None:
        return None
    rows = tx.rows(
        "SELECT result FROM request_tokens WHERE requester_id = :requester AND kind = :kind"
        " AND token = :token AND created > :since",
        requester=requester_id,
        kind=kind,
        token=token,
        since=tx.now - tx.marketplace.rules.token_life,
    )
    return str(rows[0][0]) if rows else None


def remember(tx: Transaction, requester_id: str, kind: str, token: str | None, result: str) -> bool:
    """Keep the result under the token; False where another process was first."""
    if token is None:
        return True
    kept = tx.insert(
        "request_tokens",
        {
            "requester_id": requester_id,
            "kind": kind,
            "token": token,
            "result": result,
            "created": tx.now,
        },
        "ON CONFLICT (requester_id, kind, token) DO UPDATE SET result = excluded.result,"
        " created = excluded.created WHERE request_tokens.created <= :since RETURNING result",
        since=tx.now - tx.marketplace.rules.token_life,
    )
    return bool(kept)
