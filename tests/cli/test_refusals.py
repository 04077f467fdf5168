"""What no option takes is refused before anything is done, with the option, the value, and what it takes."""

import re
from pathlib import Path

import pytest
import typer
from typer.core import TyperArgument, TyperOption

from prefjudge import VERBS, Verb
from prefjudge.cli.commands import command_of
from tests.cli.conftest import prefjudge


def refusal(verb: Verb, words: list[str]) -> str:
    with pytest.raises(typer.BadParameter) as refused:
        command_of(verb).make_context(verb.name, words)
    return refused.value.format_message()


@pytest.mark.parametrize("verb", VERBS, ids=[verb.name for verb in VERBS])
def test_every_option_refuses_what_is_empty_and_what_is_no_number(verb: Verb) -> None:
    for option in command_of(verb).params:
        if isinstance(option, TyperArgument):
            assert "it is empty. Give a value, or leave it out." in refusal(verb, [""])
        elif isinstance(option, TyperOption) and not option.is_flag:
            name = option.opts[0]
            assert refusal(verb, [name, ""]) == f"Invalid value for '{name}': it is empty. " + (
                "Give a value, or leave it out."
            )
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
            "Give the folder of a study. Files are given by options",
        ),
        ("pool --runs FILE --plot x", "--plot x: the name does not say the form", "End it in .svg or .png."),
        (
            "score --runs FILE --qrels QRELS --out x",
            "--out x: the name does not say the form",
            "End it in .csv",
        ),
    ],
)
def test_a_hint_fits_the_verb(tmp_path: Path, words: str, problem: str, hint: str) -> None:
    (tmp_path / "FILE").write_text("q1 Q0 d1 1 2.5 run\n")
    (tmp_path / "QRELS").write_text("q1 0 d1 1\n")
    done = prefjudge(*words.split(), cwd=tmp_path)
    assert done.returncode == 1
    assert f"error: {problem}" in done.stderr
    assert f"\n  {hint}" in done.stderr
