"""Panels' pages: participants come and go; and the admin makes, edits, closes and pays panels."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from starlette.responses import JSONResponse, Response

from prefjudge.marketplace.errors import Params, Refusal, View, invalid, to_cents
from prefjudge.marketplace.hits import visits
from prefjudge.marketplace.hits.assignments import many_newcomers
from prefjudge.marketplace.people import panels, workers
from prefjudge.marketplace.people.panels import LAST, OUTCOMES, Arrival, Panel
from prefjudge.marketplace.people.workers import Session
from prefjudge.marketplace.site.pages import Call, Page, Pairs, attached
from prefjudge.marketplace.site.state import (
    LINK_PARAMETER,
    NEWCOMERS,
    NEWCOMERS_WINDOW,
    need_library,
    newcomers_of,
)
from prefjudge.marketplace.store.store import Transaction

_TICKET_LIFE = 3600
"""Seconds that somebody may take to begin: a panel's token is over sooner."""


async def show_arrival(call: Call) -> Page:
    """Ask before a link signs anybody in: another site could load such a link as a picture."""
    who = await _look(call)
    known = await call.look(lambda tx: panels.worker_of(tx, who))
    session = call.signed_in
    if session and session.worker_id == known:
        secret = call.secret("worker")
        await call.run(lambda tx: workers.turn_to(tx, secret, panels.arrive(tx, who).visit))
        return Page(name="hits", context={"worker_id": session.worker_id}, location="/hits")
    other = session and (session.name or session.worker_id)
    here = f"{call.url.path}?{call.url.query}"
    context = {"panel": who.panel, "other": other, "here": here, "ticket": _ticket(call, who)}
    return Page(name="arrival", context=context)


async def arrive(call: Call) -> Page:
    """Let the participant in."""
    who = _of_ticket(call, await call.fields()) or await _look(call)
    limit, now = call.running.rate_limit, call.running.marketplace.clock()
    network = newcomers_of(call.client.host if call.client else "")

    def act(tx: Transaction) -> tuple[str, Session | None]:
        unknown = not panels.find(tx, who.panel).vouched and panels.worker_of(tx, who) is None
        if unknown and not limit.allow(network, now, NEWCOMERS, NEWCOMERS_WINDOW):
            raise many_newcomers()
        visit = panels.arrive(tx, who)
        secret = workers.open_session(tx, visit.worker_id, visit.visit)
        return secret, workers.find_session(tx, secret)

    secret, session = await call.run(act)
    context = {"worker_id": session.worker_id, "csrf": session.csrf} if session else {}
    return Page(name="hits", context=context, location="/hits", cookies={"worker": secret})


async def leave(call: Call) -> Page:
    """End the visit of a participant who wants to stop, and show the way back."""

    def act(tx: Transaction) -> View | None:
        visits.leave(tx, call.worker.visit)
        return visits.ending(tx, call.worker.visit)

    return Page(name="hits", context={"completion": await call.run(act)}, location="/hits")


async def _look(call: Call) -> Arrival:
    path, query = call.path_params, dict(call.query_params)

    def act(tx: Transaction) -> tuple[Panel, Arrival | None]:
        panel = panels.open_panel(tx, path["panel"], path["key"])
        return panel, None if panel.keys else panels.look(tx, path["panel"], path["key"], query)

    panel, who = await call.look(act)
    if who is not None:
        return who
    address, now = f"{call.origin}{call.url.path}", call.running.marketplace.clock()
    token = query.get(LINK_PARAMETER, "")
    # off the event loop: the panel's keys may have to be fetched
    tokens, asked = call.running.panel_tokens, (panel.keys, token, address, now)
    told = await asyncio.get_running_loop().run_in_executor(
        tokens.threads, partial(tokens.read, inside=call.running.settings.is_private), *asked
    )
    return panels.arrival(
        panel, told.get(panel.participant, ""), told.get(panel.study, ""), told["session"], confirmed=True
    )


