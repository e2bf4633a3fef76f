"""Every route with every kind of key: 401 without a good one, 403 with another scope, and no other way in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from fairgate.live.client import Client
from fairgate.live.failures import UnknownKeyError
from fairgate.live.gate import Gate
from fairgate.live.keys import create_key, list_keys, revoke_key
from fairgate.live.service.routes import ROUTES
from fairgate.live.service.routes.route import PREFIX, Route
from tests.live.serving import SCOPES, Served, make_spec, service

BODIES: dict[str, Any] = {
    "/decisions": {"id": "new", "group": "a", "score": 0.7},
    "/decisions/batch": {"ids": ["new"], "groups": ["a"], "scores": [0.7]},
    "/reports": {"ids": ["new"], "groups": ["a"], "scores": [0.7], "accepted": [True]},
    "/outcomes": {"ids": ["known"], "labels": [1]},
    "/corrections": {"ids": ["known"], "labels": [0], "reason": "wrong file"},
    "/overrides": {"id": "known", "accepted": False, "reason": "asked to"},
    "/mode": {"mode": "hold", "reason": "to be sure"},
    "/secret": {"reason": "each quarter"},
    "/approvals": {"waiting": "0", "reason": "looks well"},
    "/keys": {"name": "another", "scopes": ["read"]},
}
"""A body that fits, for each route that takes one."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with service(str(tmp_path_factory.mktemp("keys") / "gate.db"), make_spec(), make_spec("other")) as found:
        with found.client() as client:
            client.decide("known", "a", 0.7)
        gate: Gate = found.app.state.gates["credit"]
        found.keys["credit", "revoked"] = create_key(gate, "revoked", SCOPES)
        revoke_key(gate, found.keys["credit", "revoked"].split("_")[1])
        yield found


def ask(served: Served, route: Route, authorization: str | None) -> httpx.Response:
    """Ask a route with its usual body."""
    path = (PREFIX + route.path).replace(":path", "").format(gate="credit", number=0, key="0" * 12, name="known")
    body = BODIES[route.path] if route.method == "POST" and route.takes else None
    headers = {} if authorization is None else {"Authorization": authorization}
    return served.http.request(route.method, served.url + path, json=body, headers=headers)


def named(route: Route) -> str:
    return f"{route.method} {route.path}"


@pytest.mark.parametrize("route", ROUTES, ids=named)
def test_a_route_takes_good_keys_of_its_scope_only(served: Served, route: Route) -> None:
    bad = [None, "", "Bearer", "Basic Zm9vOmJhcg==", "Bearer nonsense", f"Bearer {'x' * 5000}"]
    bad += [
        f"Bearer {served.keys['credit', 'revoked']}",
        f"Bearer {served.keys['other', 'all']}",
        served.keys["credit", "all"],
    ]
    bad += [f"Bearer {served.keys['credit', 'all'][:-1]}", f"Bearer {served.keys['credit', 'all']}x"]
    for authorization in bad:
        response = ask(served, route, authorization)
        assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer"), authorization
        assert response.headers["content-type"] == "application/problem+json"
    for scope in SCOPES:
        response = ask(served, route, f"Bearer {served.keys['credit', scope]}")
        if scope == route.scope:
            assert response.status_code not in (401, 403), response.text
            assert response.status_code < 500, response.text
        else:
            assert response.status_code == 403
            assert response.json()["detail"].endswith(f"this needs {route.scope}")


def test_there_is_no_other_way_to_a_gate(served: Served) -> None:
    """Every path of the API is in the table, and the table is what the description says."""
    paths = served.http.get(f"{served.url}/openapi.json").json()["paths"]
    described = {(method.upper(), path) for path, item in paths.items() for method in item if path.startswith("/v1")}
    table = {(route.method, (PREFIX + route.path).replace(":path", "")): route.scope for route in ROUTES}
    assert described == set(table)
    assert {path for path in paths if not path.startswith("/v1")} == {"/health", "/ready", "/metrics"}
    for (method, path), scope in table.items():
        operation = paths[path][method.lower()]
        assert operation["security"] == [{"key": [scope]}]
        assert {"401", "403", "503"} <= set(operation["responses"])


