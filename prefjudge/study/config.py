"""The study's config: its sections and keys, and how study.toml and the environment are read."""

import json
import os
from collections.abc import Mapping
from copy import deepcopy
from decimal import Decimal
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema

from prefjudge.core.judgments import MOST_PASSAGES, BarringPolicy
from prefjudge.core.pools import PoolDefaults, QrelsPerQuery
from prefjudge.core.resolving.rules import RULES, WEIGHING_RULE
from prefjudge.core.runs import Order
from prefjudge.crowd.crowds import AT_THE_MARKETPLACE, CROWDS, MARKETPLACE
from prefjudge.errors import ConfigError, InputError
from prefjudge.evaluation.measures.measures import one_each, parse_measure
from prefjudge.renamed import tell
from prefjudge.resources import resource_dir
from prefjudge.study.values import parse_money, parse_values, read_values

Money = Annotated[Decimal, BeforeValidator(parse_money)]
Share = Annotated[float, Field(ge=0, le=1)]
Values: TypeAlias = dict[str, Any]
Reason = Annotated[str, Field(min_length=1, max_length=500)]
_POOL = PoolDefaults()


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PoolConfig(_Section):
    """Which documents compete."""

    depth: Annotated[int, Field(ge=1)] = _POOL.depth
    order: Order = _POOL.order
    qrels: QrelsPerQuery = _POOL.qrels
    sample: Annotated[int, Field(ge=1)] | None = _POOL.sample
    min_size: Annotated[int, Field(ge=1)] = _POOL.min_size
    near_copies: bool = _POOL.near_copies


class ExampleConfig(_Section):
    """A comparison that is shown with its answer and the reason."""

    query: Annotated[str, Field(min_length=1, max_length=1000)]
    better: Annotated[str, Field(min_length=1, max_length=2000)]
    worse: Annotated[str, Field(min_length=1, max_length=2000)]
    reason: Annotated[str, Field(min_length=1, max_length=1000)]


class DesignConfig(_Section):
    """What a HIT holds and asks."""

    pairs_per_hit: Annotated[int, Field(ge=1, le=100)] = 10
    gold_per_hit: Annotated[int, Field(ge=0, le=20)] = 3
    judgments_per_pair: Annotated[int, Field(ge=1, le=50)] = 1
    overlap: Share = 0.0
    overlap_judgments: Annotated[int, Field(ge=2, le=50)] = 3
    allow_ties: bool = False
    allow_unable: bool = True
    comments: bool = True
    strengths: tuple[str, ...] = ()
    question: str = "Which passage best answers the question?"
    instructions: str = ""
    consent: str = ""
    examples: Annotated[tuple[ExampleConfig, ...], Field(max_length=10)] = ()
    language: Literal["en", "de", "fr", "es", "zh"] = "en"
    pages_url: str = ""
    seconds_per_pair: Annotated[float, Field(ge=0.1, le=3600)] = 25.0
    hourly_floor: Money = Decimal("12.00")


class HitConfig(_Section):
    """How a HIT is offered."""

    title: Annotated[str, Field(min_length=1, max_length=128)] = (
        "Choose the passage that best answers a question"
    )
    description: Annotated[str, Field(min_length=1, max_length=2000)] = (
        "Read a question and two passages, and choose the passage that best answers the question."
    )
    passages: Annotated[int, Field(ge=2, le=MOST_PASSAGES)] = 2
    reward: Money = Decimal("2.00")
    assignment_minutes: Annotated[int, Field(ge=1, le=525_600)] = 60
    lifetime_days: Annotated[int, Field(ge=1, le=365)] = 7
    auto_approval_days: Annotated[int, Field(ge=0, le=30)] = 7


class WorkersConfig(_Section):
    """Who may work."""

    locales: tuple[str, ...] = ()
    approved_more_than: Annotated[int, Field(ge=0)] | None = None
    min_approval_rate: Annotated[int, Field(ge=0, le=100)] | None = None
    min_practice_rate: Annotated[int, Field(ge=1, le=100)] | None = None
    exclude_barred: bool = True
    most_hits: Annotated[int, Field(ge=1)] | None = None
    most_share: Annotated[float, Field(gt=0, le=1)] | None = None
    keep_days: Annotated[int, Field(ge=0, le=36_500)] | None = None


Word = Annotated[str, Field(max_length=40, pattern=r"^([^\W\d_][\w -]*)?$")]


class WordsConfig(_Section):
    """What workers read instead of the crowd's words; empty: the page's own."""

    task: Word = ""
    passage: Word = ""


