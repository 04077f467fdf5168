"""``prefjudge serve``."""

from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Json, MaybeStudy
from prefjudge.cli.output import say

if TYPE_CHECKING:
    from prefjudge.steps.serve import Door


def serve(
    study: MaybeStudy = None,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free port.")] = 7266,
    store: Annotated[str | None, typer.Option(help="sqlite:///PATH or postgresql://HOST/NAME.")] = None,
    public: Annotated[
        bool,
        typer.Option("--public", help="Allow an address that other machines reach, without TLS in front."),
    ] = False,
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
            say("stop with Ctrl-C")

    run(study, host=host, port=port, store=store, public=public, ready=ready)
