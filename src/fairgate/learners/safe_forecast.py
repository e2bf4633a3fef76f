"""SafeForecast: explore by a lottery that is fair by design, predict steady states, play the best of the safe set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.forecast.correction import Comparison, GridCorrection
from fairgate.learners.forecast.learner import Forecast
from fairgate.learners.forecast.play import Plan
from fairgate.learners.forecast.policy_space import ForecastState, PolicySpace
from fairgate.learners.forecast.prediction import Prediction, Value
from fairgate.learners.forecast.response import Fit
from fairgate.learners.forecast.steady_state import SteadyStates
from fairgate.learners.shapes import filled
from fairgate.learners.statement import Statement
from fairgate.policy import Policy
from fairgate.problem import Problem
from fairgate.settings import Array, NonNegative


@dataclass(frozen=True)
class SafeForecast(Forecast):
    r"""Learn from a uniform lottery how people respond, then play the best threshold that is safe in its steady state.

    Accepting everybody with one probability has no gap between groups in any state, so exploration is safe. A
    regression (``learners/forecast/response.py``) then predicts for every threshold i the reward :math:`\hat r_i` and
    largest residual :math:`\hat g_i` of its *steady state*, with standard errors :math:`\sigma_i`: not what would be
    best for the people who come today, but for those who would come. Played is the highest :math:`\hat r_i` in the
    safe set, with the confidence width z = `width`,

    .. math:: \hat g_i + z \sigma_i \le 0.

    If :math:`\hat g_i - 3 \sigma_i > 0` for all i, there is strong evidence that no threshold is feasible: the uniform
    lottery is played, and once the evidence has stood for a quarter of the run, the trace ``infeasible`` says so.
    ``docs/learners/safe-forecast.md`` has the whole rule.

    Parameters
    ----------
    width
        Confidence width z, in standard errors.
    phase_length
        Rounds of each of the first four exploration phases.
    epoch_length
        Rounds between choices, after which predictions are compared with what happened.
    misfit
        Predictions that fail by more than so many times their variance are no longer trusted: scores respond to
        something else than acceptance. An early one then is the prior mean of a Gaussian process over the grid.
    change
        If a kept threshold suddenly does otherwise by so many squared standard errors, everything is reset.
    lottery_share
        Largest share of later rounds in which the uniform lottery is set to the acceptance rate of a threshold that
        may be feasible and promises more, to see its state without playing it.

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

    def policy_space(self, sizes: Mapping[str, int]) -> PolicySpace:
        """Plan shared thresholds, and begin in the middle of the grid."""
        middle = sizes["K"] // 2
        return filled(SharedThreshold, sizes, width=self.width, lottery_share=self.lottery_share, arm=middle)


