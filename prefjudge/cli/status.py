"""``prefjudge status``."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.cli.options import Json
from prefjudge.cli.output import advice, notice, print_json, print_tables, say, stamp
from prefjudge.errors import quoted
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.field.history import History
    from prefjudge.steps.status import StatusResult


def status(call: "Callable[..., StatusResult]", *, study: Path, json: Json = False) -> None:
    """Print where a study stands."""
    result = call()
    if json:
        print_json(result)
        return
    stamp(result.rehearsal)
    notice(result.notices)
    _say_sureness(result)
    hits = ", ".join(f"{count} {state}" for state, count in result.hits.items()) or "none"
    queries, pairs = many(result.queries, "query"), many(result.pairs, "pair")
    say(f"pool         {queries}, {pairs}, {many(result.gold, 'gold pair')}")
    say(f"HITs         {hits}")
    say(f"assignments  {result.assignments:,}")
    for verdict, count in result.verdicts.items():
        say(f"  {count:>5,} {verdict}")
    say(f"judgments    {result.judgments:,} count, {result.dropped_judgments:,} dropped")
    say(f"waiting      {many(result.waiting, 'pair')} that no HIT will settle")
    if result.unjudgeable:
        say(f"given up     {many(result.unjudgeable, 'pair')} that three workers could not judge")
    for worker, reason in result.barred.items():
        say(f"barred       {worker}: {reason}")
    there = f"{quoted(study)}{' --live' if result.target == 'live' else ''}"
    if result.to_decide:
        waits = many(len(result.to_decide), "assignment waits", "assignments wait")
        say(f"to decide    {waits} for you to pay or reject:")
        for assignment_id, why in result.to_decide.items():
            say(f"  {assignment_id}: {why}")
        if result.decide_by:
            say(f"  undecided, they are paid by the marketplace itself, the first on {result.decide_by}")
        say(f"  pay them: prefjudge pay {there} --held; or: prefjudge reject {there} …")
    if result.disputes:
        disputed = many(result.disputes, "rejection is", "rejections are")
        say(f"disputes     {disputed} disputed; read and answer: prefjudge reject {there}")
    of_budget = f" of a budget of ${result.budget}" if result.budget else ""
    say(f"committed    ${result.committed}{of_budget}")
    if result.version:
        challenge = result.challenge
        under_way = f"; challenge {challenge.challenge} is under way" if challenge else ""
        told = "" if result.history else f" (prefjudge status {quoted(study)} --history)"
        say(f"answers      version {result.version}{under_way}{told}")
    if result.missing:
        left = result.hours_left
        pace = "" if left is None else f", about {_span(left)} at the pace so far"
        say(f"expected     {many(result.missing, 'assignment')}{pace}")
    if result.history:
        _show_history(result.history, result)


def _show_history(history: "History", result: "StatusResult") -> None:
    """Print the versions, what each changed, and the runs that moved."""
    print_tables((table for table in history.tables() if table.rows), rehearsal=result.rehearsal)
    if not history.versions:
        say("no answers are kept yet: `prefjudge run` keeps them, and so does `pool --challenge`")
    if result.challenge:
        newcomers = many(result.challenge.newcomers, "newcomer")
        queries = many(result.challenge.queries, "query")
        say(f"challenge {result.challenge.challenge} is under way: {newcomers} on {queries}")
        say(f"next: {advice(result.study, 'run')}")


def _say_sureness(result: "StatusResult") -> None:
    """Say first how sure the answers are: it is what the rest serves."""
    if result.confidence is None:
        return
    decided = ", ".join(f"{count:,} {status}" for status, count in result.statuses.items() if count)
    say(f"resolved     {many(sum(result.statuses.values()), 'query')}: {decided}")
    for words in result.confidence.words:
        say(f"sure         {words}")
    if result.top is not None:
        for words in result.top.words:
            say(f"top          {words}")


def _span(hours: float) -> str:
    return f"{hours:.0f} hours" if hours >= 2 else many(max(1, round(60 * hours)), "minute")
