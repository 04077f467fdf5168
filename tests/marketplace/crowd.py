"""Many simulated workers at once, in few threads."""

import threading
from itertools import cycle

import urllib3


class Swarm:
    """Signs workers in at several servers by turns; each takes HITs until none is left."""

    def __init__(self, endpoints: list[str], invites: list[str], threads: int = 16) -> None:
        self._http = urllib3.PoolManager(num_pools=len(endpoints), maxsize=threads, retries=False)
        self._endpoints = cycle(endpoints)
        self._threads = threads
        self._waiting = list(zip(cycle(endpoints), invites, strict=False))
        self._lock = threading.Lock()
        self.errors: list[str] = []

    def work(self, group: str) -> list[str]:
        """Let everybody work until nothing is left; return the ids of the assignments submitted."""
        queue = [(endpoint, self._sign_in(endpoint, invite)) for endpoint, invite in self._waiting]
        done: list[str] = []

        def labour() -> None:
            while True:
                with self._lock:
                    if not queue:
                        return
                    endpoint, headers = queue.pop(0)
                ident = self._one(endpoint, headers, group)
                if ident:
                    with self._lock:
                        done.append(ident)
                        queue.append((endpoint, headers))

        threads = [threading.Thread(target=labour) for _ in range(self._threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not self.errors, self.errors[:3]
        return done

    def _sign_in(self, endpoint: str, invite: str) -> dict[str, str]:
        answer = self._post(f"{endpoint}/signin", {"Accept": "application/json"}, {"invite": invite})
        assert answer.status == 200, answer.data
        cookie = answer.headers["set-cookie"].split(";")[0]
        return {"Accept": "application/json", "Cookie": cookie, "X-CSRF-Token": answer.json()["csrf"]}

    def _one(self, endpoint: str, headers: dict[str, str], group: str) -> str | None:
        taken = self._post(f"{endpoint}/groups/{group}/accept", headers)
        if taken.status == 409 and taken.json()["code"] == "none_left":
            return None
        if taken.status != 201:
            self.errors.append(f"accept: {taken.status} {taken.data[:200]!r}")
            return None
        ident = str(taken.json()["assignment_id"])
        given = {"assignmentId": ident, "choice": "a"}
        answer = self._post(f"{endpoint}/mturk/externalSubmit", headers, given)
        if answer.status != 200:
            self.errors.append(f"submit: {answer.status} {answer.data[:200]!r}")
            return None
        return ident

    def _post(self, url: str, headers: dict[str, str], fields: dict[str, str] | None = None):
        return self._http.request("POST", url, fields=fields or {}, encode_multipart=False, headers=headers)
