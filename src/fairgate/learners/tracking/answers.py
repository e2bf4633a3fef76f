"""Answers: how people's scores answer to acceptance, as far as that has proved to predict them better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.settings import Array, Index

SPEEDS = np.array([0.005, 0.015, 0.04, 0.1, 0.25, 0.6])
"""Speeds of the moving average of acceptance that people answer to, of which the data choose."""

RIDGE = np.diag([1e-6, 1.0, 1.0, 1.0])
"""What steadies the regression, in people: as much as one person says that nothing answers to acceptance."""

PROOF = 100.0
"""By how much squared errors of prediction, in units of their variance, must be less with answers than without.

By chance they are less by a few; a start far from where people end up looks like an answer and makes them less by up to
60 on development worlds in which nothing answers.
"""

WEIGHT = 5.0
"""What evidence counts during an experiment: no start far from where people end up is mistaken for an answer there."""

KNOWN = 0.1
"""Standard error of slopes in acceptance from which on people's answers are known, whatever they are."""

TRIAL = 30
"""Rounds, and three times as long as answers take, after which foresight must earn as much as following did.

Rewards are averaged over as many rounds.
"""

LOSS = 0.005
"""Reward per person that foresight may earn less in a trial: people who are on their way may earn a little less."""

EARLY = 30
"""Rounds of which nothing is concluded: few people make a regression."""

STEEPEST = 0.9
"""Largest slope of rates in acceptance that is believed: beyond, a steady state would hardly be one."""

STEPS = 5
"""Newton's steps to where a policy leads; more change nothing."""


class Foresight(NamedTuple):
    """What answers say of R replicates: rates as terms of acceptance, and how well these are known."""

    proved: NDArray[np.bool_]  # where answers have proved to predict, (R,)
    terms: Array  # level, slope and curvature of P(s ≥ option | g), (R, G, 3, K + 2)
    mean: Array  # what the level was seen at: regressors, (R, 3, G)
    inverse: Array  # covariance of slope, curvature and transient in units of the noise, (R, G, 3, 3)

    def rows(self, which: NDArray[np.bool_]) -> Foresight:
        """Return some replicates."""
        return Foresight(self.proved[which], self.terms[which], self.mean[which], self.inverse[which])

    def leads_to(self, terms: Array, rates: Array, error: Array, spread: Array) -> Array:
        """Return the acceptance rates that lotteries end at, (G, R, C), drawn to the present `rates` where unsure.

        `terms` are those of the lotteries, (3, G, R, C).
        """
        level, slope, curve = terms
        twice, found = 2.0 * curve, rates
        for _ in range(STEPS):
            away = found - 0.5
            steep = (slope + twice * away).clip(-STEEPEST, STEEPEST)
            found = (found - (found - level - away * (slope + away * curve)) / (1.0 - steep)).clip(0.0, 1.0)
        away = found - 0.5
        apart = np.empty((*away.shape[:2], 3, away.shape[2]))  # lotteries last: sums over regressors run along memory
        apart[:, :, 0], apart[:, :, 1], apart[:, :, 2] = away, away * away, 0.0
        apart -= self.mean.transpose(2, 0, 1)[..., None]
        parts = (self.inverse.transpose(1, 0, 3, 2) @ apart) * apart
        doubt = (parts[:, :, 0] + parts[:, :, 1] + parts[:, :, 2]) * spread.clip(1e-4, np.inf) / (1.0 - steep) ** 2
        moved = (found - rates) ** 2
        return np.asarray(rates + (found - rates) * moved / (moved + doubt + error**2 + 1e-12))


