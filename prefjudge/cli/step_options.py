"""The options of a verb, read from the source of its step, since importing the step would import numpy.

A step is written once, for programs. Its signature says what an option takes, and what stands where it is not
given; its docstring (numpydoc) says what it does. Both are read here as text, so that ``--help`` and shell
completion cost what they cost a program without any science in it.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from prefjudge import step_module


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOption:
    """What a step takes under one name."""

    name: str
    kinds: frozenset[str] = frozenset()
    """What it takes: ``str``, ``Path``, ``int``, ``float``, ``bool`` or ``Decimal``; ``several`` for a
    sequence of them, ``Study`` beside a folder."""
    choices: tuple[str, ...] = ()
    """The values of a closed choice; none where anything goes."""
    low: float | None = None
    high: float | None = None
    """The bounds of a number."""
    default: str | int | float | bool | None = None
    """What a step takes it for where it is not given, as the command line spells it."""
    required: bool = False
    positional: bool = False
    """Whether it must be given, and whether it needs no name."""
    help: str = ""
    """The first sentence of what the docstring says of it."""


def step_options(verb: str) -> tuple[StepOption, ...]:
    """Return the options of a verb that people can type, in the order of the step's signature."""
    # What takes a function, such as ``progress``, or an executor is for programs alone.
    source, step = _found(step_module(verb), verb)
    assert isinstance(step, ast.FunctionDef), verb
    told = _described(step)
    places = [*step.args.posonlyargs, *step.args.args]
    no_default = [None] * (len(places) - len(step.args.defaults))
    defaults = [*no_default, *step.args.defaults, *step.args.kw_defaults]
    read = [
        _option(source, one.arg, one.annotation, default, told)
        for one, default in zip([*places, *step.args.kwonlyargs], defaults, strict=True)
    ]
    names = {one.arg for one in places}
    options = [replace(option, positional=option.name in names) for option in read if option]
    match step.args.kwarg:
        case ast.arg(annotation=ast.Subscript(slice=ast.Name(id=shared))):
            options += _shared_options(source, shared)
    return tuple(options)


def _shared_options(source: str, name: str) -> list[StepOption]:
    """Return the options of ``**how: Unpack[ReadOptions]``: a TypedDict, with ``DEFAULTS`` beside it."""
    # One that is made of others has their options, and no defaults of its own to be read.
    where, options = _found(source, name)
    assert isinstance(options, ast.ClassDef), name
    bases = [base.id for base in options.bases if isinstance(base, ast.Name) and base.id != "TypedDict"]
    if bases:
        return [option for base in bases for option in _shared_options(where, base)]
    _, defaults = _found(where, "DEFAULTS")
    assert isinstance(defaults, ast.Call), name
    given = {one.arg: one.value for one in defaults.keywords}
    told = _described(options)
    fields = [line for line in options.body if isinstance(line, ast.AnnAssign)]
    names = [(ast.unparse(line.target), line.annotation) for line in fields]
    read = [_option(where, field, kind, given[field], told) for field, kind in names]
    return [option for option in read if option]


def step_words(verb: str) -> str:
    """Return what the docstring of a verb's step says between its first line and the parameters."""
    _, step = _found(step_module(verb), verb)
    assert isinstance(step, ast.FunctionDef), verb
    head = re.split(r"\n\w+\n-{3,}\n", _docstring(step))[0]
    return _plain(head.partition("\n")[2]).strip()


def _option(
    source: str,
    name: str,
    kind: ast.expr | None,
    default: ast.expr | None,
    told: Mapping[str, tuple[str, bool]],
) -> StepOption | None:
    """Return what is taken under a name; None where nobody can type it."""
    assert kind is not None, name
    help, is_path = told.get(name, ("", False))
    option = _with_kinds(StepOption(name=name, required=default is None, help=help), source, kind)
    if option is None:
        return None
    text = option.kinds - ({"str"} if is_path else {"Path"})  # `str | Path`: a path, or text that may be one
    text = text & {"Decimal"} or text  # an amount of dollars may be a number or text in a program
    return replace(option, kinds=text, default=None if default is None else _value(source, default))


def _with_kinds(option: StepOption, source: str, kind: ast.expr) -> StepOption | None:
    """Return the option with what an annotation adds to it; None where it takes what nobody can type."""
    match kind:
        case ast.BinOp(left=left, right=right):
            first = _with_kinds(option, source, left)
            return first and _with_kinds(first, source, right)
        case ast.Constant(value=None):
            return option
        case ast.Subscript(
            value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[_, ast.Call(func=ast.Name(id="InMemory"))])
        ):
            return option  # for programs alone: what can be typed stands beside it
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[base, *notes])):
            noted = _with_kinds(option, source, base)
            return noted and _bounded(_of_register(noted, source, notes), notes)
        case ast.Subscript(value=ast.Name(id="Sequence"), slice=item):
            items = _with_kinds(option, source, item)
            return items and replace(items, kinds=items.kinds | {"several"})
        case ast.Subscript(value=ast.Name(id="tuple")):
            return option
        case ast.Subscript(value=ast.Name(id="Literal"), slice=values):
            texts = values.elts if isinstance(values, ast.Tuple) else [values]
            choices = dict.fromkeys((*option.choices, *(ast.literal_eval(text) for text in texts)))
            return replace(option, choices=tuple(choices))
        case ast.Name(id=name) if name in _TYPED:
            return replace(option, kinds=option.kinds | {name})
        case ast.Name(id=name):
            return _named_kind(option, source, name)
    return None


