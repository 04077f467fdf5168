"""What programs look for in an error: Mechanical Turk's own words and codes, as boto3 shows them.

Dallinger, ParlAI, Mephisto and many scripts decide by parts of a message what happened;
here is what they, and logs that people have published, say it is.
"""

import pytest
from botocore.exceptions import ClientError

from prefjudge.marketplace.server import start
from tests.marketplace.people import html_question, new_requester, offer, question_form
from tests.marketplace.test_qualifications import make_type

NOBODY = "3NOSUCHTHING"
STATES = "This operation can be called with a status of: "


def unsubmitted(requester, worker):
    return {"AssignmentId": worker.accept(offer(requester))["assignment_id"]}


def approved(requester, worker):
    ident = worker.do(offer(requester))
    requester.approve_assignment(AssignmentId=ident)
    return {"AssignmentId": ident}


def revoked(requester, worker):
    both = {"QualificationTypeId": make_type(requester), "WorkerId": worker.worker_id}
    requester.associate_qualification_with_worker(**both)
    requester.disassociate_qualification_from_worker(**both)
    return both


def never_granted(requester, worker):
    return {"QualificationTypeId": make_type(requester), "WorkerId": worker.worker_id}


def same_name(requester, worker):
    make_type(requester)
    return {"Name": "careful", "Description": "again", "QualificationTypeStatus": "Active"}


def open_hit(requester, worker):
    return {"HITId": offer(requester)["HITId"]}


def hit_at_work(requester, worker):
    hit = offer(requester)
    worker.accept(hit)
    return {"HITId": hit["HITId"]}


def malformed(question):
    def asked(requester, worker):
        return {
            "Title": "t", "Description": "d", "Reward": "1", "LifetimeInSeconds": 60, "Question": question,
            "AssignmentDurationInSeconds": 60,
        }  # fmt: skip

    return asked


MARKUP = "<Overview><FormattedContent><![CDATA[<p>]]></FormattedContent></Overview>"
TABLE = [
    ("get_hit", lambda *_: {"HITId": NOBODY}, "HITDoesNotExist", f"Hit {NOBODY} does not exist."),
    ("get_assignment", lambda *_: {"AssignmentId": NOBODY}, "AssignmentDoesNotExist",
     f"Assignment {NOBODY} does not exist."),
    ("get_assignment", unsubmitted, "InvalidAssignmentState", STATES + "Reviewable,Approved,Rejected"),
    ("approve_assignment", unsubmitted, "InvalidAssignmentState", STATES + "null"),
    ("approve_assignment", approved, "InvalidAssignmentState", STATES + "Submitted"),
    ("get_qualification_score", never_granted, "QualificationDoesNotExist",
     "You requested a Qualification that does not exist."),
    ("get_qualification_score", revoked, "InvalidQualificationState", STATES + "Granted"),
    ("create_qualification_type", same_name, "QualificationTypeAlreadyExists",
     "You have already created a QualificationType with this name. A QualificationType's name must be unique"
     " among all of the QualificationTypes created by the same user."),
    ("delete_hit", open_hit, "InvalidHITState",
     "This HIT is currently in the state 'Assignable'.  " + STATES + "Reviewing, Reviewable"),
    ("delete_hit", hit_at_work, "InvalidHITState", "This HIT is currently in the state 'Unassignable'.  "),
    ("create_hit", malformed("<HTMLQuestion"), "ParameterValidationError",
     "There was an error parsing the XML question or answer data in your request."),
    ("create_hit", malformed(html_question("")), "ParameterValidationError",
     "There was an error parsing the XML question or answer data in your request."),
    ("create_hit", malformed(question_form(overview=MARKUP)), "ParameterValidationError",
     "There was an error parsing the XHTML data in your request."),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "situation", "code", "sentence"), TABLE)
def test_an_error_has_the_words_that_programs_look_for(
    requester, worker, operation, situation, code, sentence
):
    params = situation(requester, worker)
    with pytest.raises(ClientError) as raised:
        getattr(requester, operation)(**params)
    answer = raised.value.response
    assert answer["Error"]["Message"].startswith(sentence)
    if code == "ParameterValidationError":
        assert answer["Error"]["Code"] == code
    else:
        assert isinstance(raised.value, requester.exceptions.RequestError)
        assert answer["TurkErrorCode"] == f"AWS.MechanicalTurk.{code}"


def test_an_empty_account_has_them_too(tmp_path):
    with start(f"sqlite:///{tmp_path}/live.db", sandbox=False) as server:
        requester = new_requester(server.endpoint)
        with pytest.raises(requester.exceptions.RequestError) as raised:
            offer(requester)
    assert raised.value.response["Error"]["Message"].startswith(
        "This Requester has insufficient funds in their account to complete this transaction."
    )
