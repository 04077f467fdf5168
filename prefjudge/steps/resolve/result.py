"""What resolving gives, the order of runs it leads to, and the forms in which it is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from prefjudge.core.resolving.confidence import ConfidenceSummary
from prefjudge.core.resolving.resolutions import (
    PREFERENCE_NAME,
    Difference,
    HowResolved,
    Resolution,
    Variation,
)
from prefjudge.core.resolving.rules import RULES
from prefjudge.core.runs import Order, Qrels
from prefjudge.evaluation.correlation import TwoVotings, kendall_tau
from prefjudge.evaluation.measures.measures import Measure, score_matrix
from prefjudge.evaluation.measures.placings import Placed, compared_pairs, place_candidates
from prefjudge.evaluation.stability import pooled_documents, redrawn_votings
from prefjudge.findings.answers import split_runs
from prefjudge.findings.boards import VoteSet
from prefjudge.findings.judgments import JudgmentInput
from prefjudge.reading.given import expand, paths_of
from prefjudge.reading.runs.heads import Reading, RunFiles
from prefjudge.show.cells import Table
from prefjudge.show.results import Shown, record_tables
from prefjudge.show.studies import per_query_table, rules_table, sensitivity_table
from prefjudge.words import Rehearsal, many

# Compares the order of runs under two sets of preference qrels.


class RunOrder:
    """The order of runs under preference qrels: ``placed`` is where they placed the candidates."""

    def __init__(self, votes: JudgmentInput, placed: Placed, measure: Measure) -> None:
        self._votes, self._placed, self._measure = votes, placed, measure

    def compare(self, before: Qrels, after: Qrels) -> float:
        """Return Kendall's tau between the orders under two sets of qrels; NaN where one is empty."""
        scores = [
            score_matrix(self._placed.under(qrels), self._placed.labels(qrels), self._measure).values.mean(0)
            for qrels in (before, after)
            if qrels.queries
        ]
        return float(kendall_tau(*scores)) if len(scores) == 2 else float("nan")

    def two_votings(self, how: HowResolved, rng: np.random.Generator) -> TwoVotings | None:
        """Return how well the orders agree that other votes like these give; None where none is decided.

        They are resolved as those that it stands beside.
        """
        votes = self._votes
        cast = VoteSet(
            PREFERENCE_NAME,
            votes.log,
            self._placed,
            how=how,
            pools=votes.pools,
            asked=votes.asked,
        )
        if not cast.labels.queries:
            return None
        (noise,) = cast.noise([self._measure], rng)
        return redrawn_votings(noise, rng=rng)


def run_order(votes: JudgmentInput, runs: Sequence[str | Path], measure: str | None) -> RunOrder | None:
    """Return the order of the runs, to compare; None without runs."""
    order, paths = Order.SCORE, expand(runs) if runs else ()
    if not paths and votes.study is not None:
        order = votes.study.config.pool.order
        measure = measure or votes.study.config.measures[0]
        ranked, _ = split_runs(votes.study)
        paths = paths_of(ranked, "run", votes.study.folder)
    if not paths:
        return None
    documents = pooled_documents(votes.pools) if votes.pools else compared_pairs(votes.log).documents
    placed = place_candidates(
        documents, votes.copies, RunFiles(paths, Reading(order=order), notices=votes.notices).judged
    )
    return RunOrder(votes, placed, Measure.parse(measure or "RR@10"))


# What resolving gives, and the forms in which it is written.

_NAMED = 10


class Form(StrEnum):
    """What the file holds."""

    TREC = "trec"
    """Preference qrels: ``query 0 doc 1`` for each winner."""
    PREF = "pref"
    """The judgments resolved: ``query doc_1 doc_2 preferred``."""
    PREFS = "prefs"
    """The same for trec_eval: ``query group subgroup doc level``, two lines a judgment."""
    VALUES = "values"
    """Every candidate with its score under the rule: ``query Q0 doc value``."""
    JSONL = "jsonl"
    """Everything, one query a line."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ResolveResult(Shown):
    """How many queries each rule decided, and the preference qrels of the first rule.

    ``two_votings`` is how far the orders of runs agree that other votes like these give, beside the
    correlations of ``sensitivity``; None where no runs are compared.
    """

    rule: str
    queries: int
    judgments: int
    qrels: int
    statuses: dict[str, int]
    differs: "Difference | None"
    rules: dict[str, dict[str, int]]
    cycles: dict[str, tuple[str, ...]]
    confidence: "ConfidenceSummary | None"
    sensitivity: tuple["Variation", ...]
    two_votings: TwoVotings | None
    per_query: tuple["Resolution", ...]
    form: str
    out: str | None
    rehearsal: "Rehearsal | None"
    notices: tuple[str, ...]

    @property
    def difference(self) -> str:
        """Where it changes winners that workers are weighed, or are not, in words; empty where nowhere."""
        if self.differs is None or not self.differs.queries:
            return ""
        other, queries = self.differs.rule, self.differs.queries
        weighing, plain = (other, self.rule) if RULES[other].weighs_workers else (self.rule, other)
        named = ", ".join(queries[:_NAMED])
        more = f" and {len(queries) - _NAMED:,} more" if len(queries) > _NAMED else ""
        return (
            f"with workers weighed by how reliable they are ({weighing}) "
            f"{many(len(queries), 'query has', 'queries have')} other winners than without ({plain}): "
            f"{named}{more}; --rule {other} takes those of {other}"
        )

    def asked_tables(self) -> tuple[Table, ...]:
        """Return what each of several rules decided, each query, and what would change it, as asked."""
        tables = [rules_table(self.rules)] if len(self.rules) > 1 else []
        tables += [per_query_table(self.per_query)] if self.per_query else []
        tables += (
            [sensitivity_table(self.rule, self.sensitivity, self.two_votings)] if self.sensitivity else []
        )
        return tuple(tables)

    def tables(self) -> tuple[Table, ...]:
        """Return the same, or else how many queries were decided."""
        return self.asked_tables() or record_tables(self)
