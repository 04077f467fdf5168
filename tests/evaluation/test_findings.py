"""Findings of an audit, word for word, and the likeness behind them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.evaluation.submissions import Audit, Rule, Rules, audit, run_likeness
from prefjudge.show.statistics import summary_table

from .test_submissions import entry, found, heads


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


def test_twins_in_words() -> None:
    runs = {
        "20210101-a": {"q1": ["a", "b", "c"], "q2": ["d"], "q3": ["e"]},
        "20210201-b": {"q1": ["a", "b", "x"], "q2": ["d"], "q3": ["y"]},
    }
    entries = [entry("20210101-a"), entry("20210201-b", "Team B")]
    ((team, names, value, words),) = said(
        audit(entries, rules=Rules(alike=0.5), heads=heads(runs)), Rule.TWINS
    )
    assert (team, names) == ("", ("20210101-a", "20210201-b"))
    assert value == pytest.approx(5 / 9)
    assert words == (
        "20210101-a and 20210201-b share 55.6 % of their top documents, "
        "and the first one on 66.7 % of the queries"
    )
    unknown = audit(
        [entry("20210301-c")], heads=heads({"one": runs["20210101-a"], "two": runs["20210101-a"]})
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
    result = {(one.a, one.b): one for one in run_likeness(heads(runs), least=max(0.0, least - 1e-12))}
    assert set(result) == {(a, b) for a, b, *_ in expected}
    for a, b, overlap, same, identical in expected:
        pair = result[a, b]
        assert pair.overlap == pytest.approx(overlap)
        assert pair.same_top == pytest.approx(same)
        assert pair.identical is identical


def test_an_audit_says_by_which_rules() -> None:
    assert audit([entry("20210101-a")]).rules == Rules()
    assert audit([entry("20210101-a")], rules=Rules(days=7)).rules == Rules(days=7)
