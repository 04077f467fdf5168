"""What the verbs of the road print: from runs to answers and boards."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from prefjudge.cli.options import Details, Format, Json, Sandbox, Target, Yes, one_target
from prefjudge.cli.output import (
    advice,
    brief_notes,
    briefly,
    notice,
    opened,
    print_json,
    print_tables,
    print_words,
    progress,
    say,
    screen_width,
    stamp,
)
from prefjudge.errors import ConfigError, CrowdError, NotFinished, quoted
from prefjudge.words import chance_text, many, some

if TYPE_CHECKING:
    from prefjudge.core.planning.rounds import Duel
    from prefjudge.field.crowd import Watch
    from prefjudge.field.history import History
    from prefjudge.steps.collect import CollectResult
    from prefjudge.steps.gold import GoldResult
    from prefjudge.steps.import_votes import ImportResult
    from prefjudge.steps.init import InitResult
    from prefjudge.steps.plan.plan import PlanResult
    from prefjudge.steps.pool import PoolResult
    from prefjudge.steps.publish import PublishResult
    from prefjudge.steps.resolve import ResolveResult
    from prefjudge.steps.run import RunResult
    from prefjudge.steps.score import ScoreResult
    from prefjudge.steps.status import StatusResult
    from prefjudge.steps.try_it import TryResult
    from prefjudge.study.store import Study


def _print_schema(asked: bool) -> None:
    if asked:
        from prefjudge.study.config import schema_text

        typer.echo(schema_text())
        raise typer.Exit


_Schema = Annotated[
    bool,
    typer.Option(
        "--schema",
        is_eager=True,
        callback=_print_schema,
        help="Print the JSON Schema of study.toml, for editors, and make nothing.",
    ),
]


def init(result: "InitResult", *, study: Path, schema: _Schema = False) -> None:
    """Print where the study is, and what leads on."""
    if result.created:
        say(
            f"made {result.study}; look through {Path(result.config)}, then: "
            f"prefjudge pool {quoted(study)} --runs …"
        )
    else:
        say(f"{result.study} is a study already; nothing was changed")


def try_it(call: "Callable[..., TryResult]", *, json: Json = False) -> None:
    """Print the link, and at the end whether the person agreed with the labels."""

    def ready(link: str, pairs: int, minutes: float) -> None:
        from prefjudge.steps.try_it import has_browser

        where = "your browser opens this link" if has_browser() else "open this link in a browser"
        say(f"{many(pairs, 'pair')}, about {many(round(minutes), 'minute')}; {where}:")
        say(f"  {link}")
        if "SSH_CONNECTION" in os.environ:
            port = urlsplit(link).port
            say(f"from your own machine, first: ssh -L {port}:127.0.0.1:{port} THIS-MACHINE")
        say("Ctrl-C stops it; nothing is left behind then")

    result = call(ready=ready)
    if json:
        print_json(result)
        return
    briefly(result, details=False)
    say(f"everything is in {result.folder}; next: prefjudge init my-study, or prefjudge --help")


def pool(
    result: "PoolResult",
    *,
    study: Path | None,
    queries: Path | None,
    collection: Path | None,
    challenge: bool,
    out: Target,
    details: Details = False,
) -> None:
    """Print how large the pools are, and what leads on."""
    brief_notes(result.notices, whole=details)
    if challenge and study is not None and not result.documents:
        say(
            f"no newcomer: the study has compared every passage that {many(len(result.runs), 'new run')} "
            f"{'has' if len(result.runs) == 1 else 'have'} on top"
        )
        say(f"next: prefjudge score {quoted(study)}")
    elif challenge and study is not None:
        say(
            f"{many(result.documents, 'newcomer challenges', 'newcomers challenge')} the "
            f"best-known answers of {many(result.queries, 'query')}"
        )
        say(f"next: {_drive(opened(study))}")
    else:
        config = None if study is None else opened(study).config
        seconds = 25.0 if config is None else config.design.seconds_per_pair
        show_pool(result, seconds, details=details, passages=config.hit.passages if config else 2)
        if study is not None:
            say(
                _after_pool(study, texts=bool(queries and collection))
                if result.changed
                else "the study has this pool already; the places of its files were updated"
            )


def _after_pool(study: Path, *, texts: bool) -> str:
    """Say what leads on: HITs show texts, and gold pairs are suggested from them."""
    if not texts:
        return (
            "warning: the study has no texts to show; before you continue, run the same command again with "
            "--queries FILE and --collection FILE"
        )
    return (
        f"next: prefjudge gold {quoted(study)} --suggest 12; "
        "or hide no gold pairs: gold_per_hit = 0 in study.toml"
    )


def show_pool(result: "PoolResult", seconds: float, *, details: bool, passages: int = 2) -> None:
    """Print how large the pools are, and what there is to judge, in pairs and in hours."""
    if details:
        show_sizes(result)
    if result.split:
        _show_split(result)
    work = f"{span(result.pairs * seconds / 3600)} of work at {seconds:g} s, without gold pairs and repeats"
    if passages > 2:
        work = f"up to {passages} passages at once; `prefjudge plan` says what that takes"
    sizes = f", {min(result.sizes)} to {max(result.sizes)} a query" if result.sizes and not details else ""
    say(
        f"{many(result.queries, 'query')}, {many(result.documents, 'candidate')}{sizes} from "
        f"{many(len(result.runs), 'run')}, {many(result.pairs, 'pair')} to judge: {work}"
    )
    for path in (result.out, result.plot):
        if path:
            say(f"wrote {path}")


def _show_split(result: "PoolResult") -> None:
    """Print the categories, and what each number of pairs can show."""
    from prefjudge.show.boards import categories_table, power_table

    assert result.split is not None
    print_tables([categories_table(result.split, result.runs[0]), power_table(result.power)])


def show_sizes(result: "PoolResult") -> None:
    """Print how many queries have a pool of each size."""
    from prefjudge.show.tables import render_histogram

    typer.echo(render_histogram(result.sizes, "pool size", "queries"))


def import_votes(result: "ImportResult", *, study: Path) -> None:
    """Print what was imported, and what leads on."""
    say(
        f"read as {result.read_as}: {many(result.queries, 'query')}, {many(result.documents, 'document')}, "
        f"{many(result.workers, 'worker') if result.workers else 'no worker is named'}"
    )
    dropped = f", of which {result.dropped:,} do not count" if result.dropped else ""
    say(f"added {many(result.votes, 'vote')}{dropped}")
    if result.votes:
        say(f"next: prefjudge resolve {quoted(study)}")


def gold(result: "GoldResult", *, study: Path, accept: bool) -> None:
    """Print how many gold pairs there are, and what to do with suggestions."""
    if result.suggested:
        agreed = f", {result.agreed} of them pairs on which at least five agreed" if result.agreed else ""
        say(f"wrote {many(result.suggested, 'suggestion')} to {result.file}{agreed}")
    if result.lexical is not None:
        say(f"by the question's words alone one gets {result.lexical:.0%} of them right; 50% would be best")
    if accept:
        withdrew = f", withdrew {result.withdrawn} that the file does not have" if result.withdrawn else ""
        say(f"accepted {many(result.accepted, 'pair')}{withdrew}; the study has {_golds(study, result.gold)}")
        if result.advice:
            say(result.advice)
        say(f"next: prefjudge plan {quoted(study)}")
    elif result.suggested:
        say("read them, delete the lines that are not obvious to everyone, then:")
        say(f"  prefjudge gold {quoted(study)} --accept")
    else:
        say(f"the study has {_golds(study, result.gold)}; --suggest 12 writes more for review")


def _golds(study: Path, count: int) -> str:
    """Return how many gold questions HITs may hide, by the name that they have by their passages."""
    passages = opened(study).config.hit.passages if count else 2  # a look at none starts fast
    return (
        many(count, "gold pair")
        if passages == 2
        else f"{many(count, 'gold question')} of {passages} passages"
    )


def plan(
    result: "PlanResult",
    *,
    study: Path | None,
    details: Annotated[
        bool, typer.Option("--all", "--details", help="Print all plans, and what each pool size gets.")
    ] = False,
) -> None:
    """Print three plans; or all of them, and what the chosen one does with each pool size."""
    if not briefly(result, details):
        _show_plans(result)
    say(f"next: {_after_plan(result, study)}")


def _show_plans(result: "PlanResult") -> None:
    print_tables(result.tables())
    if result.chosen is not None:
        ends = " ({:.0%} to {:.0%})".format(*result.chosen.ends)
        say(
            f"within ${result.left:,.2f}: {result.chosen.name}, for ${result.chosen.money:,.2f} "
            f"(${result.chosen.least:,.2f} to ${result.chosen.most:,.2f}), finds the best of "
            f"{result.chosen.chance:.0%}{ends} of the queries"
        )
        for one in result.chosen.by_size:
            if one.size > 1:
                pools = many(result.sizes[one.size], "pool")
                say(f"  {pools} of {one.size}: {one.judgments:.1f} votes each")


def _after_plan(result: "PlanResult", study: Path | None) -> str:
    """Return what to type next."""
    if study is None:
        go_on = "prefjudge run STUDY"
    else:
        go_on = advice(study, "collect" if result.driven_by == "publish" else "run")
    if result.driven_by == "publish":
        why = "it is published pair by pair; a strategy needs a new study"
        return f"{go_on} ({why})"
    if result.driven_by:
        why = f"it continues with the strategy it began with: {result.driven_by}"
        return f"{go_on} ({why})"
    if result.chosen is None and result.left is not None:
        return f"{go_on} --strategy NAME, once the budget pays for one"
    go_on = f"{go_on} --strategy {result.advised.strategy}"
    if study is None or result.advised is result.cheapest:
        return go_on
    return f"{go_on}; or for every pair judged equally often: {advice(study, 'publish')}"


def publish(
    call: "Callable[..., PublishResult]",
    *,
    study: Path,
    sandbox: Sandbox = False,
    live: bool,
    yes: Yes = False,
    stop: Annotated[bool | None, typer.Option("--stop/--resume", show_default=False)] = None,
    places: int | None,
    json: Json = False,
) -> None:
    """Ask before anything is spent, and print what was published."""
    steered = stop is not None or places is not None
    if steered and sandbox:
        raise ConfigError("nobody is recruited for a sandbox", "Leave --sandbox out.")
    one_target(sandbox=sandbox, live=live)
    with progress("publishing") as bar:
        result = call(confirm=_ask_before_publish(json), progress=bar)
    if json:
        print_json(result)
    elif result.dry_run:
        (show_offer if result.total or not steered else _warn_of_offer)(result)
        for line in result.calls:
            say(line)
        say(f"nothing was {'changed' if steered else 'published'}: this was a dry run")
    elif steered:
        _warn_of_offer(result)
    elif result.published:
        if yes:
            _warn_of_offer(result)
        say(f"published {many(result.published, 'HIT')} to {result.target}; {result.open:,} in all are open")
        say(f"next: {_after_publish(study, result.target)}")
    else:
        from prefjudge.study.progress import count_expired

        open_hits = f"{many(result.open, 'HIT')} open at {result.target}"
        if expired := count_expired(opened(study), result.target):
            open_hits += f", {expired:,} of them past their time; next: {advice(study, 'collect')}"
        say(f"no pair waits for a judgment; {open_hits}")


def _after_publish(study: Path, target: str) -> str:
    from prefjudge.study.store import command

    configured = opened(study).config.target(target)
    if configured is None or not configured.is_own_marketplace or target != "sandbox":
        return command("collect", study, target)  # people come by themselves, and nobody is simulated
    work, serve = (f"prefjudge {verb} {quoted(study)}" for verb in ("work", "serve"))
    return f"{work} (simulated), or {serve} for people; then collect"


def _ask_before_publish(json: bool) -> "Callable[[PublishResult], bool]":
    def ask(offer: "PublishResult") -> bool:
        show_offer(offer)
        if json or not sys.stdin.isatty():
            return False
        if offer.target == "live":
            return bool(typer.prompt("Type the study's name to spend real money", err=True) == offer.name)
        return typer.confirm(f"Publish to {offer.target}?", err=True)

    return ask


def show_offer(offer: "PublishResult") -> None:
    """Print what would be published, where, and what it costs."""
    money = "play money" if offer.target == "sandbox" else "REAL MONEY"
    say(f"target    {offer.target} ({money}) at {offer.endpoint}")
    if not (offer.hits or offer.total):
        waits = (
            f": {offer.open:,} open ones ask for what is left" if offer.open else ": no pair waits for votes"
        )
        say(f"HITs      none to publish{waits}")
        _warn_of_offer(offer)
        return
    asked = many(offer.pairs, "pair")
    if offer.passages > 2:
        asked = f"{many(offer.pairs, 'question')} of up to {offer.passages} passages"
    inside = f"{asked}, {many(offer.assignments, 'assignment')}"
    if offer.hits:
        say(f"HITs      {offer.hits:,} with {inside}: {span(float(offer.hours))} of work")
    if offer.strategy and offer.hits:
        say(f"plan      {offer.strategy}; what prefjudge plan advises is for prefjudge run")
    if not offer.total:
        say("cost      none: the work is unpaid")
        _warn_of_offer(offer)
        return
    parts = f" = ${offer.rewards:,} rewards + ${offer.fees:,} fees" if offer.hits else " for more places"
    if offer.hits and (spare := offer.total - offer.rewards - offer.fees):
        parts += f" + ${spare:,} that is held for visits that are not full"
    say(f"cost      ${offer.total:,}{parts}")
    if offer.budget is not None:
        say(f"budget    ${offer.budget:,.2f}, of which ${offer.committed:,.2f} is committed")
    if offer.account is not None:
        say(f"account   ${offer.account:,} to spend")
    if offer.hourly is not None:
        say(f"pay       about ${offer.hourly} an hour")
    _warn_of_offer(offer)


def _warn_of_offer(offer: "PublishResult") -> None:
    for warning in offer.warnings:
        say(f"warning: {warning}", "yellow")


def collect(
    call: "Callable[..., CollectResult]",
    *,
    study: Path,
    live: bool,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Go on until every pair is judged; take in work as it is submitted."),
    ] = False,
    json: Json = False,
) -> None:
    """Print what was collected, at each look; the exit code is 3 while HITs are open."""
    waits = _watch(study, live) if watch else None
    shown = None
    while True:
        try:
            with progress("collecting") as bar:
                result = call(progress=bar)
        except CrowdError as error:
            if waits is None or shown is None:  # at the first look the address or the key may be wrong
                raise
            seconds = waits.bear(error)
            notice((f"{error.message}; trying again in {seconds:.0f} s",))
            waits.wait(seconds)
            continue
        seen = replace(result, endpoint="")  # another one at each look, where nobody serves the marketplace
        if not json and seen != shown:
            _show_collect(result, f"{quoted(study)}{' --live' * live}")
        shown = seen
        if result.finished or waits is None:
            break
        waits.found()
        waits.wait()
    if json:
        print_json(result)
    if not result.finished:
        if json:
            raise typer.Exit(NotFinished.exit_code)
        raise NotFinished(
            f"{many(result.open, 'HIT')} open, {many(result.waiting, 'pair')} waiting for a HIT",
            f"Collect again later{_more_work(study, result, live)}",
        )
    if not json:
        verb, switch = ("run", " --live" * live) if result.challenge else ("resolve", "")
        say(f"every pair is judged; next: prefjudge {verb} {quoted(study)}{switch}")


def _watch(study: Path, live: bool) -> "Watch":
    from prefjudge.field.crowd import Watch
    from prefjudge.study.store import LIVE, SANDBOX, open_study

    return Watch(open_study(study), LIVE if live else SANDBOX)


def _more_work(study: Path, result: "CollectResult", live: bool) -> str:
    """Say how simulated workers go on where they have begun: the ladder makes them wait for a look."""
    began = result.rehearsal is not None and not live and result.open > result.held
    return f"; simulated workers continue by: prefjudge work {quoted(study)}" if began else "."


def _show_collect(result: "CollectResult", there: str) -> None:
    notice(result.notices)
    barred = _say_held(result.barred)
    over = f"; the time of {many(result.expired, 'HIT')} was over" if result.expired else ""
    if result.closed:
        over += f"; closed {many(result.closed, 'HIT')} that nobody needs any more"
    say(
        f"collected {many(result.collected, 'assignment')}: {result.dropped} dropped, "
        f"{result.reissued} re-issued{over}"
    )
    for reason, count in result.reasons.items():
        say(f"  {count} {reason}")
    if barred:
        say(f"barred workers: {some(barred)}")
    held = f", {result.held:,} of them in workers' hands" if result.held else ""
    say(
        f"{many(result.judgments, 'judgment counts', 'judgments count')}, "
        f"{many(result.dropped_judgments, 'is', 'are')} dropped; {many(result.open, 'HIT')} open{held}"
    )
    if result.capped and result.open > result.held:
        say(
            f"{many(result.capped, 'worker has', 'workers have')} met all gold pairs, and must wait for "
            "others: to let them go on, add gold pairs, or set most_hits in [workers]"
        )
    if result.disputes:
        disputed = many(result.disputes, "rejection is", "rejections are")
        say(f"{disputed} disputed; read and answer: prefjudge reject {there}")
    if result.stopped:
        say(result.stopped)
    stamp(result.rehearsal)


def run(
    call: "Callable[..., RunResult]",
    *,
    study: Path,
    sandbox: Sandbox = False,
    live: bool,
    workers: int,
    error: float,
    truth: Path | None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Ask before the first round, and print each; the exit code is 3 where queries are not finished."""
    one_target(sandbox=sandbox, live=live)
    result = call(sandbox=not live, confirm=_ask_to_run, tell=say)
    if json:
        print_json(result)
    else:
        stamp(result.rehearsal)
        _show_run(result, study)
    if result.unfinished:
        again = _as_typed(study, workers, error, truth) if workers else f"{quoted(study)}{' --live' * live}"
        raise NotFinished(
            f"{result.unfinished:,} of {many(result.queries, 'query')} "
            f"{'is' if result.unfinished == 1 else 'are'} not finished",
            f"Run: prefjudge run {again}; it continues where it stopped.",
        )


