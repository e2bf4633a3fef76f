"""Two public datasets as typed arrays, and the score model that gives every person a logit."""

from fairgate.data.datasets import Dataset, load_dataset
from fairgate.data.score_model import features, score_model, scores

__all__ = ["Dataset", "features", "load_dataset", "score_model", "scores"]