def _ticket(call: Call, who: Arrival) -> dict[str, str]:
    """Return the fields of a form that keep who has come by a token, until they begin."""
    until = str(int(call.running.marketplace.clock()) + _TICKET_LIFE)
    parts = (who.panel, who.participant, who.study, who.session, str(who.confirmed), until)
    names = ("panel", "participant", "study", "session", "confirmed", "until", "signature")
    return dict(zip(names, (*parts, call.running.marketplace.sign("arrival", *parts)), strict=True))


def _of_ticket(call: Call, fields: dict[str, str]) -> Arrival | None:
    if "signature" not in fields or "until" not in fields:
        return None
    names = ("panel", "participant", "study", "session", "confirmed", "until")
    parts = tuple(fields.get(name, "") for name in names)
    signed = call.running.marketplace.signed(fields["signature"], "arrival", *parts)
    if not signed or parts[0] != call.path_params["panel"]:
        return None
    if int(parts[-1]) < call.running.marketplace.clock():
        raise Refusal("late", "You have waited too long. Open the study from your panel again.", 410)
    return Arrival(
        panel=parts[0], participant=parts[1], study=parts[2], session=parts[3], confirmed=int(parts[4])
    )


# The admin's pages about panels: make, edit, close; who came, what they did and are owed; files.

KINDS: Mapping[str, Mapping[str, str]] = {
    "prolific": {
        "participant": "PROLIFIC_PID",
        "study": "STUDY_ID",
        "session": "SESSION_ID",
        "url": "https://app.prolific.com/submissions/complete?cc={code}",
        "link": "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}",
    },
    "connect": {
        "participant": "participantId",
        "study": "projectId",
        "session": "assignmentId",
        "url": "",
        "link": "",
    },
    "sona": {"participant": "id", "study": "", "session": "", "url": "", "link": "?id=%SURVEY_CODE%"},
    "list": {"participant": "who", "study": "", "session": "", "url": "", "link": "?who=NAME"},
}
"""How the panels that people use name what their links carry, and where they want participants back."""

AT_ONCE = 200
"""Visits on one page of a panel."""


async def list_panels(call: Call) -> Page:
    """List the panels, and offer a form for another one, filled in for a kind of panel."""
    kind = call.query_params.get("kind", "")
    listed = {"panels": await call.look(lambda tx: [_shown(tx, panel, call) for panel in panels.every(tx)])}
    if call.wants_json:
        return Page(name="panels", context=listed)
    form = {"kind": kind if kind in KINDS else "", "kinds": KINDS, "outcomes": OUTCOMES}
    return Page(name="panels", context={**listed, **form})


async def show_panel(call: Call) -> Page:
    """Show one panel: its link, its properties, and what its participants did and are owed.

    Programs get all visits, or ``most`` at once; ``before`` continues where a page ended. They are also told
    what time it is here, and when the store was restored, copied or moved, in seconds since 1970.
    """
    name, query = call.path_params["panel"], call.query_params
    most = _number(query.get("most", "" if call.wants_json else str(AT_ONCE)), "most")
    before = _number(query.get("before", ""), "before")

    def act(tx: Transaction) -> View:
        panel = panels.find(tx, name)
        last = LAST if before is None else before - 1
        listed = visits.visit_list(tx, panel, last=last, most=most)
        more = listed[-1]["visit"] if listed and len(listed) == most else None
        shown = {"panel": _shown(tx, panel, call), "visits": listed, "before": more}
        if call.wants_json:
            since = max(tx.marketplace.restored or 0.0, tx.marketplace.moved)
            return {**shown, "now": tx.now, "restored": since or None}
        # whom to pay is said of all: the files are
        every = listed if more is None and before is None else visits.visit_list(tx, panel)
        return {**shown, "to_pay": visits.to_pay(every), "first": before is None}

    shown = await call.look(act)
    if call.wants_json:
        return Page(name="panel", context=shown)
    return Page(name="panel", context={**shown, "outcomes": OUTCOMES, "kinds": KINDS})


