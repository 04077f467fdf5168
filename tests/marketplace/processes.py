"""Marketplaces in processes of their own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_PROGRAM = """
import json, sys
from prefjudge.marketplace.server import Settings, serve
say = lambda server: print(json.dumps({"endpoint": server.endpoint, "token": server.admin_token}), flush=True)
serve(sys.argv[1], Settings(port=int(sys.argv[2])), ready=say)
"""


def launch(store_url: str, port: int = 0) -> tuple[subprocess.Popen, dict[str, str]]:
    """Start one server, and return it with its address once it answers."""
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, store_url, str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


@contextmanager
def serving(store_url: str, number: int) -> Iterator[list[str]]:
    """Run servers for a while; yield their addresses."""
    started = [launch(store_url) for _ in range(number)]
    try:
        yield [about["endpoint"] for _, about in started]
    finally:
        for process, _ in started:
            process.terminate()
        for process, _ in started:
            process.wait(timeout=30)
            process.stdout.close()
