"""A certificate authority of one's own, which can vouch for Amazon's MTurk and SNS hosts and nothing else.

Its key never leaves the folder. Whoever trusts its certificate trusts it for these names only: they are
constraints in the certificate itself (RFC 5280, section 4.2.1.10), which TLS libraries hold it to.
"""

import datetime as dt
import os
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from prefjudge.errors import PrefjudgeError
from prefjudge.marketplace.stand_in.settings import CERTIFICATE, KEY, LIVE_HOST, SANDBOX_HOST, TOPICS_HOST

_VALID = dt.timedelta(days=365)
_RENEWED = dt.timedelta(days=30)
"""Before its end; a server that starts has at least as long to run."""
_NAMES = [x509.DNSName(host) for host in (SANDBOX_HOST, LIVE_HOST, TOPICS_HOST)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """A certificate authority, and where its certificate lies."""

    certificate_file: Path
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def server_context(self, host: str) -> ssl.SSLContext:
        """Return what a server needs to answer as ``host``: its key is new each time, and kept nowhere."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _unsigned(host, key.public_key(), issuer=self.certificate.subject)
            .not_valid_after(self.certificate.not_valid_after_utc)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False
            )
            .sign(self.key, hashes.SHA256())
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:  # ssl reads files only
            path = Path(folder) / "server.pem"
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(_pem(key) + certificate.public_bytes(serialization.Encoding.PEM))
            context.load_cert_chain(path)
        return context


def open_authority(folder: Path) -> Authority:
    """Return the authority that lies in a folder; it is made, or renewed, where need be.

    Raises
    ------
    PrefjudgeError
        The folder cannot be written, or what lies there is not an authority.
    """
    path, key_path = folder / CERTIFICATE, folder / KEY
    try:
        if path.exists() and key_path.exists():
            known = _read(path, key_path)
            lasts = known.certificate.not_valid_after_utc - _now() > _RENEWED
            if lasts and _permitted(known.certificate) == _NAMES:
                return known
        return _make(folder)
    except (OSError, ValueError, TypeError) as error:
        raise PrefjudgeError(
            f"{folder} does not hold a usable certificate authority: {error}",
            "Delete it; the next start makes a new one, which programs then have to trust.",
        ) from error


def _permitted(certificate: x509.Certificate) -> list[x509.GeneralName]:
    """Return the names that an authority may vouch for; an older prefjudge knew fewer."""
    return list(
        certificate.extensions.get_extension_for_class(x509.NameConstraints).value.permitted_subtrees or ()
    )


def _make(folder: Path) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "prefjudge stand-in for Mechanical Turk")])
    certificate = (
        _unsigned(name, key.public_key(), issuer=name)
        .not_valid_after(_now() + _VALID)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.NameConstraints(permitted_subtrees=_NAMES, excluded_subtrees=None), critical=True)
        .add_extension(_signs_certificates(), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(folder / KEY, _pem(key), 0o600)
    path = folder / CERTIFICATE
    _write(path, certificate.public_bytes(serialization.Encoding.PEM), 0o644)
    return Authority(certificate_file=path, certificate=certificate, key=key)


def _read(path: Path, key_path: Path) -> Authority:
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    key = serialization.load_pem_private_key(key_path.read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        raise ValueError("the key is not the certificate's")
    return Authority(certificate_file=path, certificate=certificate, key=key)


def _unsigned(
    subject: str | x509.Name, public: ec.EllipticCurvePublicKey, *, issuer: x509.Name
) -> x509.CertificateBuilder:
    if isinstance(subject, str):
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_now() - dt.timedelta(hours=1))  # clocks of one machine may be set back
    )


def _signs_certificates() -> x509.KeyUsage:
    unused = dict.fromkeys(
        ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
        False,
    )
    return x509.KeyUsage(
        key_cert_sign=True, crl_sign=False, encipher_only=False, decipher_only=False, **unused
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write(path: Path, data: bytes, mode: int) -> None:
    temporary = path.with_name(f".{path.name}.{os.urandom(6).hex()}.part")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
    temporary.replace(path)


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
