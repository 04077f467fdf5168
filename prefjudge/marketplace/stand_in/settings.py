"""Where a marketplace stands in for Amazon's host, and for which of the two."""

from dataclasses import dataclass
from pathlib import Path

SANDBOX_HOST = "mturk-requester-sandbox.us-east-1.amazonaws.com"
LIVE_HOST = "mturk-requester.us-east-1.amazonaws.com"
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
        """The host of Amazon that is stood in for."""
        return SANDBOX_HOST if self.sandbox else LIVE_HOST
