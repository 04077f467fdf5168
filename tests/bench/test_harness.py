"""The stopwatch: what is timed, multiplied, compared and judged."""

import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "scripts" / "bench"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    import harness
    import ratios

    yield harness, ratios
    del sys.modules["harness"], sys.modules["ratios"]


def takes(harness, *seconds):
    """Return a work that takes the given times, one after another."""
    left = iter(seconds)
    return harness.Work(lambda: harness.Sample(next(left), 0.0, 50.0))


def test_ratios_are_of_the_same_round(bench):
    harness, ratios = bench
    contest = harness.Contest(
        name="x",
        ours=takes(harness, 9, 1, 2, 4),  # the first round does not count
        rivals={"floor": takes(harness, 9, 1, 1, 1), "peer": takes(harness, 9, 10, 40, 40)},
        goals={"floor": "<= 1.5", "peer": ">= 10"},
    )
    result = ratios.Result.of(harness.hold(contest, 3))
    floor, peer = result.ratios
    assert (floor.cost, list(floor.ratios)) == (True, [1, 2, 4])
    assert (peer.cost, list(peer.ratios)) == (False, [10, 20, 10])
    assert [goal.met for goal in result.verdicts()] == [False, True]
    assert "MISSED" in "".join(result.lines(judge=True))
    assert "goal" not in "".join(result.lines(judge=False))
    assert next(iter(ratios.summary([result]))) == "1 of 2 goals met"


def test_memory_and_throughput_have_goals(bench):
    harness, ratios = bench
    contest = harness.Contest(
        name="x",
        ours=takes(harness, 2, 2),
        rivals={},
        memory_limit_mb=49,
        count=100,
        unit="HITs",
        goal_per_second=50,
    )
    result = ratios.Result.of(harness.hold(contest, 1))
    assert [(goal.what, goal.value, goal.met) for goal in result.verdicts()] == [
        ("MB", 50, False),
        ("HITs a second", 50, True),
    ]


def test_what_starts_once_is_not_multiplied(bench):
    harness, _ = bench
    work = harness.scaled(takes(harness, 5.0), 16, start=takes(harness, 3.0))
    assert work.run().wall == 3 + 16 * 2
    assert work.extrapolated


def test_a_slow_rival_is_timed_once(bench, monkeypatch):
    harness, ratios = bench
    monkeypatch.setattr(harness, "_SLOW", -1.0)
    contest = harness.Contest(
        name="x", ours=takes(harness, 9, 1, 2), rivals={"slow": takes(harness, 900, 10, 700)}
    )
    assert list(ratios.Result.of(harness.hold(contest, 2)).ratios[0].ratios) == [10]


def test_a_rival_that_fails_or_is_absent_is_told(bench):
    harness, ratios = bench

    def fail():
        raise RuntimeError("no luck")

    contest = harness.Contest(
        name="x",
        ours=takes(harness, 1, 1, 1),
        rivals={"broken": harness.Work(fail), "nowhere": harness.Absent("not here")},
        goals={"broken": ">= 2", "nowhere": ">= 2"},
    )
    result = ratios.Result.of(harness.hold(contest, 2))
    assert result.absent == {"broken": "no luck", "nowhere": "not here"}
    assert result.verdicts() == []


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX processes")
def test_memory_is_the_child_s_own(bench):
    harness, _ = bench
    held = b"x" * 200_000_000  # written, so that it is really there
    assert harness.shell("true").run().peak < 100
    assert len(held)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX processes")
def test_a_process_that_fails_says_why(bench):
    harness, _ = bench
    with pytest.raises(RuntimeError, match="no such luck"):
        harness.shell("echo no such luck >&2; exit 3").run()


def test_fresh_is_on_nobodys_time(bench):
    harness, _ = bench
    made, seen = iter("ab"), []
    work = harness.call(seen.append, fresh=lambda: next(made))
    work.run()
    work.run()
    assert seen == ["a", "b"]
