"""The commands and files of docs/live-deploy.md do what it says, on a machine below a folder, with a real nginx."""

from __future__ import annotations

import json
import os
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from fairgate.live.config import ServiceSettings
from fairgate.live.gate import WAITING
from fairgate.live.service.app import BODY_SECONDS
from fairgate.live.service.logs import FIRST, MOST
from fairgate.live.service.protocol import CONNECTIONS, HEAD_BYTES, HEAD_SECONDS
from fairgate.live.service.structure import LARGEST_BATCH
from tests.live.debian import Machine, unpacked
from tests.live.serving import service
from tests.live.shell import free_port, snippets

PAGE = Path(__file__).parents[2] / "docs" / "live-deploy.md"
TEXT = PAGE.read_text(encoding="utf-8")
SERIES = re.compile(r"^(fairgate_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? ", re.MULTILINE)


def file_of(place: str) -> str:
    """A file that the page shows."""
    (found,) = re.findall(rf'^```\w+ title="{re.escape(place)}"\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_table_has_the_metrics_that_there_are(tmp_path: Path) -> None:
    with service(str(tmp_path / "gate.db")) as served:
        served.ask("POST", "/decisions", json={"id": "a-1", "group": "a", "score": 0.9})
        text = served.http.get(f"{served.url}/metrics").text
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    labels: dict[str, set[str]] = {}
    for name, told in SERIES.findall(text):
        labels.setdefault(name, set()).update(set(re.findall(r'(\w+)="', told)) - {"le"})
    shown = re.findall(r"^\| `(fairgate_\w+)` \| (\w+) \|([^|]*)\|", TEXT, re.MULTILINE)
    table = {name: (kind, set(re.findall(r"`(\w+)`", told))) for name, kind, told in shown}
    assert table == {name: (kind, labels[name]) for name, kind in kinds.items() if not name.endswith("_created")}


def test_alerts_are_about_metrics_that_there_are() -> None:
    rules = yaml.safe_load(file_of("/etc/prometheus/fairgate.rules.yml"))["groups"][0]["rules"]
    known = set(re.findall(r"^\| `(fairgate_\w+)` \|", TEXT, re.MULTILINE))
    assert len(rules) == 3
    for rule in rules:
        assert {"alert", "expr", "labels", "annotations"} <= set(rule)
        named = set(re.findall(r"fairgate_\w+", rule["expr"]))
        assert named
        assert named <= known
    scrapes = yaml.safe_load(file_of("/etc/prometheus/prometheus.yml"))
    assert scrapes["rule_files"] == ["fairgate.rules.yml"]
    assert scrapes["scrape_configs"][0]["authorization"] == {"credentials_file": "fairgate.key"}


def test_promtool_takes_the_rules(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no promtool found: apt-get install prometheus")
    for name in ("prometheus.yml", "fairgate.rules.yml", "fairgate.key"):
        (tmp_path / name).write_text("" if name.endswith("key") else file_of(f"/etc/prometheus/{name}"))
    subprocess.run([promtool, "check", "config", "prometheus.yml"], cwd=tmp_path, check=True, capture_output=True)


def test_limits_are_those_of_the_service() -> None:
    values = (CONNECTIONS, WAITING, ServiceSettings.model_fields["max_body"].default, BODY_SECONDS)
    for value in (*values, HEAD_BYTES, HEAD_SECONDS, LARGEST_BATCH, MOST):
        assert re.search(rf"^\| .* \| (`max_body`, )?{value:,.0f} \| ", TEXT, re.MULTILINE), value
    assert f"{FIRST} lines of one kind are written and {MOST} about requests" in TEXT


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze found: apt-get install systemd")
    unit = tmp_path / "fairgate.service"
    unit.write_text(file_of("/etc/systemd/system/fairgate.service").replace("/opt/fairgate/bin/fairgate", "/bin/true"))
    done = subprocess.run([analyze, "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "fairgate" in line]) == (0, [])
    rated = subprocess.run(
        [analyze, "security", "--offline=true", "--no-pager", "--threshold=20", unit],  # 2.0 of 10
        capture_output=True,
        text=True,
        check=False,
    )
    if "unrecognized option" in rated.stderr:
        pytest.skip("systemd-analyze is older than 250")
    assert rated.returncode == 0, rated.stdout[-300:]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    if shutil.which("openssl") is None or (os.geteuid() == 0 and shutil.which("setpriv") is None):
        pytest.skip("no openssl or setpriv found: apt-get install openssl util-linux")
    made = Machine(tmp_path)
    try:
        yield made
    finally:
        made.end()


def begin_nginx(machine: Machine, nginx: Path, port: int) -> None:
    """Start nginx with the file of the page in the place where Debian's nginx.conf includes it."""
    (machine.folder / "nginx").mkdir()
    pid, log = machine.folder / "run" / "nginx.pid", machine.folder / "var/log/nginx/error.log"
    temporary = "".join(f"{kind}_temp_path {machine.folder}/nginx/{kind};\n" for kind in ("client_body", "proxy"))
    unused = "".join(f"{kind}_temp_path {machine.folder}/nginx/{kind};\n" for kind in ("fastcgi", "uwsgi", "scgi"))
    user = "user root;\n" if os.geteuid() == 0 else ""
    (machine.folder / "etc/nginx/nginx.conf").write_text(
        f"{user}pid {pid};\nerror_log {log};\nevents {{}}\nhttp {{\n"
        f"{temporary}{unused}include {machine.folder}/etc/nginx/conf.d/*.conf;\n}}\n"
    )
    options = f"-e {log} -c {machine.folder}/etc/nginx/nginx.conf"
    machine.program("nginx", f'exec {nginx} {options} "$@"')
    machine.run("nginx")


@pytest.mark.slow
def test_every_command_of_the_page_works(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> None:
    nginx = unpacked("nginx", "nginx", tmp_path_factory.mktemp("nginx"))
    port, outside = free_port(), free_port()
    ports = {"127.0.0.1:8000": f"127.0.0.1:{port}", "listen 443": f"listen 127.0.0.1:{outside}"}
    certificate = machine.folder / "etc/ssl/certs/gate.example.org.crt"
    for place in ("/etc/systemd/system/fairgate.service", "/etc/nginx/conf.d/fairgate.conf"):
        text = machine.here(file_of(place))
        for old, new in ports.items():
            text = text.replace(old, new)
        Path(machine.here(place)).write_text(text)
    home = machine.folder / "var/lib/fairgate"
    for snippet in snippets(PAGE):
        body = machine.here(snippet.body)
        body = "\n".join(line for line in body.splitlines() if " -m venv " not in line and "/pip install " not in line)
        body = body.replace("127.0.0.1:8000", f"127.0.0.1:{port}").replace(
            "curl --silent --show-error --fail https://gate.example.org",
            f"curl --silent --show-error --fail --cacert {certificate} "
            f"--resolve gate.example.org:{outside}:127.0.0.1 https://gate.example.org:{outside}",
        )
        if "sed -i" in body:
            (home / "gate.toml").write_text((home / "gate.toml").read_text().replace("port = 8000", f"port = {port}"))
        if body.startswith("nginx -t"):
            begin_nginx(machine, nginx, outside)
        if "journalctl" in body:
            through_the_proxy(outside, certificate, home)
        said = machine.run(body)
        if "journalctl" in body:
            assert "403\t/v1/gates/{gate}/cases/{name:path}\tapplication\trefused: the key … is for" in said
        if "live audit" in body:
            assert "Everything fits" in said
    (backup, _) = sorted((home / "backups").iterdir())
    for path in (home / "credit.db", home / "session.key", backup):
        assert path.stat().st_uid == home.stat().st_uid  # who runs the service, and nobody else's
        assert path.stat().st_mode & 0o077 == 0
    machine.run("systemctl stop fairgate")
    away = httpx.get(f"https://127.0.0.1:{outside}/health", verify=ssl._create_unverified_context())
    assert (away.status_code, away.json()["status"], away.headers["retry-after"]) == (503, 503, "1")
    journal = (machine.folder / "journal").read_text().splitlines()
    told = [json.loads(line)["text"] for line in journal]
    assert [text.partition(":")[0] for text in told].count("the service has started") == 2
    assert told[-1].startswith("the service has stopped")
    assert "a-1" not in "".join(journal)


def through_the_proxy(port: int, certificate: Path, home: Path) -> None:
    """Ask as clients do, over TLS, and look at what the proxy and the service make of it."""
    keys = dict(line.split()[:2] for line in (home / "keys.txt").read_text().splitlines()[1:])
    trusted = ssl.create_default_context(cafile=str(certificate))
    host = {"Host": f"gate.example.org:{port}"}
    asked: dict[str, Any] = {"extensions": {"sni_hostname": "gate.example.org"}}
    with httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=trusted, headers=host, timeout=30) as http:
        bearer = {"Authorization": f"Bearer {keys['application']}"}
        found = http.post(
            "/v1/gates/credit/decisions", json={"id": "a-1", "group": "women", "score": 0.62}, headers=bearer, **asked
        )
        assert found.json()["accepted"] is True
        assert found.headers["strict-transport-security"] == "max-age=31536000"
        assert http.get("/v1/gates/credit/cases/a-1", headers=bearer, **asked).status_code == 403
        assert http.head("/health", **asked).status_code == 200
        assert http.get("/metrics", **asked).status_code == 401  # although it comes from this machine
        kind = {**bearer, "Content-Type": "application/json"}
        for length, status in ((8_000_000, 422), (8_000_001, 413)):  # taken by the service, and refused by nginx
            refused = http.post("/v1/gates/credit/decisions", content=b" " * length, headers=kind, **asked)
            assert (refused.status_code, refused.json()["status"]) == (status, status)
            assert refused.headers["content-type"] == "application/problem+json"
        near = {"Sec-Fetch-Site": "same-origin"}
        logged_in = http.post("/login", data={"key": keys["admin"]}, headers=near, **asked)
        assert logged_in.status_code == 303
        assert all("secure" in cookie.lower() for cookie in logged_in.headers.get_list("set-cookie"))
        tries = [
            http.post(
                "/login", data={"key": "wrong"}, headers={**near, "X-Forwarded-For": f"192.0.2.{number}"}, **asked
            ).status_code
            for number in range(21)
        ]
        assert tries == [401] * 20 + [429]  # one client, whatever address it invents
