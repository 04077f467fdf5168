"""The site of docs/ builds without a warning, and its reference names all that the code has."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import prefjudge
from prefjudge import VERBS
from prefjudge.cli.commands import command_of
from prefjudge.marketplace.site.app import ADMIN_ROUTES
from prefjudge.steps.reproduce.papers import PAPERS, load_paper
from prefjudge.study.config import StudyConfig

ROOT = Path(__file__).resolve().parents[2]
for library in ("sphinx", "myst_parser", "furo"):
    pytest.importorskip(library, reason="the site needs Sphinx, MyST and furo (extra docs)")


@pytest.fixture(scope="module")
def made() -> ModuleType:
    spec = importlib.util.spec_from_file_location("from_code", ROOT / "docs" / "from_code.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_page_has_a_warning_or_leaves_a_part_without_a_name(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "docs"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for page in tmp_path.rglob("*.html"):
        text = page.read_text("utf-8")
        lacking = re.findall(
            r'<th class="head"><p></p>|role="heading"(?! aria-level)|<pre>|<aside class="sidebar-drawer">',
            text,
        )
        assert lacking == [], page
        assert "<h1" in text, page


def test_the_reference_names_every_verb_option_key_and_function(made: ModuleType) -> None:
    verbs, summaries = "\n".join(made.verbs()), "\n".join(made.summaries())
    for verb in VERBS:
        assert f"\n| [`{verb.name}`](#{verb.name}) | {verb.summary[:4]}" in summaries, verb.name
        _, _, section = verbs.partition(f"\n### {verb.name}\n")
        section = section.partition("\n### ")[0]
        options = {name for one in command_of(verb).params for name in one.opts if name.startswith("-")}
        assert [name for name in options if f"`{name}`" not in section] == [], verb.name
    config = "\n".join(made.config())
    keys = {name for name, field in StudyConfig.model_fields.items() if not field_keys(field.annotation)}
    for field in StudyConfig.model_fields.values():
        keys |= field_keys(field.annotation)
    assert [key for key in keys - {"targets"} if f"\n| `{key}` | " not in config] == []
    functions = "\n".join(made.library())
    exported = [name for name in prefjudge.__all__ if not name.startswith("_")]
    assert [name for name in exported if f":: prefjudge.{name}\n" not in functions] == []
    assert "| `NotFinished" in "\n".join(made.codes())
    papers = "\n".join(made.papers())
    exhibits = [one.name for name in PAPERS for one in load_paper(name).exhibits]
    assert [name for name in exhibits if f"- **{name}**" not in papers] == []
    assert "| benchmarking | 9 | 8 | Figure 2 |" in papers


def test_the_routes_are_open_api(made: ModuleType) -> None:
    api = made.open_api()
    said = {
        (method.upper(), path): one
        for path, several in api["paths"].items()
        for method, one in several.items()
    }
    assert set(said) == {(method, path) for method, path, _ in ADMIN_ROUTES}
    assert all(one["summary"] for one in said.values())
    assert len({one["operationId"] for one in said.values()}) == len(said)
    assert all(
        [each["name"] for each in one.get("parameters", ())] == re.findall(r"{(\w+)}", path)
        for (_, path), one in said.items()
    )


def field_keys(section: object) -> set[str]:
    return set(getattr(section, "model_fields", {}))
