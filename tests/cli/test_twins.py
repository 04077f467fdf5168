"""Every verb is also a function, with the same words for the same options, each written once: in the step."""

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Unpack, get_args, get_origin

import pytest
from typer.testing import CliRunner

import prefjudge
from prefjudge import GROUPS, VERBS, step_module
from prefjudge.cli.app import app
from prefjudge.cli.commands import verb_function
from prefjudge.cli.help import USUAL, Usual
from prefjudge.cli.step_options import StepOption, step_options
from prefjudge.findings.arguments import full_signature
from prefjudge.reading import opened as readers
from prefjudge.reading.options import InputOptions, ReadOptions, TextOptions
from prefjudge.registers import Register
from tests.cli.conftest import prefjudge as run
from tests.steps.conftest import COLLECTION

NAMES = [verb.function for verb in VERBS]
ONLY_CLI = {"format", "json", "details", "help_all", "watch", "every", "schema"}
"""How a person wants to see it, how long to wait, and what is printed instead, as ``--version`` is."""
ONLY_FUNCTION = {"confirm", "progress", "ready", "tell", "workers"}
"""What a person is asked and shown; processes that read runs, which PREFJUDGE_WORKERS counts."""


runner = CliRunner()


def step_of(verb: str) -> Callable[..., object]:
    return getattr(import_module(step_module(verb)), verb)  # type: ignore[no-any-return]


def words(verb: str) -> dict[str, inspect.Parameter]:
    return dict(full_signature(step_of(verb)).parameters)


@pytest.mark.parametrize("verb", NAMES)
def test_a_verb_and_its_function_have_the_same_options(verb: str) -> None:
    typed = set(inspect.signature(verb_function(verb)).parameters)
    assert typed - set(words(verb)) <= ONLY_CLI
    assert set(words(verb)) - typed <= ONLY_FUNCTION


def test_the_face_of_the_library_has_the_verbs() -> None:
    for name in prefjudge.__all__:
        assert getattr(prefjudge, name) is not None
    assert {*NAMES} - {"demo"} == {*prefjudge.__all__} - {"Study", "__version__"}
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        prefjudge.nonsense  # noqa: B018


