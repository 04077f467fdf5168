"""The routes of the marketplace."""

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from prefjudge.marketplace import site
from prefjudge.marketplace.people.qualifications import TAKEN
from prefjudge.marketplace.web import (
    admin,
    admin_signin,
    frames,
    panel_pages,
    panels,
    person_pages,
    qualifications,
    signin,
    work,
)
from prefjudge.marketplace.web.access import (
    PublicRoute,
    WorkerRoute,
    admin_handler,
    public_handler,
    session_of,
    worker_handler,
)
from prefjudge.marketplace.web.middleware import SecurityMiddleware
from prefjudge.marketplace.web.pages import Page, respond
from prefjudge.marketplace.web.requester_api import is_for_topics, refuse_topics, requester_api
from prefjudge.marketplace.web.state import AppState
from prefjudge.marketplace.wording import ENGLISH, catalogues
from prefjudge.version import __version__

WORKER_ROUTES: tuple[tuple[str, str, WorkerRoute], ...] = (
    ("POST", "/signout", signin.sign_out),
    ("GET", "/account", signin.show_account),
    ("POST", "/account/password", signin.set_password),
    ("GET", "/hits", work.list_groups),
    ("GET", "/hits/{hit_id}", work.preview),
    ("POST", "/hits/{hit_id}/accept", work.accept),
    ("GET", "/groups/{group_id}", work.preview),
    ("POST", "/groups/{group_id}/accept", work.accept),
    ("GET", "/assignments/{assignment_id}", work.show_assignment),
    ("POST", "/assignments/{assignment_id}/return", work.give_back),
    ("GET", "/assignments/{assignment_id}/draft", work.show_draft),
    ("POST", "/assignments/{assignment_id}/draft", work.save_draft),
    ("POST", "/assignments/{assignment_id}/agreed", work.agree),
    ("GET", "/assignments/{assignment_id}/done", work.show_done),
    ("POST", "/assignments/{assignment_id}/dispute", work.dispute),
    ("POST", "/visit/end", panels.leave),
    ("GET", "/history", work.history),
    ("GET", "/inbox", work.inbox),
    ("GET", "/qualifications", qualifications.list_types),
    ("GET", "/qualifications/{type_id}", qualifications.show_type),
    ("POST", "/qualifications/{type_id}", qualifications.request_type),
)
PUBLIC_ROUTES: tuple[tuple[str, str, PublicRoute], ...] = (
    ("GET", "/signin", signin.show_sign_in),
    ("POST", "/signin", signin.sign_in),
    ("POST", "/language", signin.choose_language),
    ("GET", "/admin/signin", admin_signin.show_sign_in),
    ("POST", "/admin/signin", admin_signin.sign_in),
    ("GET", "/panel/{panel}/{key}", panels.show_arrival),
    ("POST", "/panel/{panel}/{key}", panels.arrive),
)
ADMIN_ROUTES: tuple[tuple[str, str, PublicRoute], ...] = (
    ("GET", "/admin", admin.show),
    ("GET", "/admin/overview", admin.show),
    ("POST", "/admin/signout", admin_signin.sign_out),
    ("GET", "/admin/workers", admin.list_workers),
    ("POST", "/admin/workers", admin.add_worker),
    ("GET", "/admin/workers/{worker_id}", person_pages.show_worker),
    ("GET", "/admin/workers/{worker_id}/export.json", person_pages.export_worker),
    ("POST", "/admin/workers/{worker_id}/forget", person_pages.forget_worker),
    ("POST", "/admin/workers/{worker_id}/invite", admin.invite_again),
    ("POST", "/admin/workers/{worker_id}/master", admin.make_master),
    ("POST", "/admin/requesters", admin.add_requester),
    ("POST", "/admin/disputes/{assignment_id}", admin.answer_dispute),
    ("DELETE", "/admin/keys/{access_key}", admin.revoke_key),
    ("POST", "/admin/funds", admin.add_funds),
    ("GET", "/admin/payouts", admin.list_payouts),
    ("POST", "/admin/payouts", admin.add_payout),
    ("GET", "/admin/panels", panel_pages.list_panels),
    ("POST", "/admin/panels", panel_pages.add_panel),
    ("GET", "/admin/panels/{panel}", panel_pages.show_panel),
    ("PUT", "/admin/panels/{panel}", panel_pages.put_panel),
    ("POST", "/admin/panels/{panel}", panel_pages.edit_panel),
    ("DELETE", "/admin/panels/{panel}", panel_pages.remove_panel),
    ("POST", "/admin/panels/{panel}/remove", panel_pages.remove_panel),
    ("POST", "/admin/panels/{panel}/links", panel_pages.make_links),
    ("POST", "/admin/panels/{panel}/close", panel_pages.close_panel),
    ("POST", "/admin/panels/{panel}/open", panel_pages.open_panel),
    ("POST", "/admin/panels/{panel}/submissions", panel_pages.report_submissions),
    ("POST", "/admin/panels/{panel}/sessions/{session}/end", panel_pages.end_session),
    ("POST", "/admin/panels/{panel}/paid", panel_pages.record_paid),
    ("GET", "/admin/panels/{panel}/{file}", panel_pages.download),
    ("POST", "/admin/faults", admin.add_fault),
    ("DELETE", "/admin/faults", admin.clear_faults),
    ("GET", "/admin/events", admin.list_events),
    ("GET", "/admin/log", admin_signin.show_log),
    ("GET", "/metrics", admin.metrics),
)


