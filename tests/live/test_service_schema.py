"""The whole description against the whole service: no 5xx, and every answer is one that the description has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from fairgate.live.config import ServiceSettings
from fairgate.live.keys import create_key
from fairgate.live.service.app import make_app
from fairgate.live.service.routes import ROUTES
from fairgate.live.service.routes.route import PREFIX
from tests.live.serving import SCOPES, make_spec


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[schemathesis.BaseSchema]:
    settings_ = ServiceSettings(database=str(tmp_path_factory.mktemp("schema") / "gate.db"), gates=[make_spec()])
    app = make_app(settings_)
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    token = create_key(app.state.gates["credit"], "all", SCOPES)
    schema.config.update(headers={"Authorization": f"Bearer {token}"})
    schema.config.generation.update(with_security_parameters=False, allow_extra_parameters=False)
    for item in schema.raw_schema["paths"].values():
        for operation in item.values():
            for parameter in operation.get("parameters", []):
                if parameter["name"] == "gate":
                    parameter["schema"] = {"enum": ["credit"]}
    yield schema
    app.state.gates.shut()


COLUMNS = ("ids", "groups", "scores", "labels", "accepted")
CHECKED_ELSEWHERE = [ignored_auth, positive_data_acceptance]
STARTING = [not_a_server_error]
"""Not checked of /ready: the service starts for each request here, and is not ready until it has read the logs."""


OPERATIONS = [(route.method, (PREFIX + route.path).replace(":path", "")) for route in ROUTES]
PROBES = [("GET", "/health"), ("GET", "/ready"), ("GET", "/metrics")]


def checked(api: schemathesis.BaseSchema, method: str, path: str, mode: GenerationMode, examples: int) -> list[int]:
    """Send requests, check each answer against the description, and return the statuses."""
    statuses = []

    @settings(
        max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=[*HealthCheck]
    )
    @given(case=api[path][method].as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        if mode is GenerationMode.POSITIVE and isinstance(case.body, dict):
            case.body = fitted(case.body)
        # The grid of a gate is not in the description, so some of what fits it is refused.
        excluded = CHECKED_ELSEWHERE + (STARTING if path == "/ready" else [])
        statuses.append(case.call_and_validate(excluded_checks=excluded).status_code)

    check()
    return statuses


def fitted(body: dict[str, Any]) -> dict[str, Any]:
    """Return a body with what the description does not say: columns of one length."""
    columns = {name: value for name, value in body.items() if isinstance(value, list) and name in COLUMNS}
    least = min(map(len, columns.values()), default=0)
    return {**body, **{name: value[:least] for name, value in columns.items()}}


@pytest.mark.parametrize(("method", "path"), OPERATIONS + PROBES)
def test_requests_that_fit_the_description(api: schemathesis.BaseSchema, method: str, path: str) -> None:
    statuses = checked(api, method, path, GenerationMode.POSITIVE, 6)
    if path.endswith(("/decisions", "/batch", "/keys", "/log", "/cases", "/figures", "/snapshot")):
        assert 200 in statuses


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_requests_that_do_not_fit_it(api: schemathesis.BaseSchema, method: str, path: str) -> None:
    assert 200 not in checked(api, method, path, GenerationMode.NEGATIVE, 5)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_many_more_requests(api: schemathesis.BaseSchema, method: str, path: str) -> None:
    for mode in GenerationMode:
        checked(api, method, path, mode, 30)
