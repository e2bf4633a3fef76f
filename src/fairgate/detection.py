r"""Detection: notice that rates have left what is allowed, with a delay that does not grow with the rounds before.

A detector watches straight lines of rates round by round: :math:`w \cdot \theta_t \le b`, where :math:`\theta_t` are
the mean acceptance rates by cell (such as a group) in round t. Parity, a service window and the interval around an
earlier rate are such lines, or several of them.

**The evidence of a round.** Before the round choose any rates p with :math:`w \cdot p \ge b` and a stake
:math:`\lambda \ge 0`. With n people of a cell, x = 1 for a success, and :math:`d_g = \lambda w_g / n_g`, let

.. math:: e = \prod_g \prod_{i \in g} \big(1 + d_g (x_i - p_g)\big).

*If the line holds in the round, E[e] ≤ 1.* People are independent given their cells, and their rates may differ, so
with log(1 + x) ≤ x

.. math:: \log E[e] = \sum_g \sum_{i \in g} \log(1 + d_g (\theta_i - p_g)) \le \sum_g n_g d_g (\theta_g - p_g)
          = \lambda (w \cdot \theta - w \cdot p) \le \lambda (b - b) = 0.

This is the likelihood ratio of the rates :math:`q_g = p_g + d_g p_g (1 - p_g)` and p; with p the projection of q onto
the line it is the growth-optimal e-value of Turner, Ly and Grünwald [1]_. Here p is the point of the line nearest to
the rates of earlier rounds, and several stakes are tried at once.

**The evidence of a change.** For each way to bet, :math:`M_t = e_t \max(M_{t-1}, 1)` is a CUSUM e-detector [2]_. It
starts afresh whenever it falls below 1, so rounds that went well long ago do not weigh on it. It lies below the
Shiryaev–Roberts sum :math:`R_t = e_t (R_{t-1} + 1)`, and :math:`R_t - t` is a supermartingale while the line holds.
So the mean of several such detectors has the same property, and for any number of rounds T

.. math:: P(M_t \ge c \text{ in any of } T \text{ rounds}) \le T / c.

With J lines and T rounds a year, c = J T / α rings wrongly in the first year with a probability of at most α. Evidence
begins afresh after an alarm, so in any number of years at most α wrong alarms are expected per year, on average.

References
----------
.. [1] R. Turner, A. Ly, P. Grünwald. Generic E-variables for exact sequential k-sample tests that allow for optional
   stopping. Journal of Statistical Planning and Inference, 2024.
.. [2] J. Shin, A. Ramdas, A. Rinaldo. E-detectors: a nonparametric framework for sequential change detection. New
   England Journal of Statistics in Data Science, 2024 (arXiv 2022).
.. [3] S. Shekhar, A. Ramdas. Sequential changepoint detection via backward confidence sequences. ICML, 2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairgate.settings import Array

MEMORIES = (2.0, 8.0, 32.0)
"""Rounds that rates of earlier rounds are remembered for: a short memory follows a jump, a long one a small shift."""

SIZES = (0.02, 0.1, 0.3)
"""How far beyond its line a rate is bet to lie; the first bets on the remembered rates if they are further beyond."""

EDGE = 0.01
"""Rates that are bet on lie between this and 1 − this, so that one surprise does not end a bet."""

MOST = 300.0
"""Largest logarithm of evidence that is kept: far beyond any limit, and a finite number in JSON."""

SLACK = 1e-9
"""How far beyond its line a point is put, so that rounding does not bring it back."""


@dataclass
class Detector:
    """Evidence that lines of rates are broken, updated round by round.

    Attributes
    ----------
    evidence
        Logarithm of the evidence of each line and bet, (J, A).
    since
        The round from which on that evidence counts, (J, A): the estimated round of the change.
    hits, trials
        Successes and people of earlier rounds by memory and cell, (3, C).

    Examples
    --------
    Two groups whose acceptance rates may differ by 0.1; from round 300 on they differ by 0.4.

    >>> rng, found = np.random.default_rng(1), Detector.begin(lines=2, cells=2)
    >>> for number in range(400):
    ...     rates = [0.5, 0.5] if number < 300 else [0.7, 0.3]
    ...     found.update(number, rng.binomial(100, rates), [100, 100], [[1, -1], [-1, 1]], [0.1, 0.1])
    ...     if found.logs.max() >= log_limit(lines=2, rounds=10_000, alpha=0.05):
    ...         break
    >>> number, found.change(0)
    (301, 300)
    """

    evidence: Array
    since: NDArray[np.int64]
    hits: Array
    trials: Array

    @classmethod
    def begin(cls, lines: int, cells: int) -> Self:
        """Return the detector of nothing yet."""
        bets = len(MEMORIES) * len(SIZES)
        memory = np.zeros((len(MEMORIES), cells))
        return cls(np.zeros((lines, bets)), np.zeros((lines, bets), dtype=np.int64), memory, memory.copy())

    def update(self, number: int, hits: ArrayLike, trials: ArrayLike, rows: ArrayLike, limits: ArrayLike) -> None:
        """Take in round `number`: successes of so many people by cell (C,), and the lines, rows (J, C) and limits (J,).

        Lines may differ from round to round as long as they follow from earlier rounds and from who came. A line
        that reads a cell without people is not judged in this round.
        """
        taken, came = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
        lines, ends = np.asarray(rows, dtype=np.float64), np.asarray(limits, dtype=np.float64)
        known = (self.hits + 0.5) / (self.trials + 1.0)
        gained = np.moveaxis(log_evidence(taken, came, lines, ends, known), 0, 1).reshape(self.evidence.shape)
        self.since = np.where(self.evidence <= 0.0, number, self.since)
        self.evidence = np.minimum(np.maximum(self.evidence, 0.0) + gained, MOST)
        decay = 1.0 - 1.0 / np.array(MEMORIES)[:, None]
        self.hits, self.trials = decay * self.hits + taken, decay * self.trials + came

    @property
    def logs(self) -> Array:
        """Logarithm of the evidence of each line, the mean over bets, (J,)."""
        most = self.evidence.max(axis=1, keepdims=True)
        return np.asarray(most[:, 0] + np.log(np.exp(self.evidence - most).mean(axis=1)))

    def change(self, line: int) -> int:
        """Return the estimated first round of a change: that from which on the strongest bet has won."""
        return int(self.since[line, self.evidence[line].argmax()])

    def restart(self, chosen: NDArray[np.bool_] | slice = slice(None)) -> None:
        """Forget the evidence of some lines (all, if none are chosen), but not the rates."""
        self.evidence[chosen] = 0.0

    def save(self) -> list[Any]:
        """Return plain data for JSON."""
        return [each.tolist() for each in (self.evidence, self.since, self.hits, self.trials)]

    @classmethod
    def load(cls, saved: list[Any]) -> Self:
        """Return the detector that :meth:`save` gave."""
        evidence, since, hits, trials = saved
        cells = np.shape(hits)
        lines = np.reshape(evidence, (-1, len(MEMORIES) * len(SIZES))), np.array(since, dtype=np.int64)
        return cls(lines[0], lines[1].reshape(lines[0].shape), np.array(hits), np.reshape(trials, cells))


def log_limit(lines: int, rounds: float, alpha: float) -> float:
    """Return the logarithm of the evidence at which one of so many lines rings.

    While all lines hold, any rings within so many rounds with a probability of at most `alpha`.

    >>> round(log_limit(lines=4, rounds=365, alpha=0.05), 2)
    10.28
    """
    return float(np.log(max(lines, 1) * rounds / alpha))


def log_evidence(hits: Array, trials: Array, rows: Array, limits: Array, known: Array) -> Array:
    """Return the logarithm of a round's evidence against each line, one per size of SIZES, (…, J, 3).

    `known` are rates (…, C) that earlier rounds make likely. See the module for the proof that the evidence has a mean
    of at most 1 while the line holds.

    >>> log_evidence(np.array([70.0]), np.array([100.0]), np.array([[1.0]]), np.array([0.5]), np.array([0.5])).round(1)
    array([[1.5, 6.1, 5.4]])
    """
    came = np.where(trials > 0, trials, 1.0)
    start = np.clip(known, EDGE, 1.0 - EDGE)[..., None, :]
    reach = rows * (start * (1.0 - start)) / came  # how rates move towards the line, (…, J, C)
    point, free = np.broadcast_to(start, reach.shape), np.ones(reach.shape, dtype=bool)
    move = np.zeros(reach.shape[:-1])
    for _ in range(rows.shape[1] + 1):  # in each step, rates that have reached an edge stay there
        slope = (rows * reach * free).sum(axis=-1)
        short = limits + SLACK - (rows * point).sum(axis=-1)
        onward = (slope > 0) & (abs(short) > SLACK / 2.0)
        if not onward.any():
            break
        move = move + np.divide(short, slope, out=np.zeros(slope.shape), where=onward)
        point = np.clip(start + move[..., None] * reach, EDGE, 1.0 - EDGE)
        free = (point > EDGE) & (point < 1.0 - EDGE)
    judged = ((rows * point).sum(axis=-1) >= limits) & ~((rows != 0.0) & (trials == 0)).any(axis=-1)
    noise = (rows**2 * point * (1.0 - point) / came).sum(axis=-1, keepdims=True)
    stakes = np.divide(SIZES, noise, out=np.zeros((*noise.shape[:-1], len(SIZES))), where=noise > 0)
    stakes[..., 0] = np.maximum(stakes[..., 0], -move)
    bets, point = stakes[..., None] * (rows / came)[:, None], point[..., None, :]  # (…, J, 3, C)
    room = (1.0 - EDGE) / np.where(bets > 0, point, 1.0 - point)
    share = np.divide(room, abs(bets), out=np.full(bets.shape, np.inf), where=bets != 0).min(axis=-1, keepdims=True)
    bets = bets * np.minimum(share, 1.0)
    won, lost = np.log1p(bets * (1.0 - point)), np.log1p(-bets * point)
    return np.asarray(np.where(judged[..., None], (hits * won + (trials - hits) * lost).sum(axis=-1), 0.0))
