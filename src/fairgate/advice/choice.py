"""Choice: the best threshold that keeps a distance from every constraint, and how it fares in resampled tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgate.advice.errors import deviation, largest_errors, residual_errors
from fairgate.advice.steady import Response, steady_cells
from fairgate.constraints.pieces import differences, rates_of
from fairgate.counts import Counts
from fairgate.people.applicants import Applicants
from fairgate.problem import ROUNDING, Problem, best_feasible, is_feasible, violation
from fairgate.settings import Array

CAUTION = 2.0
"""Standard errors by which a threshold must keep every constraint to be recommended as safe."""

RESAMPLES = 200
"""Tables drawn with replacement from the counts."""

AT_ONCE = 150_000
"""Numbers resampled at a time, so that memory stays small."""

SAFE, UNCERTAIN, INFEASIBLE = "safe", "uncertain", "infeasible"
"""A threshold keeps every constraint by a margin; only on these very people; or none does at all."""

STEP = 1.0 / 40.0
"""Share of the people by which two thresholds may differ and count as the same."""


@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """A threshold chosen from a table, and the evidence for it.

    Attributes
    ----------
    cut
        Number of the chosen threshold.
    status
        "safe", "uncertain" or "infeasible".
    counts
        Steady-state probabilities of every threshold by group, label and decision, (K, G, 2, 2).
    reward
        Of every threshold, (K,).
    residuals
        By constraint, (J, K).
    reward_error, residual_errors
        Root mean squared deviation of resampled figures from these, (K,) and (J, K), the latter no smaller than the
        intervals of rates allow; see :mod:`fairgate.advice.errors`.
    gap_error
        The same of the gap between groups at the chosen threshold.
    known
        Thresholds whose reward the labels tell, (K,).
    unguarded
        Number of the best feasible threshold without any margin, or of the nearest if none is feasible.
    holds
        Share of resamples in which the chosen threshold meets every constraint.
    same
        Share of resamples in which the threshold chosen is this one, but for `step` of the people.
    possible
        Share of resamples in which some threshold meets every constraint.
    """

    cut: int
    status: str
    counts: Counts
    reward: Array
    residuals: Array
    reward_error: Array
    residual_errors: Array
    gap_error: float
    known: NDArray[np.bool_]
    unguarded: int
    holds: float
    same: float
    possible: float

    @property
    def price(self) -> float:
        """Reward given up for keeping a distance from the constraints."""
        return max(float(self.reward[self.unguarded] - self.reward[self.cut]), 0.0)


def choose(applicants: Applicants, problem: Problem, response: Response, seed: int = 0) -> Choice:
    r"""Choose a threshold for the steady state under a `response` of people to acceptance.

    With residuals :math:`g_j` and their errors :math:`s_j` from resampling the table, the highest reward among

    .. math:: g_j(\theta) + 2 s_j(\theta) \le 0 \quad \text{for all } j

    is chosen. If there is no such threshold but some are feasible on the table, the one that is so by the most standard
    errors is; if none is feasible, the one that violates least.

    A distance of two standard errors costs reward only where a constraint is what keeps reward down, and then about
    twice the standard error times the slope of reward against that residual.
    """
    known = applicants.known
    observed = Counts(steady_cells(applicants.filled, response))
    assessment = problem.assess(observed)
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
    resampled, rates, sizes = _evidence(applicants, np.concatenate(drawn_rates), rates_of(observed)[0])
    errors = deviation(residual, assessment.residuals[:, None])
    errors = residual_errors(problem.constraints, errors, resampled, rates, sizes, CAUTION)
    cut, status = pick(assessment.reward[None], assessment.residuals[:, None], errors, known)
    at = slice(cut[0], cut[0] + 1)
    gap_error = largest_errors(differences(observed.group_count), resampled[:, at], rates[at], sizes, CAUTION)
    chosen, _ = pick(reward, residual, errors, known)
    fine = is_feasible(residual)
    acceptance = observed.overall
    return Choice(
        cut=int(cut[0]),
        status=str(status[0]),
        counts=observed,
        reward=assessment.reward,
        residuals=assessment.residuals,
        reward_error=deviation(reward, assessment.reward),
        residual_errors=errors,
        gap_error=float(gap_error[0]),
        known=known,
        unguarded=int(best_feasible(assessment.reward, assessment.residuals, known)),
        holds=float(fine[:, cut[0]].mean()),
        same=float((np.abs(acceptance[chosen] - acceptance[cut[0]]) <= STEP + 1e-9).mean()),
        possible=float((fine & known).any(axis=1).mean()),
    )


def _evidence(applicants: Applicants, resampled: Array, observed: Array) -> tuple[Array, Array, Array]:
    """Return what errors are judged by; a population that happens to be empty deviates from nothing."""
    everybody = applicants.filled.sum(axis=1)
    sizes = rates_of(Counts(np.stack((everybody, np.zeros_like(everybody)), axis=-1)))[1]
    observed = np.nan_to_num(observed)
    return np.where(np.isnan(resampled), observed, resampled), observed, sizes


def resample(applicants: Applicants, times: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw as many people, with replacement, several times, (times, G, B, 3); at least one of every group."""
    sizes = rng.multinomial(applicants.people, applicants.sizes / applicants.people, size=times)
    shares = applicants.counts.reshape(len(applicants.sizes), -1) / applicants.sizes[:, None]
    return rng.multinomial(np.maximum(sizes, 1), shares).reshape(times, *applicants.counts.shape)


def pick(
    reward: Array, residuals: Array, errors: Array, known: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.str_]]:
    """Choose a threshold in each row by the rule of :func:`choose`; rewards (R, K), residuals (J, R, K), errors (J, K).

    >>> reward, residuals = np.array([[3.0, 2.0, 1.0]]), np.array([[[0.1, -0.1, -0.3]]])
    >>> pick(reward, residuals, np.full((1, 3), 0.1), np.full(3, True))
    (array([2]), array(['safe'], dtype='<U10'))
    >>> pick(reward, residuals + 0.2, np.full((1, 3), 0.1), np.full(3, True))
    (array([2]), array(['uncertain'], dtype='<U10'))
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
    status = np.where(safe.any(axis=1), SAFE, np.where(fine.any(axis=1), UNCERTAIN, INFEASIBLE))
    return choice, status
