"""Judgments: the log of who preferred what, people's and models', and whose are dropped."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import log

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.runs import Codes


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgments:
    """Side-by-side judgments: one row per choice of one judge, in the order of the log."""

    queries: tuple[str, ...]
    docs: Sequence[str]
    workers: tuple[str, ...]
    """The vocabularies. A worker is a person or a model."""
    query: Codes
    left: Codes
    right: Codes
    """The query and the documents shown on the left and the right (in a file: columns 2 and 3)."""
    choice: NDArray[np.int8]
    """1 where the left was preferred, -1 where the right was, 0 for a tie."""
    strength: NDArray[np.int8]
    """How strongly, from 1; 1 where no strength was asked."""
    worker: Codes
    """Code into ``workers``; -1 where the source does not say."""
    sides: bool = True
    """Whether left and right are the sides of the screen. A file may list the documents by id, or the
    preferred one first: then nothing can be learnt from their order."""
    gold: NDArray[np.int64] | None = None
    """Shape (2, n_workers): the gold pairs that each worker got right, and missed; None where nothing is
    known of gold pairs."""
    click: Codes | None = None
    """Which choice out of several passages each is a win of; -1 where two were compared. None if all were."""

    @classmethod
    def of_nobody(
        cls,
        *,
        queries: tuple[str, ...],
        docs: Sequence[str],
        query: Codes,
        left: Codes,
        right: Codes,
        choice: NDArray[np.int8],
        sides: bool = True,
    ) -> "Judgments":
        """Return judgments of which nobody says whose they are, nor how strong."""
        return cls(
            queries=queries,
            docs=docs,
            workers=(),
            query=query,
            left=left,
            right=right,
            choice=choice,
            strength=np.ones(choice.size, np.int8),
            worker=np.full(choice.size, -1, np.int32),
            sides=sides,
        )

    def __len__(self) -> int:
        return int(self.query.size)

    @property
    def winner(self) -> Codes:
        """The preferred document; the left one of a tie, so mask ties with ``choice != 0``."""
        return np.where(self.choice >= 0, self.left, self.right)

    @property
    def loser(self) -> Codes:
        """The other document."""
        return np.where(self.choice >= 0, self.right, self.left)

    @property
    def worth(self) -> "Floats | None":
        """What each is worth, shape (n,), where not all are worth one vote.

        Two passages tell a bit at most, ``k`` passages log2(k): so many votes the ``k - 1`` wins of a choice
        share, which are one answer, where votes are counted. For P(best) a choice is one event.
        """
        return None if self.click is None else worth_of_wins(self.click)

    @property
    def passages(self) -> int:
        """How many passages were shown at once at most."""
        return 2 if self.click is None else 1 + int(np.bincount(self.click + 1)[1:].max(initial=1))


def only_queries(judgments: Judgments, queries: Collection[str]) -> Judgments:
    """Return the judgments of the given queries only, in the order of the log; the vocabularies stay."""
    wanted = set(queries)
    known = np.array([name in wanted for name in judgments.queries], dtype=bool)
    return select_judgments(judgments, known[judgments.query])


def nameless(judgments: Judgments) -> Judgments:
    """Return the judgments without their workers."""
    return replace(judgments, workers=(), worker=np.full(len(judgments), -1, dtype=np.int32), gold=None)


MOST_PASSAGES = 5
"""How many passages a question shows at most."""


def worth_of_win(passages: NDArray[np.int64] | int) -> "Floats":
    """Return what a win of a choice out of so many passages is worth: of two, one vote."""
    return np.log2(passages) / (np.asarray(passages) - 1.0)


def worth_of_wins(click: Codes) -> "Floats":
    """Return what wins of these choices are worth; one where two were compared."""
    _, of, wins = np.unique(click, return_inverse=True, return_counts=True)
    return np.where(click < 0, 1.0, worth_of_win(wins + 1)[of])


def select_judgments(judgments: Judgments, keep: NDArray[np.bool_] | NDArray[np.int64]) -> Judgments:
    """Return the judgments that ``keep`` flags, or lists in its order, with the same vocabularies."""
    return replace(
        judgments,
        query=judgments.query[keep],
        left=judgments.left[keep],
        right=judgments.right[keep],
        choice=judgments.choice[keep],
        strength=judgments.strength[keep],
        worker=judgments.worker[keep],
        click=None if judgments.click is None else judgments.click[keep],
    )


def whole_choices(judgments: Judgments, keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return what ``keep`` flags, but no part of a choice of which it leaves out a win, or two are one."""
    if judgments.click is None:
        return keep
    wins = np.column_stack([judgments.click, judgments.query, judgments.left, judgments.right])
    _, of, many = np.unique(wins, axis=0, return_inverse=True, return_counts=True)
    torn = judgments.click[~keep | (many[of.ravel()] > 1)]
    return keep & ((judgments.click < 0) | ~np.isin(judgments.click, torn))


