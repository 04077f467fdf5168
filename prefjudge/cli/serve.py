"""``prefjudge serve``."""

import sys
from collections.abc import Callable
from json import dumps
from typing import TYPE_CHECKING

import typer

from prefjudge.cli.options import Json
from prefjudge.cli.output import print_json, say

if TYPE_CHECKING:
    from prefjudge.field.crowd import Address
    from prefjudge.steps.serve.serve import AdminToken, IssuedKey

ENVIRONMENT = (
    "host", "port", "store", "live", "public_url", "plain_http", "proxy", "admin_token_file", "screen",
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
            say(f"admin page     {address.admin}")
            say(f"admin token    {_token_hint(address)}")
            say("invite workers at the admin page; stop with Ctrl-C")

    made = call(ready=ready)
    if revoke_key is not None:
        say(f"{revoke_key}: revoked")
    if made is not None:
        _show(made, json=json)


def _show(made: "IssuedKey | AdminToken", *, json: bool) -> None:
    if json:
        print_json(made)
        return
    typer.echo(made.text)
    if made.note:
        say(made.note)


def _token_hint(address: "Address") -> str:
    """Say where the admin's token is; it is shown only on a terminal, never to a log."""
    if address.token_file:
        return f"in {address.token_file}"
    return (
        address.admin_token if sys.stderr.isatty() else "the same command with --print-admin-token shows it"
    )
