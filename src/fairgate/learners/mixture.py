"""Mixture: a lottery between two thresholds, the same for all groups, that is safe in its steady state."""

from __future__ import annotations

from dataclasses import dataclass

from fairgate.learners.forecast.learner import Forecast
from fairgate.learners.forecast.lottery_of_two import LotteryOfTwo
from fairgate.learners.forecast.policy_space import PolicySpace


@dataclass(frozen=True)
class Mixture(Forecast):
    r"""Hold everybody to the same lottery between two thresholds, one of which may accept all or nobody.

    **Lottery.** For every person the lower threshold :math:`\theta` is used with probability w, else the higher one
    :math:`\theta'`, in every group alike. What a single threshold cannot do, two may: between -inf and inf the lottery
    is uniform, so that every constraint on acceptance can be met where no threshold is feasible; between neighbours of
    the grid it is a threshold in between; and with w = 1 it is a threshold of the grid. So it never has to be worse
    than any of these.

    **Prediction.** As :class:`~fairgate.SafeForecast` it begins with a uniform lottery and learns how the share
    :math:`S_g(\theta; h)` of group g that scores at least :math:`\theta` responds to the moving average h of the
    group's acceptance (``learners/forecast/response.py``). A lottery mixes them with weights w and 1 - w, and its
    acceptance rate in the steady state solves

    .. math:: \alpha_g = w S_g(\theta; \alpha_g) + (1 - w) S_g(\theta'; \alpha_g).

    **Choice.** The lottery of highest predicted reward in the safe set, :math:`\hat g + z \sigma \le 0` with the
    confidence width z = `width`. The error :math:`\sigma` is the fit's, and how much the state fluctuates with the luck
    of the batches: the less, the more chance there is in a lottery. The search begins at neighbours, pairs of a coarse
    grid, and pairs with -inf or inf, and goes on around the best of each. While the safe set is empty, only the uniform
    lottery is played.

    **Misfit.** If predictions fail by more than `misfit` times their variance on average, what an epoch showed beyond
    its prediction is added to all predictions, which are trusted the less the further they lead away. **Change.** If
    the same lottery suddenly does otherwise, by `change` squared standard errors, everything is reset.

    Equals are treated by chance; see ``docs/learners/mixture.md``.

    Its settings are those of :class:`~fairgate.SafeForecast`, but for `lottery_share`.

    Examples
    --------
    No threshold is feasible here, but a lottery is that earns more than the best uniform one.

    >>> import fairgate as fg
    >>> for learner in (fg.learners.Mixture(), fg.learners.BestLottery()):
    ...     run = fg.simulate(fg.load_task("mean-shift"), learner, rounds=600, seeds=3)
    ...     print(f"{run.summary()['population_reward'].mean:.3f}, {run.summary()['population_violation'].mean:.3f}")
    -0.027, 0.000
    -0.058, 0.000

    References
    ----------
    .. [1] Hardt, Price, Srebro, "Equality of opportunity in supervised learning", NeurIPS 2016.
    .. [2] Agarwal, Beygelzimer, Dudík, Langford, Wallach, "A reductions approach to fair classification", ICML 2018.
    .. [3] Perdomo, Zrnic, Mendler-Dünner, Hardt, "Performative prediction", ICML 2020.
    """

    def policy_space(self, replicates: int, groups: int, arms: int) -> PolicySpace:
        """Plan lotteries of two."""
        return LotteryOfTwo.start(replicates, groups, arms, self.width)