def _as_typed(study: Path, workers: int, error: float, truth: Path | None) -> str:
    """Return what to type for the simulated workers to go on, with those whom open HITs lack."""
    from prefjudge.study.progress import count_missing

    with opened(study).transaction(write=False) as db:
        enough = workers + count_missing(db)
    of_truth = "" if truth is None else f" --truth {quoted(truth)}"
    return f"{quoted(study)} --workers {enough}{f' --error {error:g}' * (error != 0.2)}{of_truth}"


def _drive(study: "Study") -> str:
    """Return the command that goes on, with simulated workers where they have judged so far."""
    from prefjudge.study.people import load_rehearsal, load_workers
    from prefjudge.study.store import LIVE, advised, find_target

    with study.transaction(write=False) as db:
        simulated, came = load_rehearsal(db), len(load_workers(db))
    if simulated is None or find_target(study) == LIVE:
        return advised(study, "run")
    return f"prefjudge run {_as_typed(study.folder, came, 0.2, None)}"


def _ask_to_run(offer: "PublishResult") -> bool:
    show_offer(replace(offer, strategy=""))  # a round
    say("this is the first round; further rounds are published without asking, within the budget")
    return sys.stdin.isatty() and typer.confirm(f"Publish to {offer.target}?", err=True)


_SHOWN = 5
"""So many names or events of one kind fit a screen."""


