"""The site of docs/ builds without a warning, and its reference names all that the code has."""

import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

import prefjudge
from prefjudge import VERBS
from prefjudge.cli.commands import command_of
from prefjudge.study.config import StudyConfig

ROOT = Path(__file__).resolve().parents[2]
for library in ("sphinx", "myst_parser", "furo"):
    pytest.importorskip(library, reason="the site needs Sphinx, MyST and furo (extra docs)")


def text_of(page: Path) -> str:
    return unescape(re.sub(r"<[^>]*>", "", page.read_text(encoding="utf-8")))


def test_the_site_builds_without_a_warning_and_names_every_verb_option_key_and_function(
    tmp_path: Path,
) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "docs"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    reference = tmp_path / "reference"
    page, said = (reference / "verbs.html").read_text(encoding="utf-8"), text_of(reference / "verbs.html")
    manual = (tmp_path / "man" / "prefjudge.1").read_text(encoding="utf-8").replace(r"\-", "-")
    for verb in VERBS:
        assert f'<section id="{verb.name}">' in page, verb.name
        options = {name for one in command_of(verb).params for name in one.opts if name.startswith("-")}
        assert [name for name in options if name not in said or name not in manual] == [], verb.name
    config = text_of(reference / "config.html").partition("The file that init writes")[0]
    keys = {name for name, field in StudyConfig.model_fields.items() if not field_keys(field.annotation)}
    for field in StudyConfig.model_fields.values():
        keys |= field_keys(field.annotation)
    assert [key for key in keys - {"targets"} if f"\n{key}\n" not in config] == []
    functions = (reference / "python.html").read_text(encoding="utf-8")
    exported = [name for name in prefjudge.__all__ if not name.startswith("_")]
    assert [name for name in exported if f'id="prefjudge.{name}"' not in functions] == []
    assert "NotFinished" in text_of(reference / "exit-codes.html")


def field_keys(section: object) -> set[str]:
    return set(getattr(section, "model_fields", {}))
