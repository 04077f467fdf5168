"""The examples of deployment say what the marketplace needs."""

import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from prefjudge.marketplace.settings import Settings

FOLDER = Path(__file__).resolve().parents[2] / "deploy"


def serve_arguments(words: list[str]) -> dict[str, str]:
    """Return the options of a ``prefjudge serve``, checked to be ones that it has."""
    assert words[0].endswith("prefjudge")
    assert words[1] == "serve"
    options = dict(zip(words[2::2], words[3::2], strict=True))
    assert set(options) <= {"--host", "--port", "--proxy", "--store"}
    return options


def instructions() -> list[tuple[str, str]]:
    text = (FOLDER / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines]


def test_the_container_serves_as_nobody_special():
    found = dict(instructions())
    words = [*_list(found["ENTRYPOINT"]), *_list(found["CMD"])]
    options = serve_arguments(words)
    assert options["--port"] == found["EXPOSE"]
    assert options["--store"].startswith("sqlite:///" + found["VOLUME"])
    settings = Settings(host=options["--host"], public_url="https://a.example", proxy=options["--proxy"])
    settings.check()
    assert settings.is_proxy("172.17.0.1")
    assert not settings.is_proxy("203.0.113.9")
    assert found["USER"] not in ("root", "0")
    assert f":{found['EXPOSE']}/healthz" in found["HEALTHCHECK"]


def _list(text: str) -> list[str]:
    return re.findall(r'"([^"]*)"', text)


def test_the_unit_runs_on_loopback_with_a_store_of_its_own():
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str
    unit.read(FOLDER / "prefjudge@.service")
    service = unit["Service"]
    options = serve_arguments(shlex.split(service["ExecStart"]))
    assert options == {"--host": "127.0.0.1", "--port": "%i"}
    store = f"PREFJUDGE_STORE=sqlite:////var/lib/{service['StateDirectory']}/marketplace.db"
    assert service["Environment"] == store
    # the processes of one store share a folder, so they have to be one user
    assert service["User"] == "prefjudge"
    assert service["DynamicUser"] == service["NoNewPrivileges"] == "yes"
    assert int(service["TimeoutStopSec"]) > 10  # longer than a graceful stop


def test_systemd_rates_the_unit_as_safe(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed (Debian: apt-get install systemd)")
    unit = shutil.copy(FOLDER / "prefjudge@.service", tmp_path / "prefjudge@8000.service")
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze cannot rate a file (before version 250)")
    found = re.search(r"Overall exposure level for \S+: (\d+\.\d+)", done.stdout)
    assert found, done.stdout + done.stderr
    assert float(found[1]) < 2
