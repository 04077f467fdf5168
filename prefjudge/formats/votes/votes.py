"""Votes: side-by-side judgments that were made elsewhere, with all that their file says of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.judges.models import ModelVote


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a release says of an assignment: how much was answered, how it fared on gold, the verdict."""

    answered: int
    gold_right: int
    gold_missed: int
    seconds: float
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes:
    """The votes of one file; what the file does not say is empty.

    Attributes
    ----------
    form : str
        What the file was read as.
    log : Judgments
        The votes, in the order of the file; ``log.sides`` says whether left and right are those of a screen.
    milliseconds : ndarray of int64, shape (n,)
        How long each comparison took; 0 where that is not known.
    criterion : str
        The question that the votes are on, where the file names it.
    ids, judges, phases, assignments : sequence of str
        Of each vote: what tells it from all others, who made it, when, and in which assignment.
    dropped : mapping of int to str
        Why votes do not count, by row.
    work : mapping of str to Work
        What is known of the assignments.
    gold : mapping of str to (int, int)
        How many comparisons with a known answer each worker got right, and missed; ``log`` has none of them.
    models : sequence of (str, ModelVote)
        What language models said of pairs, each with its model's name.
    queries, passages : mapping of str to str
        The texts.
    pooled : sequence of (query, document, source)
        The candidates, and which system each is from; ``""`` where the file does not say.
    carried : sequence of (str, mapping)
        What the log of a study says of it beside its votes: what each row is, and the row.
    """

    form: str
    log: Judgments
    milliseconds: NDArray[np.int64]
    criterion: str = ""
    ids: Sequence[str] = ()
    judges: Sequence[str] = ()
    phases: Sequence[str] = ()
    assignments: Sequence[str] = ()
    dropped: Mapping[int, str] = field(default_factory=dict)
    work: Mapping[str, Work] = field(default_factory=dict)
    gold: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    models: Sequence[tuple[str, ModelVote]] = ()
    queries: Mapping[str, str] = field(default_factory=dict)
    passages: Mapping[str, str] = field(default_factory=dict)
    pooled: Sequence[tuple[str, str, str]] = ()
    carried: Sequence[tuple[str, Mapping[str, Any]]] = ()
