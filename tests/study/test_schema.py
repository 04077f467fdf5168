"""The JSON Schema of study.toml takes what prefjudge takes."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from prefjudge.steps.init import init
from prefjudge.study.config import StudyConfig, schema_text, template

jsonschema = pytest.importorskip("jsonschema", reason="the schema is checked by jsonschema (extra dev)")


def problems(values: object) -> list[str]:
    return [
        one.message for one in jsonschema.Draft202012Validator(json.loads(schema_text())).iter_errors(values)
    ]


@pytest.mark.parametrize("name", ["default", "demo", "paper2021"])
def test_the_schema_takes_our_configs(name: str) -> None:
    assert problems(tomllib.loads(template(name))) == []


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"budgets": 3}, "budgets"),
        ({"pool": {"depth": 0}}, "minimum"),
        ({"pool": {"order": "sideways"}}, "sideways"),
        ({"targets": {"live": {"crowd": "prolific", "rate": [1]}}}, "[1]"),
    ],
)
def test_the_schema_refuses_what_the_config_refuses(values: dict[str, object], what: str) -> None:
    with pytest.raises(ValueError, match="validation error"):
        StudyConfig.model_validate({"name": "x", **values})
    (problem,) = problems({"name": "x", **values})
    assert what in problem


def test_a_crowd_of_another_kind_may_have_options_of_its_own() -> None:
    assert (
        problems({"name": "x", "targets": {"live": {"crowd": "prolific", "places": 3, "notify": True}}}) == []
    )


def test_init_prints_the_schema_and_makes_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "prefjudge", "init", "--schema"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == schema_text() + "\n"
    assert list(tmp_path.iterdir()) == []


def test_a_new_study_names_its_schema_in_the_first_line(tmp_path: Path) -> None:
    init(tmp_path / "study")
    first = (tmp_path / "study" / "study.toml").read_text().splitlines()[0]
    assert first.startswith("#:schema ./")
    assert (tmp_path / "study" / first.removeprefix("#:schema ./")).read_text() == schema_text() + "\n"
