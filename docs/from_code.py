"""The reference, made from the code when the site is built: what the code does not say is not in it.

A page names what stands in it by a line such as ``<!-- made: verbs -->``; :func:`fill` puts it there.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from itertools import groupby
from typing import Any, get_args

from sphinx.application import Sphinx
from typer.core import TyperArgument, TyperOption

import prefjudge
from prefjudge import GROUPS, VERBS, Verb, errors
from prefjudge.cli.commands import command_of
from prefjudge.marketplace.site.app import ADMIN_ROUTES
from prefjudge.steps.reproduce.papers import PAPERS, Exhibit, load_paper
from prefjudge.study.config import schema_text

_MARK = re.compile(r"^<!-- made: (\w+) -->$", re.MULTILINE)


def fill(app: Sphinx, page: str, source: list[str]) -> None:
    """Put into a page what its marks name."""
    source[0] = _MARK.sub(lambda mark: "\n".join(MADE[mark[1]]()), source[0])


def summaries() -> Iterator[str]:
    """Return a line for each verb, as ``prefjudge --help`` has it."""
    yield "| verb | does |\n|---|---|"
    for verb in VERBS:
        yield f"| [`{verb.name}`](#{verb.name}) | {_plain(verb.summary)} |"


def verbs() -> Iterator[str]:
    """Return each verb with its arguments and options, in the order of ``prefjudge --help``."""
    for group, several in groupby(VERBS, lambda verb: verb.group):
        yield f"## {GROUPS[group]}\n"
        for verb in several:
            yield from _verb(verb)


def _verb(verb: Verb) -> Iterator[str]:
    command = command_of(verb)
    parameters = [one for one in command.params if not getattr(one, "hidden", False)]
    arguments = [one for one in parameters if isinstance(one, TyperArgument)]
    usage = " ".join(["prefjudge", verb.name, *map(_argument, arguments), "[OPTIONS]"])
    yield f"### {verb.name}\n\n```console\n$ {usage}\n```\n"
    yield _plain((command.help or "").replace(r"\[", "[")) + "\n"
    for parameter in parameters:
        head = _spelled(parameter) if isinstance(parameter, TyperOption) else f"`{_argument(parameter)}`"
        yield f"{head}\n: {' '.join(_said(parameter))}\n"


def _argument(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper() + (" …" if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _spelled(option: TyperOption) -> str:
    """Return the names of an option, and what it takes."""
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    if option.is_flag:
        return names
    return f"{names} `{option.metavar or _kind(option.type_descriptor.annotation)}`"


def _kind(kind: Any) -> str:
    """Return what is typed for an annotation: the values of a closed choice, or the name of a type."""
    (base,) = {*get_args(kind)} - {type(None)} or {kind}
    if issubclass(base, Enum):
        return "|".join(one.value for one in base)
    return {"str": "TEXT", "int": "NUMBER", "float": "NUMBER"}.get(base.__name__, base.__name__.upper())


def _said(parameter: Any) -> Iterator[str]:
    """Return what a parameter does, its bounds, what stands where it is not given, and its variable."""
    yield _plain(parameter.help or "The one that the usage names.")
    low, high = parameter.min, parameter.max
    if low is not None or high is not None:
        bounds = _bounds(low, high)
        yield f"{bounds[0].upper()}{bounds[1:]}."
    default = parameter.default
    if isinstance(default, str | int | float) and not isinstance(default, bool) and default != "":
        yield f"By default `{getattr(default, 'value', default)}`."
    if parameter.envvar:
        yield f"Read from `{parameter.envvar}` where it is not given."


def _bounds(low: float | None, high: float | None) -> str:
    if low is None:
        return f"at most {high}"
    return f"{low} or more" if high is None else f"{low} to {high}"


def _plain(text: str) -> str:
    """Return a text in which no character means anything to Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~])", r"\\\1", text)


def config() -> Iterator[str]:
    """Return each key of study.toml, by sections."""
    schema = json.loads(schema_text())
    records, top = schema["$defs"], schema["properties"]
    inside = {name: record for name, key in top.items() if (record := _record(key, records))}
    yield "## Above the first section\n"
    yield from _keys(schema, records, [name for name in top if name not in inside])
    for name, record in inside.items():
        several = "additionalProperties" in top[name]
        yield from _section(f"{name}.NAME" if several else name, record, records)


def _section(name: str, record: Mapping[str, Any], records: Mapping[str, Any]) -> Iterator[str]:
    yield f"## `[{name}]`\n\n{_plain(record['description']).replace(chr(92) + '`', '`')}\n"
    yield from _keys(record, records, record["properties"])
    for key, said in record["properties"].items():
        if inner := _record(said.get("items", {}), records):
            yield from _section(f"[{name}.{key}]", inner, records)


