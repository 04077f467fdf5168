"""Shallow pooling with simulated workers: what would this study cost, find and show?"""

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from prefjudge.steps.papers.exhibits import Exhibit, Need

if TYPE_CHECKING:
    from pathlib import Path

    from prefjudge.evaluation.simulated_paper import SimulatedPaper, Spread
    from prefjudge.render.tables import Table
    from prefjudge.steps.papers.material import Given

JUDGMENTS_FILE = "simulated-judgments.txt"
POOLED_FILE = "simulated-judgments-of-pools.txt"
STAMP = "rehearsal: every judgment is simulated, and no person judged anything here"

_REWARD, _PAIRS_PER_HIT, _SLOTS = Decimal("2.00"), 10, 13
"""Section 3.1: two dollars for a HIT of ten pairs and three test comparisons, and a fee of 20 %."""


SIMULATION = Exhibit(
    name="Simulation",
    shows="what this study would cost, find and show",
    reading=(
        "Simulated workers judge the pairs that the paper's two experiments ask for on these runs, once "
        "each. "
        "The tables and figures below are one such study; the ranges here are over many."
    ),
    needs=(Need.RUNS, Need.QRELS),
    impossible="it is made with --simulate only",
)


def rehearse(given: "Given", folder: "Path") -> "tuple[Given, SimulatedPaper, str]":
    """Simulate the judgments of both experiments, and write those of one study into the folder.

    Returns what was given with the files of judgments, what many studies find, and the representative run.

    Raises
    ------
    InputError
        A file cannot be read, or no query has two passages to compare.
    """
    from prefjudge.core.pools import build_pools, sample_queries
    from prefjudge.core.rehearsal import Rehearsal
    from prefjudge.core.runs import Order
    from prefjudge.core.top_pairs import top_pairs
    from prefjudge.evaluation.measures import Measure, score_matrix
    from prefjudge.evaluation.simulated_paper import simulate_paper
    from prefjudge.formats.judgments import write_judgments
    from prefjudge.formats.qrels import read_qrels
    from prefjudge.steps.inputs import expand
    from prefjudge.steps.papers.material import file_of
    from prefjudge.steps.read_options import ReadOptions
    from prefjudge.steps.run_names import tag_of
    from prefjudge.steps.seeds import generator

    runs = expand(given.runs)
    qrels = read_qrels(file_of(given.qrels[0]))
    with ReadOptions(**given.how).read(runs, given.order or Order.SCORE, []) as reader:
        heads = reader.top(2)
        if given.against_qrel is None:
            scores = score_matrix(reader.judged(qrels), qrels, Measure.parse("RR@10"))
            run = scores.runs[int(scores.values.mean(axis=0).argmax())]
        else:
            run = tag_of(given.against_qrel, runs, heads.runs, "--against-qrel")
    rng = generator(None, "rehearsal", given.seed)
    pools = build_pools(heads, qrels, depth=1)
    pools = sample_queries(pools, min(given.sample, int((pools.sizes >= 2).sum())), rng=rng)
    votes, pooled, found = simulate_paper(pools, top_pairs(heads, qrels, run), rng=rng)
    paths = folder / JUDGMENTS_FILE, folder / POOLED_FILE
    for path, written in zip(paths, (votes, pooled), strict=True):
        every = Rehearsal(simulated=len(written), judgments=len(written))
        write_judgments(path, written, comment=str(every))
    judged = replace(given, judgments=paths[0], pooled_judgments=paths[1], against_qrel=run)
    return judged, found, run


def rehearsal_table(found: "SimulatedPaper", run: str) -> "Table":
    """Return what such a study costs, finds and shows."""
    from prefjudge.render.tables import Column, Table

    split, sampled = found.split, found.queries
    rows = (
        (f"1. {run} against the qrels", f"{split.queries:,} labelled queries"),
        ("category A / category B", f"{split.a:,} / {split.b:,}"),
        ("pairs, HITs, cost", _cost(found.duels)),
        ("the run's passage preferred in category B", _share(found.rival_ratio)),
        ("studies in which that is significant at 5 %", f"{found.significant:.0%}"),
        ("2. pools of a sample", f"{sampled:,} queries, {found.documents / sampled:.2f} passages each"),
        ("pairs, HITs, cost", _cost(found.pairs)),
        ("queries whose preference qrel is truly the best", _share(found.right)),
        ("queries whose best answers go in a circle", _number(found.circles)),
    )
    return Table(
        title="What this study would cost, find and show",
        columns=(Column(name="what"), Column(name="value")),
        rows=rows,
        notes=(
            f"{found.studies:,} simulated studies: the mean, and in brackets the middle 95 % of them. "
            "Workers "
            "err on 33 % of random pairs, prefer the qrel in 65.7 % of category A, and the run's passage in "
            "58.6 % of category B, as in the paper.",
            f"${_REWARD} for a HIT of {_PAIRS_PER_HIT} pairs and a fee of 20 %; work that fails its test "
            "comparisons is paid too, and comes on top.",
        ),
    )


def _cost(pairs: int) -> str:
    from prefjudge.core.costs import Fees, estimate

    hits = -(-pairs // _PAIRS_PER_HIT)
    cost = estimate(
        pairs=pairs, hits=hits, assignments_per_hit=1, slots_per_hit=_SLOTS, reward=_REWARD, fees=Fees()
    )
    return f"{pairs:,} pairs, {hits:,} HITs, ${cost.total:,.2f}"


def _share(spread: "Spread") -> str:
    return f"{spread.mean:.1%} [{spread.low:.1%}, {spread.high:.1%}]"


def _number(spread: "Spread") -> str:
    return f"{spread.mean:.1f} [{spread.low:.0f}, {spread.high:.0f}]"
