"""Who answers at a marketplace's address: prefjudge's gives its id, any other is known by its address."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from prefjudge.crowd.protocol import Identity
from prefjudge.errors import CrowdError


def ask_identity(endpoint: str) -> Identity:
    """Return the id of prefjudge's marketplace and whether it is a sandbox; or another one's address.

    The API itself has no call for either.

    Raises
    ------
    CrowdError
        Nothing answers, or the server fails: this does not tell who it is.
    """
    said = _ask(endpoint)
    try:
        return Identity(name=str(said["marketplace"]), play_money=bool(said["sandbox"]))
    except KeyError:
        parts = urlsplit(endpoint)
        return Identity(name=f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/"), play_money=None)


def knows_comparator(endpoint: str, name: str) -> bool:
    """Return whether a marketplace says that it has a comparator of qualifications that the API lacks."""
    known = _ask(endpoint).get("comparators")
    return isinstance(known, list) and name in known


def _ask(endpoint: str) -> Mapping[str, object]:
    """Return what prefjudge's marketplace says of itself; nothing where another server answers."""
    import urllib3

    url = f"{endpoint.rstrip('/')}/healthz"
    try:
        reply = urllib3.PoolManager(retries=2, timeout=10.0).request("GET", url)
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        raise _silent(endpoint) from error
    if reply.status >= 500:  # a web server without its marketplace must not count as another marketplace
        raise _silent(endpoint)
    try:
        said = reply.json()
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def refuse_closed(endpoint: str) -> None:
    """Refuse an address of Amazon Mechanical Turk, which has closed."""
    if (urlsplit(endpoint).hostname or "").endswith(".amazonaws.com"):
        raise CrowdError(
            f"{endpoint} is Amazon Mechanical Turk, which AWS announced to close for good on "
            "30 September 2026",
            "Run a marketplace of your own with the same API (prefjudge serve), and give the target its url.",
        )


def _silent(endpoint: str) -> CrowdError:
    return CrowdError(
        f"no marketplace answers at {endpoint}",
        "Check that `prefjudge serve` is running there, and the address in study.toml.",
    )
