"""``prefjudge judge``."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from prefjudge.cli.options import Json
from prefjudge.cli.output import notice, print_json, print_tables, progress, say, stamp, to_plain
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.steps.judge.judge import JudgeResult
    from prefjudge.steps.judge.worth import WorthResult


def judge(call: Callable[..., Any], *, worth: bool, json: Json = False) -> None:
    """Print what the model chose, and what it cost; or what models' votes are worth."""
    with progress("judging") as bar:
        result = call(progress=bar, tell=say)
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(_worth(result) if worth else result, result.notices)
    elif worth:
        print_tables(result.tables(), rehearsal=result.rehearsal)
    else:
        _show(result)


def _worth(result: "WorthResult") -> dict[str, object]:
    """Return the documented JSON of ``--worth``, with what a gate comes to."""
    derived = ("open", "enough", "winning_rate")
    gates = [
        {**to_plain(one), **{name: to_plain(getattr(one, name)) for name in derived}} for one in result.gates
    ]
    return {**to_plain(result), "gates": gates}


def _show(result: "JudgeResult") -> None:
    found = result.comparison
    tokens = result.prompt_tokens + result.reply_tokens
    say(
        f"{result.model}: {many(found.pairs, 'pair')}; {many(result.asked, 'question')} asked now, "
        f"{result.replies:,} in all"
    )
    cost = f"${result.cost}" if result.cost or not tokens else "not known, as no price was given,"
    say(f"cost                     {cost} for {many(tokens, 'token')}")
    say(f"no verdict               {_share(found.ties, found.pairs)}, by the order alone {found.flips:,}")
    say(f"first passage preferred  {_share(found.first_side, found.answers)}")
    of_votes = " of their votes" if found.compared else ""
    say(f"agrees with people       {_share(found.agreed, found.compared)}{of_votes}")
    say(f"people among themselves  {_share(found.people_agreed, found.people_compared)}")
    say(f"hopeless candidates      {result.hopeless:,}")
    if result.unreadable:
        say(f"replies without a choice {result.unreadable:,}, which are not votes; a repeat asks again")


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%} ({part:,} of {whole:,})" if whole else "not known yet"
