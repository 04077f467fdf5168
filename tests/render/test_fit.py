"""Tables on a narrow screen: what gives way, and what never does."""

from hypothesis import given
from hypothesis import strategies as st

from prefjudge.show.cells import LONGEST, NARROWEST, Bold, Column, Table, shorten
from prefjudge.show.tables import render_table, render_terminal

TAGS = [f"a_team_of_some_university_with_a_very_long_name_run_{number}_of_24" for number in range(24)]
BOARDS = Table(
    title="Leaderboards",
    columns=(
        Column(name="run", priority=0),
        *(
            column
            for number in (1, 2, 3)
            for column in (
                Column(name=f"score_{number}", head=f"RR@10 labels_{number}", kind="number"),
                Column(name=f"half_{number}", head="±", kind="number", priority=3),
                Column(name=f"rank_{number}", head="rank", kind="integer", priority=2),
            )
        ),
    ),
    rows=tuple(
        (tag, *[Bold(0.5) if place % 2 else 0.25, 0.1234, place] * 3) for place, tag in enumerate(TAGS)
    ),
    notes=("Means over the judged queries.",),
)


def lines(table: Table, width: int | None) -> list[str]:
    return render_terminal(table, width=width).splitlines()


def test_columns_give_way_by_priority_and_a_line_says_so() -> None:
    wide, usual, narrow = lines(BOARDS, 160), lines(BOARDS, 80), lines(BOARDS, 60)
    assert "Fitted" not in "".join(wide)
    assert TAGS[7] in wide[10]
    assert "Fitted to 80 columns: without ±; long names shortened." in " ".join(usual)
    assert "without ±, rank;" in " ".join(narrow)
    assert all(len(line) <= 60 for line in narrow)


def test_columns_that_are_always_shown_go_on_below() -> None:
    matrix = Table(
        title="Win ratios",
        columns=(
            Column(name="of", priority=0),
            *(Column(name=str(n), kind="percent", digits=1) for n in range(24)),
        ),
        rows=tuple((tag, *[0.5] * 24) for tag in TAGS),
    )
    shown = lines(matrix, 80)
    assert "the columns continue below" in " ".join(shown)
    heads = [line.split() for line in shown if line.startswith("of ")]
    assert [name for head in heads for name in head[1:]] == [str(number) for number in range(24)]
    assert sum(line.startswith("a_team") for line in shown) == 24 * len(heads)


def test_no_form_for_people_prints_a_tag_of_thousands_of_characters_and_data_do() -> None:
    tag = "x" * 4_000
    table = Table(title=tag, columns=(Column(name="run"),), rows=((tag,),), notes=(tag,))
    for form in ("terminal", "md", "tex"):
        assert max(map(len, render_table(table, form).split())) < 2 * LONGEST, form
    for form in ("csv", "json"):
        assert tag in render_table(table, form)


def test_wide_characters_take_two_places() -> None:
    from rich.cells import cell_len

    table = Table(
        title="t", columns=(Column(name="run"), Column(name="n", kind="integer")), rows=(("検索" * 40, 1),)
    )
    assert all(cell_len(line) <= 60 for line in lines(table, 60))


@given(
    st.lists(st.text("ab_1検", min_size=1, max_size=40), min_size=1, max_size=12, unique=True),
    st.integers(8, 30),
)
def test_words_that_differ_still_differ_when_they_are_short(words: list[str], width: int) -> None:
    from rich.cells import cell_len

    short = shorten(words, width)
    shown = [short.get(word, word) for word in words]
    assert len(set(shown)) == len(words)
    assert all(cell_len(word) <= width for word in shown)


@given(
    st.lists(st.tuples(st.text("abc_ ", max_size=60), st.floats(-1e6, 1e6)), min_size=1, max_size=4),
    st.integers(2, 12),
    st.integers(NARROWEST, 130),
)
def test_no_line_is_too_long_and_no_number_is_broken(
    rows: list[tuple[str, float]], columns: int, width: int
) -> None:
    names = tuple(
        Column(name=f"n{number}", kind="number", priority=number % 4) for number in range(1, columns)
    )
    table = Table(
        title="t",
        columns=(Column(name="text", priority=0), *names[:3]),
        rows=tuple((text, *[value] * len(names[:3])) for text, value in rows),
    )
    shown = lines(table, width)
    assert all(len(line) <= width for line in shown)
    assert all(any(f"{value:.4f}".lstrip("-") in line for line in shown) for _, value in rows)