def _number(text: str, name: str) -> int | None:
    """Read a number of the address, which need not be there."""
    if not text:
        return None
    if not text.isdecimal() or not 0 < len(text) < 19 or not int(text):
        raise invalid(name, f"{text[:32]!r} is not a number above 0")
    return int(text)


def _shown(tx: Transaction, panel: Panel, call: Call) -> View:
    shown = panels.view(tx, panel)
    return {**shown, "url": f"{call.origin}{shown['path']}", "visits": panels.count_outcomes(tx, panel.panel)}


async def add_panel(call: Call) -> Page:
    """Register a panel and make its study's link."""
    wanted = dict(await _wanted(call))
    name = wanted.pop("name", "")
    need_library(str(wanted.get("keys", "")))

    def act(tx: Transaction) -> View:
        panel = panels.create(tx, name, wanted)
        secret = {"secret": panels.secret(tx, panel.panel)} if panel.signed else {}
        key = panels.link_key(tx, panel.panel, panel.created)
        return {**_shown(tx, panel, call), "key": key, **secret}

    made = await call.run(act)
    return Page(name="panel", context=made, status=201, location=f"/admin/panels/{name}")


async def put_panel(call: Call) -> Response:
    """Register a panel, or change one; a repeat changes nothing."""
    name, wanted = call.path_params["panel"], await call.json()
    need_library(str(wanted.get("keys", "")))
    return JSONResponse(await call.run(lambda tx: _shown(tx, panels.save(tx, name, wanted), call)))


async def edit_panel(call: Call) -> Page:
    """Change a panel as the form says."""
    name, wanted = call.path_params["panel"], dict(await _wanted(call))
    need_library(str(wanted.get("keys", "")))

    def act(tx: Transaction) -> View:
        panels.find(tx, name)
        return _shown(tx, panels.save(tx, name, wanted), call)

    context = await call.run(act)
    return Page(name="panel", context=context, location=f"/admin/panels/{name}")


async def make_links(call: Call) -> Response:
    """Write a signed link for each name, one a line, as CSV, or JSON for programs."""
    name = call.path_params["panel"]
    if call.sends_json:
        names = (await call.json()).get("names")
    else:
        names = (await call.fields()).get("names", "").split("\n")
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise invalid("names", "must be a list of texts")
    wanted = list(dict.fromkeys(one.strip() for one in names if one.strip()))

    def act(tx: Transaction) -> list[dict[str, str]]:
        panel = panels.find(tx, name)
        url = _shown(tx, panel, call)["url"]
        for one in wanted:
            panels.arrival(
                panel, one, "", "", confirmed=True
            )  # a link that nobody could follow is refused now
        return [{"name": one, "url": f"{url}?{panels.signed_query(tx, panel, one)}"} for one in wanted]

    links = await call.look(act)
    if call.sends_json:
        return JSONResponse({"links": links})
    text = visits.written((workers.inert(one["name"]), one["url"]) for one in links)
    return Response(text, media_type="text/csv", headers=attached(f"{name}-links.csv"))


async def close_panel(call: Call, *, closed: bool = True) -> Page:
    """Let nobody new in; or, where it is not ``closed``, let them in again."""
    name = call.path_params["panel"]
    await call.run(lambda tx: panels.close(tx, name, closed=closed))
    return Page(name="panel", context={"panel": name, "closed": closed}, location=f"/admin/panels/{name}")


async def remove_panel(call: Call) -> Page:
    """Remove a panel that nobody has come from."""
    name = call.path_params["panel"]
    await call.run(lambda tx: panels.remove(tx, name))
    return Page(name="panels", context={"removed": name}, location="/admin/panels")


async def download(call: Call) -> Response:
    """Write one of the files that the panel takes: whom to approve, and what to pay beyond."""
    name, file = call.path_params["panel"], call.path_params["file"]
    write = {"approvals.csv": visits.approvals, "bonuses.csv": visits.bonuses}.get(file)
    if write is None:
        raise Refusal("no_file", f"A panel has no file {file[:40]}.", 404)

    text = await call.look(lambda tx: write(visits.visit_list(tx, panels.find(tx, name))))
    return Response(text, media_type="text/csv", headers=attached(f"{name}-{file}"))


