"""Workers' own words without what may say who they are, for pages and files that others read."""

import re
from collections.abc import Iterable

_ADDRESS = re.compile(r"[^\s@<>]+@[^\s@<>]+\.\w+|https?://\S+|www\.\S+")
_WORD = re.compile(r"[\w.-]*\w")
REMOVED = "[removed]"


class PrivateWords:
    """Takes worker ids and addresses out of texts."""

    def __init__(self, workers: Iterable[str]) -> None:
        self._known = {worker.lower() for worker in workers if len(worker) > 3}

    def without_names(self, text: str) -> str:
        """Return a text without ids of workers and without addresses."""
        text = _ADDRESS.sub(REMOVED, text)
        # Words are looked up: with thousands of workers, to search for each in each comment takes minutes.
        return _WORD.sub(lambda found: REMOVED if found[0].lower() in self._known else found[0], text)
