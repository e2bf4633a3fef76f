"""Choice: the best threshold that keeps a distance from every constraint, and how it fares in resampled tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgate.advice.intervals import CAUTION, deviation, largest_errors, residual_errors
from fairgate.advice.steady import Response, Steady, settle, steady_cells
from fairgate.constraints.pieces import differences, rates_of
from fairgate.counts import Counts
from fairgate.people.applicants import Applicants
from fairgate.problem import ROUNDING, Problem, is_feasible, violation
from fairgate.settings import Array

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

    Errors are root mean squared deviations of resampled figures; those of residuals are no smaller than the intervals
    of rates allow, see :mod:`fairgate.advice.intervals`.
    """

    cut: int
    status: str
    steady: Steady  # what every threshold leads to, and the best feasible one without any margin
    reward_error: float  # of the chosen threshold
    gap_error: float
    residual_errors: Array  # of every threshold, (J, K)
    holds: float  # share of resamples in which the chosen threshold meets every constraint
    same: float  # in which the threshold chosen is this one, but for `STEP` of the people
    possible: float  # in which some threshold meets every constraint

    @property
    def price(self) -> float:
        """Reward given up for keeping a distance from the constraints."""
        reward = self.steady.sweep.reward
        return max(float(reward[self.steady.cut] - reward[self.cut]), 0.0)


def choose(applicants: Applicants, problem: Problem, response: Response, seed: int = 0) -> Choice:
    r"""Choose a threshold for the steady state under a `response` of people to acceptance.

    With residuals :math:`g_j` and their errors :math:`s_j` from resampling the table, the highest reward among

    .. math:: g_j(\theta) + 2 s_j(\theta) \le 0 \quad \text{for all } j

    is chosen. If there is no such threshold but some are feasible on the table, the one that is so by the most standard
    errors is; if none is feasible, the one that violates least.

    A distance of two standard errors costs reward only where a constraint is what keeps reward down, and then about
    twice the standard error times the slope of reward against that residual.
    """
    steady = settle(applicants, problem, response)
    observed, sweep, known = steady.counts, steady.sweep, applicants.known
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
    errors = residual_errors(problem.constraints, errors, resampled, rates, sizes)
    (cut,), (status,) = pick(sweep.reward[None], sweep.residuals[:, None], errors, known)
    at = slice(cut, cut + 1)
    gap_error = largest_errors(differences(observed.group_count), resampled[:, at], rates[at], sizes)
    chosen, _ = pick(reward, residual, errors, known)
    fine = is_feasible(residual)
    moved = np.abs(observed.overall[chosen] - observed.overall[cut])
    return Choice(
        cut=int(cut),
        status=str(status),
        steady=steady,
        reward_error=float(deviation(reward, sweep.reward)[cut]),
        gap_error=float(gap_error[0]),
        residual_errors=errors,
        holds=float(fine[:, cut].mean()),
        same=float((moved <= STEP + 1e-9).mean()),
        possible=float((fine & known).any(axis=1).mean()),
    )


def resample(applicants: Applicants, times: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw as many people, with replacement, several times, (times, G, B, 3); at least one of every group."""
    sizes = rng.multinomial(applicants.people, applicants.sizes / applicants.sizes.sum(), size=times)
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
