"""Who uses an old name of a verb or an option is told the new one, in one line."""

import warnings

import pytest
from typer.testing import CliRunner

import prefjudge
from prefjudge import renamed
from prefjudge.cli.app import _note_old_names, app
from prefjudge.errors import InputError


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was renamed yet: the names of a later release."""
    monkeypatch.setattr(
        renamed,
        "NOW",
        {
            "verb": {"doctor": "store check STUDY"},
            "option": {
                "--deep": "--depth",
                "--in-sql": "gone: all scores are brought here",
                "score --sample": "prefjudge stability",
            },
        },
    )


def test_an_old_verb_says_in_one_line_what_it_is_now() -> None:
    done = CliRunner().invoke(app, ["doctor", "study"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "prefjudge doctor is now: prefjudge store check STUDY\n"
    assert "doctor" not in CliRunner().invoke(app, ["--help"]).stdout
    with pytest.raises(AttributeError, match="prefjudge doctor is now: prefjudge store check STUDY"):
        prefjudge.doctor  # noqa: B018


def test_old_options_are_told_too() -> None:
    for typed in ("--deep", "--deep=3"):
        done = CliRunner().invoke(app, ["pool", "--runs", "x", typed])
        assert (done.exit_code, done.stderr) == (2, "--deep is now: --depth\n")
    with pytest.raises(InputError, match="--deep is now: --depth"):
        prefjudge.pool(runs="x", deep=3)


def test_an_option_that_one_verb_lost_is_told_by_that_verb_alone() -> None:
    done = CliRunner().invoke(app, ["score", "--sample", "3"])
    assert done.stderr == "--sample is now: prefjudge stability\n"
    assert renamed.told("option", "--in-sql") == "--in-sql is gone: all scores are brought here"
    with pytest.raises(InputError, match="--sample is now: prefjudge stability"):
        prefjudge.score(sample=3)
    with pytest.raises(InputError, match="no argument sample_of"):
        prefjudge.pool(sample_of=3)


def test_an_old_name_is_a_note_in_the_shell_and_other_warnings_are_left_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs: list[object] = []
    monkeypatch.setattr(warnings, "showwarning", lambda *one: theirs.append(one))
    _note_old_names()
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for _ in range(3):
            renamed.tell("study.toml: a is now b")
        warnings.warn("else", FutureWarning, stacklevel=1)
    assert capsys.readouterr().err == "note: study.toml: a is now b\n"
    assert len(theirs) == 1
