"""Dockerfile and compose.yaml do what they say: their steps run here without a container, with a real PostgreSQL."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.live.containers import Image, Step, filled, stages
from tests.live.shell import free_port

ROOT = Path(__file__).parents[2]
BUILD, FINAL = stages(ROOT / "Dockerfile")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
GATE, DATABASE = COMPOSE["services"]["gate"], COMPOSE["services"]["database"]


def only(steps: list[Step], instruction: str) -> Step:
    (found,) = [step for step in steps if step.instruction == instruction]
    return found


def test_the_image_runs_as_a_user_of_its_own_and_says_how_it_is() -> None:
    user = only(FINAL, "USER").rest
    assert any(step.instruction == "RUN" and re.search(rf"useradd .*\b{user}$", step.rest) for step in FINAL)
    order = [step.instruction for step in FINAL]
    assert order.index("USER") < order.index("ENTRYPOINT")
    assert json.loads(only(FINAL, "VOLUME").rest) == [only(FINAL, "WORKDIR").rest]
    assert f":{only(FINAL, 'EXPOSE').rest}/health" in only(FINAL, "HEALTHCHECK").words[-1]


def test_what_is_copied_is_there_and_not_ignored() -> None:
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [
        step.rest.split()[:-1] for step in (*BUILD, *FINAL) if step.instruction == "COPY" and "--from" not in step.rest
    ]
    named = {name for names in copied for name in names}
    assert named == let_in
    assert all((ROOT / name).exists() for name in named)


def test_compose_has_what_it_names() -> None:
    assert GATE["command"] == only(FINAL, "CMD").words
    assert GATE["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert DATABASE["healthcheck"]["test"][0] == "CMD"
    named = {volume.split(":")[0] for service in (GATE, DATABASE) for volume in service["volumes"]}
    assert named == set(COMPOSE["volumes"])
    assert all(service["restart"] == "unless-stopped" for service in (GATE, DATABASE))
    assert all(port.startswith("127.0.0.1:") for port in GATE["ports"])  # open to others only by a proxy
    secrets = [
        value for service in (GATE, DATABASE) for name, value in service["environment"].items() if "PASSWORD" in name
    ]
    assert len(secrets) == 2
    assert all(re.fullmatch(r"\$\{GATE_PASSWORD:\?.+\}", secret) for secret in secrets)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    made = Image(tmp_path_factory.mktemp("image"), ROOT)
    for stage in (BUILD, FINAL):
        made.build(stage)
    return made


def told_of() -> list[str]:
    """The words of the command that compose.yaml says to begin with."""
    (line,) = re.findall(r"docker compose run --rm gate (init .+)", (ROOT / "compose.yaml").read_text())
    return str(line).split()


@contextmanager
def running(image: Image, port: int, variables: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """The service as compose starts it, on another port."""
    command = [*only(FINAL, "ENTRYPOINT").words, *GATE["command"]]
    assert command[-4:] == ["--host", "0.0.0.0", "--port", "8000"]
    with (image.place / "service.log").open("ab") as log:
        began = subprocess.Popen([*command[:-1], str(port)], cwd=image.place, env=variables, stdout=log, stderr=log)
    try:
        check = [part.replace("8000", str(port)) for part in only(FINAL, "HEALTHCHECK").words]
        for _ in range(200):
            if not subprocess.run(check, env=variables, capture_output=True, check=False).returncode:
                break
            assert began.poll() is None, (image.place / "service.log").read_text()
            time.sleep(0.05)
        yield began
    finally:
        if began.poll() is None:
            began.kill()
            began.wait()


def decide(port: int, key: str, application: dict[str, Any]) -> dict[str, Any]:
    """Ask for a decision, as any program can."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/gates/credit/decisions",
        json.dumps(application).encode(),
        {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


@pytest.mark.slow
def test_from_the_wheel_to_a_decision_in_postgresql(image: Image, postgresql_url: str) -> None:
    given = {
        name: filled(value, {"GATE_PASSWORD": "not asked for here"}) for name, value in GATE["environment"].items()
    }
    variables = image.variables(**given)
    assert told_of()[-2:] == ["--database", "postgresql://gate@database/gate"]
    begin = [*only(FINAL, "ENTRYPOINT").words, *told_of()[:-1], postgresql_url]
    begun = subprocess.run(begin, cwd=image.place, env=variables, capture_output=True, text=True, check=False)
    assert begun.returncode == 0, begun.stderr
    keys = dict(line.split()[:2] for line in (image.place / "keys.txt").read_text().splitlines())
    key = keys["application"]
    assert key not in begun.stdout  # terminals are kept
    application = {"id": "a-1", "group": "women", "score": 0.62}
    port = free_port()
    with running(image, port, variables) as service:
        first = decide(port, key, application)
        assert first == {"id": "a-1", "accepted": True, "round": 0, "repeated": False}
        service.send_signal(getattr(signal, only(FINAL, "STOPSIGNAL").rest))
        assert service.wait(timeout=30) in (0, -signal.SIGTERM)
    secret = image.place / "session.key"  # in the volume: log-ins outlive the container
    assert secret.stat().st_mode & 0o777 == 0o600
    signed_with = secret.read_bytes()
    with running(image, port, variables):
        assert decide(port, key, application) == {**first, "repeated": True}
        with pytest.raises(urllib.error.HTTPError, match="401"):
            decide(port, key + "x", application)
        assert secret.read_bytes() == signed_with
