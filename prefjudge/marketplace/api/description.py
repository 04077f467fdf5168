"""The description of the API: the operations, their shapes and their limits, as this package ships them.

The JSON comes from botocore (NOTICE says what was changed) and is in the format of its loader. The
marketplace checks requests with it, and a client can load it if its botocore no longer has the service.
Tests compare the two.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from prefjudge.marketplace.people.qualifications import TAKEN

SERVICE_FOLDER = Path(__file__).parent / "service"
"""Append this to the ``search_paths`` of a botocore session's data loader."""

Shape = Mapping[str, Any]
"""A shape of the service, in the format of botocore's models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The operations and shapes of the service."""

    target_prefix: str
    signing_name: str
    operations: Mapping[str, Any]
    shapes: Mapping[str, Shape]

    def input_of(self, operation: str) -> Shape:
        """Return the shape of the operation's request."""
        return self.shapes[self.operations[operation]["input"]["shape"]]

    def output_of(self, operation: str) -> Shape:
        """Return the shape of the operation's response."""
        return self.shapes[self.operations[operation]["output"]["shape"]]


@cache
def mturk() -> Description:
    """Load the description of the Mechanical Turk requester API."""
    path = SERVICE_FOLDER / "mturk" / "2017-01-17" / "service-2.json"
    model = json.loads(path.read_text(encoding="utf-8"))
    return Description(
        target_prefix=model["metadata"]["targetPrefix"],
        signing_name=model["metadata"]["endpointPrefix"],
        operations=model["operations"],
        shapes={**model["shapes"], "Comparator": _extended(model["shapes"]["Comparator"])},
    )


def _extended(comparator: Shape) -> Shape:
    """Add this marketplace's own comparator; a client of the API sends it unchecked."""
    return {**comparator, "enum": [*comparator["enum"], TAKEN]}