def _show_run(result: "RunResult", study: Path) -> None:
    say(
        f"{result.strategy}: {many(result.judgments, 'judgment')}, ${result.committed:.2f} committed; "
        f"{many(result.rounds, 'new round')}, ended by {result.stopped_by}"
    )
    for order in result.orders:
        say(f"  {order.words}")
    for duel in result.duels[:_SHOWN]:
        runs = ", ".join(duel.brought_by) or "judged before"
        chance = "" if duel.chance is None else f", P(best) {chance_text(duel.chance)}"
        say(f"  query {duel.query_id}: {duel.newcomer} ({runs}) {_fared(duel)}{chance}")
    if len(result.duels) > _SHOWN:
        say(f"  … and {len(result.duels) - _SHOWN:,} more: prefjudge status {quoted(study)} --history")
    for shift in result.moved[:_SHOWN]:
        say(f"  run {shift.run} moves from rank {shift.reference} to {shift.other}")
    say(f"version {result.version} of the answers, {many(result.qrels, 'preference qrel')}: {result.out}")
    if not result.unfinished:
        say(f"next: prefjudge score {quoted(study)}")


def _fared(duel: "Duel") -> str:
    if duel.votes_for or duel.votes_against:
        verb = "replaces" if duel.dethroned else "loses to"
        return f"{verb} {duel.incumbent}, {duel.votes_for:g} votes to {duel.votes_against:g}"
    if duel.dethroned:  # both met others
        return f"replaces {duel.incumbent}, with which it was not compared"
    return f"was not compared with {duel.incumbent}"


