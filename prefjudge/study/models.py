"""Models' replies by prompt, their votes by pair, and the requests without an outcome."""

from collections.abc import Iterable
from dataclasses import dataclass

from prefjudge.core.judges.models import ModelVote
from prefjudge.database import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCount:
    """Tokens of prompts and of replies."""

    prompt: int
    reply: int


def load_reply(db: Connection, key: str) -> str | None:
    """Return the stored reply to a prompt, or None."""
    rows = db.execute("SELECT reply FROM model_answers WHERE prompt_key = :key", key=key)
    return str(rows[0][0]) if rows else None


def save_reply(db: Connection, key: str, model: str, reply: str, tokens: TokenCount, when: float) -> None:
    """Store the last reply to a prompt, and the tokens of all its replies."""
    db.insert(
        "model_answers",
        {
            "prompt_key": key,
            "model": model,
            "reply": reply,
            "prompt_tokens": tokens.prompt,
            "reply_tokens": tokens.reply,
            "answered": when,
        },
        "ON CONFLICT (prompt_key) DO UPDATE SET reply = excluded.reply, answered = excluded.answered, "
        "prompt_tokens = model_answers.prompt_tokens + excluded.prompt_tokens, "
        "reply_tokens = model_answers.reply_tokens + excluded.reply_tokens",
    )


def save_votes(db: Connection, model: str, votes: Iterable[tuple[int, ModelVote]]) -> None:
    """Record a model's votes by the pairs' numbers."""
    db.insert_all(
        "model_votes",
        (
            {
                "model": model,
                "pair_id": pair_id,
                "a_first": vote.a_first,
                "b_first": vote.b_first,
                "choice": vote.choice,
            }
            for pair_id, vote in votes
        ),
        "ON CONFLICT (model, pair_id) DO UPDATE SET a_first = excluded.a_first, b_first = excluded.b_first, "
        "choice = excluded.choice",
    )


def load_votes(db: Connection, model: str | None = None) -> list[tuple[str, ModelVote]]:
    """Return the votes of one model, or of all, each with its model's name."""
    where = "WHERE v.model = :model" if model else ""
    return [
        (name, ModelVote(pair=(query_id, doc_a, doc_b), a_first=a_first, b_first=b_first))
        for name, query_id, doc_a, doc_b, a_first, b_first in db.execute(
            "SELECT v.model, p.query_id, p.doc_a, p.doc_b, v.a_first, v.b_first "
            f"FROM model_votes v JOIN pairs p USING (pair_id) {where} ORDER BY v.model, v.pair_id",
            {"model": model} if model else {},
        )
    ]


def count_tokens(db: Connection, model: str) -> tuple[int, TokenCount]:
    """Return how many replies a model gave, and their tokens."""
    return _counted(
        db.execute(
            "SELECT count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(reply_tokens), 0) "
            "FROM model_answers WHERE model = :model",
            model=model,
        )
    )


def count_reserved(db: Connection, model: str) -> tuple[int, TokenCount]:
    """Return how many requests are not settled, and the tokens reserved for them."""
    return _counted(
        db.execute(
            "SELECT count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(reply_tokens), 0) "
            "FROM model_requests WHERE model = :model",
            model=model,
        )
    )


def longest_reply(db: Connection, model: str) -> int:
    """Return the largest number of tokens of a prompt's replies."""
    rows = db.execute(
        "SELECT coalesce(max(reply_tokens), 0) FROM model_answers WHERE model = :model", model=model
    )
    return int(rows[0][0])


def hold_reservations(db: Connection) -> None:
    """Keep other processes from reserving until the transaction ends; SQLite has only one writer."""
    if db.dialect == "postgresql":
        db.execute("LOCK TABLE model_requests IN EXCLUSIVE MODE")


def save_reservation(db: Connection, model: str, tokens: TokenCount, when: float) -> int:
    """Record the tokens that a request may take, before it is sent; return its number."""
    rows = db.insert(
        "model_requests",
        {"model": model, "prompt_tokens": tokens.prompt, "reply_tokens": tokens.reply, "intended": when},
        "RETURNING request",
    )
    return int(rows[0][0])


def drop_reservation(db: Connection, number: int) -> None:
    """Delete the reservation of a request that is settled, or was refused and so cost nothing."""
    db.execute("DELETE FROM model_requests WHERE request = :number", number=number)


def _counted(rows: list[tuple[int, int, int]]) -> tuple[int, TokenCount]:
    count, prompt, reply = rows[0]
    return int(count), TokenCount(prompt=int(prompt), reply=int(reply))
