"""OpenAPI: the description of the service, with the bodies, keys and refusals that the framework does not see."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

import fairgate
from fairgate.live.service.problems import PROBLEM, Problem
from fairgate.live.service.routes.route import PREFIX, Route
from fairgate.live.spec import NAME, Spec

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
    429: "Too many requests of this kind wait; this one did nothing, and may be sent again.",
    431: "The head is too long.",
    500: "The server met an internal error, which its log describes.",
    503: "The database cannot be reached, or too many ask; nothing was recorded, and the request may be sent again.",
}


ANYWHERE = (400, 413, 431, 500, 503)
"""Refusals of any request: what cannot be read, a body or a head that is too large, trouble of the server."""


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the description of refusals, with those of any request."""
    content = {PROBLEM: {"schema": {"$ref": REF.format(model="Problem")}}}
    return {status: {"description": WORDS[status], "content": content} for status in sorted({*ANYWHERE, *statuses})}


def refusals_of(route: Route) -> dict[int | str, dict[str, Any]]:
    """Return the description of the refusals that a route has; a name with a slash leads to another path, so to 405."""
    body = (408, 409, 415) if route.takes else ()
    return refusals(401, 403, 404, 405, 422, 429, *body, *route.refusals)


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
        add_gates(self.openapi_schema, self.state.routes, self.state.gates.specs)
        return self.openapi_schema


def add_schemas(found: dict[str, Any], routes: Sequence[Route]) -> None:
    """Add the schemas of bodies and of refusals, and of keys."""
    models: list[type[BaseModel]] = [Problem, *(model for route in routes for model in route.takes)]
    _, more = models_json_schema([(model, "validation") for model in models], ref_template=REF)
    schemas = found.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(copy.deepcopy(more["$defs"]))  # examples are the models' own
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


def add_gates(found: dict[str, Any], routes: Sequence[Route], specs: Mapping[str, Spec]) -> None:
    """Add the groups and the range of scores of the gates that are served.

    Bodies have the groups of all gates, and bounds of scores that no gate goes beyond; `x-gates` has them by gate. So
    both are exact if one gate is served. Subjects are left out if no gate takes them.
    """
    ranges = [spec.score_range if spec.scores.outside == "refuse" else (-math.inf, math.inf) for spec in specs.values()]
    low, high = min(each[0] for each in ranges), max(each[1] for each in ranges)
    facts: dict[str, dict[str, Any]] = {
        "group": {"enum": sorted({each for spec in specs.values() for each in spec.groups})},
        "score": {} if math.isinf(low) or math.isinf(high) else {"minimum": low, "maximum": high},
    }
    some = next(iter(specs.values()))
    shown: dict[str, list[Any]] = {"group": some.groups, "score": some.grid[len(some.grid) // 2 :]}
    unknown = () if any(spec.subjects is not None for spec in specs.values()) else ("subject", "subjects")
    for name in {model.__name__ for route in routes for model in route.takes}:
        schema = found["components"]["schemas"][name]
        fields = schema["properties"]
        for each in unknown:
            for part in (fields, *schema["examples"]):
                part.pop(each, None)
        for each, more in facts.items():
            fields.get(each, {}).update(more)
            fields.get(f"{each}s", {}).get("items", {}).update(more)
            for example in schema["examples"]:
                if each in example:
                    example[each] = shown[each][0]
                if f"{each}s" in example:
                    example[f"{each}s"] = list(islice(cycle(shown[each]), len(example[f"{each}s"])))
    found["x-gates"] = {
        name: {"groups": spec.groups, "outside": spec.scores.outside, "range": finite(spec.score_range)}
        | ({} if spec.subjects is None else {"subject_days": spec.subjects.days})
        for name, spec in specs.items()
    }


def finite(bounds: tuple[float, float]) -> list[float] | None:
    """Return bounds as JSON has them; None if there are none."""
    return None if math.isinf(bounds[0]) else list(bounds)


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
