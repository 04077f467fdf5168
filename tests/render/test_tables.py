import csv
import io
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.errors import InputError
from prefjudge.show.cells import Bold, Column, Kind, Table, write_cell
from prefjudge.show.tables import render_table, render_terminal, to_csv, to_json, to_markdown, to_records

TABLE = Table(
    title="Leaderboard: RR@10 & more",
    columns=(
        Column(name="run", head="Run"),
        Column(name="score", head="RR@10", kind="number"),
        Column(name="p", kind="p", digits=3),
        Column(name="cost", kind="money"),
    ),
    rows=(
        ("p_bm25|x", Bold(0.5), 0.0001, Decimal("2.40")),
        ("50%_{off}\\", -0.00001, float("nan"), None),
    ),
    notes=("Ties go to doc_id descending.",),
    provenance={"order": "score"},
)


@pytest.mark.parametrize(
    ("value", "kind", "digits", "words"),
    [
        (0.49312, "percent", 1, "49.3%"),
        (1234567, "integer", 0, "1,234,567"),
        (-0.00001, "number", 4, "0.0000"),
        (-0.5, "number", 1, "-0.5"),
        (0.0, "p", 3, "<0.001"),
        (0.05, "p", 3, "0.050"),
        (Decimal("-3.5"), "money", 0, "-$3.50"),
        (True, "flag", 0, "yes"),
        (None, "number", 4, "–"),
        (float("nan"), "percent", 1, "–"),
    ],
)
def test_cells_are_written_by_kind(value: object, kind: Kind, digits: int, words: str) -> None:
    assert write_cell(value, Column(name="x", kind=kind, digits=digits)) == words  # type: ignore[arg-type]


def test_a_short_row_is_refused() -> None:
    with pytest.raises(ValueError, match=r"row 1 .* has 1 cells for 2"):
        Table(title="t", columns=(Column(name="a"), Column(name="b")), rows=(("x",),))


def test_columns_that_share_a_name_are_refused() -> None:
    with pytest.raises(ValueError, match="share a name"):
        Table(title="t", columns=(Column(name="a"), Column(name="a")), rows=())


def test_markdown_whole() -> None:
    assert to_markdown(TABLE) == (
        "**Leaderboard: RR@10 & more**\n\n"
        "| Run | RR@10 | p | cost |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| p\\_bm25\\|x | **0.5000** | \\<0.001 | $2.40 |\n"
        "| 50%\\_{off}\\\\ | 0.0000 | – | – |\n\n"
        "Ties go to doc\\_id descending.\n\n"
        "order: score\n"
    )


def test_latex_whole() -> None:
    assert render_table(TABLE, ".tex").splitlines() == [
        r"% needs \usepackage{booktabs,textcomp}",
        "% order: score",
        r"\begin{table}",
        r"\centering",
        r"\caption{Leaderboard: RR@10 \& more}",
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"Run & RR@10 & p & cost \\",
        r"\midrule",
        r"p\_bm25\textbar{}x & \textbf{0.5000} & \textless{}0.001 & \$2.40 \\",
        r"50\%\_\{off\}\textbackslash{} & 0.0000 & -- & -- \\",
        r"\bottomrule",
        r"\end{tabular}",
        "",
        r"\smallskip",
        r"\parbox{\linewidth}{\footnotesize Ties go to doc\_id descending.}",
        r"\end{table}",
    ]


def test_data_keep_full_precision_and_lose_nan() -> None:
    assert to_records(TABLE)[0] == {"run": "p_bm25|x", "score": 0.5, "p": 0.0001, "cost": "2.40"}
    whole = json.loads(to_json(TABLE))
    assert whole["rows"][1]["p"] is None
    assert whole["provenance"] == {"order": "score"}


def test_terminal_shows_everything_and_obeys_no_escape_codes() -> None:
    hostile = Table(title="t", columns=(Column(name="run"),), rows=(("\x1b[31m[bold]red[/bold]",),))
    words = render_terminal(hostile)
    assert "\x1b" not in words
    assert "[bold]red[/bold]" in words
    plain = render_terminal(TABLE)
    assert "0.5000*" in plain
    assert "order score" in plain


def test_unknown_form_is_refused() -> None:
    with pytest.raises(InputError, match="terminal, csv, json, md, tex"):
        render_table(TABLE, "xlsx")


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"]), min_size=1),
            st.floats(allow_nan=False),
        ),
        min_size=1,
    )
)
def test_csv_reads_back(rows: list[tuple[str, float]]) -> None:
    table = Table(
        title="t", columns=(Column(name="run"), Column(name="score", kind="number")), rows=tuple(rows)
    )
    read = list(csv.DictReader(io.StringIO(to_csv(table), newline="")))
    assert [row["run"] for row in read] == [run for run, _ in rows]
    for row, (_, score) in zip(read, rows, strict=True):
        assert row["score"] == "" if score in (float("inf"), float("-inf")) else float(row["score"]) == score
