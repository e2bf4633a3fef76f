"""A headless Chromium for tests, driven over its debugging pipe: no driver program, no package, no port."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

NAMES = ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",  # root has none, and only the tests' own pages are opened
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0
"""Seconds to wait for an answer before a test fails."""

# Chromium reads commands from descriptor 3 and answers on 4; a small program puts the pipes there and becomes Chromium.
LAUNCH = """
import fcntl, os, sys
commands, answers = (fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3])
os.dup2(commands, 3)
os.dup2(answers, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium with an empty profile, and end it afterwards; skip the test where there is none."""
    if os.name != "posix":
        pytest.skip("Chromium's debugging pipe is used here as POSIX systems have it")
    program = find() or install()
    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as profile:
        browser = Browser(program, Path(profile))
        try:
            yield browser
        finally:
            browser.close()


def find() -> str | None:
    """Return the path of an installed Chromium."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


@cache
def install() -> str:
    """Install Chromium where that is allowed and simple, one process at a time and once a test run; else skip."""
    import fcntl

    if not (os.geteuid() == 0 and Path("/etc/debian_version").exists() and shutil.which("apt-get")):
        pytest.skip("no Chromium found, and it is installed only by root on Debian: apt-get install chromium")
    testrun = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    with Path(tempfile.gettempdir(), "fairgate-chromium.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        if find() is None and lock.read() != testrun:
            lock.truncate(0)
            lock.write(testrun)
            lock.flush()
            for arguments in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
                subprocess.run(
                    ["apt-get", "-qq", "-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20", *arguments],
                    env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    check=False,
                )
    found = find()
    if found is None:
        pytest.skip("no Chromium found, and apt-get could not install it")
    return found


@dataclass
class Page:
    """An open page: what it asked for, what went wrong in it, and what a script in it says."""

    browser: Browser
    session: str
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"script failed: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def follow(self, script: str) -> None:
        """Do what leads to another page, such as a click on a link, and wait until that is there."""
        self.evaluate(script)
        self.browser.wait(self.session)

    def screenshot(self, height: float | None = None) -> bytes:
        """Return the whole page, also what is below the fold, or only its upper `height` pixels, as a PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        size["height"] = height or size["height"]
        answer = self.call(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True, clip={**size, "scale": 1}
        )
        return base64.b64decode(answer["data"])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the Chrome DevTools Protocol to this page."""
        return self.browser.call(method, parameters, self.session)

    def hear(self, event: str, details: Mapping[str, Any]) -> None:
        """Note requests and errors."""
        if event == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            self.errors.append(str(details["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled" and details["type"] in ("error", "assert", "warning"):
            self.errors.append(str(details["args"]))
        elif event == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
            self.errors.append(details["entry"]["text"])


class Browser:
    """A running Chromium."""

    def __init__(self, program: str, profile: Path) -> None:
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        self._log = profile / "stderr"
        with self._log.open("wb") as log:
            launch = [sys.executable, "-c", LAUNCH, str(commands), str(answers)]
            self._process = subprocess.Popen(
                [*launch, program, *FLAGS, f"--user-data-dir={profile}"],
                pass_fds=(commands, answers),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        os.close(commands)
        os.close(answers)
        self._unread = b""
        self._last = 0
        self._pages: dict[str, Page] = {}
        self._targets: list[str] = []
        self._loaded: set[str] = set()

    def open(self, place: Path | str, width: int, height: int = 900, dark: bool = False, media: str = "screen") -> Page:
        """Load a local file or an address in a fresh page of this size, and wait until all of it is there."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._targets.append(target)
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self._loaded.discard(session)
        answer = page.call("Page.navigate", url=place if isinstance(place, str) else place.resolve().as_uri())
        if "errorText" in answer:
            raise RuntimeError(f"{place} could not be opened: {answer['errorText']}")
        self.wait(session)
        return page

    def wait(self, session: str) -> None:
        """Wait until the page of a session is loaded, and forget that it is, for the next time."""
        while session not in self._loaded:
            self._read()
        self._loaded.discard(session)

    def call(self, method: str, parameters: Mapping[str, Any], session: str | None = None) -> dict[str, Any]:
        """Send a command and return its result; events that come in between are noted."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        rest = json.dumps(message).encode() + b"\0"
        while rest:
            rest = rest[os.write(self._commands, rest) :]
        while (answer := self._read()).get("id") != self._last:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method} failed: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def close_pages(self) -> None:
        """Close every page that was opened."""
        while self._targets:
            self.call("Target.closeTarget", {"targetId": self._targets.pop()})
        self._pages.clear()

    def close(self) -> None:
        """End Chromium."""
        try:
            self.call("Browser.close", {})
            self._process.wait(10)
        except (RuntimeError, OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        finally:
            os.close(self._commands)
            os.close(self._answers)

    def _read(self) -> dict[str, Any]:
        """Read one message, an answer or an event; messages end with a zero byte."""
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, end - time.monotonic()))
            part = os.read(self._answers, 1 << 20) if ready else b""
            if not part:
                said = self._log.read_text(errors="replace")[-2000:]
                raise RuntimeError(
                    f"Chromium {'ended' if ready else f'was silent for {PATIENCE:g} s'}; it said: {said}"
                )
            self._unread += part
        text, self._unread = self._unread.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        session = message.get("sessionId", "")
        if "method" in message and session in self._pages:
            if message["method"] == "Page.loadEventFired":
                self._loaded.add(session)
            self._pages[session].hear(message["method"], message["params"])
        return message
