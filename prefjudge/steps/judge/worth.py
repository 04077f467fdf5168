"""Says what models' votes are worth beside people's: a gate, and votes saved."""

from dataclasses import dataclass

from prefjudge.core.judgments import Judgments, split_models
from prefjudge.errors import InputError, quoted
from prefjudge.evaluation.models import (
    FEW_PEOPLE,
    LEAST_JUDGED,
    LEAST_PEOPLE,
    LEAST_VOTES,
    ModelGate,
    PoweredShare,
    estimate_new_best,
    estimate_preferences,
    gate_model,
)
from prefjudge.field.trust import study_votes
from prefjudge.findings.findings import gather
from prefjudge.show.cells import Column, Table
from prefjudge.show.results import Shown
from prefjudge.study.progress import Stage, lacking
from prefjudge.study.store import Study
from prefjudge.words import Rehearsal

_SHIFTED = 2.6
"""Standard errors: chance alone goes beyond in one case of a hundred."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WorthResult(Shown):
    """For each model its gate, and the estimates of people and the model together.

    ``estimates`` are of pairs of runs, and of new best answers where there are qrels; none without runs and
    qrels, or where people judged nothing that the model did.
    """

    gates: tuple[ModelGate, ...]
    estimates: tuple[PoweredShare, ...]
    rehearsal: Rehearsal | None
    notices: tuple[str, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the gates, and the estimates where there are any."""
        return (_gates_table(self.gates), *([_estimates_table(self.estimates)] if self.estimates else []))


def find_worth(study: Study, model: str | None) -> WorthResult:
    """Return what a model's votes are worth, or those of all that have judged in the study."""
    with study.reading():
        found = gather(study, preference=False)
        people, models = _split(study, study_votes(study), model)
        estimates: list[PoweredShare] = []
        if (labels := found.official) is not None:
            rule, pools = found.how.rule, found.pools
            shares = (
                estimate_new_best(people, name, votes, labels, rule=rule, pools=pools)
                for name, votes in models.items()
            )
            estimates += filter(None, shares)
        if len(found.runs) > 1:
            with found.reading(digest=False):
                heads = found.heads(found.reader.top(1))
            for name, votes in models.items():
                estimates += estimate_preferences(people, name, votes, heads)
    return WorthResult(
        gates=tuple(gate_model(people, name, votes) for name, votes in models.items()),
        estimates=tuple(estimates),
        rehearsal=found.rehearsal,
        notices=tuple(dict.fromkeys(map(str, found.notices))),
    )


def _split(study: Study, log: Judgments, model: str | None) -> tuple[Judgments, dict[str, Judgments]]:
    """Return people's votes and each model's; one that is named may be a judge of imported votes."""
    try:
        people, models = split_models(log, [model] if model else ())
    except KeyError:
        own = study.opaque("worker", str(model))
        if own not in log.workers:
            raise InputError(
                f"no judgment is by {model!r}", f"See who judged: prefjudge workers {quoted(study.folder)}"
            ) from None
        people, models = split_models(log, [own])
        models = {str(model): models[own]}
    if not models:
        judge = f"prefjudge judge {quoted(study.folder)} --model NAME --url …"
        way = f"{judge}; of imported votes name the judge that is a model: --worth --model NAME"
        raise lacking(study, Stage.TEXTS, what="no model has judged in this study", then=way)
    return people, models


def _gates_table(gates: tuple[ModelGate, ...]) -> Table:
    """Return one row for each model: whether it may stand in for a person."""
    epsilon = gates[0].epsilon
    columns = (
        Column(name="model", priority=0),
        Column(name="gate"),
        Column(name="won", head="passes for", kind="integer"),
        Column(name="people", head="of people", kind="integer"),
        Column(name="votes", head="people's votes", kind="integer", priority=2),
        *(Column(name=name, kind="percent", digits=1) for name in ("difference", "low", "high")),
    )
    return Table(
        title="May a model stand in for a person?",
        columns=columns,
        rows=tuple(
            tuple(_state(gate) if one.name == "gate" else getattr(gate, one.name) for one in columns)
            for gate in gates
        ),
        notes=(
            "The alternative annotator test (Calderon et al. 2025) on pairs that the model and at least two "
            "people judged, one person after the other against the rest. Open: the model is as good as the "
            f"person, less {epsilon:.0%}, for at least half of {LEAST_PEOPLE} or more people with "
            f"{LEAST_VOTES} votes each. More than {FEW_PEOPLE} people with few votes are taken together.",
            "Difference: how much more often the model agrees with the others at least as well; the interval "
            f"is over queries. Shut: it is below -{epsilon:.0%}, or not told, which more votes may change.",
        ),
    )


def _state(gate: ModelGate) -> str:
    if gate.open:
        return "open"
    if not gate.enough:
        return "shut: too few votes"
    if gate.repeats:
        return f"shut: votes as {gate.repeats[0]}"
    return "shut" if gate.worse else "shut: not told"


def _estimates_table(estimates: tuple[PoweredShare, ...]) -> Table:
    """Return one row for each model and share: by people alone, by both, and what the model saves."""
    notes = [
        "People: on the queries that they judged. Both: with the model's votes on the other queries, "
        "weighted by how well they predict people's (PPI++, Angelopoulos et al. 2023). Intervals are over "
        "queries, and hold whatever the model does, if people's queries are a random sample.",
        "Saved: how many more queries people would have to judge for an interval as narrow without it.",
    ]
    if any(one.mean.shared < LEAST_JUDGED for one in estimates):
        notes.append(f"With fewer than {LEAST_JUDGED} queries that both judged the model gets no weight.")
    shifted = [abs(one.mean.shift) > _SHIFTED for one in estimates]
    if any(shifted):
        notes.append(
            "* The model votes differently on people's queries than elsewhere, so these are no random "
            "sample: look at people alone."
        )
    shares = {"people": "people", "people_low": "low", "people_high": "high"}
    shares |= {"both": "both", "both_low": "low of both", "both_high": "high of both"}
    saved = {"saved": "saved", "saved_low": "at least", "saved_high": "at most"}
    columns = (
        *(Column(name=name, head=head, kind="percent", digits=1) for name, head in shares.items()),
        *(Column(name=name, head=head, kind="number", digits=0) for name, head in saved.items()),
    )
    return Table(
        title="Shares of queries, by people and models together",
        columns=(
            Column(name="model", priority=0),
            Column(name="what", head="share of queries", priority=0),
            *columns,
        ),
        rows=tuple(
            (one.model, one.what + " *" * odd, *(getattr(one.mean, column.name) for column in columns))
            for one, odd in zip(estimates, shifted, strict=True)
        ),
        notes=tuple(notes),
    )
