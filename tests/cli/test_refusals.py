"""What no option takes is refused before anything is done, with the option, the value, and what it takes."""

import re
from pathlib import Path

import pytest
import typer
from typer.core import TyperArgument, TyperOption

import prefjudge as library
from prefjudge import VERBS, Verb
from prefjudge.cli.commands import command_of
from prefjudge.errors import InputError
from tests.cli.conftest import prefjudge


def refusal(verb: Verb, words: list[str]) -> str:
    with pytest.raises(typer.BadParameter) as refused:
        command_of(verb).make_context(verb.name, words)
    return re.sub(r" \(env var: '\w+'\)", "", refused.value.format_message())


@pytest.mark.parametrize("verb", VERBS, ids=[verb.name for verb in VERBS])
def test_every_option_refuses_what_is_empty_and_what_is_no_number(verb: Verb) -> None:
    for option in command_of(verb).params:
        if isinstance(option, TyperArgument):
            assert "it is empty. Give a value, or leave it out." in refusal(verb, [""])
        elif isinstance(option, TyperOption) and not option.is_flag:
            name = option.opts[0]
            assert refusal(
                verb, [name, *[""] * option.nargs]
            ) == f"Invalid value for '{name}': it is empty. " + ("Give a value, or leave it out.")
            if option.min is not None:
                for text in ("x", "nan", "-1", str(option.min - 1)):
                    assert re.fullmatch(
                        rf"Invalid value for .{name}.: .{text}. is not a (whole )?number of {option.min} .+",
                        refusal(verb, [name, text]),
                    )


def test_no_number_is_too_large_in_silence() -> None:
    (pool,) = (verb for verb in VERBS if verb.name == "pool")
    assert refusal(pool, ["--depth", "9" * 30]) == f"Invalid value for '--depth': {'9' * 30} is too large."


@pytest.mark.parametrize(
    ("words", "problem", "hint"),
    [
        (
            "status FILE",
            "FILE is a file, not a study's folder",
            "Give the folder of a study. Give files by options",
        ),
        ("pool --runs FILE --plot x", "--plot x: the name does not say the form", "End it in .svg or .png."),
    ],
)
def test_a_hint_fits_the_verb(tmp_path: Path, words: str, problem: str, hint: str) -> None:
    (tmp_path / "FILE").write_text("q1 Q0 d1 1 2.5 run\n")
    done = prefjudge(*words.split(), cwd=tmp_path)
    assert done.returncode == 1
    assert f"error: {problem}" in done.stderr
    assert f"\n  {hint}" in done.stderr


@pytest.mark.parametrize("name", ["score", "stability", "agreement", "winratio"])
def test_a_table_of_no_form_is_refused_before_anything_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "runs").write_text("this is not a run\n")
    (tmp_path / "qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "votes").write_text("q1 d1 d2 d1\n")
    given = {"winratio": {"judgments": tmp_path / "votes"}}.get(name, {"qrels": tmp_path / "qrels"})
    for out in ("board", "board.doc"):
        with pytest.raises(
            InputError, match=f"{out}: the name does not say the form of the table"
        ) as refused:
            getattr(library, name)(runs=tmp_path / "runs", out=tmp_path / out, **given)
        assert refused.value.hint == "End it in .csv, .json, .md, .tex or .parquet."
