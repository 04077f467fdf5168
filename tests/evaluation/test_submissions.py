"""Findings of an audit, word for word, and the likeness behind them."""

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.errors import InputError
from prefjudge.evaluation.submissions import (
    Audit,
    Finding,
    Group,
    Groups,
    Rule,
    Rules,
    Submission,
    audit,
    group_submissions,
    run_likeness,
    short_name,
)
from prefjudge.show.statistics import summary_table

from .judging import make_heads


def entry(number: str, team: str = "Team A", **fields: object) -> Submission:
    day = date(int(number[:4]), int(number[4:6]), int(number[6:8]))
    values: dict[str, object] = {
        "line": 2,
        "submission_id": number,
        "date": day,
        "team": team,
        "description": number,
        "type": "full ranking",
        "dev": 0.4,
        "eval": 0.35,
    }
    return Submission(**{**values, **fields})  # type: ignore[arg-type]


def found(result: Audit, rule: Rule) -> list[Finding]:
    return [finding for finding in result.findings if finding.rule is rule]


def test_the_period_named_is_the_most_crowded_one() -> None:
    days = ("20210101-a", "20210125-b", "20210128-c", "20210210-d", "20210305-e")
    (finding,) = found(audit([entry(day) for day in days]), Rule.FREQUENCY)
    assert finding.words == (
        "Team A made 3 submissions within 30 days (2021-01-01 to 2021-01-28), 2 are allowed; "
        "4 in periods that overlap, to 2021-02-10"
    )


@given(st.lists(st.integers(0, 200), min_size=1, max_size=15), st.integers(1, 3), st.integers(1, 60))
def test_frequency_findings_cover_every_crowded_period_and_no_other(
    days: list[int], limit: int, length: int
) -> None:
    start = date(2021, 1, 1)
    entries = [
        entry(f"{start + timedelta(days=day):%Y%m%d}-n{place}x", line=place) for place, day in enumerate(days)
    ]
    result = audit(entries, rules=Rules(limit=limit, days=length))
    flagged = {name for finding in found(result, Rule.FREQUENCY) for name in finding.submissions}
    crowded = set()
    for one in entries:
        period = [other for other in entries if one.date <= other.date < one.date + timedelta(days=length)]
        if len(period) > limit:
            crowded |= {other.name for other in period}
    assert flagged == crowded
    for finding in found(result, Rule.FREQUENCY):
        assert finding.value is not None
        assert finding.value > limit


def test_baselines_anonymous_entries_and_times_before_the_rule_are_not_counted() -> None:
    crowd = ["20210101-one", "20210102-two", "20210103-three"]
    assert found(audit([entry(name, baseline=True) for name in crowd]), Rule.FREQUENCY) == []
    assert found(audit([entry(name, "anonymous") for name in crowd]), Rule.FREQUENCY) == []
    assert (
        found(audit([entry(name) for name in crowd], rules=Rules(since=date(2021, 1, 2))), Rule.FREQUENCY)
        == []
    )
    assert len(found(audit([entry(name) for name in crowd]), Rule.FREQUENCY)) == 1


def test_records_are_those_that_beat_all_earlier_ones() -> None:
    result = audit(
        [
            entry("20210101-base", eval=0.3, baseline=True),
            entry("20210102-low", eval=0.2, record=True),
            entry("20210103-first", eval=0.31, record=True),
            entry("20210104-equal", eval=0.31),
            entry("20210105-second", eval=0.4),
        ]
    )
    assert result.records == ("20210103-first", "20210105-second")
    assert result.shared_scores == 2


def test_records_of_a_day_do_not_rest_on_the_order_of_the_file() -> None:
    """Nobody knows which of a day came first: its mark is for the best of the day."""
    low, high = entry("20210101-low", eval=0.39), entry("20210101-high", eval=0.4, record=True)
    for entries in ([low, high], [high, low]):
        assert audit(entries).records == ("20210101-high",)


def test_an_id_that_two_teams_gave_lays_nothing_to_the_others_account() -> None:
    """Both entries were taken for the second team's, which was said to have submitted the same twice."""
    theirs = entry("20210101-x", "Team A", description="BM25")
    ours = entry("20210101-x", "Team B", description="BM25", date=date(2021, 1, 2), eval=0.3)
    hidden = entry("20210101-x", "Anonymous", description="BM25", date=date(2021, 1, 3), eval=0.2)
    result = audit([theirs, ours, hidden], rules=Rules(limit=1))
    assert [one.team for one in result.standings] == ["Team A", "Team B", ""]
    assert found(result, Rule.FREQUENCY) == []


def test_periods_may_reach_beyond_the_calendar() -> None:
    days = [entry(f"999912{day}-{day}") for day in ("20", "21", "30")]
    assert len(found(audit(days), Rule.FREQUENCY)) == 1
    assert len(found(audit(days, rules=Rules(days=10**18)), Rule.FREQUENCY)) == 1


