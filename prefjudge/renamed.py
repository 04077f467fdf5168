"""The names that verbs and options had before, and how whoever uses an old name is told the new one.

A rename is a line of this table, and a deletion that leaves another way a line that names it; those of
config keys stand beside the config's model.
"""

import warnings
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
        "--cache": "gone: copies of large runs are made automatically; PREFJUDGE_COPIES=0 turns them off",
        "--every": "gone: each minute there is a new look, and at once when work is submitted",
        "--download": "--dataset download",
        "--field": "--dataset field=…",
        "--id-field": "--dataset id=…",
        "--in-sql": "gone: all scores are brought here; --queries takes a part of the queries",
        "--moves": "--history, which reads the runs",
        "--no-moves": "--history, which reads the runs",
        "--text-field": "--dataset text=…",
        "--trust": "gone: copies of large runs are made automatically, so that the next reading is fast",
        **dict.fromkeys(
            (
                f"reproduce --{name}"
                for name in ["against-qrel", "baseline", "draw", "held-out", "highlight", "sample"]
            ),
            "a key of a paper.toml, as reproduce PAPER --init writes it",
        ),
        "release --license": "the key license of [release] in study.toml",
        "score --sample": "prefjudge stability, which draws the queries again",
        "--workers": "the environment variable PREFJUDGE_WORKERS",
    },
}
"""What stands for an old verb or option: the words of a command, or an option and what it takes; or ``gone``.

An option that went from one verb alone stands behind the verb.
"""


def told(kind: Literal["verb", "option"], name: str, *, verb: str = "") -> str:
    """Return what to tell whoever used an old name, on one line; empty where it never was one."""
    now = NOW[kind].get(f"{verb} {name}", NOW[kind].get(name))
    if now is None:
        return ""
    if kind == "verb":
        return f"prefjudge {name} is now: prefjudge {now}"
    return f"{name} is {now}" if now.startswith("gone: ") else f"{name} is now: {now}"


class OldName(FutureWarning):
    """An old name that is still taken: programs see it as a warning, the shell prints it as a note."""


def tell(words: str) -> None:
    """Tell, once in a process, that a name is an old one."""
    warnings.warn(words, OldName, stacklevel=2)
