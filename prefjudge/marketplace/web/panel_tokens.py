"""Tokens in a panel's links: who comes, signed by the panel (a JWT, as Prolific's secured links have it)."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from prefjudge.marketplace.errors import Refusal, invalid
from prefjudge.marketplace.people.visits import bad_link

if TYPE_CHECKING:
    from jwt import PyJWKClient
    from jwt.types import Options

NAME = "prolific_token"
"""The parameter of a link, and without its ending the claim that holds the link's other parameters."""
_CLAIM = "prolific"
_DAY = 86_400
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
    """Reads tokens; each panel's public keys are fetched once a day, and for a key that is not known yet."""

    _clients: "dict[str, PyJWKClient]" = field(default_factory=dict)
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

        with self._lock:
            if keys not in self._clients:
                self._clients[keys] = jwt.PyJWKClient(keys, lifespan=_DAY, timeout=10)
        try:
            key = self._clients[keys].get_signing_key_from_jwt(token)
            claims = jwt.decode(token, key, algorithms=["RS256"], options=_UNCHECKED)
        except jwt.PyJWKClientConnectionError as error:
            raise Refusal(
                "keys", "Your panel cannot be asked at the moment. Try again in a minute.", 503
            ) from error
        except jwt.PyJWTError as error:
            raise bad_link() from error
        return _checked(claims, address, now)


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
    there, here = urlsplit(audience), urlsplit(address)
    return (there.netloc.lower(), there.path) == (here.netloc.lower(), here.path)
