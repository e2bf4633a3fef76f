"""Public data as typed arrays: two tables of people with a score model, and score distributions by group."""

from fairgate.data.datasets import Dataset, load_dataset
from fairgate.data.score_model import features, score_model, scores
from fairgate.data.score_table import ScoreTable, load_fico

__all__ = ["Dataset", "ScoreTable", "features", "load_dataset", "load_fico", "score_model", "scores"]
