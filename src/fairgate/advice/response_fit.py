r"""Fit of the response model to a history: which strengths of feedback, and which speeds, explain it.

Let :math:`w_{gt}` be the weight of group g's high pool in period t, seen as the share of its applicants above the
group's median. What was decided in a period is told apart from who came: :math:`z_{gt}` is the acceptance that the
period's decisions, score by score, would have given to the group as it is over the whole history, and
:math:`\lambda_{gt}` how much more of the high pool than of the low pool they accepted, so that the group's acceptance
is :math:`z + \lambda (w - \tfrac12)`, times a factor that the history tells if weights have moved far. Feedback of
strength f and speed ρ then leads from :math:`k_0 = 0` along

.. math:: k_{t+1} = k_t + \rho\,(f\,(z_t - \bar z + \lambda_t k_t) - k_t), \qquad
          w_{gt} = \tfrac12 + k_{gt}(f, \rho) + c_g A_{gt} + b_g B_{gt} + d_g t + \text{noise},

where A is what a constant push leads to and B what is left of an unknown start, by the same equation. Since k answers
to decisions alone, chance in who came cannot be taken for an answer to it. Level, start and the linear trend are each
group's own. Noise is that of the number of people, which is known, and disturbances that no threshold explains, which
are autocorrelated or seasonal, or both, and partly common to all groups. How large and how persistent these are is
unknown, too: the likelihood is averaged over many combinations, and a strength is as likely as the speed that explains
the history best with it makes it (profile). So slow changes of everybody are not taken for feedback, and a speed that
the history does not tell widens the interval of the strength.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from fairgate.advice.steady import SPLIT, low_pool
from fairgate.people.period_counts import PeriodCounts
from fairgate.settings import Array

GRID = np.linspace(-0.99, 0.99, 45)
"""Strengths tried; 0 is among them."""

SPEEDS = np.array([0.04, 0.06, 0.09, 0.13, 0.18, 0.24, 0.3, 0.36, 0.43, 0.5, 0.6, 0.7, 0.85, 1.0])
"""Speeds tried."""

SIZES = (1.0, 10.0)
"""Variances of the disturbance that are tried, in units of the mean variance by the number of people.

All of the noise is then scaled up as the history says.
"""

PERSISTENCE = (0.0, 0.5, 0.8, 0.95)
"""Autocorrelations of the disturbance from one period to the next that are tried."""

CYCLES = (4.0, 12.0)
"""Cycles in periods that are tried, alone and with persistent disturbances as large."""

COMMON = (0.0, 0.9)
"""Correlations of the disturbance between groups tried."""

MIDDLE = len(GRID) // 2
"""Place of strength 0."""

NOBODY = 1e6
"""Variance of a weight that nobody has shown."""

INFLATION = 2.2
"""By how much the limit of the tests exceeds that of Student's t, in squares.

Persistent disturbances cannot be told well in a few dozen periods. In the hardest simulated world, true nulls are
rejected in 25 of 100 histories at 1, 13 at 1.6 and 5 at 2.2; docs/feedback.md has what is measured.
"""

DOUBT = 10.0
"""How many times as much as by chance weights must vary to tell half of how acceptance moves with them."""

NUISANCE = 3
"""Terms per group that are no feedback: level, trend, and transient of an unknown start."""


class Pools(NamedTuple):
    """How a group's people are parted at its median, by bin, (G, K)."""

    low: Array  # shares of the low pool's people
    high: Array
    above: Array  # share of a bin that counts as above the median

    @property
    def ends(self) -> tuple[Array, Array]:
        """Share of people that counts as above the median if all came from the low, or all from the high pool, (G,)."""
        return (self.above * self.low).sum(axis=1), (self.above * self.high).sum(axis=1)