def resolve(
    result: "ResolveResult",
    *,
    study: Path | None,
    form: Annotated[str, typer.Option("--format")],
    out: Path | None,
    details: Details = False,
) -> None:
    """Print what was decided, and what leads on."""
    brief_notes(result.notices, whole=details)
    stamp(result.rehearsal)
    show_resolve(result, details=details)
    if study is not None and out is None and result.out:
        say(f"next: prefjudge {_after_resolve(study)}")


def _after_resolve(study: Path) -> str:
    """Return what to type next: a study of imported votes may have no runs to score."""
    from prefjudge.study.pools import has_runs

    with opened(study).transaction(write=False) as db:
        if has_runs(db):
            return f"score {quoted(study)}"
    return f"report {quoted(study)}; with your runs: prefjudge score {quoted(study)} --runs 'runs/*'"


def show_resolve(result: "ResolveResult", *, details: bool) -> None:
    """Print what each rule decided, how sure it is, and what would change it."""
    from prefjudge.show.results import Screen

    if details and result.asked_tables():
        print_tables(result.asked_tables(), rehearsal=result.rehearsal)
    for table in () if details else result.asked_tables():
        one = Screen(tables=(table,), sure=table.notes)
        typer.echo(one.text(screen_width(), stamp=str(result.rehearsal or "")))
    decided = ", ".join(f"{count} {status}" for status, count in result.statuses.items() if count)
    say(
        f"{result.rule}: {many(result.queries, 'query')} from {many(result.judgments, 'judgment')}: {decided}"
    )
    for query, docs in list(result.cycles.items())[: len(result.cycles) if details else 3]:
        say(f"  query {query}: {' > '.join([*docs, docs[0]])}")
    if result.difference:
        say(result.difference)
    sure = result.confidence
    if sure is not None and result.qrels:
        for words in sure.words:
            say(words)
    if result.out:
        say(
            f"wrote {many(result.qrels, 'preference qrel')} to {result.out}"
            if result.form == "trec"
            else f"wrote {result.out}"
        )


