"""Asks a language model about a study's pairs: an extra, distrusted assessor."""

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Interval

from prefjudge.core.hits import Passage
from prefjudge.core.judgments import (
    Judgments,
    ModelComparison,
    ModelVote,
    Pair,
    compare_with_people,
    hopeless,
    kin_among,
    model_families,
    read_choice,
    split_models,
)
from prefjudge.errors import CrowdError, InputError, StudyError, quoted
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
from prefjudge.resources import resource_dir
from prefjudge.show.cells import Column, Table
from prefjudge.show.results import Shown
from prefjudge.study.assignments import load_choices
from prefjudge.study.hits import asked_design
from prefjudge.study.imports import (
    count_tokens,
    load_reply,
    load_votes,
    save_reply,
    save_votes,
)
from prefjudge.study.people import load_rehearsal
from prefjudge.study.pools import load_inputs, load_pairs_by_number, load_queries, load_shown
from prefjudge.study.progress import Stage, lacking
from prefjudge.study.store import Study, open_study
from prefjudge.words import Rehearsal

if TYPE_CHECKING:
    from jinja2 import Template

    from prefjudge.crowd.model import ChatModel


# Says what models' votes are worth beside people's: a gate, and votes saved.


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
            tuple(getattr(gate, "state" if one.name == "gate" else one.name) for one in columns)
            for gate in gates
        ),
        notes=(
            "The alternative annotator test (Calderon et al. 2025) on pairs that the model and at least two "
            "people judged, one person after the other against the rest. Open: the model is as good as the "
            f"person, less {epsilon:.0%}, for at least half of {LEAST_PEOPLE} or more people with "
            f"{LEAST_VOTES} votes each. More than {FEW_PEOPLE} people with few votes are taken together.",
            "Difference: how much more often the model agrees with the others at least as well; the interval "
            f"is over queries. Shut: it is below -{epsilon:.0%}. Not told: more votes may open the gate.",
        ),
    )


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


KEY_VARIABLE = "PREFJUDGE_MODEL_KEY"
PROMPT_FILE = "model_prompt.txt"
_BATCH = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class JudgeResult(Shown):
    """How a model judged, how many tokens that took, and how it compares with people.

    ``asked`` and ``unreadable`` are of this call: questions asked, and replies among them without a choice,
    which do not count as votes and are asked for again by the next call. ``replies`` counts the questions
    ever replied to. The tokens are those of all replies, as far as the endpoint counted them.
    """

    model: str
    asked: int
    replies: int
    prompt_tokens: int
    reply_tokens: int
    comparison: ModelComparison
    hopeless: int
    unreadable: int
    rehearsal: Rehearsal | None
    notices: tuple[str, ...]


