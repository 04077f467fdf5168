"""Stands in for Amazon's hosts, for programs that name them in their code."""

from collections.abc import Callable
from pathlib import Path

from prefjudge.errors import PrefjudgeError
from prefjudge.marketplace.stand_in.proxy import Proxy
from prefjudge.marketplace.stand_in.settings import CERTIFICATE, KEY, StandInSettings

__all__ = ["StandInSettings", "prepare_stand_in", "remove_authority"]


def prepare_stand_in(settings: StandInSettings) -> Callable[[str], Proxy]:
    """Make ready to stand in for Amazon's hosts; return what starts to, before the marketplace at an address.

    The authority is made at the first start, and kept: programs that trust it need not be told again.

    Raises
    ------
    PrefjudgeError
        The extra is not installed, or the authority's folder is not usable; at the start, the port is taken.
    """
    try:
        from prefjudge.marketplace.stand_in.authority import open_authority
    except ImportError as error:
        raise PrefjudgeError(
            "the stand-in needs the cryptography package",
            "Install it with the extra: pip install 'prefjudge[stand-in]'",
        ) from error
    authority = open_authority(settings.folder)
    contexts = {host: authority.server_context(host) for host in settings.hosts}
    return lambda marketplace: Proxy(settings, contexts, marketplace, authority.certificate_file)


def remove_authority(folder: Path) -> bool:
    """Delete the certificate authority that lies in a folder, and return whether there was one."""
    files = [path for path in (folder / KEY, folder / CERTIFICATE) if path.exists()]
    for path in files:
        path.unlink()
    if files and not any(folder.iterdir()):
        folder.rmdir()
    return bool(files)
