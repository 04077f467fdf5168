"""What models answered: replies by prompt, so that none is asked for twice, and votes by pair."""

from collections.abc import Iterable

from prefjudge.core.models import ModelVote
from prefjudge.database import Connection


def load_reply(db: Connection, key: str) -> str | None:
    """Return the stored reply to a prompt, or None."""
    rows = db.execute("SELECT reply FROM model_answers WHERE prompt_key = :key", key=key)
    return str(rows[0][0]) if rows else None


def save_reply(
    db: Connection, key: str, model: str, reply: str, prompt_tokens: int, reply_tokens: int, when: float
) -> None:
    """Keep the last reply to a prompt, and the tokens of all."""
    db.execute(
        "INSERT INTO model_answers VALUES (:key, :model, :reply, :asked, :said, :when) "
        "ON CONFLICT (prompt_key) DO UPDATE SET reply = excluded.reply, answered = excluded.answered, "
        "prompt_tokens = model_answers.prompt_tokens + excluded.prompt_tokens, "
        "reply_tokens = model_answers.reply_tokens + excluded.reply_tokens",
        key=key,
        model=model,
        reply=reply,
        asked=prompt_tokens,
        said=reply_tokens,
        when=when,
    )


def save_votes(db: Connection, model: str, votes: Iterable[tuple[int, ModelVote]]) -> None:
    """Record a model's votes by the pairs' numbers."""
    db.executemany(
        "INSERT INTO model_votes VALUES (:model, :pair, :a_first, :b_first, :choice) "
        "ON CONFLICT (model, pair_id) DO UPDATE SET a_first = excluded.a_first, b_first = excluded.b_first, "
        "choice = excluded.choice",
        (
            {"model": model, "pair": pair_id, "a_first": v.a_first, "b_first": v.b_first, "choice": v.choice}
            for pair_id, v in votes
        ),
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


def count_tokens(db: Connection, model: str) -> tuple[int, int, int]:
    """Return how many replies a model gave, and the tokens of its prompts and replies."""
    rows = db.execute(
        "SELECT count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(reply_tokens), 0) FROM model_answers "
        "WHERE model = :model",
        model=model,
    )
    return int(rows[0][0]), int(rows[0][1]), int(rows[0][2])
