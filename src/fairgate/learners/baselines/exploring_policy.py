"""ExploringPolicy: nobody is beyond the reach of acceptance, so labels can be weighted by how likely they were seen."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import unknown_name
from fairgate.learners.base import Learner
from fairgate.learners.forecast.exploration import acceptance_window
from fairgate.learners.forecast.prediction import Prediction
from fairgate.learners.shapes import bins_last, fresh
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Credit, Feedback
from fairgate.setting import Setting
from fairgate.settings import Array, NonNegative, PositiveShare, keep_whole

ESTIMATES = ("ips", "dr")
"""How labels are weighted: by inverse propensity, or doubly robust."""


@dataclass
class ExploringState(State):
    """What is known of recent people, discounted, and the threshold in play."""

    seen: Annotated[Array, "R"]  # rounds so far
    scores: Annotated[Array, "R G K+1"]  # people by score bin
    reached: Annotated[Array, "R G K+1"]  # people whose labels could have been seen by now
    labels: Annotated[Array, "R G K+1 2"]  # labels seen, each divided by its probability of being seen
    arm: Annotated[NDArray[np.int64], "R"]


@dataclass(frozen=True)
class ExploringPolicy(Learner[ExploringState]):
    r"""Accept everybody above a threshold and a share of those below, and estimate by inverse propensity.

    A threshold shows no label of those whom it rejects, so that a wrong one may never be corrected. An *exploring
    policy* [1]_ gives everybody a chance: those who score at least :math:`\theta` are accepted, and all others with
    probability :math:`e` (`explore`). The acceptance probability :math:`\pi_{tgb} \ge e` of group g in score bin b in
    round t is known. With :math:`n_{tgb}` people, of whom :math:`k_{tgb}` were accepted and :math:`y_{tgb}` of these
    had a positive label, and every round worth :math:`\gamma` (`discount`) of the one after it, the share of positives
    is estimated by inverse propensity (``estimate="ips"``) or, with the label curve :math:`\hat q_b` of all groups
    together as the model, doubly robust (``"dr"``) [2]_:

    .. math:: q^{ips}_{gb} = \frac{\sum_t \gamma^{-t} y_{tgb} / \pi_{tgb}}{\sum_t \gamma^{-t} n_{tgb}}, \qquad
              q^{dr}_{gb} = \hat q_b + \frac{\sum_t \gamma^{-t} (y_{tgb} - \hat q_b k_{tgb}) / \pi_{tgb}}
                                            {\sum_t \gamma^{-t} n_{tgb}}.

    Scores of everybody are seen, so the problem reads reward :math:`\hat r_i` and largest residual :math:`\hat g_i` of
    the *exploring* policy of every threshold i off the discounted people, with the residual's standard error
    :math:`\sigma_i`. Played is the highest :math:`\hat r_i` with :math:`\hat g_i + z \sigma_i \le 0` (z is `width`),
    else the smallest :math:`\hat g_i + z \sigma_i`; it is chosen again every `epoch_length` rounds. The first
    `opening` rounds are a uniform lottery in the middle of what the constraints allow, as [3]_ accepts everybody at
    first.

    As it goes by those who came, it does not know that people answer to it, and is stable where
    :class:`~fairgate.learners.RepeatedRetraining` is, but for the exploring, which it never stops and pays for.

    Where labels are delayed, those of several rounds arrive together, by score bin but not by round: they are divided
    by the mean of these rounds' acceptance probabilities, weighted by the people they stand for.

    Parameters
    ----------
    explore
        Probability :math:`e` with which people below the threshold are accepted. Tuned: 0.01 to 0.2.
    discount
        What a round leaves of the weight of earlier ones, :math:`\gamma`. Tuned: 0.95 to 0.999.
    width
        Confidence width z, in standard errors. Tuned: 0 to 2.
    epoch_length
        Rounds for which a threshold is kept.
    opening
        Rounds of the uniform lottery.
    estimate
        "ips" or "dr".

    Examples
    --------
    >>> import fairgate as fg
    >>> task = fg.load_task("interior")
    >>> run = fg.simulate(task, fg.load_learner("exploring-dr"), rounds=600, seeds=3)
    >>> run.final.thresholds[0, :, 0], run.final.weights[:, 0]      # the best threshold is 0.1
    (array([0.1, 0.2, 0.1]), array([0.95, 0.05]))

    References
    ----------
    .. [1] Kilbertus, Gomez-Rodriguez, Schölkopf, Muandet, Valera, "Fair decisions despite imperfect predictions",
       arXiv 1902.02979, 2020.
    .. [2] Dudík, Langford, Li, "Doubly robust policy evaluation and learning", ICML 2011.
    .. [3] Bechavod, Ligett, Roth, Waggoner, Wu, "Equal opportunity in online classification with partial feedback",
       NeurIPS 2019.
    """

    explore: PositiveShare = 0.05
    discount: PositiveShare = 0.98
    width: NonNegative = 1.0
    epoch_length: int = 5
    opening: int = 20
    estimate: str = "dr"

    level: ClassVar[str] = "selective-labels"
    policies: ClassVar[str] = "lottery"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("epoch_length", "opening"):
            keep_whole(self, name, 1)
        if self.estimate not in ESTIMATES:
            raise unknown_name("ExploringPolicy: estimate", self.estimate, ESTIMATES)

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> ExploringState:
        """Start having seen nobody."""
        state = fresh(ExploringState, setting, common)
        state.labels = bins_last(state.labels)
        return state

    def propose(self, state: ExploringState) -> Policy:
        """Return the exploring policy of the best threshold; at the beginning, the uniform lottery."""
        opening = state.seen < self.opening
        due = (state.seen - self.opening) % self.epoch_length == 0
        if (due & ~opening).any():
            state.arm = np.where(due, self.best(state), state.arm)
        exploring = self.exploring(state)
        if not opening.any():
            return exploring
        window = acceptance_window(state.problem, state.groups).mean(axis=0)
        uniform = Policy.uniform(np.broadcast_to(window, state.replicates), state.groups)
        thresholds = np.where(opening[:, None], uniform.thresholds[::-1], exploring.thresholds)  # -inf comes second
        return Policy(thresholds, np.where(opening, uniform.weights[::-1], exploring.weights))

    def exploring(self, state: ExploringState) -> Policy:
        """Return the lottery of the threshold in play and, with the probability `explore`, accepting everybody."""
        below = np.broadcast_to(np.asarray(self.explore, dtype=np.float64), state.replicates)
        thresholds = np.stack((state.grid[state.arm], np.full(state.replicates, -np.inf)))
        return Policy(thresholds[..., None].repeat(state.groups, axis=2), np.stack((1.0 - below, below)))

    def best(self, state: ExploringState) -> NDArray[np.int64]:
        """Return the best threshold whose exploring policy is feasible by a margin, else the nearest to it, (R,)."""
        return self.prediction(state).value(state.problem).best(np.asarray(self.width))[0]

    def recommend(self, state: ExploringState) -> Policy:
        """Keep the exploring policy in play."""
        return self.exploring(state)

    def learn(self, state: ExploringState, played: Policy, feedback: Feedback) -> None:
        """Discount what is known and add the batch."""
        state.seen += 1
        scores, _ = feedback.observation.binned
        kept = np.asarray(self.discount)[..., None, None]
        state.scores = kept * state.scores + scores
        state.reached *= kept
        state.labels *= kept[..., None]
        self.weigh(state, scores, feedback, feedback.credited(played))

    def credit(self, state: ExploringState, feedback: Feedback, credited: Sequence[Credit]) -> None:
        """Add labels that arrived in a round in which nobody came, as if recent people had."""
        self.weigh(state, state.scores, feedback, credited)

    def weigh(self, state: ExploringState, people: Array, feedback: Feedback, credited: Sequence[Credit]) -> None:
        """Add labels, divided by their propensity, and as many of `people` (R, G, bins) as the labels stand for."""
        if not credited:
            return
        _, labels = feedback.observation.binned
        total, accepted = np.zeros((state.replicates, 1, 1)), np.zeros(state.scores.shape)
        for each in credited:  # one by one, which is faster than all at once
            known = each.people.astype(np.float64)[:, None, None]
            total += known
            accepted += known * each.played.accepted_share(state.grid)
        propensity = accepted / np.where(total > 0.0, total, 1.0)
        possible = propensity > 0.0
        state.labels += np.where(possible, 1.0 / np.where(possible, propensity, 1.0), 0.0)[..., None] * labels
        here = people.sum(axis=(1, 2))[:, None, None]
        state.reached += np.where(possible, people * total / np.where(here > 0, here, 1), 0.0)

    def positives(self, state: ExploringState) -> Array:
        """Return the estimated share of positives by group and score bin, (R, G, bins)."""
        good, every = state.labels[..., 1], state.labels.sum(axis=-1)
        overall = ((good.sum(axis=(1, 2)) + 0.5) / (every.sum(axis=(1, 2)) + 1.0))[:, None]
        curve = ((good.sum(axis=1) + overall) / (every.sum(axis=1) + 1.0))[:, None]  # pulled to the mean by one person
        model = np.broadcast_to(curve, good.shape)
        reached, some = state.reached, state.reached > 0.0
        correction = good if self.estimate == "ips" else good - model * every
        base = 0.0 if self.estimate == "ips" else model
        found = base + np.divide(correction, reached, out=np.zeros_like(good), where=some)
        return np.clip(np.where(some, found, model), 0.0, 1.0)

    def prediction(self, state: ExploringState) -> Prediction:
        """Return what every threshold's exploring policy would do to recent people."""
        people = np.maximum(state.scores.sum(axis=-1), 1e-9)
        mass = state.scores / people[..., None]
        above, good = (each[..., ::-1].cumsum(axis=-1)[..., ::-1] for each in (mass, mass * self.positives(state)))
        below = np.asarray(self.explore)[..., None, None]
        rates, positives = (below * each[..., :1] + (1.0 - below) * each[..., 1:] for each in (above, good))
        weight = people[..., None] * (1.0 + np.asarray(self.discount)[..., None, None]) + 1.0
        error = np.sqrt(np.maximum(rates * (1.0 - rates), 1.0 / weight) / weight)
        everybody = np.broadcast_to(good[..., :1], rates.shape)
        shares = people / people.sum(axis=1, keepdims=True)
        return Prediction(shares, rates, np.minimum(positives, rates), everybody, error, np.zeros_like(error))


exploring_ips = functools.partial(ExploringPolicy, estimate="ips")
"""The exploring policy with inverse-propensity estimates."""

exploring_dr = functools.partial(ExploringPolicy, estimate="dr")
"""The exploring policy with doubly robust estimates."""
