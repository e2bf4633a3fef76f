"""SafeForecast: begin with a coin that is fair by design, foretell what thresholds lead to, play what surely holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.forecaster import (
    EARLY,
    SWINGS,
    Forecaster,
    ForecasterState,
    each,
    failed,
    jumped,
    problem_of,
    unplayed,
)
from fairgate.learners.gaussian_process import posterior
from fairgate.learners.outlook import Outlook, Worth
from fairgate.learners.response import fit, foresee
from fairgate.policy import Policy
from fairgate.setting import Setting
from fairgate.settings import Array, NonNegative

NEAR = 0.05
"""Share of the grid around the cautious choice within which a doubtful learner is optimistic about feasibility."""

EAGER = 2.0
"""Standard deviations of reward that a doubtful learner adds when it picks what to try."""

RELATED = 0.2
"""Length, as a share of the grid, over which a doubtful learner's errors of forecast go together."""

UNSURE = 0.06
"""Least standard deviation of a doubtful learner's errors of forecast."""


@dataclass
class ForecastState(ForecasterState):
    """What a forecaster remembers, and counts by threshold for when forecasts fail.

    Surprises are those of first epochs on a threshold.

    Attributes
    ----------
    arm, moved, coins
        Threshold in play, whether what is played changed, and rounds of the coin after its beginning, (R,).
    expected
        Forecast rate of the threshold in play, (R, G).
    settled
        What `spell` holds, in each threshold's settled rounds, (4, R, G, K).
    first
        Forecast at the end of the coin's beginning: rates and positives, (2, R, G, K).
    excess
        Sum of squared errors beyond their variance, (R,).
    """

    arm: NDArray[np.int64]
    moved: NDArray[np.bool_]
    coins: NDArray[np.int64]
    expected: Array
    settled: Array
    first: Array
    excess: Array