def part(people: Array) -> Pools:
    """Part people by group and bin, (G, K), at each group's median."""
    low = low_pool(people[..., None])[..., 0]
    half = np.maximum(people.sum(axis=1, keepdims=True) / 2.0, 1e-300)
    above = np.divide(people - low, people, out=np.zeros_like(people), where=people > 0.0)
    return Pools(low / half, (people - low) / half, above)


class Series(NamedTuple):
    """What a history says of each period and group, (T, G)."""

    people: Array
    weight: Array  # of the high pool
    variance: Array  # of that, by the number of people
    policy: Array  # acceptance that the decisions would have given to the group as it is over all periods
    lift: Array  # how much more of the high than of the low pool they accepted


def series(history: PeriodCounts) -> Series:
    """Read the weights of the high pools, and what was decided, off a history.

    The bin with the median belongs to both pools in parts; what it hides of a change of weight is scaled up again. In a
    period, bins without anybody are supposed to be decided like their neighbours.
    """
    decided = history.counts.sum(axis=3)  # (T, G, K, 2)
    each = decided.sum(axis=3).astype(np.float64)
    everybody = each.sum(axis=0)
    pools = part(everybody)
    base, full = pools.ends
    slope = np.maximum(full - base, 1e-3)
    shares = everybody / np.maximum(everybody.sum(axis=1, keepdims=True), 1.0)
    spread = np.maximum((pools.above**2 * shares).sum(axis=1) - 0.25, 1e-4)
    people = each.sum(axis=2)
    came = np.maximum(people, 1.0)
    rates = acceptance_by_bin(decided[..., 1], each)
    none, most = ((rates * pool).sum(axis=2) for pool in (pools.low, pools.high))
    weight = ((pools.above * each).sum(axis=2) / came - base) / slope
    variance = spread / slope**2 / came
    policy, lift = (none + most) / 2.0, most - none
    moved = np.where(people > 0.0, decided[..., 1].sum(axis=2) / came - policy, 0.0)
    return Series(
        people, weight, variance, policy, lift * sensitivity(moved, lift * (weight - SPLIT), lift**2 * variance)
    )


def sensitivity(moved: Array, expected: Array, noise: Array) -> Array:
    """Return by what factor acceptance moves with the weight of the high pool, in each group, (G,).

    1 if those who come and go are spread over each pool as its people are. Where weights have changed much more than
    by chance, the history tells: `moved` (T, G) is what who came added to the acceptance by decisions alone.
    """
    chance = DOUBT * noise.sum(axis=0)
    seen, wanted = (expected * moved).sum(axis=0) + chance, (expected**2).sum(axis=0) + chance
    found = np.divide(seen, wanted, out=np.ones_like(seen), where=wanted > 0.0)  # 0 if all pools are decided alike
    return np.asarray(np.clip(found, 0.5, 2.0))


def acceptance_by_bin(accepted: Array, people: Array) -> Array:
    """Return the share accepted in each bin, (T, G, K); where nobody came, between those of the neighbouring bins.

    A period without anybody is decided like the one before.
    """
    found = np.zeros(people.shape)
    places = np.arange(people.shape[2])
    for group in range(people.shape[1]):
        last = np.zeros(len(places))
        for period in range(len(people)):
            some = people[period, group] > 0.0
            if some.any():
                last = np.interp(places, places[some], accepted[period, group, some] / people[period, group, some])
            found[period, group] = last
    return found


