"""Webhooks: the addresses to which requesters have their notifications posted."""

import ipaddress
from urllib.parse import urlsplit

from prefjudge.marketplace import calls

_INSIDE_NAMES = ("localhost", "127.0.0.1", "::1")


def refusal(address: str, *, inside: bool) -> str:
    """Return what is wrong with an address, or nothing.

    ``inside`` allows addresses of this machine and its network, and clear text to this machine. It is for a
    marketplace that only this machine can reach: any other would let strangers send requests into its
    network (server-side request forgery).
    """
    try:
        hook = urlsplit(address)
        host, _ = hook.hostname or "", hook.port
        host.encode("idna")
    except ValueError:
        return "is not an address"
    if address.startswith("arn:") or host.endswith((".amazonaws.com", ".amazonaws.com.cn")):
        return (
            "names a queue or topic of AWS, which this marketplace cannot reach: give an https address of"
            " your own, to which it posts the same JSON, signed, or a topic that was made here"
        )
    clear = hook.scheme == "http" and host in _INSIDE_NAMES and inside
    if not host or not (hook.scheme == "https" or clear):
        return "is not an https address: this marketplace posts signed notifications to one"
    if "@" in hook.netloc or not address.isascii() or not address.isprintable() or " " in address:
        return "has a user, a space or another character that is not allowed in it"
    if not inside and (host in _INSIDE_NAMES or (_is_literal(host) and not calls.is_outside(host))):
        return "is inside this marketplace's network"
    return ""


def post(address: str, body: bytes, headers: dict[str, str], *, inside: bool) -> int:
    """Post to an address and return the HTTP status; nothing else of the reply is read.

    Raises
    ------
    OSError
        Nobody answers in time, or not by HTTP, or the name resolves to an address inside.
    """
    status, _ = calls.call("POST", address, body, headers, inside=inside)
    return status


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
