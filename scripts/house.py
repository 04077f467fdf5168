"""Measure the house, and hold it to its budget: ``scripts/house.toml``.

    scripts/check house               fails where a figure is above its budget
    python scripts/house.py           prints the figures beside their budget
    python scripts/house.py --lower   takes what is lower now as the new budget
    python scripts/house.py --where   names what the last four figures count

A budget only falls by itself: to raise one, write the figure into the file, and into the commit what users
get for it. The figures are there to be earned: files that are cut, records that turn into tuples and
parameters that hide in ``**`` make a figure green and the house worse.
"""

import ast
import json
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
BUDGET = ROOT / "scripts" / "house.toml"
SMALL = 150
"""Files of fewer lines than this are small."""
FAR = 4
"""A parameter that is handed on, unchanged, through so many functions counts."""
CARRIED = {"self", "cls", "tx", "db", "rng"}
"""What belongs to a call as such: a transaction, a generator."""
EVERYWHERE = {"json", "details", "help", "help_all"}
"""Options that every verb has."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Place = tuple[str, str]
"""A parameter of a function, which is named by its module and its own name."""


class Module(NamedTuple):
    """A file of the package."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def is_room(self) -> bool:
        """Whether it is the ``__init__`` of a folder."""
        return self.path.name == "__init__.py"

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.text.count("\n")