def _record(said: Mapping[str, Any], records: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the record of keys that a key holds, or several of; None where it holds a value."""
    more = said.get("additionalProperties")
    place = (more if isinstance(more, dict) else said).get("$ref", "").rpartition("/")[2]
    found = records.get(place, {})
    return found if "properties" in found else None


def _keys(record: Mapping[str, Any], records: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    yield "| key | takes | default |\n|---|---|---|"
    for name in names:
        said = record["properties"][name]
        if name in record.get("required", ()):
            default = "required"
        else:
            default = "none" if said.get("default") is None else f"`{json.dumps(said['default'])}`"
        yield f"| `{name}` | {_takes(said, records)} | {default} |"
    yield ""


def _takes(said: Mapping[str, Any], records: Mapping[str, Any]) -> str:
    """Return what a key takes, in words."""
    said = {**records.get(said.get("$ref", "").rpartition("/")[2], {}), **said}
    if "enum" in said:
        return " or ".join(f"`{json.dumps(choice)}`" for choice in said["enum"])
    if "anyOf" in said:
        return " or ".join(_takes(one, records) for one in said["anyOf"] if one.get("type") != "null")
    words = [_TYPES[said["type"]]]
    if "items" in said:
        words.append(f"of {said['items'].get('$ref', 'texts').rpartition('/')[2]}".replace("Config", ""))
    low, high = said.get("minimum"), said.get("maximum")
    if low is not None or high is not None:
        words.append(_bounds(low, high))
    words += [f"more than {said['exclusiveMinimum']}"] if "exclusiveMinimum" in said else []
    words += (
        [_bounds(said.get("minLength"), said["maxLength"]) + " characters"] if "maxLength" in said else []
    )
    words += [f"at most {said['maxItems']}"] if "maxItems" in said else []
    return ", ".join(words).replace("list, of", "list of")


_TYPES = {
    "array": "list",
    "boolean": "`true` or `false`",
    "integer": "whole number",
    "number": "number",
    "object": "table of texts",
    "string": "text",
}


def library() -> Iterator[str]:
    """Return directives that show what ``prefjudge`` exports, as autodoc reads it."""
    for name in prefjudge.__all__:
        if name.startswith("_"):
            continue
        kind = "autoclass" if isinstance(getattr(prefjudge, name), type) else "autofunction"
        members = "\n   :members:" if kind == "autoclass" else ""
        yield f"## {name}\n\n```{{eval-rst}}\n.. {kind}:: prefjudge.{name}{members}\n```\n"


def papers() -> Iterator[str]:
    """Return every table and figure of the papers, which are made, and the command that makes each alone."""
    known = [*map(load_paper, PAPERS)]
    yield "| paper | tables, figures, procedures | made | not made |\n|---|---:|---:|---|"
    for paper in known:
        no = [one.name for one in paper.exhibits if one.impossible]
        count = len(paper.exhibits)
        yield f"| {paper.name} | {count} | {count - len(no)} | {', '.join(no)} |"
    yield ""
    for paper in known:
        yield f"## {paper.name}\n\n{paper.citation}\n\n{paper.lead} {paper.own}\n"
        by_command: dict[str, list[str]] = {}
        for exhibit in paper.exhibits:
            words, _, file = (part.strip() for part in exhibit.command.partition("# in "))
            command, added = _ADDED.findall(words)[0]
            by_command.setdefault(command, []).append(_exhibit(exhibit, added, file))
        for command, made in by_command.items():
            yield f"```console\n$ {command}\n```\n" if command else "Not by a command:\n"
            yield from (*made, "")


_ADDED = re.compile(r"(.*?)(?: (--(?:leaderboard|common|leave-one-out|out|plot)\b.*))?$")
"""A command, and the options by which it makes one exhibit of several."""


def _exhibit(exhibit: Exhibit, added: str, file: str) -> str:
    how = ", in ".join(f"`{one}`" for one in (added, file) if one)
    why = exhibit.impossible or ("" if exhibit.command else "Made by `prefjudge reproduce` only.")
    said = [f"{exhibit.shows}.", why, exhibit.own]
    return f"- **{exhibit.name}**{how and f' ({how})'}: {' '.join(filter(None, said))}"


def codes() -> Iterator[str]:
    """Return the errors that a program may catch, and the code with which a verb ends on each."""
    yield "| error | exit code | when |\n|---|---|---|"
    for name, error in vars(errors).items():
        if isinstance(error, type) and issubclass(error, errors.PrefjudgeError):
            yield f"| `{name}` | {error.exit_code} | {(error.__doc__ or '').splitlines()[0]} |"


def http() -> Iterator[str]:
    """Return the marketplace's routes for programs, and what each does."""
    yield "| request | does |\n|---|---|"
    for method, path, act in ADMIN_ROUTES:
        yield f"| `{method} {path}` | {(act.__doc__ or '').splitlines()[0]} |"


def open_api() -> dict[str, Any]:
    """Return the same for programs: OpenAPI 3.1."""
    paths: dict[str, Any] = {}
    for method, path, act in ADMIN_ROUTES:
        named = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in re.findall(r"{(\w+)}", path)
        ]
        paths.setdefault(path, {})[method.lower()] = {
            "operationId": f"{method.lower()}{re.sub('[^a-z]+', '_', path).rstrip('_')}",
            "summary": (act.__doc__ or "").splitlines()[0],
            **({"parameters": named} if named else {}),
            "responses": {"200": {"description": "done"}, "401": {"description": "no or a wrong token"}},
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "The marketplace's admin API", "version": prefjudge.__version__},
        "security": [{"token": []}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": paths,
    }


MADE: Mapping[str, Callable[[], Iterator[str]]] = {
    "summaries": summaries,
    "verbs": verbs,
    "config": config,
    "library": library,
    "papers": papers,
    "codes": codes,
    "http": http,
}
"""What a page may name, and what makes it."""
