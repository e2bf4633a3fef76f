"""A log that one BLAS kernel made is recomputed by another: policies agree, and so do stored states."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from fairgate.live import gate as module
from tests.live.logs import make_spec, opened, write_busy

LEARNERS = ("safe-forecast", "safe-bayesian", "mixture")

SCRIPT = """
import json, sys
from fairgate.live.audit import audit_log, stored_log
from fairgate.live.database import connect
from threadpoolctl import threadpool_info
found = []
for path in sys.argv[1:]:
    with stored_log(connect(path), "credit") as log:
        report = audit_log(log)
    found.append([report.clean, report.rounds, len(report.versions), str(report.first)])
kernels = sorted({each.get("architecture", "") for each in threadpool_info() if each["user_api"] == "blas"})
print(json.dumps([kernels, found]))
"""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Logs of learners that do linear algebra, with stored states."""
    folder = tmp_path_factory.mktemp("kernels")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "SNAPSHOT_ROUNDS", 3)
        for learner in LEARNERS:
            with opened(str(folder / f"{learner}.db"), make_spec(learner=learner)) as lender:
                write_busy(lender)
                for _ in range(15):
                    lender.decide(20)
                    lender.outcomes(15)
    return [str(folder / f"{learner}.db") for learner in LEARNERS]


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the kernels are those of x86")
@pytest.mark.parametrize(("kernel", "called"), [("Prescott", "Katmai"), ("Nehalem", "Nehalem"), ("Haswell", "Haswell")])
def test_another_kernel_recomputes_the_same(logs: list[str], kernel: str, called: str) -> None:
    environment = {**os.environ, "OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", "-c", SCRIPT, *logs]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=Path.cwd())
    assert done.returncode == 0, done.stderr
    kernels, found = json.loads(done.stdout)
    assert called in kernels
    for learner, (clean, rounds, versions, first) in zip(LEARNERS, found, strict=True):
        assert clean, (learner, first)
        assert (rounds > 20, versions) == (True, 0)
