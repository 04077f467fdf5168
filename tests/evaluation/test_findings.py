"""Findings of an audit, word for word, and the likeness behind them."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.evaluation.submissions import Audit, Finding, Rule, Rules, audit, run_likeness
from prefjudge.show.statistics import summary_table

from .test_submissions import OURS, entry, found, heads


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


def test_our_own_rules_in_words() -> None:
    entries = [
        entry("20200101-x", "anonymous", line=1, eval=0.5),
        entry("20200102-a", "Ada Lovelace - Somewhere", line=2, eval=0.4, record=True),
        entry("20200102-a", "ADA Lovelace - Somewhere", line=3, eval=0.6),
        entry("20200103-b", "Team B", line=4, type="reraking", eval=None, record=True),
        entry("20200104-c", "Team C", line=5, date=date(2020, 1, 5)),
        entry("20200106", "Team D", line=6, submission_id=""),
    ]
    result = audit(entries, rules=Rules(ours=True, embargo_months=1), as_of=date(2020, 2, 2))
    anonymous = "20200101-x is still anonymous 2 days after its embargo of 1 month ended on 2020-01-31"
    assert said(result, Rule.EMBARGO) == [("", ("20200101-x",), 2.0, anonymous)]
    names = ("Ada Lovelace - Somewhere", "ADA Lovelace - Somewhere")
    assert said(result, Rule.RECORD) == [
        ("anonymous", ("20200101-x",), 0.5, "20200101-x beat all earlier ones, but is not marked (0.5)"),
        (
            names[0],
            ("20200102-a",),
            0.4,
            "20200102-a is marked as the best of its day but another by then scores as well (0.4)",
        ),
        (names[1], ("20200102-a",), 0.6, "20200102-a beat all earlier ones, but is not marked (0.6)"),
        (
            "Team B",
            ("20200103-b",),
            None,
            "20200103-b is marked as the best of its day but another by then scores as well (no score)",
        ),
    ]
    assert said(result, Rule.METADATA) == [
        ("", ("20200106 (line 6)",), 1.0, "1 submission has no id"),
        (names[1], ("20200102-a",), None, "20200102-a is the id of lines 2 and 3"),
        (
            "Team B",
            ("20200103-b",),
            None,
            "20200103-b has the type 'reraking'; known are full ranking and reranking",
        ),
        ("Team B", ("20200103-b",), None, "20200103-b has no eval score"),
        ("Team C", ("20200104-c",), None, "20200104-c is dated 2020-01-05"),
    ]
    assert (result.first, result.last, result.as_of) == (date(2020, 1, 1), date(2020, 1, 6), date(2020, 2, 2))
    assert audit(entries).as_of == date(2020, 1, 6)
    assert (result.anonymous, result.records) == (("20200101-x",), ("20200101-x", "20200102-a"))


def fallen(gap: float, others: int) -> list[Finding]:
    """What is said of an entry that falls by ``gap`` where others fall by .01 to .03."""
    entries = [
        entry(f"2021010{day}-n{day}x", dev=0.5 + (1 + day % 3) / 100, eval=0.5)
        for day in range(1, others + 1)
    ]
    odd = entry("20210109-odd", "Ada", dev=0.4 + gap, eval=0.4)
    return found(audit([*entries, odd], rules=OURS), Rule.GAP)


def test_a_fall_beyond_three_and_a_half_robust_deviations_in_words() -> None:
    # of six others the falls are .01, .01, .02, .02, .03, .03: with one more above, median .02, deviation .01
    limit = 0.02 + 3.5 * 1.4826 * 0.01
    assert fallen(limit - 1e-6, 6) == []
    (finding,) = fallen(limit + 1e-3, 6)
    assert (finding.team, finding.submissions) == ("Ada", ("20210109-odd",))
    assert finding.value == pytest.approx(limit + 1e-3)
    assert finding.words == (
        "20210109-odd scores 0.473 on the dev and 0.400 on the eval queries: "
        "a fall of 0.073 where 0.020 is usual"
    )
    assert fallen(0.3, 3) == []  # four are too few to know what is usual
    assert len(fallen(0.3, 4)) == 1


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
    assert audit([entry("20210101-a")], rules=OURS).rules == OURS
