"""Each key of a study's config is read somewhere: one that nothing obeys is a promise that nobody keeps."""

import ast
from pathlib import Path

import pytest
from pydantic import BaseModel

import prefjudge
from prefjudge.study.config import StudyConfig, TargetConfig

CODE = Path(prefjudge.__file__).parent
SECTIONS: dict[str, type[BaseModel]] = {
    name: field.annotation
    for name, field in StudyConfig.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
} | {"targets": TargetConfig}
KEYS = {(name,) for name in StudyConfig.model_fields} | {
    (section, key) for section, model in SECTIONS.items() for key in model.model_fields
}
Place = tuple[str, ...]


def declared(annotation: ast.expr | None) -> Place | None:
    """Return where in the config a value is that is declared to be a section of it."""
    kind = ast.unparse(annotation).strip("'\"") if annotation else ""
    known = {model.__name__: (section,) for section, model in SECTIONS.items()} | {"StudyConfig": ()}
    return next((known[one] for one in kind.split(" | ") if one in known), None)


class Reads(ast.NodeVisitor):
    """Follows a config through a module, by what its names were given: ``design = study.config.design``."""

    def __init__(self) -> None:
        self.names: dict[str, Place] = {}
        self.attributes: dict[str, Place] = {"config": ()}
        self.returned: dict[str, list[Place | None]] = {}
        self.found: set[Place] = set()

    def place(self, node: ast.expr) -> Place | None:
        """Return where in the config an expression is: () is its top."""
        match node:
            case ast.Name(id=name):
                return self.names.get(name)
            case ast.Attribute(attr="_raw_config"):
                return ()
            case ast.Attribute(value=value, attr=name):
                within = self.place(value)
                if within is not None and len(within) < 2:
                    return (*within, name)
                return self.attributes.get(name)
            case ast.Call(func=ast.Attribute(value=value, attr="target")) if self.place(value) == ():
                return ("targets",)
            case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[key, *_]):
                within = self.place(value)
                if within == () and isinstance(key, ast.Constant):
                    return (str(key.value),)
                return within if within == ("targets",) else None
            case ast.BoolOp(values=[first, *_]):
                return self.place(first)
            case ast.IfExp(body=body, orelse=other):
                return self.place(body) or self.place(other)
        return None

    def visit_arg(self, node: ast.arg) -> None:
        if (place := declared(node.annotation)) is not None:
            self.names[node.arg] = place

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        match node.returns:
            case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=kinds)):
                self.returned[node.name] = [declared(kind) for kind in kinds]
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        pairs: list[tuple[ast.expr, Place | None]]
        match node.targets[0], node.value:
            case ast.Tuple(elts=names), ast.Tuple(elts=values):
                pairs = [(name, self.place(value)) for name, value in zip(names, values, strict=True)]
            case ast.Tuple(elts=names), ast.Call(func=ast.Name(id=function)) if function in self.returned:
                pairs = list(
                    zip(names, self.returned[function], strict=False)
                )  # tuple[str, ...] has two, too
            case target, value:
                pairs = [(target, self.place(value))]
        for name, place in pairs:
            if place is not None and isinstance(name, ast.Name):
                self.names[name.id] = place
            if place is not None and isinstance(name, ast.Attribute):
                self.attributes[name.attr] = place
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit_Assign(ast.Assign([node.target], node.value))

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.Attribute | ast.Call) and (place := self.place(node)):
            self.found.add(place)
        super().generic_visit(node)


def reads(code: str) -> set[Place]:
    """Return the keys that a module reads."""
    found = Reads()
    tree = ast.parse(code)
    found.visit(tree)  # once for the names, once for what is done with them
    found.visit(tree)
    return found.found & KEYS


def test_reads_are_found() -> None:
    code = """
def workers() -> tuple[Study, WorkersConfig]: ...
def f(study, hit: HitConfig):
    _, people = workers()
    pool, fees = study.config.pool, study.config.fees
    self._design: Any = study.config.design
    target = study.config.targets.get(name)
    other.live, people.unknown
    print(pool.depth, fees, self._design.question, hit.reward)
    return target.url, people.locales, study._raw_config.get("id")
"""
    sections = {(name,) for name in SECTIONS}
    assert reads(code) - sections == {
        ("pool", "depth"), ("design", "question"), ("hit", "reward"), ("targets", "url"),
        ("workers", "locales"), ("id",),
    }  # fmt: skip


@pytest.fixture(scope="module")
def read() -> set[Place]:
    files = [path for path in CODE.rglob("*.py") if path != CODE / "study" / "config.py"]
    return set().union(*(reads(path.read_text(encoding="utf-8")) for path in files))


@pytest.mark.parametrize("key", sorted(KEYS), ids=".".join)
def test_each_key_of_the_config_is_read(key: Place, read: set[Place]) -> None:
    assert key in read, f"nothing reads {'.'.join(key)}: obey it, or take it out of the config"
