"""Sweeps: learners over many settings of a task, on one machine or a cluster."""

from fairgate.sweep.design import Range
from fairgate.sweep.figures import FIGURES, TRUTH
from fairgate.sweep.result import Failure, Sweep, Winners
from fairgate.sweep.running import sweep

__all__ = ["FIGURES", "TRUTH", "Failure", "Range", "Sweep", "Winners", "sweep"]
