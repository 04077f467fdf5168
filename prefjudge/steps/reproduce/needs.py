"""Needs: what a table or figure of a paper is made from, and the error where it is missing."""

from enum import StrEnum

from prefjudge.errors import InputError


class Need(StrEnum):
    """What an exhibit is made from, in the words of the command line."""

    RUNS = "runs (--runs)"
    QRELS = "qrels (--qrels)"
    JUDGMENTS = "side-by-side judgments (--judgments or --study)"
    LEADERBOARD = "the leaderboard's CSV (--leaderboard)"
    HELD_OUT = "held-out queries (--held-out)"
    TEXTS = "the texts of queries and passages (a study that was pooled with --queries and --collection)"


class CannotMakeError(InputError):
    """An exhibit cannot be made from what was given; the hint says what it needs."""