def test_an_expired_key_is_refused(served: Served) -> None:
    gate: Gate = served.app.state.gates["credit"]
    short = create_key(gate, "short", ["read"], datetime.now(UTC) + timedelta(seconds=0.3))
    headers = {"Authorization": f"Bearer {short}"}
    assert served.http.get(f"{served.url}/v1/gates/credit", headers=headers).status_code == 200
    end = datetime.now(UTC) + timedelta(seconds=3)
    while (found := served.http.get(f"{served.url}/v1/gates/credit", headers=headers)).status_code == 200:
        assert datetime.now(UTC) < end
    assert found.status_code == 401
    assert "expired" in found.json()["detail"]


def test_a_key_revoked_elsewhere_stops_within_a_second(served: Served) -> None:
    """While requests go on, and through another process' connection."""
    gate: Gate = served.app.state.gates["credit"]
    token = create_key(gate, "leaked", ["read"])
    key = {"Authorization": f"Bearer {token}"}
    assert served.ask("GET", "", headers=key).status_code == 200
    other = Gate(str(gate.engine.url.database), "credit")
    revoke_key(other, token.split("_")[1])
    other.shut()
    end = datetime.now(UTC) + timedelta(seconds=1.5)
    while served.ask("GET", "", headers=key).status_code == 200:
        assert datetime.now(UTC) < end
    assert served.ask("GET", "", headers=key).status_code == 401


def test_keys_are_made_listed_and_revoked(served: Served) -> None:
    expires = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    made = served.ask("POST", "/keys", json={"name": "branch 7", "scopes": ["decide", "read"], "expires": expires})
    token = made.json()["key"]
    assert served.ask("POST", "/keys", json={"name": "branch 7", "scopes": ["read"]}).status_code == 409
    assert served.http.get(f"{served.url}/v1/gates/credit", headers={"Authorization": f"Bearer {token}"}).is_success
    listed = {each["name"]: each for each in served.ask("GET", "/keys").json()}["branch 7"]
    assert (listed["scopes"], listed["revoked"]) == (["decide", "read"], None)
    assert token.split("_", 2)[2] not in served.ask("GET", "/keys").text
    assert served.ask("DELETE", f"/keys/{listed['id']}").json()["revoked"]
    with Client(served.url, "credit", token) as client, pytest.raises(UnknownKeyError, match="revoked"):
        client.status()
    gate: Gate = served.app.state.gates["credit"]
    assert {each.name: each.revoked is None for each in list_keys(gate.engine, "credit")}["branch 7"] is False
    assert [event.kind for event in gate.log(newest=True, limit=1)] == ["key-revoked"]
    assert gate.log(newest=True, limit=1)[0].actor == "key:all"


@pytest.mark.parametrize("token", ["all", "bogus", "none"])
def test_whoever_has_no_key_of_a_gate_does_not_learn_whether_there_is_one(served: Served, token: str) -> None:
    tokens = {"all": served.keys["credit", "all"], "bogus": f"fg_{'0' * 12}_{'x' * 43}", "none": ""}
    found = []
    for gate in ("other", "nothing", "x" * 500):
        answer = served.http.get(
            f"{served.url}/v1/gates/{gate}", headers={"Authorization": f"Bearer {tokens[token]}".strip()}
        )
        found.append((answer.status_code, answer.content, sorted(answer.headers)))
    assert found[0][0] == 401
    assert found[0] == found[1] == found[2]


def test_a_gate_that_is_served_elsewhere_is_not_found_here(served: Served) -> None:
    """By those who have a key of it: several services may share a database."""
    database = str(served.app.state.engine.url.database)
    elsewhere = Gate(database, "elsewhere", spec=make_spec("elsewhere"))
    headers = {"Authorization": f"Bearer {create_key(elsewhere, 'reader', ['read'])}"}
    elsewhere.shut()
    found = served.http.get(f"{served.url}/v1/gates/elsewhere", headers=headers)
    assert (found.status_code, found.json()["detail"]) == (404, "there is no gate 'elsewhere' here")


def test_metrics_need_a_key_unless_they_are_asked_for_from_nearby(served: Served) -> None:
    assert "fairgate_decisions_total" in served.http.get(f"{served.url}/metrics").text
    far = {"Host": "gate.example.org"}  # a page elsewhere that had its name point here
    assert served.http.get(f"{served.url}/metrics", headers=far).status_code == 401
    for scope, status in (("read", 200), ("decide", 403)):
        key = {"Authorization": f"Bearer {served.keys['other', scope]}"}
        assert served.http.get(f"{served.url}/metrics", headers={**far, **key}).status_code == status
    assert served.http.get(f"{served.url}/metrics", headers={"Authorization": "Bearer x"}).status_code == 401
