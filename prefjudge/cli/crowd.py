"""What the verbs print that deal with the crowd and the store."""

import sys
from collections.abc import Callable
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prefjudge.cli.options import Details, Format, Json
from prefjudge.cli.output import briefly, notice, opened, print_json, print_tables, progress, say, stamp
from prefjudge.errors import InputError, NotFinished, quoted
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.field.crowd import Address
    from prefjudge.steps.judge import JudgeResult
    from prefjudge.steps.pay import PayResult
    from prefjudge.steps.reject import RejectResult
    from prefjudge.steps.serve import AdminToken, IssuedKey
    from prefjudge.steps.store.backup import BackupResult, RecoverResult
    from prefjudge.steps.store.check import StoreCheckResult
    from prefjudge.steps.work import WorkResult
    from prefjudge.steps.workers import PersonResult, WorkersResult


def judge(call: Callable[..., Any], *, worth: bool, json: Json = False) -> None:
    """Print what the model chose; or what models' votes are worth."""
    with progress("judging") as bar:
        result = call(progress=bar, tell=say)
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(result, result.notices)
    elif worth:
        print_tables(result.tables(), rehearsal=result.rehearsal)
    else:
        _show_judge(result)


def _show_judge(result: "JudgeResult") -> None:
    found = result.comparison
    say(
        f"{result.model}: {many(found.pairs, 'pair')}; {many(result.asked, 'question')} asked now, "
        f"{result.replies:,} in all"
    )
    say(f"tokens                   {result.prompt_tokens:,} sent, {result.reply_tokens:,} received")
    say(f"no verdict               {_percent(found.ties, found.pairs)}, by the order alone {found.flips:,}")
    say(f"first passage preferred  {_percent(found.first_side, found.answers)}")
    of_votes = " of their votes" if found.compared else ""
    say(f"agrees with people       {_percent(found.agreed, found.compared)}{of_votes}")
    say(f"people among themselves  {_percent(found.people_agreed, found.people_compared)}")
    say(f"hopeless candidates      {result.hopeless:,}")
    if result.unreadable:
        say(f"replies without a choice {result.unreadable:,}, which are not votes; a repeat asks again")


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%} ({part:,} of {whole:,})" if whole else "not known yet"


SERVE_ENVIRONMENT = (
    "host", "port", "store", "live", "public_url", "plain_http", "proxy", "admin_token_file",
    "admin_header",
)  # fmt: skip
"""How to serve. A password in ``--store`` stands in the list of processes, not so in ``PREFJUDGE_STORE``."""


def serve(
    call: "Callable[..., IssuedKey | AdminToken | None]",
    *,
    revoke_key: str | None,
    json: Json = False,
) -> None:
    """Print the addresses once the marketplace answers, or the key that was issued, or the admin's token."""

    def ready(address: "Address") -> None:
        if json:
            addresses = {
                "endpoint": address.endpoint,
                "worker_site": address.worker_site,
                "admin": address.admin,
            }
            typer.echo(dumps(addresses))
        else:
            say(f"requester API  {address.endpoint}   (AWS_ENDPOINT_URL_MTURK={address.endpoint})")
            say(f"worker site    {address.worker_site}")
            # only to a terminal: a log is read by others
            if sys.stderr.isatty():
                say(f"admin page     {address.sign_in}   (signs you in once, within ten minutes)")
            else:
                say(f"admin page     {address.admin}")
            say(f"admin token    {_token_hint(address)}")
            say("invite people on the admin page; stop with Ctrl-C")

    made = call(ready=ready)
    if revoke_key is not None:
        say(f"{revoke_key}: revoked")
    if made is not None:
        _show_serve(made, json=json)


def _show_serve(made: "IssuedKey | AdminToken", *, json: bool) -> None:
    if json:
        print_json(made)
        return
    typer.echo(made.text)
    if made.note:
        say(made.note)


def _token_hint(address: "Address") -> str:
    """Say where the admin's token is."""
    if address.token_file:
        return f"in {address.token_file}"
    return "the same command with --print-admin-token shows it"


def pay(result: "PayResult", *, details: Details = False) -> None:
    """Print who is owed what, or was paid."""
    if not briefly(result, details) and result.dues:
        print_tables(result.tables())
    for decision, count in result.decided.items():
        say(f"{count:>6,} {decision}")


def reject(result: "RejectResult") -> None:
    """Print what was done and what its worker reads, or the disputes that wait for an answer."""
    from prefjudge.words import printable

    if result.assignment_id:
        notice(result.notices)
        say(f"{result.done} {result.assignment_id} of {result.worker_id}: {result.reason}")
    elif not result.disputes:
        say("no dispute waits for an answer")
    for one in result.disputes:
        say(f"{one.assignment} of {one.worker}, {one.raised}: {printable(one.text)}", err=False)


