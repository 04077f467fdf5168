"""The notebooks of the documentation run as they stand, cell by cell, and show what they promise."""

import ast
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "docs" / "notebooks").glob("*.ipynb"))


def execute(source: str, names: dict[str, Any]) -> Any:
    """Run a cell, and return the value of its last line, as a notebook does."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = json.loads(path.read_text())
    assert notebook["nbformat"] == 4
    assert all(cell.get("outputs", []) == [] for cell in notebook["cells"])
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = [
        execute("".join(cell["source"]), names) for cell in notebook["cells"] if cell["cell_type"] == "code"
    ]
    pages = [value._repr_html_() for value in shown if value is not None]
    assert all("<table" in page for page in pages)
    assert sorted(found.name for found in tmp_path.iterdir()) == [
        "my-study"
    ]  # no file was written for the runs
    assert names["state"].finished
    boards = names["frame"]
    assert set(boards["qrels"]) == {"original", "preference"}
    assert set(boards["run"]) >= set(names["runs"])
    assert isinstance(shown[-1], pd.DataFrame)
