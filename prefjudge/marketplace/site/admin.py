"""The admin's pages: workers, requesters, money, faults, what is happening, and one person's data."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from prefjudge.errors import PrefjudgeError
from prefjudge.marketplace.api.wire import Fault
from prefjudge.marketplace.errors import Refusal, from_cents, invalid, to_cents
from prefjudge.marketplace.hits import overview, own_work
from prefjudge.marketplace.hits.overview import Receipt
from prefjudge.marketplace.people import qualifications, requesters, workers
from prefjudge.marketplace.people.qualifications import MASTERS, SIMULATED
from prefjudge.marketplace.site.pages import Page, read_json, remembered_fields
from prefjudge.marketplace.site.state import AppState
from prefjudge.marketplace.store.store import Transaction


async def show(state: AppState, request: Request) -> Page:
    """Show how the study goes, who works, and one step away everything."""
    seen = await state.executor.run(overview.overview, write=False)
    return Page(name="admin", context={**seen, "study": await _judged(state)})


async def _judged(state: AppState) -> Mapping[str, int] | None:
    """Return how many pairs of the study are judged, and of how many, where one is served."""
    if state.settings.pairs is None:
        return None
    try:  # on a thread: it reads the study's store
        judged, pairs = await asyncio.get_running_loop().run_in_executor(None, state.settings.pairs)
    except PrefjudgeError:  # the study's own verbs say what is wrong with its store
        return None
    return {"judged": judged, "pairs": pairs}


async def add_worker(state: AppState, request: Request) -> Page:
    """Register a worker, or an account for simulation, and make the invitation."""
    fields = await remembered_fields(request)
    password = fields.get("password", "")
    newcomer = workers.NewWorker(
        name=fields.get("name", "").strip() or None,
        locale=fields.get("locale", "").strip().upper() or "US",
        approved=_whole(fields, "approved", 0),
        approval_rate=_whole(fields, "approval_rate", 100),
    )
    simulated = _yes(fields, "simulated")
    if simulated and not state.marketplace.sandbox:
        raise Refusal("live", "Simulated workers are for sandboxes, but money is real here.", 409)
    kept = workers.hash_password(password) if password else None

    def act(tx: Transaction) -> tuple[str, str]:
        worker_id = workers.create(tx, newcomer)
        if simulated:
            qualifications.grant(tx, SIMULATED, worker_id, 1)
        if kept and newcomer.name:
            workers.set_password(tx, worker_id, newcomer.name, kept)
        return worker_id, workers.invite(tx, worker_id)

    worker_id, invitation = await state.executor.run(act)
    page = _invited(state, request, worker_id, newcomer.name, invitation)
    return replace(page, context={**page.context, "simulated": simulated})


def _invited(state: AppState, request: Request, worker_id: str, name: str | None, invitation: str) -> Page:
    context = {
        "worker_id": worker_id,
        "name": name,
        "invite": invitation,
        "invite_url": f"{state.origin(request)}/signin?invite={invitation}",
        "days": round(state.marketplace.rules.invite_life / 86_400),
    }
    return Page(name="invited", context=context, status=201)


async def invite_again(state: AppState, request: Request) -> Page:
    """Make a new invitation for a worker who lost the old one or the password, which stop working."""
    worker_id = request.path_params["worker_id"]

    def act(tx: Transaction) -> tuple[str | None, str]:
        return workers.find(tx, worker_id).name, workers.invite_again(tx, worker_id)

    name, invitation = await state.executor.run(act)
    page = _invited(state, request, worker_id, name, invitation)
    return replace(page, context={**page.context, "again": True})


async def revoke_invitation(state: AppState, request: Request) -> Page:
    """Let nobody in as a worker any more, until there is a new invitation."""
    worker_id = request.path_params["worker_id"]
    await state.executor.run(lambda tx: overview.shut_out(tx, worker_id))
    context = {"worker_id": worker_id, "revoked": True}
    return Page(name="worker", context=context, location=f"/admin/workers/{worker_id}")


async def make_master(state: AppState, request: Request) -> Page:
    """Make a worker a Master, or no longer one."""
    worker_id, wanted = request.path_params["worker_id"], _yes(await remembered_fields(request), "master")
    await state.executor.run(lambda tx: qualifications.make_master(tx, worker_id, wanted=wanted))
    context = {"worker_id": worker_id, "master": wanted}
    return Page(name="worker", context=context, location=f"/admin/workers/{worker_id}")


def _yes(fields: dict[str, str], name: str) -> bool:
    return fields.get(name, "").lower() in ("true", "yes", "1", "on")


def _whole(fields: dict[str, str], name: str, default: int) -> int:
    text = fields.get(name, "").strip()
    if not text:
        return default
    if not text.isdecimal() or len(text) > 9:
        raise invalid(name, f"{text[:32]!r} is not a whole number")
    return int(text)


async def answer_dispute(state: AppState, request: Request) -> Page:
    """Answer what a worker says against a rejection."""
    ident = request.path_params["assignment_id"]
    text = (await remembered_fields(request)).get("text", "")
    await state.executor.run(lambda tx: own_work.answer(tx, ident, text))
    return Page(name="admin", context={"assignment_id": ident, "answered": True}, location="/admin#disputes")


async def list_workers(state: AppState, request: Request) -> Response:
    """List the workers."""
    return JSONResponse({"workers": await state.executor.run(overview.worker_list, write=False)})


async def add_requester(state: AppState, request: Request) -> Response:
    """Issue a key to a requester, with a budget where one is given."""
    fields = await remembered_fields(request)
    name = fields.get("name", "").strip()

    def act(tx: Transaction) -> requesters.Key:
        key = requesters.new_key(tx, name)
        if fields.get("budget"):
            requesters.pay_in(tx, key.requester_id, to_cents(fields["budget"], "budget"))
        return key

    key = await state.executor.run(act)
    said = {name: getattr(key, name) for name in ("requester_id", "access_key", "secret_key")}
    return JSONResponse(said, 201)


async def revoke_key(state: AppState, request: Request) -> Response:
    """Revoke a requester's key."""
    access_key = request.path_params["access_key"]
    await state.executor.run(lambda tx: requesters.revoke_key(tx, access_key))
    return JSONResponse({"revoked": access_key})


