"""What a person sees on a terminal, and a pipe does not."""

import json
import os
import re
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3
from typer.testing import CliRunner

from prefjudge.cli.app import app
from prefjudge.cli.output import progress
from tests.steps.conftest import pooled as pooled  # the fixture

pty = pytest.importorskip("pty", reason="a terminal of its own needs a Unix")


class Terminal:
    """A terminal of eighty columns in which one verb runs."""

    def __init__(self, process: int, end: int) -> None:
        self.process = process
        self._end = end
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self._end, text.encode())

    def read(self, seconds: float) -> str:
        """Return what is written in so many seconds, or until the verb ends."""
        new, until = b"", time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if not select.select([self._end], [], [], left)[0]:
                continue
            try:
                part = os.read(self._end, 65_536)
            except OSError:  # the verb has ended
                break
            if not part:
                break
            new += part
        text = new.decode(errors="replace")
        self.seen += text
        return text

    def wait_for(self, words: str) -> None:
        for _ in range(600):  # two minutes: a busy machine starts a program late
            if words in self.seen:
                return
            self.read(0.2)
        raise AssertionError(f"{words!r} was not written: {self.seen!r}")


@contextmanager
def terminal(*arguments: object, **environment: str) -> Iterator[Terminal]:
    process, end = pty.fork()
    if not process:
        os.environ.pop("NO_COLOR", None)
        os.environ.update(COLUMNS="80", TERM="xterm", **environment)
        os.execv(sys.executable, [sys.executable, "-m", "prefjudge", *map(str, arguments)])
    shown = Terminal(process, end)
    try:
        yield shown
    finally:
        shown.type("\x03")
        shown.read(10)
        os.close(end)
        os.waitpid(process, 0)


def test_nothing_moves_while_publish_asks(pooled: Path) -> None:
    with terminal("publish", pooled, "--sandbox") as shown:
        shown.wait_for("[y/N]")
        assert shown.read(1.0).strip() == ""
        shown.type("y\n")
        shown.wait_for("published 7 HITs to sandbox")
    assert "publishing" in shown.seen


def test_long_work_is_told_of_on_stderr_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prefjudge.cli.output._QUIET", 0.01)
    done = CliRunner().invoke(app, ["plan", "--sizes", "2:3", "--trials", "20", "--json"])
    assert json.loads(done.stdout)["queries"] == 3
    assert "plan: at work for 0 s\n" in done.stderr


def test_where_no_terminal_is_a_line_now_and_then_says_how_far_the_work_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("publishing") as tell:
        tell(1, 9)
        monkeypatch.setattr("prefjudge.cli.output._QUIET", 0.0)
        tell(2, 9)
    assert capsys.readouterr() == ("", "publishing: 2 of 9\n")


def test_a_terminal_is_not_filled_with_the_requests_that_are_served(pooled: Path) -> None:
    with terminal("serve", pooled, "--port", 0) as shown:
        shown.wait_for("Ctrl-C")
        (address,) = re.findall(r"worker site +(\S+)", shown.seen)
        assert urllib3.request("GET", f"{address}/signin").status == 200
        assert shown.read(0.5) == ""


def test_colors_are_left_out_where_nobody_wants_them(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text("q1 Q0 d1 1 nan tag\n")
    for environment, colored in (({}, True), ({"NO_COLOR": "1"}, False)):
        for verb in ("check", "status"):
            with terminal(verb, tmp_path / "run.txt", **environment) as shown:
                shown.wait_for("error: ")
                shown.read(5)
            assert ("\x1b[" in shown.seen) == colored, shown.seen
