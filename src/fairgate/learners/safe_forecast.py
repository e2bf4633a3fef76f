"""SafeForecast: begin with a coin that is fair by design, foretell what thresholds lead to, play what surely holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.learners.base import Learner
from fairgate.learners.gaussian_process import posterior
from fairgate.learners.memory import Memory
from fairgate.learners.outlook import Outlook, Worth
from fairgate.learners.response import ResponseMemory, absorb, blank, foresee, forget, terms_now
from fairgate.policy import Lottery
from fairgate.problem import Problem, Signals
from fairgate.settings import Array, as_floats, whole_number
from fairgate.tasks import Task

CHANCES = np.linspace(0.02, 0.98, 49)
"""Chances of acceptance the coin may have."""

ROOM = 0.005
"""How far from its limits the coin stays."""

SWINGS = 3
"""Stretches of high, low and high chance that the coin begins with, before it settles where the threshold will be."""

EARLY = (6, 10)
"""The first so many dwells have so few rounds: forecasts improve quickly then."""

CERTAIN = 3.0
"""Standard errors by which every threshold must seem infeasible before the learner says that none is feasible."""

NEAR = 0.05
"""Share of the grid around the cautious choice within which a doubtful learner is optimistic about feasibility."""

EAGER = 2.0
"""Standard deviations of reward that a doubtful learner adds when it picks what to try."""

RELATED = 0.2
"""Length, as a share of the grid, over which a doubtful learner's errors of forecast go together."""

UNSURE = 0.06
"""Least standard deviation of a doubtful learner's errors of forecast."""


@dataclass
class ForecastMemory(ResponseMemory):
    """The regression, what is in play, how forecasts fared, and counts by threshold for when they fail.

    Attributes
    ----------
    due
        Age at which the next choice is due, (R,).
    arm, coin, chance
        Threshold in play, whether the coin is played instead, and its chance of acceptance, (R,).
    moved, waited, coins
        Whether what is played changed, rounds since, and rounds of the coin after its beginning, (R,).
    expected, variance, terms, rate
        Forecast of the threshold in play: rate and squared error (R, G), coefficients (R, G, 4), index of ρ (R,).
    spell
        People, accepted, positives and forecast of accepted in this dwell, (4, R, G).
    settled
        People, accepted, positives and forecast of accepted in each threshold's settled rounds, (4, R, G, K).
    first
        Forecast at the end of the coin's beginning: rates and positives, (2, R, G, K).
    surprise, excess, trials
        Sums over first dwells on a threshold: squared errors in units of their variance, and beyond it, (R,).
    doubtful
        Whether forecasts have failed, (R,).
    infeasible
        Whether it is certain that no threshold is feasible, (R,).
    """

    due: NDArray[np.int64]
    arm: NDArray[np.int64]
    coin: NDArray[np.bool_]
    chance: Array
    moved: NDArray[np.bool_]
    waited: NDArray[np.int64]
    coins: NDArray[np.int64]
    expected: Array
    variance: Array
    terms: Array
    rate: NDArray[np.int64]
    spell: Array
    settled: Array
    first: Array
    surprise: Array
    excess: Array
    trials: Array
    doubtful: NDArray[np.bool_]
    infeasible: NDArray[np.bool_]


