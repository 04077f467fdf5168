"""prefjudge: from runs and sparse qrels to trusted preference qrels and re-scored leaderboards.

Every verb of the command line is a function here, with the same words for the same options::

    import prefjudge

    prefjudge.pool(runs=["runs/*.gz"], qrels="qrels.txt", depth=1).sizes
    prefjudge.resolve(judgments="judgments.txt", rule=["most-wins"], out="preference.qrels")

Nothing is imported before it is used: a verb loads its step, whose file imports what every call needs. An
import inside a function is heavy, and only some calls need it.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from prefjudge.version import __version__

if TYPE_CHECKING:
    from prefjudge.notebook import Study as Study
    from prefjudge.steps.agreement import agreement as agreement
    from prefjudge.steps.audit import audit as audit
    from prefjudge.steps.board.board import board as board
    from prefjudge.steps.check import check as check
    from prefjudge.steps.collect import collect as collect
    from prefjudge.steps.compare import compare as compare
    from prefjudge.steps.export import export as export
    from prefjudge.steps.gold import gold as gold
    from prefjudge.steps.import_votes import import_votes as import_votes
    from prefjudge.steps.init import init as init
    from prefjudge.steps.judge import judge as judge
    from prefjudge.steps.pay import pay as pay
    from prefjudge.steps.plan.plan import plan as plan
    from prefjudge.steps.pool import pool as pool
    from prefjudge.steps.publish import publish as publish
    from prefjudge.steps.reject import reject as reject
    from prefjudge.steps.release.release import release as release
    from prefjudge.steps.report.report import report as report
    from prefjudge.steps.reproduce.reproduce import reproduce as reproduce
    from prefjudge.steps.resolve import resolve as resolve
    from prefjudge.steps.run import run as run
    from prefjudge.steps.score import score as score
    from prefjudge.steps.serve import serve as serve
    from prefjudge.steps.stability import stability as stability
    from prefjudge.steps.status import status as status
    from prefjudge.steps.store.store import store as store
    from prefjudge.steps.try_it import try_it as try_it
    from prefjudge.steps.winratio import winratio as winratio
    from prefjudge.steps.work import work as work
    from prefjudge.steps.workers import workers as workers


class Verb(NamedTuple):
    """A verb of the command line: its step is the function of this name in ``prefjudge.steps``.

    A name that is a word of Python's, as ``import``, is not one of a function: ``called`` is.
    """

    name: str
    group: str
    summary: str
    in_library: bool = True
    called: str = ""

    @property
    def function(self) -> str:
        """The name of the verb's function, of its step and of how it is printed."""
        return self.called or self.name


GROUPS = {
    "start": "Start here",
    "road": "The road, in the order in which it is walked",
    "keep": "Keeping a study going",
    "sure": "How sure a result is",
    "share": "For others",
    "crowd": "The crowd",
    "safe": "Keeping it safe",
}
"""The groups of verbs, in the order of ``prefjudge --help``."""

VERBS = (
    Verb(
        "demo",
        "start",
        "Walk the whole road on a small collection, with simulated workers.",
        in_library=False,
    ),
    Verb(
        "try",
        "start",
        "Judge ten minutes of pairs in your browser: do you agree with the labels?",
        called="try_it",
    ),
    Verb("init", "road", "Make a study: a folder with a config to edit."),
    Verb("pool", "road", "Pool the top results of runs with the qrels, and pair the candidates."),
    Verb("gold", "road", "Suggest gold pairs for review, and accept the reviewed ones."),
    Verb("plan", "road", "Say what judging the pools costs, and how often it will find the best."),
    Verb("publish", "road", "Publish HITs for the pairs that wait, one for each (`run` follows a plan)."),
    Verb("serve", "road", "Run the marketplace: requester API, worker site and admin page."),
    Verb("work", "road", "Let simulated workers judge at the sandbox, over HTTP as people would."),
    Verb(
        "collect",
        "road",
        "Screen the work, re-issue what missed a gold pair, pay. Exits 3 while HITs are open.",
    ),
    Verb("resolve", "road", "Resolve each query's judgments as a tournament into preference qrels."),
    Verb(
        "score", "road", "Score runs under one or more qrels, with intervals, and compare the leaderboards."
    ),
    Verb("report", "road", "Write what a study found as one HTML page, or as a site."),
    Verb("release", "road", "Write judgments and answers for others, with pseudonyms for the workers."),
    Verb("status", "keep", "Say where a study stands, what to do next, and how its answers changed."),
    Verb(
        "run",
        "keep",
        "Have a study, or its challenge, judged in rounds until it is settled or the budget is spent.",
    ),
    Verb(
        "import",
        "keep",
        "Make votes that were collected elsewhere part of a study: nothing is paid.",
        called="import_votes",
    ),
    Verb("export", "keep", "Write judgments or answers for other programs, workers by pseudonyms."),
    Verb(
        "check",
        "sure",
        "Check files for mistakes and surprises; the exit code is 1 where a file cannot be used.",
    ),
    Verb("compare", "sure", "Test whether runs differ; for RR, whether they answer more or rank better."),
    Verb("winratio", "sure", "Compare runs directly: whose top passage do people prefer?"),
    Verb("stability", "sure", "Say which ranks the runs may have: would the board stand with other queries?"),
    Verb("agreement", "sure", "Split the queries into random halves: do both say the same of two runs?"),
    Verb("audit", "sure", "Check the submissions of a leaderboard against its rules."),
    Verb("board", "share", "Keep a leaderboard in Git: its repository, what comes in, and the log."),
    Verb(
        "reproduce",
        "share",
        "Make every table and figure of a paper for your own data, and a page that shows them.",
    ),
    Verb(
        "judge",
        "crowd",
        "Ask a language model about the pairs, an extra, distrusted assessor; what is it worth?",
    ),
    Verb("workers", "crowd", "Say how each worker works; forget the person behind one."),
    Verb("pay", "crowd", "Show who is owed what and why, and pay it; nothing is paid twice."),
    Verb("reject", "crowd", "Reject one assignment, with a reason; list and answer disputes of rejections."),
    Verb("store", "safe", "Check a study or a store, back one up while servers run, or recover it."),
)
"""Every verb, in the order of ``prefjudge --help``: the command line and the library both read this table."""

_FUNCTIONS = frozenset(verb.function for verb in VERBS if verb.in_library)

__all__ = ["Study", "__version__", *sorted(_FUNCTIONS)]


def step_module(name: str) -> str:
    """Return the module of a verb's step: of a folder, where it has files of its own, the one of its name."""
    module = f"prefjudge.steps.{name}"
    found = find_spec(module)
    return f"{module}.{name}" if found is not None and found.submodule_search_locations else module


def step(name: str) -> Callable[..., Any]:
    """Return the function of a verb, which checks what it is given."""
    checked = import_module("prefjudge.findings.arguments").checked
    found: Callable[..., Any] = checked(getattr(import_module(step_module(name)), name))
    # pickle asks a function's module for its name: the step's module has the unchecked one
    found.__module__ = __name__
    return found


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return globals().setdefault(name, step(name))
    if name == "Study":
        return import_module("prefjudge.notebook").Study
    words = import_module("prefjudge.renamed").told("verb", name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{words and f': {words}'}")


def __dir__() -> list[str]:
    return sorted(__all__)
