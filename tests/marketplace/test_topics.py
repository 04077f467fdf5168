"""Topics of Amazon's Simple Notification Service, as boto3 speaks it through the stand-in."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from prefjudge.marketplace.notifications import topics
from prefjudge.marketplace.server import Server, start
from prefjudge.marketplace.settings import Settings
from prefjudge.marketplace.stand_in.settings import StandInSettings
from tests.marketplace.people import Admin, offer

pytest.importorskip("cryptography", reason="no cryptography, which the stand-in needs")


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("topics")
    settings = Settings(stand_in=StandInSettings(folder=folder / "stand-in"))
    with start(f"sqlite:///{folder}/market.db", settings=settings) as server:
        yield server


def client(market: Server, name: str, service: str = "sns", **more: Any) -> Any:
    """A requester's client of a service of Amazon's, led here; its own model reads what is answered."""
    key = Admin(market).call("POST", "/admin/requesters", {"name": name}, status=201)
    given = {"aws_access_key_id": key["access_key"], "aws_secret_access_key": key["secret_key"], **more}
    assert market.stand_in is not None
    if service == "mturk":
        given["endpoint_url"] = market.endpoint
    else:
        given["verify"] = str(market.stand_in.certificate_file)
    return boto3.client(
        service, region_name="us-east-1", **given,
        config=Config(proxies={"https": market.stand_in.address}, retries={"total_max_attempts": 1}),
    )  # fmt: skip


def code(call: Any, **given: Any) -> str:
    with pytest.raises(ClientError) as refused:
        call(**given)
    return str(refused.value.response["Error"]["Code"])


@pytest.fixture
def listener() -> Iterator[tuple[str, Queue[tuple[dict[str, str], dict[str, Any]]]]]:
    """An address of a requester's program, and what it hears."""
    heard: Queue[tuple[dict[str, str], dict[str, Any]]] = Queue()

    class Hears(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heard.put((dict(self.headers), json.loads(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Hears) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/listener", heard
        server.shutdown()


def test_a_program_hears_of_its_work_by_a_topic(market: Server, listener: Any) -> None:
    address, heard = listener
    sns, turk = client(market, "ann"), client(market, "ann", "mturk")
    topic = sns.create_topic(Name="study-1")["TopicArn"]
    assert topic.endswith(":study-1")
    assert sns.create_topic(Name="study-1")["TopicArn"] == topic
    asked = {"TopicArn": topic, "Protocol": "http", "Endpoint": address}
    made = sns.subscribe(**asked, ReturnSubscriptionArn=True)["SubscriptionArn"]
    assert (
        sns.get_subscription_attributes(SubscriptionArn=made)["Attributes"]["PendingConfirmation"] == "true"
    )
    headers, told = heard.get(timeout=30)
    assert (told["Type"], told["TopicArn"]) == ("SubscriptionConfirmation", topic)
    assert headers["x-amz-sns-message-type"] == "SubscriptionConfirmation"

    hit = offer(turk, MaxAssignments=2)
    settings = {
        "Destination": topic, "Transport": "SNS", "Version": "2014-08-15",
        "EventTypes": ["AssignmentSubmitted"],
    }  # fmt: skip
    turk.update_notification_settings(HITTypeId=hit["HITTypeId"], Notification=settings, Active=True)
    admin = Admin(market)
    admin.worker(name="early").do(hit)  # before it is confirmed: not told
    assert sns.confirm_subscription(TopicArn=topic, Token=told["Token"])["SubscriptionArn"] == made
    assert (
        sns.get_subscription_attributes(SubscriptionArn=made)["Attributes"]["PendingConfirmation"] == "false"
    )
    assert sns.subscribe(**asked)["SubscriptionArn"] == made  # and nothing is asked again
    ident = admin.worker(name="late").do(hit)
    _, told = heard.get(timeout=30)
    assert told["Type"] == "Notification"
    (event,) = json.loads(told["Message"])["Events"]
    assert (event["EventType"], event["AssignmentId"]) == ("AssignmentSubmitted", ident)

    assert sns.list_topics()["Topics"] == [{"TopicArn": topic}]
    sns.unsubscribe(SubscriptionArn=made)
    assert code(sns.get_subscription_attributes, SubscriptionArn=made) == "NotFound"
    sns.delete_topic(TopicArn=topic)
    sns.delete_topic(TopicArn=topic)
    assert sns.list_topics()["Topics"] == []
    assert heard.empty()


def test_topics_are_their_requester_s_alone(market: Server, listener: Any) -> None:
    hers, his = client(market, "carol"), client(market, "dave")
    topic = hers.create_topic(Name="t")["TopicArn"]
    assert his.create_topic(Name="t")["TopicArn"] != topic
    asked = {"TopicArn": topic, "Protocol": "http", "Endpoint": listener[0]}
    made = hers.subscribe(**asked, ReturnSubscriptionArn=True)["SubscriptionArn"]
    assert hers.subscribe(**asked)["SubscriptionArn"] == "pending confirmation"
    token = listener[1].get(timeout=30)[1]["Token"]
    assert code(his.subscribe, **asked) == "NotFound"
    assert code(his.confirm_subscription, TopicArn=topic, Token=token) == "NotFound"
    assert code(his.get_subscription_attributes, SubscriptionArn=made) == "NotFound"
    his.delete_topic(TopicArn=topic)
    assert [one["TopicArn"] for one in hers.list_topics()["Topics"]] == [topic]
    turk = client(market, "dave", "mturk")
    settings = {"Destination": topic, "Transport": "SNS", "Version": "2014-08-15", "EventTypes": ["Ping"]}
    with pytest.raises(ClientError, match="cannot reach"):
        turk.send_test_event_notification(Notification=settings, TestEventType="Ping")


def test_what_cannot_be_is_refused_by_the_codes_of_the_service(
    market: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    sns = client(market, "erin")
    topic = sns.create_topic(Name="t")["TopicArn"]
    assert code(sns.create_topic, Name="a b") == "InvalidParameter"
    assert code(sns.subscribe, TopicArn=topic, Protocol="email", Endpoint="a@b.example") == "InvalidParameter"
    for address in ("http://example.org/", "https://user@example.org/", "ftp://x", "https://"):
        given = {"TopicArn": topic, "Protocol": address.partition(":")[0], "Endpoint": address}
        assert code(sns.subscribe, **given) == "InvalidParameter"
    assert code(sns.confirm_subscription, TopicArn=topic, Token="x") == "InvalidParameter"
    assert code(sns.publish, TopicArn=topic, Message="m") == "InvalidAction"
    assert code(client(market, "erin", aws_secret_access_key="wrong").list_topics) == "InvalidSignature"
    monkeypatch.setattr(topics, "PAGE", 2)
    for name in "abcd":
        sns.create_topic(Name=name)
    found, token = [], {}
    while True:
        page = sns.list_topics(**token)
        found += [one["TopicArn"].rpartition(":")[2] for one in page["Topics"]]
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
    assert found == ["a", "b", "c", "d", "t"]
    monkeypatch.setattr(topics, "MOST_TOPICS", 5)
    assert code(sns.create_topic, Name="e") == "TopicLimitExceeded"