def one_of_each_choice(judgments: Judgments) -> NDArray[np.int64]:
    """Return the rows with one win of each choice out of several passages: no other is independent of it."""
    if judgments.click is None:
        return np.arange(len(judgments))
    # Each in its turn, whatever its number: votes that leave a study, and come back, tell the same.
    _, first, of = np.unique(judgments.click, return_index=True, return_inverse=True)
    turn = np.argsort(np.argsort(first))
    order = np.lexsort((judgments.loser, of))
    click = of[order]
    wins = np.bincount(of)
    place = np.arange(of.size) - (np.cumsum(wins) - wins)[click]
    kept = (judgments.click[order] < 0) | (place == (turn % wins)[click])
    return np.sort(order[kept])


def independent(judgments: Judgments) -> Judgments:
    """Return one win of each choice, as a vote on a pair: given its pair it is what such a vote is (Luce)."""
    if judgments.click is None:
        return judgments
    return replace(select_judgments(judgments, one_of_each_choice(judgments)), click=None)


def passed_over(judgments: Judgments) -> Codes:
    """Return the pairs that a choice showed and chose neither of: queries and documents, shape (3, n)."""
    none = np.zeros((3, 0), dtype=np.int32)
    if judgments.click is None:
        return none
    rows = np.flatnonzero(judgments.click >= 0)
    rows = rows[np.argsort(judgments.click[rows], kind="stable")]
    click, query, loser = judgments.click[rows], judgments.query[rows], judgments.loser[rows]
    pairs = [none]
    for apart in range(1, int(np.bincount(click, minlength=1).max())):
        same = click[apart:] == click[:-apart]
        pairs.append(np.stack([query[apart:][same], loser[:-apart][same], loser[apart:][same]]))
    return np.concatenate(pairs, axis=1)


# Models as extra assessors: what two answers to a pair come to, and how a model compares with people.

MODEL_PREFIX = "model:"
"""Of the worker that a model is in a log of judgments."""

Pair = tuple[str, str, str]
"""query_id, doc_a, doc_b."""

_FAMILIES = {
    "OpenAI": "openai gpt chatgpt rankgpt davinci text-embedding o-1 o-3 o-4",
    "Anthropic": "anthropic claude",
    "Google": "google gemini gemma palm",
    "Meta": "meta llama rankllama repllama vicuna rankvicuna",
    "Mistral": "mistral mistralai mixtral ministral magistral zephyr rankzephyr",
    "Alibaba": "alibaba qwen qwq",
    "DeepSeek": "deepseek",
    "Cohere": "cohere command",
    "Microsoft": "microsoft phi",
    "Amazon": "amazon titan nova",
    "xAI": "xai grok",
    "Zhipu": "zhipu glm chatglm",
    "Moonshot": "moonshot moonshotai kimi",
    "IBM": "ibm granite",
    "NVIDIA": "nvidia nemotron",
}
"""What names and run tags call each maker's models, and well-known rankers that are made of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelVote:
    """A model's answers to one pair in both orders: 1 for ``doc_a``, -1 for ``doc_b``, 0 for neither."""

    pair: Pair
    """The query and the documents."""
    a_first: int
    b_first: int
    """What was preferred when ``doc_a``, or ``doc_b``, was shown first."""

    @property
    def choice(self) -> int:
        """The verdict: what both orders agree on, else a tie."""
        return self.a_first if self.a_first == self.b_first else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison:
    """A model against people, and people among themselves, as counts of single votes."""

    pairs: int
    ties: int
    flips: int
    """Pairs that the model judged; those without a verdict; those of them where the order decided."""
    first_side: int
    """How often the passage shown first was preferred, out of ``answers`` decided answers."""
    answers: int
    """The answers that chose a side."""
    agreed: int
    compared: int
    """Of people's votes on pairs that the model decided, how many agree with it, and how many there are."""
    people_agreed: int
    people_compared: int
    """Of the pairs of votes by different people on a pair that the model decided, how many agree, and how
    many there are."""


