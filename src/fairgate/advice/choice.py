"""Choice: the best threshold that keeps a distance from every constraint, and how it fares in resampled tables."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fairgate.people.applicants import Applicants
from fairgate.advice.intervals import gap_interval, wilson
from fairgate.people.labels import UNKNOWN, LabelModel
from fairgate.advice.steady import Feedback, steady_cells
from fairgate.counts import Counts
from fairgate.problem import ROUNDING, Problem, violation
from fairgate.settings import Array

CAUTION = 2.0
"""Standard errors by which a threshold must keep every constraint to be recommended as feasible."""

RESAMPLES = 200
"""Tables drawn anew from the counts."""

AT_ONCE = 150_000
"""Numbers resampled at a time, so that memory stays small."""

SURE, UNSURE, NONE = "sure", "unsure", "none"
"""A threshold keeps every constraint by a distance; only on these very people; or none does at all."""


@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """A threshold chosen from a table, and the evidence for it.

    Attributes
    ----------
    cut
        Number of the chosen threshold.
    status
        "sure", "unsure" or "none".
    reward, gap, acceptance
        Steady-state figures of every threshold, (K,).
    rates
        Acceptance rate of each group, (K, G).
    residuals
        By constraint, (J, K).
    reward_error, gap_error, residual_errors
        Root mean squared deviation of resampled figures from these, (K,), (K,) and (J, K), but no smaller than the
        intervals of rates allow; of the gap, see :func:`gap_errors`.
    known
        Thresholds whose reward the labels tell, (K,).
    unguarded
        Number of the best feasible threshold without any distance, or of the nearest if none is feasible.
    holds
        Share of resamples in which the chosen threshold meets every constraint.
    same
        Share of resamples in which the threshold chosen is this one, but for `step` of the people.
    possible
        Share of resamples in which some threshold meets every constraint.
    """

    cut: int
    status: str
    reward: Array
    gap: Array
    acceptance: Array
    rates: Array
    residuals: Array
    reward_error: Array
    gap_error: Array
    residual_errors: Array
    known: NDArray[np.bool_]
    unguarded: int
    holds: float
    same: float
    possible: float

    @property
    def price(self) -> float:
        """Reward given up for keeping a distance from the constraints."""
        return max(float(self.reward[self.unguarded] - self.reward[self.cut]), 0.0)


STEP = 1.0 / 40.0
"""Share of the people by which two thresholds may differ and count as the same."""


def choose(applicants: Applicants, problem: Problem, feedback: Feedback, seed: int = 0) -> Choice:
    r"""Choose a threshold for the steady state under `feedback`.

    With residuals :math:`g_j` and their errors :math:`s_j` from resampling the table, the highest reward among

    .. math:: g_j(\theta) + 2 s_j(\theta) \le 0 \quad \text{for all } j

    is chosen. If there is no such threshold but some are feasible on the table, the one that is so by the most standard
    errors is; if none is feasible, the one that violates least.

    A distance of two standard errors costs reward only where a constraint is what keeps reward down, and then about
    twice the standard error times the slope of reward against that residual.
    """
    model = LabelModel.of(applicants)
    known = model.unknown(applicants) <= UNKNOWN
    observed = Counts(steady_cells(model.fill(applicants.counts), feedback))
    assessment = problem.assess(observed)
    rng = np.random.default_rng([seed, 1])
    rewards, residuals, rates = [], [], []
    most = max(1, AT_ONCE // applicants.counts.size)
    for start in range(0, RESAMPLES, most):
        drawn = resample(applicants, min(most, RESAMPLES - start), rng)
        counts = Counts(steady_cells(model.fill(drawn), feedback))
        found = problem.assess(counts)
        rewards.append(found.reward)
        residuals.append(found.residuals)
        rates.append(counts.rates)
    reward, residual = np.concatenate(rewards), np.concatenate(residuals, axis=1)  # (R, K) and (J, R, K)
    sizes = applicants.sizes.astype(np.float64)
    gap_error = gap_errors(np.concatenate(rates), observed.rates, sizes)
    low, high = wilson(observed.overall * sizes.sum(), sizes.sum())
    below, above = (observed.overall - low) / CAUTION, (high - observed.overall) / CAUTION
    least = {"parity": gap_error, "service-low": below, "service-high": above}
    errors = _deviation(residual, assessment.residuals[:, None])
    errors = np.maximum(errors, [least[name] for name in problem.names] or 0.0)
    cut, status = pick(assessment.reward[None], assessment.residuals[:, None], errors, known)
    chosen, _ = pick(reward, residual, errors, known)
    unguarded, _ = pick(assessment.reward[None], assessment.residuals[:, None], np.zeros_like(errors), known)
    fine = residual.max(axis=0, initial=-np.inf) <= ROUNDING
    acceptance = observed.overall
    return Choice(
        cut=int(cut[0]),
        status=str(status[0]),
        reward=assessment.reward,
        gap=observed.gap,
        acceptance=acceptance,
        rates=observed.rates,
        residuals=assessment.residuals,
        reward_error=_deviation(reward, assessment.reward),
        gap_error=gap_error,
        residual_errors=errors,
        known=known,
        unguarded=int(unguarded[0]),
        holds=float(fine[:, cut[0]].mean()),
        same=float((np.abs(acceptance[chosen] - acceptance[cut[0]]) <= STEP + 1e-9).mean()),
        possible=float((fine & known).any(axis=1).mean()),
    )


def _deviation(resampled: Array, observed: Array) -> Array:
    """Root mean squared deviation of resamples, the axis before the last, from what was observed."""
    return np.asarray(np.sqrt(((resampled - observed) ** 2).mean(axis=-2)))


def resample(applicants: Applicants, times: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw as many people anew, with replacement, several times, (times, G, B, 3); at least one of every group."""
    sizes = rng.multinomial(applicants.people, applicants.sizes / applicants.people, size=times)
    shares = applicants.counts.reshape(len(applicants.sizes), -1) / applicants.sizes[:, None]
    return rng.multinomial(np.maximum(sizes, 1), shares).reshape(times, *applicants.counts.shape)