def score(
    result: "ScoreResult",
    *,
    study: Path | None = None,
    out: Target = None,
    per_query: bool = False,
    health: bool = False,
    format: Format = "terminal",
    details: Details = False,
) -> None:
    """Print the board and how sure it is; or all boards, their correlation and what else was asked for."""
    from prefjudge.study.pools import has_runs

    asked = health or (per_query and not result.out)  # which are lists as long as the input
    if not briefly(result, details or asked or format != "terminal"):
        _show_scores(result, per_query=per_query, format=format)
    if result.out:
        say(f"wrote {', '.join(result.out)}")
    if study is not None:
        with opened(study).transaction(write=False) as db:
            given = "" if has_runs(db) else ", with the same --runs and --qrels"
        say(f"next: prefjudge report {quoted(study)}{given}")


def _show_scores(result: "ScoreResult", *, per_query: bool, format: str) -> None:
    from prefjudge.reading.opened import run_surprises
    from prefjudge.show.boards import per_query_table, scores_table

    tables = list(result.tables())
    if format == "csv":  # one table with every row of every board
        tables = [scores_table(result.leaderboards).made_with(result.provenance)]
    if per_query and not result.out:
        tables = [per_query_table(result.matrices)]
    print_tables(tables, format, rehearsal=result.rehearsal)
    for run in result.health:
        size = f"{many(run.queries, 'query')}, {many(run.lines, 'line')}"
        typer.echo()
        print_words(f"{run.tag}: {size}")
        for note in run_surprises(run):
            print_words(f"  {note}")


