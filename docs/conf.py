"""Sphinx's settings. The pages of the reference are made from the code as they are read: ``from_code.py``."""

import json
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

import from_code

from prefjudge import __version__

project = "prefjudge"
author = "the authors of prefjudge"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["notebooks"]
suppress_warnings = ["misc.highlighting_failure"]  # Pygments takes no quote over two lines in a console
smartquotes = False  # would make a dash of an option's two
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
autodoc_typehints = "none"  # the docstrings name the types, in fewer words
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"
# A contrast of 7 to 1 or more, where the theme has less.
_LIGHT = dict.fromkeys(("foreground-secondary", "foreground-muted"), "#484f5a") | {
    **dict.fromkeys(("brand-primary", "brand-content", "brand-visited", "problematic"), "#194e9f"),
}
_DARK = dict.fromkeys(("foreground-secondary", "foreground-muted"), "#b5bdca") | {
    **dict.fromkeys(("brand-primary", "brand-content", "brand-visited", "problematic"), "#98bdf9"),
}
html_theme_options = {
    f"{scheme}_css_variables": {f"color-{name}": color for name, color in colors.items()}
    for scheme, colors in (("light", _LIGHT), ("dark", _DARK))
}
html_title = "prefjudge"
html_copy_source = False
html_use_index = False
html_math_renderer = "mathml"  # MathJax would be fetched from elsewhere by each reader

man_pages = [
    ("reference/verbs", "prefjudge", "preference qrels by side-by-side judgments", author, 1),
    ("reference/config", "prefjudge-study.toml", "the config of a study", author, 5),
]


def setup(app: Sphinx) -> None:
    """Fill the pages of the reference from the code."""
    app.connect("source-read", from_code.fill)
    app.connect("build-finished", write_open_api)
    app.connect("build-finished", name_for_all)
    app.add_html_math_renderer("mathml", (inline_math, None), (block_math, None))


def inline_math(page: Any, node: nodes.Element) -> None:
    """Write a formula in a line as browsers show it by themselves."""
    page.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def block_math(page: Any, node: nodes.Element) -> None:
    """Write a formula on lines of its own."""
    formula = tex2mathml(node.astext()).replace("<math", '<math display="block"', 1)
    page.body.append(f'<div class="math">{formula}</div>')
    raise nodes.SkipNode


def write_open_api(app: Sphinx, error: Exception | None) -> None:
    """Write the marketplace's routes beside the site, for programs."""
    if error is None and app.builder.name == "html":
        text = json.dumps(from_code.open_api(), indent=1)
        Path(app.outdir, "openapi.json").write_text(text + "\n", encoding="utf-8")


_REGIONS = {"Table": '<div class="table-wrapper', "Formula": '<div class="math-wrapper'}
_NAMED = (
    ('role="heading"', 'role="heading" aria-level="2"'),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="All pages">'),
    ('<aside class="toc-drawer', '<aside aria-label="This page" class="toc-drawer'),
    ("<pre>", '<pre tabindex="0">'),
    ('<div id="search-results">', '<h1>Search</h1><div id="search-results">'),
)


def name_for_all(app: Sphinx, error: Exception | None) -> None:
    """Write into the pages what the theme leaves out for those who hear them, or have no mouse."""
    if error is None and app.builder.name == "html":
        for path in Path(app.outdir).rglob("*.html"):
            text = path.read_text(encoding="utf-8")
            for was, now in _NAMED:
                text = text.replace(was, now)
            for name, div in _REGIONS.items():
                first, *rest = text.split(div)
                named = (
                    f'<div tabindex="0" role="region" aria-label="{name} {number}"{div[4:]}{part}'
                    for number, part in enumerate(rest, 1)
                )
                text = first + "".join(named)
            path.write_text(text, encoding="utf-8")
