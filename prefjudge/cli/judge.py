"""``prefjudge judge``."""

from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Json, StudyFolder
from prefjudge.cli.output import money, notice, print_json, progress, say, stamp
from prefjudge.counts import many

if TYPE_CHECKING:
    from prefjudge.steps.judge.judge import JudgeResult


def judge(
    study: StudyFolder,
    url: Annotated[str, typer.Option(help="An OpenAI-compatible endpoint, up to /v1.")],
    model: Annotated[str, typer.Option(help="The model's name.")],
    family: Annotated[str | None, typer.Option(help="Its maker, or its kind as run tags name it.")] = None,
    own_kind: Annotated[
        bool, typer.Option("--own-kind", help="Judge although its kind is in the pool.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Questions asked at once.")] = 8,
    most: Annotated[int | None, typer.Option(min=1, help="Ask about so many pairs at most.")] = None,
    prompt_price: Annotated[str, typer.Option(help="Dollars for a million prompt tokens.")] = "0",
    reply_price: Annotated[str, typer.Option(help="Dollars for a million reply tokens.")] = "0",
    most_cost: Annotated[
        str | None, typer.Option(help="Dollars it may cost at most, all calls together.")
    ] = None,
    json: Json = False,
) -> None:
    """Ask a language model about the pairs, in both orders: an extra, distrusted assessor."""
    from prefjudge.steps.judge.judge import judge as run

    with progress("judging") as bar:
        result = run(
            study,
            url=url,
            model=model,
            family=family,
            own_kind=own_kind,
            workers=workers,
            most=most,
            prompt_price=money(prompt_price, "--prompt-price"),
            reply_price=money(reply_price, "--reply-price"),
            most_cost=None if most_cost is None else money(most_cost, "--most-cost"),
            progress=bar,
            tell=say,
        )
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(result)
    else:
        _show(result)


def _show(result: "JudgeResult") -> None:
    found = result.comparison
    tokens = result.prompt_tokens + result.reply_tokens
    say(
        f"{result.model}: {many(found.pairs, 'pair')}; {many(result.asked, 'question')} asked now, "
        f"{result.replies:,} in all"
    )
    say(f"cost                     ${result.cost} for {many(tokens, 'token')}")
    say(f"no verdict               {_share(found.ties, found.pairs)}, by the order alone {found.flips:,}")
    say(f"first passage preferred  {_share(found.first_side, found.answers)}")
    of_votes = " of their votes" if found.compared else ""
    say(f"agrees with people       {_share(found.agreed, found.compared)}{of_votes}")
    say(f"people among themselves  {_share(found.people_agreed, found.people_compared)}")
    say(f"hopeless candidates      {result.hopeless:,}")
    if result.unreadable:
        say(f"replies without a choice {result.unreadable:,}, which are no votes; a repeat asks again")


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%} ({part:,} of {whole:,})" if whole else "not known yet"