def status(result: "StatusResult", *, study: Path, details: Details = False) -> None:
    """Print where a study stands, and what to do next."""
    stamp(result.rehearsal)
    brief_notes(result.notices, whole=details)
    most = sys.maxsize if details else _SHOWN
    barred = _say_held(result.barred)
    _say_sureness(result)
    hits = ", ".join(f"{count} {state}" for state, count in result.hits.items())
    queries, pairs = many(result.queries, "query"), many(result.pairs, "pair")
    say(f"pool         {queries}, {pairs}, {_golds(study, result.gold)}")
    if hits:  # a study of imported votes has none
        late = f", of which {result.expired:,} are past their time" if result.expired else ""
        say(f"HITs         {hits}{late}")
        say(f"assignments  {result.assignments:,}")
        for verdict, count in result.verdicts.items():
            say(f"  {count:>5,} {verdict}")
    say(f"judgments    {result.judgments:,} count, {result.dropped_judgments:,} dropped")
    if hits or result.waiting:
        say(f"waiting      {many(result.waiting, 'pair')} without a HIT")
    if result.unjudgeable:
        say(f"given up     {many(result.unjudgeable, 'pair')} that three workers could not judge")
    for worker, reason in list(barred.items())[:most]:
        say(f"barred       {worker}: {reason}")
    _say_rest(len(barred) - most)
    there = f"{quoted(study)}{' --live' if result.target == 'live' else ''}"
    if result.to_decide:
        waits = many(len(result.to_decide), "assignment waits", "assignments wait")
        say(f"to decide    {waits} for you to pay or reject:")
        for assignment_id, why in list(result.to_decide.items())[:most]:
            say(f"  {assignment_id}: {why}")
        _say_rest(len(result.to_decide) - most)
        if result.decide_by:
            say(f"  if you do not decide, the marketplace pays them, the first on {result.decide_by}")
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
        pace = "" if left is None else f", about {span(left)} at the pace so far"
        say(f"expected     {many(result.missing, 'assignment')}{pace}")
    if result.history:
        _show_history(result.history, result)
    say(f"next: {_after_status(result, study)}")


