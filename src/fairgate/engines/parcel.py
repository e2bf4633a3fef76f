"""Calls as bytes: packed here, with the code of modules that are only here, and carried out on a worker."""

from __future__ import annotations

import pickle
import site
import sys
import sysconfig
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from fairgate.engines.base import Call, alone
from fairgate.engines.identity import identity

Answer = tuple[str, Any]
"""What a worker says: ``("done", result)``, ``("raised", (error, traceback))``, or why it could not try."""


class Packer:
    """Turns calls into bytes; modules that are no installed package travel along, so that workers need not have them.

    A user's own learner in a file beside the notebook is such a module.
    """

    def __init__(self) -> None:
        self._own = own_modules()

    def __call__(self, call: Call) -> bytes:
        """Return the bytes of a call."""
        import cloudpickle

        for module in self._own:
            cloudpickle.register_pickle_by_value(module)
        try:
            packed: bytes = cloudpickle.dumps(call)
        finally:
            for module in self._own:
                cloudpickle.unregister_pickle_by_value(module)
        return packed


def own_modules() -> list[ModuleType]:
    """Return the imported modules that are neither Python's, nor an installed package's, nor this package's."""
    paths = {*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages()}
    installed = [Path(path).resolve() for path in paths] + [Path(__file__).resolve().parents[1]]
    found = []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or name == "__main__" or name != getattr(module, "__name__", None):
            continue
        if not any(Path(file).resolve().is_relative_to(folder) for folder in installed):
            found.append(module)
    return found


def carry_out(packed: bytes, wanted: Mapping[str, str]) -> Answer:
    """Carry out a packed call on a worker that has the `wanted` versions and code, and no other."""
    if identity() != wanted:
        return "differs", identity()
    try:
        call = pickle.loads(packed)
    except ImportError as error:
        return "missing", error.name or str(error)
    try:
        return "done", alone(call)
    except MemoryError as error:
        return "memory", f"out of memory {error}".strip()
    except Exception as error:
        told = traceback.format_exc()
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return "raised", (error, told)


def memory_limit(dask_worker: Any) -> int:
    """Return how much memory a worker may use; Dask hands the worker to a function whose argument has this name."""
    return int(dask_worker.memory_manager.memory_limit or sys.maxsize)