def split_models(log: Judgments, named: Collection[str] = ()) -> tuple[Judgments, dict[str, Judgments]]:
    """Part a log into people's votes and those of each model; the vocabularies stay."""
    code = {name: number for number, name in enumerate(log.workers)}
    if named:
        prefixed = {name.removeprefix(MODEL_PREFIX): name for name in log.workers}
        chosen = [name if name in code else prefixed[name] for name in dict.fromkeys(named)]
    else:
        chosen = [name for name in log.workers if name.startswith(MODEL_PREFIX)]
    models = {
        name.removeprefix(MODEL_PREFIX): select_judgments(log, log.worker == code[name]) for name in chosen
    }
    judged_by_model = [code[name] for name in log.workers if name in chosen or name.startswith(MODEL_PREFIX)]
    return select_judgments(log, ~np.isin(log.worker, judged_by_model)), models


def read_choice(reply: str) -> int | None:
    """Return what a reply chooses: 1 for the passage shown first, -1 for the other, 0 for neither."""
    # It is the first line if that is nothing but 0, 1 or 2, else the only one of these in the reply, so that
    # `Passage 1 is better` is a choice; None where there is none, or more than one.
    first = re.fullmatch(r"\W*([012])\W*", reply.strip().partition("\n")[0])
    found = {first[1]} if first else set(re.findall(r"(?<!\w)(?<!\d[.,])([012])(?!\w)(?![.,]\d)", reply))
    return {"0": 0, "1": 1, "2": -1}[found.pop()] if len(found) == 1 else None


def compare_with_people(votes: Iterable[ModelVote], people: Mapping[Pair, Sequence[int]]) -> ModelComparison:
    """Set a model's verdicts beside people's votes."""
    listed = list(votes)
    decided = {vote.pair: vote.choice for vote in listed if vote.choice}
    against = [
        (decided[pair], choice)
        for pair, made in people.items()
        if pair in decided
        for choice in made
        if choice
    ]
    among = [
        (one, other)
        for pair, made in people.items()
        if pair in decided  # what it leaves undecided is hard for people, too
        for place, one in enumerate(made)
        for other in made[place + 1 :]
        if one and other
    ]
    return ModelComparison(
        pairs=len(listed),
        ties=sum(vote.choice == 0 for vote in listed),
        flips=sum(vote.a_first * vote.b_first < 0 for vote in listed),
        first_side=sum((vote.a_first == 1) + (vote.b_first == -1) for vote in listed),
        answers=sum((vote.a_first != 0) + (vote.b_first != 0) for vote in listed),
        agreed=sum(model == person for model, person in against),
        compared=len(against),
        people_agreed=sum(one == other for one, other in among),
        people_compared=len(among),
    )


def hopeless(votes: Iterable[ModelVote], least: int = 3) -> set[tuple[str, str]]:
    """Return the candidates that a model would veto: (query_id, doc_id) that lost every decided pair."""
    # These are `least` pairs or more, without a tie or a win.
    lost: dict[tuple[str, str], int] = {}
    saved: set[tuple[str, str]] = set()
    for vote in votes:
        query, a, b = vote.pair
        for doc, loss in ((a, vote.choice < 0), (b, vote.choice > 0)):
            if loss:
                lost[query, doc] = lost.get((query, doc), 0) + 1
            else:
                saved.add((query, doc))
    return {candidate for candidate, count in lost.items() if count >= least and candidate not in saved}


def favourites(votes: Iterable[ModelVote]) -> dict[str, str]:
    """Return each query's candidate with the most decided pairs won, the first by doc_id among equals."""
    won: dict[str, dict[str, int]] = {}
    for vote in votes:
        query, a, b = vote.pair
        counts = won.setdefault(query, {})
        counts[a] = counts.get(a, 0) + (vote.choice > 0)
        counts[b] = counts.get(b, 0) + (vote.choice < 0)
    return {query: min(counts, key=lambda doc: (-counts[doc], doc)) for query, counts in won.items()}


def model_families(name: str) -> frozenset[str]:
    """Return whose models a name or a run tag names, by its whole words."""
    # `gpt-4o`, `bm25+o3-mini` and `openai-rank` name OpenAI. A model that was made from another's, such as
    # `DeepSeek-R1-Distill-Qwen-7B`, is of both families.
    words = _words(name)
    return frozenset(
        maker for maker, known in _FAMILIES.items() if any(f"-{one}-" in words for one in known.split())
    )


