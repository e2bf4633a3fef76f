"""Engines: where independent calls are carried out: in this process, in local processes, or on a Dask cluster."""

from fairgate.engines.base import Crashed, Engine
from fairgate.engines.local import InProcess, Processes
from fairgate.engines.opening import open_engine

__all__ = ["Crashed", "Engine", "InProcess", "Processes", "open_engine"]
