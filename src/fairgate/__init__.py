"""What a cut-off will do to each group once people respond, and which one keeps what you require, if any does."""

from contextlib import suppress
from importlib import import_module
from typing import Any

from fairgate import environments, learners, people, plots
from fairgate.advice import Advice, Aims, advise
from fairgate.advice.monitor import Monitored, monitor
from fairgate.against import Against
from fairgate.audit import Audit, audit
from fairgate.citation import citation
from fairgate.comparison import Comparison, compare
from fairgate.constraints import (
    Budget,
    DemographicParity,
    DisparateImpact,
    EqualisedOdds,
    EqualOpportunity,
    GroupService,
    OutcomeImprovement,
    ServiceRate,
    mean_score_change,
)
from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.estimates import Estimate
from fairgate.history import History
from fairgate.latex import to_latex
from fairgate.learners import (
    OFS,
    BanditGradient,
    Fixed,
    PrimalDual,
    Random,
    SafeForecast,
    SafeSearch,
    SmoothOptimist,
    load_learner,
    recommended,
)
from fairgate.oracle import Oracle, PolicyOracle, PolicyPoint, oracle, sampled_sweep
from fairgate.people import from_file, from_frame
from fairgate.policy import Policy
from fairgate.problem import Arrival, Assessment, Feedback, Observation, Problem, Utility
from fairgate.run import Run
from fairgate.setting import Setting
from fairgate.simulation import simulate
from fairgate.summary import Summary
from fairgate.sweep import Range, Sweep, sweep
from fairgate.tasks import Task, load_task
from fairgate.thresholds import Point, ThresholdSweep
from fairgate.truth import Truth, truth_of
from fairgate.worlds import World, load_world

with suppress(ModuleNotFoundError):  # if gymnasium is installed, gymnasium.make knows every task
    import_module("fairgate.gym")

__version__ = "0.1.0"

__all__ = [
    "OFS",
    "Advice",
    "Against",
    "Aims",
    "Arrival",
    "Assessment",
    "Audit",
    "BanditGradient",
    "Budget",
    "Comparison",
    "Counts",
    "DemographicParity",
    "DisparateImpact",
    "EqualOpportunity",
    "EqualisedOdds",
    "Estimate",
    "Feedback",
    "Fixed",
    "GroupService",
    "History",
    "InputError",
    "Monitored",
    "Observation",
    "Oracle",
    "OutcomeImprovement",
    "Point",
    "Policy",
    "PolicyOracle",
    "PolicyPoint",
    "PrimalDual",
    "Problem",
    "Random",
    "Range",
    "Run",
    "SafeForecast",
    "SafeSearch",
    "ServiceRate",
    "Setting",
    "SmoothOptimist",
    "Summary",
    "Sweep",
    "Task",
    "ThresholdSweep",
    "Truth",
    "Utility",
    "World",
    "advise",
    "audit",
    "citation",
    "compare",
    "environments",
    "from_file",
    "from_frame",
    "learners",
    "load_learner",
    "load_task",
    "load_world",
    "mean_score_change",
    "monitor",
    "oracle",
    "people",
    "plots",
    "recommended",
    "sampled_sweep",
    "simulate",
    "sweep",
    "to_latex",
    "truth_of",
]


def __getattr__(name: str) -> Any:
    """Load the parts that take a while when they are asked for, such as ``fg.sklearn``."""
    if name in ("bench", "gym", "live", "sklearn"):
        return import_module(f"fairgate.{name}")
    if name == "run_worlds":
        return import_module("fairgate.bench").run_worlds
    if name == "normalised_reward":
        return import_module("fairgate.bench.share").normalised_reward
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
