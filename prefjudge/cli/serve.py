"""``prefjudge serve``."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Json, MaybeStudy
from prefjudge.cli.output import print_json, say

if TYPE_CHECKING:
    from prefjudge.fieldwork.own_marketplace import Door


def serve(
    study: MaybeStudy = None,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free port.")] = 7266,
    store: Annotated[str | None, typer.Option(help="sqlite:///PATH or postgresql://HOST/NAME.")] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Rewards are real and prepaid, not play money.")
    ] = False,
    public_url: Annotated[
        str | None, typer.Option(help="The address of the web server in front that adds TLS.")
    ] = None,
    plain_http: Annotated[
        bool, typer.Option("--plain-http", help="Allow an address that other machines reach, without TLS.")
    ] = False,
    proxy: Annotated[
        str, typer.Option(help="Where the web server in front calls from: addresses or networks.")
    ] = "127.0.0.1",
    new_key: Annotated[str | None, typer.Option(help="Issue a key to this requester, and stop.")] = None,
    revoke_key: Annotated[str | None, typer.Option(help="Take this access key back, and stop.")] = None,
    json: Json = False,
) -> None:
    """Run the marketplace: requester API, worker site and admin page."""
    from prefjudge.steps.serve import serve as run

    def ready(door: "Door") -> None:
        if json:
            import json as codec

            addresses = {"endpoint": door.endpoint, "worker_site": door.worker_site, "admin": door.admin}
            typer.echo(codec.dumps(addresses))
        else:
            say(f"requester API  {door.endpoint}   (AWS_ENDPOINT_URL_MTURK={door.endpoint})")
            say(f"worker site    {door.worker_site}")
            say(f"admin page     {door.admin}")
            say(f"admin token    {_token_hint(door)}")
            say("invite workers at the admin page; stop with Ctrl-C")

    key = run(
        study,
        host=host,
        port=port,
        store=store,
        live=live,
        public_url=public_url,
        plain_http=plain_http,
        proxy=proxy,
        new_key=new_key,
        revoke_key=revoke_key,
        ready=ready,
    )
    if revoke_key is not None:
        say(f"{revoke_key}: revoked")
    if key is not None and json:
        print_json(key)
    elif key is not None:
        typer.echo(f"AWS_ACCESS_KEY_ID={key.access_key}\nAWS_SECRET_ACCESS_KEY={key.secret_key}")
        say(f"{key.requester}: keep these; the secret is not shown again")


def _token_hint(door: "Door") -> str:
    """Say where the admin's token is; it is shown only on a terminal, never to a log."""
    if door.token_file:
        return f"in {door.token_file}"
    return door.admin_token if sys.stderr.isatty() else "start it from a terminal to see it"
