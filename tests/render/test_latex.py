"""LaTeX that a real TeX compiles, whatever run tags contain."""

import pytest

from prefjudge.show.cells import Bold, Column, Table
from prefjudge.show.tables import COLUMN, LONG, TEXT, escape_latex, to_latex
from tests.render.tex import TEX, overfull

TAGS = (
    r"all_of%them&$#{}~^\ ",
    'a--b-c-––d `c\' "d" <e|f>',
    "café Łódź Ÿ ř ß ą ð «x» μ",
    "検索🙂\ud83dé\x00",
    "-0.5 – … · ± τ ≥ ≤ × − Δ",
    "[1]*",
    "x" * 300,
)


def table(rows: int) -> Table:
    tags = [f"{TAGS[number % len(TAGS)]} {number}" for number in range(rows)]
    columns = (Column(name="run"), Column(name=TAGS[0], kind="number"), Column(name="p", kind="p"))
    return Table(
        title=" ".join(TAGS[:-1]),
        columns=columns,
        rows=tuple((tag, Bold(-0.5), None) for tag in tags),
        notes=TAGS[:-1],
        provenance={"order\nof it": "score\n\\end"},
    )


def test_a_long_board_goes_over_pages_and_a_short_one_does_not() -> None:
    assert r"\begin{table*}" in to_latex(table(LONG))
    long = to_latex(table(LONG + 1))
    assert r"\begin{longtable}{lrr}" in long
    assert r"\begin{table}" not in long
    assert long.count(r"\endhead") == 1


def matrix(rows: int, width: int = 12) -> Table:
    columns = (Column(name="run"), *(Column(name=str(n), kind="percent", digits=1) for n in range(width)))
    return Table(title="t", columns=columns, rows=(("p_bm25rm3_rerank", *[0.625] * width),) * rows)


def test_a_matrix_is_set_small_and_nothing_after_it() -> None:
    assert r"\footnotesize" in to_latex(matrix(3)).split(r"\begin{tabular}")[0]
    long = to_latex(matrix(LONG + 1))
    assert long.splitlines()[2].startswith(r"{\footnotesize")
    assert long.rstrip().endswith("}")


def test_letters_that_a_first_font_lacks_are_written_as_codes() -> None:
    assert escape_latex("é検ą") == "éU+691CU+0105"
    assert escape_latex("…") == r"\ldots{}"


def test_hyphens_stay_hyphens_and_one_alone_is_plain() -> None:
    assert escape_latex("ql-dirichlet – a--b-–c") == "ql-dirichlet -- a{-}{-}b{-}{--}c"


def test_it_names_the_packages_and_its_notes_are_sentences() -> None:
    plain = to_latex(
        Table(title="t", columns=(Column(name="run"),), rows=(), notes=("rehearsal", "All of it."))
    )
    assert plain.splitlines()[0] == r"% needs \usepackage{booktabs,textcomp}"
    assert "rehearsal. All of it.}" in plain
    assert "{booktabs,longtable,textcomp}" in to_latex(table(LONG + 1)).splitlines()[0]


@pytest.mark.skipif(TEX is None, reason="there is no pdflatex with booktabs here")
def test_a_real_tex_sets_it() -> None:
    hostile = overfull([to_latex(table(5)), to_latex(table(2 * LONG))], COLUMN, TEXT)
    assert [one for one in hostile if not one.startswith("Overfull")] == [], (
        "a tag of 300 letters fits nowhere"
    )
    assert overfull([to_latex(matrix(12)), to_latex(matrix(2 * LONG))], COLUMN, TEXT) == []
    assert overfull([narrow := to_latex(matrix(17, 17), 345, 345)], 345, 345) == []
    assert " & 62 & " in narrow, "a share of so many is a whole number"
    assert "Overfull" in overfull([to_latex(matrix(12), column=TEXT)], COLUMN, TEXT)[0], "so it can fail"