@dataclass
class Answers:
    """A regression of scores on moving averages of acceptance, of several speeds.

    The share of a group at or above a threshold is level + slope · a + curvature · a² + transient · (1 − ρ)^t, where a
    is the moving average of the group's acceptance, less one half, with speed ρ.
    """

    average: Annotated[Array, "P R G"]  # of acceptance
    sums: Annotated[Array, "P 4 R G"]  # of a stretch: regressors of its people
    seen: Annotated[Array, "W P 4 R G"]  # the same in each window of people, discounted
    gram: Annotated[Array, "P R G 4 4"]
    cross: Annotated[Array, "P R G 4 K"]
    terms: Annotated[Array, "R G 4 K"]  # of the latest fit
    inverse: Annotated[Array, "R G 4 4"]  # covariance of these in units of the noise
    speed: Annotated[NDArray[np.int64], "R"]  # index of the speed that explains most
    rounds: Annotated[NDArray[np.int64], "R"]  # rounds taken in
    evidence: Annotated[Array, "R"]  # by how much errors were less with answers than without, lately
    experiment: Annotated[NDArray[np.bool_], "R"]  # whether acceptance varies by an experiment at present
    refuted: Annotated[Array, "R"]  # evidence that was not enough: what was foreseen earned less than following
    earned: Annotated[Array, "2 R"]  # reward when people were last followed, and since answers are foreseen
    played: Annotated[Array, "2 R"]  # rounds of each, of the latter in the present trial

    def take_in(self, people: Array, accepted: Array, age: NDArray[np.int64]) -> None:
        """Take in a round."""
        self.rounds += 1
        away = self.average - 0.5
        self.sums[:, 0] += people
        self.sums[:, 1] += away * people
        self.sums[:, 2] += away * away * people
        self.sums[:, 3] += ((1.0 - SPEEDS)[:, None] ** age)[..., None] * people
        rate = accepted / np.maximum(people, 1)
        self.average += SPEEDS[:, None, None] * np.where(people > 0, rate - self.average, 0.0)

    def shifts(self, rows: Index, people: Array, mass: Array) -> Array:
        """Return what answers add to the predictions of each window for a stretch of `people`, (W, rows, G, K)."""
        speed, places = self.speed[rows], np.arange(len(self.speed))[rows]
        here = self.sums[speed, 1:, places] / np.maximum(people, 1.0)[:, None]  # (rows, 3, G)
        then = self.seen[:, speed, 1:, places].swapaxes(0, 1) / np.maximum(mass, 1e-9)[:, :, None]  # (W, rows, 3, G)
        return np.asarray(((here - then).swapaxes(2, 3)[:, :, :, None] @ self.terms[rows][:, :, 1:])[:, :, :, 0])

    def ready(self, rows: Index) -> NDArray[np.bool_]:
        """Whether enough has been seen to conclude anything, (rows,)."""
        return np.asarray(self.rounds[rows] > EARLY)

    def end_stretch(self, rows: Index, kept: Array, above: Array, people: Array) -> None:
        """Add the stretch to the regression and to the windows, of which `kept` (W, rows) is left."""
        sums = self.sums[..., rows, :]
        terms = np.moveaxis(sums / np.maximum(people, 1.0), 1, -1)  # (P, rows, G, 4)
        self.gram[:, rows] += (people[..., None] * terms)[..., :, None] * terms[..., None, :]
        for cross, term in zip(self.cross, terms, strict=True):  # one by one they fit in a processor's cache
            cross[rows] += term[..., None] * above[:, :, None]
        self.seen[..., rows, :] = self.seen[..., rows, :] * kept[:, None, None, :, None] + sums
        self.sums[..., rows, :] = 0.0

    def fit(self, rows: NDArray[np.int64]) -> None:
        """Fit the regression, and choose the speed that explains most."""
        cross = self.cross[:, rows]
        inverse = np.linalg.inv(self.gram[:, rows] + RIDGE)
        terms = inverse @ cross
        speed = (terms * cross).sum(axis=(2, 3, 4)).argmax(axis=0)
        every = np.arange(len(rows))
        self.speed[rows], self.terms[rows], self.inverse[rows] = speed, terms[speed, every], inverse[speed, every]

    def proved(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether answers have proved to predict better, (rows,)."""
        return np.asarray(self.evidence[rows] > np.maximum(PROOF, 2.0 * self.refuted[rows]))

    def known(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether it is known how people answer, (rows,): proved, or so well that it does not matter."""
        error = 0.5 * np.sqrt(self.inverse[rows, :, 1, 1]).max(axis=1)
        return np.asarray(self.proved(rows) | ((error > 0.0) & (error <= KNOWN)))

    def compare(self, rows: Index, less: Array) -> None:
        """Take in by how much errors were `less` (rows,) with answers; what was seen long ago is no debt for ever."""
        less = np.where(self.ready(rows), less * np.where(self.experiment[rows], WEIGHT, 1.0), 0.0)
        self.evidence[rows] = np.maximum(self.evidence[rows] + less, 0.0)

    def judge(self, rows: NDArray[np.int64], reward: Array, rounds: Array) -> None:
        """Take in the `reward` (rows,) of so many `rounds`: what was foreseen must earn as much as following did.

        Where it earns less by :data:`LOSS`, although people answer as they should, rewards do not: twice the proof is
        needed.
        """
        proved, kind = self.proved(rows), self.proved(rows).astype(np.int64)
        self.played[0, rows] += np.where(proved, 0.0, rounds)
        self.played[1, rows] = np.where(proved, self.played[1, rows] + rounds, 0.0)
        pace = np.maximum(1.0 - (1.0 - 1.0 / TRIAL) ** rounds, rounds / np.maximum(self.played[kind, rows], 1.0))
        self.earned[kind, rows] += pace * (reward - self.earned[kind, rows])
        tried = self.played[1, rows] >= TRIAL + 3.0 / SPEEDS[self.speed[rows]]
        broken = tried & (self.earned[1, rows] < self.earned[0, rows] - LOSS)
        self.refuted[rows] = np.where(broken, self.evidence[rows], self.refuted[rows])
        self.played[1, rows] *= ~tried

    def now(
        self, rows: NDArray[np.int64], window: NDArray[np.int64], above: Array, mass: Array, age: NDArray[np.int64]
    ) -> tuple[Array, Array, Foresight]:
        """Return the shares above each option (rows, G, K + 2) for people who have answered to what was played since.

        Also how much that adds to their variance, per unit of p(1 − p), (rows, G), and what they will answer later.
        """
        speed, proved = self.speed[rows], self.proved(rows)
        away = self.average[speed, rows] - 0.5
        transient = ((1.0 - SPEEDS)[speed] ** age[rows])[:, None] + 0.0 * away
        mean = self.seen[window, speed, 1:, rows] / np.maximum(mass, 1e-9)[:, None]  # (rows, 3, G)
        apart = (np.stack((away, away * away, transient), axis=1) - mean).swapaxes(1, 2)  # (rows, G, 3)
        inverse = self.inverse[rows][:, :, 1:, 1:]
        slopes = self.terms[rows][:, :, 1:] * proved[:, None, None, None]
        inner = np.clip(above[..., 1:-1] + (apart[:, :, None] @ slopes)[:, :, 0], 0.0, 1.0)
        moved = np.concatenate((above[..., :1], np.minimum.accumulate(inner, axis=-1), above[..., -1:]), axis=-1)
        variance = proved[:, None] * ((apart[:, :, None] @ inverse)[:, :, 0] * apart).sum(axis=-1)
        level = above[..., 1:-1] - (mean.swapaxes(1, 2)[:, :, None] @ slopes)[:, :, 0]
        terms = np.zeros((*above.shape[:2], 3, above.shape[2]))
        terms[:, :, 0, 0] = 1.0
        terms[:, :, 0, 1:-1], terms[:, :, 1:, 1:-1] = level, slopes[:, :, :2]
        return moved, variance, Foresight(proved, terms, mean, inverse)
