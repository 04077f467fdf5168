"""The admin's page about one worker: what is stored about the person, and forgetting it."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from prefjudge.errors import PrefjudgeError
from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.hits import overview
from prefjudge.marketplace.hits.overview import Receipt
from prefjudge.marketplace.store.store import Transaction
from prefjudge.marketplace.web.forms import remembered_fields
from prefjudge.marketplace.web.pages import Page
from prefjudge.marketplace.web.state import AppState


async def show_worker(state: AppState, request: Request) -> Page:
    """Show how much is stored about a worker."""
    ident = request.path_params["worker_id"]
    return Page(
        name="worker", context=await state.executor.run(lambda tx: _shown(tx, ident, None), write=False)
    )


def _shown(tx: Transaction, worker_id: str, receipt: Receipt | None) -> Mapping[str, Any]:
    stored = overview.known_of(tx, worker_id)
    forgotten = stored["account"][0]["forgotten"]
    return {
        "worker_id": worker_id,
        "counts": {kind: len(rows) for kind, rows in stored.items()},
        "forgotten": datetime.fromtimestamp(float(forgotten), UTC).isoformat() if forgotten else None,
        "receipt": receipt,
    }


async def export_worker(state: AppState, request: Request) -> Response:
    """Write everything that is stored about a worker, for that person."""
    ident = request.path_params["worker_id"]
    stored = await state.executor.run(lambda tx: overview.known_of(tx, ident), write=False)
    attached = {"Content-Disposition": f'attachment; filename="{ident}.json"', "Cache-Control": "no-store"}
    return JSONResponse(stored, headers=attached)


async def forget_worker(state: AppState, request: Request) -> Page:
    """Forget the person behind a worker id, also in the store's bytes."""
    ident, fields = request.path_params["worker_id"], await remembered_fields(request)
    unpaid = fields.get("unpaid", "").lower() in ("on", "true", "yes", "1")

    def act(tx: Transaction) -> Mapping[str, Any]:
        return _shown(tx, ident, overview.forget_person(tx, ident, unpaid=unpaid))

    context = await state.executor.run(act)
    # not in a transaction, and not on the event loop: the whole store is written anew
    try:
        await asyncio.get_running_loop().run_in_executor(None, state.marketplace.database.scrub)
    except PrefjudgeError as error:
        said = "The person is forgotten, but the store's files still hold the bytes, as somebody reads them."
        raise Refusal("bytes", f"{said} Forget again in a minute.", 503) from error
    return Page(name="worker", context=context)