def work(
    call: "Callable[..., WorkResult]",
    *,
    study: Path,
    error: Annotated[
        str, typer.Option(help="How often an honest choice is wrong; 0.1:0.35 spreads the workers' errors.")
    ] = "0.2",
    json: Json = False,
) -> None:
    """Print how much was judged, and what leads on; or a rehearsal, with both ledgers."""
    result = call(error=_spread(error))
    if json:
        print_json(result)
        return
    if result.ledgers:
        for line in result.notices:
            say(line)
        print_tables(result.tables())
        return
    who = many(result.workers, "simulated worker")
    say(f"{who} submitted {many(result.submitted, 'assignment')}")
    if result.submitted:
        say(f"next: prefjudge collect {quoted(study)}")
    else:
        from prefjudge.study.progress import count_expired

        expired = count_expired(opened(study), "sandbox")
        why = f"the time of {many(expired, 'HIT')} is over; next: prefjudge collect {quoted(study)}"
        others = "others hold it, or they have judged it or are barred"
        say(f"no open HIT is left for them: {why if expired else others}")


def _spread(text: str) -> tuple[float, float]:
    low, _, high = text.partition(":")
    try:
        return float(low), float(high or low)
    except ValueError:
        raise InputError(
            f"--error {text}: not a number, or two with a colon between them",
            "Give, for instance: --error 0.1:0.35",
        ) from None


def workers(
    result: "WorkersResult | PersonResult",
    *,
    forget: str | None,
    export: str | None,
    format: Format = "terminal",
    details: Details = False,
) -> None:
    """Print the workers, their agreement as a whole, and what stands out; or what was done with one."""
    if export is not None:
        print_json(result)
    elif forget is not None:
        _show_receipt(result)  # type: ignore[arg-type]
    elif not briefly(result, details or format != "terminal"):
        tables = result.tables()[:1] if format == "csv" else result.tables()
        print_tables(tables, format, rehearsal=getattr(result, "rehearsal", None))


def _show_receipt(result: "PersonResult") -> None:
    what = (
        ", ".join(f"{kind} ({count:,})" for kind, count in result.erased.items())
        or "nothing was left to erase"
    )
    say(f"forgot {result.worker_id} in {' and '.join(result.stores)}")
    say(f"erased: {what}")
    kept = many(result.assignments, "assignment")
    say(f"kept: {kept} under the worker id; the ledger, which owes ${result.owed}")
    say("backups made before still hold it: delete them, or forget again after restoring one")


_CHECK_COLORS = {"well": "green", "wrong": "red", "skipped": "yellow"}


def store(
    call: Callable[..., Any],
    *,
    action: str,
    study: Path | None,
    file: Path | None,
    store: str | None,
    live: bool,
    json: Json = False,
) -> None:
    """Print what was found, copied or learnt; the exit code says 1 what is wrong, and 3 what remains."""
    if action == "backup" and store is not None and file is None:
        study, file = None, study  # the one file named is the file to write
    with progress("recovering") as bar:
        result = call(study=study, file=file, progress=bar)
    if json:
        print_json(result)
    elif action == "check":
        _show_checks(result)
    elif action == "backup":
        _show_backup(result)
    else:
        _show_recovered(result, live=live)
    if not getattr(result, "well", True):
        raise typer.Exit(1)
    if getattr(result, "remains", ()):
        raise typer.Exit(NotFinished.exit_code)


def _show_checks(result: "StoreCheckResult") -> None:
    width = max(len(check.name) for check in result.checks)
    for check in result.checks:
        say(f"{check.state:<7}  {check.name:<{width}}  {check.found}", _CHECK_COLORS[check.state], err=False)
        if check.hint:
            say(f"{'':<{width + 11}}{check.hint}", err=False)


def _show_backup(result: "BackupResult") -> None:
    ledger = ", ".join(f"{name} ${sum_}" for name, sum_ in result.ledger.items()) or "empty"
    say(f"wrote {result.file}: the {result.kind}'s store as of {result.taken}, {result.bytes:,} bytes")
    say(
        f"read back: sound, {sum(result.rows.values()):,} rows in {len(result.rows)} tables; ledger: {ledger}"
    )


def _show_recovered(result: "RecoverResult", *, live: bool) -> None:
    say(f"{many(result.hits, 'HIT')} of this study at {result.target}: {result.rebuilt:,} rebuilt now")
    say(
        f"learnt {many(result.assignments, 'assignment')}, {many(result.decisions, 'decision')} and "
        f"{many(result.bonuses, 'bonus', 'bonuses')}"
    )
    if result.given_up:
        say(f"gave up {many(result.given_up, 'HIT')}, whose pairs are asked for again")
    notice(result.notices)
    for text in result.remains:
        say(f"remains: {text}", "yellow")
    if not result.remains:
        then = f"collect or run{' --live' * live}"
        say(f"the store is whole; next: prefjudge status {quoted(result.study)}, then {then}")
