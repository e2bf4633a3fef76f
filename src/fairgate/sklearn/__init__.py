"""FairThresholdClassifier: any scikit-learn classifier, with its threshold chosen under fairness constraints.

The one-shot counterpart of the loop: labelled data in, a threshold out. Candidates are judged by
:meth:`fairgate.Problem.assess`, as everywhere else, on counts of out-of-fold scores.
"""

from fairgate.sklearn.classifier import FairThresholdClassifier, FeasibilityWarning

__all__ = ["FairThresholdClassifier", "FeasibilityWarning"]