def build_app(state: AppState) -> Starlette:
    """Put the routes together."""

    async def home(request: Request) -> Response:
        if request.method == "POST":
            return refuse_topics() if is_for_topics(request) else await requester_api(state, request)
        session = await session_of(state, request)
        return respond(state, request, Page(name="hits", location="/hits" if session else "/signin"))

    async def group_by_old_address(request: Request) -> Response:
        group_id = request.query_params.get("groupId", "")
        location = f"/groups/{group_id}" if group_id.isalnum() else "/hits"
        return respond(state, request, Page(name="preview", location=location))

    async def frame(request: Request) -> Response:
        return await frames.show_frame(state, request)

    async def submit(request: Request) -> Response:
        return await work.external_submit(state, request)

    async def health(request: Request) -> Response:
        await state.executor.run(lambda tx: tx.rows("SELECT 1"), write=False)
        kind = {"marketplace": state.marketplace.ident, "sandbox": state.marketplace.sandbox}
        return JSONResponse({**kind, "status": "ok", "version": __version__, "comparators": [TAKEN]})

    async def asset(request: Request) -> Response:
        language = request.query_params.get("language", ENGLISH)
        wording = state.settings.wording.speaking(language if language in catalogues() else ENGLISH)
        found = site.asset(request.path_params["name"], wording)
        if found is None:
            return Response(status_code=404)
        content, media_type = found
        return Response(content, media_type=media_type, headers={"Cache-Control": "max-age=300"})

    routes = [
        Route("/", home, methods=["GET", "POST"]),
        Route("/healthz", health),
        Route("/mturk/preview", group_by_old_address),
        Route("/mturk/externalSubmit", submit, methods=["GET", "POST"]),
        Route("/frames/{hit_id}", frame),
        Route("/assets/{name}", asset),
    ]
    routes += [Route(path, worker_handler(state, act), methods=[verb]) for verb, path, act in WORKER_ROUTES]
    public = PUBLIC_ROUTES
    routes += [Route(path, public_handler(state, act), methods=[verb]) for verb, path, act in public]
    routes += [Route(path, admin_handler(state, act), methods=[verb]) for verb, path, act in ADMIN_ROUTES]

    async def lost(request: Request, _: Exception) -> Response:
        said = {"status": 404, "title": "Page not found", "text": "There is no page at this address."}
        return respond(state, request, Page(name="error", context=said, status=404))

    async def broken(request: Request, _: Exception) -> Response:
        said = {"status": 500, "title": "Something broke", "text": "This is not your fault. Try again."}
        return respond(state, request, Page(name="error", context=said, status=500))

    return Starlette(
        routes=routes,
        middleware=[Middleware(SecurityMiddleware, state=state)],
        exception_handlers={404: lost, 500: broken},
    )
