"""prefjudge: from runs and sparse qrels to trusted preference qrels and re-scored leaderboards.

Every verb of the command line is a function here, with the same words for the same options::

    import prefjudge

    prefjudge.pool(runs=["runs/*.gz"], qrels="qrels.txt", depth=1).sizes
    prefjudge.resolve(judgments="judgments.txt", rule=["most-wins"], out="preference.qrels")

Nothing is imported before it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from prefjudge.version import __version__

if TYPE_CHECKING:
    from prefjudge.steps.agreement import agreement as agreement
    from prefjudge.steps.audit import audit as audit
    from prefjudge.steps.backup import backup as backup
    from prefjudge.steps.check import check as check
    from prefjudge.steps.collect import collect as collect
    from prefjudge.steps.compare import compare as compare
    from prefjudge.steps.doctor.doctor import doctor as doctor
    from prefjudge.steps.gold import gold as gold
    from prefjudge.steps.history import history as history
    from prefjudge.steps.init import init as init
    from prefjudge.steps.judge.judge import judge as judge
    from prefjudge.steps.pay import pay as pay
    from prefjudge.steps.plan.plan import plan as plan
    from prefjudge.steps.pool.pool import pool as pool
    from prefjudge.steps.publish import publish as publish
    from prefjudge.steps.recover.recover import recover as recover
    from prefjudge.steps.reject import reject as reject
    from prefjudge.steps.release import release as release
    from prefjudge.steps.report.report import report as report
    from prefjudge.steps.reproduce.reproduce import reproduce as reproduce
    from prefjudge.steps.resolve.resolve import resolve as resolve
    from prefjudge.steps.run.run import run as run
    from prefjudge.steps.score.score import score as score
    from prefjudge.steps.serve import serve as serve
    from prefjudge.steps.stability.stability import stability as stability
    from prefjudge.steps.status import status as status
    from prefjudge.steps.winratio import winratio as winratio
    from prefjudge.steps.work import work as work
    from prefjudge.steps.workers.workers import workers as workers
    from prefjudge.study.study import Study as Study

VERBS = {
    "agreement": "prefjudge.steps.agreement",
    "audit": "prefjudge.steps.audit",
    "backup": "prefjudge.steps.backup",
    "check": "prefjudge.steps.check",
    "collect": "prefjudge.steps.collect",
    "compare": "prefjudge.steps.compare",
    "doctor": "prefjudge.steps.doctor.doctor",
    "gold": "prefjudge.steps.gold",
    "history": "prefjudge.steps.history",
    "init": "prefjudge.steps.init",
    "judge": "prefjudge.steps.judge.judge",
    "pay": "prefjudge.steps.pay",
    "plan": "prefjudge.steps.plan.plan",
    "pool": "prefjudge.steps.pool.pool",
    "publish": "prefjudge.steps.publish",
    "recover": "prefjudge.steps.recover.recover",
    "reject": "prefjudge.steps.reject",
    "release": "prefjudge.steps.release",
    "report": "prefjudge.steps.report.report",
    "reproduce": "prefjudge.steps.reproduce.reproduce",
    "resolve": "prefjudge.steps.resolve.resolve",
    "run": "prefjudge.steps.run.run",
    "score": "prefjudge.steps.score.score",
    "serve": "prefjudge.steps.serve",
    "stability": "prefjudge.steps.stability.stability",
    "status": "prefjudge.steps.status",
    "winratio": "prefjudge.steps.winratio",
    "work": "prefjudge.steps.work",
    "workers": "prefjudge.steps.workers.workers",
}
"""The verbs, and the module in which each is."""

__all__ = ["Study", "__version__", *VERBS]


def __getattr__(name: str) -> Any:
    if name in VERBS:
        checked = import_module("prefjudge.gather.arguments").checked
        verb = checked(getattr(import_module(VERBS[name]), name))
        return globals().setdefault(name, verb)
    if name == "Study":
        return import_module("prefjudge.study.study").Study
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
