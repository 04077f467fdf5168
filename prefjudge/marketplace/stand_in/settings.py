"""Where a marketplace stands in for Amazon's hosts, and for which of them."""

from dataclasses import dataclass
from pathlib import Path

SANDBOX_HOST = "mturk-requester-sandbox.us-east-1.amazonaws.com"
LIVE_HOST = "mturk-requester.us-east-1.amazonaws.com"
TOPICS_HOST = "sns.us-east-1.amazonaws.com"
"""Of the service that has notifications sent on to a requester's programs."""
CERTIFICATE, KEY = "authority.pem", "authority.key"


@dataclass(frozen=True, slots=True, kw_only=True)
class StandInSettings:
    """What a stand-in needs.

    Parameters
    ----------
    folder
        Where the certificate authority lies.
    port
        Where the proxy listens; 0 takes a free port.
    sandbox
        Play money answers for Amazon's sandbox, and never for the host that spends real money.
    """

    folder: Path
    port: int = 0
    sandbox: bool = True

    @property
    def host(self) -> str:
        """The MTurk host of Amazon that is stood in for."""
        return SANDBOX_HOST if self.sandbox else LIVE_HOST

    @property
    def hosts(self) -> tuple[str, ...]:
        """All hosts of Amazon that are stood in for."""
        return self.host, TOPICS_HOST
