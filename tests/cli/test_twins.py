"""Every verb is also a function, with the same words for the same options."""

import inspect
from importlib import import_module

import pytest

import prefjudge
from prefjudge import VERBS
from prefjudge.cli.app import app

ONLY_CLI = {"format", "json", "watch", "every"}
"""How a person wants to see it, and how long to wait."""
ONLY_FUNCTION = {"confirm", "progress", "ready", "tell", "show_pool", "write"}
"""What a person is asked and shown, and a result that leaves no files."""


def words(callback: object) -> set[str]:
    return set(inspect.signature(callback).parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_and_its_function_have_the_same_options(verb: str) -> None:
    function = getattr(import_module(VERBS[verb]), verb)
    callback = next(c.callback for c in app.registered_commands if c.callback and c.callback.__name__ == verb)
    assert words(callback) - words(function) <= ONLY_CLI
    assert words(function) - words(callback) <= ONLY_FUNCTION


def test_the_face_of_the_library_has_the_verbs() -> None:
    for name in prefjudge.__all__:
        assert getattr(prefjudge, name) is not None
    assert {*VERBS} - {"demo"} <= {*prefjudge.__all__}
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        prefjudge.nonsense  # noqa: B018


@pytest.mark.parametrize("verb", VERBS)
def test_the_documentation_of_a_verb_names_every_option(verb: str) -> None:
    function = getattr(import_module(VERBS[verb]), verb)
    documented = inspect.getdoc(function) or ""
    missing = [word for word in words(function) if word not in documented]
    assert not missing
