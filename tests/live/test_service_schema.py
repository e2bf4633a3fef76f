"""The whole description against the whole service: no 5xx, and every answer is one that the description has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode

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
    schema.config.update(headers={"Authorization": f"Bearer {token}"}, parameters={"path.gate": "credit"})
    yield schema
    app.state.gates.shut()


OPERATIONS = [(route.method, (PREFIX + route.path).replace(":path", "")) for route in ROUTES]
OPERATIONS += [("GET", "/health"), ("GET", "/ready"), ("GET", "/metrics")]


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: str(mode.value))
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_answer_is_as_described(
    api: schemathesis.BaseSchema, method: str, path: str, mode: GenerationMode
) -> None:
    """Requests that fit the description, and requests that do not."""

    @settings(max_examples=8, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(case=api[path][method].as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        case.call_and_validate()

    check()
