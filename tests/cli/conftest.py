"""Runs the command line as a user does."""

import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread

from tests.steps.conftest import pooled as pooled  # the fixtures
from tests.steps.conftest import served as served

Finished = subprocess.CompletedProcess[str]

# Most of the time of a verb on a small study goes into imports. One process imports once, and each command is
# a copy of it, with memory, streams and an exit code of its own. It ends with these tests, as its input does.
_COPIED = """
import gc, json, os, sys
import boto3, matplotlib.backends.backend_svg, scipy.interpolate, scipy.linalg, scipy.special
import prefjudge, prefjudge.marketplace.server
from prefjudge.cli.app import main
from prefjudge.cli.commands import verb_function

for verb in prefjudge.VERBS:
    verb_function(verb.function)
for name in prefjudge.__all__:
    getattr(prefjudge, name)
gc.freeze()
for line in sys.stdin:
    asked = json.loads(line)
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    for stream, path in enumerate((os.devnull, asked["out"], asked["err"])):
        os.dup2(os.open(path, os.O_RDWR), stream)
    sys.argv[1:] = asked["words"]
    try:
        main()
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    sys.stderr.flush()
    os._exit(code)  # what was imported is not taken down again
"""
_one_at_a_time = Lock()


@cache
def _started(before: tuple[str, ...]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*before, sys.executable, "-c", _COPIED],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environment(),
    )  # fmt: skip


def _environment() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}


def prefjudge(*arguments: object, cwd: Path | None = None, before: tuple[str, ...] = ()) -> Finished:
    """Run a command to its end; `before` are the words of a program that starts it."""
    words, environment = [str(word) for word in arguments], _environment()
    if not hasattr(os, "fork"):
        command = [*before, sys.executable, "-m", "prefjudge", *words]
        return subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, encoding="utf-8", check=False, env=environment
        )
    with TemporaryDirectory() as folder, _one_at_a_time:
        out, err = Path(folder) / "out", Path(folder) / "err"
        out.touch()
        err.touch()
        asked = {"words": words, "folder": str(cwd or Path.cwd()), "out": str(out), "err": str(err)}
        copied = _started(before)
        assert copied.stdin is not None
        assert copied.stdout is not None
        copied.stdin.write(json.dumps({**asked, "environment": environment}) + "\n")
        copied.stdin.flush()
        code = int(copied.stdout.readline())
        return Finished(words, code, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"))


_CALL = """
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as door:
    door.connect(sys.argv[1])
    door.sendall(json.dumps([os.getcwd(), sys.argv[2:]]).encode() + b"\\n")
    code, out, err = json.loads(door.makefile("rb").read())
sys.stdout.write(out); sys.stderr.write(err); sys.exit(code)
"""


@contextmanager
def program_of_that_name() -> Iterator[Path]:
    """A program called prefjudge for shells and make; each call of it is a copy as above."""
    with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as door:
        place = Path(folder) / "door"
        door.bind(str(place))
        door.listen()
        script = Path(folder) / "prefjudge"
        script.write_text(
            f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", "-S", "-c", _CALL, str(place)])} "$@"\n'
        )
        script.chmod(0o755)

        def answer() -> None:
            while True:
                visit, _ = door.accept()
                with visit:
                    if not (asked := visit.makefile("rb").readline()):
                        return
                    at, words = json.loads(asked)
                    done = prefjudge(*words, cwd=at)
                    visit.sendall(json.dumps([done.returncode, done.stdout, done.stderr]).encode())

        answering = Thread(target=answer)
        answering.start()
        try:
            yield script
        finally:
            with socket.socket(socket.AF_UNIX) as goodbye:
                goodbye.connect(str(place))
            answering.join()