def gap_errors(resampled: Array, observed: Array, people: Array) -> Array:
    r"""Return the error of the gap at each threshold, (K,), from rates of the groups, (R, K, G) and (K, G).

    Resampling the gap itself would call a small gap surer than it is, since it cannot fall below 0. So each pair of
    groups has its signed difference d with its error s, and the gap may be as large as the largest \|d\| + 2 s; and
    never less than the interval of :func:`~fairgate.advice.intervals.gap_interval` reaches, which knows that a rate of
    0 of ten `people` is not certain, and how many pairs there are.

    >>> rates = np.random.default_rng(0).normal(0.5, 0.1, (1000, 1, 2))
    >>> gap_errors(rates, np.full((1, 2), 0.5), np.array([1e4, 1e4])).round(2)              # 0.1 · √2
    array([0.14])
    """
    gap = np.ptp(observed, axis=1)
    reach = gap_interval(observed * people, people)[1]
    for a, b in combinations(range(observed.shape[1]), 2):
        error = _deviation((resampled[..., a] - resampled[..., b]), observed[:, a] - observed[:, b])
        reach = np.maximum(reach, np.abs(observed[:, a] - observed[:, b]) + CAUTION * error)
    return np.asarray(np.maximum(reach - gap, 0.0) / CAUTION)


def pick(
    reward: Array, residuals: Array, errors: Array, known: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.str_]]:
    """Choose a threshold in each row by the rule of :func:`choose`; rewards (R, K), residuals (J, R, K), errors (J, K).

    >>> reward, residuals = np.array([[3.0, 2.0, 1.0]]), np.array([[[0.1, -0.1, -0.3]]])
    >>> pick(reward, residuals, np.full((1, 3), 0.1), np.full(3, True))
    (array([2]), array(['sure'], dtype='<U6'))
    >>> pick(reward, residuals + 0.2, np.full((1, 3), 0.1), np.full(3, True))
    (array([2]), array(['unsure'], dtype='<U6'))
    """
    within = residuals.max(axis=0, initial=-np.inf)
    upper = (residuals + CAUTION * errors[:, None]).max(axis=0, initial=-np.inf)
    safe, fine = known & (upper <= ROUNDING), known & (within <= ROUNDING)
    by_errors = (residuals / np.maximum(errors[:, None], 1e-9)).max(axis=0, initial=-np.inf)
    nearest = np.where(known, violation(residuals), np.inf)
    choice = np.where(
        safe.any(axis=1),
        np.where(safe, reward, -np.inf).argmax(axis=1),
        np.where(fine.any(axis=1), np.where(fine, by_errors, np.inf).argmin(axis=1), nearest.argmin(axis=1)),
    )
    status = np.where(safe.any(axis=1), SURE, np.where(fine.any(axis=1), UNSURE, NONE))
    return choice, status
