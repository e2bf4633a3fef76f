"""Routes: the table of all of them, those that are asked most first."""

from __future__ import annotations

from fairgate.live.service.routes import deciding, keys, outcomes, reading, running
from fairgate.live.service.routes.route import Route

ROUTES: tuple[Route, ...] = (*deciding.ROUTES, *outcomes.ROUTES, *running.ROUTES, *reading.ROUTES, *keys.ROUTES)
"""All routes of a gate, each with the scope that it needs."""
