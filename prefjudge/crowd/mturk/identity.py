"""Who answers at a marketplace's address: one of ours gives its id, any other is known by its address."""

from urllib.parse import urlsplit

from prefjudge.crowd.protocol import Identity
from prefjudge.errors import CrowdError


def ask_identity(endpoint: str) -> Identity:
    """Return the id of a marketplace of ours and whether it is a sandbox; of another one, its address.

    The API itself has no call that tells either.

    Raises
    ------
    CrowdError
        Nothing answers, or not for now: who it is cannot be told from that.
    """
    import urllib3

    url = f"{endpoint.rstrip('/')}/healthz"
    try:
        reply = urllib3.PoolManager(retries=2, timeout=10.0).request("GET", url)
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        raise _silent(endpoint) from error
    if reply.status >= 500:  # a web server whose marketplace is down must not pass for another marketplace
        raise _silent(endpoint)
    try:
        said = reply.json()
        return Identity(name=str(said["marketplace"]), play_money=bool(said["sandbox"]))
    except (ValueError, KeyError, TypeError):
        parts = urlsplit(endpoint)
        return Identity(name=f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/"), play_money=None)


def refuse_closed(endpoint: str) -> None:
    """Say plainly that Amazon Mechanical Turk has closed."""
    if (urlsplit(endpoint).hostname or "").endswith(".amazonaws.com"):
        raise CrowdError(
            f"{endpoint} is Amazon Mechanical Turk, which AWS announced to close for good on "
            "30 September 2026",
            "Run a marketplace of your own (prefjudge serve), and point the target at it: same API.",
        )


def _silent(endpoint: str) -> CrowdError:
    return CrowdError(
        f"no marketplace answers at {endpoint}",
        "Check that `prefjudge serve` is running there, and the address in study.toml.",
    )