def kin_among(family: str, runs: Iterable[str]) -> tuple[str, ...]:
    """Return the run tags that name a family: a judge should not judge its own kind."""
    families, own = model_families(family), _words(family)
    return tuple(
        run for run in runs if families & model_families(run) or (not families and own in _words(run))
    )


def _words(name: str) -> str:
    """Return the words and numbers of a name between hyphens: ``GPT4_turbo`` gives ``-gpt-4-turbo-``."""
    return "-".join(("", *re.findall(r"[^\W\d_]+|\d+", name.lower()), ""))


# Screening: whose work is dropped for missed gold pairs, and who is barred from further HITs.


class BarringPolicy(StrEnum):
    """When a worker who missed gold pairs is barred from further HITs.

    The data of a HIT with a missed gold pair is dropped and re-issued under every policy.
    """

    LADDER = "ladder"
    """When the whole record of gold pairs speaks for chance, or its last part does. A slip costs a step on
    the ladder of trust (:func:`climb`), not the worker."""
    FIRST_MISS = "first-miss"
    """At the first miss."""
    FIRST_MISS_WHOLE = "first-miss-whole"
    """At the first miss, and no judgment of the worker counts, as the paper has it (section 3.1)."""
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldRecord:
    """How a worker has answered gold pairs so far."""

    right: int
    missed: int
    """The counts over all assignments."""
    hits: tuple[tuple[int, int], ...] = ()
    """The counts in each assignment, in the order of submission; needed by the ladder alone."""
    passed_over: frozenset[int] = frozenset()
    """The places in ``hits`` of those that say nothing: some gold pair was passed over, and none was
    missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarringRule:
    """A policy and its parameters."""

    policy: BarringPolicy = BarringPolicy.LADDER
    """When to bar."""
    accuracy: float = 0.9
    """The share of gold pairs that an acceptable worker gets right, above a half."""
    confidence: float = 0.95
    """How sure to be before barring."""

    def bars(self, record: GoldRecord) -> bool:
        """Return whether a worker with this record is barred."""
        if self.policy is BarringPolicy.NEVER or record.missed == 0:
            return False
        if self.policy is not BarringPolicy.LADDER:
            return True
        return self.guesses(record) or max(_page_sums(self.accuracy, record.hits)) >= _log_odds(_TURNED)

    def guesses(self, record: GoldRecord) -> bool:
        """Return whether a worker guesses, with a posterior probability of ``confidence``."""
        # A worker guesses (is right half of the time) or is acceptable, each as likely before the first gold
        # pair.
        return _weight(self.accuracy, record.right, record.missed) >= _log_odds(self.confidence)

    def began_well(self, record: GoldRecord) -> bool:
        """Return whether the HITs before the first miss show, at 99 %, that nobody guessed."""
        # With an accuracy of 0.9 it takes eight gold pairs. Six were too few: where six people guess, one of
        # them gets the first six gold pairs right in one study of eleven.
        return _weight(self.accuracy, _before_miss(record.hits), 0) <= -_log_odds(_SURE)

    def in_doubt(self, record: GoldRecord) -> bool:
        """Return whether the gold pairs do not show, at 99 %, that nobody guesses, or show it no longer."""
        # With an accuracy of 0.9 it takes eight that are right. After a HIT with a miss the doubt is back
        # until later ones outweigh it.
        return not self.proves(record) or _page_sums(self.accuracy, record.hits)[-1] > 0

    def proves(self, record: GoldRecord) -> bool:
        """Return whether all gold pairs together show, at 99 %, that nobody guesses."""
        return _weight(self.accuracy, record.right, record.missed) <= -_log_odds(_SURE)


SLIP = 0.25
"""How often honest workers miss a gold pair, as a share of how often they err: simulated ones do so, as such
pairs are easier than others."""


def dropped_share(error: float, golds: int) -> float:
    """Return the share of honest workers' assignments that miss a gold pair, and so are dropped."""
    return 1.0 - (1.0 - SLIP * error) ** golds


UNREADABLE = 40.0
"""Words a second that no reader can reach: ten times the pace of reading (Brysbaert, 2019), so that whoever
decides by the first lines of a passage is well below it."""
_LEAST = 0.5
"""Seconds that a person needs at least to see a comparison and choose."""


