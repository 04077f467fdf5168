"""Which OpenID Connect provider is asked, as whom, and who administers by its word."""

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from urllib.parse import urlsplit

from prefjudge.errors import ConfigError

_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSettings:
    """How people sign in at a provider.

    Parameters
    ----------
    issuer : str
        The provider's address, exactly as it writes it.
    client_id : str
        As whom this marketplace is registered there.
    client_secret : str
        What proves it; empty for a public client.
    owners, assistants : frozenset of str
        Who may sign in, and as what: e-mail addresses in lower case, which the provider must have verified,
        or the provider's own ids (``sub``), those with an @ after ``sub:``.
    """

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    owners: frozenset[str] = frozenset()
    assistants: frozenset[str] = frozenset()

    def listed(self, subject: str, email: str) -> str | None:
        """Return as what a person is listed: the id, which nobody else gets, before the address.

        What has an @ in the lists is an address: some providers let people choose their id, and another's
        address may be chosen.
        """
        names = [f"sub:{subject}"] if "@" in subject else [f"sub:{subject}", subject]
        names += [_same_address(email)] if "@" in email else []
        return next((one for one in names if one in self.owners | self.assistants), None)

    def may_ask(self, url: str) -> bool:
        """Tell whether secrets may travel to an address: over TLS, or in clear between parts of this machine.

        Only its own provider may name those: one elsewhere could have other services of this machine asked.
        """
        try:
            there, issuer = urlsplit(url), urlsplit(self.issuer)
        except ValueError:  # a bracket is open
            return False
        if there.scheme == "http":
            return issuer.scheme == "http" and there.hostname in _LOOPBACK
        return there.scheme == "https" and bool(there.hostname)


def read_oidc(
    issuer: str | None, client_id: str | None, secret_file: str | Path | None, owners: str, assistants: str
) -> OidcSettings | None:
    """Return the settings that the options of ``serve`` say; None where they say nothing.

    Raises
    ------
    ConfigError
        Something is missing or cannot be, or the extra is not installed.
    """
    if not issuer:
        if client_id or secret_file or owners or assistants:
            raise ConfigError(
                "sign-in by OpenID Connect has no provider", "Give its address, too: --oidc-issuer https://…"
            )
        return None
    if not client_id:
        raise ConfigError(
            "sign-in by OpenID Connect has no client",
            f"Register this marketplace at {issuer}, and give the id that it gets: --oidc-client-id.",
        )
    both = _names(owners) & _names(assistants)
    if both:
        raise ConfigError(f"{min(both)} is listed as owner and as assistant", "List each person once.")
    settings = OidcSettings(
        issuer=issuer,
        client_id=client_id,
        client_secret=_secret(Path(secret_file)) if secret_file else "",
        owners=_names(owners),
        assistants=_names(assistants),
    )
    _check(settings)
    return settings


def _check(settings: OidcSettings) -> None:
    if not settings.may_ask(settings.issuer) or "?" in settings.issuer or "#" in settings.issuer:
        raise ConfigError(
            f"{settings.issuer} cannot be an OpenID Connect provider",
            "Give its https address, as its own pages write it.",
        )
    if not settings.owners | settings.assistants:
        raise ConfigError(
            "nobody may sign in by OpenID Connect",
            "List who may by --oidc-owners and --oidc-assistants: e-mail addresses or the provider's ids.",
        )
    if not (find_spec("authlib") and find_spec("joserfc")):
        raise ConfigError(
            "sign-in by OpenID Connect needs Authlib",
            "Install it with the extra: pip install 'prefjudge[oidc]'",
        )


def _names(listed: str) -> frozenset[str]:
    """Return the people of a list; the case of an e-mail address means nothing, and that of an id does."""
    names = (one.strip() for one in listed.split(","))
    return frozenset(
        _same_address(one) if "@" in one and not one.startswith("sub:") else one for one in names if one
    )


def _same_address(email: str) -> str:
    """Return an e-mail address with ASCII's letters in lower case.

    No others: lower case makes a k of the Kelvin sign, which another person's address may have.
    """
    return email.translate(_LOWER)


def _secret(path: Path) -> str:
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ConfigError(
            f"the file of the client's secret {path} cannot be read: {reason}",
            "Write the secret into it that the provider shows.",
        ) from error
    if not (secret.isascii() and secret.isprintable() and secret):
        raise ConfigError(
            f"the client's secret in {path} is empty, or has characters other than ASCII's visible ones",
            "Write the secret into it that the provider shows.",
        )
    return secret
