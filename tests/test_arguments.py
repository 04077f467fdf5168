"""Whatever a program gives to a function: an answer, or an error that names the argument."""

from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import prefjudge
from prefjudge import step_module
from prefjudge.errors import InputError, PrefjudgeError, StudyError
from prefjudge.findings.arguments import checked, full_signature
from tests.steps.conftest import COLLECTION, pool_demo
from tests.steps.conftest import once as once  # the fixture

FUNCTIONS = sorted({*prefjudge.__all__} - {"Study", "__version__"})


class Table:
    """What a DataFrame is to a function: its items are the names of its columns."""

    columns = ("run", "query")

    def __iter__(self) -> Any:
        return iter(self.columns)


class Measure:
    """A measure of another library, which prints as its name."""

    def __str__(self) -> str:
        return "RR@10"


def never() -> tuple[Any, ...]:
    """Return what no argument takes; a generator is good for one call."""
    return (
        Table(),
        Measure(),
        {"run": {"q1": {"d1": {"score": 1.0}}}},
        b"runs",
        bytearray(b"runs"),
        ...,
        object(),
        [None],
        [{"a": 1}],
        (number for number in range(3)),
        "a\0b",
        float("nan"),
        float("inf"),
        Decimal("NaN"),
        1j,
        np.zeros((2, 2)),
    )


SOMETIMES: tuple[Any, ...] = (
    None,
    True,
    False,
    -1,
    0,
    1,
    3,
    0.5,
    -0.5,
    1e300,
    10**400,
    np.int64(2),
    np.float64(0.25),
    Decimal("1.5"),
    "",
    "x",
    "0.5",
    "\ud800",
    "y" * 300,
    Path("x"),
    Path(),
    [],
    ["x"],
    [Path("x"), "y"],
    {"x"},
    iter(("x", "y")),
    (0.1, 0.2),
    print,
)


def function(verb: str) -> Callable[..., object]:
    return getattr(import_module(step_module(verb)), verb)  # type: ignore[no-any-return]


def given(verb: str, name: str, value: object) -> object:
    """Return what a verb would be given for a value, without calling it."""
    expected = full_signature(function(verb))

    def seen(*args: object, **kwargs: object) -> object:
        return expected.bind_partial(*args, **kwargs).arguments[name]

    seen.__name__ = verb
    seen.__signature__ = expected.replace(  # type: ignore[attr-defined]
        parameters=[
            one.replace(default=one.default if one.default is not one.empty else None)
            for one in expected.parameters.values()
        ]
    )
    return checked(seen)(**{name: value})


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_what_no_argument_takes_is_refused_by_name(verb: str) -> None:
    for name in full_signature(function(verb)).parameters:
        for value, again in zip(never(), never(), strict=True):
            if (verb, name, repr(value)) == ("import_votes", "votes", "[{'a': 1}]"):
                continue  # columns of any name: `map` may tell what they hold
            with pytest.raises(InputError) as refused:
                given(verb, name, value)
            assert refused.value.message.startswith((f"{verb}: {name} is ", f"{verb}: there is no {name} "))
            assert "; it takes " in refused.value.message or "Choose one of: " in refused.value.hint
            with pytest.raises(InputError, match=f"{verb}: (there is no )?{name} "):
                getattr(prefjudge, verb)(**{**_required(verb), name: again})


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_what_an_argument_may_take_is_refused_or_becomes_what_is_declared(verb: str) -> None:
    for name, parameter in full_signature(function(verb)).parameters.items():
        for value in SOMETIMES:
            taken = _outcome(given, verb, name, value)
            if isinstance(taken, InputError):
                assert taken.message.startswith((f"{verb}: {name} is ", f"{verb}: there is no {name} ")), name
                continue
            words = str(parameter.annotation).replace("Optional", "None or ")
            kinds = {int: "int", float: "float", Decimal: "Decimal", tuple: "Sequence", type(None): "None"}
            if type(taken) in kinds:
                assert kinds[type(taken)] in words or (isinstance(taken, tuple) and "tuple" in words), words
            assert not isinstance(taken, np.generic), (name, value)


def _outcome(call: Callable[..., object], *arguments: object) -> object:
    try:
        return call(*arguments)
    except PrefjudgeError as refused:
        return refused


def _required(verb: str) -> dict[str, object]:
    parameters = full_signature(function(verb)).parameters.values()
    needed = [one for one in parameters if one.default is one.empty]
    return {one.name: _choice(one.annotation) or "nowhere" for one in needed}


def _choice(annotation: object) -> StrEnum | None:
    kinds = [annotation, *get_args(annotation)]
    enums = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, StrEnum)]
    return next((next(iter(kind)) for kind in enums), None)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arguments") / "study"
    prefjudge.init(folder, config="demo")
    pool_demo(folder)
    prefjudge.gold(folder, accept=True, file=COLLECTION / "gold.tsv")
    return folder


