"""The commands of the pages run as printed.

A ``console`` block is run when the line before it is ``<!-- tested -->``. Its lines that begin with ``$`` are
typed one after the other in one folder, which holds prefjudge/demo and nothing else; the other lines show
output, and are not compared. ``<!-- tested: exit 3 -->`` says that the last command ends so.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(
    r"^<!-- tested(?:: exit (?P<exit>\d+))? -->\n+```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
PROMPT = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*)$", re.MULTILINE)
PAGES = ("docs/tutorial.md", "docs/without-a-study.md", "docs/votes.md")
FRESH_MACHINE = "python3 scripts/go.py "  # installs; tests/packaging does that


def blocks(text: str) -> list[tuple[list[str], int]]:
    """Return the commands of each tested block and the exit code of its last one."""
    return [
        ([found["command"] for found in PROMPT.finditer(block["text"])], int(block["exit"] or 0))
        for block in BLOCK.finditer(text)
    ]


def test_blocks_are_found() -> None:
    text = (
        "<!-- tested -->\n```console\n$ one --a \\\n    --b\nsome output\n$ two\n```\n"
        "```console\n$ not this\n```\n<!-- tested: exit 3 -->\n\n```console\n$ three\n```\n"
    )
    assert blocks(text) == [(["one --a \\\n    --b", "two"], 0), (["three"], 3)]


def test_the_readme_is_a_tour_whose_links_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 150
    inside = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not link.startswith("https://")]
    assert [link for link in inside if not (ROOT / link.partition("#")[0]).is_file()] == []


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, str], Path]:
    """Return a shell, an environment that finds prefjudge, and a folder with the demo's files."""
    program = shutil.which("bash")
    if program is None or shutil.which("prefjudge", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("needs bash and the console script `prefjudge` beside this Python")
    folder = tmp_path_factory.mktemp("readme")
    code = shutil.ignore_patterns("*.py", "__pycache__")
    shutil.copytree(ROOT / "prefjudge" / "demo", folder / "prefjudge" / "demo", ignore=code)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return (
        program,
        {**os.environ, "PATH": path, "HOME": str(folder), "NO_COLOR": "1", "COLUMNS": "120"},
        folder,
    )


def test_the_commands_of_the_pages_run(shell: tuple[str, dict[str, str], Path]) -> None:
    program, environment, folder = shell
    found = [one for page in PAGES for one in blocks((ROOT / page).read_text(encoding="utf-8"))]
    assert len(found) >= len(PAGES), "a page marks no block as tested"
    for commands, code in found:
        for number, command in enumerate(commands, 1):
            assert not command.startswith(FRESH_MACHINE), (
                "commands that install are not run here: unmark the block"
            )
            done = subprocess.run(
                [program, "-c", command],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            wanted = code if number == len(commands) else 0
            assert done.returncode == wanted, f"$ {command}\n{done.stdout}{done.stderr}"
