"""The admin's pages: workers, requesters, money, what is happening, and one person's data."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from starlette.responses import JSONResponse, Response

from prefjudge.errors import PrefjudgeError
from prefjudge.marketplace.errors import Refusal, View, from_cents, invalid, to_cents
from prefjudge.marketplace.hits import overview, own_work
from prefjudge.marketplace.people import qualifications, requesters, workers
from prefjudge.marketplace.people.qualifications import MASTERS, SIMULATED
from prefjudge.marketplace.site.pages import Call, Page, attached
from prefjudge.marketplace.store.store import Transaction


async def show(call: Call) -> Page:
    """Show how the study goes, who works, and one step away everything."""
    seen = await call.look(overview.overview)
    return Page(name="admin", context={**seen, "study": await _judged(call)})


async def _judged(call: Call) -> Mapping[str, int] | None:
    """Return how many pairs of the study are judged, and of how many, where one is served."""
    if call.running.settings.pairs is None:
        return None
    try:  # on a thread: it reads the study's store
        judged, pairs = await asyncio.get_running_loop().run_in_executor(None, call.running.settings.pairs)
    except PrefjudgeError:  # the study's own verbs say what is wrong with its store
        return None
    return {"judged": judged, "pairs": pairs}


async def add_worker(call: Call) -> Page:
    """Register a worker, or an account for simulation, and make the invitation."""
    fields = await call.fields()
    name = fields.get("name", "").strip() or None
    country = fields.get("locale", "").strip().upper() or "US"
    approved, rate = _whole(fields, "approved", 0), _whole(fields, "approval_rate", 100)
    simulated = _yes(fields, "simulated")
    if simulated and not call.running.marketplace.sandbox:
        raise Refusal("live", "Simulated workers are for sandboxes, but money is real here.", 409)

    def act(tx: Transaction) -> tuple[str, str]:
        worker_id = workers.create(tx, name=name, country=country, approved=approved, rate=rate)
        if simulated:
            qualifications.grant(tx, SIMULATED, worker_id, 1)
        return worker_id, workers.invite(tx, worker_id)

    worker_id, invitation = await call.run(act)
    page = _invited(call, worker_id, name, invitation)
    return replace(page, context={**page.context, "simulated": simulated})


def _invited(call: Call, worker_id: str, name: str | None, invitation: str) -> Page:
    context = {
        "worker_id": worker_id,
        "name": name,
        "invite": invitation,
        "invite_url": f"{call.origin}/signin?invite={invitation}",
        "days": round(call.running.marketplace.rules.invite_life / 86_400),
    }
    return Page(name="invited", context=context, status=201)


async def invite_again(call: Call) -> Page:
    """Make a new invitation for a worker who lost the old one, which stops working."""
    worker_id = call.path_params["worker_id"]

    name, invitation = await call.run(
        lambda tx: (workers.find(tx, worker_id).name, workers.invite_again(tx, worker_id))
    )
    page = _invited(call, worker_id, name, invitation)
    return replace(page, context={**page.context, "again": True})


async def revoke_invitation(call: Call) -> Page:
    """Let nobody in as a worker any more, until there is a new invitation."""
    worker_id = call.path_params["worker_id"]
    await call.run(lambda tx: overview.shut_out(tx, worker_id))
    context = {"worker_id": worker_id, "revoked": True}
    return Page(name="worker", context=context, location=f"/admin/workers/{worker_id}")


async def make_master(call: Call) -> Page:
    """Make a worker a Master, or no longer one."""
    worker_id, wanted = call.path_params["worker_id"], _yes(await call.fields(), "master")
    await call.run(lambda tx: qualifications.make_master(tx, worker_id, wanted=wanted))
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


async def answer_dispute(call: Call) -> Page:
    """Answer what a worker says against a rejection."""
    ident = call.path_params["assignment_id"]
    text = (await call.fields()).get("text", "")
    await call.run(lambda tx: own_work.answer(tx, ident, text))
    return Page(name="admin", context={"assignment_id": ident, "answered": True}, location="/admin#disputes")


async def add_requester(call: Call) -> Response:
    """Issue a key to a requester, with a budget where one is given."""
    fields = await call.fields()
    name = fields.get("name", "").strip()

    def act(tx: Transaction) -> requesters.Key:
        key = requesters.new_key(tx, name)
        if fields.get("budget"):
            requesters.pay_in(tx, key.requester_id, to_cents(fields["budget"], "budget"))
        return key

    key = await call.run(act)
    said = {name: getattr(key, name) for name in ("requester_id", "access_key", "secret_key")}
    return JSONResponse(said, 201)


async def revoke_key(call: Call) -> Response:
    """Revoke a requester's key."""
    access_key = call.path_params["access_key"]
    await call.run(lambda tx: requesters.revoke_key(tx, access_key))
    return JSONResponse({"revoked": access_key})


async def add_funds(call: Call) -> Response:
    """Add to a requester's budget."""
    fields = await call.fields()
    requester_id = fields.get("requester_id", "")
    cents = to_cents(fields.get("amount", ""), "amount")
    await call.run(lambda tx: requesters.pay_in(tx, requester_id, cents))
    return JSONResponse({"requester_id": requester_id, "paid_in": fields["amount"]}, 201)


async def list_payouts(call: Call) -> Response:
    """List what each worker has earned, was paid and is owed, for a spreadsheet or a bank."""
    return Response(await call.look(workers.payout_table), media_type="text/csv")


async def add_payout(call: Call) -> Response:
    """Record that a worker was paid."""
    fields = await call.fields()
    worker_id, reference = fields.get("worker_id", ""), fields.get("reference", "").strip()
    cents = to_cents(fields.get("amount", ""), "amount")
    await call.run(lambda tx: workers.record_payout(tx, worker_id, cents, reference))
    return JSONResponse({"worker_id": worker_id, "paid_out": from_cents(cents), "reference": reference}, 201)


# The admin's page about one worker: what is stored about the person, and forgetting it.


async def show_worker(call: Call) -> Page:
    """Show how much is stored about a worker."""
    ident = call.path_params["worker_id"]
    return Page(name="worker", context=await call.look(lambda tx: _shown_person(tx, ident, None)))


def _shown_person(tx: Transaction, worker_id: str, receipt: View | None) -> View:
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


async def export_worker(call: Call) -> Response:
    """Write everything that is stored about a worker, for that person."""
    ident = call.path_params["worker_id"]
    stored = await call.look(lambda tx: overview.known_of(tx, ident))
    return JSONResponse(stored, headers=attached(f"{ident}.json"))


async def forget_worker(call: Call) -> Page:
    """Forget the person behind a worker id, also in the store's bytes."""
    ident, fields = call.path_params["worker_id"], await call.fields()
    unpaid = _yes(fields, "unpaid")

    context = await call.run(
        lambda tx: _shown_person(tx, ident, overview.forget_person(tx, ident, unpaid=unpaid))
    )
    # not in a transaction, and not on the event loop: the whole store is written anew
    try:
        await asyncio.get_running_loop().run_in_executor(None, call.running.marketplace.database.scrub)
    except PrefjudgeError as error:
        said = "The person is forgotten, but the store's files hold the data while something reads them."
        raise Refusal("bytes", f"{said} Forget again in a minute.", 503) from error
    return Page(name="worker", context=context)
