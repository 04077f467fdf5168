"""The examples of deployment say what the marketplace needs."""

import configparser
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from prefjudge.cli.crowd import SERVE_ENVIRONMENT as ENVIRONMENT
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
    assert (found["ENTRYPOINT"], found["CMD"]) == ('["prefjudge"]', '["serve"]')
    words = dict(part.split("=", 1) for part in found["ENV"].split() if part.startswith("PREFJUDGE_"))
    assert_options_of_serve(words)
    assert words["PREFJUDGE_PORT"] == found["EXPOSE"]
    assert words["PREFJUDGE_STORE"].startswith("sqlite:///" + found["VOLUME"])
    settings = Settings(
        host=words["PREFJUDGE_HOST"], public_url="https://a.example", proxy=words["PREFJUDGE_PROXY"]
    )
    settings.check()
    assert settings.is_proxy("172.17.0.1")
    assert not settings.is_proxy("203.0.113.9")
    assert found["USER"] not in ("root", "0")
    assert f":{found['EXPOSE']}/healthz" in found["HEALTHCHECK"]


def test_the_container_installs_what_the_lock_names_with_the_uv_that_wrote_it():
    said = " ".join(text for _, text in instructions())
    pinned, *stages = (text for word, text in instructions() if word == "FROM")
    assert re.fullmatch(r"python:3[\d.]+-slim@sha256:[0-9a-f]{64} AS base", pinned)
    assert [stage.split()[0] for stage in stages] == ["base", "base"]
    assert "uv sync --frozen --no-dev" in said
    assert {*re.findall(r"--extra (\S+)", said)} == {
        "postgres",
        "panels",
    }  # what hosting people needs
    assert "pip install" not in re.sub(r"pip install --no-cache-dir uv==[\d.]+", "", said)


def assert_options_of_serve(words: dict[str, str]) -> None:
    assert {name.removeprefix("PREFJUDGE_").lower() for name in words} <= {*ENVIRONMENT}


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed (extra dev)")
    return yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]


def test_no_service_can_do_more_than_it_needs(services: dict[str, Any]) -> None:
    assert {*services} == {
        "database", "server1", "server2", "backup", "certificate", "nginx", "caddy",
    }  # fmt: skip
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert not {"privileged", "pid", "ipc"} & {*service}, name
        # what is alive is known of each, of the servers by their image
        assert "healthcheck" in service or service["image"] == "prefjudge", name
    published = {name for name, service in services.items() if service.get("ports")}
    assert published == {"nginx", "caddy"}
    assert services["database"]["network_mode"] == "none"


def test_the_services_fit_together(services: dict[str, Any]) -> None:
    servers = {name: service for name, service in services.items() if name.startswith("server")}
    for service in servers.values():
        assert_options_of_serve(service["environment"])
        assert "host=/run/postgresql" in service["environment"]["PREFJUDGE_STORE"]
        assert service["volumes"][0] == "socket:/run/postgresql"
    words = services["nginx"]["environment"]
    template = (FOLDER / "nginx.conf").read_text()
    assert {*re.findall(r"\$\{(\w+)\}", template)} == {*words} - {"NGINX_ENVSUBST_FILTER"}
    assert re.findall(r"server (\w+):8000;", words["PREFJUDGE_SERVERS"]) == [*servers]
    assert services["caddy"]["environment"]["PREFJUDGE_UPSTREAMS"] == " ".join(
        f"{one}:8000" for one in servers
    )
    for service in services.values():
        mounted = [one.split(":")[0] for one in service.get("volumes", ())]
        assert all((FOLDER / one).exists() for one in mounted if one.startswith("./")), mounted
    settings = dict(
        line.split("=", 1) for line in (FOLDER / ".env").read_text().splitlines() if not line.startswith("#")
    )
    used = {*re.findall(r"\$\{(\w+)\}", (FOLDER / "compose.yaml").read_text())}
    assert used <= {*settings}
    Settings(host="0.0.0.0", public_url=settings["PREFJUDGE_PUBLIC_URL"]).check()


def test_images_are_pinned_by_what_the_registry_says_and_by_nothing_else(tmp_path: Path) -> None:
    """`docker` is played: it answers as a registry does."""
    for name in ("pin.sh", ".env"):
        shutil.copy(FOLDER / name, tmp_path)
    said, docker = "sha256:" + "a1" * 32, tmp_path / "bin" / "docker"
    docker.parent.mkdir()
    docker.write_text('#!/bin/sh\n[ "$1 $2 $3" = "buildx imagetools inspect" ] && echo "$SAID"\n')
    docker.chmod(0o755)

    def pin(answer: str) -> tuple[int, list[str]]:
        environment = {**os.environ, "PATH": f"{docker.parent}:{os.environ['PATH']}", "SAID": answer}
        done = subprocess.run(["sh", tmp_path / "pin.sh"], env=environment, capture_output=True, check=False)
        return done.returncode, (tmp_path / ".env").read_text().splitlines()

    before = (tmp_path / ".env").read_text().splitlines()
    assert pin("no such image") == (1, before)
    code, after = pin(said)
    assert code == 0
    assert after[: len(before)] == before
    compose = (FOLDER / "compose.yaml").read_text()
    for line in after[len(before) :]:
        name, image = line.split("=", 1)
        assert f"${{{name}:-{image.removesuffix(f'@{said}')}}}" in compose
    assert sorted(pin(said)[1]) == sorted(after)  # again: nothing twice


def test_caddy_takes_its_config(tmp_path: Path, services: dict[str, Any]) -> None:
    if (program := shutil.which("caddy")) is None:
        pytest.skip("caddy is not installed (Debian: apt-get install caddy)")
    words = {**services["caddy"]["environment"], "PREFJUDGE_SITE": "judge.example.org"}
    done = subprocess.run(
        [program, "validate", "--adapter", "caddyfile", "--config", str(FOLDER / "Caddyfile")],
        env={**os.environ, **words, "HOME": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


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
