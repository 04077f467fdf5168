"""What resolving gives, and the forms in which it is written."""

from dataclasses import dataclass
from enum import StrEnum

from prefjudge.core.resolving.confidence import ConfidenceSummary, ResolvedQuery
from prefjudge.core.resolving.resolutions import Difference, Variation
from prefjudge.core.resolving.rules import RULES
from prefjudge.evaluation.correlation import TwoVotings
from prefjudge.show.cells import Table
from prefjudge.show.results import Shown, record_tables
from prefjudge.show.studies import per_query_table, rules_table, sensitivity_table
from prefjudge.words import Rehearsal, many

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
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
    per_query: tuple["ResolvedQuery", ...]
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
