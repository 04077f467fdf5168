"""The parts of deploy/ together: PostgreSQL, two servers, nginx with the shipped config on another port."""

import http.client
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
import pytest
import urllib3
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.marketplace.people import html_question
from tests.marketplace.postgres import Cluster
from tests.marketplace.web_server import DEPLOY, Site, behind_nginx, free_port, nginx_program

PASSWORD = "a-password-of-the-database"
SERVE = [sys.executable, "-m", "prefjudge", "serve"]


class Stack:
    """A running stack, as those outside see it; and its servers."""

    def __init__(self, site: Site, environment: dict[str, str], servers: list[subprocess.Popen[str]]) -> None:
        self.site, self.environment, self.servers = site, environment, servers
        self.http = urllib3.PoolManager(ca_certs=site.certificate, retries=False)

    @cached_property
    def admin(self) -> dict[str, str]:
        """The headers of the admin, who asked for the token beside the servers, with their environment."""
        command = [*SERVE, "--print-admin-token"]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True)
        return {"Authorization": f"Bearer {done.stdout.strip()}", "Accept": "application/json"}

    def call(self, verb: str, path: str, **more: Any) -> urllib3.BaseHTTPResponse:
        return self.http.request(verb, self.site.url + path, redirect=False, **more)

    def client(self, key: dict[str, str], service: str = "mturk") -> Any:
        return boto3.client(
            service, region_name="us-east-1", endpoint_url=self.site.url, verify=self.site.certificate,
            aws_access_key_id=key["access_key"], aws_secret_access_key=key["secret_key"],
            config=Config(retries={"total_max_attempts": 1}),
        )  # fmt: skip


@pytest.fixture(scope="module")
def stack(cluster: Cluster) -> Iterator[Stack]:
    nginx_program()  # or skip
    https, ports = free_port(), [free_port(), free_port()]
    url = cluster.new_database()
    name = url.rpartition("/")[2]
    environment = {
        **os.environ,
        "PREFJUDGE_STORE": url.replace("tester@", f"tester:{PASSWORD}@"),
        "PGHOST": str(cluster.folder),
        "PGPORT": str(cluster.port),
        "PGUSER": "tester",
        "PGDATABASE": name,
        "PREFJUDGE_PUBLIC_URL": f"https://localhost:{https}",
    }
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        servers = []
        # the second by the socket, as in compose.yaml
        by_socket = f"postgresql://tester@/{name}?host={cluster.folder}&port={cluster.port}"
        for port, store in zip(ports, (environment["PREFJUDGE_STORE"], by_socket), strict=True):
            command = [*SERVE, "--json"]
            here = {**environment, "PREFJUDGE_PORT": str(port), "PREFJUDGE_STORE": store}
            with log.open("a") as errors:
                server = subprocess.Popen(command, env=here, stdout=subprocess.PIPE, stderr=errors, text=True)
            servers.append(server)
        try:
            for server in servers:
                assert server.stdout is not None
                assert server.stdout.readline(), log.read_text()  # it answers
            with behind_nginx(Path(folder), https, ports) as site:
                yield Stack(site, environment, servers)
        finally:
            for server in servers:
                server.terminate()
                server.wait(timeout=30)
                server.stdout.close()
        said = log.read_text()
        assert '"level": "info"' in said
        assert '"level": "error"' not in said
        assert PASSWORD not in said


def test_a_call_signed_for_another_port_than_443_is_accepted(stack: Stack) -> None:
    issued = stack.call("POST", "/admin/requesters", headers=stack.admin, json={"name": "lab"})
    turk = stack.client(issued.json())
    hit = turk.create_hit(
        Title="t", Description="d", Reward="0.10", MaxAssignments=1, AssignmentDurationInSeconds=60,
        LifetimeInSeconds=600, Question=html_question("x" * 50_000),
    )["HIT"]  # fmt: skip
    assert turk.get_hit(HITId=hit["HITId"])["HIT"]["HITId"] == hit["HITId"]
    sns = stack.client(issued.json(), "sns")
    with pytest.raises(ClientError, match="has no topics: poll instead"):
        sns.create_topic(Name="t")
    notification = {"Destination": "https://hook.invalid/", "Transport": "SNS", "Version": "2014-08-15"}
    asked = {"HITTypeId": hit["HITTypeId"], "Notification": notification | {"EventTypes": ["HITExpired"]}}
    with pytest.raises(ClientError, match="sends no notifications: poll instead"):
        turk.update_notification_settings(**asked)


def test_no_password_stands_in_the_list_of_processes(stack: Stack) -> None:
    for server in stack.servers:
        words = Path(f"/proc/{server.pid}/cmdline").read_bytes()
        assert b"serve" in words
        assert PASSWORD.encode() not in words