async def add_funds(state: AppState, request: Request) -> Response:
    """Add to a requester's budget."""
    fields = await remembered_fields(request)
    requester_id = fields.get("requester_id", "")
    cents = to_cents(fields.get("amount", ""), "amount")
    await state.executor.run(lambda tx: requesters.pay_in(tx, requester_id, cents))
    return JSONResponse({"requester_id": requester_id, "paid_in": fields["amount"]}, 201)


async def list_payouts(state: AppState, request: Request) -> Response:
    """List what each worker has earned, was paid and is owed, for a spreadsheet or a bank."""
    return Response(await state.executor.run(workers.payout_table, write=False), media_type="text/csv")


async def add_payout(state: AppState, request: Request) -> Response:
    """Record that a worker was paid."""
    fields = await remembered_fields(request)
    worker_id, reference = fields.get("worker_id", ""), fields.get("reference", "").strip()
    cents = to_cents(fields.get("amount", ""), "amount")
    await state.executor.run(lambda tx: workers.record_payout(tx, worker_id, cents, reference))
    return JSONResponse({"worker_id": worker_id, "paid_out": from_cents(cents), "reference": reference}, 201)


async def add_fault(state: AppState, request: Request) -> Response:
    """Ask for a failure of the requester API."""
    if not state.marketplace.sandbox:
        raise Refusal("live", "Faults are for sandboxes, but money is real here.", 409)
    wanted = await read_json(request)
    known = set(Fault.__dataclass_fields__)
    if set(wanted) - known or "kind" not in wanted:
        raise Refusal("invalid", f"A fault has a kind, and may have {', '.join(sorted(known))}.", 400)
    state.faults.add(Fault(**wanted))
    return JSONResponse(wanted, 201)


async def clear_faults(state: AppState, request: Request) -> Response:
    """Clear all faults."""
    state.faults.clear()
    return JSONResponse({})


async def list_events(state: AppState, request: Request) -> Response:
    """List the last events."""
    events = await state.executor.run(lambda tx: overview.last_events(tx, 1000), write=False)
    return JSONResponse({"events": events})


async def metrics(state: AppState, request: Request) -> Response:
    """Return the counters for Prometheus."""
    seen = await state.executor.run(overview.counts, write=False)
    gauges: dict[str, float] = {
        "prefjudge_workers": seen["workers"],
        "prefjudge_active_workers": seen["active_workers"],
    }
    for what, by_status in (("hits", seen["hits"]), ("assignments", seen["assignments"])):
        for status, number in by_status.items():
            gauges[f'prefjudge_{what}{{status="{status}"}}'] = number
    return PlainTextResponse(state.metrics.text(gauges))


# The admin's page about one worker: what is stored about the person, and forgetting it.


async def show_worker(state: AppState, request: Request) -> Page:
    """Show how much is stored about a worker."""
    ident = request.path_params["worker_id"]
    return Page(
        name="worker",
        context=await state.executor.run(lambda tx: _shown_person(tx, ident, None), write=False),
    )


def _shown_person(tx: Transaction, worker_id: str, receipt: Receipt | None) -> Mapping[str, Any]:
    stored = overview.known_of(tx, worker_id)
    forgotten = stored["account"][0]["forgotten"]
    master = qualifications.get_grant(tx, MASTERS[0], worker_id)
    return {
        "worker_id": worker_id,
        "name": stored["account"][0]["name"],
        "master": master is not None and master.status == "Granted",
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
    unpaid = _yes(fields, "unpaid")

    def act(tx: Transaction) -> Mapping[str, Any]:
        return _shown_person(tx, ident, overview.forget_person(tx, ident, unpaid=unpaid))

    context = await state.executor.run(act)
    # not in a transaction, and not on the event loop: the whole store is written anew
    try:
        await asyncio.get_running_loop().run_in_executor(None, state.marketplace.database.scrub)
    except PrefjudgeError as error:
        said = "The person is forgotten, but the store's files still hold the bytes, as somebody reads them."
        raise Refusal("bytes", f"{said} Forget again in a minute.", 503) from error
    return Page(name="worker", context=context)
