"""RepeatedRetraining: repeated risk minimisation, the best threshold for recent people (Perdomo et al. 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.base import Learner
from fairgate.learners.forecast.exploration import acceptance_window
from fairgate.learners.forecast.prediction import Prediction, Value
from fairgate.learners.forecast.response import optimistic_share
from fairgate.learners.shapes import bins_last, fresh
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Feedback
from fairgate.setting import Setting
from fairgate.settings import Array, NonNegative, PositiveShare, keep_whole

RENEW = 5
"""Rounds after which margins are worked out again: they change slowly, and cost most of the time."""


@dataclass
class RetrainingState(State):
    """What is known of recent people."""

    seen: Annotated[Array, "R"]  # rounds so far
    scores: Annotated[Array, "R G K+1"]  # discounted people by score bin
    labels: Annotated[Array, "R G K+1 2"]  # discounted labels of the accepted by score bin
    margin: Annotated[Array, "K R"]  # standard error of every threshold's largest residual
    # whether the evidence that no threshold is feasible for recent people is strong
    infeasible: Annotated[NDArray[np.bool_], "R"]


@dataclass(frozen=True)
class RepeatedRetraining(Learner[RetrainingState]):
    r"""Repeated risk minimisation: play the threshold that is best for recent people, and choose again every round.

    A batch shows the scores of everybody who came, so it tells how many any threshold would have accepted, not only
    the one in play. With :math:`n_{gb}` people of group g in score bin b, discounted by a factor :math:`\gamma` per
    round (`discount`), and :math:`q_{gb}` the share of positives among those accepted in the bin (discounted by
    `label_discount`, one standard error added, 1 where nobody has been accepted), threshold i has

    .. math:: \hat p_{gi} = \frac{\sum_{b \ge i} n_{gb}}{\sum_b n_{gb}}, \qquad
              \hat q_{gi} = \frac{\sum_{b \ge i} n_{gb}\, q_{gb}}{\sum_b n_{gb}}, \qquad
              \sigma_{gi} = \sqrt{\frac{\hat p_{gi} (1 - \hat p_{gi})}{(1 + \gamma) \sum_b n_{gb}}}.

    The problem reads reward :math:`\hat r_i` and largest residual :math:`\hat g_i` off them, and :math:`\sigma_i` is
    what the :math:`\sigma_{gi}` do to the latter. Played is the highest :math:`\hat r_i` with
    :math:`\hat g_i + z \sigma_i \le 0`, z being `width`; if there is none, the smallest
    :math:`\hat g_i + z \sigma_i`.

    For the first `opening` rounds a uniform lottery shows labels of people of all scores. It follows a world that
    changes by itself, late by about :math:`1 / (1 - \gamma)` rounds, but does not know that people answer to it. As
    repeated risk minimisation [2]_, also called repeated retraining [3]_, it ends, if it converges, at a performatively
    *stable* threshold, which is best for the people it brings about, and not at the *optimal* one, where both are best
    together. :class:`~fairgate.environments.LocationScale` is a world in which it converges or diverges. What it says
    is about recent people only: if :math:`\hat g_i - 3 \sigma_i > 0` for all i, there is strong evidence that no
    threshold is feasible for them, and the trace ``infeasible`` says so.

    Parameters
    ----------
    discount
        What a round leaves of the weight of earlier scores, :math:`\gamma`.
    label_discount
        The same for labels: who repays at a given score changes less quickly than who comes.
    width
        Confidence width z, in standard errors.
    opening
        Rounds of the uniform lottery.

    Examples
    --------
    The best threshold swings between 0.3 and -0.2 here.

    >>> import fairgate as fg
    >>> task = fg.load_task("drift")
    >>> run = fg.simulate(task, fg.learners.RepeatedRetraining(), rounds=1200, seeds=3)
    >>> run.thresholds[:, 375, 0].round(1), run.thresholds[:, 1125, 0].round(1)
    (array([0.4, 0.4, 0.3]), array([-0.2, -0.3, -0.2]))

    References
    ----------
    .. [1] Garivier, Moulines, "On upper-confidence bound policies for switching bandit problems", ALT 2011.
    .. [2] Perdomo, Zrnic, Mendler-Dünner, Hardt, "Performative prediction", ICML 2020.
    .. [3] Miller, Perdomo, Zrnic, "Outside the echo chamber: optimizing the performative risk", ICML 2021.
    """

    discount: PositiveShare = 0.97
    label_discount: PositiveShare = 0.999
    width: NonNegative = 1.0
    opening: int = 20

    level: ClassVar[str] = "selective-labels"
    policies: ClassVar[str] = "lottery"
    traces: ClassVar[tuple[str, ...]] = ("infeasible",)
    version: ClassVar[int] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_whole(self, "opening", 1)

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> RetrainingState:
        """Start having seen nobody."""
        state = fresh(RetrainingState, setting, common)
        state.labels = bins_last(state.labels)
        return state

    def propose(self, state: RetrainingState) -> Policy:
        """Return the threshold that is best for recent people; at the beginning, the uniform lottery."""
        opening = state.seen < self.opening
        if not opening.any():
            return super().propose(state)
        window = acceptance_window(state.problem, state.groups)
        uniform = Policy.uniform(np.broadcast_to(window.mean(axis=0), state.replicates), state.groups)
        if opening.all():
            return uniform
        chosen = np.where(opening[:, None], uniform.thresholds, self.choose(state)[:, None])
        return uniform._replace(thresholds=chosen)

    def choose(self, state: RetrainingState) -> Array:
        """Pick the best threshold that is feasible by a margin, else the one nearest to it."""
        prediction = self.prediction(state)
        renew = (state.seen - self.opening) % RENEW == 0
        if renew.any():
            state.margin = np.where(renew, prediction.value(state.problem).residual_error, state.margin)
        value = Value(*prediction.read(state.problem), state.margin, state.margin)
        state.infeasible = value.strongly_infeasible() & (state.seen >= self.opening)
        return np.asarray(state.grid[value.best(np.asarray(self.width))[0]])

    def learn(self, state: RetrainingState, played: Policy, feedback: Feedback) -> None:
        """Discount what is known and add the batch."""
        state.seen += 1
        scores, labels = feedback.observation.binned
        state.scores *= np.asarray(self.discount)[..., None, None]
        state.scores += scores
        state.labels *= np.asarray(self.label_discount)[..., None, None, None]
        state.labels += labels

    def prediction(self, state: RetrainingState) -> Prediction:
        """Return what every threshold would do to recent people."""
        people, rates, positives = self.recent(state)
        weight = self.weight(people)[..., None]
        error = np.sqrt(np.maximum(rates * (1.0 - rates), 1.0 / weight) / weight)[..., 1:]
        everybody = np.broadcast_to(positives[..., :1], error.shape)
        shares = people / people.sum(axis=1, keepdims=True)
        return Prediction(shares, rates[..., 1:], positives[..., 1:], everybody, error, np.zeros_like(error))

    def recent(self, state: RetrainingState) -> tuple[Array, Array, Array]:
        """Return recent people (R, G), and the shares of them that score above the lower end of each bin.

        Those are of all and of positives, (R, G, K+1) each; bin 0 has everybody.
        """
        people = np.maximum(state.scores.sum(axis=-1), 1e-9)
        good = optimistic_share(state.labels, benefit=1.0)
        mass = state.scores / people[..., None]
        rates, positives = (each[..., ::-1].cumsum(axis=-1)[..., ::-1] for each in (mass, mass * good))
        return people, rates, positives

    def weight(self, people: Array) -> Array:
        """Return how many people the shares of so many discounted ones are as precise as, and one more, (R, G)."""
        return np.asarray(people * (1.0 + np.asarray(self.discount)[..., None]) + 1.0)
