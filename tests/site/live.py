"""A running marketplace for tests in a browser, a requester at its API, and workers invited to it."""

from typing import Any

from prefjudge.crowd.mturk.questions import write_question
from prefjudge.crowd.tasks import Page
from prefjudge.marketplace.server import start


def question_of(html: str) -> str:
    """The Question XML of a page."""
    return write_question(Page(html=html))


class Marketplace:
    """A running marketplace, a requester at its API, and workers invited to it."""

    def __init__(self, folder: Any, sandbox: bool = True) -> None:
        import boto3
        from botocore import UNSIGNED
        from botocore.config import Config

        self.posted: list[str] = []
        self.server = start(f"sqlite:///{folder}/store.db", sandbox=sandbox)
        config = Config(signature_version=UNSIGNED, retries={"total_max_attempts": 1})
        self.requester = boto3.client(
            "mturk", endpoint_url=self.server.endpoint, region_name="us-east-1", config=config
        )
        if not sandbox:
            self.requester.get_account_balance()
            (lab,) = self.admin("/admin/overview")["requesters"]
            self.admin("/admin/funds", {"requester_id": lab["requester_id"], "amount": "99.00"})

    def post(self, question: str, **changes: Any) -> str:
        fields = {
            "Title": "Choose the better passage", "Description": "Four comparisons.", "Reward": "2.00",
            "AssignmentDurationInSeconds": 3600, "LifetimeInSeconds": 86400, "MaxAssignments": 2,
        }  # fmt: skip
        hit = self.requester.create_hit(Question=question, **{**fields, **changes})["HIT"]
        self.posted.append(hit["HITId"])
        return self.posted[-1]

    def close(self) -> None:
        while self.posted:
            self.requester.update_expiration_for_hit(HITId=self.posted.pop(), ExpireAt=0)

    def admin(self, path: str, values: dict[str, Any] | None = None) -> dict[str, Any]:
        import json
        from urllib.request import Request, urlopen

        headers = {
            "Authorization": f"Bearer {self.server.admin_token}", "Content-Type": "application/json",
            "Accept": "application/json",
        }  # fmt: skip
        sent = None if values is None else json.dumps(values).encode()
        request = Request(self.server.endpoint + path, sent, headers)
        with urlopen(request) as answer:
            return dict(json.load(answer))

    def invitation(self, name: str) -> str:
        return str(self.admin("/admin/workers", {"name": name})["invite_url"])

    def submitted(self, hit_id: str) -> list[dict[str, Any]]:
        return list(self.requester.list_assignments_for_hit(HITId=hit_id)["Assignments"])


def answers_of(assignment: dict[str, Any]) -> dict[str, str]:
    from defusedxml.ElementTree import fromstring

    root = fromstring(assignment["Answer"])
    return {answer[0].text: answer[1].text or "" for answer in root}


def thanked(page: Any) -> None:
    """Wait for the end; a draft that was still on its way may have come too late, which does no harm."""
    page.forgiven.append("409 (Conflict)")
    page.wait_for_url("**/done")


def signed_in(open_page: Any, marketplace: Marketplace, name: str, **options: Any) -> Any:
    page = open_page(**options)
    page.goto(marketplace.invitation(name))
    page.click("text=Begin")
    page.wait_for_url("**/hits")
    return page
