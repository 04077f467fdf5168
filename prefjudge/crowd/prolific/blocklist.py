"""Whom Prolific sends no more: a participant group of the workspace, which the study's filters name."""

from dataclasses import dataclass

from prefjudge.crowd.prolific.client import Client
from prefjudge.crowd.prolific.site import Site

GROUPS = "/api/v1/participant-groups/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocklist:
    """The barred participants of one marketplace.

    Attributes
    ----------
    client : Client
        Prolific.
    site : Site
        The worker site, which knows what participants its workers are.
    workspace : str
        Whose group it is.
    name : str
        Its name, by which it is found again, and no other group has.
    """

    client: Client
    site: Site
    workspace: str
    name: str

    @property
    def made(self) -> dict[str, object]:
        """The group, as Prolific's API takes it."""
        return {"name": self.name, "workspace_id": self.workspace}

    def group(self) -> str:
        """Return the group's id; make it if there is none."""
        for group in self.client.listed(self.client.get(GROUPS, workspace_id=self.workspace)):
            if group.get("name") == self.name and not group.get("is_deleted"):
                return str(group["id"])
        # Not repeated where the reply is lost: the next call finds it by its name.
        made = self.client.call("POST", GROUPS, self.made, again=False)
        return str(made["id"])

    def add(self, worker_id: str) -> None:
        """Put a worker in, which Prolific heeds at once; a repeat is harmless."""
        self._change("POST", worker_id)

    def remove(self, worker_id: str) -> None:
        """Take a worker out; a repeat is harmless."""
        self._change("DELETE", worker_id)

    def _change(self, method: str, worker_id: str) -> None:
        people = {visit.participant for visit in self.site.visits() if visit.worker_id == worker_id}
        if people:
            path = f"{GROUPS}{self.group()}/participants/"
            self.client.call(method, path, {"participant_ids": sorted(people)})
