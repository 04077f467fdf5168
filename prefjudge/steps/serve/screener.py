"""Collects a study's work while its marketplace is served."""

import logging
import threading
import time
from pathlib import Path

from prefjudge.errors import PrefjudgeError
from prefjudge.field.crowd import Watch
from prefjudge.steps.collect import collect
from prefjudge.study.progress import count_hits
from prefjudge.study.store import LIVE, Study, find_target

_LOG = logging.getLogger("prefjudge.marketplace.study")


class Screener(threading.Thread):
    """Collects a study's work as it is submitted, for as long as its marketplace is served.

    It is killed with the process: `collect` may be killed at any time, and continues where it stopped.
    """

    _LONGEST, _PAUSE = 60.0, 5.0

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self._folder = folder
        self._over = threading.Event()
        self._said = ""

    def run(self) -> None:
        """Collect at once, then whenever something was submitted, and once a minute for what was not told."""
        looked, target, watch = float("-inf"), "", None
        study = Study(self._folder)
        while not self._over.is_set():
            try:
                if target != (now := find_target(study)):  # at first, and where it went live meanwhile
                    study = Study(self._folder)  # whose config may be another one now
                    watch = Watch(study, now) if _is_here(study, now) else None
                    target = now
                if watch is None:
                    self._over.wait(1.0)
                elif watch.wait(1.0) or time.monotonic() - looked >= self._LONGEST:
                    looked = time.monotonic()
                    self._look(study, target)
            except PrefjudgeError as error:  # such as a budget that is used up, or a token that is not set
                self._tell(error)

    def _look(self, study: Study, target: str) -> None:
        with study.transaction(write=False) as db:
            published = count_hits(db, target)
        if published:
            collect(study, live=target == LIVE)
        self._said = ""

    def _tell(self, error: PrefjudgeError) -> None:
        """Say once what is wrong; it is tried again."""
        if error.message != self._said:
            _LOG.warning("collecting: %s", error.message)
        self._said = error.message
        self._over.wait(self._PAUSE)

    def stop(self) -> None:
        """End after the look under way."""
        self._over.set()
        if self.is_alive():
            self.join(timeout=10)


def _is_here(study: Study, target: str) -> bool:
    """Return whether the people of a target work at the marketplace that is served."""
    configured = study.config.target(target)
    return configured is not None and configured.is_own_marketplace and (target != LIVE or configured.live)