def judge(
    study: str | Path | Study,
    *,
    url: str | None = None,
    model: str | None = None,
    worth: bool = False,
    family: str | None = None,
    workers: Annotated[int, Interval(ge=1, le=64)] = 8,
    most: Annotated[int, Ge(1)] | None = None,
    progress: Callable[[int, int], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> "JudgeResult | WorthResult":
    """Ask a model about the study's pairs, each in both orders; where the orders disagree, it is a tie.

    A pair gets no vote if the reply chooses neither passage.

    Its votes are kept apart from people's: preference qrels are made of people's alone. ``run --model`` lets
    it order the candidates and veto those that lose to all others; it settles nothing.

    ``worth`` asks no model and needs no address. It says what votes of models are worth beside people's: may
    a model stand in for a person, and how many votes of people does it save, with its interval?

    Parameters
    ----------
    study : Path
        The study, with its pool and texts.
    url : str, optional
        The base address of an OpenAI-compatible endpoint, up to ``/v1``. Its key, if it wants one, is read
        from the environment variable PREFJUDGE_MODEL_KEY.
    model : str, optional
        The model's name; with ``worth`` all that have judged by default, and a judge of imported votes, too.
    worth : bool
        Say what models' votes are worth, instead of asking for more.
    family : str, optional
        Its maker, or what run tags would call its kind, where the model's name does not say it; ``none`` has
        it judge runs of its own kind, too.
    workers : int
        How many questions are asked at once.
    most : int, optional
        Ask about this many pairs at most.
    progress : callable, optional
        Told how many pairs of how many are judged.
    tell : callable, optional
        Told what the endpoint makes it wait for.

    Returns
    -------
    JudgeResult or WorthResult
        How the model judged; with ``worth`` what models' votes are worth.

    Raises
    ------
    InputError
        The address is not a URL, or the address or the model is missing.
    StudyError
        There is nothing to judge, or the model's kind is in the pool.
    CrowdError
        The endpoint refuses or is out of reach, or most replies choose nothing; what was answered is kept.
    """
    opened = open_study(study)
    if worth:
        return find_worth(opened, model)
    if url is None or model is None:
        raise InputError(
            "judge needs a model and its address",
            f"Run: prefjudge judge {quoted(opened.folder)} --model NAME --url https://…/v1",
        )
    from prefjudge.crowd.model import ChatModel

    notices = _guard(opened, model, family)
    endpoint = ChatModel(url, model, os.environ.get(KEY_VARIABLE, ""), tell)
    asker = _Asker(opened, endpoint)
    with opened.transaction(write=False) as db:
        pairs = list(load_pairs_by_number(db).items())[:most]
    if not pairs:
        raise lacking(opened, Stage.POOL)
    with ThreadPoolExecutor(workers) as pool:
        for start in range(0, len(pairs), _BATCH):
            batch = pairs[start : start + _BATCH]
            made, stopped_by = _ask_all(pool, asker, batch)
            with opened.transaction() as db:
                save_votes(db, model, made)
            if stopped_by:
                raise stopped_by
            asker.check()
            if progress:
                progress(start + len(batch), len(pairs))
    return _result(opened, model, asker, notices)


def _ask_all(
    pool: ThreadPoolExecutor, asker: "_Asker", pairs: Sequence[tuple[int, Pair]]
) -> tuple[list[tuple[int, ModelVote]], BaseException | None]:
    """Return the votes by the pairs' numbers, and what kept some pairs from being asked about."""
    numbers = {pool.submit(asker.vote, pair): number for number, pair in pairs}
    try:
        wait(numbers, return_when=FIRST_EXCEPTION)
    finally:
        for future in numbers:
            future.cancel()
    wait(numbers)
    ended = [future for future in numbers if not future.cancelled()]
    errors = [error for future in ended if (error := future.exception())]
    votes = [(numbers[future], future.result()) for future in ended if not future.exception()]
    return [(number, vote) for number, vote in votes if vote], errors[0] if errors else None


class _Asker:
    """Asks about a pair in both orders, unless the store knows a choice."""

    def __init__(self, study: Study, model: "ChatModel") -> None:
        self.asked = 0
        self.unreadable: list[str] = []
        self._known = 0
        self._study = study
        self._model = model
        self._prompt, self._design = load_prompt(), asked_design(study)
        self._counting = Lock()
        with study.transaction(write=False) as db:
            self._queries, self._passages = load_queries(db), load_shown(db)

    def vote(self, pair: tuple[str, str, str]) -> ModelVote | None:
        """Return the model's vote on a pair, None where a reply chooses nothing."""
        query, a, b = pair
        missing = [doc for doc in (a, b) if doc not in self._passages]
        if missing or query not in self._queries:
            raise lacking(self._study, Stage.TEXTS, what=f"query {query} or its passages have no text")
        first = self._choose(self._queries[query], self._passages[a], self._passages[b])
        second = self._choose(self._queries[query], self._passages[b], self._passages[a])
        return (
            None if first is None or second is None else ModelVote(pair=pair, a_first=first, b_first=-second)
        )

    def check(self) -> None:
        """Stop where most replies choose nothing: asking on would cost, and tell nothing."""
        replies = self.asked + self._known
        if 2 * len(self.unreadable) > replies:
            raise CrowdError(
                f"{len(self.unreadable)} of {replies} replies of {self._model.name} choose no passage, "
                f"such as {self.unreadable[0][:60]!r}",
                "They are not votes. Ask a model that replies with 1 or 2 at once, without reasoning first.",
            )

    def _choose(self, query: str, first: Passage, second: Passage) -> int | None:
        """Return 1 for the passage shown first, -1 for the other, 0 for neither, None for no choice."""
        asked = {"question": self._design.question, "allow_ties": self._design.allow_ties}
        prompt = self._prompt.render(query=query, first=first, second=second, **asked)
        key = hashlib.sha256(f"{self._model.name}\x1f{prompt}".encode("utf-8", "surrogatepass")).hexdigest()
        with self._study.transaction(write=False) as db:
            known = load_reply(db, key)
        choice = None if known is None else read_choice(known)
        if choice is not None:
            with self._counting:
                self._known += 1
            return choice
        reply = self._model.ask(prompt)
        took = (reply.prompt_tokens, reply.reply_tokens)
        with self._study.transaction() as db:
            save_reply(db, key, self._model.name, reply.text, took, time.time())
        choice = read_choice(reply.text)
        with self._counting:
            self.asked += 1
            if choice is None:
                self.unreadable.append(reply.text)
        return choice


def load_prompt() -> "Template":
    """Return the prompt's template. A prompt is plain text, so nothing in it is escaped."""
    from jinja2 import Environment, StrictUndefined

    text = (resource_dir("hit_templates") / PROMPT_FILE).read_text(encoding="utf-8")
    return Environment(undefined=StrictUndefined, autoescape=False).from_string(text)  # noqa: S701


def _guard(study: Study, model: str, family: str | None) -> tuple[str, ...]:
    """Refuse a model whose kind is in the pool; return a notice where its kind is not known."""
    with study.transaction(write=False) as db:
        runs = [found.name for found in load_inputs(db) if found.kind == "run"]
    kin = kin_among(family or model, runs)
    if kin:
        raise StudyError(
            f"{model} would judge runs of its own kind: {', '.join(kin)}",
            "Choose another model; or say --family none, and report it.",
        )
    if family or model_families(model):
        return ()
    return (
        f"the name {model} does not say whose model it is: name its maker by --family, so that it does "
        "not judge runs of its own kind",
    )


def _result(study: Study, model: str, asker: _Asker, notices: tuple[str, ...]) -> JudgeResult:
    with study.transaction(write=False) as db:
        votes = [vote for _, vote in load_votes(db, model)]
        replies, prompt_tokens, reply_tokens = count_tokens(db, model)
        people, rehearsal = load_choices(db), load_rehearsal(db)
    return JudgeResult(
        model=model,
        asked=asker.asked,
        replies=replies,
        prompt_tokens=prompt_tokens,
        reply_tokens=reply_tokens,
        comparison=compare_with_people(votes, people),
        hopeless=len(hopeless(votes)),
        unreadable=len(asker.unreadable),
        rehearsal=rehearsal,
        notices=notices,
    )
