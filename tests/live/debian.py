"""Programs of Debian for tests, and a machine that has them below a folder instead of /: its users, units and proxy."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.live.shell import Shell

ABSOLUTE = re.compile(r"(?<![\w./}])/(?=(?:etc|opt|run|var)/)")
"""Where a path begins that lies below the folder."""

NOBODY = 65534

UNPRIVILEGED = f"""
if [ "$(id -u)" = 0 ]; then  # another user, who may write nowhere else, but read the interpreter of the tests
    exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups --no-new-privs \\
        --inh-caps=-all,+dac_read_search --ambient-caps=-all,+dac_read_search --bounding-set=-all,+dac_read_search "$@"
fi
exec "$@"
"""

# `systemctl start` and `stop`: what systemd does with these lines of a unit; the journal is a file.
SYSTEMCTL = """
import os, re, signal, shlex, subprocess, sys, time
from pathlib import Path

root, command, name = Path(sys.argv[1]), sys.argv[2], sys.argv[-1]
pid = root / "run" / f"{name}.pid"
if command == "reload":
    os.kill(int(pid.read_text()), signal.SIGHUP)
elif command == "stop" and pid.exists():
    process = int(pid.read_text())
    os.kill(process, signal.SIGTERM)
    while Path(f"/proc/{process}/stat").exists() and " Z " not in Path(f"/proc/{process}/stat").read_text():
        time.sleep(0.02)
    pid.unlink()
elif command in ("start", "enable"):
    lines = (root / "etc/systemd/system" / f"{name}.service").read_text().splitlines()
    unit = [tuple(line.split("=", 1)) for line in lines if "=" in line]
    one = dict(unit)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ["PYTHONPATH"]}
    environment |= dict(each.split("=", 1) for key, value in unit if key == "Environment" for each in value.split())
    os.umask(int(one["UMask"], 8))
    with (root / "journal").open("ab") as journal:
        started = subprocess.Popen(
            ["runuser", "-u", one["User"], "--", *shlex.split(one["ExecStart"])],
            cwd=one["WorkingDirectory"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=journal,
            stderr=journal,
            start_new_session=True,
        )
    pid.write_text(str(started.pid))
"""


def unpacked(package: str, program: str, folder: Path) -> Path:
    """Return the path of a program, of this machine or of a package of Debian that is unpacked in a folder; else skip.

    Nothing is installed and no daemon is started.
    """
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if found:
        return Path(found)
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        pytest.skip(f"no {program} found, and it is fetched only where there is apt-get")
    patience = ["-qq", "-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=10"]
    for command in (["download", package], ["update"], ["download", package]):
        if not list(folder.glob("*.deb")):
            subprocess.run(["apt-get", *patience, *command], cwd=folder, capture_output=True, check=False)
    for archive in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", str(archive), str(folder)], check=True)
    for path in folder.glob(f"usr/sbin/{program}"):
        if subprocess.run([path, "-v"], capture_output=True, check=False).returncode == 0:
            return path
    pytest.skip(f"no {program} found, and apt-get could not fetch the package {package}")


class Machine(Shell):
    """A machine below a folder; commands name its paths as if the folder were /."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, PYTHONUNBUFFERED="1")
        for name in ("etc/systemd/system", "etc/nginx/conf.d", "etc/ssl/certs", "etc/ssl/private", "etc/prometheus"):
            (folder / name).mkdir(parents=True)
        for name in ("opt/fairgate/bin", "run", "var/lib/fairgate", "var/log/nginx"):
            (folder / name).mkdir(parents=True)
        home = folder / "var/lib/fairgate"
        if os.geteuid() == 0:
            os.chown(home, NOBODY, NOBODY)
        (folder / ".programs" / "systemctl.py").write_text(SYSTEMCTL)
        self.program("systemctl", f'exec {sys.executable} {folder}/.programs/systemctl.py {folder} "$@"')
        self.program("journalctl", f"cat {folder}/journal")
        self.program("runuser", f"shift 3\n{UNPRIVILEGED}")
        for name in ("useradd", "chgrp"):
            self.program(name, "")
        shutil.copy(folder / ".programs" / "fairgate", folder / "opt/fairgate/bin/fairgate")

    def program(self, name: str, body: str) -> None:
        """Put a program in the place of another."""
        path = self.folder / ".programs" / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def here(self, text: str) -> str:
        """Return commands or a file with the paths below the folder."""
        return ABSOLUTE.sub(f"{self.folder}/", text)

    def end(self) -> None:
        """End the daemons, and wait until they have."""
        running = [int(path.read_text()) for path in (self.folder / "run").glob("*.pid")]
        for process in running:
            os.kill(process, signal.SIGTERM)
        for _ in range(400):
            running = [process for process in running if alive(process)]
            if not running:
                return
            time.sleep(0.05)
        for process in running:
            os.kill(process, signal.SIGKILL)


def alive(process: int) -> bool:
    """Whether a process goes on."""
    try:
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
