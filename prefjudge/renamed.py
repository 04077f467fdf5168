"""The names that verbs, options and config keys had before: who uses an old one is told the new one.

A rename is a line of this table, and a deletion that leaves another way a line that names it.
"""

from collections.abc import Mapping
from typing import Literal

NOW: Mapping[str, Mapping[str, str]] = {
    "verb": {
        "backup": "store backup STUDY",
        "doctor": "store check STUDY",
        "history": "status STUDY --history",
        "models": "judge STUDY --worth",
        "recover": "store recover STUDY",
        "site": "report STUDY --site DIR",
        "worker": "workers STUDY --export ID, or: prefjudge workers STUDY --forget ID",
    },
    "option": {
        "--careless": "--temper careless, once for each of them",
        "--cache": "copies of large runs, made unasked; PREFJUDGE_COPIES=0 turns them off",
        "--every": "a look each minute, and at once when work is submitted",
        "--download": "--dataset download",
        "--field": "--dataset field=…",
        "--id-field": "--dataset id=…",
        "--in-sql": "scores that come home, of a part of the queries with --queries",
        "--moves": "--history, which reads the runs",
        "--no-moves": "--history, which reads the runs",
        "--text-field": "--dataset text=…",
        "--trust": "copies of large runs, made unasked, so that the next reading is fast",
        **dict.fromkeys(
            (
                f"reproduce --{name}"
                for name in ["against-qrel", "baseline", "draw", "held-out", "highlight", "sample"]
            ),
            "a key of a paper.toml, as reproduce PAPER --init writes it",
        ),
        "score --sample": "prefjudge stability, which draws the queries again",
        "--workers": "the environment variable PREFJUDGE_WORKERS",
    },
}
"""What stands for an old verb or option: the words of a command, or an option and what it takes.

An option that went from one verb alone stands behind the verb.
"""

KEYS: Mapping[str, tuple[str, str]] = {
    "design.layouts": ("4", "a HIT is shown in 4 ways"),
    "design.one_pair_per_query": ("false", "a HIT may show several pairs of a query"),
    "fees.many_rate": ("0.20", "the fee is 0.20 more for ten assignments or more, and none where rate is 0"),
    "fees.minimum": ("0.01", "a fee is a cent at least, and none where rate is 0"),
    "hit.keywords": ("search, reading, comparison, relevance", "all HITs have the same keywords"),
    "screening.careless": ("0.6", "no policy of [screening] asks for it"),
    "words.passages": ("", "instructions in [design] may say it"),
    "words.requester": ("", "the worker site says Requester"),
    "words.requesters": ("", "the worker site says Requester"),
    "words.tasks": ("", "several are the word task and an s"),
    "workers.most_query_share": ("1", "most_hits and most_share in [workers] cap what a worker does"),
    "workers.practice_retry_hours": ("24", "who took the test may try again after 24 hours"),
}
"""Config keys that were: the value that holds, with which a config may still have them, and what holds."""


def told(kind: Literal["verb", "option"], name: str, *, verb: str = "") -> str:
    """Return what to tell whoever used an old name, on one line; empty where it never was one."""
    now = NOW[kind].get(f"{verb} {name}", NOW[kind].get(name))
    if now is None:
        return ""
    return f"prefjudge {name} is now: prefjudge {now}" if kind == "verb" else f"{name} is now: {now}"
