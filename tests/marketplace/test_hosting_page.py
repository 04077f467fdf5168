"""The commands of docs/hosting.md run as printed, in one shell.

Where they call Docker, the same parts run by hand (docker_stand_in.sh): PostgreSQL, a server, nginx.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest

from tests.marketplace.postgres import Cluster
from tests.marketplace.web_server import DEPLOY, behind_nginx, free_port, nginx_program
from tests.test_readme import blocks

PAGE = DEPLOY.parent / "docs" / "hosting.md"


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs Linux's /proc")
def test_the_commands_of_the_page_run(cluster: Cluster, tmp_path: Path) -> None:
    nginx_program()  # or skip
    for program in ("bash", "curl", "openssl", "pg_dump"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    with psycopg.connect(cluster.url("postgres"), autocommit=True) as db:
        db.execute("CREATE ROLE prefjudge SUPERUSER LOGIN")
        db.execute("CREATE DATABASE prefjudge OWNER prefjudge")
    https, port = free_port(), free_port()
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    settings = tmp_path / "deploy" / ".env"
    settings.write_text(settings.read_text().replace("https://localhost:8443", f"https://localhost:{https}"))
    shutil.copy(DEPLOY / "backup.sh", tmp_path)
    (tmp_path / "backups").mkdir()
    (tmp_path / "bin").mkdir()
    shutil.copy(Path(__file__).with_name("docker_stand_in.sh"), tmp_path / "bin" / "docker")
    path = [str(tmp_path / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join(path),
        "PREFJUDGE_STORE": f"postgresql://prefjudge@/prefjudge?host={cluster.folder}&port={cluster.port}",
        "PGHOST": str(cluster.folder), "PGPORT": str(cluster.port),
        "PGUSER": "prefjudge", "PGDATABASE": "prefjudge",
        "PREFJUDGE_BACKUPS": str(tmp_path / "backups"), "PREFJUDGE_BACKUP_DAYS": "30",
        "TEST_PORT": str(port), "TEST_BACKUP": str(tmp_path / "backup"),
    }  # fmt: skip
    printed = [command for commands, _ in blocks(PAGE.read_text(encoding="utf-8")) for command in commands]
    assert len(printed) > 25
    with tempfile.TemporaryDirectory() as folder, behind_nginx(Path(folder), https, [port]):
        try:
            script = "\n".join(["set -eux", *printed])
            done = subprocess.run(
                ["bash", "-c", script],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            stop = ["docker", "compose", "-f", "deploy/compose.yaml", "stop", "server1", "server2"]
            subprocess.run(stop, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"status":"ok"' in done.stdout
    assert "nothing is wrong" in done.stdout
    assert len([*(tmp_path / "backups").glob("*.dump")]) >= 1
    assert "'workers': 0" in done.stdout
