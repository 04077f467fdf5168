"""How many disputes of rejections wait for an answer, as the marketplace was asked last."""

from prefjudge.database import Connection
from prefjudge.study.settings import load_setting, save_setting

_WAITING = "disputes:"
"""Before a target: how many disputes waited there, and when that was asked."""


def load_disputed(db: Connection, target: str) -> tuple[int, float]:
    """Return how many disputes waited, and when that was asked; 0 and the epoch where nobody has asked."""
    told = load_setting(db, f"{_WAITING}{target}")
    count, asked = told.split() if told else ("0", "0")
    return int(count), float(asked)


def save_disputed(db: Connection, target: str, count: int, asked: float) -> None:
    """Record how many disputes wait, and when that was asked."""
    save_setting(db, f"{_WAITING}{target}", f"{count} {asked}")
