"""Models as extra assessors: what two answers to a pair come to, and how a model compares with people."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from prefjudge.core.judges.judgments import Judgments, select_judgments

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
    """A model's answers to one pair, asked in both orders: 1 for ``doc_a``, -1 for ``doc_b``, 0 for neither.

    Attributes
    ----------
    pair : Pair
        The query and the documents.
    a_first, b_first : int
        What was preferred when ``doc_a``, or ``doc_b``, was shown first.
    """

    pair: Pair
    a_first: int
    b_first: int

    @property
    def choice(self) -> int:
        """The verdict: what both orders agree on, else a tie."""
        return self.a_first if self.a_first == self.b_first else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison:
    """A model against people, and people among themselves, as counts of single votes.

    Attributes
    ----------
    pairs, ties, flips : int
        Pairs that the model judged; those without a verdict; those of them where the order decided.
    first_side : int
        How often the passage shown first was preferred, out of ``answers`` decided answers.
    answers : int
        The answers that chose a side.
    agreed, compared : int
        Of people's votes on pairs that the model decided, how many agree with it, and how many there are.
    people_agreed, people_compared : int
        Of the pairs of votes by different people on a pair that the model decided, how many agree, and how
        many there are.
    """

    pairs: int
    ties: int
    flips: int
    first_side: int
    answers: int
    agreed: int
    compared: int
    people_agreed: int
    people_compared: int


def split_models(log: Judgments, named: Collection[str] = ()) -> tuple[Judgments, dict[str, Judgments]]:
    """Part a log into people's votes and those of each model; the vocabularies stay.

    Parameters
    ----------
    log : Judgments
        The votes.
    named : collection of str
        Which workers are models, with or without ``model:``; by default those whose names begin with it.

    Raises
    ------
    KeyError
        A name is not a worker's.
    """
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
    """Return what a reply chooses: 1 for the passage shown first, -1 for the other, 0 for neither.

    It is the first line if that is nothing but 0, 1 or 2, else the only one of these in the reply, so that
    ``Passage 1 is better`` is a choice; None where there is none, or more than one.
    """
    first = re.fullmatch(r"\W*([012])\W*", reply.strip().partition("\n")[0])
    found = {first[1]} if first else set(re.findall(r"(?<!\w)(?<!\d[.,])([012])(?!\w)(?![.,]\d)", reply))
    return {"0": 0, "1": 1, "2": -1}[found.pop()] if len(found) == 1 else None


def compare_with_people(votes: Iterable[ModelVote], people: Mapping[Pair, Sequence[int]]) -> ModelComparison:
    """Set a model's verdicts beside people's votes.

    Parameters
    ----------
    votes : iterable of ModelVote
        The model's.
    people : mapping of Pair to sequence of int
        The votes of different people on each pair, 1 for ``doc_a``, -1 for ``doc_b``, 0 for a tie.
    """
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
    """Return the candidates that a model would veto: (query_id, doc_id) that lost every decided pair.

    Parameters
    ----------
    votes : iterable of ModelVote
        The model's verdicts.
    least : int
        How many decided pairs a candidate must have lost, without a tie or a win, to be hopeless.
    """
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
    """Return whose models a name or a run tag names, by its whole words.

    ``gpt-4o``, ``bm25+o3-mini`` and ``openai-rank`` name OpenAI. A model that was made from another's,
    such as ``DeepSeek-R1-Distill-Qwen-7B``, is of both families.
    """
    words = _words(name)
    return frozenset(
        maker for maker, known in _FAMILIES.items() if any(f"-{one}-" in words for one in known.split())
    )


def kin_among(family: str, runs: Iterable[str]) -> tuple[str, ...]:
    """Return the run tags that name a family: a judge should not judge its own kind.

    Parameters
    ----------
    family : str
        A model's name; or words that run tags use for its kind, where no maker is known by them.
    runs : iterable of str
        The run tags.
    """
    families, own = model_families(family), _words(family)
    return tuple(
        run for run in runs if families & model_families(run) or (not families and own in _words(run))
    )


def _words(name: str) -> str:
    """Return the words and numbers of a name between hyphens: ``GPT4_turbo`` gives ``-gpt-4-turbo-``."""
    return "-".join(("", *re.findall(r"[^\W\d_]+|\d+", name.lower()), ""))
