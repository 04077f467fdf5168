"""Participants: they take a place at Prolific, work at the worker site over HTTP, and go back with a code."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
import urllib3

from prefjudge.crowd.prolific import standin
from prefjudge.crowd.prolific.standin import Platform
from tests.crowd.prolific_words import Words
from tests.marketplace.people import Worker


def fresh(platform: Platform) -> Platform:
    """Start over with an account that nothing was done in; its calls are held against the API's document."""
    platform.__init__()  # type: ignore[misc]
    platform.check = Words()
    return platform


@pytest.fixture(scope="module")
def prolific() -> Iterator[tuple[Platform, str]]:
    with served() as running:
        yield running


@contextmanager
def served() -> Iterator[tuple[Platform, str]]:
    """Serve the stand-in, on a free port."""
    with standin.served() as (platform, url):
        yield fresh(platform), url


class Visitor(Worker):
    """Signed in by a panel's link, for one session."""

    def __init__(self, endpoint: str, link: str, participant: str, session: str, study: str = "s") -> None:
        self.endpoint, self.http, self.session = endpoint, urllib3.PoolManager(retries=False), session
        self.headers = {"Accept": "application/json"}
        path = urlsplit(link).path
        come = f"{path}?PROLIFIC_PID={participant}&STUDY_ID={study}&SESSION_ID={session}"
        answer = self.post(come)
        self.worker_id = answer["worker_id"]
        self.headers |= {"Cookie": self.cookie, "X-CSRF-Token": answer["csrf"]}


class Participant:
    """A person whom Prolific knows."""

    def __init__(self, platform: Platform, endpoint: str, pid: str) -> None:
        self.platform, self.endpoint, self.pid = platform, endpoint, pid

    def come(self) -> Visitor | None:
        """Take a place, and follow the study's link; None where no place is offered."""
        place = self.platform.arrive(self.pid)
        if place is None:
            return None
        link = self.platform.studies[place.study].made["external_study_url"]
        return Visitor(self.endpoint, link, self.pid, place.id, place.study)

    def finish(self, visitor: Visitor, shown: Mapping[str, Any]) -> str:
        """Go back with the code that the site shows; return the outcome."""
        self.platform.complete(visitor.session, shown["code"])
        return str(shown["outcome"])
