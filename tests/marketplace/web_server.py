"""nginx with the shipped config, on ports of its own."""

import os
import secrets
import shutil
import socket
import string
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
AROUND = string.Template(
    "daemon off; master_process off; pid $folder/pid; error_log $folder/errors.log;\n"
    "events {}\n"
    "http {\n"
    "include /etc/nginx/mime.types; include $folder/site.conf;\n"
    "client_body_temp_path $folder/body; proxy_temp_path $folder/proxy; fastcgi_temp_path $folder/fastcgi;\n"
    "uwsgi_temp_path $folder/uwsgi; scgi_temp_path $folder/scgi;\n"
    "}\n"
)


class Site(NamedTuple):
    """A site behind nginx: its address with TLS, the one without, and the certificate to trust."""

    url: str
    plain: str
    certificate: str


def free_port() -> int:
    """Return a port below those that whoever connects is given: one of these might take it first."""
    while True:
        port = secrets.choice(range(20_000, 32_000))
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


def nginx_program() -> str:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("nginx is not installed (Debian: apt-get install nginx)")
    return program


def fill_in(text: str, words: dict[str, str]) -> str:
    """Fill in the words of the template that the nginx image's envsubst would, and no others."""
    for name, word in words.items():
        text = text.replace(f"${{{name}}}", word)
    return text


@contextmanager
def behind_nginx(folder: Path, https: int, servers: Sequence[int]) -> Iterator[Site]:
    """Run nginx before servers on this machine."""
    program, http = nginx_program(), free_port()
    site = Site(f"https://localhost:{https}", f"http://localhost:{http}", str(folder / "fullchain.pem"))
    words = {
        "PREFJUDGE_SITE": "localhost",
        "PREFJUDGE_PUBLIC_URL": site.url,
        "PREFJUDGE_SERVERS": " ".join(f"server 127.0.0.1:{port};" for port in servers),
        "PREFJUDGE_LISTEN_HTTP": f"127.0.0.1:{http}",
        "PREFJUDGE_LISTEN_HTTPS": f"127.0.0.1:{https}",
        "PREFJUDGE_CERTIFICATES": str(folder),
    }
    made = [str(DEPLOY / "certificate.sh")]
    for _ in range(2):  # the second time there is one
        subprocess.run(made, env={**os.environ, **words}, check=True, capture_output=True)
    (folder / "site.conf").write_text(fill_in((DEPLOY / "nginx.conf").read_text(), words))
    (folder / "nginx.conf").write_text(AROUND.substitute(folder=folder))
    command = [program, "-e", str(folder / "errors.log"), "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with (folder / "stderr.log").open("w") as said:
        process = subprocess.Popen(command, stderr=said)
    try:
        for _ in range(1000):
            assert process.poll() is None, (folder / "errors.log").read_text()
            with socket.socket() as trying:
                if trying.connect_ex(("127.0.0.1", https)) == 0:
                    break
            time.sleep(0.02)
        yield site
    finally:
        process.terminate()
        process.wait(timeout=30)