@dataclass
class SharedThreshold(PolicySpace):
    """Plans one threshold of the grid for all groups.

    While predictions are trusted, the cautious candidate is played, and if a bolder one promises more, the uniform
    lottery is set to its acceptance rate, which shows its state without playing it. Once they have failed, the bold
    candidate is played, and it may be bold about feasibility only near the cautious one.
    """

    width: Annotated[Array, "R"]  # confidence width in standard errors
    # largest share of later rounds that the uniform lottery is used in to learn more
    lottery_share: Annotated[Array, "R"]
    correction: GridCorrection  # takes over once predictions have failed
    arm: Annotated[NDArray[np.int64], "R"]  # threshold in play
    statement: Statement  # that no threshold is feasible
    spent: Annotated[NDArray[np.int64], "R"]  # rounds of the uniform lottery that went into learning more
    # share of the grid around the cautious candidate within which the bold one may be infeasible, after a failure
    near: float = 0.05
    # standard errors of reward that count for the bold candidate after a failure; before, it is 1
    eager: float = 2.0

    def plan(self, state: ForecastState, rows: NDArray[np.int64]) -> Plan:
        """Choose a threshold, and whether to explore instead: to learn of a bolder one, or because there is none."""
        age, width, every = state.response.age[rows], self.width[rows], np.arange(len(rows))
        failed = state.misfit[rows] > 0
        fit, plain, prediction = self.predict(state, rows, benefit=1.0)
        self.correction.keep_prior(rows, age <= state.exploration.opening, plain)
        value = prediction.value(state.problem.rows(rows))
        cautious, bold, safe = self.candidates(value, failed, width)
        strong = value.strongly_infeasible()
        infeasible = self.statement.stands(rows, strong, state.exploration.duration(age).astype(np.float64), age)
        arm = np.where(failed, bold, cautious)
        exploration = state.exploration
        unsafe = value.residual[bold, every] + width * value.residual_error[bold, every] > 0.0
        affordable = self.spent[rows] < self.lottery_share[rows] * age + exploration.epoch_length
        pays = self.pays(state.problem.rows(rows), prediction, value, cautious, bold, age, exploration.duration(age))
        better = (bold != cautious) & unsafe & affordable & pays
        curious = ~failed & (age >= exploration.opening) & (~safe | better)
        explore = strong | curious
        target = np.where(curious, bold, cautious)
        self.spent[rows] += np.where(curious & safe, exploration.duration(age), 0)

        transient = explore | state.exploring[rows] | (arm != self.arm[rows])
        self.arm[rows] = arm
        chosen = np.repeat(state.grid[arm][:, None], state.groups, axis=1)
        return Plan(
            thresholds=np.stack((chosen, np.full_like(chosen, np.inf))),
            weights=np.repeat([[1.0], [0.0]], len(rows), axis=1),
            rates=prediction.rates[every, :, arm],
            variance=plain.error[every, :, arm] ** 2,
            terms=np.stack([each[every, :, :, arm + 1] for each in (fit.rates, fit.positives)]),
            speed=fit.speed,
            explore=explore,
            acceptance=(prediction.shares * prediction.rates[every, :, target]).sum(axis=1),
            infeasible=infeasible,
            transient=transient,
            safe=value.residual[arm, every] + width * value.residual_error[arm, every] <= 0.0,
        )

    @staticmethod
    def pays(
        problem: Problem,
        prediction: Prediction,
        value: Value,
        cautious: NDArray[np.int64],
        bold: NDArray[np.int64],
        age: NDArray[np.int64],
        rounds: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Whether so many `rounds` of the uniform lottery cost no more than the bold one may earn in as long as so far.

        The lottery is the one at the bold candidate's acceptance rate; all are (R,).
        """
        every = np.arange(len(age))
        rate = (prediction.shares * prediction.rates[every, :, bold]).sum(axis=1)[:, None, None]
        everybody = prediction.all_positives[every, :, bold][..., None]
        rates = rate + 0.0 * everybody
        uniform = Prediction(prediction.shares, rates, rates * everybody, everybody, 0.0 * rates, 0.0 * rates)
        price = value.reward[cautious, every] - uniform.read(problem)[0][0]
        gain = value.reward[bold, every] + value.reward_error[bold, every] - value.reward[cautious, every]
        return np.asarray(gain * age >= price * rounds)

    def predict(
        self, state: ForecastState, rows: NDArray[np.int64], benefit: float
    ) -> tuple[Fit, Prediction, Prediction]:
        """Return the fit, its prediction of every threshold, and the same corrected."""
        fit = state.response.fit(rows, benefit)
        plain = SteadyStates.trusted(state.response, rows, fit).thresholds()
        return fit, plain, self.correction.apply(rows, state.misfit[rows] > 0, plain)

    def candidates(
        self, value: Value, failed: NDArray[np.bool_], width: Array
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return the cautious candidate, the bold one and whether the first is safe, (R,) each.

        The cautious one is the best of the safe set, or the nearest to it; the bold one is the best of what may be
        feasible within `width` standard errors.
        """
        cautious, safe = safest(value, failed, width)
        arms = len(value.reward)
        apart = np.abs(np.arange(arms)[:, None] - cautious) / max(arms - 1, 1)
        width = np.where(failed & (apart > self.near + 1e-9), 0.0, width)
        lower = value.residual - width * value.residual_error
        possible = lower <= np.maximum(0.0, lower.min(axis=0))
        hoped = value.reward + np.where(failed, self.eager, 1.0) * value.reward_error
        return cautious, np.where(possible, hoped, -np.inf).argmax(axis=0), safe

    def compare(self, state: ForecastState, rows: NDArray[np.int64]) -> Comparison:
        """Compare what an epoch showed with the prediction and with earlier epochs on the same threshold."""
        return self.correction.compare(rows, self.arm[rows], state.play, state.misfit)

    def recommend(self, state: ForecastState) -> Policy:
        """Return the best threshold that is feasible by a third of the width there is in play."""
        rows = np.arange(state.replicates)
        _, _, prediction = self.predict(state, rows, benefit=0.0)
        value = prediction.value(state.problem.rows(rows))
        arm, _ = safest(value, state.misfit > 0, self.width / 3.0)
        return Policy.shared(state.grid[arm], state.groups)

    def reset(self, rows: NDArray[np.int64]) -> None:
        """Forget everything in some replicates."""
        self.correction.reset(rows)
        self.spent[rows] = 0
        self.statement.held[rows] = 0.0


def safest(value: Value, failed: NDArray[np.bool_], width: Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the best threshold and whether it is safe, (R,) each: by one standard error at most after a failure."""
    return value.best(np.where(failed, np.minimum(width, 1.0), width))
