"""What models' votes are worth beside people's, as tables."""

from collections.abc import Mapping, Sequence

from prefjudge.evaluation.comparing.with_models import PoweredShare
from prefjudge.evaluation.testing.alternative_annotator import (
    FEW_PEOPLE,
    LEAST_PEOPLE,
    LEAST_VOTES,
    ModelGate,
)
from prefjudge.evaluation.testing.prediction_powered import LEAST_JUDGED
from prefjudge.render.text.tables import Column, Table

SHIFTED = 2.6
"""Standard errors: chance alone goes beyond in one case of a hundred."""


def gates_table(gates: Sequence[ModelGate], *, provenance: Mapping[str, str] | None = None) -> Table:
    """Return one row for each model: whether it may stand in for a person."""
    epsilon = gates[0].epsilon
    return Table(
        title="May a model stand in for a person?",
        columns=(
            Column(name="model", priority=0),
            Column(name="gate"),
            Column(name="won", head="passes for", kind="integer"),
            Column(name="people", head="of people", kind="integer"),
            Column(name="votes", head="people's votes", kind="integer", priority=2),
            Column(name="advantage", head="as good as a person", kind="percent", digits=1, priority=2),
            Column(name="people_advantage", head="a person as good", kind="percent", digits=1, priority=3),
            Column(name="difference", kind="percent", digits=1),
            Column(name="low", kind="percent", digits=1),
            Column(name="high", kind="percent", digits=1),
        ),
        rows=tuple(
            (
                gate.model,
                _state(gate),
                gate.won,
                gate.people,
                gate.votes,
                gate.advantage,
                gate.people_advantage,
                gate.difference,
                gate.low,
                gate.high,
            )
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
        provenance=provenance or {},
    )


def _state(gate: ModelGate) -> str:
    if gate.open:
        return "open"
    if not gate.enough:
        return "shut: too few votes"
    if gate.repeats:
        return f"shut: votes as {gate.repeats[0]}"
    return "shut" if gate.worse else "shut: not told"


def estimates_table(
    estimates: Sequence[PoweredShare], *, provenance: Mapping[str, str] | None = None
) -> Table:
    """Return one row for each model and share: by people alone, by both, and what the model saves."""
    notes = [
        "People: on the queries that they judged. Both: with the model's votes on the other queries, "
        "weighted by how well they foretell people's (PPI++, Angelopoulos et al. 2023). Intervals are over "
        "queries, and hold whatever the model does, if people's queries are a random sample.",
        "Saved: how many more queries people would have to judge for an interval as narrow without it.",
    ]
    if any(one.mean.shared < LEAST_JUDGED for one in estimates):
        notes.append(f"With fewer than {LEAST_JUDGED} queries that both judged the model gets no weight.")
    if any(abs(one.mean.shift) > SHIFTED for one in estimates):
        notes.append(
            "* The model votes otherwise on people's queries than elsewhere, so these are not a random "
            "sample: look at people alone."
        )
    return Table(
        title="Shares of queries, by people and models together",
        columns=(
            Column(name="model", priority=0),
            Column(name="what", head="share of queries", priority=0),
            Column(name="judged", head="people's", kind="integer", priority=2),
            Column(name="shared", head="of both", kind="integer", priority=3),
            Column(name="elsewhere", head="others", kind="integer", priority=2),
            Column(name="people", kind="percent", digits=1),
            Column(name="people_low", head="low", kind="percent", digits=1, priority=2),
            Column(name="people_high", head="high", kind="percent", digits=1, priority=2),
            Column(name="both", kind="percent", digits=1),
            Column(name="both_low", head="low of both", kind="percent", digits=1),
            Column(name="both_high", head="high of both", kind="percent", digits=1),
            Column(name="weight", kind="number", digits=2, priority=3),
            Column(name="correlation", kind="number", digits=2, priority=2),
            Column(name="saved", kind="number", digits=0),
            Column(name="saved_low", head="at least", kind="number", digits=0, priority=2),
            Column(name="saved_high", head="at most", kind="number", digits=0, priority=2),
        ),
        rows=tuple(
            (
                one.model,
                one.what + (" *" if abs(one.mean.shift) > SHIFTED else ""),
                one.mean.judged,
                one.mean.shared,
                one.mean.elsewhere,
                one.mean.people,
                one.mean.people_low,
                one.mean.people_high,
                one.mean.both,
                one.mean.both_low,
                one.mean.both_high,
                one.mean.weight,
                one.mean.correlation,
                one.mean.saved,
                one.mean.saved_low,
                one.mean.saved_high,
            )
            for one in estimates
        ),
        notes=tuple(notes),
        provenance=provenance or {},
    )