def test_runs_are_reported_from_the_likeness_asked_for() -> None:
    runs = {"20210101-one": {"q1": ["a", "b", "c"]}, "20210401-two": {"q1": ["a", "d", "e"]}}
    entries = [entry("20210101-one"), entry("20210401-two")]
    (finding,) = found(audit(entries, rules=Rules(alike=0.3), heads=make_heads(runs)), Rule.TWINS)
    assert (finding.value, finding.team) == (pytest.approx(1 / 3), "Team A")
    assert not found(audit(entries, rules=Rules(alike=0.4), heads=make_heads(runs)), Rule.TWINS)


@given(st.permutations(range(6)))
def test_the_order_of_the_file_does_not_matter(order: list[int]) -> None:
    entries = [entry(f"2021010{day + 1}-run{day}x", line=day, dev=0.3 + day / 40) for day in range(6)]
    entries = [replace(one, eval=0.2 + place / 50) for place, one in enumerate(entries)]
    assert audit([entries[place] for place in order]) == audit(entries)


def test_a_leaderboard_can_be_looked_at_as_it_was() -> None:
    entries = [entry(f"2021010{day}-run{day}x", line=day, dev=day / 10, eval=day / 9) for day in range(1, 6)]
    then = audit(entries, until=date(2021, 1, 3))
    assert then == audit(entries[:3])
    with pytest.raises(InputError, match="2020-12-31 is before the first submission"):
        audit(entries, until=date(2020, 12, 31))


def test_long_names_are_cut_at_a_word() -> None:
    name = "(1) Ada Lovelace, (2) Mary Shelley, (3) Grace Hopper, (4) Emmy Noether — Somewhere (1,2)"
    assert short_name(name) == "Ada Lovelace, Mary Shelley, Grace Hopper, Emmy …"


def said(result: Audit, rule: Rule) -> list[tuple[str, tuple[str, ...], float | None, str]]:
    return [(one.team, one.submissions, one.value, one.words) for one in found(result, rule)]


def test_frequency_in_words() -> None:
    three = [entry(f"2021010{day}-{word}", description=word) for day, word in enumerate(("a", "b", "c"), 1)]
    assert said(audit(three, rules=Rules(limit=1, days=2)), Rule.FREQUENCY) == [
        (
            "Team A",
            ("20210101-a", "20210102-b", "20210103-c"),
            2.0,
            "Team A made 2 submissions within 2 days (2021-01-01 to 2021-01-02), 1 is allowed; "
            "3 in periods that overlap, to 2021-01-03",
        )
    ]
    (whole,) = found(audit(three), Rule.FREQUENCY)
    assert whole.words == (
        "Team A made 3 submissions within 30 days (2021-01-01 to 2021-01-03), 2 are allowed"
    )
    assert found(audit(three[:2]), Rule.FREQUENCY) == []


def test_twins_in_words() -> None:
    runs = {
        "20210101-a": {"q1": ["a", "b", "c"], "q2": ["d"], "q3": ["e"]},
        "20210201-b": {"q1": ["a", "b", "x"], "q2": ["d"], "q3": ["y"]},
    }
    entries = [entry("20210101-a"), entry("20210201-b", "Team B")]
    ((team, names, value, words),) = said(
        audit(entries, rules=Rules(alike=0.5), heads=make_heads(runs)), Rule.TWINS
    )
    assert (team, names) == ("", ("20210101-a", "20210201-b"))
    assert value == pytest.approx(5 / 9)
    assert words == (
        "20210101-a and 20210201-b share 55.6 % of their top documents, "
        "and the first one on 66.7 % of the queries"
    )
    unknown = audit(
        [entry("20210301-c")], heads=make_heads({"one": runs["20210101-a"], "two": runs["20210101-a"]})
    )
    assert said(unknown, Rule.TWINS) == [
        ("", ("one", "two"), 1.0, "one and two return the same documents in the same places")
    ]


def test_standings_are_ordered_by_eval_and_name_the_team_where_it_is_known() -> None:
    entries = [
        entry("20210101-a", "Ada", dev=0.2, eval=0.3),
        entry("20210102-b", "anonymous", dev=0.4, eval=0.5),
        entry("20210103-c", "Ada", dev=0.3, eval=0.3),
        entry("20210104-d", dev=None),
        entry("20210105-e", eval=None),
    ]
    result = audit(entries)
    assert [
        (row.submission, row.team, row.dev_rank, row.eval_rank, row.shift) for row in result.standings
    ] == [
        ("20210102-b", "", 1, 1, 0),
        ("20210103-c", "Ada", 2, 2, 0),
        ("20210101-a", "Ada", 3, 2, 1),
    ]
    assert result.tau == pytest.approx(2 / np.sqrt(3 * 2))  # two pairs agree, and one is tied in eval
    alone = audit(entries[:1])
    assert np.isnan(alone.tau)
    assert "Kendall's τ between dev and eval scores: not defined (1 submission has both)." in (
        summary_table(alone).notes
    )
    assert result.shared_scores == 2


def test_aliases_reach_the_audit() -> None:
    entries = [entry("20210101-a", "Ada Lovelace - ETU"), entry("20210102-b", "ADA Lovelace - ETU")]
    result = audit(entries, aliases={"20210102-b": "Mary Shelley - ETU", "ETU": "Example"})
    assert [team.name for team in result.teams] == ["Ada Lovelace - ETU", "Mary Shelley - ETU"]
    assert [place.name for place in result.institutions] == ["Example"]
    assert len(audit(entries).teams) == 1


