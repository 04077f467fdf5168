"""Simulated studies of shallow pooling against the verbs that analyse real ones."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from prefjudge.core.judgments import Judgments
from prefjudge.core.pools import TopSplit, build_pools, top_pairs
from prefjudge.core.resolving.resolutions import Status, resolve, to_qrels
from prefjudge.core.runs import Order, Qrels, restrict
from prefjudge.errors import InputError
from prefjudge.evaluation.correlation import kendall_tau
from prefjudge.evaluation.measures.measures import Measure, score_matrix
from prefjudge.evaluation.simulated import Rates, SimulatedPaper, simulate_paper
from prefjudge.evaluation.stability import pooled_documents
from prefjudge.evaluation.winratios import PERFECT, top_against_qrel, win_ratios
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.runs import heads as files
from prefjudge.reading.runs.heads import Reading

RR = Measure.parse("RR@10")
SURE = Rates(error=0.2, qrel_agreed=0.9, rival_differs=0.95)
"""People so sure that sixty queries show something."""
COIN = Rates(error=0.49, qrel_agreed=0.5, rival_differs=0.5)
"""People who can hardly tell one passage from another."""


TOPS = {"new": ("top", "known"), "old": ("old", "known"), "mixed": ("known", "old")}


class Experiment:
    """Runs on sixty queries with the qrel "known"; the first run, "new", is held against it.

    On half of the queries that run may show something else than ``tops`` says.
    """

    def __init__(self, folder: Path, tops: dict[str, tuple[str, ...]], odd: tuple[str, ...] = ()) -> None:
        for run, docs in tops.items():
            lines = []
            for query in range(60):
                shown = odd if odd and run == "new" and query % 2 else docs
                lines += [
                    f"q{query} Q0 {doc} {place} {9 - place} {run}" for place, doc in enumerate(shown, 1)
                ]
            (folder / run).write_text("\n".join(lines) + "\n")
        (folder / "qrels").write_text("".join(f"q{query} 0 known 1\n" for query in range(60)))
        self.paths, self.qrels = [folder / run for run in tops], read_qrels(folder / "qrels")
        self.heads = files.RunFiles(self.paths, Reading(order=Order.SCORE)).top(2)
        self.top = top_pairs(self.heads, self.qrels, "new")
        self.pools = build_pools(self.heads, self.qrels, depth=1)
        self.original = self.means(restrict(self.qrels, self.pools.queries))

    def means(self, labels: Qrels) -> np.ndarray:
        ranks = files.RunFiles(self.paths, Reading(order=Order.SCORE)).judged(labels)
        return score_matrix(ranks, labels, RR).values.mean(axis=0)

    def simulate(
        self, *, rates: Rates = SURE, studies: int = 1, seed: int = 1
    ) -> tuple[Judgments, Judgments, SimulatedPaper]:
        ranks = files.RunFiles(self.paths, Reading(order=Order.SCORE)).judged(pooled_documents(self.pools))
        return simulate_paper(
            self.pools, self.top, self.heads, ranks, self.original,
            rates=rates, studies=studies, rng=np.random.default_rng(seed),
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_one_study_shows_what_the_verbs_show_of_its_votes(seed: int, tmp_path: Path) -> None:
    experiment = Experiment(tmp_path, TOPS, odd=("known", "old"))
    heads, qrels, means = experiment.heads, experiment.qrels, experiment.means
    votes, pooled, found = experiment.simulate(seed=seed)
    ratios = win_ratios(pooled, heads, qrels)
    sure = [pair for pair in ratios.pairs if pair.p_bonferroni <= 0.05]
    assert found.significant_ratios.mean == len(sure) > 0
    better = sum(pair.a == PERFECT and pair.wins_b > pair.wins_a for pair in sure)
    assert found.better_than_perfect.mean == better > 0
    answers = resolve(pooled)
    assert found.cycles.mean == sum(one.status is Status.CYCLE for one in answers)
    assert found.tau.mean == pytest.approx(kendall_tau(experiment.original, means(to_qrels(answers))))
    against = top_against_qrel(votes, heads, qrels, "new")
    assert found.qrel_ratio.mean == pytest.approx(against.a.qrel / (against.a.qrel + against.a.rival))
    judged = against.b.qrel + against.b.rival
    assert found.rival_ratio.mean == pytest.approx(against.b.rival / judged)
    assert found.significant == float(binomtest(against.b.rival, judged).pvalue <= 0.05)


def test_a_simulation_tells_its_size_and_keeps_the_first_study(tmp_path: Path) -> None:
    # On half of the queries "far" is second to the qrel: it is asked for, and is in no pool.
    experiment = Experiment(tmp_path, TOPS, odd=("known", "far"))
    votes, pooled, found = experiment.simulate(studies=40)
    assert found.split == experiment.top.split == TopSplit(a=30, b=30, no_rival=0, not_retrieved=0)
    assert (found.studies, found.duels, found.queries) == (40, 60, 60)
    # Half of the pools are those of "old", "known" and "top", and half have no "top".
    assert (found.documents, found.pairs) == (30 * 3 + 30 * 2, 30 * 3 + 30)
    assert (len(votes), len(pooled)) == (60, 120)
    shown = {pooled.docs[doc] for side in (pooled.left, pooled.right) for doc in side}
    assert shown == {"old", "known", "top"}
    first, again, alone = experiment.simulate(studies=1)
    assert (votes.choice.tolist(), pooled.choice.tolist()) == (first.choice.tolist(), again.choice.tolist())
    for spread, one in ((found.rival_ratio, alone.rival_ratio), (found.tau, alone.tau)):
        assert spread.low < spread.mean < spread.high
        assert one.low == one.mean == one.high


def test_circles_are_those_of_the_votes(tmp_path: Path) -> None:
    _, pooled, found = Experiment(tmp_path, TOPS).simulate(rates=Rates(error=0.45))
    cycles = sum(one.status is Status.CYCLE for one in resolve(pooled))
    assert found.cycles.mean == cycles > 5, "of three that are even a quarter makes a cycle"
    *_, even = Experiment(tmp_path, TOPS).simulate(rates=COIN, studies=50)
    assert even.right.mean == pytest.approx(1 / 3, abs=0.04), "of a cycle one is drawn"


def test_who_never_errs_finds_the_best_and_a_coin_finds_it_half_the_time(tmp_path: Path) -> None:
    experiment = Experiment(tmp_path, {"new": ("new", "known"), "old": ("known", "new")})
    *_, sure = experiment.simulate(rates=Rates(error=1e-6, rival_differs=0.9), studies=20)
    assert sure.right.mean == pytest.approx(1.0, abs=0.01)
    assert sure.significant == 1.0
    *_, even = experiment.simulate(rates=Rates(error=0.33, rival_differs=0.5), studies=300)
    assert even.right.mean == pytest.approx(1 - 0.33, abs=0.03)
    assert even.rival_ratio.mean == pytest.approx(0.5, abs=0.02)
    # Of 60 throws of a coin 2.7 % are as uneven as 39 to 21, and 5.2 % as 38 to 22.
    assert even.significant == pytest.approx(0.027, abs=0.025)
    assert (even.cycles.mean, even.cycles.high) == (0.0, 0.0), "two passages make no cycle"


def test_where_the_run_never_or_always_has_the_qrel_on_top_one_ratio_is_not_known(tmp_path: Path) -> None:
    *_, never = Experiment(tmp_path, {"new": ("new", "known"), "old": ("known", "new")}).simulate()
    assert np.isnan(never.qrel_ratio.mean)
    assert 0 < never.rival_ratio.mean < 1
    *_, always = Experiment(tmp_path, {"new": ("known", "old"), "old": ("old", "known")}).simulate()
    assert np.isnan(always.rival_ratio.mean)
    assert 0 < always.qrel_ratio.mean < 1


@pytest.mark.parametrize(
    "tops",
    [
        {"new": ("known",), "old": ("known", "other")},
        {"new": ("known", "other"), "old": ("known", "other")},
        {"new": ("known",), "old": ("other", "known")},
    ],
    ids=["neither", "no pools to judge", "no duels"],
)
def test_without_two_passages_to_compare_there_is_nothing_to_simulate(
    tops: dict[str, tuple[str, ...]], tmp_path: Path
) -> None:
    with pytest.raises(InputError) as refused:
        Experiment(tmp_path, tops).simulate()
    assert refused.value.message == "no query has two passages to compare"
    assert refused.value.hint == "Give more runs, or other qrels."