class FeesConfig(_Section):
    """What the marketplace takes of each reward and bonus."""

    rate: Annotated[Decimal, Field(ge=0, le=1)] = Decimal("0.20")


class ScreeningConfig(_Section):
    """What a missed gold pair means."""

    policy: BarringPolicy = BarringPolicy.LADDER
    accuracy: Share = 0.9
    confidence: Share = 0.95
    most_dropped: Share = 0.8
    keep: dict[str, Reason] = {}
    drop: dict[str, Reason] = {}

    @model_validator(mode="after")
    def _decides_once(self) -> Self:
        if both := sorted(self.keep.keys() & self.drop.keys()):
            raise ValueError(f"keep and drop both name {both[0]}")
        return self

    @model_validator(mode="after")
    def _tests_need_room(self) -> Self:
        ordered = 0.5 < self.accuracy < 1 and 0.5 < self.confidence < 1
        if self.policy is BarringPolicy.LADDER and not ordered:
            raise ValueError("the policy ladder needs an accuracy and a confidence between 0.5 and 1")
        return self


class EarlyExit(StrEnum):
    """How to pay a worker who stops before the last comparison."""

    BONUS = "bonus"
    """For the comparisons made, by a bonus: the paper's prorated pay (section 3.1)."""
    FULL = "full"
    """As if the HIT were finished."""


class PayConfig(_Section):
    """When and how workers are paid; ``doubt_days`` is how long pay waits for gold pairs to show reading."""

    when: Literal["collect", "pay"] = "collect"
    early_exit: EarlyExit = EarlyExit.BONUS
    doubt_days: Annotated[float, Field(ge=0, le=30)] = 2.0


class AuthorConfig(_Section):
    """Who made a study."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    affiliation: Annotated[str, Field(max_length=300)] = ""
    orcid: Annotated[str, Field(pattern=r"^(\d{4}-\d{4}-\d{4}-\d{3}[\dX])?$")] = ""


class ReleaseConfig(_Section):
    """How a release is called, whose it is, and what others may do with it."""

    title: Annotated[str, Field(max_length=300)] = ""
    description: Annotated[str, Field(max_length=5000)] = ""
    authors: Annotated[tuple[AuthorConfig, ...], Field(max_length=200)] = ()
    license: Annotated[str, Field(max_length=100)] = ""
    url: Annotated[str, Field(max_length=500, pattern=r"^(https?://\S+)?$")] = ""
    date: Annotated[str, Field(pattern=r"^(\d{4}-\d{2}-\d{2})?$")] = ""
    keywords: tuple[str, ...] = ()


_OPTION_TYPES: list[JsonValue] = ["string", "integer", "boolean"]


class TargetConfig(_Section):
    """A crowd, by its name: a marketplace that speaks Mechanical Turk's API, or another one.

    ``url`` is empty for the study's own marketplace. ``live`` allows spending real money there. ``options``
    are what only that crowd asks for. ``judge`` says who judges there with accounts that the crowd does not
    know to be made for simulation.
    """

    # what stands beside another crowd is its own: a schema cannot tell which (`_has_options`)
    model_config = ConfigDict(json_schema_extra={"additionalProperties": {"type": _OPTION_TYPES}})

    crowd: str = MARKETPLACE
    url: str = ""
    live: bool = False
    options: dict[str, str] = {}
    judge: Literal["person", "simulated"] = "person"

    @model_validator(mode="before")
    @classmethod
    def _has_options(cls, given: Any) -> Any:
        """Take what stands beside a crowd of another kind for one of its options; the crowd knows them."""
        if not isinstance(given, dict) or given.get("crowd", MARKETPLACE) == MARKETPLACE:
            return given
        known = {name: value for name, value in given.items() if name in cls.model_fields}
        more = {name: value for name, value in given.items() if name not in known}
        if not more or any(isinstance(value, (dict, list, float)) for value in more.values()):
            return given
        told = {
            name: json.dumps(value) if isinstance(value, bool) else str(value) for name, value in more.items()
        }
        return known | {"options": told | known.get("options", {})}

    @field_validator("crowd")
    @classmethod
    def _is_a_crowd(cls, crowd: str) -> str:
        if crowd not in CROWDS:
            raise ValueError(f"there is no such crowd; choose one of: {', '.join(CROWDS)}")
        return crowd

    @property
    def is_own_marketplace(self) -> bool:
        """Whether it is the marketplace in the study's folder."""
        return self.crowd in AT_THE_MARKETPLACE and not self.url


Login = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*(\[bot\])?$")]


