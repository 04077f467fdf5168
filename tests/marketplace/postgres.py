"""A private PostgreSQL cluster from the system's programs, run by somebody who is not root."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def _programs() -> Path | None:
    """Find the folder with initdb and postgres."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    on_path = shutil.which("initdb")
    candidates = [*found, *([Path(on_path).resolve()] if on_path else [])]
    return next((path.parent for path in candidates if (path.parent / "postgres").exists()), None)


def _as_somebody(command: list[str], folder: Path) -> list[str]:
    """Return the command as a user whom PostgreSQL lets run it, who owns the folder."""
    if os.geteuid() != 0:
        return command
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        runner = shutil.which("setpriv")
        if runner:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, user.pw_uid, user.pw_gid)
            ids = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
            return [runner, *ids, *command]
    pytest.skip("PostgreSQL does not run as root, and there is no other user to run it as")


class Cluster:
    """A running cluster."""

    def __init__(self, port: int, folder: Path) -> None:
        self.port = port
        self.folder = folder
        """Where its socket is."""
        self._databases = 0

    def url(self, name: str) -> str:
        return f"postgresql://tester@127.0.0.1:{self.port}/{name}"

    def new_database(self) -> str:
        import psycopg

        self._databases += 1
        name = f"market{self._databases}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute(f"CREATE DATABASE {name}")
        return self.url(name)


@contextmanager
def private_cluster() -> Iterator[Cluster]:
    pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg")
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL server programs here (Debian: apt-get install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    data = folder / "data"
    init = [str(programs / "initdb"), "-D", str(data), "-U", "tester", "-A", "trust", "-N", "-E", "UTF8"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}
    subprocess.run(_as_somebody(init, folder), check=True, **quiet)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [
        "-p",
        str(port),
        "-k",
        str(folder),
        "-c",
        "listen_addresses=127.0.0.1",
        "-c",
        "max_connections=120",
        "-c",
        "fsync=off",
    ]
    process = subprocess.Popen(
        _as_somebody([str(programs / "postgres"), "-D", str(data), *options], folder), **quiet
    )
    try:
        _wait(process, port)
        yield Cluster(port, folder)
    finally:
        process.send_signal(signal.SIGINT)  # do not wait for connections
        process.wait(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(process: subprocess.Popen, port: int) -> None:
    import psycopg

    for _ in range(200):
        assert process.poll() is None, "PostgreSQL did not start"
        try:
            psycopg.connect(f"postgresql://tester@127.0.0.1:{port}/postgres").close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("PostgreSQL does not answer")
