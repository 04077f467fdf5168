"""Says what models' votes are worth beside people's."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Unpack

from annotated_types import Interval

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.judges.models import split_models
from prefjudge.core.judges.rehearsal import Rehearsal
from prefjudge.core.pooling.runs import OrderLike
from prefjudge.errors import InputError, StudyError, quoted
from prefjudge.evaluation.comparing.with_models import (
    PoweredShare,
    estimate_new_best,
    estimate_preferences,
    gate_model,
)
from prefjudge.evaluation.testing.alternative_annotator import EPSILON, ModelGate
from prefjudge.formats.lines.problems import Notice
from prefjudge.gather.input_options import InputOptions, run_options
from prefjudge.gather.inputs import as_path
from prefjudge.gather.memory import OneLabelSet, Runs, Votes, take_one_qrels
from prefjudge.gather.model_gates import study_votes
from prefjudge.gather.outputs import beside_each, check_outputs
from prefjudge.gather.provenance import InputDigest, digesting, made_with
from prefjudge.gather.readers import reading
from prefjudge.gather.score_inputs import ScoreInputs, gather, official_qrels
from prefjudge.gather.stamps import stamp_of
from prefjudge.gather.table_files import write_table
from prefjudge.render.shown import Shown
from prefjudge.render.tables.models import estimates_table, gates_table
from prefjudge.render.text.cells import Table
from prefjudge.study.study import Study, open_study


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelsResult(Shown):
    """For each model its gate, and the estimates of people and the model together.

    ``estimates`` are of pairs of runs, and of new best answers where there are qrels; none without runs and
    qrels, or where people judged nothing that the model did.
    """

    gates: tuple[ModelGate, ...]
    estimates: tuple[PoweredShare, ...]
    provenance: dict[str, str]
    inputs: tuple[InputDigest, ...]
    out: str | None
    rehearsal: Rehearsal | None
    notices: tuple[str, ...]
    files: tuple[str, ...] = ()

    def tables(self) -> tuple[Table, ...]:
        """Return the gates, and the estimates where there are any."""
        gates = gates_table(self.gates, provenance=self.provenance)
        return (gates, estimates_table(self.estimates)) if self.estimates else (gates,)


def models(
    study: str | Path | Study | None = None,
    *,
    judgments: Votes | None = None,
    model: Sequence[str] = (),
    runs: Runs = (),
    qrels: OneLabelSet | None = None,
    pool: str | Path | None = None,
    runs_shown: int | str | Sequence[str] = 4,
    epsilon: Annotated[float, Interval(ge=0, lt=1)] = EPSILON,
    alpha: Annotated[float, Interval(gt=0, lt=1)] = 0.05,
    order: OrderLike | None = None,
    out: str | Path | None = None,
    **how: Unpack[InputOptions],
) -> ModelsResult:
    """Say what models' votes are worth beside people's: a gate, estimates of both together, votes saved.

    Parameters
    ----------
    study : Path, optional
        The study: its people's votes, its models' votes, its runs and qrels.
    judgments : Path, optional
        Side-by-side judgments with their judges in the fifth column.
    model : sequence of str
        The judges that are models; by default those whose names begin with ``model:``.
    runs : sequence of paths or patterns
        The run files, or folders of them; with a study, further ones.
    qrels : Path, optional
        The known answers: adds the share of queries with a new best answer.
    pool : Path, optional
        The pool that was judged, as ``pool --out`` writes it. A study knows its own.
    runs_shown : int, or sequence of str
        The runs to compare: this many that people prefer to most others, or those named.
    epsilon : float
        How much better than the model a person may be and still be replaced.
    alpha : float
        The level of the tests and of the intervals.
    order : Order, optional
        What ranks a document higher.
    out : Path, optional
        Write the gates: CSV, JSON, Markdown, LaTeX or Parquet by the suffix. The estimates go beside it:
        ``NAME.estimates.csv``.
    **how
        How files are read: the words of `ReadOptions` and `TextOptions`.

    Raises
    ------
    InputError
        A file cannot be read, or a judge is not in it.
    StudyError
        No model has judged in the study.
    """
    out = as_path(out)
    if (study is None) == (not judgments):
        raise InputError(
            "models takes either a study or a file of judgments",
            "Run, for instance: prefjudge models STUDY, or: prefjudge models --judgments FILE --model NAME",
        )
    notices: list[Notice] = []
    read = run_options(how)
    opened = open_study(study)
    found = gather(
        opened,
        runs=runs,
        qrels=[take_one_qrels(qrels)] if qrels else [],
        judgments=judgments,
        pool=pool,
        preference=False,
        notices=notices,
    )
    check_outputs(
        *beside_each(out, "estimates"),
        inputs=(path for _, path in found.files),
        study=found.study,
        tables=True,
    )
    people, by_model = _split(_log(found), model, opened)
    estimates: tuple[PoweredShare, ...] = ()
    order = found.order(order)
    labels = official_qrels(found)
    confidence = 1 - alpha
    for name, votes in by_model.items():
        if labels is None:
            break
        new = estimate_new_best(
            people, name, votes, labels, rule=found.how.rule, pools=found.pools, confidence=confidence
        )
        estimates += (new,) if new else ()
    with digesting(found.files, **read) as digests, reading(found.runs, order, notices, **read) as reader:
        if len(found.runs) > 1:
            heads = reader.top(1)
            for name, votes in by_model.items():
                estimates += estimate_preferences(
                    people, name, votes, heads, shown=runs_shown, confidence=confidence
                )
        result = ModelsResult(
            gates=tuple(
                gate_model(people, name, votes, epsilon=epsilon, alpha=alpha)
                for name, votes in by_model.items()
            ),
            estimates=estimates,
            provenance=made_with(reader, order) | {"judgments": str(len(people))} | found.stamp,
            inputs=digests(),
            out=str(out) if out else None,
            rehearsal=found.rehearsal,
            notices=tuple(dict.fromkeys(map(str, notices))),
            files=tuple(map(str, beside_each(out, "estimates")[: 2 if estimates else 1])),
        )
    for path, table in zip(result.files, result.tables() if out else (), strict=True):
        write_table(Path(path), table, stamp=stamp_of(result.rehearsal))
    return result


def _log(found: ScoreInputs) -> Judgments:
    if found.study is None:
        assert found.judgments is not None
        return found.judgments
    return study_votes(found.study)


def _split(
    log: Judgments, names: Sequence[str], study: Study | None
) -> tuple[Judgments, dict[str, Judgments]]:
    try:
        people, by_model = split_models(log, names)
    except KeyError as error:
        raise InputError(
            f"no judgment is by {error.args[0]!r}",
            "Give a name from the fifth column of the judgments.",
        ) from None
    if by_model:
        return people, by_model
    if study is None:
        raise InputError(
            "none of the judges is known to be a model",
            "Name those that are: --model NAME, as in the fifth column.",
        )
    raise StudyError(
        "no model has judged in this study",
        f"Run: prefjudge judge {quoted(study.folder)} --model NAME --url …",
    )
