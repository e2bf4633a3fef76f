"""ThresholdOptimizer: fairlearn's post-processing, fitted once and frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.learners.base import Learner
from fairgate.learners.shapes import fresh
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Feedback, Utility
from fairgate.setting import Setting
from fairgate.settings import Array, Between, Number


@dataclass
class OptimizerState(State):
    """What is collected and what came of it."""

    cost: Annotated[Array, "R"]  # of accepting a negative
    collected: Annotated[Array, "R"]  # rounds so far
    labels: Annotated[Array, "R G K+1 2"]  # seen by group and score bin
    fitted: Annotated[NDArray[np.bool_], "R"]  # whether a lottery has been
    thresholds: Annotated[Array, "G+1 R G"]  # the lottery
    weights: Annotated[Array, "G+1 R"]


@dataclass(frozen=True)
class ThresholdOptimizer(Learner[OptimizerState]):
    r"""Accept everybody at first, fit fairlearn's ThresholdOptimizer on them, and play what it says from then on.

    What a practitioner does today: post-process the scores of a labelled sample once under demographic parity, and
    deploy. It knows nothing of the loop that follows, nor of the service window, and asks for a gap of 0. It sees the
    labels of everybody, so where those of the rejected can never be known, as in lending, it is an upper bound and no
    candidate. Its answer is a lottery of two thresholds for each group.

    fairlearn maximises accuracy and takes no costs. Reward is an affine function of accuracy once labels are redrawn:
    if a share q of the n people in a score bin is positive, n q' of them are called so instead, with

    .. math:: q' = \tfrac{1}{2}\Big(1 + \frac{q - c_{fp} (1 - q)}{\max(1, c_{fp})}\Big),

    rounded to whole people. No person is added or dropped, so acceptance rates stay true, as they would not if
    negatives were weighted or repeated. For :math:`c_{fp} = 1` labels stay as they are.

    Parameters
    ----------
    collect
        Rounds in which everybody is accepted. It takes longer where a group has only one kind of label by then.
    precision
        Acceptance rates looked at: multiples of 1 / `precision`.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("german"), fg.learners.ThresholdOptimizer(), rounds=100, seeds=2)
    >>> run.population_gap[:, [19, 20, 99]].max(axis=0).round(2)  # accepting all, just fitted, after people reacted
    array([0.  , 0.01, 0.13])

    References
    ----------
    .. [1] Hardt, Price, Srebro, "Equality of opportunity in supervised learning", NeurIPS 2016.
    .. [2] Weerts et al., "Fairlearn: assessing and improving fairness of AI systems", JMLR 24, 2023.
    """

    collect: Annotated[Number, Between(low=1.0)] = 20
    precision: Annotated[float, Between(low=1.0)] = 200

    level: ClassVar[str] = "full-labels"
    policies: ClassVar[str] = "per-group"
    version: ClassVar[int] = 3

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> OptimizerState:
        """Start with accepting everybody; say so if fairlearn is missing."""
        try:
            import fairlearn.postprocessing  # noqa: F401
        except ImportError:
            raise InputError("ThresholdOptimizer needs fairlearn: pip install 'fairgate[fair]'") from None
        if not isinstance(setting.problem.utility, Utility):
            raise InputError(f"ThresholdOptimizer needs a Utility with a cost, got {setting.problem.utility!r}")
        cost = setting.problem.utility.false_positive_cost
        state = fresh(OptimizerState, setting, common, cost=cost, thresholds=-np.inf)
        state.weights[0] = 1.0
        return state

    def propose(self, state: OptimizerState) -> Policy:
        """Return the lottery as it stands."""
        return Policy(state.thresholds.copy(), state.weights.copy())

    def learn(self, state: OptimizerState, played: Policy, feedback: Feedback) -> None:
        """Collect labels, and fit each replicate once it has enough."""
        if state.fitted.all():
            return
        state.collected += 1
        _, labels = feedback.observation.binned
        state.labels += np.where(state.fitted[:, None, None, None], 0.0, labels)
        people, positives = redrawn(state.labels, state.cost)
        both = (positives.sum(axis=2) > 0) & (positives.sum(axis=2) < people.sum(axis=2))
        due = (state.collected >= np.asarray(self.collect)) & both.all(axis=1) & ~state.fitted
        for replicate in np.flatnonzero(due):
            fitted = fit(people[replicate], positives[replicate], int(self.precision))
            state.thresholds[:, replicate], state.weights[:, replicate] = as_lottery(fitted, state.grid)
        state.fitted = state.fitted | due


def redrawn(labels: Array, cost: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return people and those called positive, (R, G, B), so that accuracy is affine in reward.

    >>> people, positives = redrawn(np.array([[[[4.0, 6.0]]]]), np.array([0.5]))      # 6 of 10 are positive
    >>> people, positives                                                             # (1 + 0.6 - 0.5 · 0.4) / 2 = 0.7
    (array([[[10]]]), array([[[7]]]))
    """
    people = labels.sum(axis=-1)
    each = cost[:, None, None]
    called = 0.5 * (people + (labels[..., 1] - each * labels[..., 0]) / np.maximum(1.0, each))
    return people.astype(np.int64), np.rint(called).astype(np.int64)


