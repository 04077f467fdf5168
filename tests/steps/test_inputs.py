"""The files that a step is given."""

from pathlib import Path

import pytest

from prefjudge.errors import InputError
from prefjudge.steps.inputs import expand


def test_a_name_with_brackets_is_that_file_and_else_a_pattern(tmp_path: Path) -> None:
    for name in ("run[1] ü.txt", "run1 ü.txt", "run2 ü.txt"):
        (tmp_path / name).touch()
    assert expand([tmp_path / "run[1] ü.txt"]) == (tmp_path / "run[1] ü.txt",)
    assert expand([tmp_path / "run[12] ü.txt"]) == (tmp_path / "run1 ü.txt", tmp_path / "run2 ü.txt")
    with pytest.raises(InputError, match="no file matches"):
        expand([tmp_path / "run[3] ü.txt"])
