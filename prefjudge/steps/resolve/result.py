"""What resolving gives, and the forms in which it is written."""

from dataclasses import dataclass
from enum import StrEnum

from prefjudge.core.judges.rehearsal import Rehearsal
from prefjudge.core.resolving.confidence_summary import ConfidenceSummary, ResolvedQuery
from prefjudge.core.resolving.sensitivity import Variation
from prefjudge.render.shown import Shown
from prefjudge.render.tables.record import record_tables
from prefjudge.render.tables.resolution import per_query_table, rules_table, sensitivity_table
from prefjudge.render.text.cells import Table


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
    """How many queries each rule decided, and the preference qrels of the first rule."""

    rule: str
    queries: int
    judgments: int
    qrels: int
    statuses: dict[str, int]
    rules: dict[str, dict[str, int]]
    cycles: dict[str, tuple[str, ...]]
    confidence: "ConfidenceSummary | None"
    sensitivity: tuple["Variation", ...]
    per_query: tuple["ResolvedQuery", ...]
    form: str
    out: str | None
    rehearsal: "Rehearsal | None"
    notices: tuple[str, ...]

    def asked_tables(self) -> tuple[Table, ...]:
        """Return what each of several rules decided, each query, and what would change it, as asked."""
        tables = [rules_table(self.rules)] if len(self.rules) > 1 else []
        tables += [per_query_table(self.per_query)] if self.per_query else []
        tables += [sensitivity_table(self.rule, self.sensitivity)] if self.sensitivity else []
        return tuple(tables)

    def tables(self) -> tuple[Table, ...]:
        """Return the same, or else how many queries were decided."""
        return self.asked_tables() or record_tables(self)
