"""The benchmark: every learner on every task, judged against exact truth, with a leaderboard and a page."""

from fairgate.bench.benchmark import Bench, run_bench
from fairgate.bench.measures import measure
from fairgate.simulation import Size

__all__ = ["Bench", "Size", "measure", "run_bench"]
