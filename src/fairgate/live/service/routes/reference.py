"""Reference: the description of the service as a page that loads nothing from elsewhere."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from fairgate.live.page.answers import PageRoute
from fairgate.live.page.views import render

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/docs")
def docs(request: Request) -> Response:
    """Show the description of all routes."""
    found = request.app.openapi()
    groups = [
        {"name": tag["name"].capitalize(), "about": tag["description"], "operations": operations(found, tag["name"])}
        for tag in found["tags"]
    ]
    return HTMLResponse(render("docs", about=found["info"]["description"].replace("`", ""), groups=groups))


def operations(found: dict[str, Any], tag: str) -> list[dict[str, Any]]:
    """Return what the page says of the routes of a tag."""
    return [
        told(found, method, path, operation)
        for path, item in found["paths"].items()
        for method, operation in item.items()
        if tag in operation["tags"]
    ]


def told(found: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> dict[str, Any]:
    """Return what the page says of one route."""
    schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    names = [each["$ref"].rpartition("/")[2] for each in schema.get("anyOf", [schema]) if "$ref" in each]
    needed = [scope for keys in operation.get("security", []) for scope in keys.get("key", [])]
    return {
        "method": method.upper(),
        "path": path,
        "scope": ", ".join(needed),
        "about": operation["description"].replace("`", ""),
        "parameters": [
            {"name": each["name"], "place": each["in"], "about": each.get("description", "")}
            for each in operation.get("parameters", [])
            if each["name"] != "gate"
        ],
        "examples": [json.dumps(found["components"]["schemas"][name]["examples"][0]) for name in names],
        "answers": sorted(operation["responses"]),
    }