def test_the_printed_token_opens_the_admin_page_and_a_worker_signs_in(stack: Stack) -> None:
    joined = stack.call("POST", "/admin/workers", headers=stack.admin, json={"name": "ann"})
    assert joined.status == 201, joined.data
    invite = joined.json()["invite_url"]
    assert invite.startswith(f"{stack.site.url}/signin?invite=")
    entered = stack.call(
        "POST", "/signin", fields={"invite": joined.json()["invite"]}, headers={"Origin": stack.site.url}
    )
    assert entered.status == 303
    cookie = entered.headers["set-cookie"]
    assert "; Secure" in cookie
    assert stack.call("GET", "/hits", headers={"Cookie": cookie.split(";")[0]}).status == 200


def test_a_session_of_the_admin_is_known_at_either_server_and_the_log_tells(stack: Stack) -> None:
    given = {"token": stack.admin["Authorization"].removeprefix("Bearer ")}
    cookie = stack.call("POST", "/admin/signin", fields=given).headers["set-cookie"].split(";")[0]
    signed_in = {"Cookie": cookie, "Accept": "application/json"}
    told = [stack.call("GET", "/admin/log", headers=signed_in).json()["entries"] for _ in range(4)]
    assert told[0][0]["act"] == "sign in"
    assert all(one == told[0] for one in told)


def test_what_is_typed_without_tls_is_sent_to_the_address_with_tls(stack: Stack) -> None:
    answer = urllib3.request("GET", f"{stack.site.plain}/signin?next=%2Fhits", redirect=False)
    assert (answer.status, answer.headers["location"]) == (301, f"{stack.site.url}/signin?next=%2Fhits")


def test_clients_that_can_speak_http_2(stack: Stack) -> None:
    context = ssl.create_default_context(cafile=stack.site.certificate)
    context.set_alpn_protocols(["h2", "http/1.1"])
    port = int(stack.site.url.rpartition(":")[2])
    connection = http.client.HTTPSConnection("localhost", port, context=context)
    connection.connect()
    assert connection.sock.selected_alpn_protocol() == "h2"
    connection.close()


def test_only_what_holds_no_secret_is_compressed(stack: Stack) -> None:
    accepting = {"Accept-Encoding": "gzip"}
    for path, coding in (("/assets/site.css", "gzip"), ("/assets/assignment.js", "gzip"), ("/signin", None)):
        answer = stack.call("GET", path, headers=accepting, preload_content=False)
        assert (path, answer.status, answer.headers.get("content-encoding")) == (path, 200, coding)
        assert int(answer.headers.get("content-length", 2000)) > 1024  # not left alone for being small
        answer.drain_conn()


def test_guesses_are_limited_and_nothing_else_is(stack: Stack) -> None:
    tried = [stack.call("POST", "/admin/signin", fields={"token": "x"}).status for _ in range(90)]
    assert set(tried) == {401, 429}
    assert tried[:10] == [401] * 10, "each process counts ten a minute"
    assert {stack.call("GET", "/admin/signin").status for _ in range(70)} == {200}


def test_a_backup_by_the_timer_s_script_is_read_back(stack: Stack, tmp_path: Path) -> None:
    if shutil.which("pg_dump") is None:
        pytest.skip("pg_dump is not installed (Debian: apt-get install postgresql-client)")
    for name in ("marketplace-2020-01-01T000000Z.dump", "mine.dump", "marketplace-x.dump.part"):
        (tmp_path / name).write_text("old")
        os.utime(tmp_path / name, (0, 0))
    words = {"PREFJUDGE_BACKUPS": str(tmp_path), "PREFJUDGE_BACKUP_HOURS": "0", "PREFJUDGE_BACKUP_DAYS": "30"}
    environment = {**stack.environment, **words}

    def back_up() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(DEPLOY / "backup.sh")], env=environment, capture_output=True, text=True, check=False
        )

    environment["PGPORT"] = "1"  # nobody there: the old ones stay
    assert back_up().returncode == 1
    assert (tmp_path / "marketplace-2020-01-01T000000Z.dump").exists()
    environment["PGPORT"] = stack.environment["PGPORT"]
    done = back_up()
    assert done.returncode == 0, done.stderr
    made = [path for path in tmp_path.iterdir() if path.name != "mine.dump"]
    assert [path.suffix for path in made] == [".dump"]
    assert made[0].stat().st_mode & 0o777 == 0o600
    listed = subprocess.run(["pg_restore", "--list", made[0]], capture_output=True, text=True, check=True)
    assert "TABLE DATA public transfers" in listed.stdout


def test_calls_go_on_when_one_server_dies(stack: Stack) -> None:
    dying = stack.servers[0]
    dying.send_signal(signal.SIGKILL)
    dying.wait(timeout=30)
    for _ in range(8):
        assert stack.call("GET", "/panel/x/key?PROLIFIC_PID=5f0e").status == 404
        answer = stack.call("GET", "/healthz")
        assert answer.status == 200
        assert re.fullmatch(r"\d+\.\S+", answer.json()["version"])
    folder = Path(stack.site.certificate).parent
    for log in (folder / "errors.log", folder / "stderr.log"):
        assert "PROLIFIC_PID" not in log.read_text(), "nginx says with its errors what was asked for"