def test_type_checkers_see_the_functions_of_the_table() -> None:
    """They cannot read a table: the lines that they read name what it names."""
    (seen,) = (
        node
        for node in ast.parse(inspect.getsource(prefjudge)).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    names = {alias.asname for node in seen.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert names == {*prefjudge.__all__} - {"__version__"}


@pytest.mark.parametrize("verb", NAMES)
def test_the_documentation_of_a_verb_names_every_option(verb: str) -> None:
    documented = inspect.getdoc(step_of(verb)) or ""
    assert [word for word in inspect.signature(step_of(verb)).parameters if word not in documented] == []
    assert [option.name for option in step_options(verb) if not option.help] == []


def values(annotation: Any) -> tuple[str, ...]:
    """Return the values of a closed choice within an annotation, as Python sees it."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    if isinstance(annotation, Register):
        return tuple(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return tuple(one.value for one in annotation)
    return tuple(dict.fromkeys(value for part in get_args(annotation) for value in values(part)))


@pytest.mark.parametrize("verb", NAMES)
def test_what_is_read_from_the_source_is_what_python_sees(verb: str) -> None:
    seen = words(verb)
    for option in step_options(verb):
        parameter = seen[option.name]
        assert option.required == (parameter.default is inspect.Parameter.empty)
        assert option.positional == (parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD)
        assert option.choices == values(parameter.annotation)
        if not option.required and parameter.default != ():
            default = parameter.default.value if isinstance(parameter.default, Enum) else parameter.default
            assert str(option.default) == str(default), option.name


def read(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, StepOption]:
    """Return the options of a step whose source this is."""
    monkeypatch.setattr(
        "prefjudge.cli.step_options._parsed", lambda module: ast.parse(source) if "steps" in module else 1 / 0
    )
    return {option.name: option for option in step_options("fly")}


def test_an_option_is_read_from_a_signature_and_a_docstring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = read(
        "class Wind(StrEnum):\n    '''Whence.'''\n    NORTH = 'north'\n    SOUTH = 'south'\n"
        "def fly(nest: str | Path, *, wind: Wind = Wind.SOUTH,\n"
        "        legs: Annotated[int, Interval(ge=1, le=2)] = 2,\n"
        "        eggs: Sequence[str] = (), tell: Callable[[str], None] | None = None) -> None:\n"
        "    '''Fly.\n\n    Parameters\n    ----------\n    nest : Path\n        Where from. And back.\n"
        "    wind : Wind\n        Against what, as ``eggs`` are\n        heavy.\n    '''\n",
        tmp_path, monkeypatch,
    )  # fmt: skip
    assert list(found) == ["nest", "wind", "legs", "eggs"]
    nest, wind, legs, eggs = found.values()
    assert (nest.kinds, nest.required, nest.positional, nest.help) == ({"Path"}, True, True, "Where from.")
    assert (wind.choices, wind.default) == (("north", "south"), "south")
    assert wind.help == "Against what, as --eggs are heavy."
    assert (legs.low, legs.high, legs.default) == (1, 2, 2)
    assert eggs.kinds == {"str", "several"}


def test_help_shows_the_docstring_the_choices_the_bounds_and_the_defaults() -> None:
    shown = run("score", "--help-all").stdout
    for words in (
        "<score|score-f32|rank|file>", "<error|first|best>", "<files|spark>",
        "Score the queries of this file only.", "x>=0", "[default: error]", "May be repeated.",
    ):  # fmt: skip
        assert words in shown, words
    assert "--health" in shown
    assert "--no-health" not in shown


def test_help_shows_the_brackets_of_a_configs_section() -> None:
    """Rich would take them for its markup, and print nothing."""
    for verb, words in (("report", "beside the authors of [release]"), ("board", "rules under [board] in")):
        shown = run(verb, "--help-all").stdout.replace("│", " ").split()
        assert words in " ".join(shown), verb


def test_a_shell_completes_verbs_options_and_choices() -> None:
    def completed(line: str, word: int) -> list[str]:
        done = subprocess.run(
            [str(Path(sys.executable).with_name("prefjudge"))],
            env={"_PREFJUDGE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(word)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.stdout.split()

    assert completed("prefjudge sc", 1) == ["score"]
    assert "--on-duplicate" in completed("prefjudge score --on", 2)
    assert completed("prefjudge score --order s", 3) == ["score", "score-f32"]
    assert completed("prefjudge pool --qrels-per-query ''", 3) == ["first", "all", "none"]
    assert completed("prefjudge compare --correction b", 3) == ["bonferroni"]
    assert completed("prefjudge resolve --rule s", 3) == [
        "shallow-pooling", "shallow-pooling-pairs", "smith", "schulze",
    ]  # fmt: skip
    assert completed("prefjudge score --format t", 3) == ["terminal", "tex"]


def test_a_number_beyond_its_bounds_is_refused_in_both_with_the_bounds(tmp_path: Path) -> None:
    typed = run("pool", "--runs", "x", "--depth", "0", cwd=tmp_path)
    assert typed.returncode == 2
    assert "invalid value for '--depth'" in typed.stderr
    with pytest.raises(
        prefjudge.errors.InputError, match="pool: depth is 0; it takes a whole number of 1 or more"
    ):
        prefjudge.pool(runs="x", depth=0)
    with pytest.raises(prefjudge.errors.InputError, match=r"judge: workers is 65; it takes .* of 1 to 64"):
        prefjudge.judge("nowhere", url="http://x", model="m", workers=65)


def test_options_that_all_readers_of_runs_share_are_written_once() -> None:
    of_runs = ["on_duplicate", "workers"]
    of_texts = ["dataset"]
    for options, shared, verbs in (
        (ReadOptions, of_runs, ("audit", "report", "reproduce")),
        (TextOptions, of_texts, ("check",)),
        (
            InputOptions,
            of_runs + of_texts,
            ("pool", "score", "compare", "stability", "agreement", "winratio"),
        ),
    ):
        for verb in verbs:
            assert list(words(verb))[-len(shared) :] == shared
            typed = [word for word in shared if word != "workers"]
            assert [one.name for one in step_options(verb)][-len(typed) :] == typed
            assert inspect.signature(step_of(verb)).parameters["how"].annotation == Unpack[options]


def test_the_environment_says_how_many_processes_read_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[object] = []
    files = ["--runs", str(COLLECTION / "runs"), "--qrels", str(COLLECTION / "qrels.txt")]
    working = readers.working

    def noted(workers: object, *given: Any, **more: Any) -> Any:
        asked.append(workers)
        return working(1, *given, **more)

    monkeypatch.setattr(readers, "working", noted)
    for text in (None, "3"):
        assert CliRunner().invoke(app, ["score", *files], env={"PREFJUDGE_WORKERS": text}).exit_code == 0
    assert asked == [None, 3]
    for text in ("0", "many", ""):
        done = CliRunner().invoke(app, ["score", *files], env={"PREFJUDGE_WORKERS": text})
        assert f"PREFJUDGE_WORKERS is {text!r}" in str(done.exception)


@pytest.mark.parametrize("verb", [verb.name for verb in VERBS])
def test_help_is_one_screen_of_what_most_people_use(verb: str) -> None:
    shown = runner.invoke(app, [verb, "--help"], env={"COLUMNS": "100"}).stdout
    usual = re.findall(r"^  (--[\w-]+)", shown, re.M)
    assert 0 < len(usual) <= 10
    said = USUAL.get(verb, Usual(""))
    assert f"  prefjudge {verb} {said.example}".rstrip() in shown.splitlines()
    assert {name.replace("_", "-") for name in said.options.split()} <= {name[2:] for name in usual} | {
        "details"  # which `plan` calls --all
    }
    assert max(map(len, shown.splitlines())) <= 100
    whole = runner.invoke(app, [verb, "--help-all"], env={"COLUMNS": "100"}).stdout
    assert all(name in whole for name in usual)


def test_help_shows_the_road_and_names_the_rest() -> None:
    shown = runner.invoke(app, ["--help"], env={"COLUMNS": "100"}).stdout
    assert len(shown.splitlines()) <= 30
    assert set(re.findall(r"[a-z]+", shown)) >= {verb.name for verb in VERBS}
    for group in GROUPS:
        listed = runner.invoke(app, ["--help", group]).stdout
        assert re.findall(r"^  ([a-z]+)  ", listed, re.M) == [
            verb.name for verb in VERBS if verb.group == group
        ]
    assert runner.invoke(app, ["--help", "nonsense"]).exit_code == 2