@dataclass(frozen=True)
class SafeForecast(Learner[ForecastMemory]):
    r"""Learn from a fair coin how people respond, then play the best threshold that surely meets every constraint.

    **A coin is safe.** Accepting everybody with the same chance has no gap between groups, whatever the state, and any
    acceptance rate one likes. The learner begins with such a coin, its chance swinging between the ends of what the
    constraints allow for `swing` rounds each. That shows the labels of people with all scores, and how the scores
    respond to acceptance.

    **Forecast.** A regression (``learners/response.py``) foretells for every threshold i the reward
    :math:`\hat r_i` and largest residual :math:`\hat g_i` of its *steady state*, with standard deviations
    :math:`\sigma_i`: not what would be best for the people who come today, but for those who would come.

    **Choice**, every `dwell` rounds. Cautious: the highest :math:`\hat r_i` with
    :math:`\hat g_i + z \sigma_i \le 0`, z being `caution`. If a threshold that might be feasible,
    :math:`\hat g_i - z \sigma_i \le 0`, promises more, the coin is set to its acceptance rate for a dwell, which shows
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
    dwell
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

    caution: float = 1.5
    swing: int = 15
    dwell: int = 25
    coin_share: float = 0.1
    doubt: float = 2.5
    change: float = 20.0

    memory_type: ClassVar[type[Memory]] = ForecastMemory
    tier: ClassVar[str] = "C"
    lottery: ClassVar[bool] = True
    traces: ClassVar[tuple[str, ...]] = ("infeasible", "coin", "doubtful")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("swing", "dwell"):
            object.__setattr__(self, name, whole_number(f"SafeForecast: {name}", int(getattr(self, name)), 2))
        for name in ("caution", "coin_share", "doubt", "change"):
            value = float(as_floats(f"SafeForecast: {name}", getattr(self, name), ndim=0))
            if value < 0.0:
                raise InputError(f"SafeForecast: {name} must be at least 0, got {value:g}")

    def remember(self, task: Task, common: Mapping[str, Any]) -> ForecastMemory:
        """Start with nothing known and the first choice due at once."""
        replicates, groups, arms = common["replicates"], common["groups"], len(task.thresholds)
        whole = np.zeros(replicates, dtype=np.int64)
        yes = np.zeros(replicates, dtype=bool)
        return ForecastMemory(
            **common,
            **blank(replicates, groups, arms),  # type: ignore[arg-type]
            due=whole.copy(),
            arm=np.full(replicates, arms // 2),
            coin=yes.copy(),
            chance=np.full(replicates, 0.5),
            moved=yes.copy(),
            waited=whole.copy(),
            coins=whole.copy(),
            expected=np.zeros((replicates, groups)),
            variance=np.zeros((replicates, groups)),
            terms=np.zeros((replicates, groups, 4)),
            rate=whole.copy(),
            spell=np.zeros((4, replicates, groups)),
            settled=np.zeros((4, replicates, groups, arms)),
            first=np.zeros((2, replicates, groups, arms)),
            surprise=np.zeros(replicates),
            excess=np.zeros(replicates),
            trials=np.zeros(replicates),
            doubtful=yes.copy(),
            infeasible=yes.copy(),
        )

    def propose(self, memory: ForecastMemory) -> Lottery:  # type: ignore[override]
        """Return the coin or the threshold in play, as a lottery."""
        rows = np.flatnonzero(memory.age == memory.due)
        if rows.size:
            self.decide(memory, rows)
        threshold = np.where(memory.coin, -np.inf, memory.grid[memory.arm])
        accepts = np.where(memory.coin, memory.chance, 1.0)
        both = np.stack((threshold, np.full_like(threshold, np.inf)))
        return Lottery(np.repeat(both[:, :, None], memory.groups, axis=2), np.stack((accepts, 1.0 - accepts)))

    def choose(self, memory: ForecastMemory) -> Array:
        """Return the threshold in play."""
        return memory.grid[memory.arm]

    def decide(self, memory: ForecastMemory, rows: NDArray[np.int64]) -> None:
        """Choose what the replicates `rows` play next, and until when."""
        stage, lowest_highest = memory.age[rows] // self.swing, allowed(memory.problem, memory.groups)
        memory.waited[rows] = 0
        swinging = stage < SWINGS
        begin = rows[swinging]
        memory.coin[begin], memory.moved[begin] = True, True
        memory.chance[begin] = np.where(stage[swinging] % 2 == 0, lowest_highest[1], lowest_highest[0])
        memory.due[begin] += self.swing
        rows = rows[~swinging]
        if not rows.size:
            return

        opening = memory.age[rows] <= (SWINGS + 1) * self.swing
        forecast = foresee(memory, rows, benefit=1.0)
        memory.first[:, rows[opening]] = np.stack((forecast.outlook.rates, forecast.outlook.positives))[:, opening]
        outlook = corrected(memory, rows, forecast.outlook)
        worth = outlook.worth(problem_of(memory, rows))
        cautious, bold, sure = self.candidates(memory, rows, worth, self.caution)
        doubtful, each = memory.doubtful[rows], np.arange(len(rows))
        infeasible = (worth.residual - CERTAIN * worth.residual_error).min(axis=0) > 0.0
        arm = np.where(doubtful, bold, cautious)

        # The coin: before the first threshold, to learn of a bolder one, or because there is no threshold to play.
        last_swing = memory.age[rows] == SWINGS * self.swing
        unsure = worth.residual[bold, each] + self.caution * worth.residual_error[bold, each] > 0.0
        affordable = memory.coins[rows] < self.coin_share * memory.age[rows] + self.dwell
        learn_more = ~doubtful & ~last_swing & (~sure | ((bold != cautious) & unsure & affordable))
        coin = last_swing | infeasible | learn_more
        target = np.where(learn_more, bold, cautious)
        wanted = (outlook.shares * outlook.rates[each, :, target]).sum(axis=1)
        memory.chance[rows] = np.where(coin, np.clip(wanted, *lowest_highest), memory.chance[rows])

        early = memory.age[rows] < (SWINGS + 1) * self.swing + EARLY[0] * EARLY[1]
        stay = np.where(last_swing, self.swing, np.where(early, min(EARLY[1], self.dwell), self.dwell))
        memory.due[rows] += stay
        memory.coins[rows] += np.where(learn_more & sure, stay, 0)
        memory.moved[rows] = coin | memory.coin[rows] | (arm != memory.arm[rows])
        memory.arm[rows], memory.coin[rows], memory.infeasible[rows] = arm, coin, infeasible
        memory.expected[rows] = outlook.rates[each, :, arm]
        memory.variance[rows] = forecast.outlook.error[each, :, arm] ** 2
        memory.terms[rows], memory.rate[rows] = forecast.coefficients[each, :, :, arm], forecast.chosen

    def candidates(
        self, memory: ForecastMemory, rows: NDArray[np.int64], worth: Worth, caution: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return the best surely feasible threshold (or the nearest), the best possible one, and if any is sure."""
        doubtful = memory.doubtful[rows]
        upper = worth.residual + np.where(doubtful, np.minimum(caution, 1.0), caution) * worth.residual_error
        sure = upper <= 0.0
        best = np.where(sure, worth.reward, -np.inf).argmax(axis=0)
        cautious = np.where(sure.any(axis=0), best, upper.argmin(axis=0))
        apart = np.abs(np.arange(len(memory.grid))[:, None] - cautious) / max(len(memory.grid) - 1, 1)
        width = np.where(doubtful & (apart > NEAR + 1e-9), 0.0, self.caution)
        lower = worth.residual - width * worth.residual_error
        possible = lower <= np.maximum(0.0, lower.min(axis=0))
        hoped = worth.reward + np.where(doubtful, EAGER, 1.0) * worth.reward_error
        return cautious, np.where(possible, hoped, -np.inf).argmax(axis=0), np.asarray(sure.any(axis=0))

    def learn(self, memory: ForecastMemory, thresholds: Array, signals: Signals) -> None:
        """Take in the batch; at the end of a dwell see how the forecast fared."""
        seen = signals.seen
        assert seen is not None
        rows = np.arange(memory.replicates)
        foretold = (terms_now(memory)[memory.rate, rows] * memory.terms).sum(axis=-1) * seen.people
        settling = np.where(memory.age < (SWINGS + 1) * self.swing + EARLY[0] * EARLY[1], EARLY[1], self.dwell) * 2 // 5
        counted = ~memory.coin & (~memory.moved | (memory.waited >= settling))
        memory.spell += counted[:, None] * np.stack((seen.people, seen.accepted, seen.positives, foretold))
        absorb(memory, seen)
        memory.waited += 1
        ended = np.flatnonzero((memory.age == memory.due) & ~memory.coin)
        if ended.size:
            self.review(memory, ended)

    def review(self, memory: ForecastMemory, rows: NDArray[np.int64]) -> None:
        """Compare what a dwell showed with the forecast and with earlier dwells on the same threshold."""
        people, accepted, _, foretold = memory.spell[:, rows]
        arm = memory.arm[rows]
        before = memory.settled[:, rows, :, arm].swapaxes(0, 1)
        people, earlier = np.maximum(people, 1.0), np.maximum(before[0], 1.0)
        trusted = ~memory.doubtful[rows][:, None]
        now = (accepted - trusted * foretold) / people
        then = (before[1] - trusted * before[3]) / earlier
        chance = (accepted + before[1] + 1.0) / (people + before[0] + 2.0)
        wobble = chance * (1.0 - chance) * (1.0 / people + 1.0 / earlier)
        jump = np.where(before[0] > 0.0, (now - then) ** 2 / wobble, 0.0)
        changed = (jump.max(axis=1) > self.change) & ~memory.moved[rows]

        error = ((accepted - foretold) / people) ** 2
        usual = np.maximum(memory.expected[rows] * (1.0 - memory.expected[rows]), 0.01) / people + memory.variance[rows]
        new = memory.moved[rows]
        memory.surprise[rows] += np.where(new, (error / usual).mean(axis=1), 0.0)
        memory.excess[rows] = np.maximum(memory.excess[rows] + np.where(new, (error - usual).mean(axis=1), 0.0), 0.0)
        memory.trials[rows] += new
        trials = np.maximum(memory.trials[rows], 1.0)
        memory.doubtful[rows] |= memory.surprise[rows] > self.doubt * (trials + 3.0 / trials)
        for total, part in zip(memory.settled, memory.spell, strict=True):
            total[rows, :, arm] += part[rows]
        memory.spell[:, rows] = 0.0
        if changed.any():
            self.begin_anew(memory, rows[changed])

    def begin_anew(self, memory: ForecastMemory, rows: NDArray[np.int64]) -> None:
        """Forget everything in replicates where people have changed."""
        forget(memory, rows)
        memory.due[rows] = memory.coins[rows] = 0
        memory.settled[:, rows] = 0.0
        memory.surprise[rows] = memory.excess[rows] = memory.trials[rows] = 0.0
        memory.doubtful[rows] = memory.infeasible[rows] = False

    def recommend(self, memory: ForecastMemory) -> Array:
        """Return the best threshold that seems feasible, with a third of the caution there is in play, (R, G)."""
        rows = np.arange(memory.replicates)
        forecast = foresee(memory, rows, benefit=0.0)
        outlook = corrected(memory, rows, forecast.outlook)
        arm, _, _ = self.candidates(memory, rows, outlook.worth(problem_of(memory, rows)), self.caution / 3.0)
        return np.repeat(memory.grid[arm][:, None], memory.groups, axis=1)


