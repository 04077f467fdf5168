"""What is typed for an option is what typer makes of it, though pydantic is not asked."""

from inspect import signature
from typing import Any

import pytest
import typer
from typer.core import TyperCommand

from prefjudge import VERBS
from prefjudge.cli.commands import _doubt, _numbers, command_of

TEXTS = [
    "x",
    "7",
    "-1.5",
    "1e3",
    "1_0",
    " 7",
    "inf",
    "true",
    "a b",
    "é",
    "\u0663",
    "/no/such/file",
    __file__,
    ".",
]


def taken(read: Any, ctx: typer.Context, value: object) -> object:
    """Return what is made of a value, with its type; or that it is refused."""
    try:
        made = read(ctx, value)
    except typer.BadParameter as error:
        return f"refused: {error.message}"
    return type(made).__name__, str(made)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_each_option_takes_what_typer_takes(verb: Any) -> None:
    command = command_of(verb)
    assert isinstance(command, TyperCommand)
    ctx = typer.Context(command)
    assert command.callback is not None
    numbers = _numbers(signature(command.callback))
    seen = set()
    for option in command.get_params(ctx):
        ours, number = option.process_value, numbers.get(str(option.name))
        kind, theirs = ours.args[1:3]
        shape = (str(kind), option.multiple, number)
        if shape in seen or option.callback is not None:
            continue
        seen.add(shape)
        texts = [text for text in TEXTS if not _doubt(text, number)]  # refused before
        texts += [str(one.value) for one in getattr(kind, "__members__", {}).values()]
        values = [[], texts[:1], texts] if option.multiple or option.nargs == -1 else [None, *texts]
        for value in values:
            assert taken(ours, ctx, value) == taken(theirs, ctx, value), (option.name, value)
