"""Text that no program means to send: refused where it comes in, and never a failure inside."""

import json

import pytest

from prefjudge.marketplace.server import start
from tests.marketplace.people import HTTP, Admin, html_question, new_requester, offer, question_form

JSON = {"Accept": "application/json", "Content-Type": "application/json"}
HIT = {
    "Title": "t",
    "Description": "d",
    "Reward": "1.00",
    "AssignmentDurationInSeconds": 60,
    "LifetimeInSeconds": 60,
    "Question": html_question(),
}


def call(server, body, operation="CreateHIT"):
    target = {"X-Amz-Target": f"MTurkRequesterServiceV20170117.{operation}"}
    answer = HTTP.request("POST", server.endpoint, body=body, headers=target)
    return answer.status, answer.json()["TurkErrorCode"].rpartition(".")[2]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (json.dumps(HIT | {"Title": "\ud800"}), "MalformedInput"),
        (json.dumps(HIT | {"Title": "a\0b"}), "InvalidParameterValue"),
        (json.dumps(HIT | {"RequesterAnnotation": "\0"}), "InvalidParameterValue"),
        ("[" * 100_000, "MalformedInput"),
        ('{"MaxAssignments": ' + "[" * 900 + "]" * 900 + "}", "MalformedInput"),
        ('{"MaxAssignments": NaN}', "MalformedInput"),
        ('{"MaxAssignments": 1e999}', "MalformedInput"),
        ('{"MaxAssignments": ' + "9" * 10_000 + "}", "MalformedInput"),
        (b"\xff\xfe", "MalformedInput"),
        (json.dumps(HIT | {"Title": "\ud800"}).encode("utf-16-le"), "MalformedInput"),
        (
            json.dumps(HIT | {"Title": "@"}).replace("@", "\ud800").encode(errors="surrogatepass"),
            "MalformedInput",
        ),
    ],
)
def test_requests_of_the_api(market, body, code):
    assert call(market, body) == (400, code)


@pytest.mark.parametrize(
    "body",
    [b'{"invite": "\\ud800"}', b'{"name": "\\ud800", "password": "x"}', b"[" * 100_000, b'{"invite": NaN}'],
)
def test_json_of_the_site(market, body):
    answer = HTTP.request("POST", f"{market.endpoint}/signin", body=body, headers=JSON)
    assert (answer.status, answer.json()["code"]) == (400, "bad_form")


@pytest.mark.parametrize("draft", ["NaN", "1e999", '"\\ud800"', "[" * 50_000, "[" * 900 + "]" * 900])
def test_drafts_that_could_not_be_shown_again(requester, worker, draft):
    ident = worker.accept(offer(requester))["assignment_id"]
    address = f"{worker.endpoint}/assignments/{ident}"
    headers = {**worker.headers, **JSON}
    kept = HTTP.request("POST", f"{address}/draft", body=f'{{"draft": {draft}}}', headers=headers)
    assert kept.status == 400
    assert worker.get(f"/assignments/{ident}")["draft"] is None


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "http://[v1.x]"])
def test_an_origin_that_is_no_address(market, origin):
    headers = {"Origin": origin}
    assert HTTP.request("POST", f"{market.endpoint}/signin", headers=headers).status == 403


def test_nul_characters_on_postgresql(postgres_url):
    with start(postgres_url) as server:
        for path in ("/hits/%00", "/signin?next=%00", "/panel/a%00/b"):
            assert HTTP.request("GET", server.endpoint + path).status == 403
        form = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        for body in (b"name=a%00&password=b", b"invite=%00"):
            answer = HTTP.request("POST", f"{server.endpoint}/signin", body=body, headers=form)
            assert answer.status == 401
        assert call(server, json.dumps(HIT | {"Title": "a\0b"})) == (400, "InvalidParameterValue")
        requester, worker = new_requester(server.endpoint), Admin(server).worker()
        ident = worker.accept(offer(requester))["assignment_id"]
        worker.submit(ident, {"choice": "a\0b"})
        assert "a\ufffdb" in requester.get_assignment(AssignmentId=ident)["Assignment"]["Answer"].replace(
            "&#65533;", "\ufffd"
        )


@pytest.mark.parametrize("maximum", ["nan", "inf", "0", "1e7", "x"])
def test_an_answer_key_that_gives_no_number(requester, maximum):
    key = (
        '<AnswerKey xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/'
        'AnswerKey.xsd"><Question><QuestionIdentifier>colour</QuestionIdentifier><AnswerOption>'
        "<SelectionIdentifier>red</SelectionIdentifier><AnswerScore>5</AnswerScore></AnswerOption></Question>"
        f"<QualificationValueMapping><PercentageMapping><MaximumSummedScore>{maximum}</MaximumSummedScore>"
        "</PercentageMapping></QualificationValueMapping></AnswerKey>"
    )
    with pytest.raises(requester.exceptions.ClientError, match=r"ParameterValidationError.*AnswerKey"):
        requester.create_qualification_type(
            Name="n",
            Description="d",
            QualificationTypeStatus="Active",
            Test=question_form(),
            TestDurationInSeconds=60,
            AnswerKey=key,
        )
