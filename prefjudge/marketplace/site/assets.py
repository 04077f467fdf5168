"""The files that the pages load: one stylesheet, an icon, and small scripts."""

from functools import lru_cache
from pathlib import Path

from prefjudge.marketplace.wording import Wording

_USUAL = Wording()
_FOLDER = Path(__file__).parent / "assets"
_MEDIA = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


@lru_cache(maxsize=1)
def _assets() -> dict[str, tuple[bytes, str]]:
    return {
        path.name: (path.read_bytes(), _MEDIA[path.suffix])
        for path in _FOLDER.iterdir()
        if path.suffix in _MEDIA
    }


def asset(name: str, wording: Wording = _USUAL) -> tuple[bytes, str] | None:
    """Return a file's content and media type, or None where there is no such file."""
    found = _assets().get(name)
    if found is None or not name.endswith(".js"):
        return found
    return wording.script(found[0].decode()).encode(), found[1]
