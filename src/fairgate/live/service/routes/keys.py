"""Keys."""

from __future__ import annotations

from fairgate.live.service.routes.route import Route

ROUTES: tuple[Route, ...] = ()