def fit(people: NDArray[np.int64], positives: NDArray[np.int64], precision: int) -> Any:
    """Fit fairlearn's ThresholdOptimizer to one replicate's people and positives, (G, B), scored by their bin."""
    from fairlearn.postprocessing import ThresholdOptimizer as Optimizer
    from sklearn.base import BaseEstimator

    class Score(BaseEstimator):  # type: ignore[misc]  # no types in sklearn
        """The bin itself."""

        def fit(self, bins: Array, labels: Array) -> None:
            """Nothing to fit, but scikit-learn knows an estimator by it."""

        def __sklearn_is_fitted__(self) -> bool:
            return True

        def predict(self, bins: Array) -> Array:
            return bins[:, 0]

    groups, bins = people.shape
    counts = np.stack((people - positives, positives), axis=-1).ravel()
    group, score, label = (np.repeat(index.ravel(), counts) for index in np.indices((groups, bins, 2)))
    optimizer = Optimizer(
        estimator=Score(),
        constraints="demographic_parity",
        objective="accuracy_score",
        grid_size=precision,
        prefit=True,
        predict_method="predict",
    )
    return optimizer.fit(score[:, None].astype(np.float64), label, sensitive_features=group)


def as_lottery(fitted: Any, grid: Array) -> tuple[Array, Array]:
    """Turn what fairlearn found, two thresholds per group drawn with the group's own odds, into one lottery for all.

    A number drawn evenly from [0, 1] decides: a group's first threshold holds below its odds, its second above. The
    odds of all groups cut [0, 1] into G + 1 pieces, the lottery's weights, of which the largest comes first.
    """
    rules = fitted.interpolated_thresholder_.interpolation_dict
    first = np.array([rules[group].p0 for group in sorted(rules)]).clip(0.0, 1.0)
    cuts = np.concatenate(([0.0], np.sort(first), [1.0]))
    operations = [(rules[group].operation0, rules[group].operation1) for group in sorted(rules)]
    pair = np.array([[edge(operation.threshold, grid) for operation in both] for both in operations])
    middle = 0.5 * (cuts[:-1] + cuts[1:])
    order = np.argsort(-np.diff(cuts), kind="stable")
    return np.where(middle[:, None] < first, pair[:, 0], pair[:, 1])[order], np.diff(cuts)[order]


def edge(bin_threshold: float, grid: Array) -> float:
    """Return the threshold of the grid, or ±∞, that accepts the bins above `bin_threshold`.

    >>> edge(0.5, np.array([10.0, 20.0])), edge(-np.inf, np.array([10.0, 20.0])), edge(np.inf, np.array([10.0, 20.0]))
    (10.0, -inf, inf)
    """
    return float(grid[int(bin_threshold)]) if np.isfinite(bin_threshold) else float(bin_threshold)