RUNS = {"runs": [COLLECTION / "runs" / "lexical.txt", COLLECTION / "runs" / "first-try.txt"]}
QRELS = {"qrels": COLLECTION / "qrels.txt", "measure": "RR@10"}
FILES: dict[str, dict[str, object]] = {
    "agreement": {**RUNS, **QRELS, "trials": 2},
    "audit": {"leaderboard": "leaderboard.csv"},
    "check": {"files": RUNS["runs"]},
    "compare": {**RUNS, **QRELS},
    "plan": {"sizes": "2:3", "error": 0.3, "trials": 3},
    "pool": {**RUNS, "qrels": COLLECTION / "qrels.txt"},
    "resolve": {"judgments": "votes.txt"},
    "score": {**RUNS, **QRELS},
    "stability": {**RUNS, **QRELS, "trials": 3},
    "winratio": {**RUNS, "judgments": "votes.txt"},
    "workers": {"judgments": "votes.txt"},
}
"""What these verbs need to do their work; the others are asked about a study, or about none."""

STUDY = ("gold", "release", "status")

EDGES = (
    None,
    True,
    False,
    -1,
    0,
    1,
    0.5,
    1e300,
    10**400,
    Decimal("1.5"),
    "",
    "x",
    "\ud800",
    "y" * 300,
    Path("x"),
)
"""One of each kind that the check lets through to some verb: what it makes of the others is seen above."""


@pytest.mark.parametrize(
    "verb",
    sorted({*FUNCTIONS} - {"serve", "try_it"}),  # they wait for people
)
def test_no_raw_error_comes_from_behind_the_check(
    verb: str, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.txt").write_text("q01 p25 p34 p25 w1\nq01 p25 p11 p25 w2\nq02 p1 p2 p1 w1\n")
    (tmp_path / "leaderboard.csv").write_text(
        "id,date,,description,team,paper,code,type,MRR@100 (Dev),MRR@100 (Eval),tweet\n"
        "low,2021/01/01,,Ranker,Ada Lovelace,,,full ranking,0.3,0.2,\n"
    )
    base = FILES.get(verb) or {**_required(verb), **({"study": study} if verb in STUDY else {})}
    for name in full_signature(function(verb)).parameters:
        for value in (*EDGES, [], ["x"], Path("votes.txt"), "votes.txt"):
            arguments = {**base, name: value}
            try:
                outcome = _outcome(partial(getattr(prefjudge, verb), **arguments))
            except Exception as error:
                raise AssertionError(f"{verb}({name}={value!r}): {error!r}") from error
            assert outcome is not None or verb == "serve"


def test_a_text_or_a_generator_may_stand_for_several() -> None:
    assert given("plan", "strategy", "default") == ("default",)
    assert given("score", "runs", (name for name in ("a", "b"))) == ("a", "b")
    assert given("resolve", "without", "ann") == ("ann",)
    assert given("winratio", "runs_shown", np.int64(3)) == 3


def test_numbers_become_what_is_declared() -> None:
    assert given("plan", "budget", 12.5) == Decimal("12.5")
    assert given("plan", "budget", "12.50") == Decimal("12.50")
    assert type(given("compare", "alpha", 1)) is float
    assert type(given("pool", "sample", np.int64(3))) is int
    assert given("score", "judged_only", np.True_) is True


def test_an_unknown_argument_is_named_with_the_one_that_was_meant() -> None:
    with pytest.raises(
        InputError, match="score: there is no argument mesure\nUse measure, if that was meant"
    ):
        prefjudge.score(mesure="RR@10")  # type: ignore[call-arg]
    with pytest.raises(
        InputError, match=r"score: too many positional .*\nWrite the name of .* but study, as in"
    ):
        prefjudge.score("runs/*", "qrels.txt")  # type: ignore[call-arg, arg-type, misc]
    with pytest.raises(InputError, match="export: missing a required argument: 'out'"):
        prefjudge.export("nowhere")  # type: ignore[call-arg]


def test_a_table_and_a_measure_are_refused_where_none_is_taken() -> None:
    pandas, ir_measures = pytest.importorskip("pandas"), pytest.importorskip("ir_measures")
    with pytest.raises(InputError, match="score: out is a DataFrame; it takes a path or its text"):
        prefjudge.score(out=pandas.DataFrame({"run": ["a"]}))
    with pytest.raises(InputError, match=r"Give its name as text") as refused:
        prefjudge.init("study", name=ir_measures.RR @ 10)
    assert "init: name is a" in refused.value.message


def test_a_study_is_opened_by_its_folder() -> None:
    for odd in (None, 3, b"study", {"a": 1}):
        with pytest.raises(StudyError, match="a study is opened by its folder"):
            prefjudge.Study(odd)  # type: ignore[arg-type]
