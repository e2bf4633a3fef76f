"""App: the service, put together from its routes, keys, limits and metrics."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware

from fairgate.live.config import ServiceSettings
from fairgate.live.page.routes import router as page
from fairgate.live.page.secret import read_secret
from fairgate.live.service.auth import KeyCache
from fairgate.live.service.gates import Gates
from fairgate.live.service.heads import Heads
from fairgate.live.service.lanes import Lanes
from fairgate.live.service.limits import BodyLimit
from fairgate.live.service.logs import Journal, tell_start, tell_stop
from fairgate.live.service.metrics import Metrics, Timed
from fairgate.live.service.openapi import App, extras, make_description, refusals_of
from fairgate.live.service.problems import answer_problems
from fairgate.live.service.proxies import Forwarded
from fairgate.live.service.routes import ROUTES, probes, reference
from fairgate.live.service.routes.route import PREFIX, GateRoute

BODY_SECONDS = 20.0
"""How long a client may take to send a body."""


def make_app(settings: ServiceSettings, body_seconds: float = BODY_SECONDS) -> FastAPI:
    """Return the application that serves the gates of these settings; it opens them when it starts."""
    gates = Gates(settings)
    engine = gates.database.engine
    metrics = Metrics(gates)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(gates.try_to_open)
        ticking = asyncio.create_task(gates.keep_ticking())
        tell_start(gates)
        try:
            yield
        finally:
            ticking.cancel()
            await asyncio.wait([ticking])
            await run_in_threadpool(gates.shut)
            tell_stop()

    app = App(
        **make_description(),
        lifespan=lifespan,
        docs_url=None,  # those pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        middleware=[
            *([Middleware(Forwarded)] if settings.behind_proxy else []),
            Middleware(Heads),
            Middleware(Timed, metrics=metrics, journal=Journal(gates, settings.slow_seconds)),
            Middleware(BodyLimit, most=settings.max_body, seconds=body_seconds),
        ],
    )
    app.state.settings = settings
    app.state.gates = gates
    app.state.engine = engine
    app.state.metrics = metrics
    app.state.lanes = Lanes()
    app.state.keys = KeyCache(engine, app.state.lanes)
    app.state.scopes = {route.endpoint: route.scope for route in ROUTES}
    app.state.routes = ROUTES
    for route in ROUTES:
        app.router.add_api_route(
            PREFIX + route.path,
            route.endpoint,
            methods=[route.method],
            response_model=route.gives,
            status_code=route.status,
            responses=refusals_of(route),
            openapi_extra=extras(route),
            tags=[route.tag],
            route_class_override=GateRoute,
        )
    for router in (probes.router, reference.router, page(gates, engine, read_secret(settings.session_secret))):
        app.router.routes += router.routes  # included, they would be one route without methods
    answer_problems(app)
    return app
