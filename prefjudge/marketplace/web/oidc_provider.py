"""Asks an OpenID Connect provider who somebody is: discovery, a token for the code, what the token says."""

import contextlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet, import_key

from prefjudge.marketplace.calls import call
from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.oidc import OidcSettings

_ALGORITHMS = ["RS256", "PS256", "ES256", "ES384", "ES512", "RS384", "RS512", "PS384", "PS512", "EdDSA"]
"""Signatures by a key that only the provider has: never ``none``, nor one by a secret that both have."""
_CLOCKS = 30
"""Seconds by which two machines' clocks may differ."""
_FRESH = 600.0
"""Seconds for which what the provider says of itself is not asked for again."""
_LARGEST = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A sign-in that has begun: what must come back, and what proves that it is the same browser.

    Attributes
    ----------
    redirect : str
        The address that the provider leads back to.
    state, nonce : str
        What comes back in that address, and in the token.
    verifier : str
        What proves that the code is ours (PKCE, RFC 7636).
    """

    redirect: str
    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who the provider says that somebody is; ``email`` only where it was verified."""

    subject: str
    email: str


class Provider:
    """One provider. Its calls wait for the network: they are not for an event loop."""

    def __init__(self, settings: OidcSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._known: tuple[Mapping[str, Any], float] = ({}, float("-inf"))

    def address(self, begun: Begun, now: float) -> str:
        """Return the address where a person signs in.

        Raises
        ------
        Refusal
            ``provider``: it cannot be had, or does not say what it must.
        """
        return str(
            prepare_grant_uri(
                self._place("authorization_endpoint", now),
                client_id=self._settings.client_id,
                response_type="code",
                redirect_uri=begun.redirect,
                scope="openid email",
                state=begun.state,
                nonce=begun.nonce,
                code_challenge=create_s256_code_challenge(begun.verifier),
                code_challenge_method="S256",
            )
        )

    def person(self, begun: Begun, code: str, now: float) -> Person:
        """Return who has signed in, by the code that the person came back with.

        Raises
        ------
        Refusal
            ``provider``; or ``token``: the code or the token is not for this sign-in.
        """
        found = self._ask("POST", self._place("token_endpoint", now), self._token_request(begun, code))
        token = found.get("id_token")
        if not isinstance(token, str):
            raise _bad_token("it has none")
        keys = self._ask("GET", self._place("jwks_uri", now))
        try:
            read = jwt.decode(token, _usable(keys.get("keys")), algorithms=_ALGORITHMS)
            claims = CodeIDToken(
                read.claims,
                read.header,
                options={"iss": {"value": self._settings.issuer}, "aud": {"value": self._settings.client_id}},
                params={
                    "nonce": begun.nonce,
                    "client_id": self._settings.client_id,
                    "access_token": found.get("access_token"),
                },
            )
            claims.validate(int(now), _CLOCKS)
        except (JoseError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise _bad_token(str(error) or type(error).__name__) from error
        subject, email = claims["sub"], claims.get("email")
        if not isinstance(subject, str):
            raise _bad_token("its subject is not a text")
        said = claims.get("email_verified")  # some say it in words; 1 equals True, and says nothing
        verified = (said is True or said == "true") and isinstance(email, str)
        return Person(subject=subject, email=str(email) if verified else "")

    def _token_request(self, begun: Begun, code: str) -> tuple[dict[str, str], str]:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        body = prepare_token_request(
            "authorization_code", redirect_uri=begun.redirect, code=code, code_verifier=begun.verifier
        )
        method = "client_secret_basic" if self._settings.client_secret else "none"
        client = ClientAuth(self._settings.client_id, self._settings.client_secret, method)
        _, headers, body = client.prepare("POST", "", headers, body)
        return headers, str(body)

    def _place(self, name: str, now: float) -> str:
        """Return one of the addresses that the provider says of itself."""
        with self._lock:
            known, asked = self._known
            if now - asked >= _FRESH:
                issuer = self._settings.issuer
                known = self._ask("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
                if known.get("issuer") != issuer:
                    raise _broken("it calls itself by another address")
                self._known = (known, now)
        place = known.get(name)
        if not isinstance(place, str) or not self._settings.may_ask(place):
            raise _broken(f"it has no {name} with https")
        return place

    def _ask(self, verb: str, url: str, sent: tuple[dict[str, str], str] | None = None) -> Any:
        headers, body = sent or ({}, "")
        asks = {"Accept": "application/json", **headers}
        try:
            status, content = call(verb, url, body.encode(), asks, inside=True, largest=_LARGEST)
            said = json.loads(content)
        except (OSError, ValueError, RecursionError) as error:
            raise _broken(type(error).__name__) from error
        if not isinstance(said, dict) or status != 200:
            why = said.get("error") if isinstance(said, dict) else None
            raise _broken(f"status {status}{f' {str(why)[:100]}' if why else ''}")
        return said


def _usable(keys: object) -> KeySet:
    """Return the keys that can be read: a set may have kinds that nobody here knows (RFC 7517, section 5)."""
    usable = []
    for key in keys if isinstance(keys, list) else []:
        with contextlib.suppress(JoseError, ValueError, TypeError, KeyError):
            usable.append(import_key(key))
    return KeySet(usable)


def _broken(why: str) -> Refusal:
    return Refusal("provider", f"The place where you sign in did not answer as it must: {why}.", 502)


def _bad_token(why: str) -> Refusal:
    return Refusal("token", f"Your sign-in is not accepted ({why[:200]}). Sign in again.", 401)