tops = st.lists(st.sampled_from("abcdef"), unique=True, max_size=4)


@given(
    st.dictionaries(st.sampled_from("ABC"), st.dictionaries(st.sampled_from("123"), tops), min_size=2),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_likeness_is_counted_query_by_query(runs: dict[str, dict[str, list[str]]], least: float) -> None:
    if not any(top for run in runs.values() for top in run.values()):
        return
    expected = []
    names = list(runs)
    for place, a in enumerate(names):
        for b in names[place + 1 :]:
            one, other = ({query: top for query, top in runs[name].items() if top} for name in (a, b))
            queries = one.keys() | other.keys()
            both = [(one.get(query, []), other.get(query, [])) for query in queries]
            overlap = sum(len({*x} & {*y}) / max(len(x), len(y)) for x, y in both)
            first = sum(x[:1] == y[:1] for x, y in both)
            if queries and overlap / len(queries) >= least - 1e-12:
                expected.append((a, b, overlap / len(queries), first / len(queries), one == other))
    result = {(one.a, one.b): one for one in run_likeness(make_heads(runs), least=max(0.0, least - 1e-12))}
    assert set(result) == {(a, b) for a, b, *_ in expected}
    for a, b, overlap, same, identical in expected:
        pair = result[a, b]
        assert pair.overlap == pytest.approx(overlap)
        assert pair.same_top == pytest.approx(same)
        assert pair.identical is identical


def test_an_audit_says_by_which_rules() -> None:
    assert audit([entry("20210101-a")]).rules == Rules()
    assert audit([entry("20210101-a")], rules=Rules(days=7)).rules == Rules(days=7)


# Whose submissions are: by names as printed, and by what a file says that they stand for.


ENTRIES = [
    ("20210101-a", "Ada Lovelace - ETU"),
    ("20210201-b", "Some people"),
    ("20210301-c", "ADA Lovelace — Étu."),
    ("20210401-d", "anonymous"),
    ("20210501-e", "Mary Shelley, Acme & ETU"),
]


def counted(groups: tuple[Group, ...]) -> dict[str, tuple[str, ...]]:
    return {group.name: group.submissions for group in groups}


def grouped(*lines: str) -> Groups:
    return group_submissions(ENTRIES, dict(line.split("\t") for line in lines))


def test_without_a_file_names_are_what_they_are_as_printed() -> None:
    found = grouped()
    assert counted(found.teams) == {
        "Ada Lovelace - ETU": ("20210101-a", "20210301-c"),
        "Mary Shelley, Acme & ETU": ("20210501-e",),
        "Some people": ("20210201-b",),
    }
    assert found.teams[0].names == ("Ada Lovelace - ETU", "ADA Lovelace — Étu.")
    assert counted(found.institutions) == {
        "ETU": ("20210101-a", "20210301-c"),
        "Mary Shelley, Acme & ETU": ("20210501-e",),
        "Some people": ("20210201-b",),
    }
    assert found.anonymous == ("20210401-d",)
    assert found.team_of == (
        "Ada Lovelace - ETU",
        "Some people",
        "Ada Lovelace - ETU",
        "",
        found.teams[1].name,
    )


def test_a_file_says_what_submissions_teams_and_institutions_stand_for() -> None:
    found = grouped(
        "20210401-d\tGrace Hopper - ETU", "some PEOPLE\tAnonymous", "etu\tExample University",
        "Mary Shelley, Acme & ETU\tAcme; ETU",
    )  # fmt: skip
    assert counted(found.teams)["Grace Hopper - ETU"] == ("20210401-d",)
    assert counted(found.teams)["Acme; ETU"] == ("20210501-e",)
    assert found.anonymous == ("20210201-b",)
    places = counted(found.institutions)
    assert places["Example University"] == ("20210101-a", "20210301-c", "20210401-d", "20210501-e")
    assert places["Acme"] == ("20210501-e",), "a joint submission counts at each"


def test_nobody_is_taken_for_somebody_else() -> None:
    names = ["Ada Lovelace", "A. Lovelace", "Ada Lovelance", "Ada Lovelace, Mary Shelley", "Lovelace, Ada"]
    assert len(group_submissions([(f"20210101-x{name}", name) for name in names]).teams) == 5


@pytest.mark.parametrize(
    ("team", "unknown"), [("", True), ("()", True), ("Anon.", True), ("ANONYMOUS", True), ("Nobody", False)]
)
def test_who_does_not_say_who_it_is(team: str, unknown: bool) -> None:
    assert group_submissions([("a", team)]).anonymous == (("a",) if unknown else ())


def test_groups_are_ordered_by_size_and_then_by_name() -> None:
    found = group_submissions([("1", "Zoo"), ("2", "Beta"), ("3", "Alpha"), ("4", "Zoo"), ("5", "模型")])
    assert [team.name for team in found.teams] == ["Zoo", "Alpha", "Beta", "模型"]
