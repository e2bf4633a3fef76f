"""OpenAPI: the description of the service, with the bodies, keys and refusals that the framework does not see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

import fairgate
from fairgate.live.service.problems import PROBLEM, Problem
from fairgate.live.service.routes.route import PREFIX, Route
from fairgate.live.spec import NAME

REF = "#/components/schemas/{model}"

IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A text of the caller's choice, new for each request. A retry with the same key and the same body "
    "gets the first reply, status and body; the same key with another body is a conflict. Callers do not share keys. A "
    "refusal that recorded nothing takes no key. Replies that the log does not give again are stored for 30 days.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
    "example": "2026-11-16-batch-7",
}

GATE = {
    "name": "gate",
    "in": "path",
    "required": True,
    "description": "The gate's name.",
    "schema": {"type": "string", "pattern": NAME},
    "example": "credit",
}

TAGS = [
    {"name": "deciding", "description": "Decide on applications, or report decisions made elsewhere."},
    {"name": "outcomes", "description": "Labels of accepted applications, as they arrive."},
    {"name": "running", "description": "Modes, rounds, approvals, overrides."},
    {"name": "reading", "description": "What is in force, figures, the log, cases, the audit."},
    {
        "name": "keys",
        "description": "Keys of callers. Whoever may make keys can make one of any scope; the log has each.",
    },
    {"name": "probes", "description": "For those who keep the service running."},
]

WORDS = {
    400: "The request cannot be read.",
    401: "The key is missing, unknown, expired, revoked or of another gate.",
    403: "The key is not for this.",
    404: "There is no such thing.",
    405: "The path has no such method.",
    408: "The body took too long to arrive.",
    409: "The request contradicts what is recorded.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "Something in the request does not fit.",
    431: "The head is too long.",
    503: "The database cannot be reached, or too many ask; nothing was recorded, and the request may be sent again.",
}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the description of refusals."""
    content = {PROBLEM: {"schema": {"$ref": REF.format(model="Problem")}}}
    return {status: {"description": WORDS[status], "content": content} for status in sorted(statuses)}


def refusals_of(route: Route) -> dict[int | str, dict[str, Any]]:
    """Return the description of the refusals that a route has."""
    body = (408, 409, 413, 415) if route.takes else ()
    return refusals(401, 403, 404, 422, 431, 503, *body, *route.refusals)


def extras(route: Route) -> dict[str, Any]:
    """Return what the framework does not know of a route: key, body, the header of retries."""
    parameters = [GATE, {**IDEMPOTENCY_KEY, "required": route.keyed}] if route.method == "POST" else [GATE]
    found: dict[str, Any] = {"security": [{"key": [route.scope]}], "parameters": parameters}
    if route.takes:
        refs = [{"$ref": REF.format(model=model.__name__)} for model in route.takes]
        schema = refs[0] if len(refs) == 1 else {"anyOf": refs}
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return found


class App(FastAPI):
    """The application, with a complete description of itself."""

    def openapi(self) -> dict[str, Any]:
        """Return the description."""
        if self.openapi_schema is None:
            found = super().openapi()
            add_schemas(found, self.state.routes)
            self.openapi_schema = found
        return self.openapi_schema


def add_schemas(found: dict[str, Any], routes: Sequence[Route]) -> None:
    """Add the schemas of bodies and of refusals, and of keys."""
    models: list[type[BaseModel]] = [Problem, *(model for route in routes for model in route.takes)]
    _, more = models_json_schema([(model, "validation") for model in models], ref_template=REF)
    schemas = found.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(more["$defs"])
    for framework in ("HTTPValidationError", "ValidationError"):
        schemas.pop(framework, None)
    found["components"]["securitySchemes"] = {
        "key": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "fg_…",
            "description": "A key of the gate, made by `fairgate live keys add`. Each route needs one of the scopes "
            "decide, rounds, outcomes, read, admin, audit; none implies another. But admin may make keys, so who has "
            "it can give themselves any scope: each key that is made is an event of the log, with who made it.",
        }
    }


def make_description(title: str = "fairgate") -> dict[str, Any]:
    """Return title, version and words of the service."""
    return {
        "title": title,
        "version": fairgate.__version__,
        "summary": "A gate that decides, learns, survives and can be audited.",
        "description": f"All routes of a gate are under `{PREFIX}` and need the header `Authorization: Bearer fg_…`. "
        "Nothing is acknowledged before it is on disk. Every refusal is `application/problem+json` with one sentence.",
        "openapi_tags": TAGS,
    }
