"""Tokens in a panel's links: who comes, signed by the panel (a JWT, as Prolific's secured links have it)."""

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from prefjudge.marketplace.errors import Refusal, invalid
from prefjudge.marketplace.people.panels import bad_link

if TYPE_CHECKING:
    from jwt import PyJWK, PyJWKClient
    from jwt.types import Options

NAME = "prolific_token"
"""The parameter of a link, and without its ending the claim that holds the link's other parameters."""
_CLAIM = "prolific"
_LOG = logging.getLogger("prefjudge.marketplace.panels")
_DAY, _MINUTE = 86_400, 60
_UNCHECKED: "Options" = {
    "require": ["exp", "aud", "sub"],
    "verify_exp": False,
    "verify_aud": False,
    "verify_iat": False,
    "verify_nbf": False,
}
"""The time is the marketplace's own, and the audience an address: :func:`_checked` looks at both."""
_CLOCKS = 30.0
"""Seconds by which two machines' clocks may differ."""


@dataclass(frozen=True, slots=True)
class PanelTokens:
    """Reads tokens. A panel's public keys are fetched once a day; for one that is not known, once a minute.

    Anybody may send a token that names a key, so that more would let strangers keep the panel's server busy.
    """

    threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(4, thread_name_prefix="keys")
    )
    """Where to call :meth:`read`: on others passwords are checked, and must not wait for a panel's server."""
    _known: "dict[str, tuple[dict[str, PyJWK], float]]" = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, keys: str, token: str, address: str, now: float) -> dict[str, str]:
        """Return the parameters of a link that its token signs; ``session`` is the token's own subject.

        It may fetch keys, and so wait: not for an event loop.

        Parameters
        ----------
        keys : str
            The address of the panel's public keys.
        token : str
            What the link holds.
        address : str
            The address of the link, without its parameters, that the token must be for.
        now : float
            The time, in epoch seconds.

        Raises
        ------
        Refusal
            ``bad_link``; ``late``: it was valid for another moment; ``keys``: the keys cannot be had.
        """
        import jwt

        try:
            kid = str(jwt.get_unverified_header(token).get("kid"))
            known = self._keys(jwt.PyJWKClient(keys, cache_jwk_set=False, timeout=5), kid, now)
            if kid not in known:
                raise bad_link()
            claims = jwt.decode(token, known[kid], algorithms=["RS256"], options=_UNCHECKED)
        except jwt.PyJWTError as error:
            raise bad_link() from error
        return _checked(claims, address, now)

    def _keys(self, client: "PyJWKClient", kid: str, now: float) -> "dict[str, PyJWK]":
        """Return the panel's keys by their ids."""
        with self._lock:
            known, asked = self._known.get(client.uri, ({}, float("-inf")))
            if now - asked >= (_DAY if kid in known else _MINUTE):
                self._known[client.uri] = (known, now)  # whatever comes of it: not again for a while
                try:
                    known = {str(key.key_id): key for key in client.get_signing_keys()}
                except Exception as error:
                    # the library's own, for whatever the network or the answer has; yesterday's keys may do
                    _LOG.warning("the keys at %s cannot be had: %s", client.uri, error)
                self._known[client.uri] = (known, now)
        if not known:
            raise Refusal("keys", "Your panel cannot be asked at the moment. Try again in a minute.", 503)
        return known


def need_library(keys: str) -> None:
    """Refuse a panel with keys where tokens cannot be read.

    Raises
    ------
    RequestError
        A library is missing.
    """
    if keys and not (find_spec("jwt") and find_spec("cryptography")):
        raise invalid(
            "keys", "links with a token need PyJWT here; install it: pip install 'prefjudge[panels]'"
        )


def _checked(claims: Mapping[str, Any], address: str, now: float) -> dict[str, str]:
    told, session, until = claims.get(_CLAIM), claims["sub"], claims["exp"]
    if not isinstance(told, Mapping) or not isinstance(session, str) or not isinstance(until, (int, float)):
        raise bad_link()
    if until + _CLOCKS < now:
        raise Refusal(
            "late", "This link was valid for two minutes. Open the study from your panel again.", 410
        )
    if not any(_same_place(str(one), address) for one in _listed(claims["aud"])):
        raise bad_link()
    return {**{str(name): str(value) for name, value in told.items()}, "session": session}


def _listed(audience: object) -> list[object]:
    return audience if isinstance(audience, list) else [audience]


def _same_place(audience: str, address: str) -> bool:
    try:
        there, here = urlsplit(audience), urlsplit(address)
    except ValueError:
        return False
    return (there.netloc.lower(), there.path) == (here.netloc.lower(), here.path)