async def report_submissions(call: Call) -> Page:
    """Take over what the panel's list says of its submissions: in JSON, or ids in a form, one a line."""
    name = call.path_params["panel"]
    if call.sends_json:
        said = (await call.json()).get("submissions")
        if not isinstance(said, list) or not all(isinstance(one, Mapping) for one in said):
            raise invalid("submissions", "must be a list of objects")
    else:
        fields = await call.fields()
        kind = "session" if fields.get("by") == "session" else "participant"
        ids = fields.get("ids", "").replace(",", "\n").split("\n")
        said = [{kind: one.strip(), "status": fields.get("status", "")} for one in ids if one.strip()]

    counts = await call.run(lambda tx: visits.report(tx, panels.find(tx, name), said))
    return Page(name="panel", context=counts, location=f"/admin/panels/{name}")


async def end_session(call: Call) -> Page:
    """End a visit by its session, as the panel says that it ended."""
    name, session = call.path_params["panel"], call.path_params["session"]
    outcome = (await call.fields()).get("outcome", "returned")

    ended = [{"session": session, "status": outcome}]
    counts = await call.run(lambda tx: visits.report(tx, panels.find(tx, name), ended))
    if counts["not_here"]:
        raise Refusal("no_session", "Nobody has come with this session.", 404)
    return Page(name="panel", context=counts, location=f"/admin/panels/{name}")


async def record_paid(call: Call) -> Page:
    """Record that the panel has paid visits, in JSON ``by`` what.

    ``by`` may also be ``refused``: it has not; ``seen``: it shows the bonuses that it was asked for; or
    ``replaced``: a person at the panel has approved a part in their place. ``most`` limits what was paid.
    """
    name, wanted = call.path_params["panel"], await call.json() if call.sends_json else {}
    if call.sends_json:
        given = wanted.get("visits")
        numbers = given if isinstance(given, list) else [None]
    else:
        numbers = (await call.fields()).get("visits", "").split(",")
    texts = [str(number) for number in numbers]
    if not all(text.isdecimal() and len(text) < 19 for text in texts):
        raise invalid("visits", "must be numbers of visits")

    found, by = [int(text) for text in texts], wanted.get("by")
    acts: dict[str, Callable[..., int]] = {"refused": visits.take_back_paid, "seen": visits.record_seen}
    acts["replaced"] = partial(visits.record_seen, way="by hand")
    most = None if wanted.get("most") is None else to_cents(wanted["most"], "most")
    act_on = acts.get(str(by)) or partial(visits.record_paid, by=by, most=most)
    context = {"recorded": await call.run(lambda tx: act_on(tx, panels.find(tx, name), found))}
    return Page(name="panel", context=context, location=f"/admin/panels/{name}")


async def _wanted(call: Call) -> Params:
    """Read a panel's properties, as JSON or from the form."""
    return await call.json() if call.sends_json else _of_form(await call.pairs())


def _of_form(pairs: Pairs) -> Params:
    fields = {name: text.strip() for name, text in pairs}
    hits = fields.get("hits") or "1"
    if not hits.isdecimal() or len(hits) > 9:
        raise invalid("hits", "is not a whole number")
    texts = ("name", "participant", "study", "session", "locale", "reward", "keys", "requester")
    ways = {
        outcome: {"code": fields.get(f"code_{outcome}", ""), "url": fields.get(f"url_{outcome}", "")}
        for outcome in OUTCOMES
    }
    return {
        **{name: fields[name] for name in texts if name in fields and (fields[name] or name != "reward")},
        "hits": int(hits),
        "signed": "signed" in fields,
        "confirm": "confirm" in fields,
        # an address that waits for a code leads nowhere without one
        "completion": {
            outcome: way
            for outcome, way in ways.items()
            if way["code"] or (way["url"] and "{code}" not in way["url"])
        },
    }
