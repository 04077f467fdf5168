from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.runs import Heads, heads_of
from prefjudge.errors import InputError
from prefjudge.evaluation.submissions import (
    Audit,
    Finding,
    Rule,
    Rules,
    Submission,
    audit,
    run_likeness,
    short_name,
)


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


def test_two_in_thirty_days_are_allowed_and_three_are_not() -> None:
    three = audit([entry("20210101-one"), entry("20210115-two"), entry("20210130-three")])
    (finding,) = found(three, Rule.FREQUENCY)
    assert finding.value == 3
    assert (
        found(audit([entry("20210101-one"), entry("20210130-two"), entry("20210201-three")]), Rule.FREQUENCY)
        == []
    )
    assert found(audit([entry("20210101-one"), entry("20210102-two")]), Rule.FREQUENCY) == []


def test_the_first_and_the_thirty_first_day_are_not_one_period() -> None:
    entries = [entry("20210101-one"), entry("20210115-two"), entry("20210131-three")]
    assert found(audit(entries), Rule.FREQUENCY) == []
    (finding,) = found(audit(entries, rules=Rules(days=31)), Rule.FREQUENCY)
    assert finding.submissions == ("20210101-one", "20210115-two", "20210131-three")


def test_the_period_named_is_the_most_crowded_one() -> None:
    days = ("20210101-a", "20210125-b", "20210128-c", "20210210-d", "20210305-e")
    (finding,) = found(audit([entry(day) for day in days]), Rule.FREQUENCY)
    assert finding.words == (
        "Team A made 3 submissions within 30 days (2021-01-01 to 2021-01-28), 2 are allowed; "
        "4 in periods that overlap, to 2021-02-10"
    )


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": -1}, {"days": -3}, {"alike": 7.0}])
def test_rules_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    (name,) = wrong
    with pytest.raises(InputError, match=f"{name} is"):
        Rules(**wrong)  # type: ignore[arg-type]


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


def heads(tops: dict[str, dict[str, list[str]]]) -> Heads:
    runs = tuple(tops)
    queries = tuple(dict.fromkeys(query for run in tops.values() for query in run))
    docs = tuple(dict.fromkeys(doc for run in tops.values() for ranked in run.values() for doc in ranked))
    rows = [
        (runs.index(run), queries.index(query), docs.index(doc))
        for run in runs
        for query in queries
        for doc in tops[run].get(query, [])
    ]
    run, query, doc = (np.array(column, dtype=np.int32) for column in zip(*rows, strict=True))
    return heads_of(runs, queries, docs, run=run, query=query, doc=doc)


def test_runs_are_compared_by_their_top_documents() -> None:
    same = {"q1": ["a", "b"], "q2": ["c", "d"]}
    swapped = {"q1": ["b", "a"], "q2": ["c", "e"]}
    lone = {"q1": ["x", "y"]}
    pairs = run_likeness(heads({"A": same, "B": dict(same), "C": swapped, "D": lone}), least=0.5)
    assert [(pair.a, pair.b) for pair in pairs] == [("A", "B"), ("A", "C"), ("B", "C")]
    assert (pairs[0].overlap, pairs[0].same_top, pairs[0].identical) == (1.0, 1.0, True)
    assert (pairs[1].overlap, pairs[1].same_top, pairs[1].identical) == (0.75, 0.5, False)


def test_a_query_that_one_run_misses_counts_as_different() -> None:
    (pair,) = run_likeness(heads({"A": {"q1": ["a"], "q2": ["b"]}, "B": {"q1": ["a"]}}), least=0.5)
    assert (pair.overlap, pair.same_top, pair.identical) == (0.5, 0.5, False)


def test_twins_name_the_team_where_it_is_one() -> None:
    runs = {"20210101-one": {"q1": ["a"]}, "20210401-two": {"q1": ["a"]}}
    result = audit([entry("20210101-one"), entry("20210401-two")], heads=heads(runs))
    (finding,) = found(result, Rule.TWINS)
    assert finding.team == "Team A"
    assert "same documents" in finding.words
    other = audit([entry("20210101-one"), entry("20210401-two", "Team B")], heads=heads(runs))
    assert found(other, Rule.TWINS)[0].team == ""


def test_runs_are_reported_from_the_likeness_asked_for() -> None:
    runs = {"20210101-one": {"q1": ["a", "b", "c"]}, "20210401-two": {"q1": ["a", "d", "e"]}}
    entries = [entry("20210101-one"), entry("20210401-two")]
    (finding,) = found(audit(entries, rules=Rules(alike=0.3), heads=heads(runs)), Rule.TWINS)
    assert finding.value == pytest.approx(1 / 3)
    assert not found(audit(entries, rules=Rules(alike=0.4), heads=heads(runs)), Rule.TWINS)


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