class Package:
    """The source of the package: who imports whom, who hands what to whom.

    Parameters
    ----------
    folder : Path
        Where it is.
    """

    def __init__(self, folder: Path) -> None:
        self.top, self.folder = folder.name, folder
        self.modules = {one.name: one for one in map(self._read, sorted(folder.rglob("*.py")))}

    def _read(self, path: Path) -> Module:
        parts = path.relative_to(self.folder.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text(encoding="utf-8")
        return Module(name, path, text, ast.parse(text))

    def imports(self, module: Module) -> Iterator[tuple[str, str, str]]:
        """Yield what a file imports of the package: its name there, the module, the name in that module."""
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom):
                for one in node.names:
                    yield one.asname or one.name, node.module or "", one.name
            elif isinstance(node, ast.Import):
                for one in node.names:
                    yield one.asname or one.name, one.name, ""

    @cached_property
    def importers(self) -> dict[str, set[str]]:
        """The files that import each file. One that a text names, as registers do, is a door: all may."""
        found: dict[str, set[str]] = defaultdict(set)
        for module in self.modules.values():
            for _, base, name in self.imports(module):
                target = f"{base}.{name}" if f"{base}.{name}" in self.modules else base
                if target in self.modules and target != module.name:
                    found[target].add(module.name)
        return found

    @cached_property
    def doors(self) -> set[str]:
        """Files that are found by their names: in a register, or beside a verb's."""
        named = re.compile(rf"[\"']({self.top}(?:\.\w+)+)(?::\w+)?[\"']")
        texts = [*(one.text for one in self.modules.values()), (ROOT / "pyproject.toml").read_text("utf-8")]
        doors = {name for text in texts for name in named.findall(text)}
        verbs = {verb.function for verb in _verbs()}
        return doors | {name for name in self.modules if name.rpartition(".")[2] in verbs}

    def lonely(self) -> list[str]:
        """Return the small files that one other file imports; verbs and doors apart."""
        return [
            f"{module.path.relative_to(self.folder.parent)} ({module.lines}): {next(iter(users))}"
            for name, module in self.modules.items()
            if len(users := self.importers[name] - {self.top}) == 1
            and not module.is_room
            and module.lines < SMALL
            and name not in self.doors
        ]

    def records(self) -> list[str]:
        """Return the classes that only hold fields: dataclasses, named tuples, typed dicts, frozen models."""
        kinds = re.compile(r"\b(dataclass|NamedTuple|TypedDict)\b")
        return [
            f"{module.name}:{node.name}"
            for module in self.modules.values()
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ClassDef)
            and any(kinds.search(ast.unparse(one)) for one in (*node.decorator_list, *node.bases))
        ]

    def loose_dicts(self) -> list[str]:
        """Return the lines that say a mapping holds anything."""
        loose = re.compile(r"\b(?:dict|Mapping)\[str, Any\]")
        return [
            f"{module.path.relative_to(self.folder.parent)}:{number}: {line.strip()}"
            for module in self.modules.values()
            for number, line in enumerate(module.text.splitlines(), 1)
            if loose.search(line)
        ]

    @cached_property
    def functions(self) -> dict[str, Function]:
        """Functions by ``MODULE:NAME``, methods by ``MODULE:CLASS.NAME``."""
        found: dict[str, Function] = {}
        for module in self.modules.values():
            for node in module.tree.body:
                for one in [node, *node.body] if isinstance(node, ast.ClassDef) else [node]:
                    if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
                        found[f"{module.name}:{owner}{one.name}"] = one
        return found

    @cached_property
    def methods(self) -> dict[str, list[str]]:
        """Methods by their bare names: a call is followed where one class alone has the name."""
        found: dict[str, list[str]] = defaultdict(list)
        for name in self.functions:
            owner, _, method = name.partition(":")[2].rpartition(".")
            if owner:
                found[method].append(name)
        return found

    def _called(self, module: Module, names: dict[str, str], call: ast.Call, owner: str) -> str | None:
        """Return the function or the class that a call calls, if it is one of the package."""
        if isinstance(call.func, ast.Name):
            return names.get(call.func.id, f"{module.name}:{call.func.id}")
        if not isinstance(call.func, ast.Attribute):
            return None
        value, method = call.func.value, call.func.attr
        if isinstance(value, ast.Name) and value.id in ("self", "cls") and owner:
            return f"{module.name}:{owner}.{method}"
        if isinstance(value, ast.Name) and names.get(value.id, "").rstrip(":") in self.modules:
            return f"{names[value.id].rstrip(':')}:{method}"
        alone = self.methods.get(method, [])
        return alone[0] if len(alone) == 1 else None

    def _meanings(self, module: Module) -> dict[str, str]:
        """Return what a file's imported names stand for, through the rooms that pass them on."""
        return {here: self._home(base, name) for here, base, name in self.imports(module)}

    def _home(self, base: str, name: str) -> str:
        if f"{base}.{name}" in self.modules:
            return f"{base}.{name}:"
        room = self.modules.get(base)
        if room is not None and room.is_room:
            for here, deeper, there in self.imports(room):
                if here == name and deeper.startswith(self.top) and deeper != base:
                    return self._home(deeper, there)
        return f"{base}:{name}"

    @cached_property
    def handed(self) -> dict[Place, set[Place]]:
        """Where each parameter is handed on to, unchanged."""
        edges: dict[Place, set[Place]] = defaultdict(set)
        for module in self.modules.values():
            names = self._meanings(module)
            for name in [one for one in self.functions if one.startswith(f"{module.name}:")]:
                function = self.functions[name]
                owner = name.partition(":")[2].rpartition(".")[0]
                own = {*_parameters(function)} - _assigned(function)
                for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
                    target = self._called(module, names, call, owner)
                    for parameter, word in _given(call, self._words(target)):
                        if target and parameter in own:
                            edges[name, parameter].add((target, word))
        return edges

    def _words(self, target: str | None) -> list[str]:
        function = self.functions.get(target or "") or self.functions.get(f"{target}.__init__")
        return _parameters(function) if function else []

    def chains(self) -> list[str]:
        """Return where parameters start that are handed on through four functions or more."""
        starts = self.handed.keys() - {place for places in self.handed.values() for place in places}
        depths: dict[Place, int] = {}

        def depth(place: Place, above: frozenset[Place]) -> int:
            if place in above:
                return 0
            if place not in depths:
                below = [depth(one, above | {place}) for one in self.handed.get(place, ())]
                depths[place] = 1 + max(below) if below else 0
            return depths[place]

        far = [(depth(place, frozenset()), place) for place in starts if place[1] not in CARRIED]
        return [
            f"{name} hands on {word}: {steps}"
            for steps, (name, word) in sorted(far, reverse=True)
            if steps >= FAR
        ]


