"""Shallow pooling with simulated workers: what would this study cost, find and show?"""

from dataclasses import replace

from prefjudge.core.pools import top_pairs
from prefjudge.core.runs import restrict
from prefjudge.evaluation.measures.measures import Measure, score_matrix
from prefjudge.evaluation.simulated import SimulatedPaper, Spread, simulate_paper
from prefjudge.evaluation.stability import pooled_documents
from prefjudge.reading.given import expand
from prefjudge.reading.labels import write_judgments
from prefjudge.reading.opened import tag_of
from prefjudge.show.tables import Column, Table
from prefjudge.steps.reproduce.exhibits import Exhibit
from prefjudge.steps.reproduce.material import Material
from prefjudge.steps.reproduce.needs import Need
from prefjudge.steps.reproduce.prices import PAIRS_PER_HIT, REWARD, hits_of, paper_price
from prefjudge.study.store import generator
from prefjudge.words import Rehearsal

JUDGMENTS_FILE = "simulated-judgments.txt"
POOLED_FILE = "simulated-judgments-of-pools.txt"
STAMP = "rehearsal: every judgment is simulated, and no person judged anything here"

SIMULATION = Exhibit(
    name="Simulation",
    shows="what this study would cost, find and show",
    reading=(
        "Simulated workers judge, once each, the pairs that the paper's two experiments ask for on these "
        "runs. The tables and figures below are one such study; the ranges here are over many."
    ),
    needs=(Need.RUNS, Need.QRELS),
    impossible="it is made with --simulate only",
)


def rehearse(material: Material) -> tuple[SimulatedPaper, str]:
    """Simulate the judgments of both experiments; those of one study are written, and given to the material.

    Returns what many studies find, and the representative run.
    """
    given, heads = material.given, material.heads
    run = material.ranking[0]
    if given.against_qrel is not None:
        run = tag_of(given.against_qrel, expand(given.runs), heads.runs, "--against-qrel")
    rng = generator(None, "rehearsal", given.seed)
    top = top_pairs(heads, material.original, run)
    pools = material.selected
    labels = restrict(material.original, pools.queries)
    with material.reading() as reader:
        ranks, known = reader.judged_all([pooled_documents(pools), labels])
    original = score_matrix(known, labels, Measure.parse("RR@10")).values.mean(axis=0)
    votes, pooled, found = simulate_paper(pools, top, heads, ranks, original, rng=rng)
    paths = material.folder / JUDGMENTS_FILE, material.folder / POOLED_FILE
    for path, written in zip(paths, (votes, pooled), strict=True):
        every = Rehearsal(simulated=len(written), judgments=len(written))
        write_judgments(path, written, comment=str(every))
    material.given = replace(given, judgments=paths[0], pooled_judgments=paths[1], against_qrel=run)
    return found, run


def rehearsal_table(found: SimulatedPaper, run: str) -> Table:
    """Return what such a study costs, finds and shows."""
    split, sampled = found.split, found.queries
    rows = (
        (f"1. {run} against the qrels", f"{split.queries:,} labelled queries"),
        ("category A / category B", f"{split.a:,} / {split.b:,}"),
        ("pairs, HITs, cost", _cost(found.duels)),
        ("the qrel preferred in category A", _share(found.qrel_ratio)),
        ("the run's passage preferred in category B", _share(found.rival_ratio)),
        ("studies in which that is significant at 5 %", f"{found.significant:.0%}"),
        ("2. pools of a sample", f"{sampled:,} queries, {found.documents / sampled:.2f} passages each"),
        ("pairs, HITs, cost", _cost(found.pairs)),
        ("queries whose preference qrel is truly the best", _share(found.right)),
        ("queries whose best answers form a cycle", _number(found.cycles)),
        ("significant win ratios", _number(found.significant_ratios)),
        ("runs significantly better than the perfect ranking", _number(found.better_than_perfect)),
        (
            "Kendall's tau, original against preference leaderboard",
            f"{found.tau.mean:.2f} [{found.tau.low:.2f}, {found.tau.high:.2f}]",
        ),
    )
    return Table(
        title="What this study would cost, find and show",
        columns=(Column(name="what"), Column(name="value")),
        rows=rows,
        notes=(
            f"{found.studies:,} simulated studies: the mean, and in brackets the middle 95 % of them. "
            "Workers err on 33 % of random pairs, prefer the qrel in 65.7 % of category A, and the run's "
            "passage in 58.6 % of category B, as in the paper.",
            f"${REWARD} for a HIT of {PAIRS_PER_HIT} pairs and a fee of 20 %; work that fails its test "
            "comparisons is also paid, and costs extra.",
        ),
    )


def _cost(pairs: int) -> str:
    return f"{pairs:,} pairs, {hits_of(pairs):,} HITs, {paper_price(pairs)}"


def _share(spread: Spread) -> str:
    return f"{spread.mean:.1%} [{spread.low:.1%}, {spread.high:.1%}]"


def _number(spread: Spread) -> str:
    return f"{spread.mean:.1f} [{spread.low:.0f}, {spread.high:.0f}]"
