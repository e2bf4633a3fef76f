"""Choice: the best threshold that is sure to meet every constraint, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fairgate.advice.guarantee import Guarantee, highest, least_sure
from fairgate.advice.intervals import deviation, largest_margin, residual_margins
from fairgate.advice.steady import Response, Steady, settle, steady_cells
from fairgate.constraints.pieces import differences, rates_of
from fairgate.counts import Counts
from fairgate.estimates import LEVEL
from fairgate.people.applicants import Applicants
from fairgate.problem import ROUNDING, Problem, is_feasible, violation
from fairgate.settings import Array

RESAMPLES = 200
"""Tables drawn with replacement from the counts."""

AT_ONCE = 150_000
"""Numbers resampled at a time, so that memory stays small."""

SURE, UNCERTAIN, INFEASIBLE = "sure", "uncertain", "infeasible"
"""Every constraint is met with the stated probability; on these very people, but not with that probability; or none."""

NOBODY = "nobody"
"""The rule of a threshold above all scores."""

STEP = 1.0 / 40.0
"""Share of the people by which two thresholds may differ and count as the same."""


@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """A threshold chosen from a table, and the evidence for it."""

    cut: int
    status: str
    sure: float  # the probability that was asked for
    exact: bool  # whether that is promised for any number of people, or approximately
    steady: Steady  # what every threshold leads to, and the best feasible one without any margin
    allowed: NDArray[np.bool_]  # thresholds it was chosen from, (K,)
    margins: Array  # of every residual and threshold, (J, K), see :mod:`fairgate.advice.intervals`
    test_level: float | None  # lowest at which the chosen threshold passes the test of all constraints; None above 0.5
    bolder_test_level: float | None  # the same of the best feasible threshold without any margin
    reward_error: float  # standard error of the chosen threshold's reward
    gap_reach: float  # how far the gap may lie to either side, with probability 95%
    same: float  # share of resamples in which a margin leads to the same threshold, but for `STEP` of the people
    possible: float  # in which some threshold meets every constraint

    def __repr__(self) -> str:
        return f"Choice({self.status}: {self.steady.sweep.point(self.cut)})"

    @property
    def price(self) -> float:
        """Reward given up for being sure."""
        reward = self.steady.sweep.reward
        return 0.0 if self.status == INFEASIBLE else max(float(reward[self.steady.cut] - reward[self.cut]), 0.0)

    @property
    def cost_of_surety(self) -> float | None:
        """The same as a share of the best reward that is feasible on these people; None if it is not within 0 and 1."""
        best = float(self.steady.sweep.reward[self.steady.cut])
        return self.price / best if self.price <= best and best > 0.0 else None

    @property
    def bolder(self) -> int | None:
        """The threshold of highest reward that is feasible on these people, if it is another one."""
        return None if self.status == INFEASIBLE or self.price <= 0.0 else self.steady.cut


def choose(
    applicants: Applicants,
    problem: Problem,
    response: Response,
    sure: float = 0.9,
    seed: int = 0,
    *,
    whole: Applicants | None = None,
) -> Choice:
    r"""Choose a threshold for the steady state under a `response` of people to acceptance.

    The highest reward is chosen among the thresholds that meet every constraint with probability `sure` at least, see
    :mod:`fairgate.advice.guarantee` (status "sure"). If there is none, but some thresholds are feasible on these
    people, it is chosen among those that pass the test of all constraints at the lowest level there is, of a half at
    most; if there is none of these either, among those with residuals :math:`g_j(\theta) + m_j(\theta) \le 0`, where
    margins m come from resampling; and else it is the one that is feasible in most resampled tables ("uncertain"). If
    none is feasible, the one with the smallest sum of violations is ("infeasible").

    A threshold above all scores accepts nobody, whoever comes: if the constraints allow that, it is sure.

    `whole` is the table before its bins were joined; thresholds are then tested one by one on all of its bins.
    """
    steady = settle(applicants, problem, response)
    observed, sweep = steady.counts, steady.sweep
    rng = np.random.default_rng([seed, 1])
    rewards, residuals, drawn_rates = [], [], []
    most = max(1, AT_ONCE // applicants.counts.size)
    for start in range(0, RESAMPLES, most):
        drawn = resample(applicants, min(most, RESAMPLES - start), rng)
        counts = Counts(steady_cells(applicants.label_model.fill(drawn), response))
        found = problem.assess(counts)
        rewards.append(found.reward)
        residuals.append(found.residuals)
        drawn_rates.append(rates_of(counts)[0])
    reward, residual = np.concatenate(rewards), np.concatenate(residuals, axis=1)  # (R, K) and (J, R, K)
    resampled, rates = np.concatenate(drawn_rates), np.nan_to_num(rates_of(observed)[0])
    resampled = np.where(np.isnan(resampled), rates, resampled)  # an empty population deviates from nothing
    everybody = applicants.filled.sum(axis=1)
    sizes = rates_of(Counts(np.stack((everybody, np.zeros_like(everybody)), axis=-1)))[1]
    errors = deviation(residual, sweep.residuals[:, None])
    margins = residual_margins(problem.constraints, errors, resampled, rates, sizes, least_sure(sure))
    fine = is_feasible(residual)
    whole, within = whole or applicants, is_feasible(sweep.residuals)
    nobody = np.logical_not(applicants.above.any(axis=(0, 2)))
    place = np.searchsorted(applicants.cuts, whole.cuts, side="right") - 1
    first = np.searchsorted(whole.cuts, applicants.cuts)
    tests = Guarantee(whole, problem, response, margins[:, place], sure, seed)

    @cache
    def passed(confidence: float) -> NDArray[np.bool_]:
        return (tests.passed(confidence)[first] | nobody) & within

    promised = passed(sure)
    (margin_cut,) = pick(sweep.reward[None], sweep.residuals[:, None], margins, fine.mean(axis=0))
    status = SURE if promised.any() else UNCERTAIN if within.any() else INFEASIBLE
    if status == UNCERTAIN:
        confidence = highest(lambda each: bool(passed(each).any()))
        promised = passed(confidence) if confidence else promised
    allowed = promised if promised.any() else allowed_by_margin(sweep.residuals, margins)
    cut = int(np.where(promised, sweep.reward, -np.inf).argmax() if promised.any() else margin_cut)

    def level_of(cut: int, known: float = 0.0) -> float | None:
        if not within[cut]:
            return None
        if nobody[cut]:
            return 0.0 if tests.exact else round(1.0 - sure, 12)
        confidence = highest(lambda each: bool(passed(each)[cut]) and tests.alone(int(first[cut]), each), known)
        return round(1.0 - confidence, 12) if confidence else None

    at, pairs = slice(cut, cut + 1), max(len(applicants.groups) * (len(applicants.groups) - 1) // 2, 1)
    level = 1.0 - (1.0 - LEVEL) / (2.0 * pairs)
    gap_reach = largest_margin(differences(observed.group_count), resampled[:, at], rates[at], sizes, level)
    moved = observed.overall[pick(reward, residual, margins, fine.mean(axis=0))] - observed.overall[margin_cut]
    return Choice(
        cut=cut,
        status=status,
        sure=sure,
        exact=tests.exact,
        steady=steady,
        allowed=allowed if allowed[cut] else np.arange(len(allowed)) == cut,
        margins=margins,
        test_level=level_of(cut, sure if status == SURE else 0.0),
        bolder_test_level=level_of(steady.cut),
        reward_error=float(deviation(reward, sweep.reward)[cut]),
        gap_reach=float(gap_reach[0]),
        same=float((np.abs(moved) <= STEP + 1e-9).mean()),
        possible=float(fine.any(axis=1).mean()),
    )


def nobody_is_better(applicants: Applicants, problem: Problem, choice: Choice) -> bool:
    """Say whether the chosen threshold earns less than accepting nobody, and that meets every constraint.

    Without anybody accepted all rates are 0: groups do not differ, and a least rate above 0 is not kept.
    """
    if choice.steady.sweep.reward[choice.cut] >= 0.0:
        return False
    extended = applicants.with_nobody()
    cells = steady_cells(extended.filled, choice.steady.response)[-1:]
    allowed = is_feasible(problem.assess(Counts(cells)).residuals)[0]
    return bool(allowed and np.isfinite(extended.cuts[-1]))  # no number is above the largest there is


def resample(applicants: Applicants, times: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw as many people, with replacement, several times, (times, G, B, 3); at least one of every group."""
    sizes = rng.multinomial(applicants.people, applicants.sizes / applicants.sizes.sum(), size=times)
    shares = applicants.counts.reshape(len(applicants.sizes), -1) / applicants.sizes[:, None]
    return rng.multinomial(np.maximum(sizes, 1), shares).reshape(times, *applicants.counts.shape)


