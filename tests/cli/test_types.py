"""Type checkers know what the functions take: plain text for a choice, and any number for an amount."""

import subprocess
import sys
from pathlib import Path

from prefjudge import VERBS
from prefjudge.cli.step_options import StepOption, step_options

ROOT = Path(__file__).parents[2]
REQUIRED = {"study": "study", "files": "run.txt", "leaderboard": "board.csv", "assignment": "A1"}


def literals(option: StepOption) -> list[str]:
    """Return what a user writes for an option, as source."""
    if "Decimal" in option.kinds:
        return ["1500", "0.5", "'1.50'"]
    if option.choices:
        return [repr([choice] if "several" in option.kinds else choice) for choice in option.choices]
    if "Path" in option.kinds or "str" in option.kinds:
        return ["'text'"]
    return []


def program() -> str:
    """Return a program that calls every verb with each text that an option takes."""
    lines = ["import prefjudge", ""]
    for verb in VERBS:
        if not verb.in_library:
            continue
        options = step_options(verb.function)
        needed = {one.name: literals(one)[0] for one in options if one.required}
        for option in options:
            for value in literals(option):
                given = needed | {option.name: value}
                words = ", ".join(f"{name}={text}" for name, text in given.items())
                lines.append(f"prefjudge.{verb.function}({words})")
    return "\n".join([*lines, ""])


def test_plain_text_passes_a_type_checker(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(program() + "prefjudge.pool(order='nonsense')\nprefjudge.plan(budget=[1])\n")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", path]
    done = subprocess.run(  # beside the config, where a check of the types has left its cache
        mypy, cwd=ROOT, capture_output=True, text=True
    )
    errors = done.stdout.splitlines()
    assert len(errors) == 2, done.stdout + done.stderr
    assert '"order" to "pool"' in errors[0]
    assert '"budget" to "plan"' in errors[1]