def _say_held(barred: Mapping[str, str]) -> Mapping[str, str]:
    """Say of all who are held why, and what ends it, as only a person can; return the others."""
    from prefjudge.study.people import HELD

    held = {worker: why for worker, why in barred.items() if why.startswith(HELD)}
    for worker, why in held.items():
        say(f"held         {worker} {why}")
        say(f'  keep.{worker} = "your reason"')
        say(f'  drop.{worker} = "your reason"')
    if held:
        say("  one such line in [screening] of study.toml, for each who is held, ends it")
    return {worker: why for worker, why in barred.items() if worker not in held}


def _say_rest(more: int) -> None:
    if more > 0:
        say(f"  … and {more:,} more: --details")


def _after_status(result: "StatusResult", study: Path) -> str:
    """Return what to type next, by what the study lacks."""
    if result.challenge or (result.hits.get("open") and opened(study).setting("strategy")):
        return _drive(opened(study))
    if not result.queries:
        return f"prefjudge pool {quoted(study)} --runs …"
    if result.version:
        return f"prefjudge score {quoted(study)}"
    if result.hits.get("open"):
        begun = result.assignments or result.expired
        return advice(study, "collect") if begun else _after_publish(study, result.target)
    if result.judgments and (not result.waiting or not result.hits):
        from prefjudge.study.store import QRELS_FILE

        return f"prefjudge {'report' if (study / QRELS_FILE).exists() else 'resolve'} {quoted(study)}"
    hides = opened(study).config.design.gold_per_hit
    return f"prefjudge gold {quoted(study)} --suggest 12" if hides > result.gold else advice(study, "publish")


def _show_history(history: "History", result: "StatusResult") -> None:
    """Print the versions, what each changed, and the runs that moved."""
    print_tables((table for table in history.tables() if table.rows), rehearsal=result.rehearsal)
    if not history.versions:
        say("no answers are kept yet: `prefjudge run` keeps them, and so does `pool --challenge`")
    if result.challenge:
        newcomers = many(result.challenge.newcomers, "newcomer")
        queries = many(result.challenge.queries, "query")
        say(f"challenge {result.challenge.challenge} is under way: {newcomers} on {queries}")


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


def span(hours: float) -> str:
    """Return a time in words."""
    return f"{hours:,.0f} hours" if hours >= 2 else many(max(1, round(60 * hours)), "minute")
