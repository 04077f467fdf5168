"""The settings of a marketplace that is served: its addresses, the admin's token, its words."""

from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from prefjudge.errors import ConfigError
from prefjudge.marketplace.wording import Wording

ON_THIS_MACHINE = "127.0.0.1"
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a marketplace is served.

    Parameters
    ----------
    host, port
        Where to listen; port 0 takes a free one.
    public_url
        The address by which workers and requesters reach it through a web server that adds TLS.
    plain_http
        Allow a public address without TLS.
    proxy
        The addresses and networks, comma-separated, of web servers in front: they are believed about who
        calls.
    admin_token
        What the admin signs in with; by default it is made from the store's secret.
    admin_header
        The header by which a web server in front says who administers, for the log; empty: none is believed.
    wording
        What stands for "HIT" on the worker site.
    language
        The site's language until a worker chooses another; empty: the browser's.
    """

    host: str = "127.0.0.1"
    port: int = 0
    public_url: str | None = None
    plain_http: bool = False
    proxy: str = ON_THIS_MACHINE
    admin_token: str | None = None
    admin_header: str = ""
    wording: Wording = field(default_factory=Wording)
    language: str = ""

    def check(self) -> None:
        """Refuse to listen to the world in clear text.

        Raises
        ------
        ConfigError
            The address is public, without a TLS address in front or ``plain_http``; or ``proxy`` is not an
            address.
        """
        try:
            self.is_proxy("127.0.0.1")
        except ValueError as error:
            raise ConfigError(
                f"the proxy is not an address: {error}",
                "Give IP addresses or networks, such as 172.16.0.0/12.",
            ) from error
        if not (self.is_loopback or self.secure_cookies or self.plain_http):
            raise ConfigError(
                f"the marketplace would listen on {self.host} without TLS",
                "Put a web server with TLS in front and give its address, or allow plain HTTP.",
            )

    @property
    def is_loopback(self) -> bool:
        """Tell whether only this machine can connect."""
        return self.host in LOOPBACK

    def is_proxy(self, address: str) -> bool:
        """Tell whether a web server in front has this address."""
        networks = [ip_network(one.strip()) for one in self.proxy.split(",")]
        try:
            return any(ip_address(address) in network for network in networks)
        except ValueError:
            return False

    @property
    def is_private(self) -> bool:
        """Tell whether only this machine can call, and no web server forwards calls."""
        return self.is_loopback and not self.public_url

    @property
    def secure_cookies(self) -> bool:
        """Tell whether cookies travel over TLS only."""
        return urlsplit(self.public_url or "").scheme == "https"

    def knows_host(self, name: str) -> bool:
        """Tell whether a request may call by this host name, without its port.

        Against DNS rebinding: a page elsewhere could let its own name resolve to this machine, and so reach
        a server that listens for this machine only. A public address may have names that nobody configured.
        """
        if name in LOOPBACK or name == self.host:
            return True
        if self.public_url:
            return name == urlsplit(self.public_url).hostname
        return not self.is_loopback
