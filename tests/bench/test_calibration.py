"""The calibration table: its bins against hand-made answers, and a small run from end to end."""

import itertools
import math
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from prefjudge.core.resolving.scales import prior_scales
from prefjudge.core.resolving.tournaments import tournaments, vote_matrices
from prefjudge.core.strategies import LapseNoise, error_of_scale
from tests.core.tables import judgments_of

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "calibration"


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPT))
    import cells

    return cells


def test_looks_at_equal_runs_count_each_study_once(
    cells: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test that always tells rules out every run; one that never does rules out none."""
    import looks

    monkeypatch.setattr(looks, "QUERIES", 20)
    turns = itertools.cycle([0, 1])
    for p, figures in ((0.0, ["1.000", "0.000", "1.000", "1.000", "0.000"]), (1.0, ["0.000"] * 5)):
        told = np.array([p])
        monkeypatch.setattr(looks, "sequential_p", lambda *_, told=told: told)
        monkeypatch.setattr(looks, "against_first", lambda _, told=told: (np.roll([0, 1], next(turns)), told))
        _, *rows = looks.equal_table([2], 2, 1)
        assert len(rows) == 4
        assert {tuple(row.split()[-5:]) for row in rows} == {tuple(figures)}


def test_a_crowd_that_never_errs_scores_runs_by_the_truth(cells: ModuleType) -> None:
    from votings import Crowd

    rng = np.random.default_rng(1)
    crowd = Crowd(20, 1, 0.2, "far apart", rng, pool=3, runs=2)
    crowd.chance = np.round(crowd.chance)
    values = crowd.score(crowd.vote(rng)).values
    best = crowd.strength.argmax(axis=1)
    assert values.tolist() == crowd.gain[np.arange(20), best].tolist()


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def answers_of(cells: ModuleType, stated: np.ndarray, known: np.ndarray) -> object:
    variance = np.zeros(10)
    return cells.Answers(stated=stated, known=known, right=known > 0.5, told=1.0, variance=variance)


def test_bins_are_by_tenths_and_weigh_by_their_answers(cells: ModuleType) -> None:
    stated = np.array([0.35] * 10 + [0.31] * 10 + [0.7] * 30 + [1.0] * 50)
    known = np.array([1.0] * 10 + [0.0] * 10 + [0.5] * 30 + [1.0] * 50)
    bins = answers_of(cells, stated, known).bins()
    assert bins.count.tolist() == [0, 0, 0, 20, 0, 0, 0, 30, 0, 50]
    # .33 stated, half right; .7 stated, half right; 1 stated, all right.
    assert bins.error() == pytest.approx((20 * 0.17 + 30 * 0.2 + 50 * 0) / 100)
    assert bins.worst(least=30) == pytest.approx(0.2)
    assert bins.worst(least=50) == pytest.approx(0.0)
    assert math.isnan(bins.worst(least=51))


def test_chance_is_the_error_of_studies_that_are_right_on_average(cells: ModuleType) -> None:
    rng = np.random.default_rng(3)
    wrong, chance = [], []
    for _ in range(300):
        known = rng.uniform(0.2, 0.9, (20, 30))
        stated = known + 0.1 * rng.standard_normal((20, 1))  # each study is off as a whole
        variance = cells.variance_of_sums(known, stated)
        # By what is known, so that statements of the same bin are true on average.
        answers = cells.Answers(
            stated=known.ravel(), known=stated.ravel(), right=known.ravel() > 0.5, told=1.0, variance=variance
        )
        wrong.append(answers.bins().error())
        chance.append(answers.bins().chance())
    assert np.mean(wrong) == pytest.approx(np.mean(chance), rel=0.06)
    both = cells.join([answers, answers]).bins()
    assert both.error() == pytest.approx(wrong[-1])
    assert both.chance() == pytest.approx(chance[-1] / math.sqrt(2))


def test_who_knows_the_crowd_is_right_as_often_as_that_says(cells: ModuleType) -> None:
    """Names and spam, lapses, and spam that nobody is known for."""
    for noise, workers in (("spam", 10), ("spam", 0), ("constant", 0)):
        design = cells.Design(pool=3, queries=50, strategy="round-robin:1", noise=noise, workers=workers)
        answers = cells.simulate(design, 0.2, 400, np.random.default_rng(4))
        by_chance = math.sqrt((answers.known * (1 - answers.known)).mean() / 400)
        assert answers.right.mean() == pytest.approx(answers.known.mean(), abs=3 * by_chance)
        # Answer by answer, too: the slope of the one over the other.
        slope = np.cov(answers.right, answers.known)[0, 1] / answers.known.var(ddof=1)
        assert slope == pytest.approx(1.0, abs=0.4)


def test_names_change_no_vote(cells: ModuleType) -> None:
    named, unnamed = (
        cells.Design(pool=3, queries=20, strategy="round-robin:3", noise="usual", workers=workers)
        for workers in (10, 0)
    )
    one, other = (cells.simulate(each, 0.2, 60, np.random.default_rng(4)) for each in (named, unnamed))
    same = one.known == other.known  # where both give the same answer
    assert same.mean() > 0.8
    assert (one.stated != other.stated).any()


def test_a_log_has_the_votes_of_the_matrices(cells: ModuleType) -> None:
    votes = np.random.default_rng(1).integers(0, 3, (4, 3, 3)).astype(float)
    votes[:, range(3), range(3)] = 0
    votes[2] = 0
    judgments, pools = cells.log_of(votes)
    (block,) = tournaments(judgments, pools=pools)
    (stack,) = vote_matrices(block)
    assert stack.votes.tolist() == votes.tolist()
    assert pools.sizes.tolist() == [3, 3, 3, 3]


def test_spam_makes_three_votes_in_ten_coin_tosses(cells: ModuleType) -> None:
    rngs = [np.random.default_rng(1) for _ in range(2)]
    honest, best = cells.NOISES["bradley-terry"](0.2, rngs[0]).noise.draw_chances(50, 4, rngs[0])
    crowd = cells.NOISES["spam"](0.2, rngs[1])
    spammed, same = crowd.noise.draw_chances(50, 4, rngs[1])
    assert spammed == pytest.approx(0.7 * honest + 0.15)
    assert same.tolist() == best.tolist()
    # To those who do not know who they are these votes are lapses.
    alike, again = crowd.unnamed().noise.draw_chances(50, 4, np.random.default_rng(1))
    assert alike == pytest.approx(spammed)
    assert again.tolist() == best.tolist()


def test_usual_crowds_err_as_crowds_are_expected_to_before_any_vote(cells: ModuleType) -> None:
    rng = np.random.default_rng(3)
    wrong, even = [], 0
    for _ in range(400):
        chances, best = cells.NOISES["usual"](0.2, rng).noise.draw_chances(30, 2, rng)
        each = 1.0 - chances[np.arange(30), best, 1 - best]
        wrong.append(each.mean())
        even += np.ptp(each) < 1e-9
    assert np.mean(wrong) == pytest.approx(prior_scales().error, abs=0.015)
    assert np.std(wrong) > 0.05
    # A third of them err alike on every pair.
    assert even / 400 == pytest.approx(1 / 3, abs=0.07)


def test_a_cell_alone_gives_the_line_that_it_has_in_the_grid() -> None:
    few = ("--answers", 12, "--queries", 6, "--strategies", "round-robin:1")
    two = ("--processes", 2)
    grid = run("--pools", 2, 3, "--errors", 0.2, 0.33, "--noises", "bradley-terry", "constant", *few, *two)
    assert grid.returncode == 0, grid.stderr
    lines = grid.stdout.splitlines()
    # A head, four designs with a line for each error and one for all, what missed, and what is known.
    assert len(lines) == 1 + 4 * 3 + 2
    alone = run("--pools", 3, "--errors", 0.33, "--noises", "constant", *few, "--processes", 1)
    assert alone.stdout.splitlines()[1] in lines
    assert [line.split()[:7] for line in lines[1:3]] == [
        ["2", "6", "round-robin:1", "bradley-terry", "0.2", "12", "0.000"],
        ["2", "6", "round-robin:1", "bradley-terry", "0.33", "12", "0.000"],
    ]
    assert lines[-2].startswith("cells that miss the goals")
    assert lines[-1].startswith("of 96 answers")


def test_a_row_misses_by_its_error_or_its_worst_bin_and_only_where_votes_tell(cells: ModuleType) -> None:
    # `cells` puts the script's folder on the path.
    from rows import Row

    def row(stated: float, right: int, of: int, *, judged: bool = True) -> Row:
        known = np.arange(of + 1000) >= of - right
        answers = answers_of(cells, np.array([stated] * of + [0.99] * 1000), known.astype(float))
        design = cells.Design(pool=3, queries=5, strategy="round-robin:3", noise="spam", workers=10)
        return Row(design=design, error=0.2, answers=answers, judged=judged)

    assert not row(0.55, 18, 30).missed
    assert row(0.55, 20, 30).missed  # .12 in its bin, .01 on average
    assert not row(0.55, 20, 29).missed  # a bin of too few
    assert row(0.55, 0, 199).missed  # .09 on average
    assert not row(0.55, 0, 199, judged=False).missed
    assert str(row(0.55, 20, 30)).split()[-1] == "missed"


def test_a_brief_row_takes_strategies_together_and_counts_their_figures(cells: ModuleType) -> None:
    from rows import Row, brief

    rows = []
    for strategy, known in (("round-robin:3", 0.48), ("round-robin:1", 0.68)):
        design = cells.Design(pool=3, queries=5, strategy=strategy, noise="spam", workers=10)
        answers = answers_of(cells, np.full(40, 0.58), np.full(40, known))
        # The one is off by .1, the other by -.1: together they are right.
        rows += [
            Row(design=design, error=error, answers=answers, judged=error == 0.2) for error in (0.2, 0.4)
        ]
        rows.append(Row(design=design, error=None, answers=answers, judged=True))
    head, line = brief(rows)
    assert head.split() == ["pool", "queries", "spam", "figures", "met"]
    assert line.split() == ["3", "5", ".000", ".000", "4", "0"]
    for row in rows:
        assert row.figure == ("·" if row.error == 0.4 else "all .100*" if row.error is None else ".100*")


def test_redrawn_votes_are_on_the_same_pairs_and_as_often_right_as_the_model_says(cells: ModuleType) -> None:
    import real

    from prefjudge.core.resolving.scales import one_scale

    rows = [f"q{i} {x} {y} {x}" for i in range(400) for x, y in ("ab", "ac", "bc")]
    votes = judgments_of(*rows, *rows)
    drawn = real._redrawn(votes, one_scale(1.0), np.random.default_rng(3))
    assert drawn.left.tolist() == votes.left.tolist()
    assert drawn.query.tolist() == votes.query.tolist()
    first, second = drawn.choice[: len(rows)], drawn.choice[len(rows) :]
    # Both votes on a pair are of the same candidates: they agree as often as two votes on random pairs do.
    chances, _ = LapseNoise(error=error_of_scale(1.0), lapses=0.0).draw_chances(
        20_000, 2, np.random.default_rng(4)
    )
    agree = (chances[:, 0, 1] ** 2 + chances[:, 1, 0] ** 2).mean()
    assert (first == second).mean() == pytest.approx(agree, abs=0.05)


def test_files_of_votes_are_held_against_all_of_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    files = []
    for name in ("one", "two"):
        rows = [
            f"q{i} {x} {y} {(x, y)[int(rng.random() < 0.3)]}" for i in range(9) for x, y in ("ab", "ac", "bc")
        ]
        files.append(tmp_path / f"{name}.txt")
        files[-1].write_text("\n".join(rows), encoding="utf-8")  # its last line may lack an end
    done = run("--only-real", "--real", *files, "--redraws", 3)
    assert done.returncode == 0, done.stderr
    head, *rows = done.stdout.splitlines()
    assert head.split()[:3] == ["votes", "of", "queries"]
    assert [row.split()[:2] for row in rows] == [["one.txt", "9"], ["two.txt", "9"]]
    for row in rows:
        stated, by_all, off = map(float, row.split()[3:6])
        assert off == pytest.approx(stated - by_all, abs=0.0011)


def test_runs_as_good_as_each_other_are_rarely_said_to_differ(
    cells: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `cells` puts the script's folder on the path.
    import comparisons

    rng = np.random.default_rng(4)
    found = np.mean([comparisons.study(50, 1, 0.33, rng) for _ in range(20)], axis=0)
    rejected, covered, majority, votes = found.tolist()
    # 300 tests, of which those of one study share their votes.
    assert 0.01 < rejected < 0.09
    assert covered == pytest.approx(1 - rejected)
    assert max(majority, votes) < 0.09
    crowd = comparisons.Crowd(6, 1, 0.33, "far apart", rng)
    tops = comparisons.heads(crowd)
    for row in range(len(tops.doc)):
        query, run = int(tops.list_query[row]), int(tops.list_run[row])
        assert crowd.gain[query, int(tops.doc[row]) - comparisons.POOL * query, run] == 1.0
    monkeypatch.setattr(comparisons, "QUERIES", (50,))
    lines = list(comparisons.table(2, seed=1))
    assert len(lines) == 1 + 1 * 2 * 2
    assert lines[1].split()[:4] == ["50", "1", "0.2", "30"]


def test_names_are_given_as_if_each_vote_were_a_random_worker_s(cells: ModuleType) -> None:
    rng = np.random.default_rng(2)
    honest, _ = cells.NOISES["bradley-terry"](0.2, rng).noise.draw_chances(400, 3, rng)
    chances = 0.7 * honest + 0.15
    votes = rng.binomial(1, np.triu(chances, 1)).astype(float)
    votes = votes + np.triu(1 - votes, 1).transpose(0, 2, 1)
    judgments, _ = cells.log_of(votes)
    named = cells.name_workers(judgments, chances, 0.3, 10, rng)
    share = np.bincount(named.worker, minlength=10) / len(named)
    assert share == pytest.approx(np.full(10, 0.1), abs=0.03)
    # Who votes by chance prefers the better one in half of the votes; the others as honest ones do.
    better = honest[named.query, named.left % 3, named.right % 3] > 0.5
    by_chance = named.worker < 3
    assert better[by_chance].mean() == pytest.approx(0.5, abs=0.08)
    assert better[~by_chance].mean() == pytest.approx(0.8, abs=0.05)


def test_a_rule_that_weighs_workers_finds_more_where_some_are_careless(
    cells: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `cells` puts the script's folder on the path.
    import winners

    crowd = next(one for one in winners.CROWDS if one.name == "30 % always left")
    judgments, best = winners.judge(crowd, 3, np.random.default_rng(1))
    assert np.bincount(judgments.worker).min() > 0
    always = judgments.worker < 6
    assert (judgments.choice[always] == 1).all()
    paper, plain, weighing = winners.right_answers(judgments, best)
    assert weighing > max(paper, plain) + 0.02
    monkeypatch.setattr(winners, "QUERIES", 5)
    assert len(list(winners.table(2, seed=1))) == 2 + len(winners.VOTES) * len(winners.CROWDS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--pools", "1"], "two candidates"),
        (["--errors", "0.5"], "between 0 and 0.5"),
        (["--strategies", "chess"], "no strategy 'chess'"),
        (["--real", "nowhere.txt"], "there is no file nowhere.txt"),
    ],
)
def test_what_cannot_be_simulated_is_refused(arguments: list[str], words: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