def allowed_by_margin(residuals: Array, margins: Array) -> NDArray[np.bool_]:
    """Say which thresholds keep every constraint by its margin; residuals (J, …, K), margins (J, K)."""
    wide = margins.reshape(len(margins), *([1] * (residuals.ndim - 2)), margins.shape[1])
    return np.asarray((residuals + wide).max(axis=0, initial=-np.inf) <= ROUNDING)


def pick(reward: Array, residuals: Array, margins: Array, probabilities: Array) -> NDArray[np.int64]:
    """Choose a threshold in each row by its margin, see :func:`choose`; rewards (R, K), residuals (J, R, K).

    >>> reward, residuals = np.array([[3.0, 2.0, 1.0]]), np.array([[[0.1, -0.1, -0.3]]])
    >>> chances = np.array([0.2, 0.7, 0.9])
    >>> pick(reward, residuals, np.full((1, 3), 0.1), chances)
    array([1])
    >>> pick(reward, residuals + 0.25, np.full((1, 3), 0.1), chances)     # only the last is feasible
    array([2])
    """
    within = residuals.max(axis=0, initial=-np.inf) <= ROUNDING
    safe = allowed_by_margin(residuals, margins)
    nearest = violation(residuals)
    return np.asarray(
        np.where(
            safe.any(axis=1),
            np.where(safe, reward, -np.inf).argmax(axis=1),
            np.where(within.any(axis=1), np.where(within, probabilities, -1.0).argmax(axis=1), nearest.argmin(axis=1)),
        )
    )
