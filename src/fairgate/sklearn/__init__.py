"""FairThresholdClassifier: any scikit-learn classifier, with its threshold chosen under fairness constraints."""

from fairgate.sklearn.classifier import FairThresholdClassifier, FeasibilityWarning

__all__ = ["FairThresholdClassifier", "FeasibilityWarning"]
