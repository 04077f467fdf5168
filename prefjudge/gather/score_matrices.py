"""The query x run matrices that the statistics work on, from the inputs of a step."""

from collections.abc import Iterable, Sequence

from prefjudge.core.pooling.qrels import JudgedRanks, Qrels, Scores
from prefjudge.core.resolving.preferences import PREFERENCE_NAME
from prefjudge.errors import InputError
from prefjudge.evaluation.leaderboards.not_judged import NotJudged, judged_tops
from prefjudge.evaluation.leaderboards.tie_sensitivity import TieSensitivity, tie_sensitivity
from prefjudge.evaluation.scoring.judged_pairs import compared_pairs, place_candidates
from prefjudge.evaluation.scoring.measures import Measure, score_matrix
from prefjudge.evaluation.scoring.preference_measures import (
    PreferenceMeasure,
    is_preference_measure,
    preference_matrix,
)
from prefjudge.gather.memory import Measures
from prefjudge.gather.readers import Reader
from prefjudge.gather.score_inputs import ScoreInputs
from prefjudge.gather.surprises import beside_each_other, tops_not_judged


def named_measures(found: ScoreInputs, measures: Measures) -> tuple[list[Measure], list[PreferenceMeasure]]:
    """Return the measures by kind: those that need labels, and those that need judged pairs.

    Raises
    ------
    InputError
        A measure is unknown, or needs judgments and there are none, or has no condensed form.
    """
    texts = found.measures(measures)
    by_pairs = [PreferenceMeasure.parse(text) for text in texts if is_preference_measure(text)]
    by_labels = [Measure.parse(text) for text in texts if not is_preference_measure(text)]
    if found.judged_only:
        by_labels = [measure.condensed() for measure in by_labels]
    if by_pairs and found.judgments is None:
        raise InputError(f"{by_pairs[0]} is computed from judgments", "Add --judgments FILE.")
    return list(dict.fromkeys(by_labels)), list(dict.fromkeys(by_pairs))


def note_surprises(
    reader: Reader,
    ranks: Sequence[Sequence[JudgedRanks]],
    labels: Sequence[Qrels],
    measures: Sequence[Measure],
    ties: Iterable[TieSensitivity],
) -> None:
    """Add to the reader's notices what in the runs changes their scores, before a number is told."""
    depths = [measure.cutoff for measure in measures]
    deepest = None if None in depths else max((depth for depth in depths if depth), default=None)
    if labels:
        reader.runs.notices.extend(beside_each_other(ranks[: len(labels)], labels, deepest, ties))


def note_judged_tops(
    found: ScoreInputs, reader: Reader, ranks: Sequence[JudgedRanks], documents: Qrels
) -> tuple[NotJudged, ...]:
    """Return how many of each run's top passages people compared, and add it to the reader's notices.

    It counts the queries that have preference qrels, or, without a study, those that the judgments are about.
    """
    preferred = (labels.queries for labels in found.qrels if found.study and labels.name == PREFERENCE_NAME)
    tops = judged_tops(ranks, documents, next(preferred, documents.queries))
    reader.runs.notices.extend(tops_not_judged(tops))
    return tops


def score_matrices(found: ScoreInputs, measures: Measures, reader: Reader) -> tuple[Scores, ...]:
    """Score all runs under each label set with each measure, in that order; then by the judged pairs.

    Raises
    ------
    InputError
        A run cannot be read, a measure is unknown, or needs judgments and there are none.
    """
    by_labels, by_pairs = named_measures(found, measures)
    labels = found.qrels if by_labels else ()
    voted = by_pairs or (found.study and found.judgments is not None and len(found.judgments))
    pairs = compared_pairs(found.judgments) if voted and found.judgments is not None else None
    ranks = reader.judged_all([*labels, *([found.copies.spread(pairs.documents)] if pairs else [])])
    if pairs:
        ranks.append(place_candidates(pairs.documents, found.copies, lambda _: ranks.pop()).ranks)
    ties = (
        found
        for placed, one in zip(ranks, labels, strict=False)
        for measure in by_labels
        for found in tie_sensitivity(placed, one, measure)
    )
    note_surprises(reader, ranks, labels, by_labels, ties)
    if pairs and labels:
        note_judged_tops(found, reader, ranks[-1], pairs.documents)
    matrices = [
        score_matrix(placed, one, measure)
        for placed, one in zip(ranks, labels, strict=False)
        for measure in by_labels
    ]
    if pairs and by_pairs:
        matrices += [preference_matrix(ranks[-1], pairs, measure) for measure in by_pairs]
    return tuple(matrices)