def _parameters(function: Function) -> list[str]:
    given = function.args
    return [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs) if one.arg not in CARRIED]


def _assigned(function: Function) -> set[str]:
    return {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _given(call: ast.Call, words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the bare names that a call hands on, each with the parameter that takes it."""
    for place, value in enumerate(call.args):
        if isinstance(value, ast.Name) and place < len(words):
            yield value.id, words[place]
    for one in call.keywords:
        if isinstance(one.value, ast.Name) and one.arg:
            yield one.value.id, one.arg


def _verbs() -> tuple:  # type: ignore[type-arg]
    from prefjudge import VERBS

    return VERBS


def options() -> list[str]:
    """Return the options that the verbs' help shows, ``VERB --NAME``, without those of every verb."""
    from prefjudge.cli.commands import command_of

    return [
        f"{verb.name} {one.opts[0]}"
        for verb in _verbs()
        for one in command_of(verb).params
        if one.opts[0].startswith("--") and not one.hidden and one.name not in EVERYWHERE
    ]


def keys() -> int:
    """Return how many keys of ``study.toml`` hold a value; tables that a user names count once."""
    from prefjudge.study.config import StudyConfig

    schema = StudyConfig.model_json_schema()

    def leaves(node: dict) -> int:  # type: ignore[type-arg]
        if "$ref" in node:
            return leaves(schema["$defs"][node["$ref"].rpartition("/")[2]])
        if len(node.get("allOf", ())) == 1:
            return leaves(node["allOf"][0])
        if node.get("properties"):
            return sum(map(leaves, node["properties"].values()))
        more = node.get("additionalProperties")
        return leaves(more) if isinstance(more, dict) else 1

    return leaves(schema)


def _lines(*folders: str) -> int:
    return sum(
        path.read_text("utf-8").count("\n") for one in folders for path in sorted((ROOT / one).rglob("*.py"))
    )


def figures(package: Package) -> dict[str, int]:
    """Return every figure by its name in ``house.toml``."""
    shown = options()
    return {
        "lines": sum(one.lines for one in package.modules.values()),
        "files": len(package.modules),
        "verbs": len(_verbs()),
        "options": len(shown),
        "option_names": len({one.partition(" ")[2] for one in shown}),
        "config_keys": keys(),
        "small_files_of_one_importer": len(package.lonely()),
        "records": len(package.records()),
        "loose_dicts": len(package.loose_dicts()),
        "far_parameters": len(package.chains()),
        "test_lines": _lines("tests"),
        "script_lines": _lines("scripts"),
        "doc_words": sum(len(path.read_text("utf-8").split()) for path in (ROOT / "docs").rglob("*.md")),
    }


def main(arguments: list[str]) -> int:
    """Print the figures beside their budget; return 1 where one is above it."""
    package = Package(ROOT / "prefjudge")
    if "--where" in arguments:
        for found in (package.lonely(), package.records(), package.loose_dicts(), package.chains()):
            print("\n".join(found), end="\n\n")
        return 0
    now, text = figures(package), BUDGET.read_text("utf-8")
    budget = tomllib.loads(text)["budget"]
    if "--json" in arguments:
        print(json.dumps(now))
        return 0
    above = [name for name, figure in now.items() if figure > budget[name]]
    for name, figure in now.items():
        word = "ABOVE" if name in above else "lower: --lower keeps it" if figure < budget[name] else ""
        print(f"{name:<28}{figure:>8,}{budget[name]:>10,}  {word}".rstrip())
    if "--lower" in arguments:
        for name in now.keys() - above:
            text = re.sub(rf"^{name} = \d+", f"{name} = {now[name]}", text, flags=re.MULTILINE)
        BUDGET.write_text(text, "utf-8")
    if above:
        print(
            "A rise needs its reason: what users get, in the commit that writes it into scripts/house.toml."
        )
    return int(bool(above))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
