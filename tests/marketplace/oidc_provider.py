"""A stand-in of an OpenID Connect provider, which answers over HTTP, and lies where a test tells it to."""

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jws
from joserfc.jwk import ECKey, OctKey

CLIENT, SECRET = "prefjudge-of-tests", "a-secret-of-tests"


class Provider:
    """Its one user is whoever the test says; ``claims`` replace the true ones, and None leaves one out."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.key = ECKey.generate_key("P-256", {"kid": "one"})
        self.issuer = self.calls_itself = ""
        self.forget()

    def forget(self) -> None:
        self.claims: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.signed_by: Any = (self.key, "ES256")
        self.asked: list[str] = []
        self.public, self.payload = False, ""
        self.answers, self.waiting = threading.Event(), threading.Semaphore(0)
        self.answers.set()
        self.published: Any = [self.key.as_dict(private=False)]

    def discovery(self) -> dict[str, str]:
        places = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        return {
            "issuer": self.calls_itself,
            **{name: f"{self.issuer}/{path}" for name, path in places.items()},
        }

    def authorize(self, query: dict[str, str]) -> str:
        """Sign the user in, and return where that leads."""
        assert query["client_id"] == CLIENT
        assert (query["response_type"], query["code_challenge_method"]) == ("code", "S256")
        assert "openid" in query["scope"].split()
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        back = {"code": code, "state": query["state"], "iss": self.issuer}
        return f"{query['redirect_uri']}?{urlencode(back)}"

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        self.waiting.release()
        self.answers.wait(10)
        asked = self.codes.pop(form["code"], None)  # a code is good once
        if asked is None or form["redirect_uri"] != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        known = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if authorization != ("" if self.public else f"Basic {known}"):
            return 401, {"error": "invalid_client"}
        now = int(self.clock())
        claims = {
            "iss": self.issuer, "sub": "user-1", "aud": CLIENT, "iat": now, "exp": now + 60,
            "nonce": asked["nonce"], "email": "Olga@Example.org", "email_verified": True, **self.claims,
        }  # fmt: skip
        key, algorithm = self.signed_by
        told = {name: value for name, value in claims.items() if value is not None}
        said = self.payload or json.dumps(told)
        token = jws.serialize_compact({"alg": algorithm, "kid": "one"}, said, key, algorithms=[algorithm])
        return 200, {"access_token": "a", "token_type": "Bearer", "id_token": token}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_GET(self) -> None:
        provider, parts = self.server.provider, urlsplit(self.path)
        provider.asked.append(parts.path)
        if parts.path == "/authorize":
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            self.send_response(302)
            self.send_header("Location", provider.authorize(query))
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif parts.path == "/keys":
            self._send(200, {"keys": provider.published})
        else:
            assert parts.path == "/.well-known/openid-configuration"
            self._send(200, provider.discovery())

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = {name: values[0] for name, values in parse_qs(sent).items()}
        self._send(*self.server.provider.token(form, self.headers.get("Authorization", "")))

    def _send(self, status: int, said: dict[str, Any]) -> None:
        content = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    provider: Provider

    def handle_error(self, *_: object) -> None:
        """Say nothing of a client that did not wait."""


@contextmanager
def provided(clock: Callable[[], float]) -> Iterator[Provider]:
    """Serve a provider on a free port."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.provider = Provider(clock)
    server.provider.issuer = server.provider.calls_itself = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def by_our_secret() -> tuple[Any, str]:
    """What signs a token by the secret of the client, as a lesser provider might."""
    return OctKey.import_key(SECRET * 3), "HS256"