class BoardConfig(_Section):
    """Who may submit what to a leaderboard that is kept in Git."""

    maintainers: tuple[Login, ...] = ()
    """Who may change more than a submission of their own, by their logins."""
    per_team: Annotated[int, Field(ge=1)] = 2
    days: Annotated[int, Field(ge=1, le=3660)] = 30
    """At most this many submissions of a team, and of a submitter, in any so many days."""
    late_days: Annotated[int, Field(ge=0, le=3660)] = 7
    """The date in a submission's name is at most so many days ago."""
    embargo_days: Annotated[int, Field(ge=0, le=3660)] = 270
    """An embargo ends at most so many days after that date; 0: there is none."""
    megabytes: Annotated[float, Field(gt=0, le=2000)] = 50
    unpacked_megabytes: Annotated[float, Field(gt=0, le=100_000)] = 1000
    """The largest run file, as it is stored and unpacked."""
    types: Annotated[tuple[str, ...], Field(min_length=1)] = ("full ranking", "reranking")
    """What a submission may be."""
    links: tuple[Annotated[str, Field(pattern="^(paper|code)$")], ...] = ()
    """Which of ``paper`` and ``code`` must be given."""

    def trusts(self, login: str) -> bool:
        """Return whether a login is that of a maintainer."""
        return any(is_same_login(login, one) for one in self.maintainers)


def is_same_login(one: str, other: str) -> bool:
    """Return whether two logins are one: hosts of repositories do not tell capitals apart."""
    return one.casefold() == other.casefold()


class StudyConfig(_Section):
    """All settings of a study, each with its default."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    id: Annotated[str, Field(max_length=100)] = ""
    seed: Annotated[int, Field(ge=0)] = 2021
    store: str = ""
    budget: Money | None = None
    rule: str = WEIGHING_RULE
    measures: tuple[str, ...] = ("RR@10",)
    pool: PoolConfig = PoolConfig()
    design: DesignConfig = DesignConfig()
    hit: HitConfig = HitConfig()
    workers: WorkersConfig = WorkersConfig()
    words: WordsConfig = WordsConfig()
    fees: FeesConfig = FeesConfig()
    screening: ScreeningConfig = ScreeningConfig()
    pay: PayConfig = PayConfig()
    release: ReleaseConfig = ReleaseConfig()
    board: BoardConfig = BoardConfig()
    targets: dict[Literal["sandbox", "live"], TargetConfig] = {"sandbox": TargetConfig()}

    @model_validator(mode="after")
    def _asks_of_two(self) -> Self:
        if self.hit.passages > 2 and (self.design.allow_ties or self.design.strengths):
            raise ValueError("ties and strengths are asked of two passages only: set passages = 2 in [hit]")
        return self

    def target(self, name: str) -> TargetConfig | None:
        """Return the settings of a target; None where the config has none of this name."""
        return next((target for key, target in self.targets.items() if key == name), None)

    @field_validator("rule")
    @classmethod
    def _is_a_rule(cls, rule: str) -> str:
        if rule not in RULES:
            raise ValueError(f"there is no such rule; choose one of: {', '.join(RULES)}")
        return rule

    @field_validator("measures")
    @classmethod
    def _are_measures(cls, measures: tuple[str, ...]) -> tuple[str, ...]:
        if not measures:
            raise ValueError("give at least one measure, such as RR@10")
        each = tuple(one for measure in measures for one in one_each(measure))
        for measure in each:
            try:
                parse_measure(measure)
            except InputError as error:
                raise ValueError(str(error)) from None
        return each

    @model_validator(mode="after")
    def _caps_need_the_ladder(self) -> Self:
        capped = self.workers.most_hits is not None or self.workers.most_share is not None
        if capped and self.screening.policy is not BarringPolicy.LADDER:
            raise ValueError(
                "workers.most_hits and workers.most_share limit how many HITs a worker takes, which only the "
                'policy "ladder" of [screening] counts'
            )
        return self

    @model_validator(mode="after")
    def _live_needs_a_budget(self) -> Self:
        live, sandbox = self.targets.get("live"), self.targets.get("sandbox")
        if sandbox is not None and sandbox.live:
            raise ValueError("targets.sandbox pays in play money; a marketplace that pays is targets.live")
        if live is not None and live.crowd == MARKETPLACE and not live.url:
            raise ValueError("targets.live needs the url of a marketplace")
        if live is not None and self.budget is None:
            raise ValueError("a live target needs a budget: the most that the study may spend, in dollars")
        return self


MOVED: Mapping[str, str] = {}
"""Keys that have another name or section now: a config may still have the old one, whose value is taken."""

_SINGLE = frozenset({"PREFJUDGE_BUDGET", "PREFJUDGE_RULE", "PREFJUDGE_SEED"})
"""Variables that override a key above the first section."""


def load_config(path: Path) -> StudyConfig:
    """Read a study's config file; ``PREFJUDGE_HIT__REWARD=1.50`` overrides ``reward`` in ``[hit]``."""
    # So does `PREFJUDGE_BUDGET=20` `budget`, which is in no section.
    return check_config(read_values(path), path)


