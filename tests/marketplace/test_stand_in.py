"""Programs that name Amazon's host in their code are led to a marketplace, unchanged, and nowhere else."""

import os
import socket
import ssl
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ProxyConnectionError, SSLError

from prefjudge.errors import InputError, PrefjudgeError
from prefjudge.marketplace.people.requesters import LOCAL_KEY
from prefjudge.marketplace.server import Server, start
from prefjudge.marketplace.settings import Settings
from prefjudge.marketplace.stand_in import remove_authority
from prefjudge.marketplace.stand_in.settings import LIVE_HOST, SANDBOX_HOST, TOPICS_HOST, StandInSettings
from prefjudge.steps.serve.serve import serve
from tests.marketplace.people import html_question

pytest.importorskip("cryptography")

PROGRAM = f"""
import sys, boto3
turk = boto3.client("mturk", region_name="us-east-1", endpoint_url="https://{SANDBOX_HOST}")
made = turk.create_hit(
    Title="t", Description="d", Reward="0.10", MaxAssignments=1, AssignmentDurationInSeconds=60,
    LifetimeInSeconds=600, Question=sys.stdin.read(),
)
shown = turk.get_hit(HITId=made["HIT"]["HITId"])["HIT"]["Question"]
print(turk.get_account_balance()["AvailableBalance"], len(shown))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("authority") / "stand-in"


@pytest.fixture(scope="module")
def market(folder: Path):
    settings = Settings(stand_in=StandInSettings(folder=folder))
    with start(f"sqlite:///{folder.parent}/market.db", settings=settings) as server:
        yield server


def led_here(market: Server) -> dict[str, str]:
    """What a program's environment needs."""
    assert market.stand_in is not None
    return {
        "HTTPS_PROXY": market.stand_in.address,
        "AWS_CA_BUNDLE": str(market.stand_in.certificate_file),
        "AWS_ACCESS_KEY_ID": LOCAL_KEY,
        "AWS_SECRET_ACCESS_KEY": market.admin_token,
    }


def client_of(market: Server, host: str, *, bundle: str | None = None):
    environment = led_here(market)
    return boto3.client(
        "mturk",
        region_name="us-east-1",
        endpoint_url=f"https://{host}",
        aws_access_key_id=LOCAL_KEY,
        aws_secret_access_key=market.admin_token,
        verify=bundle or environment["AWS_CA_BUNDLE"],
        config=Config(proxies={"https": environment["HTTPS_PROXY"]}, retries={"total_max_attempts": 1}),
    )


def say(market: Server, line: bytes) -> bytes:
    """Send a request to the proxy as it is, and return all of its answer."""
    assert market.stand_in is not None
    port = int(market.stand_in.address.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as stream:
        stream.sendall(line)
        stream.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: stream.recv(4096), b""))


