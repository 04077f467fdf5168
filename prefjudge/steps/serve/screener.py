"""Collects a study's work while its marketplace is served."""

import logging
import threading
import time
from pathlib import Path

from prefjudge.errors import PrefjudgeError
from prefjudge.fieldwork.watching import Watch
from prefjudge.steps.collect import collect
from prefjudge.study.progress import count_hits
from prefjudge.study.study import Study
from prefjudge.study.targets import SANDBOX

_LOG = logging.getLogger("prefjudge.marketplace.study")


class Screener(threading.Thread):
    """Collects a study's work as it is submitted, for as long as its marketplace is served.

    It is killed with the process: `collect` may be killed at any time, and continues where it stopped.
    """

    _LONGEST = 60.0

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self._folder = folder
        self._over = threading.Event()
        self._said = ""

    def run(self) -> None:
        """Collect at once, then whenever something was submitted, and once a minute for what was not told."""
        study = Study(self._folder)
        watch = Watch(study, SANDBOX)
        looked = float("-inf")
        while not self._over.is_set():
            if watch.wait(1.0) or time.monotonic() - looked >= self._LONGEST:
                looked = time.monotonic()
                self._look(study)

    def _look(self, study: Study) -> None:
        try:
            with study.transaction(write=False) as db:
                published = count_hits(db, SANDBOX)
            if published:
                collect(study)
            self._said = ""
        except PrefjudgeError as error:  # such as a budget that is used up; said once, and tried again
            if error.message != self._said:
                _LOG.warning("collecting: %s", error.message)
            self._said = error.message

    def stop(self) -> None:
        """End after the look under way."""
        self._over.set()
        if self.is_alive():
            self.join(timeout=10)
