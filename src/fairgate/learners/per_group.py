"""PerGroup: a threshold for every group, such that what they lead to together is safe."""

from __future__ import annotations

from dataclasses import dataclass

from fairgate.learners.forecast.learner import Forecast
from fairgate.learners.forecast.policy_space import PolicySpace
from fairgate.learners.forecast.thresholds_per_group import ThresholdsPerGroup


@dataclass(frozen=True)
class PerGroup(Forecast):
    r"""Give every group its own threshold, and hold the groups' acceptance rates where they do best together.

    **Prediction.** As :class:`~fairgate.SafeForecast` it begins with a uniform lottery and learns how the share
    :math:`S_g(\theta; h)` of group g that scores at least :math:`\theta` responds to the moving average h of the
    group's acceptance (``learners/forecast/response.py``). Group g responds to its own acceptance only. If it is
    accepted at rate :math:`\alpha_g` for long, its threshold solves :math:`S_g(\theta; \alpha_g) = \alpha_g`, and
    labels seen above :math:`\theta` tell what it earns: one table of levels :math:`\alpha` per group serves all
    combinations.

    **Choice.** The levels of highest predicted reward in the safe set,

    .. math:: \hat g(\alpha_1, …, \alpha_G) + z \, \sigma(\alpha_1, …, \alpha_G) \le 0,

    with the confidence width z = `width`, found by a search from the best common level. While the safe set is empty,
    only the uniform lottery is played.

    **Holding.** Each round, the threshold of group g is set so that :math:`S_g(\theta; h_t) = \alpha_g` for the present
    moving average, not for the steady state only. Thus luck in one batch does not move the next, and there is no
    transient after a choice. Between two thresholds of the grid, the right share of people is accepted at the lower
    one by a lottery, so chance decides on nobody outside one score bin per group.

    **Misfit.** If predictions fail by more than `misfit` times their variance on average, something else than
    acceptance moves the scores. From then on what an epoch showed beyond its prediction is added to all predictions,
    which are trusted the less the further they lead away; if even that fails, plain thresholds are kept for an epoch
    each. **Change.** If the same levels suddenly do otherwise, by `change` squared standard errors, everything is
    reset.

    People with equal scores are treated differently by group, which many laws forbid; see
    ``docs/learners/per-group.md``.

    Its settings are those of :class:`~fairgate.SafeForecast`, but for `lottery_share`.

    Examples
    --------
    No shared threshold is feasible here, but two are that differ by group.

    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("mean-shift"), fg.learners.PerGroup(), rounds=600, seeds=3)
    >>> run.settled().single
    array([[-0.1,  0.8],
           [-0.3,  0.7],
           [-0.2,  0.7]])
    >>> round(run.summary()["population_reward"].mean, 2), round(run.summary()["feasible"].mean, 2)
    (0.16, 1.0)

    References
    ----------
    .. [1] Hardt, Price, Srebro, "Equality of opportunity in supervised learning", NeurIPS 2016.
    .. [2] Corbett-Davies, Pierson, Feller, Goel, Huq, "Algorithmic decision making and the cost of fairness", KDD 2017.
    .. [3] Perdomo, Zrnic, Mendler-Dünner, Hardt, "Performative prediction", ICML 2020.
    """

    def policy_space(self, replicates: int, groups: int, arms: int) -> PolicySpace:
        """Plan a threshold per group."""
        return ThresholdsPerGroup.start(replicates, groups, arms, self.width)
