"""What every request may need of the running marketplace."""

import asyncio
from dataclasses import dataclass, field

from starlette.requests import Request

from prefjudge.marketplace.api.faults import FaultInjector
from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.settings import Settings
from prefjudge.marketplace.store.store import Executor, Marketplace
from prefjudge.marketplace.web.metrics import Metrics
from prefjudge.marketplace.web.panel_tokens import PanelTokens
from prefjudge.marketplace.web.rate_limit import RateLimit
from prefjudge.marketplace.web.turns import Turns
from prefjudge.version import __version__

MAX_BODY = 1_000_000
BODY_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AppState:
    """The running marketplace, as its routes see it."""

    marketplace: Marketplace
    executor: Executor
    settings: Settings
    admin_token: str
    faults: FaultInjector = field(default_factory=FaultInjector)
    metrics: Metrics = field(default_factory=Metrics)
    rate_limit: RateLimit = field(default_factory=RateLimit)
    turns: Turns = field(default_factory=Turns)
    panel_tokens: PanelTokens = field(default_factory=PanelTokens)

    @property
    def about(self) -> dict[str, object]:
        """Say which marketplace this is."""
        return {
            "name": "prefjudge marketplace",
            "sandbox": self.marketplace.sandbox,
            "version": __version__,
        }

    def origin(self, request: Request) -> str:
        """Return the address by which this client reaches the marketplace."""
        return self.settings.public_url or f"{request.url.scheme}://{request.headers.get('host', '')}"

    def cookie(self, purpose: str) -> str:
        """Name a cookie so that two marketplaces on one host keep theirs apart."""
        return f"prefjudge_{purpose}_{self.marketplace.ident[-8:].lower()}"


async def read_body(request: Request, limit: int = MAX_BODY) -> bytes:
    """Read a request's body, up to a limit; a second call returns the same.

    Raises
    ------
    Refusal
        ``too_large``, ``too_slow``.
    """
    if not hasattr(request.state, "body"):
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > limit:
                        raise Refusal("too_large", f"The request is longer than {limit} bytes.", 413)
        except TimeoutError:
            raise Refusal("too_slow", "The request took too long to arrive.", 408) from None
        request.state.body = bytes(body)
    return bytes(request.state.body)