@dataclass(frozen=True, eq=False)
class Fit:
    """How well each strength and speed explains a history."""

    surface: Array  # twice the log likelihood by speed and strength, each with the noise that explains most, (P, F)
    precision: Array  # inverse covariance of the noise that explains most without feedback, (N, N)
    freedom: int  # degrees of freedom

    @cached_property
    def profile(self) -> Array:
        """How far each strength falls behind the likeliest, in twice the log likelihood, (F,)."""
        best = self.surface.max(axis=0)
        return np.asarray(best.max() - best)

    @property
    def strength(self) -> float:
        """The likeliest strength."""
        return float(GRID[self.profile.argmin()])

    @property
    def speed(self) -> float:
        """The likeliest speed."""
        return float(SPEEDS[self.surface.max(axis=1).argmax()])

    def limit(self, level: float) -> float:
        """How far a strength within an interval of this level may fall behind."""
        return float(INFLATION * stdtrit(self.freedom, (1.0 + level) / 2.0) ** 2)

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of the strengths that a test at 1 − `level` does not reject.

        At least one step of the grid to either side of the likeliest, which is as fine as the model is.
        """
        inside = np.flatnonzero(self.profile <= self.limit(level))
        best = int(self.profile.argmin())
        low, high = self._end(int(inside[0]), -1, level), self._end(int(inside[-1]), 1, level)
        return min(low, float(GRID[max(best - 1, 0)])), max(high, float(GRID[min(best + 1, len(GRID) - 1)]))

    def _end(self, last: int, step: int, level: float) -> float:
        """Return where the profile crosses the limit beyond the last strength inside."""
        if not 0 <= last + step < len(GRID):
            return float(GRID[last])
        within, outside = self.profile[last], self.profile[last + step]
        return float(GRID[last] + (GRID[last + step] - GRID[last]) * (self.limit(level) - within) / (outside - within))

    def speeds(self, level: float) -> tuple[float, float]:
        """Return the ends of the speeds that a test at 1 − `level` does not reject."""
        best = self.surface.max(axis=1)
        inside = SPEEDS[best >= best.max() - self.limit(level)]
        return float(inside[0]), float(inside[-1])

    @property
    def p_value(self) -> float:
        """Of no feedback at all; consistent with the interval."""
        return float(2.0 * stdtr(self.freedom, -np.sqrt(self.profile[MIDDLE] / INFLATION)))

    def information(self, policy: Array, lift: Array, speed: float) -> float:
        """Return what decisions (T, G) would tell of the strength in this noise: its standard error to the power −2.

        They may be for several times as many periods, whose noise is supposed to be like that of these.
        """
        moved, basis = paths(policy, lift, speed)
        slope = (moved[MIDDLE + 1] - moved[MIDDLE]).reshape(1, -1) / (GRID[MIDDLE + 1] - GRID[MIDDLE])
        groups = policy.shape[1]
        times = groups * len(policy) // len(self.precision)
        blocks = self.precision.reshape(groups, len(policy) // times, groups, -1)
        again = np.einsum("gshr,mn->gmshnr", blocks, np.eye(times)).reshape(1, groups * len(policy), -1)
        return float(unexplained(again, basis[MIDDLE : MIDDLE + 1], slope)[0][0, 0])


def paths(policy: Array, lift: Array, speed: float) -> tuple[Array, Array]:
    """Solve the response of each group to its decisions, by strength.

    Return how far they have moved the weights before each period, k, (F, G, T), and an orthonormal basis of what is no
    feedback, (F, G, T, 3): what a constant, a linear trend, and an unknown start lead to.
    """
    away, lifted = (policy - policy.mean(axis=0)).T, lift.T
    strength = GRID[:, None, None]
    driven = np.zeros((len(GRID), len(away), policy.shape[0], 3))  # by decisions, a constant, and the start
    driven[:, :, 0, 1:] = 1.0
    for period in range(len(policy) - 1):
        now = driven[:, :, period]
        push = np.stack((GRID[:, None] * away[:, period], np.ones(now.shape[:2]), np.zeros(now.shape[:2])), axis=-1)
        driven[:, :, period + 1] = now + speed * (push + strength * lifted[:, period, None] * now - now)
    trend = np.broadcast_to(np.linspace(-1.0, 1.0, len(policy)), driven.shape[:3])
    return driven[..., 0], np.linalg.qr(np.stack((driven[..., 1], trend, driven[..., 2]), axis=-1))[0]


def fit(seen: Series) -> Fit:
    """Work out how well each strength and speed explains a history."""
    came = seen.people.T > 0.0
    noise = covariances(np.where(came, seen.variance.T, NOBODY), float(seen.variance[seen.people > 0.0].mean()))
    inverse: Array = np.linalg.inv(noise).astype(np.float64)
    size = np.linalg.slogdet(noise)[1][:, None]
    freedom = max(int(came.sum()) - NUISANCE * len(came), 1)
    surface = np.empty((len(SPEEDS), len(GRID)))
    best, precision = -np.inf, inverse[0]
    for place, speed in enumerate(SPEEDS):
        moved, basis = paths(seen.policy, seen.lift, float(speed))
        off = (seen.weight.T - SPLIT - moved).reshape(len(GRID), -1)
        left, inner = unexplained(inverse, basis, off)
        scale = np.maximum(left / freedom, 1.0)  # no less noise than so many people make
        likelihood = -size - np.linalg.slogdet(inner)[1] - left / scale - freedom * np.log(scale)
        most = likelihood.max(axis=0)
        surface[place] = most + 2.0 * np.log(np.exp((likelihood - most) / 2.0).mean(axis=0))
        if most[MIDDLE] > best:
            chosen = int(likelihood[:, MIDDLE].argmax())
            best, precision = most[MIDDLE], inverse[chosen] / scale[chosen, MIDDLE]
    return Fit(surface, precision, max(len(seen.people) - NUISANCE - 1, 1))


def unexplained(inverse: Array, basis: Array, off: Array) -> tuple[Array, Array]:
    """Return the sum of squares of y (F, N) that a basis (F, G, T, 3) leaves, in each noise Σ, and X′Σ⁻¹X."""
    inner, crossed = project(inverse, basis, off)
    explained = (crossed * np.linalg.solve(inner, crossed[..., None])[..., 0]).sum(axis=2)
    return ((off @ inverse) * off).sum(axis=2) - explained, inner


def project(inverse: Array, basis: Array, off: Array) -> tuple[Array, Array]:
    """Return X′Σ⁻¹X, (M, F, C, C), and X′Σ⁻¹y, (M, F, C), for a basis (F, G, T, 3), block by block, and y (F, N)."""
    count, groups, periods, terms = basis.shape
    blocks = inverse.reshape(len(inverse), groups * periods, groups, periods)
    solved = np.empty((len(inverse), count, groups * periods, groups * terms))
    for group in range(groups):
        columns = np.moveaxis(basis[:, group], 0, 1).reshape(periods, -1)
        found = (blocks[:, :, group] @ columns).reshape(len(inverse), -1, count, terms)
        solved[..., group * terms : (group + 1) * terms] = np.moveaxis(found, 2, 1)
    inner = np.concatenate(
        [
            np.swapaxes(basis[:, group], 1, 2) @ solved[:, :, group * periods : (group + 1) * periods]
            for group in range(groups)
        ],
        axis=2,
    )
    return inner, (off[:, None] @ solved)[:, :, 0]


def covariances(known: Array, usual: float) -> Array:
    """Return the covariances of the noise that are tried, (M, N, N), group by group."""
    groups, periods = known.shape
    lag = np.abs(np.subtract.outer(np.arange(periods), np.arange(periods)))
    faded = [np.where(lag == 0, 1.0, each**lag) for each in PERSISTENCE]
    cycles = [np.cos(2.0 * np.pi * lag / each) for each in CYCLES]
    shapes = [*faded, *cycles, *(fading + cycle for fading in faded[1:] for cycle in cycles)]
    between = [np.where(np.eye(groups), 1.0, each) for each in (COMMON if groups > 1 else COMMON[:1])]
    sampling = np.diag(known.ravel())
    disturbed = [np.kron(one, shape) for one in between for shape in shapes]
    return np.stack([sampling, *(sampling + usual * much * each for much in SIZES for each in disturbed)])