_TYPED = frozenset({"str", "Path", "int", "float", "bool", "Decimal", "Study"})


def _named_kind(option: StepOption, source: str, name: str) -> StepOption | None:
    """Return the option with what a name stands for: an enumeration, or another annotation."""
    where, node = _found(source, name)
    if isinstance(node, ast.ClassDef):
        return replace(option, choices=tuple(_members(node).values()))
    return _with_kinds(option, where, node) if isinstance(node, ast.expr) else None


def _members(kind: ast.ClassDef) -> dict[str, str]:
    """Return the members of an enumeration of texts, in its order."""
    found = {}
    for line in kind.body:
        match line:
            case ast.Assign(targets=[ast.Name(id=member)], value=ast.Constant(value=str(text))):
                found[member] = text
    return found


def _of_register(option: StepOption, source: str, notes: list[ast.expr]) -> StepOption:
    """Return the option with the names in the register that an annotation names, ours and other packages'."""
    for note in notes:
        match _found(source, note.id)[1] if isinstance(note, ast.Name) else None:
            case ast.Call(args=[ast.Constant(value=str(noun)), _, ast.Dict(keys=ours)]):
                from importlib.metadata import entry_points

                names = [ast.literal_eval(key) for key in ours if key is not None]
                theirs = sorted(entry_points(group=f"prefjudge.{noun}s").names)
                option = replace(option, choices=tuple(dict.fromkeys([*names, *theirs])))
    return option


def _bounded(option: StepOption, notes: list[ast.expr]) -> StepOption:
    """Return the option with the bounds of ``Ge(1)`` or ``Interval(ge=0, le=1)``."""
    for note in notes:
        if not isinstance(note, ast.Call):
            continue
        given = {one.arg: ast.literal_eval(one.value) for one in note.keywords}
        if note.args:
            given["ge"] = ast.literal_eval(note.args[0])
        option = replace(option, low=given.get("ge"), high=given.get("le"))
    return option


def _value(source: str, default: ast.expr) -> str | int | float | bool | None:
    """Return a default: a plain value, a member of an enumeration, an amount, or what a name stands for."""
    match default:
        case ast.Attribute(value=ast.Name(id=kind), attr=member):
            _, node = _found(source, kind)
            return _members(node)[member] if isinstance(node, ast.ClassDef) else None
        case ast.Call(args=[amount]):
            return str(ast.literal_eval(amount))
        case ast.Name(id=name):
            where, node = _found(source, name)
            return _value(where, node) if isinstance(node, ast.expr) else None
    value = ast.literal_eval(default)
    return None if isinstance(value, tuple) else value


@cache
def _parsed(module: str) -> ast.Module:
    spec = find_spec(module)
    assert spec is not None, module
    assert spec.origin is not None, module
    return ast.parse(Path(spec.origin).read_bytes())


def _found(module: str, name: str) -> tuple[str, ast.AST]:
    """Return what a name stands for in a module, and the module that says so: imports are followed."""
    tree = _parsed(module)
    for node in [*tree.body, *(line for one in tree.body if isinstance(one, ast.If) for line in one.body)]:
        match node:
            case ast.FunctionDef(name=found) | ast.ClassDef(name=found) if found == name:
                return module, node
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                return module, value
            case ast.AnnAssign(target=ast.Name(id=found), value=ast.expr() as value) if found == name:
                return module, value
            case ast.ImportFrom(module=str(other), names=names):
                for alias in names:
                    if (alias.asname or alias.name) == name and other.startswith("prefjudge"):
                        return _found(other, alias.name)
    return module, tree


def _described(step: ast.FunctionDef | ast.ClassDef) -> dict[str, tuple[str, bool]]:
    """Return the first sentence of what a docstring says of each parameter, and whether that is a path."""
    sections = re.split(r"\n(\w+)\n-{3,}\n", _docstring(step))
    body = dict(zip(sections[1::2], sections[2::2], strict=True)).get("Parameters", "")
    told = {}
    for entry in re.split(r"\n(?=\S)", body):
        head, _, words = entry.partition("\n")
        name, _, kind = head.partition(" : ")
        told[name] = (_first_sentence(_plain(words)), kind.startswith("Path"))
    return told


def _docstring(step: ast.FunctionDef | ast.ClassDef) -> str:
    """Return a docstring in which options are spelled as they are typed."""
    if isinstance(step, ast.FunctionDef):
        names = {one.arg for one in step.args.kwonlyargs}
    else:
        names = {ast.unparse(line.target) for line in step.body if isinstance(line, ast.AnnAssign)}
    dashed = {f"``{name}``": f"--{name.rstrip('_').replace('_', '-')}" for name in names}
    return re.sub(r"``\w+``", lambda found: dashed.get(found[0], found[0]), ast.get_docstring(step) or "")


def _plain(words: str) -> str:
    """Return a docstring's words without its marks and line breaks; blank lines stay."""
    paragraphs = re.split(r"\n\s*\n", words)
    return "\n\n".join(" ".join(one.split()) for one in paragraphs).replace("`", "")


def _first_sentence(words: str) -> str:
    return re.split(r"(?<=[.?…])\s+(?=[A-Z0-9])", words, maxsplit=1)[0]
