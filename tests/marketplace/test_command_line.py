"""The AWS command line does its normal work against the marketplace, unchanged."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.marketplace.people import html_question

AWS = Path(sys.executable).with_name("aws")


@pytest.fixture
def aws(tmp_path):
    if not AWS.exists() and shutil.which("aws") is None:
        pytest.skip("the AWS command line is not installed (pip install awscli)")
    program = str(AWS) if AWS.exists() else shutil.which("aws")

    def run(*arguments, status=0, **environment):
        quiet = {
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "HOME": str(tmp_path),
        }
        done = subprocess.run(
            [program, "mturk", *arguments, "--region", "us-east-1", "--output", "json"],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": os.environ["PATH"], **quiet, **environment},
        )
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else done.stderr

    return run


def test_a_requesters_day(market, admin, worker, aws, tmp_path):
    key = admin.call("POST", "/admin/requesters", {"name": "cli"}, status=201)
    mine = {
        "AWS_ACCESS_KEY_ID": key["access_key"],
        "AWS_SECRET_ACCESS_KEY": key["secret_key"],
        "AWS_ENDPOINT_URL_MTURK": market.endpoint,
    }
    question = tmp_path / "question.xml"
    question.write_text(html_question())
    hit = aws(
        "create-hit", "--title", "t", "--description", "d", "--reward", "0.10",
        "--lifetime-in-seconds", "600", "--assignment-duration-in-seconds", "60",
        "--question", f"file://{question}", **mine,
    )["HIT"]  # fmt: skip
    ident = worker.do(hit)
    listed = aws("list-assignments-for-hit", "--hit-id", hit["HITId"], **mine)
    assert [one["AssignmentId"] for one in listed["Assignments"]] == [ident]
    aws("approve-assignment", "--assignment-id", ident, **mine)
    assert aws("get-account-balance", **mine)["AvailableBalance"] == "9999.88"
    assert "does not exist" in aws("delete-hit", "--hit-id", "3NOSUCH", status=255, **mine)
