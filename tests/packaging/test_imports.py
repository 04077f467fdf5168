"""What import-linter cannot see: modules that are named by a text, and imported when they are asked for."""

import ast
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grimp
import networkx

import prefjudge

PACKAGE = Path(prefjudge.__file__).parent
FACES = {
    "prefjudge",  # the verbs
    "prefjudge.crowd.crowds",  # what stands in for a platform
    "prefjudge.reading.lines",
    "prefjudge.reading.texts.texts",
    "prefjudge.reading.votes.votes",
}
"""Where a module is named by a text: the registers, which other packages add to in the same way."""


def named(modules: set[str]) -> set[tuple[str, str]]:
    """Return who names which module by a text, ``MODULE`` or ``MODULE:NAME``."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        if '"prefjudge.' not in text:
            continue
        by = ".".join(("prefjudge", *path.relative_to(PACKAGE).with_suffix("").parts))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                module = node.value.partition(":")[0]
                if module in modules and not is_package(module):
                    found.add((by.removesuffix(".__init__"), module))
    return found


def is_package(module: str) -> bool:
    """Tell a room: its name is also that of a logger, of resources or, in ``crowds.py``, of a crowd."""
    return PACKAGE.joinpath(*module.split(".")[1:]).is_dir()


def test_modules_that_are_named_by_a_text_close_no_circle() -> None:
    graph = grimp.build_graph("prefjudge", cache_dir=None)
    arrows = networkx.DiGraph(
        (by, module) for by in graph.modules for module in graph.find_modules_directly_imported_by(by)
    )
    with ThreadPoolExecutor(1) as thread:  # the main one may be a browser's, where parsing loses its depth
        texts = thread.submit(named, graph.modules).result()
    assert {by for by, _ in texts} == FACES
    arrows.add_edges_from(texts)
    assert [
        sorted(circle) for circle in networkx.strongly_connected_components(arrows) if len(circle) > 1
    ] == []


def test_the_first_line_of_every_file_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []


def test_the_page_on_the_architecture_names_every_room() -> None:
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text()
    words = set(re.findall(r"[a-z_]+", page))
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    rooms |= {path.parent.name for path in PACKAGE.glob("*/*/__init__.py") if path.parents[1].name != "steps"}
    assert rooms - words == set()


def test_the_pages_on_the_code_name_files_that_are_there() -> None:
    root = PACKAGE.parent
    for page in ("docs/architecture.md", "CONTRIBUTING.md"):
        named = re.findall(r"`([a-z_]+/[a-z_/]*)(?:\.py)?`", (root / page).read_text())
        places = [name for name in named if name not in {"a/b", "left/right", "winner/loser", "build/docs"}]
        gone = [
            name
            for name in places
            if not any(found for start in (root, PACKAGE) for found in start.glob(f"{name.rstrip('/')}*"))
        ]
        assert places
        assert gone == []