def parse_config(text: str, path: Path) -> StudyConfig:
    """Read the text of a config that is, or will be, at ``path``; as :func:`load_config`."""
    return check_config(parse_values(text, path), path)


def check_config(found: Values, path: Path) -> StudyConfig:
    """Return the config of a file's values and the environment's; as :func:`load_config`."""
    values = deepcopy(dict(found))
    told = _override(values, os.environ)
    for key, now in MOVED.items():
        old, new = _section(values, key), _section(values, now)
        if (name := _name(key)) in old and _name(now) not in new:
            _section(values, now, make=True)[_name(now)] = old.pop(name)
            told[now] = told.pop(key, key)
            tell(f"{path}: {key} is now {now}: write that name")
    try:
        return StudyConfig.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{path}:\n{_explained(error, told)}", "Fix these keys.") from None


def schema_text() -> str:
    """Return the JSON Schema of study.toml, by which editors complete and check it."""
    schema = StudyConfig.model_json_schema()
    return json.dumps({"$schema": GenerateJsonSchema.schema_dialect, **schema}, indent=2, ensure_ascii=False)


def template(name: str) -> str:
    """Return the text of prefjudge's config ``name``, to start a study from."""
    known = {path.stem: path for path in sorted(resource_dir("configs").glob("*.toml"))}
    if name not in known:
        raise ConfigError(f"there is no config {name!r}", f"Choose one of: {', '.join(known)}.")
    return known[name].read_text(encoding="utf-8")


def _section(values: Values, key: str, *, make: bool = False) -> Values:
    """Return the values beside a key, which may stand in no section; none where there is no such section."""
    for part in key.split(".")[:-1]:
        values = values.setdefault(part, {}) if make else values.get(part, {})
        if not isinstance(values, dict):
            return {}
    return values


def _name(key: str) -> str:
    return key.rpartition(".")[2]


def _override(values: Values, environ: Mapping[str, str]) -> dict[str, str]:
    """Apply the environment's settings; return the variable that each ``section.name`` is from."""
    told: dict[str, str] = {}
    for key, text in environ.items():
        section, separator, name = key.removeprefix("PREFJUDGE_").lower().partition("__")
        if key in _SINGLE:
            values[section], told[section] = text, key
            continue
        if not (key.startswith("PREFJUDGE_") and separator):
            continue
        if not isinstance(values.setdefault(section, {}), dict):
            raise ConfigError(f"{key}: {section} is not a section of study.toml", f"Unset {key}.")
        values[section][name] = text
        told |= dict.fromkeys((section, f"{section}.{name}"), key)
    return told


def _explained(error: ValidationError, told: Mapping[str, str]) -> str:
    lines = []
    for problem in error.errors(include_url=False):
        where = ".".join(str(part) for part in problem["loc"]) or "the file"
        mend = f"unset {told[where]}" if where in told else "delete this line"
        if where in told:
            where = f"{where}, which {told[where]} sets"
        if (key := ".".join(map(str, problem["loc"]))) in MOVED:
            lines.append(f"  {where}: this key is {MOVED[key]} now, which is there too; {mend}")
        elif problem["type"] == "extra_forbidden":
            lines.append(f"  {where}: there is no such key{_guess(str(problem['loc'][-1]))}")
        else:
            lines.append(
                f"  {where}: {problem['msg'].removeprefix('Value error, ')}"
                # an error of a whole table would show all of it
                + ("" if isinstance(problem["input"], dict) else f" (got {problem['input']!r})")
            )
    return "\n".join(lines)


def _guess(key: str) -> str:
    """Suggest a key with a similar name, in any section."""
    keys: dict[str, str] = {}
    for name, field in StudyConfig.model_fields.items():
        inside = getattr(field.annotation, "model_fields", {})
        keys |= {part: f"{part} in [{name}]" for part in inside} or {name: f"{name}, above the first section"}
    close = get_close_matches(key, keys, n=1)
    return f"; did you mean {keys[close[0]]}?" if close else ""
