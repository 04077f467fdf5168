"""Our description of the API against botocore's own, and without it."""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import botocore
import botocore.session
import pytest
from botocore.exceptions import UnknownServiceError

from prefjudge.marketplace.api.wire import SERVICE_FOLDER, mturk
from prefjudge.marketplace.server import start

OURS = mturk()
ROOT = Path(__file__).resolve().parents[2]


@cache
def models():
    theirs = botocore.session.get_session()
    try:
        model = theirs.get_service_model("mturk")
    except UnknownServiceError:
        pytest.skip("this botocore has no mturk to compare with")
    ours = botocore.session.get_session()
    ours.get_component("data_loader")._search_paths = [str(SERVICE_FOLDER)]
    return ours.get_service_model("mturk"), model


def outline(shape, seen=()):
    """Return everything of a shape that a client or a server acts on, except limits that we add."""
    if shape.type_name == "structure":
        if shape.name in seen:
            return shape.name
        members = {name: outline(member, (*seen, shape.name)) for name, member in shape.members.items()}
        return {"members": members, "required": sorted(shape.required_members)}
    if shape.type_name == "list":
        return [outline(shape.member, seen)]
    return (shape.type_name, sorted(getattr(shape, "enum", [])))


@pytest.mark.parametrize("operation", sorted(OURS.operations))
def test_operations_agree_with_botocore(operation):
    ours, theirs = (model.operation_model(operation) for model in models())
    assert outline(ours.input_shape) == outline(theirs.input_shape)
    assert outline(ours.output_shape) == outline(theirs.output_shape)
    assert [shape.name for shape in ours.error_shapes] == [shape.name for shape in theirs.error_shapes]


def test_the_service_agrees_with_botocore():
    ours, theirs = models()
    assert sorted(ours.operation_names) == sorted(theirs.operation_names)
    for key in (
        "protocol",
        "jsonVersion",
        "targetPrefix",
        "endpointPrefix",
        "serviceId",
        "signatureVersion",
        "apiVersion",
    ):
        assert ours.metadata[key] == theirs.metadata[key]
    loaders = [botocore.session.get_session().get_component("data_loader") for _ in range(2)]
    loaders[0]._search_paths = [str(SERVICE_FOLDER)]
    mine, its = (
        json.dumps(loader.load_service_model("mturk", "paginators-1"), sort_keys=True) for loader in loaders
    )
    assert mine == its


def test_limits_are_no_wider_than_botocores():
    for operation in sorted(OURS.operations):
        ours, theirs = (model.operation_model(operation).input_shape for model in models())
        for name, member in theirs.members.items():
            mine = ours.members[name].metadata
            for limit, value in member.metadata.items():
                if limit in ("max", "min", "pattern"):
                    assert mine[limit] == value, f"{operation}.{name}.{limit}"


CLIENT = """
import sys
sys.path.insert(0, sys.argv[1])  # a botocore without mturk
import boto3, botocore.session
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import EndpointProviderError, UnknownServiceError
assert botocore.__file__.startswith(sys.argv[1])
bare = botocore.session.get_session()
try:
    bare.create_client("mturk", region_name="us-east-1")
except UnknownServiceError:
    pass
else:
    raise SystemExit("mturk is still there")
session = botocore.session.get_session()
session.get_component("data_loader").search_paths.append(sys.argv[2])
config = Config(signature_version=UNSIGNED, retries={"total_max_attempts": 1})
boto = boto3.session.Session(botocore_session=session)
client = boto.client("mturk", region_name="us-east-1", endpoint_url=sys.argv[3], config=config)
assert client.get_account_balance()["AvailableBalance"] == "10000.00"
ident = client.create_hit_type(Title="t", Description="d", Reward="1", AssignmentDurationInSeconds=60)
try:
    client.get_hit(HITId="3ABC")
except client.exceptions.RequestError as error:
    assert error.response["TurkErrorCode"] == "AWS.MechanicalTurk.HITDoesNotExist"
assert [page["HITs"] for page in client.get_paginator("list_hits").paginate()] == [[]]
try:
    boto.client("mturk", region_name="us-east-1", config=config).get_account_balance()
except EndpointProviderError as error:
    assert "closed" in str(error)
print("works")
"""

CROWD = """
import sys
import botocore
from prefjudge.crowd.mturk import MTurkCrowd
assert botocore.__file__.startswith(sys.argv[1])
print(MTurkCrowd(sys.argv[2]).balance())
"""


def test_a_botocore_without_mturk_is_made_whole(tmp_path):
    """Copy botocore but for its data, so that only what a client needs is there, and mturk is not."""
    source, target = Path(botocore.__file__).parent, tmp_path / "botocore"
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("data", "__pycache__"))
    (target / "data").mkdir()
    for path in (source / "data").iterdir():
        if path.is_file():
            (target / "data" / path.name).symlink_to(path)
    (target / "data" / "sqs").symlink_to(source / "data" / "sqs")
    with start(f"sqlite:///{tmp_path}/m.db") as server:
        command = [sys.executable, "-c", CLIENT, str(tmp_path), str(SERVICE_FOLDER), server.endpoint]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stdout.strip() == "works", done.stderr
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
        command = [sys.executable, "-c", CROWD, str(tmp_path), server.endpoint]
        crowd = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert crowd.stdout.strip() == "10000.00", crowd.stderr
