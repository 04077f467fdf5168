"""The routes of the marketplace."""

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from prefjudge import __version__
from prefjudge.marketplace import site
from prefjudge.marketplace.web import admin, arriving, framing, qualifying, signing_in, working
from prefjudge.marketplace.web.api import requester_api
from prefjudge.marketplace.web.doors import (
    OpenRoute,
    WorkerRoute,
    admin_door,
    open_door,
    session_of,
    worker_door,
)
from prefjudge.marketplace.web.front import Front
from prefjudge.marketplace.web.guard import Guard
from prefjudge.marketplace.web.pages import Page, respond

WORKER_ROUTES: tuple[tuple[str, str, WorkerRoute], ...] = (
    ("POST", "/signout", signing_in.sign_out),
    ("GET", "/account", signing_in.show_account),
    ("POST", "/account/password", signing_in.set_password),
    ("GET", "/hits", working.list_groups),
    ("GET", "/hits/{hit_id}", working.preview),
    ("POST", "/hits/{hit_id}/accept", working.accept),
    ("GET", "/groups/{group_id}", working.preview),
    ("POST", "/groups/{group_id}/accept", working.accept),
    ("GET", "/assignments/{assignment_id}", working.show_assignment),
    ("POST", "/assignments/{assignment_id}/return", working.give_back),
    ("GET", "/assignments/{assignment_id}/draft", working.show_draft),
    ("POST", "/assignments/{assignment_id}/draft", working.save_draft),
    ("GET", "/assignments/{assignment_id}/done", working.show_done),
    ("GET", "/history", working.history),
    ("GET", "/inbox", working.inbox),
    ("GET", "/qualifications", qualifying.list_types),
    ("GET", "/qualifications/{type_id}", qualifying.show_type),
    ("POST", "/qualifications/{type_id}", qualifying.request_type),
)
OPEN_ROUTES: tuple[tuple[str, str, OpenRoute], ...] = (
    ("GET", "/signin", signing_in.show_sign_in),
    ("POST", "/signin", signing_in.sign_in),
    ("GET", "/admin/signin", admin.show_sign_in),
    ("POST", "/admin/signin", admin.sign_in),
    ("GET", "/panel/{panel}/{key}", arriving.show_arrival),
    ("POST", "/panel/{panel}/{key}", arriving.arrive),
)
ADMIN_ROUTES: tuple[tuple[str, str, OpenRoute], ...] = (
    ("GET", "/admin", admin.show),
    ("GET", "/admin/overview", admin.show),
    ("POST", "/admin/signout", admin.sign_out),
    ("GET", "/admin/workers", admin.list_workers),
    ("POST", "/admin/workers", admin.add_worker),
    ("POST", "/admin/workers/{worker_id}/invite", admin.invite_again),
    ("POST", "/admin/requesters", admin.add_requester),
    ("DELETE", "/admin/keys/{access_key}", admin.revoke_key),
    ("POST", "/admin/funds", admin.add_funds),
    ("GET", "/admin/payouts", admin.list_payouts),
    ("POST", "/admin/payouts", admin.add_payout),
    ("POST", "/admin/panels", admin.add_panel),
    ("POST", "/admin/faults", admin.add_fault),
    ("DELETE", "/admin/faults", admin.clear_faults),
    ("GET", "/admin/events", admin.list_events),
    ("GET", "/metrics", admin.metrics),
)


def build_app(front: Front) -> Starlette:
    """Put the routes together."""

    async def home(request: Request) -> Response:
        if request.method == "POST":
            return await requester_api(front, request)
        session = await session_of(front, request)
        return respond(front, request, Page(name="hits", location="/hits" if session else "/signin"))

    async def group_by_old_address(request: Request) -> Response:
        group_id = request.query_params.get("groupId", "")
        location = f"/groups/{group_id}" if group_id.isalnum() else "/hits"
        return respond(front, request, Page(name="preview", location=location))

    async def frame(request: Request) -> Response:
        return await framing.show_frame(front, request)

    async def submit(request: Request) -> Response:
        return await working.external_submit(front, request)

    async def health(request: Request) -> Response:
        await front.desk.run(lambda turn: turn.rows("SELECT 1"), write=False)
        kind = {"marketplace": front.market.ident, "sandbox": front.market.sandbox}
        return JSONResponse({**kind, "status": "ok", "version": __version__})

    routes = [
        Route("/", home, methods=["GET", "POST"]),
        Route("/healthz", health),
        Route("/mturk/preview", group_by_old_address),
        Route("/mturk/externalSubmit", submit, methods=["GET", "POST"]),
        Route("/frames/{hit_id}", frame),
        Route("/assets/{name}", _asset),
    ]
    routes += [Route(path, worker_door(front, act), methods=[verb]) for verb, path, act in WORKER_ROUTES]
    routes += [Route(path, open_door(front, act), methods=[verb]) for verb, path, act in OPEN_ROUTES]
    routes += [Route(path, admin_door(front, act), methods=[verb]) for verb, path, act in ADMIN_ROUTES]

    async def lost(request: Request, _: Exception) -> Response:
        said = {"status": 404, "title": "Nothing here", "text": "There is no page at this address."}
        return respond(front, request, Page(name="error", context=said, status=404))

    async def broken(request: Request, _: Exception) -> Response:
        said = {"status": 500, "title": "Something broke", "text": "It is not your fault. Try again."}
        return respond(front, request, Page(name="error", context=said, status=500))

    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, front=front)],
        exception_handlers={404: lost, 500: broken},
    )


async def _asset(request: Request) -> Response:
    found = site.asset(request.path_params["name"])
    if found is None:
        return Response(status_code=404)
    content, media_type = found
    return Response(content, media_type=media_type, headers={"Cache-Control": "max-age=300"})
