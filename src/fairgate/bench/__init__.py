"""The benchmark: every learner on every task, judged against exact truth, with a leaderboard and a page."""

from fairgate.bench.benchmark import Bench, run_bench
from fairgate.bench.measures import measure
from fairgate.bench.worlds.benchmark import WorldBench, run_worlds
from fairgate.simulation import Size

__all__ = ["Bench", "Size", "WorldBench", "measure", "run_bench", "run_worlds"]
