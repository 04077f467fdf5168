"""prefjudge: from runs and sparse qrels to trusted preference qrels and re-scored leaderboards.

Every verb of the command line is a function here, with the same words for the same options::

    import prefjudge

    prefjudge.pool(runs=["runs/*.gz"], qrels="qrels.txt", depth=1).sizes
    prefjudge.resolve(judgments="judgments.txt", rule=["most-wins"], out="preference.qrels")

Nothing is imported before it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from prefjudge.steps.agreement import agreement as agreement
    from prefjudge.steps.audit import audit as audit
    from prefjudge.steps.backup import backup as backup
    from prefjudge.steps.check import check as check
    from prefjudge.steps.collect import collect as collect
    from prefjudge.steps.compare import compare as compare
    from prefjudge.steps.doctor import doctor as doctor
    from prefjudge.steps.gold import gold as gold
    from prefjudge.steps.history import history as history
    from prefjudge.steps.init import init as init
    from prefjudge.steps.judge import judge as judge
    from prefjudge.steps.pay import pay as pay
    from prefjudge.steps.plan import plan as plan
    from prefjudge.steps.pool import pool as pool
    from prefjudge.steps.publish import publish as publish
    from prefjudge.steps.recover import recover as recover
    from prefjudge.steps.reject import reject as reject
    from prefjudge.steps.release import release as release
    from prefjudge.steps.report import report as report
    from prefjudge.steps.reproduce import reproduce as reproduce
    from prefjudge.steps.resolve import resolve as resolve
    from prefjudge.steps.run import run as run
    from prefjudge.steps.score import score as score
    from prefjudge.steps.serve import serve as serve
    from prefjudge.steps.stability import stability as stability
    from prefjudge.steps.status import status as status
    from prefjudge.steps.winratio import winratio as winratio
    from prefjudge.steps.work import work as work
    from prefjudge.steps.workers import workers as workers
    from prefjudge.study.study import Study as Study

_VERBS = (
    "agreement",
    "audit",
    "backup",
    "check",
    "collect",
    "compare",
    "doctor",
    "gold",
    "history",
    "init",
    "judge",
    "pay",
    "plan",
    "pool",
    "publish",
    "recover",
    "reject",
    "release",
    "report",
    "reproduce",
    "resolve",
    "run",
    "score",
    "serve",
    "stability",
    "status",
    "winratio",
    "work",
    "workers",
)

__all__ = ["Study", "__version__", *_VERBS]


def __getattr__(name: str) -> Any:
    if name in _VERBS:
        checked = import_module("prefjudge.steps.arguments").checked
        verb = checked(getattr(import_module(f"prefjudge.steps.{name}"), name))
        return globals().setdefault(name, verb)
    if name == "Study":
        return import_module("prefjudge.study.study").Study
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
