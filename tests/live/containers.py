"""Dockerfile and compose.yaml without containers: their steps as they are written, below a folder instead of /."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import NamedTuple

ABSOLUTE = re.compile(r"(?<![\w./:*])/(?=(?:wheels|tmp|data|build)\b)")
"""Where a path of the container begins."""


class Step(NamedTuple):
    """An instruction of a Dockerfile and what follows it."""

    instruction: str
    rest: str

    @property
    def words(self) -> list[str]:
        """The command in its JSON form."""
        found: list[str] = json.loads(self.rest[self.rest.index("[") :])
        return found


def stages(dockerfile: Path) -> list[list[Step]]:
    """Return the instructions of each stage."""
    text = re.sub(r"\\\n\s*", "", dockerfile.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    steps = [Step(*line.split(None, 1)) for line in lines]
    begins = [place for place, step in enumerate(steps) if step.instruction == "FROM"]
    return [steps[low:high] for low, high in zip(begins, [*begins[1:], len(steps)], strict=True)]


def filled(text: str, environment: dict[str, str]) -> str:
    """Fill in variables as compose does; one that must be there and is not is an error."""

    def value(found: re.Match[str]) -> str:
        assert found["name"] in environment, found["message"]
        return environment[found["name"]]

    return re.sub(r"\$\{(?P<name>\w+):\?(?P<message>[^}]*)\}", value, text)


class Image:
    """What a Dockerfile builds, below a folder; `python` is that of a fresh virtual environment.

    Packages that the project needs are those of the tests' own environment, which is far quicker than to install them
    again and works without a package index; the project itself comes from the wheel alone.
    """

    def __init__(self, folder: Path, context: Path) -> None:
        self.folder, self.context = folder, context
        self.environment: dict[str, str] = {}
        self.place = folder
        venv.create(folder / "venv", with_pip=True, symlinks=True)
        self.programs = folder / "venv" / "bin"
        (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
        own = [path for path in sys.path if path.endswith("site-packages")]
        (site / "others.pth").write_text("\n".join(own) + "\n")

    def build(self, steps: list[Step]) -> None:
        """Carry out a stage."""
        for step in steps:
            if step.instruction == "WORKDIR":
                self.place = self.here(step.rest)
                self.place.mkdir(parents=True, exist_ok=True)
            elif step.instruction == "COPY":
                self.copy(step.rest.split())
            elif step.instruction == "ENV":
                self.environment |= dict(each.split("=", 1) for each in step.rest.split())
            elif step.instruction == "RUN" and not step.rest.startswith("useradd"):
                self.run(step.rest)

    def here(self, path: str) -> Path:
        """Return where a path of the container lies."""
        return self.folder / path.lstrip("/")

    def copy(self, words: list[str]) -> None:
        """Copy files of the context, or of an earlier stage, which lies in the same folder."""
        if words[0].startswith("--from="):
            assert self.here(words[1]).exists()
            return
        *sources, to = words
        target = self.place / to if not to.startswith("/") else self.here(to)
        for source in sources:
            origin = self.context / source
            if origin.is_dir():
                shutil.copytree(origin, target, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(origin, target)

    def run(self, command: str) -> None:
        """Run a command of the build; the project is installed without what it needs."""
        told = ABSOLUTE.sub(f"{self.folder}/", command).replace("pip install", "pip install --no-deps")
        done = subprocess.run(
            ["bash", "-euc", told], cwd=self.place, env=self.variables(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{told}\n{done.stdout}\n{done.stderr}"

    def variables(self, **more: str) -> dict[str, str]:
        """Return the environment of a process: of the image alone, but for what this machine needs."""
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "HOME", "LANG", "COV"))}
        path = f"{self.programs}:/usr/bin:/bin"
        return {**kept, "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **self.environment, **more}
