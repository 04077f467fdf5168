"""Starting: what a short verb costs beside a bare typer program."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from harness import Contest, Lab, shell

from prefjudge.steps.init import init

TITLE = "starting: --help and status"

BARE = """
import typer
app = typer.Typer()
@app.command()
def one(name: str = "it") -> None:
    "Say hello."
@app.command()
def two(name: str = "it") -> None:
    "Say goodbye."
app()
"""


def contests(lab: Lab) -> Iterable[Contest]:
    """Yield the contests."""
    study = lab.folder / "study-to-look-at"
    init(study)
    bare = lab.ours(BARE, "--help")
    for verb in (["--help"], ["status", study]):
        yield Contest(
            name=f"prefjudge {verb[0]}",
            ours=shell([sys.executable, "-m", "prefjudge", *verb]),
            rivals={"typer --help": bare},
            goals={"typer --help": "<= 1.5"},
        )
