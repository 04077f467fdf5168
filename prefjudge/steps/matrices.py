"""The query x run matrices that the statistics work on, from the inputs of a step."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from prefjudge.core.runs import Order
from prefjudge.errors import InputError
from prefjudge.steps.inputs import as_order, several

if TYPE_CHECKING:
    import numpy as np

    from prefjudge.core.qrels import Scores
    from prefjudge.steps.labels import Sources
    from prefjudge.steps.readers import Reader

DEFAULT_SEED = 2021
"""The seed of statistics on plain files; a study has its own."""


def score_matrices(found: "Sources", measures: str | Sequence[str], reader: "Reader") -> "tuple[Scores, ...]":
    """Score all runs under each label set with each measure, in that order.

    Raises
    ------
    InputError
        A run cannot be read, a measure is unknown or two runs have one name.
    """
    from prefjudge.evaluation.measures import Measure, score_matrix

    parsed = list(dict.fromkeys(map(Measure.parse, chosen_measures(found, measures))))
    matrices = []
    for labels, ranks in zip(found.qrels, reader.judged_all(found.qrels), strict=True):
        matrices += [score_matrix(ranks, labels, measure) for measure in parsed]
    return tuple(matrices)


def chosen_measures(found: "Sources", measures: str | Sequence[str]) -> tuple[str, ...]:
    """Return the measures asked for, else the study's, else RR@10."""
    return several(measures) or (found.study.config.measures if found.study else ("RR@10",))


def chosen_order(found: "Sources", order: Order | None) -> Order:
    """Return the order asked for, else the study's, else by score."""
    return as_order(order) or (found.study.config.pool.order if found.study else Order.SCORE)


def generator(found: "Sources", verb: str, seed: int | None) -> "np.random.Generator":
    """Return the study's stream of that name, or a generator of the seed given."""
    import numpy as np

    if seed is not None and seed < 0:
        raise InputError(f"seed is {seed}", "It is a whole number from 0 on.")
    if seed is None and found.study is not None:
        return found.study.rng(verb)
    return np.random.default_rng(DEFAULT_SEED if seed is None else seed)


def seed_words(found: "Sources", seed: int | None) -> str:
    """Return the seed of `generator`, for the provenance."""
    own = seed is None and found.study is not None
    return "the study's" if own else str(DEFAULT_SEED if seed is None else seed)


def describe(found: "Sources", reader: "Reader", order: Order, **options: str) -> dict[str, str]:
    """Return what a result was made from and how, for its provenance."""
    from prefjudge import __version__

    return {
        "prefjudge": __version__,
        "order": str(order),
        **options,
        "runs": str(len(reader)),
        **{f"queries under {labels.name}": str(len(labels.queries)) for labels in found.qrels},
    }


def need_files(verb: str, example: str, *, given: bool) -> None:
    """Refuse to work on nothing."""
    if not given:
        raise InputError(f"{verb} takes a study, or --runs and --qrels", f"For instance: {example}")
