"""The commands of the pages run as printed.

A ``console`` block is run when the line before it is ``<!-- tested -->``. Its lines that begin with ``$`` are
typed one after the other in one folder, which holds prefjudge/demo and nothing else; the other lines show
output, and are not compared. ``<!-- tested: exit 3 -->`` says that the last command ends so.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import program_of_that_name

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(
    r"^<!-- tested(?:: exit (?P<exit>\d+))? -->\n+```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
PROMPT = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*)$", re.MULTILINE)
PAGES = ("docs/tutorial.md docs/without-a-study.md", "docs/votes.md", "docs/backup.md")
"""Those that go on in one folder are together."""
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


AT_WORK = """
<!-- tested -->
```console
$ prefjudge init my-study --config demo
$ prefjudge pool my-study --runs 'prefjudge/demo/runs/*.txt' --qrels prefjudge/demo/qrels.txt \\
    --queries prefjudge/demo/queries.tsv --collection prefjudge/demo/collection.tsv --depth 1
$ cp prefjudge/demo/gold.tsv my-study/gold.tsv && prefjudge gold my-study --accept
$ prefjudge publish my-study --sandbox --yes
$ prefjudge work my-study --workers 9 --error 0.1 --slip 0
$ prefjudge collect my-study
```
"""
"""What docs/backup.md begins with."""


@pytest.mark.parametrize("pages", PAGES)
def test_the_commands_of_the_pages_run(pages: str, tmp_path: Path) -> None:
    if (bash := shutil.which("bash")) is None:
        pytest.skip("needs bash")
    modules = shutil.ignore_patterns("*.py", "__pycache__")
    shutil.copytree(ROOT / "prefjudge" / "demo", tmp_path / "prefjudge" / "demo", ignore=modules)
    found = [one for page in pages.split() for one in blocks((ROOT / page).read_text(encoding="utf-8"))]
    assert found, "no block is marked as tested"
    if pages == "docs/backup.md":
        found = [*blocks(AT_WORK), *found, (["prefjudge status my-study 2>&1 | grep '0 pairs'"], 0)]
    with program_of_that_name() as program:
        path = os.pathsep.join([str(program.parent), os.environ.get("PATH", "")])
        for commands, code in found:
            for number, command in enumerate(commands, 1):
                assert not command.startswith(FRESH_MACHINE), "commands that install are not run: unmark them"
                done = subprocess.run(
                    [bash, "-c", command], cwd=tmp_path, env={**os.environ, "PATH": path},
                    capture_output=True, text=True, check=False,
                )  # fmt: skip
                wanted = code if number == len(commands) else 0
                assert done.returncode == wanted, f"$ {command}\n{done.stdout}{done.stderr}"
