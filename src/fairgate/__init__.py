"""Choose a decision threshold online, under fairness and service constraints, in a world that answers back."""

from fairgate import environments, learners, plots
from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.learners import OFS, BanditGradient, Fixed, PrimalDual, Random, load_learner
from fairgate.oracle import Oracle, Point, Sweep, oracle, sampled_sweep
from fairgate.problem import DemographicParity, Problem, ServiceRate, Signals, Utility
from fairgate.run import Estimate, Run
from fairgate.simulation import simulate
from fairgate.tasks import Task, load_task

__version__ = "0.1.0"

__all__ = [
    "OFS",
    "BanditGradient",
    "Counts",
    "DemographicParity",
    "Estimate",
    "Fixed",
    "InputError",
    "Oracle",
    "Point",
    "PrimalDual",
    "Problem",
    "Random",
    "Run",
    "ServiceRate",
    "Signals",
    "Sweep",
    "Task",
    "Utility",
    "environments",
    "learners",
    "load_learner",
    "load_task",
    "oracle",
    "plots",
    "sampled_sweep",
    "simulate",
]
