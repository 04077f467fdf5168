"""Failures of the requester API that a test asks for: a reply is lost on the way, or the call is refused."""

import asyncio
from dataclasses import dataclass
from typing import Literal

import pytest
from starlette.responses import JSONResponse, Response

from prefjudge.marketplace.site import app
from prefjudge.marketplace.site.pages import Call

_REFUSALS = {
    "throttle": (400, {"__type": "ThrottlingException", "Message": "Rate exceeded"}),
    "error": (500, {"__type": "ServiceFault", "Message": "asked for"}),
}


@dataclass
class Fault:
    """``drop`` acts and says nothing, ``delay`` waits, the others refuse; the first ``after`` go well."""

    kind: Literal["drop", "delay", "throttle", "error"]
    operation: str = "*"
    times: int = 1
    after: int = 0
    seconds: float = 0.0


class Faults:
    """The failures to come, of all marketplaces in this process."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.coming: list[Fault] = []
        self._answer = app.requester_api
        patch.setattr(app, "requester_api", self._failing)

    def add(self, *faults: Fault) -> None:
        self.coming += faults

    def _next(self, operation: str) -> Fault | None:
        for fault in self.coming:
            if fault.operation not in ("*", operation):
                continue
            if fault.after:
                fault.after -= 1
                continue
            fault.times -= 1
            self.coming = [one for one in self.coming if one.times]
            return fault
        return None

    async def _failing(self, call: Call) -> Response:
        fault = self._next(call.headers.get("x-amz-target", "").rpartition(".")[2])
        if fault is None:
            return await self._answer(call)
        await asyncio.sleep(fault.seconds)
        if fault.kind in _REFUSALS:
            status, said = _REFUSALS[fault.kind]
            return JSONResponse(said, status)
        reply = await self._answer(call)
        if fault.kind == "drop":
            call.scope["state"]["connection"].transport.abort()
        return reply
