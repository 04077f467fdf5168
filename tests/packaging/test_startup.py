"""What only looks starts at once: heavy libraries wait for the verb that needs them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = (
    "boto3", "botocore", "defusedxml", "isal", "jinja2", "networkx", "numpy", "pandas", "psycopg", "pydantic",
    "scipy", "starlette", "urllib3", "uvicorn", "zstandard",
)  # fmt: skip
LOADED = """
import runpy, sys
sys.argv = ["prefjudge", *{arguments!r}]
try:
    runpy.run_module("prefjudge.cli.app", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
print("LOADED", *sorted({{name.partition(".")[0] for name in sys.modules}} & set({heavy!r})))
"""


def loaded(arguments: list[str], cwd: Path) -> list[str]:
    """Return the heavy libraries that a verb loads."""
    code = LOADED.format(arguments=arguments, heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return next(line.split()[1:] for line in done.stdout.splitlines() if line.startswith("LOADED"))


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["score", "--help"], ["pool", "--help"]])
def test_words_load_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    assert loaded(arguments, tmp_path) == []


def test_status_loads_nothing_heavy(tmp_path: Path) -> None:
    runs = str(ROOT / "prefjudge" / "demo" / "runs" / "*.txt")
    assert "numpy" in loaded(["pool", "--runs", runs], tmp_path)  # the yardstick works
    loaded(["init", "study"], tmp_path)
    assert loaded(["status", "study"], tmp_path) == []


@pytest.mark.parametrize(
    ("given", "threads"),
    [
        ({}, "1"),
        ({"OMP_NUM_THREADS": "3"}, "3"),
        ({"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "3"}, "2"),
    ],
)
def test_matrices_are_multiplied_in_one_thread_unless_somebody_says_more(
    given: dict[str, str], threads: str
) -> None:
    code = (
        "import os, sys\nfrom contextlib import suppress\nfrom prefjudge.cli.app import main\n"
        "sys.argv = ['prefjudge', '--version']\nwith suppress(SystemExit):\n    main()\n"
        "print('THREADS', os.environ['OPENBLAS_NUM_THREADS'])"
    )
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=kept | given, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == f"THREADS {threads}"


def test_a_marketplace_alone_loads_nothing_of_studies(tmp_path: Path) -> None:
    loads = loaded(["serve", "--new-key", "lab"], tmp_path)
    assert "uvicorn" in loads
    assert {*loads} & {"networkx", "numpy", "pandas", "pydantic", "scipy"} == set()


def test_a_pool_of_plain_files_loads_nothing_of_studies_plots_and_packages() -> None:
    runs = str(ROOT / "prefjudge" / "demo" / "runs" / "*.txt")
    unneeded = (
        "prefjudge.study.config", "prefjudge.study.assignments", "numpy.random", "scipy", "_hashlib",
        "pyarrow", "importlib.metadata", "unicodedata",
    )  # fmt: skip
    code = "import sys, prefjudge; prefjudge.pool(runs=[{!r}]); print(*set(sys.modules) & set({!r}))"
    # the first time Python may compile, for which it loads more; what it compiled is kept
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code.format(runs, unneeded)]
    for _ in range(2):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_an_interrupt_while_libraries_load_ends_in_one_line() -> None:
    code = (
        "import runpy, sys\nclass Interrupts:\n    def find_spec(self, name, *_):\n"
        "        if name == 'prefjudge.cli.app':\n            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupts())\nrunpy.run_module('prefjudge', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "\ninterrupted\n")