@dataclass(frozen=True)
class SafeForecast(Forecaster[ForecastState]):
    r"""Learn from a fair coin how people respond, then play the best threshold that surely meets every constraint.

    **A coin is safe.** Accepting everybody with the same chance has no gap between groups, whatever the state, and any
    acceptance rate one likes. The learner begins with such a coin, its chance swinging between the ends of what the
    constraints allow for `swing` rounds each. That shows the labels of people with all scores, and how the scores
    respond to acceptance.

    **Forecast.** A regression (``learners/response.py``) foretells for every threshold i the reward
    :math:`\hat r_i` and largest residual :math:`\hat g_i` of its *steady state*, with standard deviations
    :math:`\sigma_i`: not what would be best for the people who come today, but for those who would come.

    **Choice**, every `epoch_length` rounds. Cautious: the highest :math:`\hat r_i` with
    :math:`\hat g_i + z \sigma_i \le 0`, z being `caution`. If a threshold that might be feasible,
    :math:`\hat g_i - z \sigma_i \le 0`, promises more, the coin is set to its acceptance rate for an epoch, which shows
    what its state would be without playing it; at most a share `coin_share` of all rounds goes into that. While nothing
    is surely feasible, only the coin is played.

    **Doubt.** If forecasts of newly played thresholds fail by more than `doubt` times their variance on average, scores
    answer to something else than acceptance, to the threshold itself for instance. From then on the forecast is only
    the prior mean of a Gaussian process over the grid, fed with what played thresholds showed once settled.

    **Change.** If a threshold that is kept suddenly does otherwise than before, by `change` squared standard
    deviations, everything is forgotten and begins anew.

    If :math:`\hat g_i - 3 \sigma_i > 0` for all i, no threshold is feasible: the trace ``infeasible`` says so, and the
    coin is played.

    Parameters
    ----------
    caution
        Standard deviations z of feasibility.
    swing
        Rounds of each of the coin's first four stretches.
    epoch_length
        Rounds between choices.
    coin_share
        Largest share of later rounds that the coin is used in to learn more.
    doubt, change
        When forecasts are no longer trusted, and when all is begun anew; see above.

    Examples
    --------
    >>> import fairgate as fg
    >>> task = fg.load_task("interior")
    >>> run = fg.simulate(task, fg.SafeForecast(), rounds=2000, seeds=3)
    >>> run.settled()[:, 0], fg.oracle(task).best.threshold
    (array([0.1, 0.1, 0.1]), 0.1...)
    >>> float(run.summary()["population_violation"].mean)
    0.0

    References
    ----------
    .. [1] Sui, Gotovos, Burdick, Krause, "Safe exploration for optimization with Gaussian processes", ICML 2015.
    .. [2] Perdomo, Zrnic, Mendler-Dünner, Hardt, "Performative prediction", ICML 2020.
    .. [3] Khezeli, Bitar, "Safe linear stochastic bandits", AAAI 2020.
    """

    caution: NonNegative = 1.5
    swing: int = 15
    epoch_length: int = 25
    coin_share: NonNegative = 0.1
    doubt: NonNegative = 2.5
    change: NonNegative = 20.0

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> ForecastState:
        """Start with nothing known and the first choice due at once."""
        replicates, groups, arms = common["replicates"], setting.groups, len(setting.thresholds)
        whole, yes = np.zeros(replicates, dtype=np.int64), np.zeros(replicates, dtype=bool)
        alone = {"weights": np.repeat([[1.0], [0.0]], replicates, axis=1), "doubtful": yes.copy()}
        return ForecastState(
            **unplayed(common, arms, parts=2, kinds=1) | alone,
            arm=np.full(replicates, arms // 2),
            moved=yes,
            coins=whole,
            expected=np.zeros((replicates, groups)),
            settled=np.zeros((4, replicates, groups, arms)),
            first=np.zeros((2, replicates, groups, arms)),
            excess=np.zeros(replicates),
        )

    def settle(self, state: ForecastState, rows: NDArray[np.int64], window: Array) -> None:
        """Choose a threshold, or the coin."""
        age, caution, every = state.age[rows], each(self.caution, state, rows), np.arange(len(rows))
        found = fit(state, rows, benefit=1.0)
        plain = foresee(state, rows, found)
        begun = age <= (SWINGS + 1) * self.swing
        state.first[:, rows[begun]] = np.stack((plain.rates, plain.positives))[:, begun]
        outlook = corrected(state, rows, plain)
        worth = outlook.worth(problem_of(state, rows))
        cautious, bold, sure = self.candidates(state, rows, worth, caution)
        doubtful, infeasible = state.doubtful[rows], worth.least() > 0.0
        arm = np.where(doubtful, bold, cautious)

        # The coin: before the first threshold, to learn of a bolder one, or because there is no threshold to play.
        opening = self.opening(age)
        unsure = worth.residual[bold, every] + caution * worth.residual_error[bold, every] > 0.0
        affordable = state.coins[rows] < each(self.coin_share, state, rows) * age + self.epoch_length
        learn_more = ~doubtful & ~opening & (~sure | ((bold != cautious) & unsure & affordable))
        coin = opening | infeasible | learn_more
        target = np.where(learn_more, bold, cautious)
        wanted = (outlook.shares * outlook.rates[every, :, target]).sum(axis=1)
        state.chance[rows] = np.where(coin, np.clip(wanted, *window), state.chance[rows])
        state.coins[rows] += np.where(learn_more & sure, self.stay(age), 0)

        state.moved[rows] = coin | state.coin[rows] | (arm != state.arm[rows])
        state.arm[rows], state.coin[rows], state.infeasible[rows] = arm, coin, infeasible
        state.thresholds[0, rows] = state.grid[arm][:, None]
        state.expected[rows] = outlook.rates[every, :, arm]
        state.variance[rows] = plain.error[every, :, arm] ** 2
        state.terms[0, rows], state.rate[rows] = found.rates[every, :, :, arm + 1], found.chosen

    def candidates(
        self, state: ForecastState, rows: NDArray[np.int64], worth: Worth, caution: Array
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return the best surely feasible threshold (or the nearest), the best possible one, and if any is sure."""
        doubtful = state.doubtful[rows]
        cautious, upper = worth.best(np.where(doubtful, np.minimum(caution, 1.0), caution))
        apart = np.abs(np.arange(len(state.grid))[:, None] - cautious) / max(len(state.grid) - 1, 1)
        width = np.where(doubtful & (apart > NEAR + 1e-9), 0.0, each(self.caution, state, rows))
        lower = worth.residual - width * worth.residual_error
        possible = lower <= np.maximum(0.0, lower.min(axis=0))
        hoped = worth.reward + np.where(doubtful, EAGER, 1.0) * worth.reward_error
        return cautious, np.where(possible, hoped, -np.inf).argmax(axis=0), upper <= 0.0

    def counted(self, state: ForecastState) -> NDArray[np.bool_]:
        """Return where this round tells of the threshold in play: not while the state has yet to settle."""
        settling = np.where(self.early(state.age), EARLY[1], self.epoch_length) * 2 // 5
        return np.asarray(~state.moved | (state.waited >= settling))

    def review(self, state: ForecastState, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Compare what an epoch showed with the forecast and with earlier epochs on the same threshold."""
        people, accepted, _, foretold = state.spell[:, rows]
        arm, new = state.arm[rows], state.moved[rows]
        earlier, accepted_then, _, foretold_then = state.settled[:, rows, :, arm].swapaxes(0, 1)
        people, trusted = np.maximum(people, 1.0), ~state.doubtful[rows][:, None]
        now = (accepted - trusted * foretold) / people
        then = (accepted_then - trusted * foretold_then) / np.maximum(earlier, 1.0)
        chance = (accepted + accepted_then + 1.0) / (people + earlier + 2.0)
        changed = jumped(now, people, then, earlier, chance * (1.0 - chance), each(self.change, state, rows)) & ~new

        error = ((accepted - foretold) / people) ** 2
        usual = np.maximum(state.expected[rows] * (1.0 - state.expected[rows]), 0.01) / people + state.variance[rows]
        state.surprise[rows] += np.where(new, (error / usual).mean(axis=1), 0.0)
        state.excess[rows] = np.maximum(state.excess[rows] + np.where(new, (error - usual).mean(axis=1), 0.0), 0.0)
        state.trials[rows] += new
        trials = np.maximum(state.trials[rows], 1.0)
        state.doubtful[rows] |= failed(state.surprise[rows], trials, each(self.doubt, state, rows))
        for total, part in zip(state.settled, state.spell, strict=True):
            total[rows, :, arm] += part[rows]
        return changed

    def begin_anew(self, state: ForecastState, rows: NDArray[np.int64]) -> None:
        """Forget everything in replicates where people have changed."""
        super().begin_anew(state, rows)
        state.coins[rows] = 0
        state.settled[:, rows] = 0.0
        state.excess[rows] = 0.0

    def recommend(self, state: ForecastState) -> Policy:
        """Return the best threshold that seems feasible, with a third of the caution there is in play, (R, G)."""
        rows = np.arange(state.replicates)
        outlook = corrected(state, rows, foresee(state, rows, fit(state, rows, benefit=0.0)))
        caution = each(self.caution, state, rows) / 3.0
        arm, _, _ = self.candidates(state, rows, outlook.worth(problem_of(state, rows)), caution)
        return Policy.shared(state.grid[arm], state.groups)


def corrected(state: ForecastState, rows: NDArray[np.int64], outlook: Outlook) -> Outlook:
    """Correct the outlook of replicates `rows` whose forecasts have failed by what played thresholds showed.

    The first forecast is the prior mean of a Gaussian process over the grid, what was counted since its data.
    """
    doubtful = state.doubtful[rows]
    if not doubtful.any():
        return outlook
    which, arms = rows[doubtful], len(state.grid)
    steps = np.arange(arms) / max(arms - 1, 1)
    related = np.exp(-0.5 * ((steps[:, None] - steps) / RELATED) ** 2) + 1e-8 * np.eye(arms)
    variance = np.maximum(state.excess[which] / np.maximum(state.trials[which], 1.0), UNSURE**2)
    rates, positives = state.first[:, which]
    people, accepted, accepted_positives = state.settled[:3, which]
    noise = np.where(people > 0, np.maximum(rates * (1.0 - rates), 0.01) / np.maximum(people, 1e-9), 1e6)
    seen = np.stack((accepted - people * rates, accepted_positives - people * positives), axis=-1)
    seen /= np.maximum(people, 1.0)[..., None]
    shift, left = posterior(variance[:, None, None, None] * related, noise, seen)

    new = outlook._replace(
        **{name: getattr(outlook, name).copy() for name in ("rates", "positives", "error", "label_error")}
    )
    new.rates[doubtful] = np.clip(rates + shift[..., 0], 0.0, 1.0)
    new.positives[doubtful] = np.clip(positives + shift[..., 1], 0.0, new.rates[doubtful])
    new.error[doubtful] = new.label_error[doubtful] = np.sqrt(np.maximum(left, 0.0))
    return new