def test_a_program_that_names_amazon_s_sandbox_works_here_unchanged(market: Server) -> None:
    large = html_question("<p>" + "x" * 60_000)  # larger than one read from a stream
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=large,
        env={**os.environ, **led_here(market)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["9999.88", str(len(large))]


def test_play_money_never_answers_for_the_host_that_spends_real_money(market: Server) -> None:
    with pytest.raises(ProxyConnectionError):
        client_of(market, LIVE_HOST).get_account_balance()


def test_real_money_answers_for_the_live_host_only(tmp_path: Path) -> None:
    settings = Settings(stand_in=StandInSettings(folder=tmp_path / "stand-in", sandbox=False))
    with start(f"sqlite:///{tmp_path}/live.db", settings=settings, sandbox=False) as live:
        assert client_of(live, LIVE_HOST).get_account_balance()["AvailableBalance"] == "0.00"
        with pytest.raises(ProxyConnectionError):
            client_of(live, SANDBOX_HOST).get_account_balance()


@pytest.mark.parametrize(
    "line",
    [
        b"CONNECT example.org:443 HTTP/1.1\r\n\r\n",
        b"CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n",
        f"CONNECT {SANDBOX_HOST}:22 HTTP/1.1\r\n\r\n".encode(),
        f"CONNECT {SANDBOX_HOST}.example.org:443 HTTP/1.1\r\n\r\n".encode(),
        f"GET http://{SANDBOX_HOST}/ HTTP/1.1\r\n\r\n".encode(),
        b"CONNECT a\rSet-Cookie:\x00b\xff HTTP/1.1\r\n\r\n",
        b"\r\n\r\n",
        b"x" * 100_000,
    ],
)
def test_the_proxy_leads_nowhere_else(market: Server, line: bytes) -> None:
    answer = say(market, line)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 403 ")
    assert body.startswith(f"this proxy leads to {SANDBOX_HOST}:443 and {TOPICS_HOST}:443 only".encode())
    assert len(head.split(b"\r\n")) == 4
    assert set(head + body) <= set(range(32, 127)) | set(b"\r\n")


def test_what_hangs_up_early_harms_nobody(market: Server) -> None:
    tunnel = f"CONNECT {SANDBOX_HOST}:443 HTTP/1.1\r\n\r\n".encode()
    assert say(market, b"") == b""
    assert say(market, tunnel[:20]) == b""
    assert say(market, tunnel + b"not a handshake").startswith(b"HTTP/1.1 200 ")
    assert client_of(market, SANDBOX_HOST).get_account_balance()


def test_the_authority_vouches_for_amazon_s_mturk_hosts_only(market: Server, folder: Path) -> None:
    from prefjudge.marketplace.stand_in.authority import open_authority

    assert oct((folder / "authority.key").stat().st_mode & 0o777) == "0o600"
    assert market.stand_in is not None
    stolen = open_authority(folder).server_context("sts.amazonaws.com")
    trusting = ssl.create_default_context(cafile=market.stand_in.certificate_file)
    shaken = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = stolen.wrap_bio(*shaken, server_side=True)
    client = trusting.wrap_bio(*reversed(shaken), server_hostname="sts.amazonaws.com")
    for side in (client, server):
        with pytest.raises(ssl.SSLWantReadError):
            side.do_handshake()
    with pytest.raises(ssl.SSLCertVerificationError, match="permitted subtree violation"):
        client.do_handshake()


def test_who_was_not_told_to_trust_it_does_not(market: Server) -> None:
    with pytest.raises(SSLError, match="CERTIFICATE_VERIFY_FAILED"):
        client_of(
            market, SANDBOX_HOST, bundle=ssl.get_default_verify_paths().cafile or ""
        ).get_account_balance()


def test_the_authority_is_kept_until_it_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from prefjudge.marketplace.stand_in.authority import open_authority

    here = tmp_path / "stand-in"
    first = open_authority(here).certificate_file.read_bytes()
    assert open_authority(here).certificate_file.read_bytes() == first
    (here / "authority.pem").write_text("not a certificate")
    with pytest.raises(PrefjudgeError, match="does not hold a usable certificate authority"):
        open_authority(here)
    (here / "mine.txt").write_text("not prefjudge's")
    monkeypatch.chdir(tmp_path)
    assert serve(remove_stand_in=True) is None
    assert [path.name for path in here.iterdir()] == ["mine.txt"]
    with pytest.raises(InputError, match="has no certificate authority"):
        serve(remove_stand_in=True)
    assert not remove_authority(here)


def test_an_authority_that_may_vouch_for_fewer_hosts_is_renewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prefjudge.marketplace.stand_in import authority

    with monkeypatch.context() as older:
        older.setattr(authority, "_NAMES", authority._NAMES[:2])
        before = authority.open_authority(tmp_path).certificate
    after = authority.open_authority(tmp_path).certificate
    assert after != before
    assert authority.open_authority(tmp_path).certificate == after


def test_a_taken_port_is_said(market: Server, tmp_path: Path) -> None:
    assert market.stand_in is not None
    port = int(market.stand_in.address.rsplit(":", 1)[1])
    settings = Settings(stand_in=StandInSettings(folder=tmp_path / "stand-in", port=port))
    with pytest.raises(PrefjudgeError, match="cannot listen") as raised:
        start(f"sqlite:///{tmp_path}/other.db", settings=settings)
    assert "--stand-in-port" in str(raised.value.hint)
    assert not (tmp_path / "other.db").exists()


def test_what_cannot_be_served_leaves_no_store_behind(
    market: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = f"sqlite:///{tmp_path}/market.db"
    taken = Settings(port=int(market.endpoint.rpartition(":")[2]))
    with pytest.raises(PrefjudgeError, match="cannot listen"):
        start(store, settings=taken)
    (tmp_path / "stand-in").mkdir()
    (tmp_path / "stand-in" / "authority.key").mkdir()  # as bad as one that may not be read
    (tmp_path / "stand-in" / "authority.pem").write_text("x")
    stood_in = Settings(stand_in=StandInSettings(folder=tmp_path / "stand-in"))
    with pytest.raises(PrefjudgeError, match="does not hold a usable certificate authority"):
        start(store, settings=stood_in)
    monkeypatch.setitem(sys.modules, "prefjudge.marketplace.stand_in.authority", None)  # not installed
    with pytest.raises(PrefjudgeError, match="needs the cryptography package"):
        start(store, settings=stood_in)
    assert [path.name for path in tmp_path.iterdir()] == ["stand-in"]


def test_many_programs_at_once(market: Server) -> None:
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: client_of(market, SANDBOX_HOST).get_account_balance(), range(32)))
    assert {one["AvailableBalance"] for one in found} == {found[0]["AvailableBalance"]}
