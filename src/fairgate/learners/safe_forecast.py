"""SafeForecast: explore by a lottery that is fair by design, predict steady states, play the best of the safe set."""

from __future__ import annotations

from dataclasses import dataclass

from fairgate.learners.forecast.learner import Forecast
from fairgate.learners.forecast.policy_space import PolicySpace
from fairgate.learners.forecast.shared_threshold import SharedThreshold
from fairgate.settings import NonNegative


@dataclass(frozen=True)
class SafeForecast(Forecast):
    r"""Learn from a uniform lottery how people respond, then play the best threshold that is safe in its steady state.

    **Exploration is safe.** Accepting everybody with one probability has no gap between groups in any state, and any
    acceptance rate one likes. The learner begins with such a uniform lottery, in phases of `phase_length` rounds whose
    probability alternates between the ends of what the constraints allow. That shows the labels of people with all
    scores, and how the scores respond to acceptance.

    **Prediction.** A regression (``learners/forecast/response.py``) predicts for every threshold i the reward
    :math:`\hat r_i` and largest residual :math:`\hat g_i` of its *steady state*, with standard errors
    :math:`\sigma_i`: not what would be best for the people who come today, but for those who would come.

    **Choice**, every `epoch_length` rounds. Cautious: the highest :math:`\hat r_i` in the safe set,
    :math:`\hat g_i + z \sigma_i \le 0` with the confidence width z = `width`. If a threshold that may be feasible,
    :math:`\hat g_i - z \sigma_i \le 0`, promises more, the uniform lottery is set to its acceptance rate for an epoch,
    which shows what its state would be without playing it; at most a share `lottery_share` of all rounds goes into
    that. While the safe set is empty, only the uniform lottery is played.

    **Misfit.** If predictions of newly played thresholds fail by more than `misfit` times their variance on average,
    scores respond to something else than acceptance, to the threshold itself for instance. From then on an early
    prediction is only the prior mean of a Gaussian process over the grid, fed with what played thresholds showed once
    settled.

    **Change.** If a threshold that is kept suddenly does otherwise than before, by `change` squared standard errors,
    everything is reset.

    If :math:`\hat g_i - 3 \sigma_i > 0` for all i, it is certified that no threshold is feasible: the trace
    ``infeasible`` says so, and the uniform lottery is played.

    Parameters
    ----------
    width
        Confidence width z, in standard errors.
    phase_length
        Rounds of each of the first four exploration phases.
    epoch_length
        Rounds between choices, after which predictions are compared with what happened.
    misfit, change
        When predictions are no longer trusted, and when everything is reset; see above.
    lottery_share
        Largest share of later rounds that the uniform lottery is used in to learn more.

    Examples
    --------
    >>> import fairgate as fg
    >>> task = fg.load_task("interior")
    >>> run = fg.simulate(task, fg.SafeForecast(), rounds=2000, seeds=3)
    >>> run.settled().single[:, 0], fg.oracle(task).best.threshold
    (array([0.1, 0.1, 0.1]), 0.1...)
    >>> float(run.summary()["population_violation"].mean)
    0.0

    References
    ----------
    .. [1] Sui, Gotovos, Burdick, Krause, "Safe exploration for optimization with Gaussian processes", ICML 2015.
    .. [2] Perdomo, Zrnic, Mendler-Dünner, Hardt, "Performative prediction", ICML 2020.
    .. [3] Khezeli, Bitar, "Safe linear stochastic bandits", AAAI 2020.
    """

    width: NonNegative = 1.5
    misfit: NonNegative = 2.5
    change: NonNegative = 20.0
    lottery_share: NonNegative = 0.1

    def policy_space(self, replicates: int, groups: int, arms: int) -> PolicySpace:
        """Plan shared thresholds."""
        return SharedThreshold.start(replicates, groups, arms, self.width, self.lottery_share)
