"""People now: scores of the people who come at present, from as long a window as predicts the next ones best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.tracking.answers import Answers, Foresight
from fairgate.settings import Array, Index

WINDOWS = np.array([6.0, 20.0, 60.0, 200.0, 600.0, 2500.0])
"""Rounds that a moving average looks back, of which the data choose: about three times the one before."""

MEMORY = 300.0
"""Rounds that the errors of a window's predictions are remembered for: what changed earlier may not change again."""

PRIOR = 1.0
"""People with evenly spread scores that are supposed of each group before anybody has come."""


class Now(NamedTuple):
    """What is known of the people who come now, in R replicates."""

    above: Array  # P(s ≥ option | g) for -inf, the grid and inf, (R, G, K + 2)
    shares: Array  # of each group, (R, G)
    variance: Array  # of a share above, per unit of p(1 − p), (R, G)
    moving: Array  # how much people change from stretch to stretch, as such a variance, (R,)
    foresight: Foresight | None  # what people will answer, if that is known in any replicate


@dataclass
class PeopleNow:
    """Moving averages over several windows, and how well each predicted the next people.

    A window's error in a stretch of n people is compared with what chance explains, p(1 − p)(1/n + 1/m) for m people
    in the window, on average over the grid. The window of least error is used: a short one while people change, a long
    one while they do not. What even that leaves unexplained is how much people change from stretch to stretch, and
    counts as an error of what is known.
    """

    above: Annotated[Array, "W R G K"]  # people at or above each threshold, discounted
    people: Annotated[Array, "W R G"]  # people, discounted
    squared: Annotated[Array, "W R G"]  # the same with squared weights, for the people that a window is worth
    error: Annotated[Array, "W R"]  # squared errors of prediction, in units of their variance per person
    answered: Annotated[Array, "W R"]  # the same of predictions with answers
    usual: Annotated[Array, "W R"]  # what chance explains of them
    judged: Annotated[Array, "R"]  # people they are of

    def take_in(self, rows: Index, rounds: Array, above: Array, people: Array, answers: Answers) -> None:
        """Compare a stretch of so many `rounds` (rows,) with its predictions, and add it to all windows and answers.

        `above` are the people at or above each threshold, (rows, G, K), of all `people`, (rows, G).
        """
        fading = (1.0 - 1.0 / MEMORY) ** rounds
        shown = above / np.maximum(people, 1.0)[..., None]
        mass, sums = self.people[:, rows], self.above[:, rows]
        known = (people > 0) & (mass[0] > 0)
        weight = np.where(known, people, 0.0)
        predicted = sums / np.maximum(mass, 1e-9)[..., None]
        noise = np.maximum(predicted[0] * (1.0 - predicted[0]), 0.5 / np.maximum(mass[0], 1.0)[..., None])
        scale = weight[..., None] / (noise * above.shape[-1])  # the same for all windows, so that their errors compare
        off = squares(shown - predicted, scale)
        predicted += answers.shifts(rows, people, mass)
        predicted.clip(0.0, 1.0, out=predicted)
        on = squares(np.subtract(shown, predicted, out=predicted), scale)
        worth = mass * mass / np.maximum(self.squared[:, rows], 1e-9)
        chance = np.where(known, 1.0 + people / np.maximum(worth, 1.0), 0.0).sum(axis=-1)
        every = np.arange(len(rounds))
        best = self.error[:, rows].argmin(axis=0), self.answered[:, rows].argmin(axis=0)
        answers.compare(rows, off[best[0], every] - on[best[1], every])
        for total, part in ((self.error, off), (self.answered, on), (self.usual, chance)):
            total[:, rows] = total[:, rows] * fading + part
        self.judged[rows] = self.judged[rows] * fading + weight.sum(axis=1)
        kept = (1.0 - 1.0 / WINDOWS)[:, None] ** rounds
        sums *= kept[..., None, None]  # a copy, unless all rows are meant
        self.above[:, rows] = np.add(sums, above, out=sums)
        self.people[:, rows] = mass * kept[..., None] + people
        self.squared[:, rows] = self.squared[:, rows] * kept[..., None] ** 2 + people
        answers.end_stretch(rows, kept, above, people)

    def window(self, rows: NDArray[np.int64], proved: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the place of the window that has predicted best, (rows,): with answers where these have `proved`."""
        return np.asarray(np.where(proved, self.answered[:, rows], self.error[:, rows]).argmin(axis=0))

    def now(self, rows: NDArray[np.int64], answers: Answers, age: NDArray[np.int64]) -> Now:
        """Return what the best window says of the people who come now."""
        proved = answers.proved(rows)
        place = self.window(rows, proved)
        mass, squared, usual = self.people[place, rows], self.squared[place, rows], self.usual[place, rows]
        line = np.linspace(1.0, 0.0, self.above.shape[-1] + 2)
        inner = (self.above[place, rows] + PRIOR * line[1:-1]) / (mass + PRIOR)[..., None]
        ends = np.ones((*mass.shape, 1))
        above = np.concatenate((ends, inner, 0.0 * ends), axis=-1)
        worth = np.maximum(mass * mass / np.maximum(squared, 1e-9), 1.0)
        # errors of so many stretches are themselves off by their standard error: only what is beyond counts
        error = np.where(proved, self.answered[place, rows], self.error[place, rows])
        moving = np.maximum(error - usual - np.sqrt(2.0 * usual), 0.0) / np.maximum(self.judged[rows], 1.0)
        shares = (mass + 1e-9) / (mass + 1e-9).sum(axis=1, keepdims=True)
        foresight = None
        variance = 1.0 / worth
        if proved.any():
            above, more, foresight = answers.now(rows, place, above, mass, age)
            variance = variance + more
        return Now(above, shares, variance, moving, foresight)


def squares(errors: Array, scale: Array) -> Array:
    """Return the sum of squared errors (W, R, G, K) in units of a scale, (W, R); writes to `errors`."""
    errors *= errors
    errors *= scale
    return np.asarray(errors.sum(axis=(2, 3)))