def _before_miss(hits: Sequence[tuple[int, int]]) -> int:
    """Return how many gold pairs were right in the HITs before the first with a miss."""
    right = 0
    for found, missed in hits:
        if missed:
            break
        right += found
    return right


def is_unreadable(seconds: float, comparisons: int, words: int) -> bool:
    """Return whether nobody can have read what was compared in this time."""
    return seconds < max(_LEAST * comparisons, words / UNREADABLE)


_SURE, _TURNED = 0.99, 0.994
"""How sure to be that a worker did not guess, and has turned to guessing. The test for a turn looks again
after each HIT and forgets what was good before: within 25 HITs it and the record bar .45 % of those who slip
in 5 % of gold pairs, at 99 % .7 %."""
_TOP = 16
"""The most HITs that a worker may have in hand or waiting for review."""
_PASSED_OVER = 3
"""How many more HITs a worker may hand in without all gold pairs than with them: people do stop early."""


def climb(hits: Sequence[tuple[int, int]], passed_over: Collection[int] = ()) -> int:
    """Return how many HITs a worker may have in hand or waiting for review."""
    if 2 * len(passed_over) >= len(hits) + _PASSED_OVER:
        return 0
    good = 0
    for place, (_, missed) in enumerate(hits):
        if place in passed_over:
            continue
        good = good // 2 if missed else min(_TOP - 1, good + 1)
    return 1 << ((good + 1).bit_length() - 1)


def _page_sums(accuracy: float, hits: Sequence[tuple[int, int]]) -> list[float]:
    """Return the evidence that a worker has turned from good work to guessing, before and after each HIT."""
    # These are the sums of Page's test (Biometrika, 1954), which begin anew whenever no evidence is left, so
    # that good work in the past does not hide what came after it.
    sums = [0.0]
    for right, missed in hits:
        sums.append(max(0.0, sums[-1] + _weight(accuracy, right, missed)))
    return sums


def _weight(accuracy: float, right: int, missed: int) -> float:
    """Return the log likelihood ratio of guessing to an accuracy."""
    return right * log(0.5 / accuracy) + missed * log(0.5 / (1 - accuracy))


def _log_odds(probability: float) -> float:
    return log(probability / (1 - probability))


# Verdicts: the judgments gathered by pair, whichever side each document was shown on.

Index = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Every judgment, and the pair it is about."""

    query: Codes
    doc_a: Codes
    doc_b: Codes
    """Shape (n_pairs,): the pairs, as codes of the judgments. ``doc_a`` is the first by doc_id."""
    pair: Index
    """Shape (n_judgments,): the pair of each judgment."""
    choice: NDArray[np.int8]
    """Shape (n_judgments,): 1 where ``doc_a`` was preferred, -1 where ``doc_b`` was, 0 for a tie."""
    a_left: NDArray[np.bool_]
    """Shape (n_judgments,): whether ``doc_a`` was shown on the left."""

    @property
    def n_pairs(self) -> int:
        """How many pairs were judged."""
        return self.query.size


def gather_verdicts(judgments: Judgments) -> Verdicts:
    """Gather judgments by pair."""
    place = np.empty(len(judgments.docs), dtype=np.int64)
    # By doc_id and not by code: codes depend on the order in which documents were met.
    place[sorted(range(len(judgments.docs)), key=judgments.docs.__getitem__)] = np.arange(place.size)
    a_left = place[judgments.left] < place[judgments.right]
    doc_a = np.where(a_left, judgments.left, judgments.right)
    doc_b = np.where(a_left, judgments.right, judgments.left)
    # By query, then by both documents; equal rows stay in the order of the log.
    order = np.lexsort((place[doc_b], place[doc_a], judgments.query))
    rows = np.stack([judgments.query, doc_a, doc_b])[:, order]
    begins = np.ones(order.size, dtype=bool)
    begins[1:] = (rows[:, 1:] != rows[:, :-1]).any(axis=0)
    first, pair = order[begins], np.empty(order.size, dtype=np.int64)
    pair[order] = np.cumsum(begins) - 1
    return Verdicts(
        query=judgments.query[first],
        doc_a=doc_a[first],
        doc_b=doc_b[first],
        pair=pair,
        choice=np.where(a_left, judgments.choice, -judgments.choice).astype(np.int8),
        a_left=a_left,
    )