def problem_of(memory: Memory, rows: NDArray[np.int64]) -> Problem:
    """Return the problem that replicates `rows` are set."""
    problem = memory.problem
    return problem if problem.replicates is None else problem.rows(rows)


def allowed(problem: Problem, groups: int) -> tuple[float, float]:
    """Return the lowest and highest chance at which the coin meets every constraint, one half if none does."""
    cells = np.zeros((len(CHANCES), 1, groups, 2, 2))
    cells[..., 1, :] = cells[..., 0, :] = 0.5 * np.stack((1.0 - CHANCES, CHANCES), axis=-1)[:, None, None, :] / groups
    residuals = problem.assess(np.repeat(cells, problem.replicates or 1, axis=1)).residuals
    fine = CHANCES[(residuals.max(axis=0, initial=-1.0) <= -ROOM).all(axis=1)]
    return (float(fine.min()), float(fine.max())) if fine.size else (0.5, 0.5)


def corrected(memory: ForecastMemory, rows: NDArray[np.int64], outlook: Outlook) -> Outlook:
    """Correct the outlook of replicates `rows` whose forecasts have failed by what played thresholds showed.

    The first forecast is the prior mean of a Gaussian process over the grid, what was counted since its data.
    """
    doubtful = memory.doubtful[rows]
    if not doubtful.any():
        return outlook
    which, arms = rows[doubtful], len(memory.grid)
    steps = np.arange(arms) / max(arms - 1, 1)
    related = np.exp(-0.5 * ((steps[:, None] - steps) / RELATED) ** 2) + 1e-8 * np.eye(arms)
    variance = np.maximum(memory.excess[which] / np.maximum(memory.trials[which], 1.0), UNSURE**2)
    rates, positives = memory.first[:, which]
    people, accepted, accepted_positives = memory.settled[:3, which]
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
