"""Model gates: which models people's votes vouch for, before one of them orders, vetoes or counts."""

from collections.abc import Iterable

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.judges.models import split_models
from prefjudge.counts import many
from prefjudge.errors import StudyError, quoted
from prefjudge.evaluation.comparing.with_models import gate_model
from prefjudge.evaluation.testing.alternative_annotator import LEAST_PEOPLE, LEAST_VOTES, ModelGate
from prefjudge.gather.judgments import pseudonymous
from prefjudge.study.assignments import load_judgments
from prefjudge.study.study import Study


def study_votes(study: Study) -> Judgments:
    """Return the votes of models that have judged in a study, and those of people, by their pseudonyms."""
    with study.transaction(write=False) as db:
        log = load_judgments(db, models=True)
    return pseudonymous(study, log)


def study_gates(study: Study) -> tuple[ModelGate, ...]:
    """Test each model that has judged in a study against the votes of its people."""
    people, models = split_models(study_votes(study))
    return tuple(gate_model(people, name, votes) for name, votes in models.items())


def check_gates(study: Study, models: Iterable[str], *, ungated: bool) -> tuple[str, ...]:
    """Refuse models that people's votes do not vouch for; return what to say of those used all the same.

    Raises
    ------
    StudyError
        The gate of a model is shut, and ``ungated`` does not insist.
    """
    wanted = set(models)
    shut = [gate for gate in study_gates(study) if gate.model in wanted and not gate.open] if wanted else []
    if shut and not ungated:
        raise StudyError(
            f"people's votes do not vouch for {shut[0].model}: {why_shut(shut[0])}",
            f"See prefjudge judge {quoted(study.folder)} --worth; --ungated uses the model all the same.",
        )
    return tuple(f"{gate.model} is used, though people's votes do not vouch for it" for gate in shut)


def why_shut(gate: ModelGate) -> str:
    """Return why a gate is shut, in words."""
    if not gate.enough:
        return (
            f"{many(gate.votes, 'vote')} of people are on pairs that it and another person judged; "
            f"{LEAST_PEOPLE} people with {LEAST_VOTES} each are needed"
        )
    if gate.repeats:
        return f"it votes as {gate.repeats[0]} does on every pair that both judged, as a copy would"
    passes = f"it passes for {gate.won} of {many(gate.people, 'person', 'people')}; at least half are needed"
    return passes if gate.worse else f"{passes}, and more votes of people may tell"
